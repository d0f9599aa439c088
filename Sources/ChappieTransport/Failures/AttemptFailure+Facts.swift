import StreamSession
import StreamTransport

/// The public description of an attempt's failure.
extension AttemptFailure {
    /// The stable tag, for reports, diagnostics and logs.
    ///
    /// It never contains the server's words.
    var tag: String {
        switch self {
        case .upgradeStatus(let facts), .httpStatus(let facts): return "http.\(facts.statusCode ?? 0)"
        case .errorEvent(let facts):
            return facts.statusCode.map { "http.\($0)" } ?? "response.error"
        case .responseFailed: return "response.failed"
        case .responseIncomplete: return "response.incomplete"
        case .closed(let code, _): return "ws.close.\(code)"
        case .timeout(let budget): return "timeout.\(budget.rawValue)"
        case .transport(let failure) where failure.cause == .timedOut: return "timeout.\(failure.phase.rawValue)"
        case .transport, .endedEarly, .endedWithoutEvent, .unexpectedContentType, .binaryMessage, .undecodableEvent,
            .contradictoryEvents, .sequenceGap, .otherAPI, .eventTooLarge, .outputTooLarge, .toolOutputAwaited,
            .requestTooLarge:
            var details = ChappieTransportFailure.Details()
            return self.code(details: &details).name
        }
    }

    /// Returns the phase that the attempt had reached.
    func phase(hasEvents: Bool) -> ChappieTransportFailure.Phase {
        switch self {
        case .transport(let failure):
            return ChappieTransportFailure.Phase(failure.phase, hasEvents: hasEvents)
        case .unexpectedContentType, .upgradeStatus, .httpStatus: return .upgrade
        case .requestTooLarge: return .send
        case .timeout(.firstEvent): return .firstEvent
        case .closed, .endedEarly, .endedWithoutEvent, .errorEvent, .responseFailed, .responseIncomplete,
            .binaryMessage,
            .undecodableEvent, .contradictoryEvents, .sequenceGap, .otherAPI, .eventTooLarge, .outputTooLarge,
            .toolOutputAwaited, .timeout(.idle), .timeout(.progress), .timeout(.total):
            return hasEvents ? .stream : .firstEvent
        }
    }

    /// Returns the public code of a failure below HTTP, and sets the details that belong to it.
    func code(details: inout ChappieTransportFailure.Details) -> ChappieTransportFailure.Code {
        switch self {
        case .transport(let failure): return failure.cause.code(details: &details)
        case .closed(let code, _):
            details.closeCode = Int(code)
            return .webSocketClosed
        case .endedEarly: return .endedEarly
        case .endedWithoutEvent:
            details.detail = EndedAnswer.withoutEvent.rawValue
            return .endedEarly
        case .unexpectedContentType: return .unexpectedContentType
        case .binaryMessage: return .binaryMessage
        case .undecodableEvent: return .undecodableEvent
        case .contradictoryEvents(let violation, let slot):
            details.detail = violation.word
            if let slot {
                details.detail = "\(violation.word) at output \(slot.outputIndex), part \(slot.partIndex)"
            }
            return .contradictoryEvents
        case .sequenceGap: return .sequenceGap
        case .otherAPI(let api):
            details.detail = api.rawValue
            return .otherAPI
        case .eventTooLarge(let limit):
            details.limit = limit
            return .eventTooLarge
        case .outputTooLarge(let limit):
            details.limit = limit
            return .outputTooLarge
        case .toolOutputAwaited: return .toolOutputAwaited
        case .timeout: return .timedOut
        case .requestTooLarge: return .requestTooLarge
        case .upgradeStatus, .httpStatus, .errorEvent, .responseFailed, .responseIncomplete:
            preconditionFailure("an answer of the server is not a failure below HTTP")
        }
    }
}

extension ResponseOrder.Violation {
    /// A fixed word for reports.
    fileprivate var word: String {
        switch self {
        case .indexOutOfRange: "index-out-of-range"
        case .responseRestarted: "response-restarted"
        case .itemContinued: "item-continued"
        case .otherResponse: "other-response"
        case .itemUnknown: "item-unknown"
        case .closingDiffers: "closing-differs"
        case .closingOutOfPlace: "closing-out-of-place"
        case .outOfOrder: "out-of-order"
        case .agentChanged: "agent-changed"
        case .itemsInterleaved: "items-interleaved"
        }
    }
}

extension TransportFailure.Cause {
    fileprivate func code(details: inout ChappieTransportFailure.Details) -> ChappieTransportFailure.Code {
        switch self {
        case .invalidRequest(let fault):
            details.detail = fault
            return .invalidRequest
        case .unresolvable(let code):
            details.systemCode = Int(code)
            return .unresolvable
        case .unreachable(let code):
            details.systemCode = code == 0 ? nil : Int(code)
            return .unreachable
        case .timedOut: return .timedOut
        case .certificateRejected(let code, let issuer):
            details.systemCode = Int(code)
            details.issuer = issuer
            details.detail = TLSRefusal(certificateCode: code).rawValue
            return .certificateRejected
        case .keyNotPinned:
            details.detail = TLSRefusal.notPinned.rawValue
            return .keyNotPinned
        case .tlsAlert(let alert):
            details.systemCode = Int(alert)
            details.detail = TLSRefusal(alert: alert)?.rawValue
            return .tlsHandshakeFailed
        case .tlsHandshakeFailed: return .tlsHandshakeFailed
        case .trustAnchorsUnreadable: return .trustAnchorsUnreadable
        case .clientCertificateUnreadable: return .clientCertificateUnreadable
        case .proxyInvalid(let fault):
            details.detail = fault
            return .proxyInvalid
        case .proxyRefused(let statusCode):
            details.statusCode = statusCode
            return .proxyRefused
        case .socksRefused(let code):
            details.systemCode = Int(code)
            details.detail = SOCKSRefusal(code: code)?.rawValue
            return .proxyRefused
        case .socksAuthenticationRefused(let fault):
            details.detail = fault.rawValue
            return .proxyRefused
        case .notSOCKS: return .notSOCKS
        case .notHTTP: return .notHTTP
        case .headerSectionTooLarge(let limit):
            details.limit = limit
            return .headerSectionTooLarge
        case .openingHandshakeInvalid(let fault):
            details.detail = fault.rawValue
            return .openingHandshakeInvalid
        case .protocolViolation(let closeCode):
            details.closeCode = Int(closeCode)
            return .protocolViolation
        case .messageTooLarge(let limit):
            details.limit = limit
            return .eventTooLarge
        case .unsupportedTransferCoding: return .unsupportedTransferCoding
        case .unsupportedContentCoding: return .unsupportedContentCoding
        case .corruptContentCoding: return .corruptContentCoding
        case .malformedBody: return .malformedBody
        case .connectionLost: return .connectionLost
        case .peerUnresponsive: return .peerUnresponsive
        case .descriptorsExhausted(let limit):
            details.limit = limit
            return .descriptorsExhausted
        case .environmentUnusable(let fault):
            details.detail = fault.rawValue
            return .unavailable
        case .cancelled, .unavailable: return .unavailable
        }
    }
}

extension ChappieTransportFailure.Phase {
    fileprivate init(_ phase: TransportFailure.Phase, hasEvents: Bool) {
        switch phase {
        case .resolve: self = .resolve
        case .connect: self = .connect
        case .proxy: self = .proxy
        case .tls: self = .tls
        case .upgrade: self = .upgrade
        case .send: self = .send
        case .firstEvent, .stream: self = hasEvents ? .stream : .firstEvent
        case .close: self = .close
        }
    }
}

extension ChappieReplaySafety {
    /// Creates the public value for the state machine's verdict.
    init(_ safety: ReplaySafety) {
        switch safety {
        case .notSent: self = .notSent
        case .sentNoOutput: self = .sentNoOutput
        case .outputDelivered: self = .outputDelivered
        case .completed: self = .completed
        }
    }
}
