// The borrowing interface for code that has spans: no bytes are copied, and the compiler prevents them from escaping.

/// One element of a stream, in the order of the stream, as spans.
///
/// The spans point into the caller's chunk or into the parser. The compiler prevents them from escaping the call that
/// receives them.
public enum EventStreamSpanItem: ~Escapable {
    /// An event was dispatched.
    ///
    /// Its bytes are as the stream has them: invalid UTF-8 is not repaired.
    ///
    /// - Parameters:
    ///   - type: the event type; `message` when the stream names none
    ///   - data: the values of all `data` lines, joined by LF
    ///   - lastEventID: the last event ID at the moment of the dispatch; empty when there is none
    case event(type: Span<UInt8>, data: Span<UInt8>, lastEventID: Span<UInt8>)

    /// A `retry` line set the reconnection time. It acts at the end of its line, with or without an event.
    case reconnectionTime(milliseconds: Int)

    /// A comment line ended. It only shows that the peer is alive.
    case comment
}

extension EventStreamParser {
    /// Parses the next bytes of the stream, and calls `receive` for each element that they complete, in order.
    ///
    /// ```swift
    /// try parser.parse(chunk.span) { item in
    ///     switch item {
    ///     case .event(_, let data, _): decode(data)
    ///     case .reconnectionTime(let milliseconds): delay = .milliseconds(milliseconds)
    ///     case .comment: idleTimer.restart()
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - chunk: the next bytes; it may be empty
    ///   - receive: takes one event, reconnection time or comment
    /// - Throws: ``EventStreamError`` when the current event exceeds the limit. The elements that the chunk completed
    ///   before that were passed to `receive`; the rest of the chunk was not parsed.
    public mutating func parse(
        _ chunk: Span<UInt8>, _ receive: (borrowing EventStreamSpanItem) -> Void
    ) throws(EventStreamError) {
        unsafe try chunk.withUnsafeBufferPointer { bytes throws(EventStreamError) in
            unsafe try self.parse(UnsafeRawBufferPointer(bytes)) { item in
                switch unsafe item {
                case .event(let event):
                    let type = unsafe event.type.assumingMemoryBound(to: UInt8.self)
                    let data = unsafe event.data.assumingMemoryBound(to: UInt8.self)
                    let id = unsafe event.lastEventID.assumingMemoryBound(to: UInt8.self)
                    unsafe receive(.event(type: type.span, data: data.span, lastEventID: id.span))
                case .reconnectionTime(let milliseconds): receive(.reconnectionTime(milliseconds: milliseconds))
                case .comment: receive(.comment)
                }
            }
        }
    }
}
