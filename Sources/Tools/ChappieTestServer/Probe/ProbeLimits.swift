// The limits of a probe server, which strangers may reach.

/// The most that a probe server does for one connection, and for all.
enum ProbeLimits {
    /// The number of connections, and the time for the TLS handshake and the head of a request.
    static let connections = Acceptor.Limits(connections: 256, connectionsPerAddress: 32, lifetime: .seconds(15))
    /// The size of a request; it has no content.
    static let request = HTTPRequest.Limits(headerSection: 16 << 10, content: 0)
    /// The size of a message, in bytes: 1 MiB and some.
    static let messageByteCount = (1 << 20) + (1 << 10)
    /// The number of messages on a WebSocket.
    static let messageCount = 64
    /// The number of bytes of all messages on a WebSocket.
    static let messagesByteCount = 8 << 20
    /// The life of a WebSocket; a client holds it idle for as long.
    static let webSocketLifetime = Duration.seconds(630)
    /// The number of events of a stream.
    static let eventCount = 1...200
    /// The time between two events, in milliseconds.
    static let eventMilliseconds = 10...1_000
    /// The padding of an event, in bytes.
    static let paddingByteCount = 0...4_096
    /// The longest event stream.
    static let streamDuration = Duration.seconds(30)
    /// The silence before an answer, in seconds.
    static let holdSeconds = 1...600
    /// The time for sending an answer beyond its own.
    static let margin = Duration.seconds(15)
}
