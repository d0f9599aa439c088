import StreamTransport
import WebSocketProtocol

/// An established WebSocket, without its socket.
///
/// It belongs to the service thread.
struct WebSocketChannel {
    var reader: FrameReader
    var closing = ClosingHandshake()
    var queue = FrameQueue()
    /// Of the messages in the queue, those that are written in part or whole included, until all are.
    var unwrittenByteCount = 0
    /// How marked messages are compressed.
    let coding: PayloadCoding
    var liveness: Liveness
    var pings = OutstandingPings()
    /// The code of the close frame that goes out when the consumer has read what came before a violation.
    var pendingFailure: CloseCode?
    /// Indicates whether the socket is closed as soon as everything is written.
    var disconnectsWhenWritten = false

    /// Indicates whether frames are read: what follows a violation is not.
    var isReading: Bool { self.pendingFailure == nil }

    /// A control frame.
    enum Control {
        case ping
        case pong
        case close
    }

    init(coding: PayloadCoding, request: TransportRequest, at now: ContinuousClock.Instant) {
        self.coding = coding
        self.reader = FrameReader(
            configuration: FrameReader.Configuration(
                isCompressionNegotiated: coding != .none, messageByteLimit: request.limits.messageByteCount))
        self.liveness = Liveness(timeouts: request.timeouts, at: now)
    }

    /// Reads frames up to a control frame, or, with nil, to the end of the bytes; where data lie goes into `records`.
    mutating func read(
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
}

/// Room for what one read holds, which connections take in turn.
///
/// It belongs to the service thread.
struct PieceScratch {
    private var records: [InboundBuffer.Record] = []

    /// Takes the room, empty.
    mutating func take() -> [InboundBuffer.Record] {
        var taken: [InboundBuffer.Record] = []
        swap(&taken, &self.records)
        return taken
    }

    /// Keeps it for the next read, unless one of very many pieces has made it large.
    mutating func giveBack(_ records: [InboundBuffer.Record]) {
        guard records.capacity <= 4_096 else { return }
        self.records = records
    }
}
