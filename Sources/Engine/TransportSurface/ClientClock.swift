package import PlatformFoundation
package import StreamTransport

/// The source of time and randomness of the engine and of the clients beside it: the system, or a test.
package struct ClientClock: Sendable {
    /// Returns the present time.
    package let moment: @Sendable () -> Moment
    /// Returns the date, which may be set.
    package let date: @Sendable () -> Date
    /// Returns a number from 0 to 1, for jitter.
    package let fraction: @Sendable () -> Double
    /// Waits for a time of `now()` while other work continues, or throws `CancellationError`; nil where no work takes
    /// time beside it.
    package let alarm: (@Sendable (Duration) async throws -> Void)?
    /// Waits, or throws `CancellationError`.
    package let sleep: @Sendable (Duration) async throws -> Void

    /// Creates a clock of these parts.
    package init(
        moment: @escaping @Sendable () -> Moment,
        date: @escaping @Sendable () -> Date = { Date() },
        fraction: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
        alarm: (@Sendable (Duration) async throws -> Void)? = nil,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.moment = moment
        self.date = date
        self.fraction = fraction
        self.alarm = alarm
        self.sleep = sleep
    }

    /// Returns the time since the zero of `moment`.
    ///
    /// The path of an event uses `moment`: it has 64 bits, where a `Duration` has 128 and its arithmetic is a function
    /// call.
    package func now() -> Duration { self.moment().sinceZero }

    /// Returns the time of day, in seconds since 1970.
    package func unixTime() -> Int { Int(self.date().timeIntervalSince1970) }

    /// The system's clock.
    package static let system: ClientClock = {
        let (start, zero) = (ContinuousClock.now, Moment.now.sinceZero)
        return ClientClock(
            moment: { .now }, alarm: { try await Task.sleep(until: start + ($0 - zero), clock: .continuous) },
            sleep: { try await Task.sleep(for: $0) })
    }()
}
