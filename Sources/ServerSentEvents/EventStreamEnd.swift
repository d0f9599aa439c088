// How a stream ended, as a value that a transport can turn into "truncated" or "complete".

/// Where in its grammar an event stream ended.
///
/// WHATWG HTML section 9.2.6 discards an incomplete event, and so does the parser. Whether that is a loss is for the
/// caller to say, so it is told.
public enum EventStreamEnd: Hashable, Sendable {
    /// After a blank line, or after lines that belong to no event: comments, unknown fields, reconnection times.
    case clean

    /// Inside a line that has no terminator.
    ///
    /// - Parameter pendingByteCount: how many bytes of the incomplete event's values were discarded
    case insideLine(pendingByteCount: Int)

    /// After a whole line of an event whose blank line did not arrive.
    ///
    /// - Parameter pendingByteCount: how many bytes of the incomplete event's values were discarded
    case insideEvent(pendingByteCount: Int)
}
