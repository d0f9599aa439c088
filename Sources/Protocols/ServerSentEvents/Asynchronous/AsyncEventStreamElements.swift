// The second asynchronous sequence: all elements of the stream, for liveness timers and for clients that reconnect.

/// The events, comments, reconnection times and the end of an event stream, in the order of the stream.
///
/// It is ``AsyncServerSentEvents/elements``, and behaves as that sequence does.
///
/// ```swift
/// for try await element in chunks.serverSentEvents().elements {
///     switch element {
///     case .event(let event): print(event.type, event.data)
///     case .comment: idleTimer.restart()
///     case .reconnectionTime(let time): delay = time
///     case .end(let end): print("ended: \(end)")
///     }
/// }
/// ```
public struct AsyncEventStreamElements<Base: AsyncSequence>: AsyncSequence where Base.Element: Sequence<UInt8> {
    /// An event, a comment, a reconnection time, or the end.
    public typealias Element = EventStreamElement

    /// Errors of the base, and ``EventStreamError``.
    public typealias Failure = any Error

    @usableFromInline let events: AsyncServerSentEvents<Base>

    /// Creates the sequence beside that of the events alone.
    @inlinable init(events: AsyncServerSentEvents<Base>) { self.events = events }

    /// Begins to read the base.
    @inlinable public func makeAsyncIterator() -> Iterator { Iterator(reader: self.events.makeReader()) }
}

extension AsyncEventStreamElements {
    /// Reads the base.
    public struct Iterator: AsyncIteratorProtocol {
        /// An event, a comment, a reconnection time, or the end.
        public typealias Element = EventStreamElement

        /// Errors of the base, and ``EventStreamError``.
        public typealias Failure = any Error

        @usableFromInline var reader: EventStreamReader<Base, EventStreamElement>
        @usableFromInline var hasTakenEnd = false

        /// The last event ID at the latest element that was taken: the value of `Last-Event-ID` after a reconnect.
        ///
        /// When all elements have been taken, it is the one that the latest blank line committed, with or without an
        /// event.
        public var lastEventID: String { self.reader.lastEventID }

        /// Creates an iterator at the beginning of a stream.
        @inlinable init(reader: EventStreamReader<Base, EventStreamElement>) { self.reader = reader }

        /// Returns the next element; nil after the end.
        ///
        /// - Throws: what the base throws, and ``EventStreamError``
        @inlinable public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(any Error) -> EventStreamElement? {
            if let element = self.reader.takeQueued() { return element }
            return try await self.reader.fillQueue(isolation: actor) ? self.reader.takeQueued() : self.takeEnd()
        }

        /// Returns the end, once.
        @inlinable mutating func takeEnd() -> EventStreamElement? {
            guard !self.hasTakenEnd, let end = self.reader.end else { return nil }
            self.hasTakenEnd = true
            return .end(end)
        }
    }
}

extension AsyncEventStreamElements: Sendable where Base: Sendable {}

@available(*, unavailable)
extension AsyncEventStreamElements.Iterator: Sendable {}
