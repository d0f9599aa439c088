import StreamTransport
import WebSocketProtocol

/// An established WebSocket, without its socket.
///
/// It belongs to the service thread. A class, as a struct in an optional property is copied where it is examined. The
/// parts do not call back, so that exclusive access to those that each read touches is not checked at run time.
final class WebSocketChannel {
    /// A control frame.
    enum Control {
        case ping
        case pong
        case close
    }

    @exclusivity(unchecked) private var reader: FrameReader
    private var closing = ClosingHandshake()
    @exclusivity(unchecked) private var queue = FrameQueue()
    /// The byte count of the frames of messages that were queued since the last write.
    private var gatheredByteCount = 0
    /// The coding of compressed messages.
    let coding: PayloadCoding
    @exclusivity(unchecked) private var pingTimer: PingTimer
    private var pings = OutstandingPings()
    /// The code of the close frame that is sent when the consumer has read everything before a violation.
    @exclusivity(unchecked) private(set) var pendingFailure: CloseCode?
    /// Indicates whether the socket is closed as soon as everything is written.
    private var disconnectsWhenWritten = false

    init(coding: PayloadCoding, request: TransportRequest, at now: Moment) {
        self.coding = coding
        self.reader = FrameReader(
            configuration: FrameReader.Configuration(
                isCompressionNegotiated: coding != .none, messageByteLimit: request.limits.messageByteCount))
        self.pingTimer = PingTimer(timeouts: request.timeouts, at: now)
    }

    // MARK: Reading

    /// Indicates whether frames are read: those that follow a violation are not.
    var isReading: Bool { self.pendingFailure == nil }

    /// Returns the place of the message that the bytes are, with nothing around it; nil for any other bytes.
    func onlyMessage(in bytes: UnsafeRawBufferPointer) -> InboundBuffer.Record? {
        guard let (piece, range) = self.reader.onlyMessage(in: bytes) else { return nil }
        return InboundBuffer.Record(content: .message(piece), offset: range.lowerBound, count: range.count)
    }

    /// Reads frames up to a control frame, or, with nil, to the end of the bytes; the places of data go into `records`.
    func read(
        _ bytes: UnsafeRawBufferPointer, at position: inout Int, into records: inout [InboundBuffer.Record]
    ) throws(FrameError) -> Control? {
        while let element = try self.reader.next(in: bytes, at: &position) {
            switch element {
            case .data(let piece, let range):
                records.append(
                    InboundBuffer.Record(content: .message(piece), offset: range.lowerBound, count: range.count))
            case .ping: return .ping
            case .pong: return .pong
            case .close: return .close
            }
        }
        return nil
    }

    /// Handles a pong that was read; returns whether the consumer is to be told.
    func pongReceived() -> Bool { self.pings.settle(with: self.reader.controlPayload) }

    /// Queues the answer to a ping that was read; returns false when no frame may be sent any more.
    func pingReceived() -> Bool {
        guard self.allowsSending else { return false }
        self.queue.appendPong(self.reader.controlPayload)
        return true
    }

    /// Handles a close frame that was read; returns the frame and the reaction to it.
    func closeReceived() -> (frame: CloseFrame, action: ClosingHandshake.Action)? {
        self.reader.closeFrame.map { ($0, self.closing.closeReceived($0)) }
    }

    /// Notes a violation of the protocol by the peer.
    func violated(_ code: CloseCode) { self.pendingFailure = code }

    // MARK: Pings after quiet

    /// The time at which the peer's quiet is examined next; nil when there is none.
    var pingTimerDeadline: Moment? { self.pingTimer.deadline }

    /// Notes that bytes have arrived.
    func received(at now: Moment) { self.pingTimer.received(at: now) }

    /// Queues a ping when it is due; returns the action that is due.
    func checkPingTimer(at now: Moment) -> PingTimer.Action {
        let action = self.pingTimer.act(at: now)
        if action == .sendPing { self.queue.appendPing([]) }
        return action
    }

    // MARK: Writing

    /// Indicates whether frames may be sent: not when a close frame was sent.
    var allowsSending: Bool { self.closing.allowsSending }

    /// Indicates whether there are frames to write.
    var hasFrames: Bool { !self.queue.isEmpty }

    /// Indicates whether everything is written after which the socket is closed.
    var isDone: Bool { self.queue.isEmpty && self.disconnectsWhenWritten }

    /// Indicates whether every message went out whole.
    var hasSentMessages: Bool { self.queue.hasSentMessages }

    /// Queues a message.
    func append(_ message: OutboundMessage) {
        self.queue.append(message)
        self.gatheredByteCount += message.frameByteCount
    }

    /// Indicates whether a message would go out with those that were queued since the last write.
    func hasRoomInWrite(for message: OutboundMessage) -> Bool {
        message.frameByteCount <= LayerScratch.writeByteCount - self.gatheredByteCount
    }

    /// Queues a ping for the consumer, whose answer goes to `ticket`, or else to the consumer.
    ///
    /// Its payload distinguishes its pong from those of the pings sent after quiet, which have an empty payload.
    func appendPing(for ticket: PingTicket?) {
        let payload = (0..<8).map { _ in UInt8.random(in: 0 ... .max) }
        self.queue.appendPing(payload)
        self.pings.sent(payload, for: ticket)
    }

    /// Queues the last frame.
    func appendClose(_ frame: CloseFrame, rest: FrameQueue.Rest, disconnects: Bool) {
        if disconnects { self.disconnectsWhenWritten = true }
        self.queue.appendClose(frame, rest: rest)
    }

    /// Moves frames into a buffer, with keys of a block; returns the number of bytes.
    func fill(_ buffer: UnsafeMutableBufferPointer<UInt8>, masking keys: inout MaskingKeyBlock) -> Int {
        self.gatheredByteCount = 0
        return self.queue.fill(buffer, masking: &keys)
    }

    /// Returns, once, the weight of messages that were moved out whole.
    func takeMovedWeight() -> Int { self.queue.takeMovedWeight() }

    // MARK: Closing

    /// Begins to close, because the owner has asked for it.
    func requestClose(_ frame: CloseFrame) -> ClosingHandshake.Action { self.closing.closeRequested(frame) }

    /// Fails the connection with a code.
    func fail(_ code: CloseCode) -> ClosingHandshake.Action { self.closing.connectionFailed(code) }
}

/// Storage for the records of one read, which connections use in turn.
///
/// It belongs to the service thread.
struct PieceScratch {
    private var records: [InboundBuffer.Record] = []

    /// Takes the storage, empty.
    mutating func take() -> [InboundBuffer.Record] {
        var taken: [InboundBuffer.Record] = []
        swap(&taken, &self.records)
        return taken
    }

    /// Keeps the storage for the next read, unless a read of very many pieces has made it large.
    mutating func giveBack(_ records: [InboundBuffer.Record]) {
        guard records.capacity <= 4_096 else { return }
        self.records = records
    }
}
