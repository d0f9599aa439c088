import StreamTransport
import WebSocketProtocol

/// An established WebSocket, without its socket.
///
/// It belongs to the service thread. A class, as a struct in an optional property is copied where it is examined. The
/// parts do not call back, so that exclusive access to those that each read touches is not checked at run time.
final class WebSocketChannel {
    @exclusivity(unchecked) var reader: FrameReader
    var closing = ClosingHandshake()
    @exclusivity(unchecked) var queue = FrameQueue()
    /// The byte count of the messages in the queue, including those that are written in part or whole, until all are.
    var unwrittenByteCount = 0
    /// The coding of compressed messages.
    let coding: PayloadCoding
    @exclusivity(unchecked) var liveness: Liveness
    var pings = OutstandingPings()
    /// The code of the close frame that is sent when the consumer has read everything before a violation.
    @exclusivity(unchecked) var pendingFailure: CloseCode?
    /// Indicates whether the socket is closed as soon as everything is written.
    var disconnectsWhenWritten = false

    /// Indicates whether frames are read: those that follow a violation are not.
    var isReading: Bool { self.pendingFailure == nil }

    /// A control frame.
    enum Control {
        case ping
        case pong
        case close
    }

    init(coding: PayloadCoding, request: TransportRequest, at now: Moment) {
        self.coding = coding
        self.reader = FrameReader(
            configuration: FrameReader.Configuration(
                isCompressionNegotiated: coding != .none, messageByteLimit: request.limits.messageByteCount))
        self.liveness = Liveness(timeouts: request.timeouts, at: now)
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
