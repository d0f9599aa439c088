/// The rule by which an instance stops sending requests to a server that keeps failing.
///
/// Immutable. Turns that end with an error of category `server` or `network` are counted. A complete response resets
/// the count; other errors and cancellations do not affect it.
public struct ChappieCircuitBreakerPolicy: Sendable, Equatable {
    /// The number of consecutive turns of this kind that open the circuit.
    ///
    /// Default 5; 0 for never.
    public let failureThreshold: Int
    /// The time for which turns then fail at once, before one may try again.
    ///
    /// Default 60 s.
    public let openDuration: Duration

    /// Creates a policy; negative values become zero.
    public init(failureThreshold: Int = 5, openDuration: Duration = .seconds(60)) {
        self.failureThreshold = max(0, failureThreshold)
        self.openDuration = max(.zero, openDuration)
    }

    /// The policy with five turns and 60 s.
    public static let `default` = Self()
    /// The policy that tries every turn.
    public static let disabled = Self(failureThreshold: 0)
}
