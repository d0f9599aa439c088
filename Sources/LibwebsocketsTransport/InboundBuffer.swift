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

    /// Appends bytes: of a message, or, without a piece, of a body.
    func append(_ bytes: UnsafeRawBufferPointer, as piece: MessagePiece?) {
        if piece == nil, let last = self.records.indices.last, self.records[last].content == .body {
            self.records[last].count += bytes.count
        } else {
            let content = piece.map(Record.Content.message) ?? .body
            self.records.append(Record(content: content, offset: self.memory.count, count: bytes.count))
        }
        self.memory.append(bytes)
    }

    /// Appends the mark of a pong.
    func appendPong() {
        self.records.append(Record(content: .pong, offset: self.memory.count, count: 0))
    }

    /// Empties it, and gives back memory that one large batch has needed.
    func removeAll() {
        self.records.removeAll(keepingCapacity: self.records.count <= 4096)
        self.memory.removeAll()
    }
}
