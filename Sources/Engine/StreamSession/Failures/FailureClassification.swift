// The meaning of a failure, by its case, its status code or the meaning of its error code (`ErrorMeaning`). The
// functions are pure: no state, no clock, no message text.
import PlatformC
import StreamTransport

extension AttemptFailure {
    /// The class of the failure: the row's, unless the details show a different one.
    package var failureClass: FailureClass {
        switch self {
        case .transport(let failure): failure.classOfDetails ?? self.classOfCode
        // A policy violation before the first event concerns the WebSocket itself.
        case .closed(1008, beforeFirstEvent: true): .definite
        case .closed(let code, _): ErrorMeaning(closeCode: Int(code)).failureClass
        case .upgradeStatus(let facts): facts.classOfUpgrade
        // A response that failed for an unknown reason is the server's failure. An `error` event without a known code
        // may concern anything, so it is final.
        case .httpStatus(let facts), .responseFailed(let facts): facts.classOfAnswer ?? .server
        case .errorEvent(let facts): facts.classOfAnswer ?? .fatal
        case .endedWithoutEvent: .probable
        // The delivered output contradicts the response itself: no other attempt can repeat it.
        case .contradictoryEvents(.closingDiffers, _), .contradictoryEvents(.closingOutOfPlace, _),
            .contradictoryEvents(.outOfOrder, _), .contradictoryEvents(.agentChanged, _),
            .contradictoryEvents(.itemsInterleaved, _):
            .fatal
        case .timeout(.total), .responseIncomplete: .fatal
        case .endedEarly, .unexpectedContentType, .binaryMessage, .undecodableEvent, .contradictoryEvents, .sequenceGap,
            .otherAPI, .eventTooLarge, .outputTooLarge, .tooManyItems, .toolOutputAwaited, .timeout,
            .requestTooLarge:
            self.classOfCode
        }
    }

    /// The class in the row of the failure's code.
    private var classOfCode: FailureClass {
        guard let code = self.code else { preconditionFailure("the server's refusals have classes of their own") }
        return code.row.failureClass
    }

    /// Indicates whether the connection was lost, rather than the exchange wrong: a kept connection may have died
    /// unnoticed.
    var isLossOfConnection: Bool {
        switch self {
        // Another connection would fail with the same size.
        case .closed(let code, _): code != 1009
        case .transport(let failure): failure.cause == .connectionLost || failure.cause == .peerUnresponsive
        default: false
        }
    }

    /// Indicates whether the server does not continue the response that the request continues.
    var refusesContinuation: Bool { self.refusal?.refusesContinuation ?? false }

    /// Indicates whether the attempt ended before the server had answered the request or the upgrade.
    var precedesAnswer: Bool {
        guard case .transport(let failure) = self else { return false }
        return failure.phase.precedesAnswer
    }
}

extension TransportFailure {
    /// The class of a failed connection where a code, or the phase, decides it; nil otherwise.
    fileprivate var classOfDetails: FailureClass? {
        switch self.cause {
        // For a wrong credential a proxy should answer 407 (RFC 9110 section 15.5.8); tinyproxy before 1.11.3 answers
        // 401.
        case .proxyRefused(statusCode: 407), .proxyRefused(statusCode: 401), .socksAuthenticationRefused: .fatal
        case .unresolvable(Self.temporaryNameFailure): .offline
        case .unreachable(let code) where Self.errorsWithoutNetwork.contains(code): .offline
        case .tlsAlert(let alert) where Self.lastingAlerts.contains(alert): .definite
        case .timedOut where self.phase.precedesAnswer: .probable
        // The server has read the request, and answers it so each time.
        case .protocolSwitched: .fatal
        // A proxy refuses CONNECT, or an intermediary disturbs the TLS handshake.
        case .connectionLost where self.phase == .proxy || self.phase == .tls: .probable
        default: nil
        }
    }

    /// Alerts that would end another handshake as well (RFC 8446 section 6.2): about the client's certificate, the
    /// version, the name of the server, and the application protocol.
    private static let lastingAlerts: Set<UInt8> = [42, 43, 44, 45, 46, 48, 49, 70, 71, 86, 112, 116, 120]

    /// The code for a lookup that no name server answers.
    private static let temporaryNameFailure = EAI_AGAIN

    /// The codes for a machine without an active interface, or without a route.
    private static let errorsWithoutNetwork: Set<Int32> = [ENETDOWN, ENETUNREACH]
}

extension TransportFailure.Phase {
    /// Indicates whether the server has not answered yet, neither the request nor the upgrade.
    fileprivate var precedesAnswer: Bool {
        switch self {
        case .resolve, .connect, .proxy, .tls, .upgrade: true
        case .send, .firstEvent, .stream, .close: false
        }
    }
}

extension RefusalFacts {
    /// The meaning of the error's code, its type or its status code; nil for an error that names nothing known.
    package var meaning: ErrorMeaning? {
        ErrorMeaning(code: self.errorCode, type: self.errorType, statusCode: self.statusCode)
    }

    /// Indicates whether the server does not have the response that the request continues, or continues none.
    ///
    /// A server without the code of OpenAI says so by the parameter (vLLM's `serving_responses.py`: status code 404 and
    /// `response_id`).
    fileprivate var refusesContinuation: Bool {
        if self.errorCode == ErrorMeaning.forgottenResponse { return true }
        guard self.parameter == "previous_response_id" || self.parameter == "response_id" else { return false }
        let codes = [self.statusCode, self.errorCode.flatMap { Int($0) }]
        return codes.contains(400) || codes.contains(404)
    }

    /// The class of an answer to the upgrade other than 101.
    fileprivate var classOfUpgrade: FailureClass {
        switch self.classOfAnswer {
        case .usageLimit: return .usageLimit
        case .throttle: return .throttle
        // Overload answers the request, over either transport.
        case .server where self.errorCode == ErrorMeaning.overloaded: return .server
        case .definite, .probable, .offline, .transient, .server, .size, .credential, .fatal, nil: break
        }
        switch self.statusCode ?? 0 {
        case 401: return .credential
        case 408: return .transient
        // The codes describe a lasting inability of the server (RFC 9110 sections 15.6.2 and 15.6.6); every other 5xx
        // may pass.
        case 501, 505: return .definite
        case 500..<600: return .transient
        default: return .definite
        }
    }

    /// The class of an answer to the request: a status code of a POST, an error in band, or a failed response; nil for
    /// one that names nothing known.
    fileprivate var classOfAnswer: FailureClass? {
        self.usageLimit != nil ? .usageLimit : self.meaning?.failureClass
    }
}

extension AttemptFailure {
    /// Indicates whether the server may have received the request of an attempt over HTTP that ended without a good
    /// answer.
    package var mayFollowPOST: Bool {
        switch self {
        case .transport(let failure):
            switch failure.phase {
            case .resolve, .connect, .proxy, .tls, .send: false
            // The POST's body was sent before its answer was awaited.
            case .upgrade, .firstEvent, .stream, .close: true
            }
        case .requestTooLarge: false
        default: true
        }
    }

    /// Indicates whether an attempt over HTTP that ended so had an answer, although not a good one.
    var isAnswerToPOST: Bool {
        switch self {
        case .httpStatus, .unexpectedContentType: true
        default: false
        }
    }
}
