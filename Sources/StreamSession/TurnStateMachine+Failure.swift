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
        /// The failure that made the credential be replaced, which happens once.
        var refusedCredential: AttemptFailure?
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
            let probable = retry.failureClass == .probable ? 1 : 0
            switch retry.transport {
            case .webSocket:
                self.onWebSocket += 1
                self.probableOnWebSocket += probable
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

        case .exchanging(attempt, let transport, _):
            return self.decide(failure, attempt: attempt, transport: transport, jitter: jitter)

        case .backingOff(let opening) where opening.attempt == attempt && failure == .timeout(.total),
            .refreshing(let opening) where opening.attempt == attempt && failure == .timeout(.total):
            return self.fail(.fatal, failure)

        case .connecting, .exchanging, .backingOff, .refreshing, .finished:
            // A connection that was given up still reports its end.
            return .ignore

        case .idle:
            preconditionFailure("no attempt was started")
        }
    }

    private mutating func decide(
        _ failure: AttemptFailure, attempt: Int, transport: TransportKind, jitter: Double
    ) -> Action {
        let broken = BrokenAttempt(attempt: attempt, transport: transport, failure: failure)
        let failureClass = self.failureClass(of: broken)
        switch failureClass {
        case .definite, .size:
            return self.leaveTransport(broken, failureClass)
        case .probable, .transient, .server:
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

        /// Another one on the same transport.
        func retry(_ reason: Opening.Reason) -> Opening {
            Opening(attempt: self.attempt + 1, transport: self.transport, reason: reason)
        }
    }

    /// The table's class, except that a transport which has carried content in this turn is not doubted because it
    /// cannot be reached: then it is the network that comes and goes.
    private func failureClass(of broken: BrokenAttempt) -> FailureClass {
        let failureClass = broken.failure.failureClass
        guard failureClass == .probable, broken.failure.precedesAnswer,
            self.usedRetries.provenTransports.contains(broken.transport)
        else { return failureClass }
        return .transient
    }

    private mutating func retry(_ broken: BrokenAttempt, _ failureClass: FailureClass, jitter: Double) -> Action {
        let retry = self.usedRetries.next(of: failureClass, on: broken.transport)
        guard let delay = self.policy.delay(before: retry, after: broken.failure, fraction: jitter) else {
            return self.leaveTransport(broken, failureClass)
        }
        self.usedRetries.spend(retry)
        let limit = self.policy.streaming.retryLimit(on: broken.transport)
        let opening = broken.retry(.reconnect(retry: retry.number, limit: limit, broken.failure))
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
        case .forThisRequest: break
        case .afterRetries: self.verdict = .condemnedIfHTTPAnswers
        case .never: return self.fail(kind, broken.failure)
        }
        self.fallbackReason = broken.failure
        return self.open(
            Opening(attempt: broken.attempt + 1, transport: .http, reason: .fallBack(broken.failure)))
    }

    private mutating func refreshCredential(_ broken: BrokenAttempt) -> Action {
        guard self.usedRetries.refusedCredential == nil else { return self.fail(.credential, broken.failure) }
        self.usedRetries.refusedCredential = broken.failure
        let opening = broken.retry(.credential)
        self.state = .refreshing(opening)
        return .refreshCredential(then: opening)
    }

    private mutating func waitForRateLimit(_ broken: BrokenAttempt) -> Action {
        let retry = self.usedRetries.rateLimit + 1
        guard let delay = self.policy.rateLimit.delay(beforeRetry: retry, after: broken.failure) else {
            return self.fail(broken.failure.usageLimit == nil ? .throttled : .usageLimit, broken.failure)
        }
        self.usedRetries.rateLimit = retry
        let opening = broken.retry(.rateLimit(retry: retry, limit: self.policy.rateLimit.maxRetries))
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
    private mutating func noteEvidence(of failure: AttemptFailure, on transport: TransportKind) {
        // A WebSocket carries no request before it is open.
        guard transport == .http else { return }
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
        case .closed, .endedEarly, .upgradeStatus, .errorEvent, .responseFailed, .responseIncomplete, .binaryMessage,
            .undecodableEvent, .eventTooLarge, .timeout:
            self.mayHaveSentRequest = true
        }
    }
}
