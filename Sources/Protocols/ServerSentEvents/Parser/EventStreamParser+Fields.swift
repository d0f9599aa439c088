// Parses lines in pieces: those that a chunk's end cut, and the rare ones. Only the values themselves are stored.

extension EventStreamParser {
    /// Takes the last piece of a line, and ends the line.
    mutating func parseOtherLine(
        _ piece: ChunkRange, of chunk: Chunk, _ receive: (EventStreamItem) -> Void
    ) throws(EventStreamError) {
        try self.takeLine(piece, of: chunk)
        unsafe try self.endLine(at: piece.end, of: chunk, receive)
    }

    /// Takes a piece of a line without its terminator.
    mutating func takeLine(_ piece: ChunkRange, of chunk: Chunk) throws(EventStreamError) {
        var offset = piece.start
        while offset < piece.end {
            switch self.line {
            case .start:
                self.line = chunk[offset] == .colon ? .comment : .name(FieldName())
            case .name(var name):
                if chunk[offset] == .colon {
                    try self.beginValue(of: name.field, nameEnd: offset, of: chunk)
                } else {
                    self.line = name.append(chunk[offset]) ? .name(name) : .ignored
                }
                offset += 1
            case .colon(let field):
                if chunk[offset] == .space { offset += 1 }
                self.line = .value(field)
            case .value(let field):
                return try self.takeValue(
                    of: field, ChunkRange(start: offset, count: piece.end - offset), of: chunk)
            case .comment, .ignored:
                return
            }
        }
    }

    /// Begins the value of a field, which may stay empty.
    private mutating func beginValue(
        of field: Field?, nameEnd: Int, of chunk: Chunk
    ) throws(EventStreamError) {
        switch field {
        case .data: try self.event.beginDataLine(nameEnd: nameEnd, of: chunk)
        case .event: self.event.beginType()
        case .id: self.event.beginID()
        case .retry: self.retry = nil
        case nil: break
        }
        self.line = field.map { .colon($0) } ?? .ignored
    }

    private mutating func takeValue(
        of field: Field, _ piece: ChunkRange, of chunk: Chunk
    ) throws(EventStreamError) {
        switch field {
        case .data: try self.event.appendData(piece, of: chunk)
        case .event: try self.event.appendType(piece, of: chunk)
        case .id:
            guard try self.event.appendID(piece, of: chunk) else {
                self.line = .ignored
                return
            }
        case .retry: self.takeRetry(piece, of: chunk)
        }
    }

    /// Takes the digits of a reconnection time.
    ///
    /// WHATWG HTML section 9.2.6: the value is used when it consists of ASCII digits only. One that exceeds `Int` is
    /// ignored.
    private mutating func takeRetry(_ piece: ChunkRange, of chunk: Chunk) {
        for offset in piece.start..<piece.end {
            let digit = Int(chunk[offset]) - 0x30
            let product = (self.retry ?? 0).multipliedReportingOverflow(by: 10)
            let sum = product.partialValue.addingReportingOverflow(digit)
            guard (0...9).contains(digit), !product.overflow, !sum.overflow else {
                self.line = .ignored
                return
            }
            self.retry = sum.partialValue
        }
    }

    /// Applies the effect of a line at its end.
    private mutating func endLine(
        at offset: Int, of chunk: Chunk, _ receive: (EventStreamItem) -> Void
    ) throws(EventStreamError) {
        // A line without a colon is a field name with an empty value.
        if case .name(let name) = self.line { try self.beginValue(of: name.field, nameEnd: offset, of: chunk) }
        switch self.line {
        case .start: unsafe self.dispatch(from: chunk, receive)
        case .colon(.id), .value(.id): self.event.endID()
        case .colon(.retry), .value(.retry): unsafe self.endRetry(receive)
        case .comment: unsafe receive(.comment)
        case .name, .colon(.data), .colon(.event), .value(.data), .value(.event), .ignored: break
        }
        self.line = .start
    }

    private mutating func endRetry(_ receive: (EventStreamItem) -> Void) {
        guard let milliseconds = self.retry else { return }
        self.reconnectionTime = .milliseconds(milliseconds)
        unsafe receive(.reconnectionTime(milliseconds: milliseconds))
    }
}
