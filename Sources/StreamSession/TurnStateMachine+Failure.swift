// What follows when an attempt fails: another one, the other transport, or the end.
import StreamTransport

extension TurnStateMachine {
    /// What the turn has spent, and learnt, so far.
    struct UsedRetries: Equatable, Sendable {
        /// Retries on each transport.
        var onWebSocket = 0
        var onHTTP = 0
        /// Those of them that followed a failure that is probably there to stay.
        var probableOnWebSocket = 0
        var probableOnHTTP = 0
        /// Retries of requests that came too soon, over both transports.
        var rateLimit = 0
        /// Those of the WebSocket's that followed a failure of the connection, and not of the server or of the network.
        var doubtsOnWebSocket = 0
        /// The failure that made the credential be replaced, which happens once.
        var refusedCredential: AttemptFailure?
        /// Whether a connection beside an upgrade has failed: one is enough.
        var failedHedge = false
        /// The transports that have carried content.
        var provenTransports: Set<TransportKind> = []

        func next(of failureClass: FailureClass, on transport: TransportKind) -> RetryPolicy.Retry {
            switch transport {
            case .webSocket:
                RetryPolicy.Retry(
                    of: failureClass, on: transport, number: self.onWebSocket + 1,
                    numberOfProbable: self.probableOnWebSocket + 1)
            case .http:
                RetryPolicy.Retry(
                    of: failureClass, on: transport, number: self.onHTTP + 1,
                    numberOfProbable: self.probableOnHTTP + 1)
            }
        }

        mutating func spend(_ retry: RetryPolicy.Retry) {
            let probable = retry.failureClass.isProbablyThereToStay ? 1 : 0
            switch retry.transport {
            case .webSocket:
                self.onWebSocket += 1
                self.probableOnWebSocket += probable
                if retry.failureClass.fallback == .afterRetries { self.doubtsOnWebSocket += 1 }
            case .http:
                self.onHTTP += 1
                self.probableOnHTTP += probable
            }
        }
    }

    /// An attempt ended without a complete response.
    ///
    /// - Parameters:
    ///   - failure: what it ended with.
    ///   - attempt: its number; during a wait, the next one's, and then only the total time-out can be meant.
    ///   - jitter: randomness for the delay, from 0 to 1.
    /// - Returns: what follows: a wait, another attempt, or the end.
    package mutating func failed(_ failure: AttemptFailure, attempt: Int, jitter: Double) -> Action {
        switch self.state {
        case .connecting(attempt, let transport):
            self.noteEvidence(of: failure, on: transport)
            return self.decide(failure, attempt: attempt, transport: transport, jitter: jitter)

        case .racing(let race) where race.isAbout(attempt):
            if failure == .timeout(.total) { return self.fail(.fatal, failure) }
            return self.failed(failure, of: attempt, in: race, jitter: jitter)

        case .exchanging(let exchange) where exchange.attempt == attempt:
            return self.failed(failure, in: exchange, jitter: jitter)

        case .backingOff(let opening) where opening.attempt == attempt && failure == .timeout(.total),
            .refreshing(let opening) where opening.attempt == attempt && failure == .timeout(.total):
            return self.fail(.fatal, failure)

        case .connecting, .racing, .exchanging, .backingOff, .refreshing, .finished:
            // A connection that was given up still reports its end.
            return .ignore

        case .idle:
            preconditionFailure("no attempt was started")
        }
    }

    /// A connection that was lent may have died unnoticed, and a server may have forgotten the response that a request
    /// goes on from: then a fresh connection takes its place, and no retry is spent.
    private mutating func failed(_ failure: AttemptFailure, in exchange: Exchange, jitter: Double) -> Action {
        let hasDied =
            !self.isSteered && exchange.isLent && !exchange.hasEvents && failure.isLossOfConnection
            && self.policy.streaming.recovery != .never
        // What the server has refused it has not begun, so even a policy that repeats nothing has nothing against it.
        let isForgotten =
            !self.isSteered && exchange.isContinued && failure.refusesContinuation && !self.ledger.hasDelivered
        guard hasDied || isForgotten else {
            return self.decide(failure, attempt: exchange.attempt, transport: exchange.transport, jitter: jitter)
        }
        return self.open(Opening(attempt: exchange.attempt, transport: .webSocket, reason: .replacement))
    }

    mutating func decide(
        _ failure: AttemptFailure, attempt: Int, transport: TransportKind, jitter: Double
    ) -> Action {
        let broken = BrokenAttempt(attempt: attempt, transport: transport, failure: failure)
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
        case .usageLimit:
            guard self.policy.rateLimit.outlasts(failure.usageLimit) else { return self.fail(.usageLimit, failure) }
            return self.waitForRateLimit(broken)
        case .fatal:
            return self.failFatally(failure)
        }
    }

    /// An attempt that has just failed.
    private struct BrokenAttempt {
        let attempt: Int
        let transport: TransportKind
        let failure: AttemptFailure
    }

    /// The attempt after a broken one, on the cheapest rung that is sound; nil when the policy allows none.
    private func next(after broken: BrokenAttempt, on transport: TransportKind, _ reason: Opening.Reason) -> Opening? {
        guard let rung = self.nextRung(after: broken) else { return nil }
        return Opening(attempt: self.attemptCount + 1, transport: transport, reason: reason, rung: rung)
    }

    /// A response that the server goes on with is never asked for a second time, whatever was delivered of it.
    private func nextRung(after broken: BrokenAttempt) -> Opening.Rung? {
        let recovery = self.policy.streaming.recovery
        if self.isSteered { return nil }
        if let cursor = self.cursor { return .resume(cursor) }
        guard self.ledger.hasDelivered else {
            guard recovery == .never, self.mayHaveSentRequest, !broken.failure.isRefusal else {
                return self.mayHaveSentRequest ? .again(carrying: self.carriedItemCount) : .first
            }
            return nil
        }
        return recovery == .verify ? .verify(carrying: self.carriedItemCount) : nil
    }

    /// Items that cannot be told apart by their indices cannot be given back in place of what was delivered at these.
    private var carriedItemCount: Int {
        let count = min(self.finishedItemCount, self.order.finishedItemCount)
        guard self.policy.streaming.carriesFinishedItems, self.ledger.canSettle(itemCount: count) else { return 0 }
        return count
    }

    /// The table's class, except that a transport which has carried content in this turn is not doubted because it
    /// cannot be reached: then it is the network that comes and goes.
    private func failureClass(of broken: BrokenAttempt) -> FailureClass {
        let failureClass = broken.failure.failureClass
        guard failureClass.isProbablyThereToStay,
            broken.failure.precedesAnswer || broken.failure == .endedWithoutEvent,
            self.usedRetries.provenTransports.contains(broken.transport)
        else { return failureClass }
        return .transient
    }

    private mutating func retry(_ broken: BrokenAttempt, _ failureClass: FailureClass, jitter: Double) -> Action {
        let retry = self.usedRetries.next(of: failureClass, on: broken.transport)
        guard let delay = self.policy.delay(before: retry, after: broken.failure, fraction: jitter) else {
            return self.leaveTransport(broken, failureClass)
        }
        let limit = self.policy.streaming.retryLimit(on: broken.transport)
        let reason = Opening.Reason.reconnect(retry: retry.number, limit: limit, broken.failure)
        guard let opening = self.next(after: broken, on: broken.transport, reason) else {
            return self.fail(.notRecovered, broken.failure)
        }
        self.usedRetries.spend(retry)
        self.failureBeforeDelay = TurnFailure(.exhausted, broken.failure)
        self.state = .backingOff(opening)
        return .wait(delay, then: opening)
    }

    /// There is no other attempt on this transport.
    private mutating func leaveTransport(_ broken: BrokenAttempt, _ failureClass: FailureClass) -> Action {
        let retriesAreSpent = failureClass != .definite && failureClass != .size
        let kind: TurnFailure.Kind = retriesAreSpent ? .exhausted : .fatal
        guard broken.transport == .webSocket, self.policy.streaming.fallsBackToHTTPSSE else {
            return self.fail(kind, broken.failure)
        }
        switch failureClass.fallback {
        case .atOnce: self.verdict = .condemned
        case .forThisRequest, .withoutVerdict: break
        case .afterRetries:
            // Retries that a server's failures have used up say nothing about the WebSocket.
            if self.usedRetries.doubtsOnWebSocket == self.usedRetries.onWebSocket {
                self.verdict = .condemnedIfHTTPAnswers
            }
        case .never: return self.fail(kind, broken.failure)
        }
        guard let opening = self.next(after: broken, on: .http, .fallBack(broken.failure)) else {
            return self.fail(.notRecovered, broken.failure)
        }
        self.fallbackReason = broken.failure
        return self.open(opening)
    }

    private mutating func refreshCredential(_ broken: BrokenAttempt) -> Action {
        guard self.usedRetries.refusedCredential == nil,
            let opening = self.next(after: broken, on: broken.transport, .credential)
        else { return self.fail(.credential, broken.failure) }
        self.usedRetries.refusedCredential = broken.failure
        self.state = .refreshing(opening)
        return .refreshCredential(then: opening)
    }

    private mutating func waitForRateLimit(_ broken: BrokenAttempt) -> Action {
        let retry = self.usedRetries.rateLimit + 1
        let reason = Opening.Reason.rateLimit(retry: retry, limit: self.policy.rateLimit.maxRetries)
        guard let delay = self.policy.rateLimit.delay(beforeRetry: retry, after: broken.failure),
            let opening = self.next(after: broken, on: broken.transport, reason)
        else {
            return self.fail(broken.failure.usageLimit == nil ? .throttled : .usageLimit, broken.failure)
        }
        self.usedRetries.rateLimit = retry
        self.failureBeforeDelay = TurnFailure(
            broken.failure.usageLimit == nil ? .throttled : .usageLimit, broken.failure)
        self.state = .backingOff(opening)
        return .wait(delay, then: opening)
    }

    private mutating func failFatally(_ failure: AttemptFailure) -> Action {
        switch failure {
        case .transport(let transportFailure) where transportFailure.cause == .cancelled:
            return self.fail(.cancelled, failure)
        case .responseIncomplete where !self.ledger.isCaughtUp:
            // An ending all the same: this response will not repeat what was delivered of another.
            return self.fail(.diverged, nil)
        default:
            return self.fail(.fatal, failure)
        }
    }

    /// Learns what the end of an attempt without `opened` says about the request and the network.
    ///
    /// A held request that was not released is one that was not sent, whatever the server answers.
    mutating func noteEvidence(of failure: AttemptFailure, on transport: TransportKind, wasReleased: Bool = true) {
        // A WebSocket carries no request before it is open.
        guard transport == .http, wasReleased else { return }
        switch failure {
        case .transport(let failure):
            switch failure.phase {
            case .resolve, .connect, .proxy, .tls, .send: break
            // The POST's body went out before its answer was waited for.
            case .upgrade, .firstEvent, .stream, .close: self.mayHaveSentRequest = true
            }
        case .requestTooLarge:
            break
        case .httpStatus, .unexpectedContentType:
            self.mayHaveSentRequest = true
            self.httpAnswered()
        case .closed, .endedEarly, .endedWithoutEvent, .upgradeStatus, .errorEvent, .responseFailed,
            .responseIncomplete, .binaryMessage,
            .undecodableEvent, .contradictoryEvents, .sequenceGap, .otherAPI, .eventTooLarge, .outputTooLarge,
            .toolOutputAwaited, .timeout:
            self.mayHaveSentRequest = true
        }
    }
}
