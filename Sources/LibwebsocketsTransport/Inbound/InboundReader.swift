import StreamTransport
import WebSocketProtocol

/// Reads the buffers of an arena, one at a time, and makes messages of what is in them.
///
/// It belongs to the connection's consumer. One struct, because what is in it is touched for every message.
struct InboundReader {
    private var decoder: PayloadDecoder
    /// What is being read; its bytes are lent to the consumer.
    private var buffer: InboundBuffer?
    private var records: [InboundBuffer.Record] = []
    private var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    private var nextRecord = 0
    /// Bytes read since the last output; each record counts for some bytes more.
    private var quietByteCount = 0

    /// How much may be read in one go that nothing comes of: a comment of gzip, empty blocks of deflate, fragments.
    private static let sliceByteCount = 64 << 10
    /// The bytes that an empty record counts as.
    private static let recordByteCount = 64

    init(messageByteCountLimit: Int) {
        self.decoder = PayloadDecoder(messageByteCountLimit: messageByteCountLimit)
    }

    /// How much of what came was compressed.
    var inflation: InflationCount { self.decoder.count }

    /// Says how what follows is coded.
    mutating func begin(_ coding: PayloadCoding) throws(PayloadDecoder.Failure) { try self.decoder.begin(coding) }

    /// What is missing at the end of a body.
    func finish() -> PayloadDecoder.Failure? { self.decoder.finish() }

    /// Nothing is expected soon: gives back what the decoder can make again.
    mutating func becomeIdle() { self.decoder.becomeIdle() }

    /// Begins with a buffer; the one before was taken out, and read.
    mutating func read(_ buffer: InboundBuffer) {
        self.buffer = buffer
        self.records = buffer.records
        self.bytes = buffer.bytes
        self.nextRecord = 0
    }

    /// Takes out the buffer that was read, whose bytes nobody uses any more.
    mutating func takeBuffer() -> InboundBuffer? {
        self.records = []
        self.bytes = UnsafeRawBufferPointer(start: nil, count: 0)
        self.nextRecord = 0
        return self.buffer.take()
    }

    /// Indicates whether every record was read, so that `next()` has nothing but what is left of the last one.
    var isAtEnd: Bool { self.nextRecord == self.records.count }

    /// Indicates whether `next()` may have something.
    var hasMore: Bool { !self.isAtEnd || self.decoder.hasRest }

    /// Returns whether a slice was read that nothing came of: others have their turn before the next one.
    mutating func endSlice() -> Bool {
        guard self.quietByteCount >= Self.sliceByteCount else { return false }
        self.quietByteCount = 0
        return true
    }

    /// The next payload or pong; nil when there is no more, or when a slice is over.
    mutating func next() throws(PayloadDecoder.Failure) -> TransportEvent? {
        guard let event = try self.nextOfSlice() else { return nil }
        self.quietByteCount = 0
        return event
    }

    private mutating func nextOfSlice() throws(PayloadDecoder.Failure) -> TransportEvent? {
        while self.quietByteCount < Self.sliceByteCount {
            if self.decoder.hasRest {
                if let payload = try self.decoder.rest() { return .payload(payload) }
                // A slice of the record was read, or its end was.
                self.quietByteCount += Self.sliceByteCount
                continue
            }
            guard self.nextRecord < self.records.count else { return nil }
            let record = self.records[self.nextRecord]
            self.nextRecord += 1
            let bytes = UnsafeRawBufferPointer(rebasing: self.bytes[record.offset..<record.offset + record.count])
            switch record.content {
            case .pong:
                return .pong
            case .message(let piece):
                self.quietByteCount += record.count + Self.recordByteCount
                if let payload = try self.decoder.decode(bytes, as: piece) { return .payload(payload) }
            case .body:
                self.quietByteCount += min(record.count, Self.sliceByteCount) + Self.recordByteCount
                if let payload = try self.decoder.decode(bytes, as: nil) { return .payload(payload) }
            }
        }
        return nil
    }
}
