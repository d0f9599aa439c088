// The errors of the serializer. They contain no content of the event.

/// The reason for which a value cannot be written as an event stream.
///
/// The format has no escapes: a value that would end its own line, or that WHATWG HTML section 9.2.6 tells a parser to
/// ignore, cannot be carried.
public enum EventStreamSerializerError: Error, Hashable, Sendable {
    /// The event type has a CR or a LF.
    ///
    /// - Parameter byteOffset: the offset of the first one, in the UTF-8 of the type
    case invalidType(byteOffset: Int)

    /// The last event ID has a CR, a LF or a NUL.
    ///
    /// - Parameter byteOffset: the offset of the first one, in the UTF-8 of the ID
    case invalidLastEventID(byteOffset: Int)

    /// The reconnection time is negative, or too long.
    case invalidReconnectionTime
}

extension EventStreamSerializerError: CustomStringConvertible {
    /// A sentence fit for a log.
    public var description: String {
        switch self {
        case .invalidType(let byteOffset):
            "an event type has a line terminator (at byte \(byteOffset))"
        case .invalidLastEventID(let byteOffset):
            "a last event ID has a line terminator or a NUL (at byte \(byteOffset))"
        case .invalidReconnectionTime:
            "a reconnection time is negative or too long"
        }
    }
}
