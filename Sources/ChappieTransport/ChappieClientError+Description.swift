// Errors in words: sentences that are fit to show, and the server's own words apart from them.
//
// The sentences are made of fixed text and numbers, so that neither content nor a secret can get into them.
#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension ChappieClientError: LocalizedError {
    /// What went wrong, where, and what to do, in sentences that are fit to show.
    ///
    /// The server's words are not in it, nor is anything of the request or the response.
    public var safeDescription: String { "\(self.problem) \(self.advice)" }

    /// What the server, a tool or a person said about it: to be logged with care, not to be shown.
    public var unsafeMessage: String? {
        switch self {
        case .reauthenticationRequired(let reason): reason
        case .usageLimitReached(let limit): limit.message
        case .toolApprovalDenied(_, let reason): reason
        case .toolExecutionFailed(_, let message): message
        case .responseTerminalFailure(let response): response.errorMessage ?? response.incompleteReason
        case .httpError(_, let body): body
        case .transport(let failure): failure.details.closeReason ?? failure.details.issuer
        case .requestRefused(let reason): reason
        case .missingCredential, .missingRefreshToken, .missingAccountID, .missingToolHandler, .toolLoopLimitExceeded,
            .streamingTransportReplayDiverged, .invalidResponse, .alreadyRunning, .runTimeLimitExceeded:
            nil
        }
    }

    /// The same as `safeDescription`.
    public var errorDescription: String? { self.safeDescription }

    /// What went wrong, without the advice.
    public var failureReason: String? { self.problem }

    /// What to do about it.
    public var recoverySuggestion: String? { self.advice }

    private var problem: String {
        switch self {
        case .missingCredential: "There is no credential."
        case .missingRefreshToken: "The credential has expired and there is no refresh token."
        case .missingAccountID: "The credential names no account."
        case .reauthenticationRequired: "The server no longer accepts the credential."
        case .usageLimitReached(let limit): "The usage limit\(limit.planWords) is reached."
        case .missingToolHandler: "The model called a tool that is not registered."
        case .toolApprovalDenied: "A tool call was denied."
        case .toolExecutionFailed: "A tool failed."
        case .toolLoopLimitExceeded(let limit): "The model called tools more often than the limit of \(limit) allows."
        case .responseTerminalFailure(let response): response.problem
        case .streamingTransportReplayDiverged:
            "After a reconnection the server's answer contradicted the text that had been delivered."
        case .httpError(let status, _): "The server answered with status code \(status)."
        case .invalidResponse: "The server's answer makes no sense."
        case .alreadyRunning: "The conversation has a turn that is not over."
        case .runTimeLimitExceeded(let limit): "The turn took longer than the limit of \(limit.seconds) s allows."
        case .requestRefused: "The program refused to send the request."
        case .transport(let failure): failure.problem
        }
    }

    private var advice: String {
        switch self {
        case .missingCredential: "Sign in, or give an API key."
        case .missingRefreshToken, .missingAccountID, .reauthenticationRequired: "Sign in again."
        case .usageLimitReached: "Wait until the limit is reset, or choose another plan."
        case .missingToolHandler: "Register the tool, or do not offer it to the model."
        case .toolApprovalDenied: "Approve the call, or do not offer the tool to the model."
        case .toolExecutionFailed: "See the tool's own message."
        case .toolLoopLimitExceeded: "Raise the limit, or ask for less at a time."
        case .responseTerminalFailure(let response): response.advice(for: self.category)
        case .streamingTransportReplayDiverged:
            "The delivered text is an unfinished answer; discard it before you ask again."
        case .httpError(let status, _): status == 413 ? "Send a smaller request." : self.category.advice
        case .invalidResponse: "Check the address; if it is right, report this to the server's operator."
        case .alreadyRunning: "Read that turn to its end or cancel it, or use another client."
        case .runTimeLimitExceeded: "Raise the limit, or ask for less at a time."
        case .requestRefused: "See the reason, and change the request or the rule."
        case .transport(let failure): failure.advice
        }
    }
}

extension ChappieTransportFailure: LocalizedError {
    /// What went wrong, where, and what to do, in sentences that are fit to show.
    public var safeDescription: String { "\(self.problem) \(self.advice)" }

    /// The same as `safeDescription`.
    public var errorDescription: String? { self.safeDescription }

    /// What went wrong, without the advice.
    public var failureReason: String? { self.problem }

    /// What to do about it.
    public var recoverySuggestion: String? { self.advice }

    fileprivate var problem: String {
        // Without an attempt there was no place either: the request was not acceptable.
        guard self.attempts > 0 else { return "\(self.event)." }
        let attempts = self.attempts == 1 ? "1 attempt" : "\(self.attempts) attempts"
        return "\(self.event) (\(self.phase.words), \(self.transport.words), \(attempts))."
    }

    private var event: String {
        switch self.code {
        case .invalidRequest: "The request cannot be sent as it is\(self.detailWords)"
        case .unresolvable where self.phase == .proxy: "The proxy's name has no address"
        case .unresolvable: "The server's name has no address"
        case .unreachable where self.phase == .proxy: "The proxy cannot be reached"
        case .unreachable: "The server cannot be reached"
        case .timedOut: "Time ran out"
        case .certificateRejected: "The server's certificate is not trusted\(self.refusalWords)"
        case .keyNotPinned: "The server's key is not one of those that are pinned"
        case .tlsHandshakeFailed: "The TLS handshake failed\(self.refusalWords)"
        case .trustAnchorsUnreadable: "The file of trusted certificates cannot be read"
        case .clientCertificateUnreadable: "The client's certificate or its key cannot be read"
        case .proxyInvalid: "The proxy cannot be used\(self.detailWords)"
        case .proxyRefused: "The proxy refused the connection\(self.statusWords)"
        case .notHTTP where self.phase == .proxy: "The proxy does not speak HTTP"
        case .notHTTP: "What answered does not speak HTTP"
        case .headerSectionTooLarge: "The answer's header section is larger than\(self.limitWords)"
        case .openingHandshakeInvalid: "The WebSocket was refused or answered wrongly\(self.statusWords)"
        case .protocolViolation: "The server broke the rules of WebSockets"
        case .binaryMessage: "The server sent a binary message"
        case .webSocketClosed: "The server closed the WebSocket\(self.closeWords)"
        case .peerUnresponsive: "The server stopped answering"
        case .unexpectedContentType: "The answer is not an event stream\(self.statusWords)"
        case .unsupportedContentCoding: "The answer is compressed in a way that was not asked for"
        case .corruptContentCoding: "The compressed answer is damaged or cut off"
        case .undecodableEvent: "The server sent an event that cannot be read"
        case .eventTooLarge: "The server sent an event larger than\(self.limitWords)"
        case .endedEarly: "The answer ended before it was complete"
        case .connectionLost where self.phase == .proxy: "The proxy closed the connection"
        case .connectionLost: "The connection broke"
        case .requestTooLarge: "The request is larger than a WebSocket message may be\(self.limitInWords)"
        case .unsupportedTransferCoding: "The answer has a transfer coding that was not asked for"
        case .descriptorsExhausted: "The process has no file descriptor left\(self.descriptorWords)"
        case .unavailable: "The system has no resources left for a connection"
        default: "The transport failed"
        }
    }

    fileprivate var advice: String {
        if let advice = TLSRefusal(self.details)?.advice { return advice }
        return self.adviceOfCode
    }

    private var adviceOfCode: String {
        switch self.code {
        case .invalidRequest: "Correct the address, the fields or the body of the request."
        case .unresolvable where self.phase == .proxy, .unreachable where self.phase == .proxy,
            .notHTTP where self.phase == .proxy:
            "Check the proxy's URL and the network."
        case .unresolvable, .unreachable: "Check the address, the network and the firewall."
        case .timedOut: "Check the network, or allow more time."
        case .certificateRejected: "Check the address, or name the certification authority that signed it."
        case .keyNotPinned: "Check the address and the network, and pin the new key if the server has changed it."
        case .trustAnchorsUnreadable: "Check the file's name and format (PEM)."
        case .clientCertificateUnreadable:
            "Check the files' names and format (PEM), and that the key is the certificate's."
        case .proxyInvalid: "Correct the proxy's URL."
        case .proxyRefused where self.isProxyCredentialRefused: "Check the user name and password in the proxy's URL."
        case .proxyRefused: "Ask the proxy's operator to allow the server, or name it in NO_PROXY."
        case .descriptorsExhausted: "Raise the limit (ulimit -n), or open fewer connections at once."
        case .notHTTP, .unexpectedContentType: "Check the address; a proxy or a sign-in page may stand in between."
        case .openingHandshakeInvalid: "Use HTTP, or ask the operator of the server or the proxy to allow WebSockets."
        case .webSocketClosed where self.details.closeCode == 1008: "Check what the credential allows, or use HTTP."
        case .webSocketClosed where self.details.closeCode == 1009: "Use HTTP, or send a smaller request."
        case .headerSectionTooLarge, .eventTooLarge: "Raise the limit if the server is right."
        case .requestTooLarge: "Allow HTTP, or send a smaller request."
        case .unavailable: "Close other connections or programs, and try again."
        default: "Try again in a moment."
        }
    }

    private var refusalWords: String { TLSRefusal(self.details)?.words.map { ": \($0)" } ?? "" }
    private var detailWords: String { self.details.detail.map { ": \($0)" } ?? "" }
    private var limitWords: String { self.details.limit.map { " the limit of \($0) bytes" } ?? " the limit" }
    private var descriptorWords: String { self.details.limit.map { " of \($0) (ulimit -n)" } ?? "" }
    private var limitInWords: String { self.details.limit.map { " (\($0) bytes)" } ?? "" }
    private var statusWords: String { self.details.statusCode.map { " with status code \($0)" } ?? "" }
    private var closeWords: String { self.details.closeCode.map { " with code \($0)" } ?? "" }
}

extension ChappieTransportFailure.Phase {
    fileprivate var words: String {
        switch self {
        case .resolve: "while looking up the server's name"
        case .connect: "while connecting"
        case .proxy: "while asking the proxy for a tunnel"
        case .tls: "while securing the connection"
        case .upgrade: "while waiting for the server's answer"
        case .send: "while sending the request"
        case .firstEvent: "while waiting for the first event"
        case .stream: "while reading the response"
        case .close: "while closing the connection"
        }
    }
}

extension ChappieTransportKind {
    fileprivate var words: String {
        switch self {
        case .webSocket: "WebSocket"
        case .httpSSE: "HTTP"
        }
    }
}

extension ChappieErrorCategory {
    fileprivate var advice: String {
        switch self {
        case .auth: "Check the API key, or sign in again."
        case .network: "Check the network, and try again."
        case .validation: "Check the address and the request."
        case .permission: "Ask for access, or use another account."
        case .rateLimit: "Wait a little, and send fewer requests."
        case .server: "Try again in a moment."
        case .internal: "Report this."
        }
    }
}

extension ChappieResponse {
    fileprivate var problem: String {
        switch self.status {
        case "incomplete": "The response ended before it was complete."
        case "cancelled": "The response was cancelled at the server."
        default: "The response failed at the server."
        }
    }

    fileprivate func advice(for category: ChappieErrorCategory) -> String {
        switch self.status {
        case "incomplete": "Allow more output tokens, or change the request."
        case "cancelled": "Ask again."
        // A quota does not come back by waiting.
        case _ where self.errorCode == "insufficient_quota": "Check the account's plan and its billing."
        default: category == .validation ? "Change the input." : category.advice
        }
    }
}

extension ChappieUsageLimit {
    fileprivate var planWords: String {
        // A plan's name is shown only when it is one that is known: other names are the server's words.
        self.plan.map { Self.knownPlans.contains($0.displayName) ? " of the plan \($0.displayName)" : "" } ?? ""
    }

    private static let knownPlans: Set<String> = [
        "Free", "Go", "Plus", "Pro", "Pro Lite", "Pro Max", "Team", "Business", "Enterprise", "Edu",
        "Self Serve Business Usage Based", "Enterprise CBP Usage Based",
    ]
}
