import StreamTransport

/// The limits of one turn.
///
/// A number outside its range is replaced by the nearest one inside.
public struct ChappieRunLimits: Sendable, Equatable {
    /// The number of tool calls in a turn.
    ///
    /// Default 64. One more ends it with `ChappieClientError.toolLoopLimitExceeded`, before any tool of that response
    /// runs.
    public var toolCalls: Int
    /// The number of responses in a turn.
    ///
    /// Default 32. When another would be needed, the turn ends with `ChappieClientError.toolLoopLimitExceeded`, before
    /// the tools run whose outputs it would carry.
    public var roundTrips: Int
    /// The duration of a turn, from its first read to its end: tools, approvals, credentials, permissions and a slow
    /// consumer included.
    ///
    /// Default nil, for no limit. Beyond it the turn ends with `ChappieClientError.runTimeLimitExceeded`.
    public var duration: Duration?
    /// The number of tools of one response that run at the same time; others wait for their turn, in order.
    ///
    /// Default 8; at least 1. A call that waits for an approval does not count.
    public var concurrentTools: Int
    /// The most bytes of a tool's output that are sent to the model, in UTF-8.
    ///
    /// Default 1 MiB. Longer text is cut between two scalars, and a line after it reports that, to the model and in
    /// `ChappieStreamEvent.toolCallCompleted`. A picture or a file that does not fit is left out, with such a line in
    /// its place.
    public var toolOutputByteCount: Int

    /// Creates limits; at least one tool runs at a time, and negative counts are 0.
    public init(
        toolCalls: Int = 64, roundTrips: Int = 32, duration: Duration? = nil, concurrentTools: Int = 8,
        toolOutputByteCount: Int = 1 << 20
    ) {
        self.toolCalls = max(0, toolCalls)
        self.roundTrips = max(0, roundTrips)
        self.duration = duration.map { max(.zero, $0) }
        self.concurrentTools = max(1, concurrentTools)
        self.toolOutputByteCount = max(0, toolOutputByteCount)
    }

    /// 64 calls, 32 responses, no time limit.
    public static let `default` = Self()

    /// The same limits, each in its range: the variables can have been set to any value.
    var bounded: Self {
        Self(
            toolCalls: self.toolCalls, roundTrips: self.roundTrips, duration: self.duration?.bounded,
            concurrentTools: self.concurrentTools, toolOutputByteCount: self.toolOutputByteCount.boundedByteCount)
    }
}
