// The public interface of the parser, and its state. Owned by the reader of the stream; a value, without I/O or tasks.

/// Parses an event stream as it arrives, in chunks of any size: WHATWG HTML section 9.2.6.
///
/// Every event is dispatched with the byte that completes it, a lone CR included, and does not depend on how the stream
/// is cut into chunks. The work is linear in the bytes. An event that lies in one chunk is not copied; comments and
/// unknown fields are never stored.
///
/// ```swift
/// var parser = EventStreamParser()
/// for event in try parser.events(in: chunk) {
///     print(event.type, event.data)
/// }
/// ```
///
/// After an error the parser throws the same error until ``reset(lastEventID:)``.
public struct EventStreamParser: Sendable {
    /// The parsed part of the line that the chunk's end cut.
    enum Line: Sendable {
        /// None: a line begins here.
        case start
        /// Bytes that may be the name of a known field.
        case name(FieldName)
        /// A field name and its colon. One space may follow that is not part of the value.
        case colon(Field)
        /// A part of a value.
        case value(Field)
        /// A comment's colon, or more of it.
        case comment
        /// A line that is ignored, whatever follows.
        case ignored
    }

    /// The line that has not ended.
    var line = Line.start
    /// The event whose blank line has not arrived.
    var event: PendingEvent
    /// The reconnection time of a `retry` line that has not ended; nil before its first digit.
    var retry: Int?
    /// Indicates whether a LF would belong to the CR that ended the previous line.
    var skipsLineFeed = false
    /// The number of bytes of a leading byte order mark so far; three when that is settled.
    var byteOrderMarkCount = 0
    /// The number of bytes of the stream before the chunk.
    var streamOffset = 0
    private var failure: EventStreamError?

    /// The smallest byte count of a chunk that is searched with masks.
    private static var maskedByteCount: Int { 16 }

    /// Indicates whether the chunk's end cut a line.
    var isInsideLine: Bool { if case .start = self.line { false } else { true } }

    /// The reconnection time that the stream set last; nil when it has set none.
    ///
    /// It is kept when the stream ends.
    public internal(set) var reconnectionTime: Duration?

    /// The last event ID that a blank line committed: the value of `Last-Event-ID` after a reconnect.
    ///
    /// Invalid UTF-8 in it becomes U+FFFD.
    public var lastEventID: String {
        unsafe self.event.lastEventID.withBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Creates a parser at the beginning of a stream.
    ///
    /// - Parameters:
    ///   - maximumEventByteCount: the largest byte count of one event's values: its data with the LFs that join the
    ///     lines, its type and its ID. A negative limit counts as zero.
    ///   - maximumLineByteCount: the largest byte count of the value in one of its lines; nil for as many as the event.
    ///     A negative limit counts as zero.
    ///   - lastEventID: the last event ID of the stream that this one continues
    public init(
        maximumEventByteCount: Int = 64 << 20, maximumLineByteCount: Int? = nil, lastEventID: String = ""
    ) {
        self.event = PendingEvent(
            maximumByteCount: max(0, maximumEventByteCount),
            maximumLineByteCount: max(0, maximumLineByteCount ?? Int.max), lastEventID: ByteBuffer(lastEventID))
    }

    /// Parses the next bytes of the stream, and calls `receive` for each element that they complete, in order.
    ///
    /// The bytes of an element lie in `chunk` or in the parser, and are valid only during that call.
    ///
    /// - Parameters:
    ///   - chunk: the next bytes; it may be empty
    ///   - receive: takes one event, reconnection time or comment
    /// - Throws: ``EventStreamError`` when the current event exceeds the limit. The elements that the chunk completed
    ///   before that were passed to `receive`; the rest of the chunk was not parsed.
    public mutating func parse(
        _ chunk: UnsafeRawBufferPointer, _ receive: (EventStreamItem) -> Void
    ) throws(EventStreamError) {
        if let failure = self.failure { throw failure }
        guard let base = chunk.baseAddress, chunk.count > 0 else { return }
        let lent = unsafe Chunk(base: base, count: chunk.count, streamOffset: self.streamOffset)
        if case .value(.data) = self.line {
            let isTaken =
                lent.count == 1 ? self.event.continueData(withByte: lent[0]) : self.event.continueData(with: lent)
            if isTaken {
                self.streamOffset &+= lent.count
                return
            }
        }
        do throws(EventStreamError) {
            if lent.count < Self.maskedByteCount {
                unsafe try self.parseBytes(of: lent, receive)
            } else {
                unsafe try self.parseLines(of: lent, receive)
            }
        } catch {
            self.failure = error
            self.event.releaseMemory()
            throw error
        }
        self.event.moveToBuffers(from: lent)
        self.streamOffset += lent.count
    }

    /// Ends the stream, and returns the place where it ended.
    ///
    /// An incomplete event is discarded. After an error, the place is the line in which the error was found.
    ///
    /// The parser is then at the beginning of another stream, as after ``reset(lastEventID:)``.
    ///
    /// - Returns: whether the stream ended between events
    public mutating func finish() -> EventStreamEnd {
        defer { self.reset() }
        if self.isInsideLine || (1...2).contains(self.byteOrderMarkCount) || self.failure != nil {
            return .insideLine(pendingByteCount: self.event.byteCount)
        }
        return self.event.hasStarted ? .insideEvent(pendingByteCount: self.event.byteCount) : .clean
    }

    /// Discards the stream, and an error, and begins with another one.
    ///
    /// - Parameter lastEventID: the last event ID to begin with; nil keeps the one that was committed, as a client does
    ///   that reconnects
    public mutating func reset(lastEventID: String? = nil) {
        self.line = .start
        self.event.reset(lastEventID: lastEventID.map { ByteBuffer($0) })
        self.retry = nil
        self.skipsLineFeed = false
        self.byteOrderMarkCount = 0
        self.streamOffset = 0
        self.failure = nil
    }
}
