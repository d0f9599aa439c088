/// A WebSocket that belongs to one program, which sends with back-pressure and decides how it is closed.
///
/// The methods may be called from any task, several at once.
package protocol OwnedWebSocket: TransportConnection {
    /// Returns the next message if it has arrived and `next()` would return it; nil otherwise, with no change.
    ///
    /// It belongs to the consumer, as `next()` does, and costs less. It may return nil for any message that is not in
    /// one piece, or is compressed.
    func nextWholeMessage() -> InboundPayload?

    /// Queues one message when it and those before it have at most `watermark` bytes, or none waits any more.
    ///
    /// Otherwise suspends until there is room, and at most half of the watermark waits. Messages of waiting callers are
    /// queued in the order of their calls.
    func send(_ message: [UInt8], as kind: OutboundKind, upTo watermark: Int) async -> SendOutcome

    /// Queues one message if `send(_:as:upTo:)` would queue it without suspending; otherwise the outcome is nil, or
    /// that the exchange has ended.
    ///
    /// It may return nil for any message that may be compressed.
    func sendAtOnce(_ message: [UInt8], as kind: OutboundKind, upTo watermark: Int) -> SendOutcome?

    /// Sends a ping, and returns the time until its pong, which may take at most `limit`.
    ///
    /// Time in which reading was paused, or the process stopped, does not count, because no pong is read then: the limit
    /// begins again behind it.
    func roundTrip(within limit: Duration) async -> RoundTrip

    /// Starts the closing handshake with this code, or with none, and drops the connection when the peer does not
    /// answer.
    ///
    /// The code is one that a close frame may carry. Messages that arrive before the peer's close frame are kept for the
    /// consumer, and reading waits for it, where `close()` drops the bytes above the high watermark.
    func close(code: UInt16?, reason: String)

    /// Suspends until the exchange has ended, whatever the consumer has read; nil when the task is cancelled before.
    func announcedEnd() async -> TransportEnd?
}

/// The result of waiting for a pong.
package enum RoundTrip: Sendable, Equatable {
    /// The time until the pong.
    case measured(Duration)
    /// No pong came within the time limit.
    case timedOut
    /// The exchange ended before, or the waiting task was cancelled.
    case ended
}

/// The result of waiting for room for a message.
package enum SendOutcome: Sendable, Equatable {
    /// The message is queued.
    case queued
    /// The exchange ended before; the message is dropped.
    case ended
    /// The waiting task was cancelled; the message is dropped.
    case cancelled
}
