// The chunked transfer coding, removed in place (RFC 9112 section 7.1).
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
    /// The part of the size that was read, or the number of missing bytes of the chunk's data.
    private var size = 0
    private var lineByteCount = 0
    private var trailerByteCount = 0

    init(limits: HTTPLimits) { self.limits = limits }

    /// Indicates whether the body and its trailer section have ended.
    var isComplete: Bool { self.state == .complete }

    /// The error of a connection that ends here; nil when the body is complete.
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
    /// `piece` is valid when an error is thrown too: it has the content before the invalid byte.
    mutating func read(_ buffer: UnsafeMutableRawBufferPointer, into piece: inout BodyPiece) throws(HTTPError) {
        while piece.consumed < buffer.count {
            switch self.state {
            case .lineStart:
                if self.limits.chunkLineByteCount >= Self.shortLineByteCount {
                    unsafe Self.takeWholeChunks(of: buffer, into: &piece)
                    guard piece.consumed < buffer.count else { return }
                }
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

    /// Reads chunks without extensions that lie whole in the buffer, the common case, in one step.
    ///
    /// All other input, errors included, is left to the byte-by-byte states. A chunk of 250 bytes takes 44 instructions
    /// this way beside those of `memmove`, as callgrind counts them.
    @inline(never)
    private static func takeWholeChunks(of buffer: UnsafeMutableRawBufferPointer, into piece: inout BodyPiece) {
        guard let base = buffer.baseAddress else { return }
        let count = buffer.count
        var position = piece.consumed
        var contentStart = piece.content.lowerBound
        var contentEnd = piece.content.upperBound
        unsafe Self.digitValues.withUnsafeBufferPointer { values in
            while count &- position >= Self.shortLineByteCount {
                let word = unsafe UInt64(littleEndian: base.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                var size: Int
                var payload: Int
                if UInt16(truncatingIfNeeded: word &>> 16) == Self.lineEnd {
                    size = unsafe Int(values[Int(word & 0xFF)]) &<< 4 | Int(values[Int(word &>> 8 & 0xFF)])
                    payload = position &+ 4
                } else if UInt16(truncatingIfNeeded: word &>> 24) == Self.lineEnd {
                    size = unsafe Int(values[Int(word & 0xFF)]) &<< 8 | Int(values[Int(word &>> 8 & 0xFF)]) &<< 4
                    size |= unsafe Int(values[Int(word &>> 16 & 0xFF)])
                    payload = position &+ 5
                } else {
                    var digits = word
                    size = 0
                    payload = position &+ 2
                    while true {
                        let digit = unsafe Int(values[Int(digits & 0xFF)])
                        guard digit >= 0 else { break }
                        size = size &<< 4 | digit
                        digits &>>= 8
                        payload &+= 1
                    }
                    // More than six digits leave zeros behind them.
                    guard UInt16(truncatingIfNeeded: digits) == Self.lineEnd else { break }
                }
                let end = payload &+ size
                guard size > 0, end &+ 2 <= count,
                    unsafe UInt16(littleEndian: base.loadUnaligned(fromByteOffset: end, as: UInt16.self))
                        == Self.lineEnd
                else { break }
                if contentStart == contentEnd {
                    contentStart = payload
                    contentEnd = payload
                } else {
                    unsafe (base + contentEnd).copyMemory(from: base + payload, byteCount: size)
                }
                contentEnd &+= size
                position = end &+ 2
            }
        }
        piece.content = contentStart..<contentEnd
        piece.consumed = position
    }

    /// The longest chunk line that is read in one step: six digits and CRLF.
    private static let shortLineByteCount = 8
    /// CRLF, as a number of two bytes whose lowest is the first.
    private static let lineEnd: UInt16 = 0x0A0D

    /// The values of hexadecimal digits, and -1 for every other byte.
    private static let digitValues: [Int8] = [
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -1, -1, -1, -1, -1,
        -1, 10, 11, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, 10, 11, 12, 13, 14, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
    ]

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
            self.size = Int(Self.digitValues[Int(byte)])
            guard self.size >= 0 else { throw .invalidChunkLine }
            self.state = .size
        case .size:
            let digit = Int(Self.digitValues[Int(byte)])
            guard digit >= 0 else { return try self.readByteBehindSize(byte) }
            guard self.size <= Int.max >> 4 else { throw .chunkSizeOverflow }
            self.size = self.size << 4 | digit
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

    /// Reads a byte behind a size, but no LF: RFC 9112 section 2.2 lets a single LF end only field lines and the start
    /// line.
    private mutating func readByteBehindSize(_ byte: UInt8) throws(HTTPError) {
        switch byte {
        case .carriageReturn: self.state = .lineFeed
        case UInt8(ascii: ";"): self.state = .extensions
        // Bad white space may stand before an extension; some servers pad their sizes with it.
        case .space, .horizontalTab: self.state = .afterSize
        default: throw .invalidChunkLine
        }
    }

    // MARK: Trailer section

    /// Skips a byte of the trailer section: RFC 9112 section 7.1.2 lets its fields be discarded.
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
