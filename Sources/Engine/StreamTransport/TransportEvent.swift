/// The events of a connection, in order: one `opened`, any number of payloads, one `ended`.
///
/// An exchange that fails before its answer reports only `ended`. A held request reports one `ready` before `opened`,
/// and a WebSocket one `pong` for each answered `ping()`, between the others.
package enum TransportEvent {
    /// The connection of a held request is established: `release()` completes the request.
    case ready
    /// The peer has answered a ping that `TransportConnection.ping()` sent.
    case pong
    /// The header section of the final response has arrived.
    ///
    /// With status code 101 the WebSocket is established. With any other status code on an upgrade, it was refused,
    /// and the payloads that follow are the body of the refusal.
    case opened(ResponseHead)
    /// A whole WebSocket message, or a piece of a response body with its content coding removed.
    case payload(InboundPayload)
    /// The end, which is the last event.
    case ended(TransportEnd)
}

/// Bytes lent by a connection to its consumer.
///
/// They stay valid until the next call of `next()` or `wait(for:)` on the same connection, and 64 more bytes can be
/// read past their end, so that a vectorised parser may load there.
@safe @usableFromInline package struct InboundPayload {
    /// The type of the bytes.
    @usableFromInline package enum Kind: Sendable, Equatable {
        /// A text message.
        ///
        /// The consumer checks that it is valid UTF-8 (`fail(code: 1007)` if not).
        case text
        /// A binary message.
        case binary
        /// A piece of a response body, whose boundaries are unrelated to the server's writes.
        case body
    }

    /// The type of the bytes.
    @usableFromInline package let kind: Kind
    /// The bytes, valid as the type's documentation describes.
    @usableFromInline package let bytes: UnsafeRawBufferPointer

    /// Lends bytes that the connection keeps alive until its next call.
    @inlinable @inline(__always)
    package init(kind: Kind, bytes: UnsafeRawBufferPointer) {
        self.kind = kind
        unsafe self.bytes = bytes
    }
}

/// The status code and the header section of a final response.
package struct ResponseHead: Sendable, Equatable {
    /// The status code (RFC 9110 section 15).
    package let statusCode: Int
    /// The fields that the request asked for (`TransportRequest.capturedFieldNames`), in the order of that list; or all
    /// field lines (`capturesAllFields`).
    package let fields: [HTTPField]
    /// Indicates whether permessage-deflate (RFC 7692) or a content coding (RFC 9110 section 8.4) is in use.
    package let isCompressed: Bool

    /// Creates a response head.
    package init(statusCode: Int, fields: [HTTPField] = [], isCompressed: Bool = false) {
        self.statusCode = statusCode
        self.fields = fields
        self.isCompressed = isCompressed
    }

    /// Returns the first value of a field, whose name is compared without regard to case.
    package func value(of name: String) -> String? {
        self.fields.first { $0.isNamed(name) }?.value
    }
}

/// One field line of a header section (RFC 9110 section 5).
package struct HTTPField: Sendable, Equatable {
    /// The field name, in any case.
    package let name: String
    /// The field value, without white space around it.
    package let value: String

    /// Returns whether the field has a name, which is compared without regard to case, and without an allocation.
    package func isNamed(_ name: String) -> Bool {
        self.name.utf8.elementsEqual(name.utf8) { own, other in
            own == other || own ^ other == 0x20 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(own | 0x20)
        }
    }

    /// Creates a field.
    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// The counters and times of one connection so far.
package struct TransportStatistics: Sendable, Equatable {
    /// Bytes read from the socket after the header section, before any decompression, until the exchange has ended.
    package var receivedByteCount = 0
    /// The same bytes after decompression; nil when no byte was compressed.
    package var inflatedByteCount: Int?
    /// Bytes of request body, or of WebSocket frames, given to the socket.
    package var sentByteCount = 0
    /// Time from the start to the end of name resolution; nil while it is not over.
    package var resolved: Duration?
    /// Time from the start to the TCP connection, to the proxy where there is one; nil while there is none.
    package var tcpConnected: Duration?
    /// Time from the start to the moment the request or the upgrade could be written (TCP and TLS are done).
    package var connected: Duration?
    /// Indicates whether the TLS handshake resumed a session of an earlier connection (RFC 8446 section 2.2).
    package var isTLSResumed = false
    /// Time from the start to the response's header section.
    package var opened: Duration?
    /// Time from the start to the newest byte from the peer.
    package var lastReceived: Duration?
    /// Time from the start to the newest byte that the peer sent unprompted: everything but pongs.
    package var lastHeard: Duration?
    /// Time from the start to the newest ping of the peer.
    package var lastPinged: Duration?
    /// Indicates whether the peer began the closing handshake; nil before its close frame.
    package var peerBeganClosing: Bool?
    /// Indicates whether the whole request was given to the socket.
    package var requestSent = false
    /// Indicates whether a request waits for its turn on a socket that others use as well.
    package var isWaitingForTurn = false
    /// Time from the start to the sending of a request that had waited for its turn.
    package var turnCame: Duration?

    /// Creates statistics with zeros.
    package init() {}
}
