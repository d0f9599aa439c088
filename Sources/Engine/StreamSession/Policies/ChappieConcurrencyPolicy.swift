/// The number of turns that an instance runs at a time, and whether they share a wait that the server asks for.
///
/// Immutable. A turn that has to wait does so before its request is sent; `timeouts.total` counts that time. A client's
/// turn with several responses takes a place for each of them, and none while its tools run.
public struct ChappieConcurrencyPolicy: Sendable, Equatable {
    /// The maximum number of turns at a time; nil for any number.
    public let maximumTurnCount: Int?
    /// Indicates whether a turn that would begin waits as long as a turn that the server has answered with status code
    /// 429: until the delay before that turn's next attempt is over, or the server's own behind its last.
    public let sharesRateLimitWaits: Bool

    /// Creates a policy; a number below 1 becomes 1.
    public init(maximumTurnCount: Int? = nil, sharesRateLimitWaits: Bool = true) {
        self.maximumTurnCount = maximumTurnCount.map { max(1, $0) }
        self.sharesRateLimitWaits = sharesRateLimitWaits
    }

    /// The policy by which every turn begins at once.
    public static let unlimited = Self(maximumTurnCount: nil, sharesRateLimitWaits: false)
}
