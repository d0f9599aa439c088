import WebSocketProtocol

/// Received bytes with their boundaries and the events between them; 64 more bytes can be read past their end.
///
/// Its memory never grows: further bytes go into another buffer. It is owned by the arena while it is filled and by the
/// consumer while it is read, never by both.
/// - Safety: passed on under the arena's lock, so that one thread at a time has it.
final class InboundBuffer: @unchecked Sendable {
    /// One piece of a message, a run of a response body, or the mark of an event between them.
    struct Record {
        /// The type of a record.
        enum Content: Equatable {
            /// A piece of a message, and the place of its bytes in the message.
            case message(MessagePiece)
            /// A run of a response body.
            case body
            /// The answer to a ping of the consumer, which has no bytes.
            case pong
        }

        let content: Content
        var offset: Int
        var count: Int
    }

    /// The most bytes of one read.
    ///
    /// Most of the cost of a read is the kernel's work after it, whatever the byte count.
    static let readByteCount = 480 << 10
    /// The capacity that one read needs.
    static let largeByteCount = readByteCount
    /// The largest capacity that an idle stream keeps.
    static let smallByteCount = 2 << 10
    /// The capacity that a stream with small events keeps: room for a few of them.
    static let leastByteCount = 1 << 10

    /// The pieces, in order; no access leads to another, so that exclusivity is not checked at run time.
    @exclusivity(unchecked) private(set) var records: [Record] = []
    private let memory: PaddedBuffer
    /// The count of large buffers in use; nil while the pool has the buffer, and for one that is not counted.
    ///
    /// Only the pool sets it, on the thread that has the buffer.
    var account: InboundMemory? {
        didSet {
            oldValue?.subtract(self.memory.capacity)
            self.account?.add(self.memory.capacity)
        }
    }

    /// Creates a buffer with room for `byteCount` bytes.
    init(byteCount: Int = InboundBuffer.leastByteCount) {
        self.memory = PaddedBuffer(capacity: byteCount, keptCapacity: byteCount)
    }

    deinit { self.account?.subtract(self.memory.capacity) }

    var byteCount: Int { self.memory.count }

    /// The weight towards the watermarks: the bytes, including those between the records, and the size of the records.
    var weight: Int { self.memory.count + self.records.count * MemoryLayout<Record>.stride }

    var isEmpty: Bool { self.records.isEmpty }

    /// Indicates whether an idle stream keeps it.
    var isSmall: Bool { self.memory.capacity <= Self.smallByteCount }

    /// Indicates whether it has room for a whole read.
    var isLarge: Bool { self.memory.capacity >= Self.largeByteCount }

    /// Returns whether it has room for `byteCount` more bytes.
    func hasRoom(for byteCount: Int) -> Bool { byteCount <= self.memory.capacity - self.memory.count }

    /// All bytes, until the buffer changes.
    var bytes: UnsafeRawBufferPointer { self.memory.bytes }

    /// The bytes of a record, until the buffer changes.
    func bytes(of record: Record) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self.memory.bytes[record.offset..<record.offset + record.count])
    }

    /// Lends the free memory for a read.
    ///
    /// It is valid until the buffer changes.
    func lend() -> UnsafeMutableRawBufferPointer { self.memory.lend(atLeast: 0) }

    /// Appends a run of a body.
    func append(_ bytes: UnsafeRawBufferPointer) {
        let end = self.memory.count
        let offset = self.take(bytes)
        if offset == end, let last = self.records.indices.last, self.records[last].content == .body {
            self.records[last].count += bytes.count
        } else {
            self.records.append(Record(content: .body, offset: offset, count: bytes.count))
        }
    }

    /// Adds bytes and returns their place: bytes that were read into lent memory stay there, others are copied.
    private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        let end = self.memory.count
        guard let place = self.memory.freePlace(of: bytes) else {
            self.memory.append(bytes)
            return end
        }
        self.memory.keep(place + bytes.count - end)
        return place
    }

    /// Appends pieces of messages that lie in one read; their offsets are places in the read.
    ///
    /// They are added together with the frame headers between them, which are not read again.
    func append(_ records: [Record], of bytes: UnsafeRawBufferPointer) {
        let run = Self.run(of: records)
        let shift = self.take(UnsafeRawBufferPointer(rebasing: bytes[run])) - run.lowerBound
        self.records.reserveCapacity(self.records.count + records.count)
        for var record in records {
            record.offset += shift
            self.records.append(record)
        }
    }

    /// Appends one message of a read, without the bytes around it.
    func append(_ record: Record, of bytes: UnsafeRawBufferPointer) {
        let content = UnsafeRawBufferPointer(rebasing: bytes[record.offset..<record.offset + record.count])
        self.records.append(Record(content: record.content, offset: self.take(content), count: record.count))
    }

    /// Returns the range from the first byte of some records to the last.
    static func run(of records: [Record]) -> Range<Int> {
        guard let first = records.first, let last = records.last else { return 0..<0 }
        return first.offset..<last.offset + last.count
    }

    /// Appends the mark of a pong.
    func appendPong() {
        self.records.append(Record(content: .pong, offset: self.memory.count, count: 0))
    }

    /// Empties the buffer, and frees the memory that very many records have needed.
    func removeAll() {
        self.records.removeAll(keepingCapacity: self.records.capacity <= (self.isLarge ? 4_096 : 64))
        self.memory.removeAll()
    }
}
