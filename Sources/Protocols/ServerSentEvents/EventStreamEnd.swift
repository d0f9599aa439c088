// The end of a stream, as a value that a transport can map to "truncated" or "complete".

/// The place in its grammar at which an event stream ended.
///
/// WHATWG HTML section 9.2.6 discards an incomplete event, and so does the parser. The caller decides whether that is a
/// loss.
public enum EventStreamEnd: Hashable, Sendable {
    /// After a blank line, or after lines that belong to no event: comments, unknown fields, reconnection times.
    case clean

    /// Inside a line that has no terminator.
    ///
    /// - Parameter pendingByteCount: the number of discarded bytes of the incomplete event's values
    case insideLine(pendingByteCount: Int)

    /// After a whole line of an event whose blank line did not arrive.
    ///
    /// - Parameter pendingByteCount: the number of discarded bytes of the incomplete event's values
    case insideEvent(pendingByteCount: Int)
}

extension EventStreamEnd {
    /// The number of discarded bytes of the incomplete event's values.
    package var pendingByteCount: Int {
        switch self {
        case .clean: 0
        case .insideLine(let count), .insideEvent(let count): count
        }
    }
}
