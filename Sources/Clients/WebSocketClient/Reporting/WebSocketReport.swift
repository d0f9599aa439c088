/// The timings and counts of one WebSocket connection.
///
/// A snapshot: query the connection again for a newer one. Times are seconds from the start of opening.
public struct WebSocketReport: Sendable, Equatable, Codable {
    /// The name of the connection (`WebSocketConfiguration.connectionID`).
    public let connectionID: String
    /// The time at which name resolution was over.
    public internal(set) var resolved: Double?
    /// The time at which TCP was established, to the proxy where there is one.
    public internal(set) var tcpConnected: Double?
    /// The time at which TLS and the proxy's tunnel were established, and the opening handshake could be written.
    public internal(set) var connected: Double?
    /// The time at which the server's answer to the opening handshake came.
    public internal(set) var opened: Double?
    /// The time at which the first message was received; nil while there is none.
    public internal(set) var firstMessage: Double?
    /// The time of the newest byte from the server.
    public internal(set) var lastReceived: Double?
    /// Indicates whether the TLS handshake resumed a session of an earlier connection (RFC 8446 section 2.2).
    public internal(set) var isTLSResumed = false
    /// Indicates whether permessage-deflate (RFC 7692) is in use.
    public internal(set) var isCompressed = false
    /// Bytes of frames from the server, as received over the wire.
    public internal(set) var receivedByteCount = 0
    /// The same bytes after decompression; nil without compression.
    public internal(set) var inflatedByteCount: Int?
    /// Bytes of frames given to the socket.
    public internal(set) var sentByteCount = 0
    /// The number of messages that the program has received.
    public internal(set) var receivedMessageCount = 0
    /// The number of messages that the program has sent.
    public internal(set) var sentMessageCount = 0
    /// The stable tag of the failure, `completed` or `cancelled`; nil until the end is known.
    public internal(set) var outcome: String?

    init(connectionID: String) { self.connectionID = connectionID }
}
