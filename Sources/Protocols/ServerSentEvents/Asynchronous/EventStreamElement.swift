// The elements of a stream as values that can be kept, for readers that need more than the events.

/// One element of a stream, or its end.
///
/// ``AsyncServerSentEvents/elements`` returns them in the order of the stream.
public enum EventStreamElement: Hashable, Sendable {
    /// An event was dispatched.
    case event(ServerSentEvent)

    /// A `retry` line set the reconnection time. It acts at the end of its line, with or without an event.
    case reconnectionTime(Duration)

    /// A comment line ended. It only shows that the peer is alive.
    case comment

    /// The bytes ended, at this place: always the last element.
    ///
    /// An incomplete event has been discarded, as WHATWG HTML section 9.2.6 requires. A stream that fails has no end:
    /// it throws.
    case end(EventStreamEnd)
}

extension EventStreamElement: EventStreamOutput {
    /// Copies the borrowed item.
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
