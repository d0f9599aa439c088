// Events as values that can be kept. This is where bytes become strings, and nowhere else.

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
    /// Invalid UTF-8 becomes U+FFFD, as WHATWG Encoding's UTF-8 decode does it.
    public init(_ bytes: ServerSentEventBytes) {
        self.type = unsafe String(decoding: bytes.type, as: UTF8.self)
        self.data = unsafe String(decoding: bytes.data, as: UTF8.self)
        self.lastEventID = unsafe String(decoding: bytes.lastEventID, as: UTF8.self)
    }
}

extension EventStreamParser {
    /// Parses the next bytes of the stream.
    ///
    /// - Parameter bytes: the next bytes, in any collection; an array's are not copied
    /// - Returns: the events that the bytes complete
    /// - Throws: ``EventStreamError`` when an event breaks the limit. The events before it are lost to this method;
    ///   ``parse(_:appendingTo:)`` keeps them.
    public mutating func events(in bytes: some Sequence<UInt8>) throws(EventStreamError) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        try self.parse(bytes, appendingTo: &events)
        return events
    }

    /// Parses the next bytes of the stream, and appends the events that they complete.
    ///
    /// - Parameters:
    ///   - bytes: the next bytes, in any collection; an array's are not copied
    ///   - events: what the events are appended to
    /// - Throws: ``EventStreamError`` when an event breaks the limit. The events before it have been appended.
    public mutating func parse(
        _ bytes: some Sequence<UInt8>, appendingTo events: inout [ServerSentEvent]
    ) throws(EventStreamError) {
        let result = bytes.withContiguousStorageIfAvailable { contiguous in
            unsafe self.parse(UnsafeRawBufferPointer(contiguous), appendingTo: &events)
        }
        guard let result else { return try self.parse(Array(bytes), appendingTo: &events) }
        try result.get()
    }

    private mutating func parse(
        _ chunk: UnsafeRawBufferPointer, appendingTo events: inout [ServerSentEvent]
    ) -> Result<Void, EventStreamError> {
        // A typed error does not pass through `withContiguousStorageIfAvailable`.
        do throws(EventStreamError) {
            unsafe try self.parse(chunk) { item in
                if case .event(let bytes) = unsafe item { unsafe events.append(ServerSentEvent(bytes)) }
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }
}
