import StreamTransport

/// Decides what one streaming turn does next: open, race, send, deliver, wait, fall back, resume, finish or fail.
///
/// It performs no I/O, reads no clock, starts no task and draws no random number. Its owner is the stream's one
/// consumer, whose driver performs the actions and reports what comes of them: this file has all inputs, and
/// `TurnStateMachine+Action.swift` all actions.
///
/// It is not copyable: there is one for a turn, and a copy would take what was delivered along.
///
/// Each input carries the number of the attempt it is about. One with an older number is stale: the connection of an
/// attempt that was given up may still hold events, and the timer of a wait that was cut short may still fire.
package struct TurnStateMachine: ~Copyable, Sendable {
    private enum State: Equatable {
        /// Nothing was opened.
        case idle
        /// An attempt was started, and no answer is there.
        case connecting(attempt: Int, transport: TransportKind)
        /// An upgrade is under way, and a connection for HTTP beside it; one of them carries the request.
        case racing(ConnectionRace)
        /// The WebSocket is established, or the response's header section is there.
        case exchanging(Exchange)
        /// A delay runs before the next attempt.
        case backingOff(Opening)
        /// The credential is replaced before the next attempt.
        case refreshing(Opening)
        /// The response is complete.
        case completed
        /// The turn has failed.
        case failed
    }

    /// A response that is being read.
    private struct Exchange: Equatable {
        let attempt: Int
        let transport: TransportKind
        /// Indicates whether the connection had carried an earlier turn.
        var isLent = false
        /// Indicates whether the request goes on from a response that the server remembers for the connection alone.
        var isContinued = false
        var hasEvents = false
        var hasContent = false
    }

    private var policy: RetryPolicy { self.recovery.policy }
    private let webSocket: WebSocketAvailability
    /// Indicates whether the program is asked before a request goes out, so that an attempt has not sent it by itself.
    private let asksBeforeSending: Bool
    private let outputByteCountLimit: Int
    private var state = State.idle {
        didSet {
            if case .exchanging(let exchange) = self.state {
                self.readAttempt = exchange.attempt
            } else {
                self.readAttempt = nil
            }
        }
    }
    /// The attempt whose response is being read: it is asked for with every event.
    package private(set) var readAttempt: Int?
    private var request = RequestProgress.notSent
    private var recovery: Recovery
    /// Indicates whether a connection beside an upgrade has failed: one is enough.
    private var hasHedgeFailed = false
    /// The response as far as it has come: beside the state, because it grows.
    package var delivery: Delivery

    /// How many attempts were started.
    package private(set) var attemptCount = 0
    /// How many attempts followed a failed one on the same transport.
    package private(set) var reconnectCount = 0

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
        self.recovery = Recovery(policy)
        self.webSocket = webSocket
        self.asksBeforeSending = asksBeforeSending
        self.outputByteCountLimit = outputByteCountLimit
        self.delivery = Delivery(
            isResumable: isResumable && policy.streaming.recovery != .never,
            outputByteCountLimit: outputByteCountLimit)
    }
}

// MARK: - Questions

extension TurnStateMachine {
    /// The name of the state, for the picture in the documentation.
    package var stateName: String { String("\(self.state)".prefix { $0 != "(" }) }

    /// Indicates whether the instance's later turns should begin with HTTP.
    ///
    /// It becomes true at once for a failure that shows that a WebSocket cannot work here, and after the last retry
    /// only when HTTP was answered: a network that is down condemns nothing.
    package var condemnsWebSocket: Bool { self.recovery.condemnsWebSocket }

    /// What made the turn give up the WebSocket.
    package var fallbackReason: AttemptFailure? { self.recovery.fallbackReason }

    /// How an upgrade failed that the turn did not wait for.
    ///
    /// The turn goes on over HTTP; whether the WebSocket works here is for the turns after it to find out.
    package var failedRace: FailureClass? { self.recovery.failedRace }

    /// Indicates whether sending the request again is safe.
    package var replaySafety: ReplaySafety {
        if self.state == .completed { return .completed }
        if self.delivery.hasDelivered || self.delivery.hasCarriedCall { return .outputDelivered }
        return self.request >= .sent ? .sentNoOutput : .notSent
    }

    /// `replaySafety`, for callers that ask with every batch: mutating like `isReadingInPlace`.
    package mutating func replaySafetyInPlace() -> ReplaySafety { self.replaySafety }

    /// Indicates whether everything that was delivered has come in this attempt.
    package var isReplayVerified: Bool { self.delivery.isCaughtUp }

    /// `isReplayVerified`, for callers that ask with every event: mutating like `isReadingInPlace`.
    package mutating func isReplayVerifiedInPlace() -> Bool { self.isReplayVerified }

    /// Returns whether the response of this attempt is being read; false when the input about it is stale.
    package func isReading(_ attempt: Int) -> Bool {
        switch self.state {
        case .exchanging(let exchange) where exchange.attempt == attempt:
            return true
        case .connecting(let current, _):
            precondition(attempt != current, "output of an attempt that has not opened")
            return false
        case .racing(let race):
            precondition(!race.isAbout(attempt), "output of an attempt that has not opened")
            return false
        case .exchanging, .backingOff, .refreshing, .completed, .failed:
            // A connection that was given up, or whose response diverged, may still hold events.
            return false
        case .idle:
            preconditionFailure("no attempt was started")
        }
    }

    /// The same, for what is asked with every event and answered by `readAttempt`: the answer for any other attempt.
    ///
    /// It is mutating so that it looks at the machine where it lies: one that is only looked at is moved first.
    @inline(never)
    package mutating func isReadingInPlace(_ attempt: Int) -> Bool { self.isReading(attempt) }

    /// Returns whether more output of this attempt is nothing but output: it is not the first, everything that was
    /// delivered before has come again, and no number decides whether it is new.
    ///
    /// Mutating like `isReadingInPlace`.
    package mutating func isFlowing(_ attempt: Int) -> Bool {
        guard case .exchanging(let exchange) = self.state, exchange.attempt == attempt else { return false }
        return exchange.hasContent && self.isReplayVerified && !self.delivery.isResumable
    }

    /// The delay after which a connection for HTTP is opened beside the upgrade that is under way; nil for none.
    package var hedgeDelay: Duration? {
        guard case .connecting(_, .webSocket) = self.state, self.policy.streaming.fallsBackToHTTPSSE else { return nil }
        return self.hasHedgeFailed ? nil : self.policy.streaming.hedgeDelay
    }
}

// MARK: - Inputs that move a turn along

extension TurnStateMachine {
    /// The turn begins.
    package mutating func started() -> Action {
        switch self.state {
        case .idle:
            return self.openFirst()
        case .completed, .failed:
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
        case .racing(var race) where race.isAbout(attempt):
            let outcome = race.opened(attempt)
            if case .begins(let transport) = outcome {
                return self.begin(Exchange(attempt: attempt, transport: transport))
            }
            self.state = .racing(race)
            if case .park = outcome { return .park }
            return .ignore
        default:
            // The answer of an attempt that was given up. A second answer to the same one must not send twice.
            return self.ignoreStale()
        }
    }

    /// A WebSocket that has carried an earlier turn takes the place of the attempt's own.
    ///
    /// The response before on that connection may still have something to say.
    package mutating func lent(
        attempt: Int, after previousResponseID: String? = nil, earlier: EarlierResponses = EarlierResponses()
    ) -> Action {
        guard case .connecting(attempt, .webSocket) = self.state else {
            // The turn may be cancelled while the connection is asked whether it is alive.
            return self.ignoreStale()
        }
        self.delivery.begin(after: previousResponseID, earlier: earlier)
        return self.begin(Exchange(attempt: attempt, transport: .webSocket, isLent: true))
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
        case .connecting(attempt, _): self.request.reach(.onItsWay)
        case .exchanging(let exchange) where exchange.attempt == attempt: self.request.reach(.sent)
        case .idle, .connecting, .racing, .exchanging, .backingOff, .refreshing, .completed, .failed: return
        }
    }

    /// The upgrade has taken longer than the hedge's delay.
    package mutating func hedgeDue(attempt: Int) -> Action {
        guard self.hedgeDelay != nil, case .connecting(attempt, .webSocket) = self.state else {
            // The upgrade may have been answered in the same moment.
            return .ignore
        }
        self.attemptCount += 1
        self.state = .racing(ConnectionRace(upgrade: attempt, hedge: self.attemptCount))
        return .openHedge(Opening(attempt: self.attemptCount, transport: .http, reason: .hedge))
    }

    /// The connection that holds the request is established.
    package mutating func ready(attempt: Int) -> Action {
        guard case .racing(var race) = self.state, race.ready(attempt) else {
            // The WebSocket may have opened in the same moment.
            return .ignore
        }
        self.state = .racing(race)
        self.request.reach(.sent)
        return .release
    }

    /// The delay before an attempt is over.
    package mutating func timerFired(attempt: Int) -> Action {
        guard case .backingOff(let opening) = self.state, opening.attempt == attempt else {
            // The timer of a wait that the total time-out or a cancellation has cut short.
            return self.ignoreStale()
        }
        return self.open(opening)
    }

    /// The delay before an attempt would outlast what is left of the whole turn: it ends with what it would have waited
    /// for.
    package mutating func delayOutlastsTurn(attempt: Int) -> Action {
        guard case .backingOff(let opening) = self.state, opening.attempt == attempt,
            let failure = self.recovery.failureBeforeDelay
        else {
            // A delay that a cancellation has cut short.
            return self.ignoreStale()
        }
        return self.fail(failure.kind, failure.failure)
    }

    /// The credential's replacement is over; `changed` says whether there is another one.
    package mutating func credentialRefreshed(attempt: Int, changed: Bool) -> Action {
        guard case .refreshing(let opening) = self.state, opening.attempt == attempt else {
            // The refresh of a turn that has been cancelled in the meantime.
            return self.ignoreStale()
        }
        return changed ? self.open(opening) : self.fail(.credential, self.recovery.refusedCredential)
    }

    /// The server says that the response is complete.
    package mutating func completed(attempt: Int) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        guard self.delivery.finish() == .whole else { return self.fail(.diverged, nil) }
        self.state = .completed
        return .finish
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
            if !self.asksBeforeSending || self.request >= .onItsWay { self.request.reach(.sent) }
            return self.fail(.cancelled, nil)
        case .idle, .connecting, .racing, .exchanging, .backingOff, .refreshing:
            return self.fail(.cancelled, nil)
        case .completed, .failed:
            // The end may be on its way to a consumer that cancels.
            return .ignore
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
            return self.decide(failure, on: transport, jitter: jitter)

        case .racing(let race) where race.isAbout(attempt):
            if failure == .timeout(.total) { return self.fail(.fatal, failure) }
            return self.failed(failure, of: attempt, in: race, jitter: jitter)

        case .exchanging(let exchange) where exchange.attempt == attempt:
            return self.failed(failure, in: exchange, jitter: jitter)

        case .backingOff(let opening) where opening.attempt == attempt && failure == .timeout(.total),
            .refreshing(let opening) where opening.attempt == attempt && failure == .timeout(.total):
            return self.fail(.fatal, failure)

        default:
            // A connection that was given up still reports its end.
            return self.ignoreStale()
        }
    }

    /// Something was put into the running response: to send the request again would lose it, so a failure is the end.
    package mutating func steered() { self.request.reach(.steered) }

    /// The response has ended because it was steered, and its successor follows on the same connection.
    ///
    /// What comes is new: the successor goes on from the response, and repeats nothing of it.
    package mutating func successorFollows(attempt: Int, after previousResponseID: String? = nil) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        // This response will not repeat what was delivered of another.
        guard self.delivery.beginSuccessor(after: previousResponseID) else { return self.fail(.diverged, nil) }
        return .ignore
    }
}

// MARK: - Inputs about the response

extension TurnStateMachine {
    /// An event arrived, whatever it says: the connection is alive.
    package mutating func eventReceived(attempt: Int) {
        guard self.isReading(attempt), case .exchanging(var exchange) = self.state, !exchange.hasEvents else { return }
        exchange.hasEvents = true
        self.state = .exchanging(exchange)
    }

    /// An event with content arrived, whether or not the consumer sees it.
    ///
    /// From then on the transport is known to carry responses.
    package mutating func contentReceived(attempt: Int) {
        guard self.isReading(attempt), case .exchanging(var exchange) = self.state, !exchange.hasContent else { return }
        exchange.hasContent = true
        self.state = .exchanging(exchange)
        self.recovery.proved(exchange.transport)
    }

    /// A delta of output that the consumer is to see: whole UTF-8.
    package mutating func deltaReceived(_ bytes: Span<UInt8>, in slot: ReplaySlot, attempt: Int) -> Action {
        guard attempt == self.readAttempt || self.isReadingInPlace(attempt) else { return .ignore }
        return self.perform(self.delivery.admit(bytes, in: slot))
    }

    /// A finished tool call that is to be handed over.
    package mutating func toolCallReceived(_ call: ReplayedToolCall, attempt: Int) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        return self.perform(self.delivery.admit(call))
    }

    /// An event of the wire that is to be passed on unparsed.
    ///
    /// The output index is that of the item it belongs to, where it says so.
    package mutating func rawReceived(type: String, outputIndex: Int? = nil, attempt: Int) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        return self.delivery.admitRaw(type: type, outputIndex: outputIndex) ? .deliver(from: 0) : .ignore
    }

    /// An item begins.
    package mutating func itemBegan(_ outputIndex: Int, attempt: Int) {
        if self.isReading(attempt) { self.delivery.begin(item: outputIndex) }
    }

    /// An item of the response is finished, and can be given back to the server as input; whether it will be.
    package mutating func itemFinished(outputIndex: Int, attempt: Int) -> Bool {
        self.isReading(attempt) && self.delivery.finished(item: outputIndex)
    }

    /// The server has named the response; the first name counts.
    package mutating func responseNamed(_ responseID: String, attempt: Int) {
        if self.isReading(attempt) { self.delivery.named(responseID) }
    }

    /// The server says that the response has failed: nothing of it can be asked for any more.
    package mutating func responseEnded(attempt: Int) {
        if self.isReading(attempt) { self.delivery.ended() }
    }

    /// Returns whether another event has come with the number before, of a response whose numbers are believed.
    ///
    /// It is the end of the turn, whatever else the event may break.
    package mutating func contradiction(of number: Int?, fingerprint: UInt64, attempt: Int) -> Action? {
        guard self.isReading(attempt), self.delivery.isContradicted(by: number, fingerprint: fingerprint) else {
            return nil
        }
        return self.fail(.diverged, nil)
    }

    /// An event of the response has arrived, which `Delivery.isRepeated` is not true of.
    ///
    /// - Parameters:
    ///   - number: the event's number, if it has one.
    ///   - fingerprint: a number that two different events hardly share.
    ///   - isOutput: whether it is a piece of the response's output.
    ///   - attempt: the attempt it came in.
    /// - Returns: what to do with it.
    package mutating func numbered(
        _ number: Int?, fingerprint: UInt64, isOutput: Bool = false, attempt: Int
    ) -> NumberedEvent {
        guard self.isReading(attempt) else { return .skip }
        switch self.delivery.judge(number, fingerprint: fingerprint, isOutput: isOutput) {
        case .read: return .read
        case .readBehindGap: return .readBehindGap
        case .skip: return .skip
        case .diverges: return .end(nil, self.fail(.diverged, nil))
        case .fails(let failure): return .end(failure, self.failed(failure, attempt: attempt, jitter: 0.5))
        }
    }
}

// MARK: - Steps shared by inputs

extension TurnStateMachine {
    /// Ignores an input about an attempt that was given up.
    private func ignoreStale() -> Action {
        precondition(self.state != .idle, "no attempt was started")
        return .ignore
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
            self.recovery.leftWebSocket(because: .requestTooLarge)
            return self.open(Opening(attempt: 1, transport: .http, reason: .fallBack(.requestTooLarge)))
        }
    }

    /// Starts an attempt; the consumer's output so far is expected again, unless the response goes on.
    private mutating func open(_ opening: Opening) -> Action {
        self.state = .connecting(attempt: opening.attempt, transport: opening.transport)
        self.attemptCount = max(self.attemptCount, opening.attempt)
        if self.request == .onItsWay { self.request = .notSent }
        switch opening.rung {
        case .resume(let cursor): self.delivery.resume(at: cursor)
        case .first, .again, .verify: self.delivery.expectReplay(settling: opening.rung.carriedItemCount)
        }
        switch opening.reason {
        case .first, .fallBack, .hedge, .replacement: break
        case .reconnect, .rateLimit, .credential: self.reconnectCount += 1
        }
        return .open(opening)
    }

    /// The connection of an attempt is there: on a WebSocket the request follows, on HTTP it has gone out.
    private mutating func begin(_ exchange: Exchange) -> Action {
        self.state = .exchanging(exchange)
        switch exchange.transport {
        case .webSocket:
            if !self.asksBeforeSending { self.request.reach(.sent) }
            return .send
        case .http:
            self.request.reach(.sent)
            self.recovery.httpAnswered()
            return .receive
        }
    }

    @inline(__always)
    private mutating func perform(_ admission: ReplayLedger.Admission) -> Action {
        switch admission {
        case .deliver(let offset): return .deliver(from: offset)
        case .swallow: return .ignore
        case .diverged: return self.fail(.diverged, nil)
        case .tooMuch: return self.fail(.fatal, .outputTooLarge(limit: self.outputByteCountLimit))
        }
    }

    /// Ends the turn with an error.
    private mutating func fail(_ kind: TurnFailure.Kind, _ failure: AttemptFailure?) -> Action {
        self.state = .failed
        return .fail(TurnFailure(kind, failure))
    }

    // MARK: Failures

    /// One of two racing connections has failed: the other one goes on, if it can.
    private mutating func failed(
        _ failure: AttemptFailure, of attempt: Int, in race: ConnectionRace, jitter: Double
    ) -> Action {
        var race = race
        guard attempt == race.upgrade else {
            self.noteEvidence(of: failure, on: .http, wasReleased: race.holder == attempt)
            guard race.holder == nil, !race.isUpgradeOver else {
                return self.decide(failure, on: .http, jitter: jitter)
            }
            self.state = .connecting(attempt: race.upgrade, transport: .webSocket)
            self.hasHedgeFailed = true
            return .ignore
        }
        guard !race.isUpgradeOver else { return .ignore }
        guard self.recovery.upgradeFailed(failure, isHTTPAsked: race.holder != nil) else {
            return self.decide(failure, on: .webSocket, jitter: jitter)
        }
        race.upgradeFailed()
        self.state = .racing(race)
        return .ignore
    }

    /// A connection that was lent may have died unnoticed, and a server may have forgotten the response that a request
    /// goes on from: then a fresh connection takes its place, and no retry is spent.
    private mutating func failed(_ failure: AttemptFailure, in exchange: Exchange, jitter: Double) -> Action {
        let isSteered = self.request == .steered
        let hasDied =
            !isSteered && exchange.isLent && !exchange.hasEvents && failure.isLossOfConnection
            && self.policy.streaming.recovery != .never
        // What the server has refused it has not begun, so even a policy that repeats nothing has nothing against it.
        let isForgotten =
            !isSteered && exchange.isContinued && failure.refusesContinuation && !self.delivery.hasDelivered
        guard hasDied || isForgotten else { return self.decide(failure, on: exchange.transport, jitter: jitter) }
        return self.open(Opening(attempt: exchange.attempt, transport: .webSocket, reason: .replacement))
    }

    private mutating func decide(_ failure: AttemptFailure, on transport: TransportKind, jitter: Double) -> Action {
        let broken = Recovery.BrokenAttempt(
            transport: transport, failure: failure, nextAttempt: self.attemptCount + 1,
            rung: self.recovery.nextRung(after: failure, self.request, self.delivery))
        switch self.recovery.decide(broken, jitter: jitter) {
        case .open(let opening):
            return self.open(opening)
        case .wait(let delay, let opening):
            self.state = .backingOff(opening)
            return .wait(delay, then: opening)
        case .refreshCredential(let opening):
            self.state = .refreshing(opening)
            return .refreshCredential(then: opening)
        case .fail(.fatal, .responseIncomplete) where !self.delivery.isCaughtUp:
            // An ending all the same: this response will not repeat what was delivered of another.
            return self.fail(.diverged, nil)
        case .fail(let kind, let failure):
            return self.fail(kind, failure)
        }
    }

    /// Learns what the end of an attempt without `opened` says about the request and the network.
    ///
    /// A held request that was not released is one that was not sent, whatever the server answers.
    private mutating func noteEvidence(
        of failure: AttemptFailure, on transport: TransportKind, wasReleased: Bool = true
    ) {
        // A WebSocket carries no request before it is open.
        guard transport == .http, wasReleased else { return }
        if failure.mayFollowPOST { self.request.reach(.sent) }
        if failure.isAnswerToPOST { self.recovery.httpAnswered() }
    }
}
