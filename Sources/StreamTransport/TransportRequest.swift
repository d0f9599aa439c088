/// Everything a transport needs to make one attempt.
package struct TransportRequest: Sendable {
    /// What is exchanged.
    package enum Exchange: Sendable {
        /// A GET that asks for a WebSocket (RFC 6455 section 4.1), with an offer of permessage-deflate or without.
        case webSocket(compression: MessageCompressionOffer?)
        /// A POST with this body, whose response streams.
        case post(body: [UInt8])
        /// A GET whose response streams.
        case get
    }

    /// Where to connect to.
    package var endpoint: TransportEndpoint
    /// What is exchanged.
    package var exchange: Exchange
    /// Fields of the request beside those that the transport writes itself (`Host`, `Content-Length`, `Upgrade`, …).
    package var fields: [HTTPField]
    /// Names of the response fields to report.
    ///
    /// Other fields are not read.
    package var capturedFieldNames: [String]
    /// What the peer may send at most.
    package var limits: TransportLimits
    /// How long the transport waits by itself.
    package var timeouts: TransportTimeouts
    /// Indicates whether a POST waits for `TransportConnection.release()` once its connection is established.
    ///
    /// Default false. Until then the server has no complete request, so that it cannot act on it. `connect` of the
    /// timeouts ends with `TransportEvent.ready`; a held connection may wait for as long as it is left alone.
    package var isHeld = false
    /// The lane of a WebSocket that carries several responses; nil is the one without a name.
    ///
    /// Default nil. Only a transport that shares sockets looks at it.
    package var lane: String?

    /// A request with the default limits and timeouts.
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
    /// The longest target that can be sent, in bytes: libwebsockets cuts longer ones.
    package static let targetByteCountLimit = 2_000

    /// True for `https` and `wss`.
    package var isSecure: Bool
    /// A registered name, an IPv4 address, or an IPv6 address without brackets.
    package var host: String
    /// 1–65,535.
    package var port: UInt16
    /// The path and the query, as they stand in the request line.
    package var target: String

    /// An endpoint.
    package init(isSecure: Bool, host: String, port: UInt16, target: String) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.target = target
    }
}

/// What a peer may send at most, and what may wait for it; past a limit the connection fails.
package struct TransportLimits: Sendable, Equatable {
    /// One WebSocket message, inflated.
    ///
    /// Default 64 MiB.
    package var messageByteCount = 64 << 20
    /// Unread bytes at which the connection stops reading.
    ///
    /// Default 1 MiB.
    package var highWatermark = 1 << 20
    /// Unread bytes at which it starts again.
    ///
    /// Default 256 KiB.
    package var lowWatermark = 256 << 10
    /// Bytes of messages that were given to `TransportConnection.send` and are not with the socket yet: what passes
    /// this fails the connection, in phase `send`.
    ///
    /// Default 64 MiB. They count until nothing is left to write.
    package var outboundByteCount = 64 << 20

    /// The defaults.
    package init() {}
}

/// How long a transport waits by itself.
///
/// Nil turns a wait's end off.
package struct TransportTimeouts: Sendable, Equatable {
    /// Name resolution, TCP, TLS and, for a WebSocket, the answer to the upgrade, together.
    ///
    /// Default 10 s.
    package var connect: Duration? = .seconds(10)
    /// Quiet after which a ping is sent (WebSocket only).
    ///
    /// Default 20 s.
    package var pingInterval: Duration? = .seconds(20)
    /// Quiet after that ping with which the peer counts as gone.
    ///
    /// Default 10 s.
    package var pongTimeout: Duration = .seconds(10)
    /// How long the peer may take to answer a close frame, or a request that it has stopped reading.
    ///
    /// Default 2 s.
    package var close: Duration = .seconds(2)

    /// The defaults.
    package init() {}
}
