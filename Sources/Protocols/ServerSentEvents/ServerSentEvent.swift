// Events as values that can be kept. Only here are bytes converted to strings.

/// An event of a stream, with strings of its own.
public struct ServerSentEvent: Hashable, Sendable {
    /// The event type; `message` when the stream names none.
    public var type: String

    /// The data: the values of all `data` lines, joined by LF.
    public var data: String

    /// The last event ID at the moment of the dispatch; empty when there is none.
    public var lastEventID: String

    /// Creates an event.
    public init(type: String = "message", data: String, lastEventID: String = "") {
        self.type = type
        self.data = data
        self.lastEventID = lastEventID
    }

    /// Copies the bytes of an event.
    ///
    /// Invalid UTF-8 becomes U+FFFD, as in WHATWG Encoding's UTF-8 decode.
    public init(_ bytes: ServerSentEventBytes) {
        self.type = unsafe String(decoding: bytes.type, as: UTF8.self)
        self.data = unsafe String(decoding: bytes.data, as: UTF8.self)
        self.lastEventID = unsafe String(decoding: bytes.lastEventID, as: UTF8.self)
    }
}

extension ServerSentEvent: EventStreamOutput {
    /// Copies an event; nil for other items.
    @usableFromInline static func copy(of item: EventStreamItem) -> Self? {
        if case .event(let bytes) = unsafe item { unsafe ServerSentEvent(bytes) } else { nil }
    }

    /// Its last event ID.
    @inlinable var broughtLastEventID: String? { self.lastEventID }
}

extension EventStreamParser {
    /// Parses the next bytes of the stream.
    ///
    /// - Parameter bytes: the next bytes, in any collection; an array's are not copied
    /// - Returns: the events that the bytes complete
    /// - Throws: ``EventStreamError`` when an event breaks the limit. The events before it are lost to this method;
    ///   ``parse(_:appendingTo:)`` keeps them.
    @inlinable public mutating func events(in bytes: some Sequence<UInt8>) throws(EventStreamError) -> [ServerSentEvent]
    {
        var events: [ServerSentEvent] = []
        try self.parse(bytes, appendingTo: &events)
        return events
    }

    /// Parses the next bytes of the stream, and appends the events that they complete.
    ///
    /// - Parameters:
    ///   - bytes: the next bytes, in any collection; an array's are not copied
    ///   - events: the array to which the events are appended
    /// - Throws: ``EventStreamError`` when an event breaks the limit. The events before it have been appended.
    @inlinable public mutating func parse(
        _ bytes: some Sequence<UInt8>, appendingTo events: inout [ServerSentEvent]
    ) throws(EventStreamError) {
        unsafe try self.parse(contentsOf: bytes) { item in
            if let event = unsafe ServerSentEvent.copy(of: item) { events.append(event) }
        }
    }

    /// Parses the next bytes of the stream, and calls `receive` for each element that they complete, in order.
    @inlinable mutating func parse(
        contentsOf bytes: some Sequence<UInt8>, _ receive: (EventStreamItem) -> Void
    ) throws(EventStreamError) {
        let result = bytes.withContiguousStorageIfAvailable { contiguous in
            unsafe self.result(of: UnsafeRawBufferPointer(contiguous), receive)
        }
        guard let result else { return unsafe try self.parse(contentsOf: Array(bytes), receive) }
        try result.get()
    }

    /// Converts the error to a value.
    ///
    /// A typed error does not pass through `withContiguousStorageIfAvailable`.
    @inlinable mutating func result(
        of chunk: UnsafeRawBufferPointer, _ receive: (EventStreamItem) -> Void
    ) -> Result<Void, EventStreamError> {
        do throws(EventStreamError) {
            return .success(unsafe try self.parse(chunk, receive))
        } catch {
            return .failure(error)
        }
    }
}
