import StreamTransport
import WebSocketProtocol

/// Reads the buffers of an arena, one at a time, and assembles messages from them.
///
/// It belongs to the connection's consumer. It is one struct, because all of it is used for every message.
struct InboundReader {
    private var decoder: PayloadDecoder
    /// The buffer that is being read; its bytes are lent to the consumer.
    private var buffer: InboundBuffer?
    private var records: [InboundBuffer.Record] = []
    private var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    private var nextRecord = 0
    /// The number of bytes read since the last output; each record counts for some bytes more.
    private var quietByteCount = 0

    /// The most bytes that one call reads without output: a comment of gzip, empty blocks of deflate, fragments.
    private static let sliceByteCount = 64 << 10
    /// The number of bytes that an empty record counts as.
    private static let recordByteCount = 64

    init(messageByteCountLimit: Int) {
        self.decoder = PayloadDecoder(messageByteCountLimit: messageByteCountLimit)
    }

    /// The count of compressed bytes and of their inflated size.
    var inflation: InflationCount { self.decoder.count }

    /// Sets the coding of the records that follow.
    mutating func begin(_ coding: PayloadCoding) throws(PayloadDecoder.Failure) { try self.decoder.begin(coding) }

    /// Returns the failure of a body that ends too early.
    func finish() -> PayloadDecoder.Failure? { self.decoder.finish() }

    /// Frees the memory that the decoder can allocate again, because no record is expected soon.
    mutating func becomeIdle() { self.decoder.becomeIdle() }

    /// Begins a buffer; the previous one was read and taken out.
    mutating func read(_ buffer: InboundBuffer) {
        self.buffer = buffer
        self.records = buffer.records
        self.bytes = buffer.bytes
        self.nextRecord = 0
    }

    /// Takes out the buffer that was read, whose bytes are no longer lent.
    mutating func takeBuffer() -> InboundBuffer? {
        self.records = []
        self.bytes = UnsafeRawBufferPointer(start: nil, count: 0)
        self.nextRecord = 0
        return self.buffer.take()
    }

    /// Indicates whether every record was read, so that `next()` returns only what is left of the last one.
    var isAtEnd: Bool { self.nextRecord == self.records.count }

    /// Indicates whether `next()` may return an event.
    var hasMore: Bool { !self.isAtEnd || self.decoder.hasRest }

    /// Returns whether a slice was read without output, so that other tasks run before the next one.
    mutating func endSlice() -> Bool {
        guard self.quietByteCount >= Self.sliceByteCount else { return false }
        self.quietByteCount = 0
        return true
    }

    /// Returns the next record if it is a message that is lent as it is; nil otherwise, with no change.
    @inline(__always)
    mutating func nextWholeMessage() -> InboundPayload? {
        guard self.nextRecord < self.records.count else { return nil }
        let record = self.records[self.nextRecord]
        guard case .message(let piece) = record.content, self.decoder.lends(piece, byteCount: record.count) else {
            return nil
        }
        self.nextRecord += 1
        self.quietByteCount = 0
        return InboundPayload(
            kind: piece.kind.payloadKind,
            bytes: UnsafeRawBufferPointer(start: self.bytes.baseAddress.map { $0 + record.offset }, count: record.count)
        )
    }

    /// Returns the next payload or pong; nil when there is none, or when a slice is over.
    mutating func next() throws(PayloadDecoder.Failure) -> TransportEvent? {
        guard let event = try self.nextOfSlice() else { return nil }
        self.quietByteCount = 0
        return event
    }

    private mutating func nextOfSlice() throws(PayloadDecoder.Failure) -> TransportEvent? {
        while self.quietByteCount < Self.sliceByteCount {
            if self.decoder.hasRest {
                if let payload = try self.decoder.rest() { return .payload(payload) }
                // A slice of the record, or its end, was read.
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
