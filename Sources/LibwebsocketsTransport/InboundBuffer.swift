import WebSocketProtocol

/// Bytes with boundaries, and what happened between them, in memory of which 64 more bytes can be read.
///
/// Owned by the arena while it fills and by the consumer while it is read; never by both.
/// - Safety: passed on under the arena's lock, so that one thread at a time has it.
final class InboundBuffer: @unchecked Sendable {
    /// One piece of a message, a run of a response body, or the mark of an event between them.
    struct Record {
        /// What a record is.
        enum Content: Equatable {
            /// A piece of a message, and where its bytes stand in it.
            case message(MessagePiece)
            /// A run of a response body.
            case body
            /// The answer to a ping of the consumer, which has no bytes.
            case pong
        }

        let content: Content
        let offset: Int
        var count: Int
    }

    /// Memory of a buffer, while it has none of its own.
    struct Storage {
        var records: [Record] = []
        var memory = PaddedBuffer()

        /// What it takes.
        var byteCount: Int { self.memory.capacity + self.records.capacity * MemoryLayout<Record>.stride }
    }

    private(set) var records: [Record] = []
    /// Nil while it is empty: thousands of streams wait for what comes next, with three buffers each.
    private var memory: PaddedBuffer?

    var byteCount: Int { self.memory?.count ?? 0 }

    /// What counts towards the watermarks: the bytes, and the price of a record.
    var weight: Int { self.byteCount + self.records.count * MemoryLayout<Record>.stride }

    var isEmpty: Bool { self.records.isEmpty }

    /// The bytes of a record, until the buffer changes.
    func bytes(of record: Record) -> UnsafeRawBufferPointer {
        guard let memory = self.memory else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(rebasing: memory.bytes[record.offset..<record.offset + record.count])
    }

    /// Appends bytes: of a message, or, without a piece, of a body.
    func append(_ bytes: UnsafeRawBufferPointer, as piece: MessagePiece?) {
        let memory = self.memory ?? self.borrowMemory()
        if piece == nil, let last = self.records.indices.last, self.records[last].content == .body {
            self.records[last].count += bytes.count
        } else {
            let content = piece.map(Record.Content.message) ?? .body
            self.records.append(Record(content: content, offset: memory.count, count: bytes.count))
        }
        memory.append(bytes)
    }

    /// Appends the mark of a pong.
    func appendPong() {
        self.records.append(Record(content: .pong, offset: self.byteCount, count: 0))
    }

    /// Empties it, and gives its memory to whoever needs some next.
    func removeAll() {
        guard let memory = self.memory.take() else { return self.records.removeAll() }
        memory.removeAll()
        self.records.removeAll(keepingCapacity: self.records.count <= 4096)
        InboundMemoryPool.shared.give(Storage(records: self.records, memory: memory))
        self.records = []
    }

    private func borrowMemory() -> PaddedBuffer {
        var storage = InboundMemoryPool.shared.take()
        // A pong may be there already.
        storage.records.append(contentsOf: self.records)
        self.records = storage.records
        self.memory = storage.memory
        return storage.memory
    }
}
