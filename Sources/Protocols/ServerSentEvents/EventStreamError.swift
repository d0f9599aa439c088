// The errors of the parser. They contain no content of the stream.

/// The reason for which an event stream cannot be parsed any further.
///
/// An event stream has no malformed bytes: WHATWG HTML section 9.2.6 gives every input a meaning. Only a limit can be
/// exceeded.
public enum EventStreamError: Error, Hashable, Sendable {
    /// One event needs more memory than
    /// ``EventStreamParser/init(maximumEventByteCount:maximumLineByteCount:lastEventID:)`` allows.
    ///
    /// - Parameters:
    ///   - maximumByteCount: the limit that was exceeded
    ///   - byteOffset: the number of bytes of the stream before the first byte that did not fit; it does not depend on
    ///     how the stream was cut into chunks
    case eventTooLarge(maximumByteCount: Int, byteOffset: Int)

    /// The value in one line is longer than
    /// ``EventStreamParser/init(maximumEventByteCount:maximumLineByteCount:lastEventID:)`` allows.
    ///
    /// - Parameters:
    ///   - maximumByteCount: the limit that was exceeded
    ///   - byteOffset: the number of bytes of the stream before the first byte that did not fit; it does not depend on
    ///     how the stream was cut into chunks
    case lineTooLong(maximumByteCount: Int, byteOffset: Int)
}

extension EventStreamError: CustomStringConvertible {
    /// A sentence fit for a log.
    public var description: String {
        switch self {
        case .eventTooLarge(let maximumByteCount, let byteOffset):
            "an event is larger than the limit of \(maximumByteCount) bytes (at byte \(byteOffset) of the stream)"
        case .lineTooLong(let maximumByteCount, let byteOffset):
            "a line is longer than the limit of \(maximumByteCount) bytes (at byte \(byteOffset) of the stream)"
        }
    }
}
