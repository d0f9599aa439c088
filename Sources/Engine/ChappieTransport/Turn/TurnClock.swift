import PlatformFoundation
import StreamTransport

/// The source of a turn's time: the system, or a test.
package struct TurnClock: Sendable {
    /// Returns the present time.
    let moment: @Sendable () -> Moment
    /// Waits, or throws `CancellationError`.
    let sleep: @Sendable (Duration) async throws -> Void
    /// Returns the time of day, in seconds since 1970.
    let unixTime: @Sendable () -> Int
    /// Returns a number from 0 to 1, for jitter.
    let fraction: @Sendable () -> Double
    /// Waits for a time of `now()` while other work continues, or throws `CancellationError`; nil where no work takes
    /// time beside it.
    let alarm: (@Sendable (Duration) async throws -> Void)?

    package init(
        moment: @escaping @Sendable () -> Moment,
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        unixTime: (@Sendable () -> Int)? = nil,
        fraction: @escaping @Sendable () -> Double,
        alarm: (@Sendable (Duration) async throws -> Void)? = nil
    ) {
        self.moment = moment
        self.sleep = sleep
        self.unixTime = unixTime ?? { Int(Date().timeIntervalSince1970) }
        self.fraction = fraction
        self.alarm = alarm
    }

    /// Returns the time since the zero of `moment`.
    ///
    /// The path of an event uses `moment`: it has 64 bits, where a `Duration` has 128 and its arithmetic is a function
    /// call.
    func now() -> Duration { self.moment().sinceZero }

    /// The system's clock.
    static let system: TurnClock = {
        let (start, zero) = (ContinuousClock.now, Moment.now.sinceZero)
        return TurnClock(
            moment: { .now },
            sleep: { try await Task.sleep(for: $0) },
            fraction: { Double.random(in: 0..<1) },
            alarm: { try await Task.sleep(until: start + ($0 - zero), clock: .continuous) }
        )
    }()
}
