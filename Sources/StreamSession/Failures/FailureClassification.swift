// What a failure means, by its case, its status code or the meaning of its error code (`ErrorMeaning`). It is pure: no
// state, no clock, no message text.
import StreamTransport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension AttemptFailure {
    /// What the failure means.
    package var failureClass: FailureClass {
        switch self {
        case .transport(let failure): failure.failureClass
        case .closed(let code, let beforeFirstEvent): Self.classOfClose(code, beforeFirstEvent: beforeFirstEvent)
        case .endedEarly: .transient
        case .upgradeStatus(let facts): facts.classOfUpgrade
        case .httpStatus(let facts), .responseFailed(let facts): facts.classOfAnswer
        case .errorEvent(let facts): facts.classOfErrorEvent
        // The delivered output contradicts the response itself: no other attempt can repeat it.
        case .contradictoryEvents(.closingDiffers, _), .contradictoryEvents(.closingOutOfPlace, _),
            .contradictoryEvents(.outOfOrder, _), .contradictoryEvents(.agentChanged, _),
            .contradictoryEvents(.itemsInterleaved, _):
            .fatal
        case .binaryMessage, .undecodableEvent, .contradictoryEvents, .endedWithoutEvent: .probable
        case .sequenceGap, .timeout(.firstEvent), .timeout(.idle), .timeout(.progress): .transient
        case .responseIncomplete, .unexpectedContentType, .eventTooLarge, .outputTooLarge, .toolOutputAwaited,
            .timeout(.total):
            .fatal
        // It is at its address that the other API is, whatever is asked for; HTTP may lead elsewhere.
        case .otherAPI: .definite
        case .requestTooLarge: .size
        }
    }

    /// Whether the connection was gone, rather than the exchange wrong: a kept connection may have died unnoticed.
    var isLossOfConnection: Bool {
        switch self {
        // Another connection would hear the same about the size.
        case .closed(let code, _): code != 1009
        case .transport(let failure): failure.cause == .connectionLost || failure.cause == .peerUnresponsive
        case .endedEarly, .endedWithoutEvent, .upgradeStatus, .httpStatus, .errorEvent, .responseFailed,
            .responseIncomplete, .unexpectedContentType, .binaryMessage, .undecodableEvent, .contradictoryEvents,
            .sequenceGap, .otherAPI,
            .eventTooLarge, .outputTooLarge, .toolOutputAwaited, .timeout, .requestTooLarge:
            false
        }
    }

    /// Whether the server does not have the response that the request goes on from.
    var refusesContinuation: Bool { self.refusal?.errorCode == ErrorMeaning.forgottenResponse }

    /// True when the attempt ended before the server's answer to the request or the upgrade was there.
    var precedesAnswer: Bool {
        guard case .transport(let failure) = self else { return false }
        switch failure.phase {
        case .resolve, .connect, .proxy, .tls, .upgrade: return true
        case .send, .firstEvent, .stream, .close: return false
        }
    }

    /// RFC 6455 section 7.4.1.
    private static func classOfClose(_ code: UInt16, beforeFirstEvent: Bool) -> FailureClass {
        switch code {
        // A policy that closes before it has seen anything is about the WebSocket itself.
        case 1008: beforeFirstEvent ? .definite : .transient
        case 1009: .size
        // The peer says that the protocol was broken: something between mangles frames, or both disagree about them.
        case 1002, 1003, 1007, 1010: .probable
        default: .transient
        }
    }
}

extension TransportFailure {
    /// What a failed connection means.
    fileprivate var failureClass: FailureClass {
        switch self.cause {
        // The policy, the limit or the credential of the program's own stands in the way, whatever the transport. For a
        // wrong credential a proxy should say 407 (RFC 9110 section 15.5.8); tinyproxy before 1.11.3 says 401.
        case .invalidRequest, .trustAnchorsUnreadable, .clientCertificateUnreadable, .keyNotPinned, .proxyInvalid,
            .proxyRefused(statusCode: 407), .proxyRefused(statusCode: 401), .socksAuthenticationRefused,
            .messageTooLarge, .cancelled, .descriptorsExhausted, .unavailable, .environmentUnusable:
            .fatal
        case .certificateRejected, .headerSectionTooLarge, .openingHandshakeInvalid,
            .unsupportedTransferCoding, .unsupportedContentCoding:
            .definite
        case .unresolvable(let code): code == Self.temporaryNameFailure ? .offline : .probable
        case .unreachable(let code): Self.errorsWithoutNetwork.contains(code) ? .offline : .probable
        case .tlsAlert(let alert) where Self.lastingAlerts.contains(alert): .definite
        case .tlsAlert, .tlsHandshakeFailed, .proxyRefused, .socksRefused, .notSOCKS, .notHTTP, .protocolViolation:
            .probable
        case .timedOut: self.classOfTimeout
        case .connectionLost: self.classOfLoss
        case .corruptContentCoding, .malformedBody, .peerUnresponsive: .transient
        }
    }

    /// Alerts that another handshake would end with as well (RFC 8446 section 6.2): about the client's certificate,
    /// the version, the name of the server, and the protocol above.
    private static let lastingAlerts: Set<UInt8> = [42, 43, 44, 45, 46, 48, 49, 70, 71, 86, 112, 116, 120]

    /// No name server answers.
    private static let temporaryNameFailure = EAI_AGAIN

    /// No interface is up, or no route leads anywhere.
    private static let errorsWithoutNetwork: Set<Int32> = [ENETDOWN, ENETUNREACH]

    private var classOfTimeout: FailureClass {
        switch self.phase {
        case .resolve, .connect, .proxy, .tls, .upgrade: .probable
        case .send, .firstEvent, .stream, .close: .transient
        }
    }

    private var classOfLoss: FailureClass {
        switch self.phase {
        // A proxy that refuses CONNECT, or a TLS handshake that something between does not like.
        case .proxy, .tls: .probable
        case .resolve, .connect, .upgrade, .send, .firstEvent, .stream, .close: .transient
        }
    }
}

extension RefusalFacts {
    /// An answer to the upgrade other than 101.
    fileprivate var classOfUpgrade: FailureClass {
        switch self.classOfCode {
        case .usageLimit: return .usageLimit
        case .throttle: return .throttle
        // Overload is the server's answer to the request, whatever it was asked over.
        case .fatal where self.errorCode == ErrorMeaning.overloaded: return .fatal
        case .definite, .probable, .offline, .transient, .server, .size, .credential, .fatal, nil: break
        }
        switch self.statusCode ?? 0 {
        case 401: return .credential
        case 429: return .throttle
        case 408: return .transient
        // They say what the server cannot do (RFC 9110 sections 15.6.2 and 15.6.6); every other 5xx may pass.
        case 501, 505: return .definite
        case 500..<600: return .transient
        default: return .definite
        }
    }

    /// An answer to the request: a status code of a POST, an error in band, or a failed response.
    fileprivate var classOfAnswer: FailureClass {
        if let classOfCode { return classOfCode }
        switch self.statusCode {
        case nil: return .server
        case 401: return .credential
        case 429: return .throttle
        case 408, 409, 425: return .server
        case 501, 505: return .fatal
        case .some(500..<600): return .server
        // An error that claims success says nothing by its number.
        case .some(200..<300): return .server
        default: return .fatal
        }
    }

    /// An error in band.
    ///
    /// Without a status code and without a code that says otherwise it is the server's last word.
    fileprivate var classOfErrorEvent: FailureClass {
        self.statusCode == nil ? self.classOfCode ?? .fatal : self.classOfAnswer
    }

    /// What the error's code or type decides, ahead of any status code or where there is none.
    private var classOfCode: FailureClass? {
        if self.usageLimit != nil { return .usageLimit }
        return ErrorMeaning(code: self.errorCode, type: self.errorType, hasStatusCode: self.statusCode != nil)?
            .failureClass
    }
}

extension AttemptFailure {
    /// Whether the server may have the request of an attempt over HTTP that ended so without a good answer.
    var mayFollowPOST: Bool {
        switch self {
        case .transport(let failure):
            switch failure.phase {
            case .resolve, .connect, .proxy, .tls, .send: false
            // The POST's body went out before its answer was waited for.
            case .upgrade, .firstEvent, .stream, .close: true
            }
        case .requestTooLarge:
            false
        case .httpStatus, .unexpectedContentType, .closed, .endedEarly, .endedWithoutEvent, .upgradeStatus, .errorEvent,
            .responseFailed, .responseIncomplete, .binaryMessage, .undecodableEvent, .contradictoryEvents, .sequenceGap,
            .otherAPI, .eventTooLarge, .outputTooLarge, .toolOutputAwaited, .timeout:
            true
        }
    }

    /// Whether an attempt over HTTP that ended so had an answer, although not a good one.
    var isAnswerToPOST: Bool {
        switch self {
        case .httpStatus, .unexpectedContentType: true
        default: false
        }
    }
}
