// How often a pass is timed, and how fast the core was meanwhile.

import BenchmarkResults

/// Times a pass as often as fits in a twentieth of a second, and more often while others have a share of the core.
///
/// Passes are short, and so are the moments in which nobody else uses the core: it can wait for some of them.
struct Repetition {
    /// The clock.
    let clock: Clock
    /// How many passes there are at least.
    let least: Int

    /// How long passes go on, in seconds, when there are enough of them before.
    private static let duration = 0.05
    /// How many of them there are at most on a core that nobody shares.
    private static let most = 60

    /// How long it waits for calm moments, in seconds.
    private static let patience = 0.8

    /// The speed of each pass over so many bytes, in bytes a second; a pass is told the clock, and says its seconds.
    func speeds(of byteCount: Int, _ pass: (Clock) throws -> Double) rethrows -> PacedRuns {
        var spans: [(start: Double, end: Double)] = []
        var speeds: [Double] = []
        func paced() -> PacedRuns {
            var runs = PacedRuns(better: .higher)
            for (speed, span) in zip(speeds, spans) {
                runs.add(speed, pace: CorePace.share(from: span.start, to: span.end))
            }
            return runs
        }
        func add() throws {
            let start = CorePace.now
            speeds.append(Double(byteCount) / (try pass(self.clock)))
            spans.append((start, CorePace.now))
        }
        let start = CorePace.now
        repeat {
            try add()
        } while speeds.count < self.least || speeds.count < Self.most && CorePace.now - start < Self.duration
        let count = speeds.count
        while CorePace.now - start < Self.patience, !paced().areCalm(of: count) { for _ in 0..<count { try add() } }
        return paced()
    }
}
