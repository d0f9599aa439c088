// The borrowed output of the parser: bytes in the caller's chunk or in the parser's buffer, never copied here.

/// One element of a stream, in the order of the stream.
@unsafe
public enum EventStreamItem {
    /// An event was dispatched. Its bytes are valid during the call that receives it.
    case event(ServerSentEventBytes)

    /// A `retry` line set the reconnection time. It acts at the end of its line, with or without an event.
    case reconnectionTime(milliseconds: Int)

    /// A comment line ended. It only shows that the peer is alive.
    case comment
}

/// The bytes of one event, as the stream has them: they are not decoded, and invalid UTF-8 is not repaired.
///
/// The pointers are valid only during the call that receives them.
@unsafe
public struct ServerSentEventBytes {
    /// The event type; `message` when the stream names none.
    public let type: UnsafeRawBufferPointer

    /// The data: the values of all `data` lines, joined by LF.
    ///
    /// The 64 bytes past its end are readable whenever those past the end of the parsed chunk are: a vectorised reader
    /// may read past it without a copy.
    public let data: UnsafeRawBufferPointer

    /// The last event ID at the moment of the dispatch; empty when there is none.
    public let lastEventID: UnsafeRawBufferPointer
}
