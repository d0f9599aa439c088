#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where a sign-in gets its time from: the system, or a test.
struct SignInClock: Sendable {
    /// Time since some fixed moment; it does not jump.
    let now: @Sendable () -> Duration
    /// The date; somebody may set it.
    let date: @Sendable () -> Date
    /// Waits, or throws `CancellationError`.
    let sleep: @Sendable (Duration) async throws -> Void

    /// The system's.
    static let system: SignInClock = {
        let start = ContinuousClock.now
        return SignInClock(
            now: { ContinuousClock.now - start },
            date: { Date() },
            sleep: { try await Task.sleep(for: $0) }
        )
    }()
}
