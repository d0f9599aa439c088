// The layer between an exchange and the socket: batching, counting, and the faults at a byte.
//
// Owned by the connection thread.
/// Writes an attempt's bytes and applies its faults.
final class WireWriter {
    /// The number of bytes that are collected before they are written without a flush.
    private static let batchByteCount = 32 * 1024

    private let stream: ByteStream
    private var pending: [UInt8] = []
    private var unflushedEventCount = 0
    private var lane = FaultLane([])
    /// The faults whose bytes count from the body, until it begins.
    private var bodyFaults: [ConnectionFault] = []
    /// The beginning of the lane's time.
    private let start = ContinuousClock.now
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
        let slices = sliceByteCount.map { [ConnectionFault.slice(byteCount: $0)] } ?? []
        self.lane = FaultLane(slices + faults.connectionFaults(from: .response))
        self.bodyFaults = faults.connectionFaults(from: .body)
        try self.send([])
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
        self.lane.add(self.bodyFaults, from: self.position)
        self.bodyFaults = []
        if self.lane.strikes(at: self.position) { try self.flush() }
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
        var rest = bytes[...]
        var earliest = Duration.zero
        while true {
            let now = max(earliest, ContinuousClock.now - self.start)
            switch self.lane.next(available: rest.count, now: now) {
            case .awaitInput, .hold: return
            case .wait(let time):
                // A peer that has gone ends the pause, and the next write finds it gone.
                self.stream.pause(seconds: (time - now).inSeconds)
                earliest = time
            case .strike(let fault): if let end = ConnectionEnd(fault) { throw end }
            case .deliver(let count):
                while let next = self.milestones.first, self.sentByteCount + count >= next.position {
                    self.milestones.removeFirst()
                    next.reached()
                }
                try self.stream.write(rest.prefix(count))
                self.sentByteCount += count
                rest = rest.dropFirst(count)
                self.lane.delivered(count, now: now)
            }
        }
    }
}

extension ConnectionEnd {
    /// The end that a fault of the connection is; nil for one that lets it go on.
    fileprivate init?(_ fault: ConnectionFault) {
        switch fault {
        case .cut(_, let cut): self = .cut(cut)
        case .halfOpen: self = .stalled
        case .stall, .slice, .throttle, .corrupt, .refuse, .silence, .delay: return nil
        }
    }
}
