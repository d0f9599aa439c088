package import StreamSession
import StreamTransport

extension ChappieTransportFailure {
    /// Indicates whether the proxy requires a different credential, or any.
    var isProxyCredentialRefused: Bool {
        guard self.code == .proxyRefused else { return false }
        // RFC 9110 section 15.5.8 has 407 for it; tinyproxy before 1.11.3 answers 401 to a wrong one.
        return [401, 407].contains(self.details.statusCode)
            || self.loginFault != nil
    }

    /// The facts of the code's row, unless the details show different ones.
    package var facts: ErrorFacts {
        switch self.code {
        case .proxyRefused where self.isProxyCredentialRefused: ErrorFacts(.auth, requiresUserAction: true)
        case .tlsHandshakeFailed where self.tlsRefusal?.requiresUserAction == true:
            ErrorFacts(.network, requiresUserAction: true)
        case .webSocketClosed: ErrorMeaning(closeCode: self.details.closeCode).facts
        case .openingHandshakeInvalid:
            // Status code 101 with a wrong field is no refusal.
            self.details.statusCode.flatMap { $0 == 101 ? nil : ErrorMeaning(statusCode: $0).facts }
                ?? self.code.kind.row.facts
        case .circuitOpen: self.code.kind.row.facts.waiting(for: self.details.retryAfter)
        // Until the installation or the sandbox is changed, no later request can succeed.
        case .unavailable where self.environmentFault == .socket:
            ErrorFacts(.internal, requiresUserAction: true, shouldReport: true)
        default: self.code.kind.row.facts
        }
    }
}
