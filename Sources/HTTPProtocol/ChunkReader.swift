// The chunked transfer coding, removed where the bytes lie (RFC 9112 section 7.1).
// The owner is the `ResponseReader` it is part of.

/// Removes chunk lines and line ends from a body in chunks, and passes over its trailer section.
struct ChunkReader: Sendable {
    private enum State {
        /// Before the first digit of a size.
        case lineStart
        case size
        /// In white space behind a size.
        case afterSize
        case extensions
        case quotedString
        case quotedPair
        /// Behind the CR of a chunk line.
        case lineFeed
        case data
        case dataCarriageReturn
        case dataLineFeed
        case trailerLineStart
        /// Behind a CR at the start of a trailer line.
        case trailerLineFeed
        case trailerLine
        case complete
    }

    private let limits: HTTPLimits
    private var state: State = .lineStart
    /// The size as far as it was read, or the missing bytes of the chunk's data.
    private var size = 0
    private var lineByteCount = 0
    private var trailerByteCount = 0

    init(limits: HTTPLimits) { self.limits = limits }

    /// Whether the body and its trailer section have ended.
    var isComplete: Bool { self.state == .complete }

    /// The error that an end of the connection means here; nil when the body is complete.
    var endError: HTTPError? {
        switch self.state {
        case .complete: nil
        case .data: .incompleteChunk(missing: self.size)
        case .lineStart, .size, .afterSize, .extensions, .quotedString, .quotedPair, .lineFeed, .dataCarriageReturn,
            .dataLineFeed:
            .missingLastChunk
        case .trailerLineStart, .trailerLineFeed, .trailerLine: .incompleteTrailerSection
        }
    }

    /// Reads from the start of the buffer, and moves the data of all chunks to the place of the first of them.
    ///
    /// `piece` is right when an error is thrown too: it has what lies before the wrong byte.
    mutating func read(_ buffer: UnsafeMutableRawBufferPointer, into piece: inout BodyPiece) throws(HTTPError) {
        while piece.consumed < buffer.count {
            switch self.state {
            case .lineStart:
                if unsafe self.takeWholeChunks(of: buffer, into: &piece) { continue }
                self.size = 0
                self.lineByteCount = 0
                try self.readLineByte(unsafe buffer[piece.consumed])
                piece.consumed += 1
            case .size, .afterSize, .extensions, .quotedString, .quotedPair, .lineFeed:
                try self.readLineByte(unsafe buffer[piece.consumed])
                piece.consumed += 1
            case .data:
                let byteCount = min(self.size, buffer.count - piece.consumed)
                unsafe Self.take(byteCount, of: buffer, into: &piece)
                self.size -= byteCount
                if self.size == 0 { self.state = .dataCarriageReturn }
            case .dataCarriageReturn:
                guard unsafe buffer[piece.consumed] == .carriageReturn else { throw .missingChunkTerminator }
                self.state = .dataLineFeed
                piece.consumed += 1
            case .dataLineFeed:
                guard unsafe buffer[piece.consumed] == .lineFeed else { throw .missingChunkTerminator }
                self.state = .lineStart
                piece.consumed += 1
            case .trailerLineStart, .trailerLineFeed, .trailerLine:
                try self.readTrailerByte(unsafe buffer[piece.consumed])
                piece.consumed += 1
            case .complete:
                return
            }
        }
    }

    // MARK: Whole chunks

    /// The common case at once: chunks without extensions that lie whole in the buffer.
    ///
    /// Says whether there was one.     /// Everything else, every error included, is left to the byte-by-byte states.
    @inline(__always)
    private func takeWholeChunks(of buffer: UnsafeMutableRawBufferPointer, into piece: inout BodyPiece) -> Bool {
        guard let base = buffer.baseAddress, self.limits.chunkLineByteCount >= 8 else { return false }
        let count = buffer.count
        let start = piece.consumed
        var position = start
        var content = piece.content
        while count &- position >= 8 {
            // Six digits and the CRLF behind them at most.
            var word = unsafe UInt64(littleEndian: base.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            var size = 0
            var payload = position &+ 2
            while true {
                let digit = UInt8(truncatingIfNeeded: word).hexadecimalValue
                guard digit < 16 else { break }
                size = size &<< 4 | Int(digit)
                word &>>= 8
                payload &+= 1
            }
            // The last chunk has no data; more digits than six leave zeros behind them, which are no CRLF.
            guard UInt16(truncatingIfNeeded: word) == 0x0A0D, size > 0, size <= count &- 2 &- payload else { break }
            let end = payload &+ size
            let terminator = unsafe base.loadUnaligned(fromByteOffset: end, as: UInt16.self)
            guard UInt16(littleEndian: terminator) == 0x0A0D else { break }
            if content.isEmpty {
                content = unsafe Range(uncheckedBounds: (payload, end))
            } else {
                unsafe (base + content.upperBound).copyMemory(from: base + payload, byteCount: size)
                content = unsafe Range(uncheckedBounds: (content.lowerBound, content.upperBound &+ size))
            }
            position = end &+ 2
        }
        piece.content = content
        piece.consumed = position
        return position > start
    }

    /// Takes bytes of data; those of the first chunk stay where they are.
    private static func take(
        _ byteCount: Int, of buffer: UnsafeMutableRawBufferPointer, into piece: inout BodyPiece
    ) {
        let start = piece.consumed
        piece.consumed += byteCount
        guard !piece.content.isEmpty, let base = buffer.baseAddress else {
            piece.content = start..<piece.consumed
            return
        }
        unsafe (base + piece.content.upperBound).copyMemory(from: base + start, byteCount: byteCount)
        piece.content = piece.content.lowerBound..<(piece.content.upperBound + byteCount)
    }

    // MARK: Chunk lines

    private mutating func readLineByte(_ byte: UInt8) throws(HTTPError) {
        guard self.lineByteCount < self.limits.chunkLineByteCount else {
            throw .chunkLineTooLong(limit: self.limits.chunkLineByteCount)
        }
        self.lineByteCount += 1
        switch self.state {
        case .lineStart:
            guard byte.hexadecimalValue < 16 else { throw .invalidChunkLine }
            self.size = Int(byte.hexadecimalValue)
            self.state = .size
        case .size:
            let digit = byte.hexadecimalValue
            guard digit < 16 else { return try self.readByteBehindSize(byte) }
            guard self.size <= Int.max >> 4 else { throw .chunkSizeOverflow }
            self.size = self.size << 4 | Int(digit)
        case .afterSize:
            try self.readByteBehindSize(byte)
        case .extensions:
            switch byte {
            case .carriageReturn: self.state = .lineFeed
            case UInt8(ascii: "\""): self.state = .quotedString
            default: if byte.isForbiddenInValue { throw .invalidChunkLine }
            }
        case .quotedString:
            // No line end can be in a quoted string (RFC 9110 section 5.6.4).
            guard !byte.isForbiddenInValue else { throw .invalidChunkLine }
            if byte == UInt8(ascii: "\"") { self.state = .extensions }
            if byte == UInt8(ascii: "\\") { self.state = .quotedPair }
        case .quotedPair:
            guard !byte.isForbiddenInValue else { throw .invalidChunkLine }
            self.state = .quotedString
        case .lineFeed:
            guard byte == .lineFeed else { throw .invalidChunkLine }
            self.state = self.size == 0 ? .trailerLineStart : .data
        case .data, .dataCarriageReturn, .dataLineFeed, .trailerLineStart, .trailerLineFeed, .trailerLine, .complete:
            preconditionFailure("not in a chunk line")
        }
    }

    /// RFC 9112 section 2.2 lets a single LF end field lines and the start line, and no chunk line.
    private mutating func readByteBehindSize(_ byte: UInt8) throws(HTTPError) {
        switch byte {
        case .carriageReturn: self.state = .lineFeed
        case UInt8(ascii: ";"): self.state = .extensions
        // Bad white space may stand before an extension; some servers fill their sizes up with it.
        case .space, .horizontalTab: self.state = .afterSize
        default: throw .invalidChunkLine
        }
    }

    // MARK: Trailer section

    /// Passes over the trailer section: RFC 9112 section 7.1.2 lets its fields be discarded.
    private mutating func readTrailerByte(_ byte: UInt8) throws(HTTPError) {
        guard self.trailerByteCount < self.limits.trailerSectionByteCount else {
            throw .trailerSectionTooLarge(limit: self.limits.trailerSectionByteCount)
        }
        self.trailerByteCount += 1
        switch byte {
        case .lineFeed: self.state = self.state == .trailerLine ? .trailerLineStart : .complete
        case .carriageReturn where self.state == .trailerLineStart: self.state = .trailerLineFeed
        default: self.state = .trailerLine
        }
    }
}
