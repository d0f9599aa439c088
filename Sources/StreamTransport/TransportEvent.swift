/// What a connection reports, in order: one `opened`, any number of payloads, one `ended`.
///
/// An exchange that fails before an answer came reports `ended` alone. A held request has one `ready` before `opened`,
/// and a WebSocket one `pong` for each `ping()` that was answered, between the others.
package enum TransportEvent {
    /// The connection of a held request is established: `release()` makes the request whole.
    case ready
    /// The peer has answered a ping that `TransportConnection.ping()` sent.
    case pong
    /// The header section of the final response is there.
    ///
    /// With status code 101 the WebSocket is established. With any other status code on an upgrade, it was refused,
    /// and the payloads that follow are the body of the refusal.
    case opened(ResponseHead)
    /// A whole WebSocket message, or a piece of a response body with its content coding removed.
    case payload(InboundPayload)
    /// Nothing comes after this.
    case ended(TransportEnd)
}

/// Bytes lent by a connection to its consumer.
///
/// They stay valid until the next call of `next()` or `wait(for:)` on the same connection, and 64 more bytes can be
/// read past their end, so that a vectorised parser may load there.
@safe package struct InboundPayload {
    /// What the bytes are.
    package enum Kind: Sendable, Equatable {
        /// A text message.
        ///
        /// Whether it is valid UTF-8 is for the consumer to find out (`fail(code: 1007)` if not).
        case text
        /// A binary message.
        case binary
        /// A piece of a response body: any cut, no relation to what the server wrote at once.
        case body
    }

    /// What the bytes are.
    package let kind: Kind
    /// The bytes; see the type's documentation for how long.
    package let bytes: UnsafeRawBufferPointer

    /// Lends bytes that the connection keeps alive until its next call.
    package init(kind: Kind, bytes: UnsafeRawBufferPointer) {
        self.kind = kind
        unsafe self.bytes = bytes
    }
}

/// The status code and the header section of a final response.
package struct ResponseHead: Sendable, Equatable {
    /// RFC 9110 section 15.
    package let statusCode: Int
    /// The fields that the request asked for (`TransportRequest.capturedFieldNames`), in the order of that list.
    package let fields: [HTTPField]
    /// True when permessage-deflate (RFC 7692) or a content coding (RFC 9110 section 8.4) is in use.
    package let isCompressed: Bool

    /// A response head.
    package init(statusCode: Int, fields: [HTTPField] = [], isCompressed: Bool = false) {
        self.statusCode = statusCode
        self.fields = fields
        self.isCompressed = isCompressed
    }

    /// The first value of a field, whose name is compared without regard to case.
    package func value(of name: String) -> String? {
        self.fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// One field line of a header section (RFC 9110 section 5).
package struct HTTPField: Sendable, Equatable {
    /// The field name, in any case.
    package let name: String
    /// The field value, without white space around it.
    package let value: String

    /// A field.
    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// What one connection has done so far.
package struct TransportStatistics: Sendable, Equatable {
    /// Bytes read from the socket after the header section, before any decompression, until the exchange has ended.
    package var receivedByteCount = 0
    /// The same bytes after decompression; nil when nothing was compressed.
    package var inflatedByteCount: Int?
    /// Bytes of request body, or of WebSocket frames, given to the socket.
    package var sentByteCount = 0
    /// Time from the start to the end of name resolution; nil while it is not over.
    package var resolved: Duration?
    /// Time from the start to the moment the request or the upgrade could be written (TCP and TLS are done).
    package var connected: Duration?
    /// True when the TLS handshake resumed a session of a connection before (RFC 8446 section 2.2).
    package var isTLSResumed = false
    /// Time from the start to the response's header section.
    package var opened: Duration?
    /// Time from the start to the newest byte from the peer.
    package var lastReceived: Duration?
    /// Time from the start to the newest byte that the peer sent of its own accord: everything but pongs.
    package var lastHeard: Duration?
    /// Time from the start to the newest ping of the peer.
    package var lastPinged: Duration?
    /// True when the whole request was given to the socket.
    package var requestSent = false
    /// True while a request waits for its turn on a socket that others use as well.
    package var isWaitingForTurn = false
    /// Time from the start to when a request went out that had waited for its turn.
    package var turnCame: Duration?

    /// All zero.
    package init() {}
}
