// Cuts a chunk into lines, and dispatches events. The lines of most streams are handled here, whole.

extension EventStreamParser {
    /// Parses every line that ends in the chunk, and takes the bytes after the last of them.
    mutating func parseLines(of chunk: Chunk, _ receive: (EventStreamItem) -> Void) throws(EventStreamError) {
        var lines = LineCursor(chunk: chunk, start: self.beginning(of: chunk))
        if lines.isAtLine, self.isInsideLine {
            unsafe try self.parseOtherLine(lines.line, of: chunk, receive)
            lines.advance()
        }
        while lines.isAtLine {
            if self.event.isNeeded {
                unsafe try self.parseHeldLine(lines.line, of: chunk, receive)
                lines.advance()
            } else {
                unsafe try self.parseWholeEvents(&lines, of: chunk, receive)
            }
        }
        self.skipsLineFeed = lines.endsBeforeLineFeed
        if lines.start < chunk.count {
            try self.takeLine(ChunkRange(start: lines.start, count: chunk.count &- lines.start), of: chunk)
        }
    }

    /// Parses events that consist of an `event` and a `data` line, or of one of them, and lie whole in the chunk.
    ///
    /// It returns at any other event, after moving the parts that it found to where events are assembled piece by
    /// piece.
    @inline(__always)
    private mutating func parseWholeEvents(
        _ lines: inout LineCursor, of chunk: Chunk, _ receive: (EventStreamItem) -> Void
    ) throws(EventStreamError) {
        while lines.isAtLine {
            var type = absentRange, data = absentRange
            if let value = lines.eventValue {
                type = value
                lines.advance()
            }
            if let value = lines.dataValue {
                data = value
                lines.advance()
            }
            if lines.isAtBlankLine, self.event.hasRoom(for: type, data) {
                if data.count >= 0 { unsafe self.handOut(type, data, of: chunk, receive) }
                lines.advance()
            } else if lines.isAtComment {
                try self.event.hold(type, data, of: chunk)
                unsafe receive(.comment)
                lines.advance()
                if self.event.isNeeded { return }
            } else {
                try self.event.hold(type, data, of: chunk)
                guard lines.isAtLine else { return }
                unsafe try self.parseHeldLine(lines.line, of: chunk, receive)
                lines.advance()
                if self.event.isNeeded { return }
            }
        }
    }

    /// Parses a line that lies whole in the chunk, of an event that is assembled piece by piece.
    @inline(never)
    private mutating func parseHeldLine(
        _ line: ChunkRange, of chunk: Chunk, _ receive: (EventStreamItem) -> Void
    ) throws(EventStreamError) {
        if line.count >= 5, chunk.hasDataField(at: line.start) {
            let value = chunk.value(from: line.start &+ 5, to: line.end)
            try self.event.addDataLine(value, nameEnd: line.start &+ 4, of: chunk)
        } else if line.count == 0 {
            unsafe self.dispatch(from: chunk, receive)
        } else if line.count >= 6, chunk.hasEventField(at: line.start) {
            try self.event.setType(chunk.value(from: line.start &+ 6, to: line.end), of: chunk)
        } else {
            unsafe try self.parseOtherLine(line, of: chunk, receive)
        }
    }

    /// Parses a chunk of a few bytes, for which masks would cost more than they save.
    mutating func parseBytes(of chunk: Chunk, _ receive: (EventStreamItem) -> Void) throws(EventStreamError) {
        var start = self.beginning(of: chunk)
        while start < chunk.count {
            var end = start
            while end < chunk.count, !chunk.hasTerminator(at: end) { end &+= 1 }
            let piece = ChunkRange(start: start, count: end &- start)
            guard end < chunk.count else { return try self.takeLine(piece, of: chunk) }
            unsafe try self.parseOtherLine(piece, of: chunk, receive)
            start = self.lineStart(after: end, of: chunk)
        }
    }

    /// Dispatches an event of which all lines lay in the chunk.
    @inline(__always)
    private func handOut(
        _ type: ChunkRange, _ data: ChunkRange, of chunk: Chunk, _ receive: (EventStreamItem) -> Void
    ) {
        let type = unsafe type.count > 0 ? chunk.bytes(type) : defaultEventType
        unsafe self.event.lastEventID.withBytes { id in
            unsafe receive(.event(ServerSentEventBytes(type: type, data: chunk.bytes(data), lastEventID: id)))
        }
    }

    /// Dispatches the event that a blank line completes.
    ///
    /// WHATWG HTML section 9.2.6: the last event ID is set first, even when there is no data and so no event.
    mutating func dispatch(from chunk: Chunk, _ receive: (EventStreamItem) -> Void) {
        self.event.commitID()
        if self.event.data.isPresent {
            self.event.data.padBuffer()
            unsafe self.event.type.withBytes(in: chunk) { type in
                unsafe self.event.data.withBytes(in: chunk) { data in
                    unsafe self.event.lastEventID.withBytes { id in
                        // An empty event type leaves the type at its default.
                        let type = unsafe type.isEmpty ? defaultEventType : type
                        unsafe receive(.event(ServerSentEventBytes(type: type, data: data, lastEventID: id)))
                    }
                }
            }
        }
        self.event.clear()
    }

    /// Skips bytes that belong to the previous chunk's end: a byte order mark, or the LF of a CRLF that was cut.
    private mutating func beginning(of chunk: Chunk) -> Int {
        if self.skipsLineFeed {
            self.skipsLineFeed = false
            return chunk[0] == .lineFeed ? 1 : 0
        }
        return self.byteOrderMarkCount == 3 ? 0 : self.skipByteOrderMark(of: chunk)
    }

    /// Returns the offset after a line terminator.
    ///
    /// A chunk may end between CR and LF, which is noted for the next one. The CR has ended its line already: waiting
    /// for the byte after it would delay an event.
    @inline(__always)
    mutating func lineStart(after end: Int, of chunk: Chunk) -> Int {
        let next = end &+ 1
        guard chunk[end] == .carriageReturn else { return next }
        guard next < chunk.count else {
            self.skipsLineFeed = true
            return next
        }
        return chunk[next] == .lineFeed ? next &+ 1 : next
    }

    /// Skips the byte order mark at the beginning of a stream, however it is cut.
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
                // A mark that breaks off is the beginning of an unknown field name.
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

private var absentRange: ChunkRange { ChunkRange(start: 0, count: -1) }

/// The type of an event that names none.
private var defaultEventType: UnsafeRawBufferPointer {
    let name: StaticString = "message"
    return unsafe UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
}
