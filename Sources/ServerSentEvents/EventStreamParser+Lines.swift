// Cuts a chunk into lines, and dispatches events. The lines that most streams consist of are handled here, whole.

extension EventStreamParser {
    /// Parses every line that ends in the chunk, and takes what follows the last of them.
    mutating func parseLines(of chunk: Chunk, _ receive: (EventStreamItem) -> Void) throws(EventStreamError) {
        var start = self.beginning(of: chunk)
        var terminators = unsafe LineTerminatorScanner(bytes: chunk.base, count: chunk.count)
        var end = terminators.next(from: start)
        if end < chunk.count, self.isInsideLine {
            unsafe try self.parseOtherLine(ChunkRange(start: start, count: end &- start), of: chunk, receive)
            start = self.lineStart(after: end, of: chunk)
            end = terminators.next(from: start)
        }
        while end < chunk.count {
            unsafe try self.parseLine(from: start, to: end, of: chunk, receive)
            start = self.lineStart(after: end, of: chunk)
            end = terminators.next(from: start)
        }
        if start < chunk.count {
            try self.takeLine(ChunkRange(start: start, count: chunk.count &- start), of: chunk)
        }
    }

    /// Parses a line that lies whole in the chunk.
    @inline(__always)
    private mutating func parseLine(
        from start: Int, to end: Int, of chunk: Chunk, _ receive: (EventStreamItem) -> Void
    ) throws(EventStreamError) {
        let count = end &- start
        if count == 0 {
            unsafe self.dispatch(from: chunk, receive)
        } else if count >= 5, chunk.hasDataField(at: start) {
            try self.event.addDataLine(chunk.value(from: start &+ 5, to: end), nameEnd: start &+ 4, of: chunk)
        } else if count >= 6, chunk.hasEventField(at: start) {
            try self.event.setType(chunk.value(from: start &+ 6, to: end), of: chunk)
        } else {
            unsafe try self.parseOtherLine(ChunkRange(start: start, count: count), of: chunk, receive)
        }
    }

    /// Hands out the event that a blank line completes.
    ///
    /// WHATWG HTML section 9.2.6: the last event ID is set first, even when there is no data and so no event.
    @inline(__always)
    mutating func dispatch(from chunk: Chunk, _ receive: (EventStreamItem) -> Void) {
        self.event.commitID()
        switch (self.event.data.location, self.event.type.location) {
        case (.chunk(let data), .absent):
            unsafe handOut(defaultEventType, chunk.bytes(data), self.event.lastEventID, receive)
        case (.chunk(let data), .chunk(let type)):
            unsafe handOut(chunk.bytes(type), chunk.bytes(data), self.event.lastEventID, receive)
        case (.absent, _):
            break
        case (.chunk, .buffer), (.buffer, _):
            self.event.data.padBuffer()
            unsafe handOut(self.event.type, self.event.data, self.event.lastEventID, from: chunk, receive)
        }
        self.event.clear()
    }

    /// Skips what belongs to what came before: a byte order mark, or the LF of a CRLF that was cut.
    private mutating func beginning(of chunk: Chunk) -> Int {
        if self.skipsLineFeed {
            self.skipsLineFeed = false
            return chunk[0] == .lineFeed ? 1 : 0
        }
        return self.byteOrderMarkCount == 3 ? 0 : self.skipByteOrderMark(of: chunk)
    }

    /// The offset after a line terminator.
    ///
    /// A chunk may end between CR and LF, which is noted for the next one. The CR has ended its line already: waiting for the byte after it would delay an event.
    @inline(__always)
    private mutating func lineStart(after end: Int, of chunk: Chunk) -> Int {
        let next = end &+ 1
        guard chunk[end] == .carriageReturn else { return next }
        guard next < chunk.count else {
            self.skipsLineFeed = true
            return next
        }
        return chunk[next] == .lineFeed ? next &+ 1 : next
    }

    /// Steps over the byte order mark that a stream may begin with, however it is cut.
    private mutating func skipByteOrderMark(of chunk: Chunk) -> Int {
        var offset = 0
        while offset < chunk.count, self.byteOrderMarkCount < 3 {
            let expected: UInt8 =
                switch self.byteOrderMarkCount {
                case 0: 0xEF
                case 1: 0xBB
                default: 0xBF
                }
            guard chunk[offset] == expected else {
                // A mark that breaks off is the beginning of a field name, and of no known one.
                if self.byteOrderMarkCount > 0 { self.line = .ignored }
                self.byteOrderMarkCount = 3
                break
            }
            self.byteOrderMarkCount += 1
            offset += 1
        }
        return offset
    }
}

/// Hands out an event of which a part is in a buffer.
@inline(never)
private func handOut(
    _ type: PendingValue, _ data: PendingValue, _ lastEventID: [UInt8], from chunk: Chunk,
    _ receive: (EventStreamItem) -> Void
) {
    unsafe type.withBytes(in: chunk) { type in
        unsafe data.withBytes(in: chunk) { data in unsafe handOut(type, data, lastEventID, receive) }
    }
}

/// Hands out an event.
@inline(__always)
private func handOut(
    _ type: UnsafeRawBufferPointer, _ data: UnsafeRawBufferPointer, _ lastEventID: [UInt8],
    _ receive: (EventStreamItem) -> Void
) {
    unsafe lastEventID.withUnsafeBytes { id in
        // An empty event type leaves the type at its default.
        let type = unsafe type.isEmpty ? defaultEventType : type
        unsafe receive(.event(ServerSentEventBytes(type: type, data: data, lastEventID: id)))
    }
}

/// The type of an event that names none.
private var defaultEventType: UnsafeRawBufferPointer {
    let name: StaticString = "message"
    return unsafe UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
}
