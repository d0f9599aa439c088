import ResponseEvents
import StreamSession

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// The inner modules' values as public ones.

extension ChappieUsageLimitWindow {
    init(_ window: UsageLimitWindow) {
        self.init(
            usedPercent: window.usedPercent, windowMinutes: window.windowMinutes,
            resetsAt: window.resetsAt.map { Date(timeIntervalSince1970: Double($0)) })
    }
}

extension ChappieUsageLimitSnapshot {
    /// Creates a snapshot; nil when it has no meaningful window.
    init?(_ snapshot: UsageLimitSnapshot) {
        guard snapshot.primary != nil || snapshot.secondary != nil else { return nil }
        self.init(
            primary: snapshot.primary.map { ChappieUsageLimitWindow($0) },
            secondary: snapshot.secondary.map { ChappieUsageLimitWindow($0) },
            planType: snapshot.planType)
    }
}

extension ServerErrorFacts {
    /// The error as a usage limit; nil for an error that a short wait may cure.
    var usageLimit: UsageLimitError? { UsageLimitError(self, where: ErrorMeaning.isUsageLimit) }
}

extension ChappieUsageLimit {
    /// Creates the limit; its windows come from the refusal's own fields, or else from the stream's earlier events.
    init(_ error: UsageLimitError, resetsAt: Int?, headers: UsageLimitHeaders, known: UsageLimitSnapshot?) {
        let active = headers.activeSnapshot
        let plan = error.planType ?? headers.planType ?? known?.planType
        self.init(
            type: error.type,
            message: error.message,
            plan: plan.map { Plan(rawValue: $0, displayName: PlanName.displayName(planType: $0)) },
            resetsAt: resetsAt.map { Date(timeIntervalSince1970: Double($0)) },
            windows: (
                primary: (active.primary ?? known?.primary).map { ChappieUsageLimitWindow($0) },
                secondary: (active.secondary ?? known?.secondary).map { ChappieUsageLimitWindow($0) }
            ))
    }
}

extension ChappieResponse {
    /// The maximum size of a server's error object, in bytes.
    static let errorPayloadByteCountLimit = 64 << 10

    /// Creates a response that failed or is incomplete.
    init(_ summary: ResponseSummary, status: String, requestID: String?, byteCountLimit: Int) {
        self.init(
            id: summary.id, status: summary.status ?? status, errorCode: summary.errorCode,
            errorMessage: summary.errorMessage, incompleteReason: summary.incompleteReason)
        self.errorType = summary.errorType
        self.model = summary.model
        self.usage = summary.usage.map { ChappieTokenUsage($0) }
        self.errorPayload = summary.errorPayload(byteCountLimit: byteCountLimit)
        self.requestID = requestID
    }
}

extension ChappieTokenUsage {
    init(_ usage: TokenUsage) {
        self.init(
            inputTokens: usage.inputTokens, cachedInputTokens: usage.cachedInputTokens,
            outputTokens: usage.outputTokens, reasoningTokens: usage.reasoningTokens, totalTokens: usage.totalTokens)
    }
}

extension ChappieClientError {
    /// Creates the failure for a request body that is not a JSON object.
    init(invalidBody error: ResponseRequestBodyError, transport: ChappieTransportKind, of identity: RequestIdentity) {
        self.init(
            invalidRequest: error == .invalidInput
                ? "the input is neither a text nor an array" : "the body is not a JSON object",
            transport: transport, of: identity)
    }

    /// Creates the failure for a request that cannot be sent, with the problem.
    init(invalidRequest fault: String, transport: ChappieTransportKind, of identity: RequestIdentity) {
        self.init(untried: .invalidRequest, in: .send, transport: transport, of: identity) { $0.detail = fault }
    }

    /// Creates the failure for a turn that is not tried.
    init(circuitOpenFor duration: Duration, transport: ChappieTransportKind, of identity: RequestIdentity) {
        self.init(untried: .circuitOpen, in: .connect, transport: transport, of: identity) { $0.retryAfter = duration }
    }

    private init(
        untried code: ChappieTransportFailure.Code, in phase: ChappieTransportFailure.Phase,
        transport: ChappieTransportKind, of identity: RequestIdentity,
        _ add: (inout ChappieTransportFailure.Details) -> Void
    ) {
        var details = ChappieTransportFailure.Details()
        details.clientRequestID = identity.requestID
        add(&details)
        self = .transport(
            ChappieTransportFailure(
                code: code, phase: phase, transport: transport, progress: (attempts: 0, replaySafety: .notSent),
                details: details))
    }
}

extension ChappieClientError {
    /// Indicates whether the circuit breaker counts the error: only failures of the server and of the network.
    var countsAgainstServer: Bool {
        switch self.category {
        case .server, .network: true
        case .auth, .validation, .permission, .rateLimit, .internal: false
        }
    }
}

extension RetryPolicy {
    /// The policy for one attempt over a WebSocket without retries.
    static let once = Self(
        streaming: StreamingPolicy(
            maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false, maxHTTPRetries: 0),
        backoff: BackoffSchedule(),
        rateLimit: ChappieRateLimitBackoffPolicy(maxRetries: 0))

    /// Creates the policy from the configuration.
    init(_ configuration: ChappieTransportConfiguration) {
        let policy = configuration.policy
        var streaming = StreamingPolicy(
            prefersWebSocket: policy.prefersWebSocket,
            maxWebSocketReconnectionAttempts: policy.maxWebSocketReconnectionAttempts,
            fallsBackToHTTPSSE: policy.fallsBackToHTTPSSE,
            maxHTTPRetries: configuration.maxHTTPRetries)
        streaming.hedgeDelay = policy.hedgeDelay.map { max(.zero, $0) }
        streaming.recovery = policy.recovery
        streaming.carriesFinishedItems = policy.carriesFinishedItems
        self.init(
            streaming: streaming,
            backoff: BackoffSchedule(initialDelay: configuration.reconnectDelay),
            rateLimit: configuration.rateLimitBackoff)
    }
}

extension WebSocketStanding.Fallback {
    init(_ fallback: ChappieStreamingTransportPolicy.Fallback) {
        switch fallback {
        case .sticky: self = .sticky
        case .adaptive(let cooldown): self = .adaptive(cooldown: max(.zero, cooldown))
        }
    }
}

extension ChappieRecoveryRung {
    /// Creates the public recovery step; nil for an attempt before which no request had been sent.
    init?(_ rung: TurnStateMachine.Opening.Rung) {
        switch rung {
        case .first: return nil
        case .again: self = .sentAgain
        case .resume: self = .resumed
        case .verify: self = .verifiedReplay
        }
    }
}
