// What the parser hands out, borrowed: bytes in the caller's chunk or in the parser's buffer, never copied here.

/// One thing that a stream says, in the order in which it says it.
@unsafe
public enum EventStreamItem {
    /// An event was dispatched. Its bytes are valid during the call that receives it.
    case event(ServerSentEventBytes)

    /// A `retry` line set the reconnection time. It acts at the end of its line, with or without an event.
    case reconnectionTime(milliseconds: Int)

    /// A comment line ended. It carries nothing but the news that the peer is alive.
    case comment
}

/// The bytes of one event, as the stream has them: nothing is decoded, invalid UTF-8 is not repaired.
///
/// The pointers are valid only during the call that receives them.
@unsafe
public struct ServerSentEventBytes {
    /// The event type; `message` when the stream names none.
    public let type: UnsafeRawBufferPointer

    /// The data: the values of all `data` lines, joined by LF.
    ///
    /// 64 bytes past its end are readable whenever 64 bytes past the end of the parsed chunk are: a vectorised reader may
    /// overrun it without a copy.
    public let data: UnsafeRawBufferPointer

    /// The last event ID at the moment of the dispatch; empty when there is none.
    public let lastEventID: UnsafeRawBufferPointer
}
