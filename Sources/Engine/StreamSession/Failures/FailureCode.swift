import StreamTransport

/// The kind of a failure below HTTP, in terms that a caller can act on; the raw value is its tag.
///
/// Each has one row in the table of failures (`FailureRow`).
package enum FailureCode: String, Sendable, CaseIterable {
    case invalidRequest = "request.invalid"
    case unresolvable = "resolve.failed"
    case unreachable = "connect.failed"
    case timedOut = "timeout"
    case certificateRejected = "tls.certificate"
    case keyNotPinned = "tls.pin"
    case tlsHandshakeFailed = "tls.handshake"
    case trustAnchorsUnreadable = "tls.trust-anchors"
    case clientCertificateUnreadable = "tls.client-certificate"
    case proxyInvalid = "proxy.invalid"
    case proxyRefused = "proxy.refused"
    case notSOCKS = "proxy.not-socks"
    case notHTTP = "http.not-http"
    case headerSectionTooLarge = "http.header-section-too-large"
    case openingHandshakeInvalid = "ws.opening-handshake"
    case protocolViolation = "ws.protocol-violation"
    case binaryMessage = "ws.binary-message"
    case webSocketClosed = "ws.close"
    case peerUnresponsive = "ws.ping-timeout"
    case unexpectedContentType = "http.content-type"
    case unsupportedContentCoding = "http.content-coding"
    case corruptContentCoding = "http.corrupt-content-coding"
    case malformedBody = "http.malformed-body"
    case undecodableEvent = "event.undecodable"
    case eventTooLarge = "event.too-large"
    case outputTooLarge = "output.too-large"
    case endedEarly = "stream.ended-early"
    case connectionLost = "connection.lost"
    case requestTooLarge = "request.too-large"
    case unsupportedTransferCoding = "http.transfer-coding"
    case contradictoryEvents = "event.contradictory"
    case sequenceGap = "event.sequence-gap"
    case otherAPI = "event.other-api"
    case toolOutputAwaited = "event.tool-output-awaited"
    case responseExpired = "resume.expired"
    case circuitOpen = "circuit.open"
    case shutDown = "engine.shut-down"
    case descriptorsExhausted = "descriptors.exhausted"
    case unavailable = "unavailable"
}

extension AttemptFailure {
    /// The code of a failure below HTTP; nil for a refusal or an end that the server has reported.
    package var code: FailureCode? {
        switch self {
        case .transport(let failure): failure.cause.code
        case .closed: .webSocketClosed
        case .endedEarly, .endedWithoutEvent: .endedEarly
        case .unexpectedContentType: .unexpectedContentType
        case .binaryMessage: .binaryMessage
        case .undecodableEvent: .undecodableEvent
        case .contradictoryEvents: .contradictoryEvents
        case .sequenceGap: .sequenceGap
        case .otherAPI: .otherAPI
        case .eventTooLarge: .eventTooLarge
        case .outputTooLarge, .tooManyItems: .outputTooLarge
        case .toolOutputAwaited: .toolOutputAwaited
        case .timeout: .timedOut
        case .requestTooLarge: .requestTooLarge
        case .upgradeStatus, .httpStatus, .errorEvent, .responseFailed, .responseIncomplete: nil
        }
    }
}

extension TransportFailure.Cause {
    fileprivate var code: FailureCode {
        switch self {
        case .invalidRequest: .invalidRequest
        case .unresolvable: .unresolvable
        case .unreachable: .unreachable
        case .timedOut: .timedOut
        case .certificateRejected: .certificateRejected
        case .keyNotPinned: .keyNotPinned
        case .tlsAlert, .tlsHandshakeFailed: .tlsHandshakeFailed
        case .trustAnchorsUnreadable: .trustAnchorsUnreadable
        case .clientCertificateUnreadable: .clientCertificateUnreadable
        case .proxyInvalid: .proxyInvalid
        case .proxyRefused, .socksRefused, .socksAuthenticationRefused: .proxyRefused
        case .notSOCKS: .notSOCKS
        case .notHTTP, .protocolSwitched: .notHTTP
        case .headerSectionTooLarge: .headerSectionTooLarge
        case .openingHandshakeInvalid: .openingHandshakeInvalid
        case .protocolViolation: .protocolViolation
        case .messageTooLarge: .eventTooLarge
        case .unsupportedTransferCoding: .unsupportedTransferCoding
        case .unsupportedContentCoding: .unsupportedContentCoding
        case .corruptContentCoding: .corruptContentCoding
        case .malformedBody: .malformedBody
        case .connectionLost: .connectionLost
        case .peerUnresponsive: .peerUnresponsive
        case .descriptorsExhausted: .descriptorsExhausted
        case .environmentUnusable, .cancelled, .unavailable: .unavailable
        }
    }
}
