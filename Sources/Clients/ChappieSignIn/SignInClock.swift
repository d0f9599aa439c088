import PlatformFoundation

/// The clock of a sign-in: the system's, or a test's.
struct SignInClock: Sendable {
    /// Returns the time since some fixed moment; it is monotonic.
    let now: @Sendable () -> Duration
    /// Returns the date, which may be set.
    let date: @Sendable () -> Date
    /// Waits, or throws `CancellationError`.
    let sleep: @Sendable (Duration) async throws -> Void

    /// The system's clock.
    static let system: SignInClock = {
        let start = ContinuousClock.now
        return SignInClock(
            now: { ContinuousClock.now - start },
            date: { Date() },
            sleep: { try await Task.sleep(for: $0) }
        )
    }()
}
