package import StreamSession
import StreamTransport

/// The public description of an attempt's failure.
extension AttemptFailure {
    /// The stable tag, for reports, diagnostics and logs.
    ///
    /// It never contains the server's words.
    package var tag: String {
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
            .contradictoryEvents, .sequenceGap, .otherAPI, .eventTooLarge, .outputTooLarge, .tooManyItems,
            .toolOutputAwaited,
            .requestTooLarge:
            guard let code = self.code else { preconditionFailure("the server's refusals have tags of their own") }
            return code.rawValue
        }
    }

    /// Returns the phase that the attempt had reached.
    package func phase(hasEvents: Bool) -> ChappieTransportFailure.Phase {
        switch self {
        case .transport(let failure):
            switch failure.phase {
            case .firstEvent, .stream: return hasEvents ? .stream : .firstEvent
            case let phase: return phase
            }
        case .unexpectedContentType, .upgradeStatus, .httpStatus: return .upgrade
        case .requestTooLarge: return .send
        case .timeout(.firstEvent): return .firstEvent
        default: return hasEvents ? .stream : .firstEvent
        }
    }

    /// The public code of a failure below HTTP and the details that belong to it; nil for a refusal or an end that the
    /// server has reported.
    package var codeAndDetails: (code: ChappieTransportFailure.Code, details: ChappieTransportFailure.Details)? {
        self.code.map { code in
            var details = ChappieTransportFailure.Details()
            self.describe(in: &details)
            return (.init(code), details)
        }
    }

    private func describe(in details: inout ChappieTransportFailure.Details) {
        switch self {
        case .transport(let failure): failure.cause.describe(in: &details)
        case .closed(let code, _): details.closeCode = Int(code)
        case .endedWithoutEvent: details.detail = EndedAnswer.withoutEvent.rawValue
        case .timeout(let budget): details.detail = budget.rawValue
        case .contradictoryEvents(let violation, let slot):
            let place = slot.map { " at output \($0.outputIndex), part \($0.partIndex)" }
            details.detail = violation.rawValue + (place ?? "")
        case .otherAPI(let api): details.detail = api.rawValue
        case .eventTooLarge(let limit), .outputTooLarge(let limit): details.limit = limit
        case .tooManyItems(let limit):
            details.limit = limit
            details.detail = ChappieTransportFailure.detailOfItems
        case .endedEarly, .upgradeStatus, .httpStatus, .errorEvent, .responseFailed, .responseIncomplete,
            .unexpectedContentType, .binaryMessage, .undecodableEvent, .sequenceGap, .toolOutputAwaited,
            .requestTooLarge:
            break
        }
    }
}

extension TransportFailure.Cause {
    fileprivate func describe(in details: inout ChappieTransportFailure.Details) {
        switch self {
        case .invalidRequest(let fault), .proxyInvalid(let fault): details.detail = fault
        case .unresolvable(let code): details.systemCode = Int(code)
        case .unreachable(let code): details.systemCode = code == 0 ? nil : Int(code)
        case .certificateRejected(let code, let issuer):
            details.systemCode = Int(code)
            details.issuer = issuer
            details.detail = TLSRefusal(certificateCode: code).rawValue
        case .keyNotPinned: details.detail = TLSRefusal.notPinned.rawValue
        case .tlsAlert(let alert):
            details.systemCode = Int(alert)
            details.detail = TLSRefusal(alert: alert)?.rawValue
        case .proxyRefused(let statusCode): details.statusCode = statusCode
        case .socksRefused(let code):
            details.systemCode = Int(code)
            details.detail = SOCKSRefusal(code: code)?.rawValue
        case .socksAuthenticationRefused(let fault): details.detail = fault.rawValue
        case .headerSectionTooLarge(let limit), .messageTooLarge(let limit), .descriptorsExhausted(let limit):
            details.limit = limit
        case .protocolSwitched: details.statusCode = 101
        case .openingHandshakeInvalid(let fault): details.detail = fault.rawValue
        case .protocolViolation(let closeCode): details.closeCode = Int(closeCode)
        case .environmentUnusable(let fault): details.detail = fault.rawValue
        case .timedOut, .tlsHandshakeFailed, .trustAnchorsUnreadable, .clientCertificateUnreadable, .notSOCKS, .notHTTP,
            .unsupportedTransferCoding, .malformedBody, .unsupportedContentCoding, .corruptContentCoding,
            .connectionLost, .peerUnresponsive, .cancelled, .unavailable:
            break
        }
    }
}
