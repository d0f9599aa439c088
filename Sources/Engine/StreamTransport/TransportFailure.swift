/// The end of a connection.
package enum TransportEnd: Sendable, Equatable {
    /// The response's body is complete, as far as HTTP can tell (a body that ends with the connection always is).
    case complete
    /// The WebSocket was closed: the peer's code and reason (RFC 6455 section 7.4), 1005 when its close frame had none,
    /// 1006 when the connection ended without a close frame.
    case closed(code: UInt16, reason: String)
    /// The attempt failed.
    case failed(TransportFailure)
}

/// The failure that ended an attempt before the peer completed it.
package struct TransportFailure: Error, Sendable, Equatable {
    /// The phase that the attempt had reached.
    package typealias Phase = ChappieTransportPhase

    /// The cause of the failure.
    package enum Cause: Sendable, Equatable {
        /// The request cannot be sent as it is; the text names the part and its fault.
        case invalidRequest(String)
        /// The host has no address; `getaddrinfo`'s code (`EAI_…`).
        case unresolvable(code: Int32)
        /// No address could be connected to; `errno` of the last attempt, 0 when it is not known.
        case unreachable(code: Int32)
        /// A time limit (`TransportTimeouts`) was exceeded.
        case timedOut
        /// The peer's certificate is not trusted; OpenSSL's `X509_V_ERR_…` code, and the issuer of the certificate that
        /// it concerns, as that certificate names it (RFC 4514), at most 256 bytes without control characters.
        case certificateRejected(code: Int32, issuer: String? = nil)
        /// No key of the peer's certificates is a pinned one.
        case keyNotPinned
        /// The TLS handshake ended with this alert (RFC 8446 section 6), sent by the peer or by this side.
        case tlsAlert(UInt8)
        /// The TLS handshake failed for another reason.
        case tlsHandshakeFailed
        /// The trust anchors' file cannot be read.
        case trustAnchorsUnreadable
        /// The client's certificate or its key cannot be read, or they do not belong together.
        case clientCertificateUnreadable
        /// The proxy's URL cannot be used; the text names the fault, and never contains the URL.
        case proxyInvalid(String)
        /// The proxy refused the tunnel; its status code (RFC 9110 section 9.3.6).
        case proxyRefused(statusCode: Int)
        /// The proxy refused the tunnel; the code of its SOCKS reply, which is not 0 (RFC 1928 section 6).
        case socksRefused(code: UInt8)
        /// The proxy requires another login, or one at all (RFC 1928 section 3, RFC 1929).
        case socksAuthenticationRefused(SOCKSAuthenticationFault)
        /// The proxy's bytes are not SOCKS 5.
        case notSOCKS
        /// The answer is not an HTTP/1.1 response.
        case notHTTP
        /// The answer has status code 101, and no other protocol was asked for (RFC 9110 section 15.2.2).
        case protocolSwitched
        /// The response's header section exceeds the limit.
        case headerSectionTooLarge(limit: Int)
        /// Status code 101 with a wrong or missing field, or an interim response where none can be (RFC 6455 4.1).
        case openingHandshakeInvalid(OpeningHandshakeFault)
        /// The peer broke RFC 6455 or RFC 7692; the close code that was sent to it.
        case protocolViolation(closeCode: UInt16)
        /// A message or its inflated form exceeds the limit.
        case messageTooLarge(limit: Int)
        /// A transfer coding other than `chunked` (RFC 9112 section 7).
        case unsupportedTransferCoding
        /// The body's framing cannot be read: a chunk, or the trailer section (RFC 9112 section 7.1).
        case malformedBody
        /// The response has a content coding that the request did not list.
        case unsupportedContentCoding
        /// The compressed body is damaged or cut off.
        case corruptContentCoding
        /// The connection ended early: it was reset, or closed before the announced end.
        case connectionLost
        /// The peer answered neither data nor pings (`pingInterval`, `pongTimeout`).
        case peerUnresponsive
        /// `cancel()` was called.
        case cancelled
        /// The process has no file descriptor left; the number that it may have (`ulimit -n`).
        case descriptorsExhausted(limit: Int)
        /// The service could not be started or refused the connection: no memory, no threads.
        case unavailable
        /// No connection can be opened in this environment, whatever the state of the network.
        case environmentUnusable(EnvironmentFault)
    }

    /// The part of the environment that is missing.
    package enum EnvironmentFault: String, Sendable, Equatable, CaseIterable {
        /// The service thread could not be started.
        case thread
        /// The event loop or libwebsockets' context could not be made.
        case service
        /// The system or libwebsockets opened no socket within the connect budget.
        case socket
    }

    /// A SOCKS proxy's reason for refusing a client (RFC 1928 section 3, RFC 1929).
    package enum SOCKSAuthenticationFault: String, Sendable, Equatable, CaseIterable {
        /// A login is required, and the proxy's URL has none.
        case credentialMissing = "credential-missing"
        /// The user name or the password is wrong.
        case credentialRefused = "credential-refused"
        /// Another method than a user name and a password is required, such as GSSAPI.
        case methodsRefused = "methods-refused"
    }

    /// The fault of an answer to the opening handshake (RFC 6455 section 4.1).
    package enum OpeningHandshakeFault: String, Sendable, Equatable, CaseIterable {
        /// `Upgrade` is not `websocket`.
        case upgrade
        /// `Connection` has no `Upgrade` option.
        case connection
        /// `Sec-WebSocket-Accept` is missing or wrong.
        case accept
        /// `Sec-WebSocket-Extensions` has an extension that was not offered, or invalid parameters.
        case extensions
        /// `Sec-WebSocket-Protocol` was not asked for.
        case subprotocol
        /// `Content-Length` other than 0, or `Transfer-Encoding`, which an answer without content must not have (RFC
        /// 9112 section 6).
        case content
        /// A status code below 200 other than 101.
        case interimResponse
    }

    /// The progress of the attempt.
    package let phase: Phase
    /// The cause of the failure.
    package let cause: Cause

    /// Creates a failure.
    package init(phase: Phase, cause: Cause) {
        self.phase = phase
        self.cause = cause
    }
}
