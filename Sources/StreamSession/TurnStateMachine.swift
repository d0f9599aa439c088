/// Decides what one streaming turn does next: open, send, deliver, wait, fall back, finish or fail.
///
/// It performs no I/O, reads no clock, starts no task and draws no random number. Its owner is the stream's one
/// consumer, whose driver performs the actions and reports what comes of them.
///
/// Each input carries the number of the attempt it is about. One with an older number is stale: the connection of an
/// attempt that was given up may still hold events, and the timer of a wait that was cut short may still fire.
package struct TurnStateMachine: Sendable {
    enum State: Equatable {
        /// Nothing was opened.
        case idle
        /// An attempt was started, and no answer is there.
        case connecting(attempt: Int, transport: TransportKind)
        /// The WebSocket is established, or the response's header section is there.
        case exchanging(attempt: Int, transport: TransportKind, hasContent: Bool)
        /// A delay runs before the next attempt.
        case backingOff(Opening)
        /// The credential is replaced before the next attempt.
        case refreshing(Opening)
        /// Nothing happens any more.
        case finished(Ending)
    }

    enum Ending: Equatable {
        case completed
        case failed
    }

    /// Whether a turn may use a WebSocket.
    package enum WebSocketAvailability: Sendable, Equatable, CaseIterable {
        /// Nothing is known against it.
        case available
        /// An earlier turn of the instance has found that it does not work here.
        case condemned
        /// This turn's request is larger than a message may be.
        case requestTooLarge
    }

    /// What the turn has found out about the WebSocket for the turns after it.
    enum Verdict: Equatable {
        case open
        /// The retries are used up: it is the WebSocket's fault if HTTP fares better.
        case condemnedIfHTTPAnswers
        case condemned
    }

    let policy: RetryPolicy
    let webSocket: WebSocketAvailability
    var state: State = .idle
    /// What the consumer was given: beside the state, because it grows.
    var ledger = ReplayLedger()
    var usedRetries = UsedRetries()
    var verdict: Verdict = .open
    var mayHaveSentRequest = false

    /// How many attempts were started.
    package internal(set) var attemptCount = 0
    /// How many attempts followed a failed one on the same transport.
    package internal(set) var reconnectCount = 0
    /// What made the turn give up the WebSocket.
    package internal(set) var fallbackReason: AttemptFailure?

    /// A turn that has not begun.
    package init(policy: RetryPolicy, webSocket: WebSocketAvailability = .available) {
        self.policy = policy
        self.webSocket = webSocket
    }

    /// True once the instance's later turns should begin with HTTP.
    ///
    /// It becomes true at once for a failure that shows that a WebSocket cannot work here, and after the last retry
    /// only when HTTP was answered: a network that is down condemns nothing.
    package var condemnsWebSocket: Bool { self.verdict == .condemned }

    /// Whether sending the request again is safe.
    package var replaySafety: ReplaySafety {
        if self.state == .finished(.completed) { return .completed }
        if self.ledger.hasDelivered { return .outputDelivered }
        return self.mayHaveSentRequest ? .sentNoOutput : .notSent
    }

    /// The text that was delivered.
    package var deliveredText: String { self.ledger.deliveredText }

    /// How many bytes of replayed output were compared and withheld.
    package var verifiedReplayByteCount: Int { self.ledger.verifiedByteCount }

    /// True when everything that was delivered has come in this attempt.
    package var isReplayVerified: Bool { self.ledger.isCaughtUp }
}

// MARK: - Inputs that move a turn along

extension TurnStateMachine {
    /// The turn begins.
    package mutating func started() -> Action {
        switch self.state {
        case .idle:
            return self.openFirst()
        case .finished:
            // The consumer may cancel before its driver has begun.
            return .ignore
        case .connecting, .exchanging, .backingOff, .refreshing:
            preconditionFailure("a turn begins once")
        }
    }

    /// The WebSocket is established, or the response to the POST has a good header section.
    package mutating func opened(attempt: Int) -> Action {
        switch self.state {
        case .connecting(attempt, let transport):
            self.state = .exchanging(attempt: attempt, transport: transport, hasContent: false)
            self.mayHaveSentRequest = true
            switch transport {
            case .webSocket:
                return .send
            case .http:
                self.httpAnswered()
                return .receive
            }
        case .connecting, .exchanging, .backingOff, .refreshing, .finished:
            // The answer of an attempt that was given up. A second answer to the same one must not send twice.
            return .ignore
        case .idle:
            preconditionFailure("no attempt was started")
        }
    }

    /// The delay before an attempt is over.
    package mutating func timerFired(attempt: Int) -> Action {
        switch self.state {
        case .backingOff(let opening) where opening.attempt == attempt:
            return self.open(opening)
        case .connecting, .exchanging, .backingOff, .refreshing, .finished:
            // The timer of a wait that the total time-out or a cancellation has cut short.
            return .ignore
        case .idle:
            preconditionFailure("no delay was asked for")
        }
    }

    /// The credential's replacement is over; `changed` says whether there is another one.
    package mutating func credentialRefreshed(attempt: Int, changed: Bool) -> Action {
        switch self.state {
        case .refreshing(let opening) where opening.attempt == attempt:
            return changed ? self.open(opening) : self.fail(.credential, self.usedRetries.refusedCredential)
        case .connecting, .exchanging, .backingOff, .refreshing, .finished:
            // The refresh of a turn that has been cancelled in the meantime.
            return .ignore
        case .idle:
            preconditionFailure("no new credential was asked for")
        }
    }

    /// The server says that the response is complete.
    package mutating func completed(attempt: Int) -> Action {
        guard self.isExchanging(attempt) else { return .ignore }
        switch self.ledger.finish() {
        case .whole:
            self.state = .finished(.completed)
            return .finish
        case .diverged:
            return self.fail(.diverged, nil)
        }
    }

    /// The consumer has gone, or does not want more.
    package mutating func cancelled() -> Action {
        switch self.state {
        case .idle, .connecting, .exchanging, .backingOff, .refreshing:
            return self.fail(.cancelled, nil)
        case .finished:
            // The end may be on its way to a consumer that cancels.
            return .ignore
        }
    }
}

// MARK: - Steps shared by inputs

extension TurnStateMachine {
    /// Starts an attempt; the consumer's output so far is expected again.
    mutating func open(_ opening: Opening) -> Action {
        self.state = .connecting(attempt: opening.attempt, transport: opening.transport)
        self.attemptCount = opening.attempt
        self.ledger.beginReplay()
        switch opening.reason {
        case .first, .fallBack: break
        case .reconnect, .rateLimit, .credential: self.reconnectCount += 1
        }
        return .open(opening)
    }

    /// Ends the turn with an error.
    mutating func fail(_ kind: TurnFailure.Kind, _ failure: AttemptFailure?) -> Action {
        self.state = .finished(.failed)
        return .fail(TurnFailure(kind, failure))
    }

    /// An attempt over HTTP had an answer, so it is not the network that is down.
    mutating func httpAnswered() {
        if self.verdict == .condemnedIfHTTPAnswers { self.verdict = .condemned }
    }

    private mutating func openFirst() -> Action {
        guard self.policy.streaming.prefersWebSocket, self.webSocket != .condemned else {
            return self.open(Opening(attempt: 1, transport: .http, reason: .first))
        }
        guard self.webSocket == .requestTooLarge else {
            return self.open(Opening(attempt: 1, transport: .webSocket, reason: .first))
        }
        guard self.policy.streaming.fallsBackToHTTPSSE else { return self.fail(.fatal, .requestTooLarge) }
        self.fallbackReason = .requestTooLarge
        return self.open(Opening(attempt: 1, transport: .http, reason: .fallBack(.requestTooLarge)))
    }
}
