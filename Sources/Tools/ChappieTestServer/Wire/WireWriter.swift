// The layer between an exchange and the socket: batching, counting, and the faults at a byte.
//
// Owned by the connection thread.
/// Writes an attempt's bytes and applies its faults.
final class WireWriter {
    /// A byte position at which the connection is cut or falls silent.
    private struct Limit {
        var position: Int
        var end: ConnectionEnd
    }

    /// The number of bytes that are collected before they are written without a flush.
    private static let batchByteCount = 32 * 1024

    private let stream: ByteStream
    private var pending: [UInt8] = []
    private var unflushedEventCount = 0
    private var limits: [Limit] = []
    private var bodyLimits: [Limit] = []
    private var sliceByteCount: Int?
    private var bytesPerSecond: Double?
    /// Indicates whether bytes are only collected, and whether a flush is due then.
    private var isHeld = false
    private var isFlushDue = false
    /// The positions, in order, before the last byte of each of which a closure is called.
    private var milestones: [(position: Int, reached: () -> Void)] = []
    /// The count of bytes written for this attempt.
    private(set) var sentByteCount = 0

    /// The position of the next byte: the count of bytes written or waiting to be written.
    var position: Int { self.sentByteCount + self.pending.count }

    /// Writes to `stream` from now on.
    init(stream: ByteStream) { self.stream = stream }

    /// Starts an attempt: the count begins at 0 and its byte faults are armed.
    ///
    /// A fault at byte 0 applies here.
    func begin(_ faults: AttemptFaults, sliceByteCount: Int?) throws(ConnectionEnd) {
        self.sentByteCount = 0
        self.pending.removeAll(keepingCapacity: true)
        self.milestones = []
        self.sliceByteCount = sliceByteCount
        self.bytesPerSecond = faults.bytesPerSecond
        let strikes = faults.byteStrikes
        self.limits = strikes.filter { $0.origin == .response }.map { Limit(position: $0.afterByte, end: $0.end) }
        self.bodyLimits = strikes.filter { $0.origin == .body }.map { Limit(position: $0.afterByte, end: $0.end) }
        try self.strike()
    }

    /// Adds bytes; they are written with the batch.
    func append(_ bytes: [UInt8]) throws(ConnectionEnd) {
        self.pending.append(contentsOf: bytes)
        if self.pending.count >= Self.batchByteCount { try self.flush() }
    }

    /// Adds bytes as a chunk of a body (RFC 9112 section 7.1); none for no bytes, as an empty chunk would end the body.
    func appendChunk(_ bytes: [UInt8]) throws(ConnectionEnd) {
        guard !bytes.isEmpty else { return }
        try self.append(Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8))
    }

    /// Adds what `add` appends, and calls `reached` before its last byte is written.
    ///
    /// The peer cannot have read it before: what `reached` changes holds for the peer's next request.
    func append(
        _ reached: @escaping () -> Void, by add: () throws(ConnectionEnd) -> Void
    ) throws(ConnectionEnd) {
        self.isHeld = true
        defer { self.isHeld = false }
        try add()
        self.isHeld = false
        self.milestones.append((self.position, reached))
        if self.isFlushDue || self.pending.count >= Self.batchByteCount { try self.flush() }
    }

    /// Declares that the header section is complete: faults that count from the body count from here.
    func beginBody() throws(ConnectionEnd) {
        let position = self.position
        for limit in self.bodyLimits {
            let (sum, overflow) = limit.position.addingReportingOverflow(position)
            if !overflow { self.limits.append(Limit(position: sum, end: limit.end)) }
        }
        self.bodyLimits = []
        if self.limits.contains(where: { $0.position <= position }) { try self.flush() }
    }

    /// Writes the collected bytes, once in `count` calls.
    func flush(everyEvents count: Int) throws(ConnectionEnd) {
        self.unflushedEventCount += 1
        guard self.unflushedEventCount >= count else { return }
        try self.flush()
    }

    /// Writes the collected bytes.
    func flush() throws(ConnectionEnd) {
        self.isFlushDue = self.isHeld
        guard !self.isHeld else { return }
        let bytes = self.pending
        self.pending = []
        self.unflushedEventCount = 0
        try self.send(bytes)
        if self.pending.capacity == 0 {
            self.pending = bytes
            self.pending.removeAll(keepingCapacity: true)
        }
    }

    private func send(_ bytes: [UInt8]) throws(ConnectionEnd) {
        var start = 0
        while start < bytes.count {
            let next = self.limits.map(\.position).min() ?? Int.max
            let slice = self.bytesPerSecond == nil ? self.sliceByteCount ?? Int.max : 1
            let count = min(bytes.count - start, slice, max(0, next - self.sentByteCount))
            while let next = self.milestones.first, self.sentByteCount + count >= next.position {
                self.milestones.removeFirst()
                next.reached()
            }
            if count > 0 { try self.stream.write(bytes[start..<start + count]) }
            self.sentByteCount += count
            start += count
            try self.strike()
            if let rate = self.bytesPerSecond, rate > 0 { self.stream.pause(seconds: 1 / rate) }
        }
        try self.strike()
    }

    private func strike() throws(ConnectionEnd) {
        if let limit = self.limits.first(where: { $0.position <= self.sentByteCount }) { throw limit.end }
    }
}
