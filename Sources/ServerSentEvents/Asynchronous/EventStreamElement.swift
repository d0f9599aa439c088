// Everything that a stream says, as values that can be kept: for readers to whom the events alone are not enough.

/// One thing that a stream says, or its end.
///
/// ``AsyncServerSentEvents/elements`` hands them out in the order of the stream.
public enum EventStreamElement: Hashable, Sendable {
    /// An event was dispatched.
    case event(ServerSentEvent)

    /// A `retry` line set the reconnection time. It acts at the end of its line, with or without an event.
    case reconnectionTime(Duration)

    /// A comment line ended. It carries nothing but the news that the peer is alive.
    case comment

    /// The bytes ended, and where: always the last element.
    ///
    /// An event that was not complete has been discarded, as WHATWG HTML section 9.2.6 wants it. A stream that fails has
    /// no end: it throws.
    case end(EventStreamEnd)
}

extension EventStreamElement: EventStreamOutput {
    /// Copies what the parser lends.
    @usableFromInline static func copy(of item: EventStreamItem) -> Self? {
        switch unsafe item {
        case .event(let bytes): unsafe .event(ServerSentEvent(bytes))
        case .reconnectionTime(let milliseconds): .reconnectionTime(.milliseconds(milliseconds))
        case .comment: .comment
        }
    }

    /// The last event ID of an event.
    @usableFromInline var broughtLastEventID: String? {
        switch self {
        case .event(let event): event.lastEventID
        case .reconnectionTime, .comment, .end: nil
        }
    }
}
