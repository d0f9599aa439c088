// The asynchronous interface of the parser: events in a `for try await` loop, from any source of bytes.

/// The events of an event stream whose bytes arrive asynchronously: WHATWG HTML section 9.2.6.
///
/// ```swift
/// for try await event in chunks.serverSentEvents() {
///     print(event.type, event.data)
/// }
/// ```
///
/// An event is returned with the byte that completes it. The base is asked for a chunk when all events of the previous
/// chunk have been taken: no bytes are read ahead, and no task runs beside the reader's.
///
/// - An error of the base is thrown as it is, after every event that was complete before it; and so is
///   ``EventStreamError``, when an event exceeds the limit. Then the sequence is over.
/// - Cancellation is left to the base: the values or errors of a cancelled base are treated like any others.
/// - The place where the bytes ended, the last event ID and the reconnection time are properties of the ``Iterator``.
/// - ``elements`` has comments, reconnection times and the end as elements, in the order of the stream.
public struct AsyncServerSentEvents<Base: AsyncSequence>: AsyncSequence where Base.Element: Sequence<UInt8> {
    /// One event.
    public typealias Element = ServerSentEvent

    /// Errors of the base, and ``EventStreamError``.
    public typealias Failure = any Error

    @usableFromInline let base: Base
    @usableFromInline let maximumEventByteCount: Int
    @usableFromInline let lastEventID: String

    /// Creates the sequence over chunks.
    @inlinable init(base: Base, maximumEventByteCount: Int, lastEventID: String) {
        self.base = base
        self.maximumEventByteCount = maximumEventByteCount
        self.lastEventID = lastEventID
    }

    /// The same stream with its comments, reconnection times and end.
    @inlinable public var elements: AsyncEventStreamElements<Base> { AsyncEventStreamElements(events: self) }

    /// Begins to read the base.
    @inlinable public func makeAsyncIterator() -> Iterator { Iterator(reader: self.makeReader()) }

    /// Begins to read the base, for outputs of either kind.
    @inlinable func makeReader<Output: EventStreamOutput>() -> EventStreamReader<Base, Output> {
        EventStreamReader(
            base: self.base.makeAsyncIterator(), maximumEventByteCount: self.maximumEventByteCount,
            lastEventID: self.lastEventID)
    }
}

extension AsyncServerSentEvents {
    /// Reads the base, and has the state that the events alone do not contain.
    ///
    /// A client that reconnects reads it, whether the loop ended or threw:
    ///
    /// ```swift
    /// var events = chunks.serverSentEvents(lastEventID: lastEventID).makeAsyncIterator()
    /// defer { lastEventID = events.lastEventID }
    /// while let event = try await events.next() {
    ///     print(event.type, event.data)
    /// }
    /// if events.end != .clean { print("the stream broke off inside an event") }
    /// ```
    public struct Iterator: AsyncIteratorProtocol {
        /// One event.
        public typealias Element = ServerSentEvent

        /// Errors of the base, and ``EventStreamError``.
        public typealias Failure = any Error

        @usableFromInline var reader: EventStreamReader<Base, ServerSentEvent>

        /// The last event ID at the latest event that was taken: the value of `Last-Event-ID` after a reconnect.
        ///
        /// When all events have been taken, it is the one that the latest blank line committed, with or without an
        /// event.
        public var lastEventID: String { self.reader.lastEventID }

        /// The reconnection time that the stream set last; nil when it has set none.
        ///
        /// A `retry` line acts at its end, and so does not wait for the events of the same chunk to be taken.
        public var reconnectionTime: Duration? { self.reader.parser.reconnectionTime }

        /// The place where the stream ended; nil before that, and when it ended with an error.
        ///
        /// An incomplete event has been discarded, as WHATWG HTML section 9.2.6 requires.
        public var end: EventStreamEnd? { self.reader.end }

        /// Creates an iterator at the beginning of a stream.
        @inlinable init(reader: EventStreamReader<Base, ServerSentEvent>) { self.reader = reader }

        /// Returns the next event; nil when the base has ended.
        ///
        /// - Throws: what the base throws, and ``EventStreamError``
        @inlinable public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(any Error) -> ServerSentEvent? {
            if let event = self.reader.takeQueued() { return event }
            return try await self.reader.fillQueue(isolation: actor) ? self.reader.takeQueued() : nil
        }
    }
}

extension AsyncServerSentEvents: Sendable where Base: Sendable {}

@available(*, unavailable)
extension AsyncServerSentEvents.Iterator: Sendable {}

extension AsyncSequence where Element: Sequence<UInt8> {
    /// Returns the events of an event stream in chunks: arrays, slices, `Data`, or any other sequence of bytes.
    ///
    /// - Parameters:
    ///   - maximumEventByteCount: the largest byte count of one event's values: its data with the LFs that join the
    ///     lines, its type and its ID. A negative limit counts as zero.
    ///   - lastEventID: the last event ID of the stream that this one continues
    /// - Returns: a sequence of events, to be read once if this one can be read once
    @inlinable public func serverSentEvents(
        maximumEventByteCount: Int = 64 << 20, lastEventID: String = ""
    ) -> AsyncServerSentEvents<Self> {
        AsyncServerSentEvents(base: self, maximumEventByteCount: maximumEventByteCount, lastEventID: lastEventID)
    }
}

extension AsyncSequence where Element == UInt8 {
    /// Returns the events of an event stream in single bytes.
    ///
    /// Chunks cost far less, where they are available: here each byte is a call of the base.
    ///
    /// - Parameters:
    ///   - maximumEventByteCount: the largest byte count of one event's values: its data with the LFs that join the
    ///     lines, its type and its ID. A negative limit counts as zero.
    ///   - lastEventID: the last event ID of the stream that this one continues
    /// - Returns: a sequence of events, to be read once if this one can be read once
    @inlinable public func serverSentEvents(
        maximumEventByteCount: Int = 64 << 20, lastEventID: String = ""
    ) -> AsyncServerSentEvents<AsyncByteChunks<Self>> {
        AsyncServerSentEvents(
            base: AsyncByteChunks(base: self), maximumEventByteCount: maximumEventByteCount, lastEventID: lastEventID)
    }
}
