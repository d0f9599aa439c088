import WebSocketProtocol

/// Bytes with boundaries, in memory of which 64 more bytes can be read.
///
/// Owned by the arena while it fills and by the consumer while it is read; never by both.
/// - Safety: passed on under the arena's lock, so that one thread at a time has it.
final class InboundBuffer: @unchecked Sendable {
    /// One piece of a message, or a run of a response body.
    struct Record {
        /// Where the bytes stand in their message; nil for a body.
        let piece: MessagePiece?
        let offset: Int
        var count: Int
    }

    private(set) var records: [Record] = []
    private let memory = PaddedBuffer(capacity: 16 << 10)

    var byteCount: Int { self.memory.count }

    /// What counts towards the watermarks: the bytes, and the price of a record.
    var weight: Int { self.memory.count + self.records.count * MemoryLayout<Record>.stride }

    var isEmpty: Bool { self.records.isEmpty }

    /// The bytes of a record, until the buffer changes.
    func bytes(of record: Record) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self.memory.bytes[record.offset..<record.offset + record.count])
    }

    func append(_ bytes: UnsafeRawBufferPointer, as piece: MessagePiece?) {
        if piece == nil, let last = self.records.indices.last {
            self.records[last].count += bytes.count
        } else {
            self.records.append(Record(piece: piece, offset: self.memory.count, count: bytes.count))
        }
        self.memory.append(bytes)
    }

    /// Empties it, and gives back memory that one large batch has needed.
    func removeAll() {
        self.records.removeAll(keepingCapacity: self.records.count <= 4096)
        self.memory.removeAll()
    }
}
