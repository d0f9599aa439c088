/// The end of a WebSocket connection (RFC 6455 section 7).
public struct WebSocketClose: Sendable, Hashable {
    /// The side that began to close.
    public enum Initiator: String, Sendable, Hashable, CaseIterable, Codable {
        /// This side, by `WebSocketConnection.close(code:reason:)`.
        case client
        /// The server, with a close frame.
        case server
        /// Neither side: the connection was lost.
        case network
    }

    /// The code that the server sent: 1005 when its close frame had none, 1006 when there was no close frame (RFC 6455
    /// section 7.1.5).
    public let code: Int
    /// The reason that the server sent; empty when there is none.
    ///
    /// It is the server's text, at most 123 bytes, and may have any content.
    public let reason: String
    /// The side that began to close.
    public let initiator: Initiator

    /// Creates an end, for tests of a program.
    public init(code: Int, reason: String = "", initiator: Initiator) {
        self.code = code
        self.reason = reason
        self.initiator = initiator
    }

    /// Indicates whether both sides sent a close frame (RFC 6455 section 7.1.4).
    public var isClean: Bool { self.code != 1006 }

    /// Indicates whether the end is no error: a closing handshake that this side began, or the codes 1000, 1001 and
    /// 1005 of a server that has nothing more to say.
    public var isNormal: Bool { self.isClean && (self.initiator == .client || [1000, 1001, 1005].contains(self.code)) }
}
