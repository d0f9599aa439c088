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
    /// When the ping went out that nothing has answered yet.
    var pingSent: ContinuousClock.Instant?
    /// Whether the socket is closed as soon as everything is written.
    var disconnectsWhenWritten = false

    init(coding: PayloadCoding, messageByteCountLimit: Int) {
        self.coding = coding
        self.reader = FrameReader(
            configuration: FrameReader.Configuration(
                isCompressionNegotiated: coding != .none, messageByteLimit: messageByteCountLimit))
    }
}
