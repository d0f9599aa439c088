/// The data that a transport needs for one attempt.
package struct TransportRequest: Sendable {
    /// The kind of exchange.
    package enum Exchange: Sendable {
        /// A GET that asks for a WebSocket (RFC 6455 section 4.1), with or without an offer of permessage-deflate.
        case webSocket(compression: MessageCompressionOffer?)
        /// A POST with this body, whose response streams.
        case post(body: [UInt8])
        /// A GET whose response streams.
        case get
    }

    /// The server and target of the request.
    package var endpoint: TransportEndpoint
    /// The kind of exchange.
    package var exchange: Exchange
    /// The method in place of the exchange's own, a token other than `CONNECT`.
    ///
    /// Default nil: POST with a body, and GET otherwise. It has no effect on a WebSocket.
    package var method: String?
    /// Fields of the request beside those that the transport writes itself (`Host`, `Content-Length`, `Upgrade`, …).
    package var fields: [HTTPField]
    /// Names of the response fields to report.
    ///
    /// Other fields are not read, unless `capturesAllFields` is true.
    package var capturedFieldNames: [String]
    /// Indicates whether every field line of the response is reported, in the order of the response.
    ///
    /// Default false.
    package var capturesAllFields = false
    /// The limits of what the peer may send.
    package var limits: TransportLimits
    /// The time limits of the transport.
    package var timeouts: TransportTimeouts
    /// Indicates whether a POST waits for `TransportConnection.release()` once its connection is established.
    ///
    /// Default false. Until then the server has no complete request and cannot act on it. The `connect` timeout ends
    /// with `TransportEvent.ready`; a held connection may wait without limit.
    package var isHeld = false
    /// The subprotocols that are offered to a WebSocket's server, the preferred one first (RFC 6455 section 1.9).
    ///
    /// Default none. The server's choice is in the field `Sec-WebSocket-Protocol`.
    package var subprotocols: [String] = []
    /// The lane of a WebSocket that carries several responses; nil is the unnamed lane.
    ///
    /// Default nil. Only a transport that shares sockets uses it.
    package var lane: String?

    /// Creates a request with the default limits and timeouts.
    package init(
        endpoint: TransportEndpoint,
        exchange: Exchange,
        fields: [HTTPField] = [],
        capturedFieldNames: [String] = [],
        limits: TransportLimits = TransportLimits(),
        timeouts: TransportTimeouts = TransportTimeouts()
    ) {
        self.endpoint = endpoint
        self.exchange = exchange
        self.fields = fields
        self.capturedFieldNames = capturedFieldNames
        self.limits = limits
        self.timeouts = timeouts
    }
}

/// The origin and the target of a request (RFC 9110 section 4).
package struct TransportEndpoint: Sendable, Hashable {
    /// The longest target of a request for a kept response, in bytes: the identifier in it comes from the server.
    package static let targetByteCountLimit = 2_000

    /// True for `https` and `wss`.
    package var isSecure: Bool
    /// A registered name, an IPv4 address, or an IPv6 address without brackets.
    package var host: String
    /// The port, 1–65,535.
    package var port: UInt16
    /// The path and the query, as they stand in the request line.
    package var target: String

    /// Creates an endpoint.
    package init(isSecure: Bool, host: String, port: UInt16, target: String) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.target = target
    }
}

/// The limits of a peer's data and of queued messages; beyond a limit the connection fails.
package struct TransportLimits: Sendable, Equatable {
    /// The size of one WebSocket message, inflated.
    ///
    /// Default 64 MiB.
    package var messageByteCount = 64 << 20
    /// The number of unread bytes at which the connection stops reading.
    ///
    /// Default 1 MiB.
    package var highWatermark = 1 << 20
    /// The number of unread bytes at which it starts again.
    ///
    /// Default 256 KiB.
    package var lowWatermark = 256 << 10
    /// The bytes of messages that were given to `TransportConnection.send` and not yet to the socket; a message beyond
    /// it fails the connection, in phase `send`.
    ///
    /// Default 64 MiB. They count until no bytes are left to write.
    package var outboundByteCount = 64 << 20

    /// Creates the default limits.
    package init() {}
}

/// The time limits of a transport.
///
/// Nil disables a limit.
package struct TransportTimeouts: Sendable, Equatable {
    /// The limit for name resolution, TCP, TLS and, for a WebSocket, the answer to the upgrade, together.
    ///
    /// Default 10 s.
    package var connect: Duration? = .seconds(10)
    /// The quiet time after which a ping is sent (WebSocket only).
    ///
    /// Default 20 s.
    package var pingInterval: Duration? = .seconds(20)
    /// The quiet time after that ping at which the peer counts as gone.
    ///
    /// Default 10 s.
    package var pongTimeout: Duration = .seconds(10)
    /// The time for the peer to answer a close frame, or a request that it has stopped reading.
    ///
    /// Default 2 s.
    package var close: Duration = .seconds(2)

    /// Creates the default timeouts.
    package init() {}
}
