// Durations on a machine that has other work.
//
// A task of its own sleeps beside what is measured.

/// Measures a duration, and how much later plain sleeps beside it were.
///
/// An upper bound holds for the duration without that lateness: where other programs delay every wake-up, they delay
/// those of the tested code too. A lower bound holds for all of it.
struct Stopwatch {
    /// The duration between start and stop.
    struct Time {
        /// The whole duration.
        let elapsed: Duration
        /// The lateness of the sleeps in that time, in all.
        let lateness: Duration

        /// The duration without the lateness.
        var ownTime: Duration { self.elapsed - self.lateness }
    }

    private let start: ContinuousClock.Instant
    private let sleeps: Task<Duration, Never>

    /// Starts.
    init() {
        let start = ContinuousClock.now
        self.start = start
        self.sleeps = Task {
            var (lateness, begin) = (Duration.zero, start)
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.sleep)
                let end = ContinuousClock.now
                lateness += max(.zero, end - begin - Self.sleep)
                begin = end
            }
            return lateness
        }
    }

    /// Returns the time since the start.
    func stop() async -> Time {
        let elapsed = ContinuousClock.now - self.start
        self.sleeps.cancel()
        return Time(elapsed: elapsed, lateness: await self.sleeps.value)
    }

    private static let sleep = Duration.milliseconds(10)

    /// Returns the lateness of one plain sleep at this time.
    static func lateness() async -> Duration {
        let start = ContinuousClock.now
        try? await Task.sleep(for: Self.sleep)
        return .now - start - Self.sleep
    }
}
