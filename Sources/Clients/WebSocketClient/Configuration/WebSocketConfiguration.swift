public import PlatformFoundation

/// The complete configuration of one WebSocket connection.
///
/// A number outside of its range becomes the nearest one inside: no time is below zero or above 100 years, and no count
/// of bytes below zero or above 1 TiB.
public struct WebSocketConfiguration: Sendable {
    /// The address, with the scheme `ws` or `wss` (RFC 6455 section 3); `http` and `https` mean the same.
    ///
    /// Its fragment and its user information are not sent.
    public var url: URL
    /// The fields of the opening handshake beside those that RFC 6455 section 4.1 requires, such as `Authorization` or
    /// `Origin`.
    ///
    /// Default none. The fields that the protocol defines cannot be set.
    public var additionalFields: [(name: String, value: String)] = []
    /// The subprotocols that are offered, the preferred one first (RFC 6455 section 1.9).
    ///
    /// Default none. Each is a token (RFC 9110 section 5.6.2), they differ, and all of them have at most 4 KiB.
    public var subprotocols: [String] = []
    /// The names of fields of the server's answer that `WebSocketConnection.fields` and a refusal have.
    ///
    /// Default none; a refusal has some more. Other fields are not read.
    public var capturedFieldNames: [String] = []
    /// The policy for the security of the connection.
    public var tls = ChappieTLSPolicy()
    /// The proxy for the connection.
    ///
    /// Default `.environment`.
    public var proxy = ChappieProxyPolicy.environment
    /// The compression of messages that is offered (RFC 7692).
    ///
    /// Default `.enabled`.
    public var compression = ChappieWebSocketCompression.enabled
    /// The limits on the server's data, and on messages that wait to be sent.
    public var limits = WebSocketLimits()
    /// The time limits.
    public var timeouts = WebSocketTimeouts()
    /// The program's name for the connection in its log lines and errors; nil for a random one.
    ///
    /// Default nil. It is not sent.
    public var connectionID: String?
    /// A closure that is called with a log line when the connection is established, refused, lost or closed.
    ///
    /// Default none. It is called on the task that opens, reads or closes the connection, with no lock held. It has to
    /// return soon, and to treat `ChappieLogEntry.privateMessage` as private.
    public var log: (@Sendable (ChappieLogEntry) -> Void)?
    /// A closure that is called with the duration and the outcome of opening the connection (`connect`) and of the
    /// established connection (`connection`).
    ///
    /// Default none. It is called like `log`.
    public var metrics: (@Sendable (ChappieMetric) -> Void)?
    /// The number of threads of the process among which connections are shared out, 1 to 64.
    ///
    /// Default 1, which suffices for some thousands of connections. Threads start when they are needed, and never end;
    /// a connection stays on its thread.
    public var serviceThreadCount = 1

    /// Creates a configuration with the defaults above.
    public init(url: URL) {
        self.url = url
    }
}

/// The limits on a server's data, and on messages that wait to be sent.
public struct WebSocketLimits: Sendable, Hashable {
    /// The maximum size of one received message, inflated, in bytes; a larger one fails the connection with close code
    /// 1009.
    ///
    /// Default 64 MiB.
    public var messageByteCount = 64 << 20
    /// The number of unread bytes at which reading from the socket stops.
    ///
    /// Default 1 MiB; at least 1.
    public var highWatermark = 1 << 20
    /// The number of unread bytes at which reading resumes.
    ///
    /// Default 256 KiB; below `highWatermark`.
    public var lowWatermark = 256 << 10
    /// The number of bytes that wait to be sent at which `send` suspends, until half of them wait.
    ///
    /// Default 1 MiB. A message above it is sent by itself, and one of less than 48 bytes counts as 48.
    public var sendWatermark = 1 << 20
    /// The maximum number of bytes that are kept of the body of a refusal.
    ///
    /// Default 64 KiB.
    public var refusalByteCount = 64 << 10

    /// Creates the limits with their defaults.
    public init() {}
}

/// The time limits of a WebSocket connection.
///
/// Nil turns a limit off.
public struct WebSocketTimeouts: Sendable, Hashable {
    /// The limit for name resolution, TCP, TLS, the proxy and the opening handshake together.
    ///
    /// Default 10 s.
    public var connect: Duration? = .seconds(10)
    /// The silence after which a ping is sent (RFC 6455 section 5.5.2), and TCP probes the peer.
    ///
    /// Default 20 s.
    public var pingInterval: Duration? = .seconds(20)
    /// The limit for any byte after such a ping, for the pong of `ping()`, and for the rest of a refusal's body.
    ///
    /// Default 10 s; then the connection counts as lost (`ws.ping-timeout`), unless the ping was one of `ping()`.
    public var pongTimeout: Duration = .seconds(10)
    /// The limit for the closing handshake, from the call on, with the messages that wait to be sent before it, and those
    /// that come before the server's close frame.
    ///
    /// Default 2 s; then the socket is closed.
    public var close: Duration = .seconds(2)

    /// Creates the time limits with their defaults.
    public init() {}
}
