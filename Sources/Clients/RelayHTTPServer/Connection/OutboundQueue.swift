// The bytes that a connection has to send.
// The owner is the service thread.

/// A run of bytes that is shared with other connections, and what frames it on this one.
struct OutboundPiece {
    /// A few bytes without an allocation: the line of a chunk, or the header of a frame.
    struct Prefix {
        private var storage: (UInt64, UInt64) = (0, 0)
        private(set) var count = 0

        /// The most bytes of a prefix.
        static let limit = 16

        init() {}

        /// Keeps at most `limit` bytes.
        init(_ bytes: some Collection<UInt8>) {
            precondition(bytes.count <= Self.limit, "a prefix is longer than its place")
            self.count = bytes.count
            withUnsafeMutableBytes(of: &self.storage) { $0.copyBytes(from: bytes) }
        }

        /// The line of a chunk of so many bytes (RFC 9112 section 7.1), of which each viewer of a stream needs one.
        init(lineOfChunk byteCount: Int) {
            // Below 2⁵⁶ bytes, at most 14 digits.
            let digitCount = max(1, (Int.bitWidth - byteCount.leadingZeroBitCount + 3) / 4)
            self.count = digitCount + 2
            withUnsafeMutableBytes(of: &self.storage) { memory in
                for place in 0..<digitCount {
                    let digit = UInt8(truncatingIfNeeded: byteCount >> (4 * (digitCount - 1 - place)) & 0xF)
                    memory[place] = digit < 10 ? 0x30 + digit : 0x57 + digit
                }
                memory[digitCount] = UInt8(ascii: "\r")
                memory[digitCount + 1] = UInt8(ascii: "\n")
            }
        }

        func copy(from offset: Int, to memory: UnsafeMutableRawBufferPointer) -> Int {
            guard offset < self.count else { return 0 }
            return withUnsafeBytes(of: self.storage) { bytes in
                let count = min(self.count - offset, memory.count)
                memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
                return count
            }
        }
    }

    /// The bytes before the payload.
    var prefix = Prefix()
    /// The payload.
    var payload: [UInt8]
    /// Indicates whether CRLF follows.
    var endsLine = false
    /// The cost of the piece in its exchange's buffer.
    var cost = 0

    /// The number of bytes.
    var count: Int { self.prefix.count + self.payload.count + (self.endsLine ? 2 : 0) }
}

/// A queue of pieces.
struct OutboundQueue {
    private var pieces: [OutboundPiece] = []
    /// The place of the first piece that was not sent whole, and the number of its bytes that were.
    private var first = 0
    private var sentOfFirst = 0
    /// The number of bytes that were not sent.
    private(set) var byteCount = 0

    /// Indicates whether everything was sent.
    var isEmpty: Bool { self.first == self.pieces.count }

    /// Adds a piece.
    mutating func append(_ piece: OutboundPiece) {
        guard piece.count > 0 else { return }
        self.pieces.append(piece)
        self.byteCount += piece.count
    }

    /// Adds bytes that count for nothing.
    mutating func append(_ bytes: [UInt8]) { self.append(OutboundPiece(payload: bytes)) }

    /// Copies the first bytes, as many as there is room for; returns their number.
    func copy(to memory: UnsafeMutableRawBufferPointer) -> Int {
        var filled = 0
        var offset = self.sentOfFirst
        var index = self.first
        while index < self.pieces.count, filled < memory.count {
            filled += Self.copy(
                self.pieces[index], from: offset, to: UnsafeMutableRawBufferPointer(rebasing: memory[filled...]))
            offset = 0
            index += 1
        }
        return filled
    }

    private static func copy(
        _ piece: OutboundPiece, from offset: Int, to memory: UnsafeMutableRawBufferPointer
    ) -> Int {
        var filled = piece.prefix.copy(from: offset, to: memory)
        let payloadOffset = max(0, offset - piece.prefix.count)
        if payloadOffset < piece.payload.count {
            filled += piece.payload.withUnsafeBytes { payload in
                let count = min(payload.count - payloadOffset, memory.count - filled)
                UnsafeMutableRawBufferPointer(rebasing: memory[filled...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: payload[payloadOffset..<payloadOffset + count]))
                return count
            }
        }
        guard piece.endsLine else { return filled }
        var position = offset + filled
        while position >= piece.count - 2, position < piece.count, filled < memory.count {
            memory[filled] = position == piece.count - 2 ? UInt8(ascii: "\r") : UInt8(ascii: "\n")
            filled += 1
            position += 1
        }
        return filled
    }

    /// Removes the first bytes, which were sent; returns the cost of the pieces that ended with them.
    mutating func removeFirst(_ count: Int) -> Int {
        var rest = count
        var cost = 0
        self.byteCount -= count
        while rest > 0 {
            let missing = self.pieces[self.first].count - self.sentOfFirst
            guard rest >= missing else {
                self.sentOfFirst += rest
                break
            }
            rest -= missing
            cost += self.pieces[self.first].cost
            // The payload is not kept longer than it is needed: the other readers may have sent it before.
            self.pieces[self.first].payload = []
            self.first += 1
            self.sentOfFirst = 0
        }
        self.releaseSent()
        return cost
    }

    /// Removes everything.
    mutating func removeAll() { self = Self() }

    private mutating func releaseSent() {
        if self.first == self.pieces.count {
            // An idle reader needs no memory.
            (self.pieces, self.first) = ([], 0)
        } else if self.first >= 64, self.first * 2 >= self.pieces.count {
            self.pieces.removeFirst(self.first)
            self.first = 0
        }
    }
}
