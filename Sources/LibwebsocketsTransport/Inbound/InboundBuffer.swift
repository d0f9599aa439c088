import WebSocketProtocol

/// Bytes with boundaries, and what happened between them, in memory of which 64 more bytes can be read.
///
/// Its memory never grows: what does not fit goes into another one. Owned by the arena while it fills and by the
/// consumer while it is read; never by both.
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
        var offset: Int
        var count: Int
    }

    /// The most bytes of one read.
    ///
    /// Most of what a read takes is what the kernel does behind it, however much was read.
    static let readByteCount = 480 << 10
    /// What one read needs.
    static let largeByteCount = readByteCount
    /// What a stream keeps while nothing comes: room for a few events.
    static let smallByteCount = 2 << 10

    private(set) var records: [Record] = []
    private let memory: PaddedBuffer

    /// A buffer with room for so many bytes.
    init(byteCount: Int = InboundBuffer.smallByteCount) {
        self.memory = PaddedBuffer(capacity: byteCount, keptCapacity: byteCount)
    }

    var byteCount: Int { self.memory.count }

    /// What counts towards the watermarks: the bytes, those between the records too, and the price of a record.
    var weight: Int { self.memory.count + self.records.count * MemoryLayout<Record>.stride }

    var isEmpty: Bool { self.records.isEmpty }

    /// Indicates whether it takes a whole read.
    var isLarge: Bool { self.memory.capacity >= Self.largeByteCount }

    /// Returns whether so many bytes more fit in.
    func hasRoom(for byteCount: Int) -> Bool { byteCount <= self.memory.capacity - self.memory.count }

    /// All bytes, until the buffer changes.
    var bytes: UnsafeRawBufferPointer { self.memory.bytes }

    /// The bytes of a record, until the buffer changes.
    func bytes(of record: Record) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self.memory.bytes[record.offset..<record.offset + record.count])
    }

    /// Lends what is free, for a read.
    ///
    /// Valid until the buffer changes.
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

    /// Takes bytes in, and says where they lie: those that were read into what was lent stay there, others are copied.
    private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        let end = self.memory.count
        guard let place = self.memory.freePlace(of: bytes) else {
            self.memory.append(bytes)
            return end
        }
        self.memory.keep(place + bytes.count - end)
        return place
    }

    /// Appends pieces of messages that lie in one read, in which their offsets are places.
    ///
    /// They are taken in together, with the frame headers between them, which nobody looks at again.
    func append(_ records: [Record], of bytes: UnsafeRawBufferPointer) {
        let run = Self.run(of: records)
        let shift = self.take(UnsafeRawBufferPointer(rebasing: bytes[run])) - run.lowerBound
        self.records.reserveCapacity(self.records.count + records.count)
        for var record in records {
            record.offset += shift
            self.records.append(record)
        }
    }

    /// From the first byte of some records to the last.
    static func run(of records: [Record]) -> Range<Int> {
        guard let first = records.first, let last = records.last else { return 0..<0 }
        return first.offset..<last.offset + last.count
    }

    /// Appends the mark of a pong.
    func appendPong() {
        self.records.append(Record(content: .pong, offset: self.memory.count, count: 0))
    }

    /// Empties it, and gives back what very many records have needed.
    func removeAll() {
        self.records.removeAll(keepingCapacity: self.records.capacity <= (self.isLarge ? 4_096 : 64))
        self.memory.removeAll()
    }
}
