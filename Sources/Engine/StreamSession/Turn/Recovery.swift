import StreamTransport

/// Decides what follows a failed attempt: a retry, the other transport, a wait, another credential, or the end.
///
/// A value of the turn's state machine: it counts the turn's retries, and keeps its findings about the transports. It
/// changes no response, and knows no connection.
struct Recovery: Sendable {
    /// An attempt that has just failed, and its possible successor.
    struct BrokenAttempt {
        let transport: ChappieTransportKind
        let failure: AttemptFailure
        /// The number of the next attempt.
        let nextAttempt: Int
        /// Indicates whether output of the turn was delivered.
        let hasDelivered: Bool
        /// The cheapest recovery step that is sound; nil when none is allowed.
        let step: TurnStateMachine.Opening.RecoveryStep?

        /// Returns the next attempt; nil when none is allowed.
        fileprivate func opening(
            on transport: ChappieTransportKind, _ reason: TurnStateMachine.Opening.Reason
        ) -> TurnStateMachine.Opening? {
            self.step.map {
                TurnStateMachine.Opening(attempt: self.nextAttempt, transport: transport, reason: reason, step: $0)
            }
        }
    }

    /// The consequence of a failed attempt.
    enum Decision {
        /// The next attempt begins.
        case open(TurnStateMachine.Opening)
        /// The next attempt begins after a delay.
        case wait(Duration, then: TurnStateMachine.Opening)
        /// The next attempt begins with another credential.
        case refreshCredential(then: TurnStateMachine.Opening)
        /// The turn ends.
        case fail(AttemptFailure)
    }

    /// The turn's findings about the WebSocket for later turns.
    private enum Verdict {
        case open
        /// The retries are used up: the WebSocket is condemned if HTTP succeeds.
        case condemnedIfHTTPAnswers
        case condemned
    }

    /// The retries that were spent on one transport.
    private struct Spent {
        var count = 0
        /// The retries that followed a failure that probably persists.
        var probable = 0
        /// The retries that followed a failure of the connection rather than of the server or the network; they matter
        /// on the WebSocket.
        var doubts = 0

        /// Records a retry after a failure of this class.
        mutating func spend(_ failureClass: FailureClass) {
            self.count += 1
            if failureClass.isProbablyThereToStay { self.probable += 1 }
            if failureClass.fallback == .afterRetries { self.doubts += 1 }
        }
    }

    let policy: RetryPolicy
    private var verdict = Verdict.open
    private var onWebSocket = Spent()
    private var onHTTP = Spent()
    /// Retries of requests that came too soon, over both transports.
    private var rateLimitCount = 0
    /// The transports that have carried content.
    private var provenTransports: Set<ChappieTransportKind> = []
    /// The failure that caused the credential's replacement, which happens once.
    private(set) var refusedCredential: AttemptFailure?
    /// The failure before the newest delay.
    private(set) var failureBeforeDelay: AttemptFailure?
    /// The reason why the turn left the WebSocket.
    private(set) var fallbackReason: AttemptFailure?
    /// The class of the failure of an upgrade that the turn did not wait for.
    private(set) var failedRace: FailureClass?

    /// Creates the value before any failure.
    init(_ policy: RetryPolicy) { self.policy = policy }

    // MARK: Findings

    /// Indicates whether the instance's later turns should begin with HTTP.
    var condemnsWebSocket: Bool { self.verdict == .condemned }

    /// Records that an attempt over HTTP had an answer, so that the network is not down.
    mutating func httpAnswered() {
        if self.verdict == .condemnedIfHTTPAnswers { self.verdict = .condemned }
    }

    /// Records that a response with content has come over a transport.
    mutating func proved(_ transport: ChappieTransportKind) { self.provenTransports.insert(transport) }

    /// Records that the turn leaves the WebSocket, with the reason.
    mutating func leftWebSocket(because failure: AttemptFailure) {
        self.fallbackReason = self.fallbackReason ?? failure
    }

    /// Records that an upgrade has failed beside a connection over HTTP.
    ///
    /// - Parameters:
    ///   - failure: the upgrade's end.
    ///   - isHTTPAsked: whether the request has been sent over HTTP.
    /// - Returns: false when HTTP would fail the same way and has not been used: then the upgrade's failure is the
    ///   attempt's.
    mutating func upgradeFailed(_ failure: AttemptFailure, isHTTPAsked: Bool) -> Bool {
        let failureClass = failure.failureClass
        switch failureClass {
        case .definite:
            self.verdict = .condemned
        case .probable, .transient, .offline, .size:
            self.failedRace = failureClass
        case .server, .credential, .throttle, .usageLimit, .fatal:
            // The failure concerns the request or the account.
            guard isHTTPAsked else { return false }
        }
        self.leftWebSocket(because: failure)
        return true
    }

    // MARK: Decisions

    /// Returns the cheapest recovery step that is sound after a failure; nil when the policy allows none.
    ///
    /// A response that the server continues is never requested a second time, with or without delivered output.
    func nextStep(
        after failure: AttemptFailure, _ request: RequestProgress, _ delivery: inout Delivery
    ) -> TurnStateMachine.Opening.RecoveryStep? {
        if request == .steered { return nil }
        let recovery = self.policy.streaming.recovery
        // A turn that continues the response of another one has no request that could be sent again.
        if delivery.isResumption, recovery == .never, request >= .sent, !failure.isRefusal { return nil }
        if let cursor = delivery.cursor(after: failure) { return .resume(cursor) }
        if delivery.isResumption { return nil }
        let carriedItemCount = self.policy.streaming.carriesFinishedItems ? delivery.carriedItemCount() : 0
        guard delivery.hasDelivered else {
            guard request >= .sent else { return .first }
            return recovery == .never && !failure.isRefusal ? nil : .again(carrying: carriedItemCount)
        }
        return recovery == .verify ? .verify(carrying: carriedItemCount) : nil
    }

    /// Decides what follows a failed attempt; `jitter` is randomness for a delay, from 0 to 1.
    mutating func decide(_ broken: BrokenAttempt, jitter: Double) -> Decision {
        let failureClass = self.failureClass(of: broken)
        switch failureClass {
        case .definite, .size:
            return self.leaveTransport(broken, failureClass)
        case .probable, .offline, .transient, .server:
            return self.retry(broken, failureClass, jitter: jitter)
        case .credential:
            return self.refreshCredential(broken)
        case .throttle:
            return self.waitForRateLimit(broken)
        case .usageLimit where self.policy.rateLimit.outlasts(broken.failure.usageLimit):
            return self.waitForRateLimit(broken)
        case .usageLimit, .fatal:
            return .fail(broken.failure)
        }
    }

    /// Returns the class of the table, with two exceptions.
    ///
    /// An unreachable transport which has carried content in this turn is not doubted: then the network is
    /// intermittent. A server that is overloaded in the middle of its output would have to make all of that again.
    private func failureClass(of broken: BrokenAttempt) -> FailureClass {
        let failureClass = broken.failure.failureClass
        if broken.hasDelivered, broken.failure.refusal?.errorCode == ErrorMeaning.overloaded { return .fatal }
        guard failureClass.isProbablyThereToStay,
            broken.failure.precedesAnswer || broken.failure == .endedWithoutEvent,
            self.provenTransports.contains(broken.transport)
        else { return failureClass }
        return .transient
    }

    private mutating func retry(_ broken: BrokenAttempt, _ failureClass: FailureClass, jitter: Double) -> Decision {
        let spent = broken.transport == .webSocket ? self.onWebSocket : self.onHTTP
        let retry = RetryPolicy.Retry(
            of: failureClass, on: broken.transport, number: spent.count + 1, numberOfProbable: spent.probable + 1)
        guard let delay = self.policy.delay(before: retry, after: broken.failure, fraction: jitter) else {
            return self.leaveTransport(broken, failureClass)
        }
        let limit = self.policy.retryLimit(on: broken.transport)
        let reason = TurnStateMachine.Opening.Reason.reconnect(retry: retry.number, limit: limit, broken.failure)
        guard let opening = broken.opening(on: broken.transport, reason) else {
            return .fail(broken.failure)
        }
        switch broken.transport {
        case .webSocket: self.onWebSocket.spend(failureClass)
        case .httpSSE: self.onHTTP.spend(failureClass)
        }
        self.failureBeforeDelay = broken.failure
        return .wait(delay, then: opening)
    }

    /// Decides what follows when there is no other attempt on this transport.
    private mutating func leaveTransport(_ broken: BrokenAttempt, _ failureClass: FailureClass) -> Decision {
        guard broken.transport == .webSocket, self.policy.streaming.fallsBackToHTTPSSE else {
            return .fail(broken.failure)
        }
        switch failureClass.fallback {
        case .atOnce: self.verdict = .condemned
        case .forThisRequest, .withoutVerdict: break
        case .afterRetries:
            // Retries that a server's failures have used up are no evidence about the WebSocket.
            if self.onWebSocket.doubts == self.onWebSocket.count { self.verdict = .condemnedIfHTTPAnswers }
        case .never: return .fail(broken.failure)
        }
        guard let opening = broken.opening(on: .httpSSE, .fallBack(broken.failure)) else {
            return .fail(broken.failure)
        }
        self.fallbackReason = broken.failure
        return .open(opening)
    }

    private mutating func refreshCredential(_ broken: BrokenAttempt) -> Decision {
        guard self.refusedCredential == nil, let opening = broken.opening(on: broken.transport, .credential) else {
            return .fail(broken.failure)
        }
        self.refusedCredential = broken.failure
        return .refreshCredential(then: opening)
    }

    private mutating func waitForRateLimit(_ broken: BrokenAttempt) -> Decision {
        let retry = self.rateLimitCount + 1
        let reason = TurnStateMachine.Opening.Reason.rateLimit(
            retry: retry, limit: self.policy.rateLimit.maxRetries, broken.failure)
        guard let delay = self.policy.rateLimit.delay(beforeRetry: retry, after: broken.failure),
            let opening = broken.opening(on: broken.transport, reason)
        else { return .fail(broken.failure) }
        self.rateLimitCount = retry
        self.failureBeforeDelay = broken.failure
        return .wait(delay, then: opening)
    }
}
