// The opposite direction: events to bytes, for servers and for tests. A value, owned by the writer of the stream.

/// Writes an event stream that every conforming parser reads back: WHATWG HTML section 9.2.5 and 9.2.6.
///
/// ```swift
/// var serializer = EventStreamSerializer()
/// let bytes = try serializer.bytes(for: ServerSentEvent(type: "greeting", data: "hello"))
/// ```
///
/// A parser of the bytes returns the written values, except for what the format cannot carry:
///
/// - A CRLF or a CR in the data ends a line, as LF does, and is read back as LF.
/// - An empty event type is read back as `message`.
///
/// Any other value that cannot be carried is refused with an ``EventStreamSerializerError``. Terminators are LF.
public struct EventStreamSerializer: Sendable {
    /// The last event ID that a reader of the bytes has: the one that was written last.
    public private(set) var lastEventID: String

    /// Creates a serializer at the beginning of a stream.
    ///
    /// - Parameter lastEventID: the ID that the reader begins with, the value of `Last-Event-ID` in its request: an
    ///   event with the same ID needs no `id` line
    public init(lastEventID: String = "") {
        self.lastEventID = lastEventID
    }

    /// Returns the bytes of an event.
    ///
    /// - Parameter event: the event; an `id` line is written when its last event ID differs from the previous one
    /// - Returns: the lines of the event, and the blank line that dispatches it
    /// - Throws: ``EventStreamSerializerError`` when the type or the ID cannot be written
    public mutating func bytes(for event: ServerSentEvent) throws(EventStreamSerializerError) -> [UInt8] {
        var bytes: [UInt8] = []
        try self.serialize(event, appendingTo: &bytes)
        return bytes
    }

    /// Appends the bytes of an event.
    ///
    /// - Parameters:
    ///   - event: the event; an `id` line is written when its last event ID differs from the previous one
    ///   - bytes: the buffer to which the lines of the event, and the blank line that dispatches it, are appended
    /// - Throws: ``EventStreamSerializerError`` when the type or the ID cannot be written. In that case no byte was
    ///   appended.
    public mutating func serialize(
        _ event: ServerSentEvent, appendingTo bytes: inout [UInt8]
    ) throws(EventStreamSerializerError) {
        if let offset = offset(in: event.type, where: isTerminator) { throw .invalidType(byteOffset: offset) }
        let idLine = try self.idLine(for: event.lastEventID)
        if !event.type.utf8.elementsEqual("message".utf8), !event.type.isEmpty {
            appendLine("event", event.type.utf8, to: &bytes)
        }
        bytes += idLine
        appendLines("data", event.data, to: &bytes)
        bytes.append(.lineFeed)
        self.lastEventID = event.lastEventID
    }

    /// Appends an ID without an event: a reader that reconnects asks for the events after it.
    ///
    /// - Parameters:
    ///   - lastEventID: the ID; empty to withdraw the previous one
    ///   - bytes: the buffer to which the `id` line and a blank line are appended
    /// - Throws: ``EventStreamSerializerError`` when the ID cannot be written. In that case no byte was appended.
    public mutating func serialize(
        lastEventID: String, appendingTo bytes: inout [UInt8]
    ) throws(EventStreamSerializerError) {
        let idLine = try self.idLine(for: lastEventID)
        guard !idLine.isEmpty else { return }
        bytes += idLine
        bytes.append(.lineFeed)
        self.lastEventID = lastEventID
    }

    /// Appends the time that the reader is to wait before it reconnects.
    ///
    /// - Parameters:
    ///   - reconnectionTime: the time, of which whole milliseconds are written and the rest is dropped
    ///   - bytes: the buffer to which the `retry` line is appended
    /// - Throws: ``EventStreamSerializerError`` when the time is negative, or more milliseconds than an `Int` holds
    public func serialize(
        reconnectionTime: Duration, appendingTo bytes: inout [UInt8]
    ) throws(EventStreamSerializerError) {
        let (seconds, attoseconds) = reconnectionTime.components
        let whole = seconds.multipliedReportingOverflow(by: 1_000)
        let sum = whole.partialValue.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        guard reconnectionTime >= .zero, !whole.overflow, !sum.overflow,
            let milliseconds = Int(exactly: sum.partialValue)
        else { throw .invalidReconnectionTime }
        appendLine("retry", String(milliseconds).utf8, to: &bytes)
    }

    /// Appends a comment, which a reader treats as a sign of life.
    ///
    /// - Parameters:
    ///   - comment: any text; one with several lines becomes several comments
    ///   - bytes: the buffer to which the comment lines are appended
    public func serialize(comment: String, appendingTo bytes: inout [UInt8]) {
        appendLines("", comment, to: &bytes)
    }

    /// Returns the line that changes the last event ID; empty when it is unchanged.
    private func idLine(for lastEventID: String) throws(EventStreamSerializerError) -> [UInt8] {
        // Canonically equivalent IDs are equal strings and different bytes.
        guard !lastEventID.utf8.elementsEqual(self.lastEventID.utf8) else { return [] }
        if let offset = offset(in: lastEventID, where: { isTerminator($0) || $0 == 0 }) {
            throw .invalidLastEventID(byteOffset: offset)
        }
        var line: [UInt8] = []
        appendLine("id", lastEventID.utf8, to: &line)
        return line
    }
}

/// Appends a field, or a comment when it has no name.
///
/// One space is written before the value, because a parser removes one.
private func appendLine(_ name: StaticString, _ value: some Collection<UInt8>, to bytes: inout [UInt8]) {
    name.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
    bytes.append(.colon)
    if !value.isEmpty {
        bytes.append(.space)
        bytes.append(contentsOf: value)
    }
    bytes.append(.lineFeed)
}

/// Appends a field or a comment for each line of a text that CRLF, LF and CR terminate.
///
/// A text without any of them is one line.
private func appendLines(_ name: StaticString, _ text: String, to bytes: inout [UInt8]) {
    var text = text
    text.withUTF8 { text in
        var start = 0
        for end in text.indices where unsafe isTerminator(text[end]) {
            let isSecondOfCRLF = unsafe end > 0 && text[end] == .lineFeed && text[end - 1] == .carriageReturn
            if !isSecondOfCRLF { unsafe appendLine(name, text[start..<end], to: &bytes) }
            start = end + 1
        }
        unsafe appendLine(name, text[start...], to: &bytes)
    }
}

/// Returns the offset of the first byte of a text that its field cannot carry.
private func offset(in text: String, where isForbidden: (UInt8) -> Bool) -> Int? {
    text.utf8.firstIndex(where: isForbidden).map { text.utf8.distance(from: text.utf8.startIndex, to: $0) }
}

private func isTerminator(_ byte: UInt8) -> Bool { byte == .lineFeed || byte == .carriageReturn }
