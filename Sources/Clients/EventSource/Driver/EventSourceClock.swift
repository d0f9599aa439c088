import PlatformFoundation

/// The source of an event source's time and randomness: the system, or a test.
package struct EventSourceClock: Sendable {
    /// Returns the time since a fixed moment.
    package let now: @Sendable () -> Duration
    /// Waits, or throws `CancellationError`.
    package let sleep: @Sendable (Duration) async throws -> Void
    /// Returns the time of day, in seconds since 1970.
    package let unixTime: @Sendable () -> Int
    /// Returns a number from 0 to 1, for jitter.
    package let fraction: @Sendable () -> Double

    /// Creates a clock of these parts.
    package init(
        now: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void,
        unixTime: @escaping @Sendable () -> Int = { Int(Date().timeIntervalSince1970) },
        fraction: @escaping @Sendable () -> Double
    ) {
        self.now = now
        self.sleep = sleep
        self.unixTime = unixTime
        self.fraction = fraction
    }

    /// The system's clock.
    package static let system: EventSourceClock = {
        let start = ContinuousClock.now
        return EventSourceClock(
            now: { ContinuousClock.now - start }, sleep: { try await Task.sleep(for: $0) },
            fraction: { Double.random(in: 0..<1) })
    }()
}
