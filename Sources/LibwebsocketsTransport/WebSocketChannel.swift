import StreamTransport
import WebSocketProtocol

/// An established WebSocket, without its socket.
///
/// It belongs to the service thread.
struct WebSocketChannel {
    var reader: FrameReader
    var closing = ClosingHandshake()
    var queue = FrameQueue()
    /// How marked messages are compressed.
    let coding: PayloadCoding
    var liveness: Liveness
    var pings = OutstandingPings()
    /// The code of the close frame that goes out when the consumer has read what came before a violation.
    var pendingFailure: CloseCode?
    /// Whether the socket is closed as soon as everything is written.
    var disconnectsWhenWritten = false

    init(coding: PayloadCoding, request: TransportRequest, at now: ContinuousClock.Instant) {
        self.coding = coding
        self.reader = FrameReader(
            configuration: FrameReader.Configuration(
                isCompressionNegotiated: coding != .none, messageByteLimit: request.limits.messageByteCount))
        self.liveness = Liveness(timeouts: request.timeouts, at: now)
    }
}
