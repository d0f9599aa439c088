/// Decides what one streaming turn does next: open, race, send, deliver, wait, fall back, resume, finish or fail.
///
/// It performs no I/O, reads no clock, starts no task and draws no random number. Its owner is the stream's one
/// consumer, whose driver performs the actions and reports what comes of them.
///
/// It is not copyable: there is one for a turn, and a copy would take the ledger along.
///
/// Each input carries the number of the attempt it is about. One with an older number is stale: the connection of an
/// attempt that was given up may still hold events, and the timer of a wait that was cut short may still fire.
package struct TurnStateMachine: ~Copyable, Sendable {
    enum State: Equatable {
        /// Nothing was opened.
        case idle
        /// An attempt was started, and no answer is there.
        case connecting(attempt: Int, transport: TransportKind)
        /// An upgrade is under way, and a connection for HTTP beside it; one of them carries the request.
        case racing(Race)
        /// The WebSocket is established, or the response's header section is there.
        case exchanging(Exchange)
        /// A delay runs before the next attempt.
        case backingOff(Opening)
        /// The credential is replaced before the next attempt.
        case refreshing(Opening)
        /// Nothing happens any more.
        case finished(Ending)

        /// The attempt whose response is being read.
        var readAttempt: Int? {
            switch self {
            case .exchanging(let exchange): exchange.attempt
            case .idle, .connecting, .racing, .backingOff, .refreshing, .finished: nil
            }
        }
    }

    /// A response that is being read.
    struct Exchange: Equatable {
        let attempt: Int
        let transport: TransportKind
        /// True when the connection had carried an earlier turn.
        var isLent = false
        /// True when the request goes on from a response that the server remembers for the connection alone.
        var isContinued = false
        var hasEvents = false
        var hasContent = false
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
        /// This turn's response is made in background, which only HTTP can ask for.
        case background
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
    /// Whether the program is asked before a request goes out, so that an attempt has not sent it by itself.
    let asksBeforeSending: Bool
    var state: State = .idle {
        didSet { self.readAttempt = self.state.readAttempt }
    }
    /// The attempt whose response is being read: it is asked for with every event.
    package private(set) var readAttempt: Int?
    /// What the consumer was given: beside the state, because it grows.
    var ledger: ReplayLedger
    let outputByteCountLimit: Int
    var usedRetries = UsedRetries()
    var verdict: Verdict = .open
    var mayHaveSentRequest = false
    /// Whether a request over HTTP that waits for its answer was let go, where the program is asked.
    var isOnItsWay = false
    /// Whether something was put into the response that the request does not hold.
    var isSteered = false
    /// The numbers of the response that is read, over all attempts that read the same one.
    var tracker: SequenceTracker
    /// The shape and the identity of the response that is read, over all attempts that read the same one.
    ///
    /// Other modules change it in place and ask the machine about it. To read a member there copies the value, and Swift
    /// 6.3.1 without optimisation destroys that copy wrongly: the process ends.
    package var order = ResponseOrder()
    /// Whether the event at hand has a number.
    var isEventNumbered = false
    /// Whether output was delivered since the last event with a number.
    var hasUnnumberedOutput = false
    /// Whether the server was asked for what is behind a number, and has not sent a number behind it since.
    var awaitsNumber = false
    /// The server's name for that response.
    var responseID: String?
    /// Whether a call of a broken attempt was run, to be given back with its output.
    var hasCarriedCall = false
    /// The failure that the newest delay follows, as the end of the turn.
    var failureBeforeDelay: TurnFailure?
    /// Finished items of the attempt that runs, counted from the first one without a gap.
    var finishedItemCount = 0

    /// How many attempts were started.
    package internal(set) var attemptCount = 0
    /// How many attempts followed a failed one on the same transport.
    package internal(set) var reconnectCount = 0
    /// What made the turn give up the WebSocket.
    package internal(set) var fallbackReason: AttemptFailure?
    /// How an upgrade failed that the turn did not wait for.
    ///
    /// The turn goes on over HTTP; whether the WebSocket works here is for the turns after it to find out.
    package internal(set) var failedRace: FailureClass?

    /// A turn that has not begun.
    ///
    /// - Parameters:
    ///   - policy: what may be tried again, and after how long.
    ///   - webSocket: whether a WebSocket may be used.
    ///   - isResumable: whether the server can be asked for the rest of a broken response.
    ///   - asksBeforeSending: whether the program is asked before a request goes out: then only `requestSent` says that
    ///     the server may have it.
    ///   - outputByteCountLimit: the most output of each kind, in bytes.
    package init(
        policy: RetryPolicy, webSocket: WebSocketAvailability = .available, isResumable: Bool = false,
        asksBeforeSending: Bool = false, outputByteCountLimit: Int = .max
    ) {
        self.ledger = ReplayLedger(byteCountLimit: outputByteCountLimit)
        self.outputByteCountLimit = outputByteCountLimit
        self.policy = policy
        self.webSocket = webSocket
        self.asksBeforeSending = asksBeforeSending
        self.tracker = SequenceTracker(isResumable: isResumable && policy.streaming.recovery != .never)
    }

    /// True once the instance's later turns should begin with HTTP.
    ///
    /// It becomes true at once for a failure that shows that a WebSocket cannot work here, and after the last retry
    /// only when HTTP was answered: a network that is down condemns nothing.
    package var condemnsWebSocket: Bool { self.verdict == .condemned }

    /// Whether sending the request again is safe.
    package var replaySafety: ReplaySafety {
        if self.state == .finished(.completed) { return .completed }
        if self.ledger.hasDelivered || self.hasCarriedCall { return .outputDelivered }
        return self.mayHaveSentRequest ? .sentNoOutput : .notSent
    }

    /// Whether output was delivered; raw events are none.
    package var hasDelivered: Bool { self.ledger.hasDelivered }

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
        case .connecting, .racing, .exchanging, .backingOff, .refreshing:
            preconditionFailure("a turn begins once")
        }
    }

    /// The WebSocket is established, or the response to the request has a good header section.
    package mutating func opened(attempt: Int) -> Action {
        switch self.state {
        case .connecting(attempt, let transport):
            return self.begin(Exchange(attempt: attempt, transport: transport))
        case .racing(let race) where race.isAbout(attempt):
            return self.opened(attempt, in: race)
        case .connecting, .racing, .exchanging, .backingOff, .refreshing, .finished:
            // The answer of an attempt that was given up. A second answer to the same one must not send twice.
            return .ignore
        case .idle:
            preconditionFailure("no attempt was started")
        }
    }

    /// A WebSocket that has carried an earlier turn takes the place of the attempt's own.
    ///
    /// The response before on that connection may still have something to say.
    package mutating func lent(
        attempt: Int, after previousResponseID: String? = nil, earlier: EarlierResponses = EarlierResponses()
    ) -> Action {
        switch self.state {
        case .connecting(attempt, .webSocket):
            self.order = ResponseOrder(previousResponseID: previousResponseID, earlier: earlier)
            return self.begin(Exchange(attempt: attempt, transport: .webSocket, isLent: true))
        case .connecting, .racing, .exchanging, .backingOff, .refreshing, .finished:
            // The turn may be cancelled while the connection is asked whether it is alive.
            return .ignore
        case .idle:
            preconditionFailure("no attempt was started")
        }
    }

    /// The request that goes out now holds only what is new since the response before on the connection.
    ///
    /// A server that has forgotten that response is asked for all of it, on another connection, in the same attempt.
    package mutating func continued(attempt: Int) {
        guard case .exchanging(var exchange) = self.state, exchange.attempt == attempt else { return }
        exchange.isContinued = true
        self.state = .exchanging(exchange)
    }

    /// The request of the attempt that runs goes out now.
    package mutating func requestSent(attempt: Int) {
        switch self.state {
        case .connecting(attempt, _): self.isOnItsWay = true
        case .exchanging(let exchange) where exchange.attempt == attempt: self.mayHaveSentRequest = true
        case .idle, .connecting, .racing, .exchanging, .backingOff, .refreshing, .finished: return
        }
    }

    /// The delay before an attempt is over.
    package mutating func timerFired(attempt: Int) -> Action {
        switch self.state {
        case .backingOff(let opening) where opening.attempt == attempt:
            return self.open(opening)
        case .connecting, .racing, .exchanging, .backingOff, .refreshing, .finished:
            // The timer of a wait that the total time-out or a cancellation has cut short.
            return .ignore
        case .idle:
            preconditionFailure("no delay was asked for")
        }
    }

    /// The delay before an attempt would outlast what is left of the whole turn: it ends with what it would have waited
    /// for.
    package mutating func delayOutlastsTurn(attempt: Int) -> Action {
        switch self.state {
        case .backingOff(let opening) where opening.attempt == attempt:
            guard let failure = self.failureBeforeDelay else { preconditionFailure("a delay follows a failure") }
            return self.fail(failure.kind, failure.failure)
        case .connecting, .racing, .exchanging, .backingOff, .refreshing, .finished:
            // A delay that a cancellation has cut short.
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
        case .connecting, .racing, .exchanging, .backingOff, .refreshing, .finished:
            // The refresh of a turn that has been cancelled in the meantime.
            return .ignore
        case .idle:
            preconditionFailure("no new credential was asked for")
        }
    }

    /// The server says that the response is complete.
    package mutating func completed(attempt: Int) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        switch self.ledger.finish() {
        case .whole:
            self.state = .finished(.completed)
            return .finish
        case .diverged:
            return self.fail(.diverged, nil)
        }
    }

    /// The server says that the response is complete, and it makes no sense.
    package mutating func rejected(attempt: Int) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        return self.fail(.fatal, nil)
    }

    /// The consumer has gone, or does not want more.
    package mutating func cancelled() -> Action {
        switch self.state {
        case .connecting(_, .http):
            // A POST goes out with its attempt.
            if !self.asksBeforeSending || self.isOnItsWay { self.mayHaveSentRequest = true }
            return self.fail(.cancelled, nil)
        case .idle, .connecting, .racing, .exchanging, .backingOff, .refreshing:
            return self.fail(.cancelled, nil)
        case .finished:
            // The end may be on its way to a consumer that cancels.
            return .ignore
        }
    }
}

// MARK: - Steps shared by inputs

extension TurnStateMachine {
    /// Starts an attempt; the consumer's output so far is expected again, unless the response goes on.
    mutating func open(_ opening: Opening) -> Action {
        self.state = .connecting(attempt: opening.attempt, transport: opening.transport)
        self.attemptCount = max(self.attemptCount, opening.attempt)
        self.isOnItsWay = false
        switch opening.rung {
        case .resume(let cursor):
            if cursor.lastSequenceNumber == nil { self.expectSameResponse() } else { self.order.resumed() }
            self.awaitsNumber = cursor.lastSequenceNumber != nil
        case .first, .again, .verify:
            self.expectReplay(settling: opening.rung.carriedItemCount)
        }
        switch opening.reason {
        case .first, .fallBack, .hedge, .replacement: break
        case .reconnect, .rateLimit, .credential: self.reconnectCount += 1
        }
        return .open(opening)
    }

    /// Another response follows: it has to begin with what was delivered of those before.
    private mutating func expectReplay(settling itemCount: Int) {
        let isSettled = self.ledger.beginReplay(settling: itemCount)
        assert(isSettled, "the ledger was asked before whether these items can be settled")
        self.readsAnotherResponse()
    }

    /// Whatever is known of the response that was read says nothing about the one that follows.
    mutating func readsAnotherResponse(after previousResponseID: String? = nil) {
        let earlier = previousResponseID == nil ? EarlierResponses() : self.earlierResponses
        self.order = ResponseOrder(previousResponseID: previousResponseID, earlier: earlier)
        self.tracker = SequenceTracker(isResumable: self.tracker.isResumable)
        self.responseID = nil
        self.hasUnnumberedOutput = false
        self.awaitsNumber = false
        self.finishedItemCount = 0
    }

    /// The same response follows from its beginning, because no number says where it broke.
    private mutating func expectSameResponse() {
        let name = self.responseID
        var order = self.order
        order.restarted()
        self.expectReplay(settling: 0)
        self.responseID = name
        self.order = order
    }

    /// The connection of an attempt is there: on a WebSocket the request follows, on HTTP it has gone out.
    mutating func begin(_ exchange: Exchange) -> Action {
        self.state = .exchanging(exchange)
        switch exchange.transport {
        case .webSocket:
            if !self.asksBeforeSending { self.mayHaveSentRequest = true }
            return .send
        case .http:
            self.mayHaveSentRequest = true
            self.httpAnswered()
            return .receive
        }
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
        guard self.policy.streaming.prefersWebSocket else {
            return self.open(Opening(attempt: 1, transport: .http, reason: .first))
        }
        switch self.webSocket {
        case .available:
            return self.open(Opening(attempt: 1, transport: .webSocket, reason: .first))
        case .condemned, .background:
            return self.open(Opening(attempt: 1, transport: .http, reason: .first))
        case .requestTooLarge:
            guard self.policy.streaming.fallsBackToHTTPSSE else { return self.fail(.fatal, .requestTooLarge) }
            self.fallbackReason = .requestTooLarge
            return self.open(Opening(attempt: 1, transport: .http, reason: .fallBack(.requestTooLarge)))
        }
    }
}
