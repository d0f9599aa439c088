import StreamTransport

/// Decides what one streaming turn does next: open, race, send, deliver, wait, fall back, resume, finish or fail.
///
/// It performs no I/O, reads no clock, starts no task and draws no random number. Its owner is the stream's one
/// consumer, whose driver performs the actions and reports their results: this file has all inputs, and
/// `TurnStateMachine+Action.swift` all actions. Facts about the content of events go to `delivery` directly.
///
/// It is not copyable: there is one for a turn, and a copy would duplicate the delivered output. Members with several uses
/// of it are mutating: for each one that is not, the compiler's check of a value with that many parts takes seconds, or
/// minutes (Swift 6.3.1).
///
/// Each input carries the number of its attempt. One with an older number is stale: the connection of an attempt that
/// was given up may still hold events, and the timer of a wait that was cut short may still fire.
package struct TurnStateMachine: ~Copyable, Sendable {
    private enum State: Equatable {
        /// No attempt was started.
        case idle
        /// An attempt was started, and has no answer yet.
        case connecting(attempt: Int, transport: ChappieTransportKind)
        /// An upgrade is under way, and an HTTP connection beside it; one of them carries the request.
        case racing(HedgeRace)
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

    private var policy: RetryPolicy { self.recovery.policy }
    private let webSocket: WebSocketAvailability
    /// Indicates whether the program is asked before a request is sent, so that an attempt has not sent it by itself.
    private let asksBeforeSending: Bool
    private let outputByteCountLimit: Int
    private var state = State.idle {
        didSet {
            self.readAttempt = if case .exchanging(let exchange) = self.state { exchange.attempt } else { nil }
        }
    }
    /// The attempt whose response is being read: it is read for every event.
    package private(set) var readAttempt: Int?
    private var request = RequestProgress.notSent
    private var recovery: Recovery
    /// Indicates whether a connection beside an upgrade has failed; a turn opens only one.
    private var hasHedgeFailed = false
    /// The response as received so far: stored beside the state, because it grows.
    package var delivery: Delivery

    /// The number of attempts that were started.
    package private(set) var attemptCount = 0
    /// The number of attempts that followed a failed one on the same transport.
    package private(set) var reconnectCount = 0
    /// The number of answers that have replaced an earlier one.
    package private(set) var restartCount = 0

    /// Creates the machine of a turn that has not begun.
    ///
    /// - Parameters:
    ///   - policy: the limits and delays of retries.
    ///   - webSocket: whether a WebSocket may be used.
    ///   - isResumable: whether the server can be asked for the rest of a broken response.
    ///   - asksBeforeSending: whether the program permits requests: then only `requestSent` means that one was sent.
    ///   - outputByteCountLimit: the maximum output of each kind, in bytes.
    ///   - point: the position at which another turn's response is continued; nil for a request.
    package init(
        policy: RetryPolicy, webSocket: WebSocketAvailability = .available, isResumable: Bool = false,
        asksBeforeSending: Bool = false, outputByteCountLimit: Int = .max, resuming point: ResumeCursor? = nil
    ) {
        self.recovery = Recovery(policy)
        self.webSocket = webSocket
        self.asksBeforeSending = asksBeforeSending
        self.outputByteCountLimit = outputByteCountLimit
        self.delivery = Delivery(
            isResumable: point != nil || isResumable && policy.streaming.recovery != .never,
            outputByteCountLimit: outputByteCountLimit, resuming: point)
    }
}

// MARK: - Questions

extension TurnStateMachine {
    /// The state with its values, for the picture in the documentation.
    package var stateDescription: String { "\(self.state)" }

    /// Indicates whether the instance's later turns should begin with HTTP.
    ///
    /// It becomes true at once for a failure that shows that a WebSocket cannot work here, and after the last retry
    /// only when HTTP was answered: a network that is down condemns no transport.
    package var condemnsWebSocket: Bool { self.recovery.condemnsWebSocket }

    /// The reason why the turn left the WebSocket.
    package var fallbackReason: AttemptFailure? { self.recovery.fallbackReason }

    /// The class of the failure of an upgrade that the turn did not wait for.
    ///
    /// The turn continues over HTTP; later turns find out whether the WebSocket works here.
    package var failedRace: FailureClass? { self.recovery.failedRace }

    /// Indicates whether sending the request again is safe.
    package mutating func replaySafety() -> ChappieReplaySafety {
        // A look at the state would copy it.
        if self.delivery.isComplete { return .completed }
        if self.delivery.hasDelivered || self.delivery.hasCarriedCall { return .outputDelivered }
        return self.request >= .sent ? .sentNoOutput : .notSent
    }

    /// Indicates whether all delivered output has come in this attempt.
    package mutating func isReplayVerified() -> Bool { self.delivery.isCaughtUp }

    /// Returns whether the response of this attempt is being read; false when the input about it is stale.
    package mutating func isReading(_ attempt: Int) -> Bool {
        // The answer to nearly every call: to look into the state copies it.
        if attempt == self.readAttempt { return true }
        self.requireOpened(attempt)
        return false
    }

    /// Stops if the attempt has not opened, as it cannot have output then.
    @inline(never)
    private mutating func requireOpened(_ attempt: Int) {
        switch self.state {
        case .connecting(let current, _):
            precondition(attempt != current, "output of an attempt that has not opened")
        case .racing(let race):
            precondition(!race.isAbout(attempt), "output of an attempt that has not opened")
        case .exchanging, .backingOff, .refreshing, .completed, .failed:
            // A connection that was given up, or whose response diverged, may still hold events.
            return
        case .idle:
            preconditionFailure("no attempt was started")
        }
    }

    /// Returns whether more output of this attempt needs no check: it is not the first, all delivered output has been
    /// repeated, and no number decides whether it is new.
    package mutating func isFlowing(_ attempt: Int) -> Bool {
        guard case .exchanging(let exchange) = self.state, exchange.attempt == attempt else { return false }
        return exchange.hasContent && self.isReplayVerified() && !self.delivery.isResumable
    }

    /// The delay after which an HTTP connection is opened beside the upgrade that is under way; nil for none.
    package mutating func hedgeDelay() -> Duration? {
        guard case .connecting(_, .webSocket) = self.state, self.policy.streaming.fallsBackToHTTPSSE else { return nil }
        return self.hasHedgeFailed ? nil : self.policy.streaming.hedgeDelay
    }
}

// MARK: - Inputs that move a turn along

extension TurnStateMachine {
    /// Begins the turn.
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

    /// Records that the WebSocket is established, or that the response has a good header section.
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
        case .idle, .connecting, .racing, .exchanging, .backingOff, .refreshing, .completed, .failed:
            // The attempt was given up. A second answer to the same one must not send twice either.
            return self.ignoreStale()
        }
    }

    /// Records that a WebSocket of an earlier turn replaces the attempt's own.
    ///
    /// Late events of the previous response on that connection may still arrive.
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

    /// Records that the request sent now holds only the input since the previous response on the connection.
    ///
    /// A server that has forgotten that response is sent all of the input, on another connection, in the same attempt.
    package mutating func continued(attempt: Int) { self.update(attempt) { $0.isContinued = true } }

    /// Records that the request of the current attempt is sent now.
    package mutating func requestSent(attempt: Int) {
        switch self.state {
        case .connecting(attempt, _): self.request.reach(.onItsWay)
        case .exchanging(let exchange) where exchange.attempt == attempt: self.request.reach(.sent)
        case .idle, .connecting, .racing, .exchanging, .backingOff, .refreshing, .completed, .failed: return
        }
    }

    /// Records that the upgrade has taken longer than the hedge's delay.
    package mutating func hedgeDue(attempt: Int) -> Action {
        guard self.hedgeDelay() != nil, case .connecting(attempt, .webSocket) = self.state else {
            // The upgrade may have been answered in the same moment.
            return .ignore
        }
        self.attemptCount += 1
        self.state = .racing(HedgeRace(upgrade: attempt, hedge: self.attemptCount))
        return .openHedge(Opening(attempt: self.attemptCount, transport: .httpSSE, reason: .hedge))
    }

    /// Records that the connection with the held request is established.
    package mutating func ready(attempt: Int) -> Action {
        guard case .racing(var race) = self.state, race.ready(attempt) else {
            // The WebSocket may have opened in the same moment.
            return .ignore
        }
        self.state = .racing(race)
        self.request.reach(.sent)
        return .release
    }

    /// Records that the delay before an attempt is over.
    package mutating func timerFired(attempt: Int) -> Action {
        guard case .backingOff(let opening) = self.state, opening.attempt == attempt else {
            // The total time-out or a cancellation has cut the wait short.
            return self.ignoreStale()
        }
        return self.open(opening)
    }

    /// Ends the turn with the failure before the delay, because the delay would exceed the rest of the turn's time.
    package mutating func delayOutlastsTurn(attempt: Int) -> Action {
        guard case .backingOff(let opening) = self.state, opening.attempt == attempt else {
            // A cancellation has cut the delay short.
            return self.ignoreStale()
        }
        guard let failure = self.recovery.failureBeforeDelay else { preconditionFailure("a delay follows a failure") }
        return self.fail(.failed(failure))
    }

    /// Records that the credential's replacement is over; `changed` says whether there is another one.
    package mutating func credentialRefreshed(attempt: Int, changed: Bool) -> Action {
        guard case .refreshing(let opening) = self.state, opening.attempt == attempt else {
            // The turn has been cancelled in the meantime.
            return self.ignoreStale()
        }
        guard !changed else { return self.open(opening) }
        guard let refusal = self.recovery.refusedCredential else { preconditionFailure("a refusal comes before") }
        return self.fail(.failed(refusal))
    }

    /// Records that the server has completed the response.
    package mutating func completed(attempt: Int) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        guard self.delivery.finish() == .whole else { return self.diverged() }
        self.state = .completed
        return .finish
    }

    /// Ends the turn because the completed response is contradictory.
    package mutating func rejected(attempt: Int) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        return self.fail(.rejected)
    }

    /// Ends the turn because the consumer has gone, or does not want more.
    package mutating func cancelled() -> Action {
        switch self.state {
        case .connecting(_, .httpSSE):
            // A POST is sent with its attempt.
            if !self.asksBeforeSending || self.request >= .onItsWay { self.request.reach(.sent) }
            return self.fail(.cancelled)
        case .idle, .connecting, .racing, .exchanging, .backingOff, .refreshing:
            return self.fail(.cancelled)
        case .completed, .failed:
            // The end may be on its way to a consumer that cancels.
            return .ignore
        }
    }

    /// Records that an attempt ended without a complete response.
    ///
    /// - Parameters:
    ///   - failure: the attempt's failure.
    ///   - attempt: its number; during a wait, the next one's, and then only the total time-out is possible.
    ///   - jitter: randomness for the delay, from 0 to 1.
    /// - Returns: the next action: a wait, another attempt, or the end.
    package mutating func failed(_ failure: AttemptFailure, attempt: Int, jitter: Double) -> Action {
        switch self.state {
        case .connecting(attempt, let transport):
            self.noteEvidence(of: failure, on: transport)
            return self.decide(failure, on: transport, jitter: jitter)

        case .racing(let race) where race.isAbout(attempt):
            if failure == .timeout(.total) { return self.fail(.failed(failure)) }
            return self.failed(failure, of: attempt, in: race, jitter: jitter)

        case .exchanging(let exchange) where exchange.attempt == attempt:
            // The consumer has the whole response; the failure concerns only what would have followed.
            if exchange.isComplete { return self.completed(attempt: attempt) }
            return self.failed(failure, in: exchange, jitter: jitter)

        case .backingOff(let opening) where opening.attempt == attempt && failure == .timeout(.total),
            .refreshing(let opening) where opening.attempt == attempt && failure == .timeout(.total):
            return self.fail(.failed(failure))

        case .idle, .connecting, .racing, .exchanging, .backingOff, .refreshing, .completed, .failed:
            // A connection that was given up still reports its end.
            return self.ignoreStale()
        }
    }

    /// Records that input was added to the running response: a repeated request would lose it, so a failure is the end.
    package mutating func steered() { self.request.reach(.steered) }

    /// Records that a steered response has ended, and that a successor may follow on the same connection.
    ///
    /// Its output is new: the successor continues the response, and repeats nothing of it. While none has begun, a
    /// failure ends the turn as complete if the response is.
    package mutating func steeredResponseEnded(
        attempt: Int, isComplete: Bool, after previousResponseID: String? = nil
    ) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        // This response will not repeat the delivered output of another.
        guard self.delivery.beginSuccessor(after: previousResponseID) else { return self.fail(.diverged) }
        self.update(attempt) { $0.isComplete = isComplete }
        return .ignore
    }

    /// Records that the successor of a steered response has begun.
    package mutating func successorBegan(attempt: Int) { self.update(attempt) { $0.isComplete = false } }
}

// MARK: - Inputs about the response

extension TurnStateMachine {
    /// Records that an event of any kind arrived: the connection is alive.
    package mutating func eventReceived(attempt: Int) {
        guard self.isReading(attempt), case .exchanging(var exchange) = self.state, !exchange.hasEvents else { return }
        exchange.hasEvents = true
        self.state = .exchanging(exchange)
    }

    /// Records that an event with content arrived, whether or not the consumer gets it.
    ///
    /// From then on the transport is known to carry responses.
    package mutating func contentReceived(attempt: Int) {
        guard self.isReading(attempt), case .exchanging(var exchange) = self.state, !exchange.hasContent else { return }
        exchange.hasContent = true
        self.state = .exchanging(exchange)
        self.recovery.proved(exchange.transport)
    }

    /// Decides about a delta of output for the consumer, which must be whole UTF-8.
    package mutating func deltaReceived(_ bytes: Span<UInt8>, in slot: ReplaySlot, attempt: Int) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        if slot.kind != .text, !self.delivery.continues(slot), !bytes.isEmpty {
            switch self.delivery.mirror(bytes, in: slot) {
            case .own: break
            case .repeated: return .ignore
            case .differs(let withheld): return .deliverWithheld(withheld)
            case .rest(let offset, let place): return self.restReceived(bytes, from: offset, in: slot, of: place)
            }
        }
        return self.perform(self.delivery.admit(bytes, in: slot))
    }

    /// Decides about reasoning of which the item has the bytes before an offset; the others are output of a place.
    @inline(never)
    private mutating func restReceived(
        _ bytes: Span<UInt8>, from offset: Int, in slot: ReplaySlot, of place: ReplaySlot
    ) -> Action {
        let action = self.perform(self.delivery.admit(bytes.extracting(offset...), in: place))
        if case .restart = action { return action }
        self.delivery.mirrored(bytes.count, in: slot, from: offset, of: place)
        guard case .deliver(let start) = action else { return action }
        return .deliver(from: offset + start)
    }

    /// Decides about a finished tool call for the consumer; its content is that of `ReplayLedger.admitToolCall`.
    package mutating func toolCallReceived(_ content: [UInt8], at outputIndex: Int, attempt: Int) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        return self.perform(self.delivery.admitToolCall(content, at: outputIndex))
    }

    /// Decides about an event of the wire that is to be passed on unparsed.
    ///
    /// The output index is that of the event's item, where it names one.
    package mutating func rawReceived(type: String, outputIndex: Int? = nil, attempt: Int) -> Action {
        guard self.isReading(attempt) else { return .ignore }
        return self.delivery.admitRaw(type: type, outputIndex: outputIndex) ? .deliver(from: 0) : .ignore
    }

    /// Records that an item begins.
    package mutating func itemBegan(_ outputIndex: Int, attempt: Int) {
        if self.isReading(attempt) { self.delivery.begin(item: outputIndex) }
    }

    /// Records that an item is finished; returns whether it will be given back to the server as input after a failure.
    package mutating func itemFinished(outputIndex: Int, attempt: Int) -> Bool {
        self.isReading(attempt) && self.delivery.finished(item: outputIndex)
    }

    /// Records the response's identifier; the first one counts.
    package mutating func responseNamed(_ responseID: String, attempt: Int) {
        if self.isReading(attempt) { self.delivery.named(responseID) }
    }

    /// Records that the server reported the response's failure: it cannot be resumed any more.
    package mutating func responseEnded(attempt: Int) {
        if self.isReading(attempt) { self.delivery.ended() }
    }

    /// Returns the end of the turn if a different event has come with the number before and the numbers are reliable.
    ///
    /// It is the end of the turn even if the event breaks other rules.
    package mutating func contradiction(of number: Int?, fingerprint: UInt64, attempt: Int) -> Action? {
        guard self.isReading(attempt), self.delivery.isContradicted(by: number, fingerprint: fingerprint) else {
            return nil
        }
        return self.fail(.diverged)
    }

    /// Judges an event of the response, for which `Delivery.isRepeated` must be false.
    ///
    /// - Parameters:
    ///   - number: the event's number, if it has one.
    ///   - fingerprint: a number that two different events hardly share.
    ///   - isOutput: whether it is a piece of the response's output.
    ///   - attempt: the attempt it came in.
    /// - Returns: the treatment of the event.
    package mutating func numbered(
        _ number: Int?, fingerprint: UInt64, isOutput: Bool = false, attempt: Int
    ) -> NumberedEvent {
        guard self.isReading(attempt) else { return .skip }
        switch self.delivery.judge(number, fingerprint: fingerprint, isOutput: isOutput) {
        case .read: return .read
        case .readBehindGap: return .readBehindGap
        case .skip: return .skip
        case .diverges: return .end(nil, self.fail(.diverged))
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

    private mutating func update(_ attempt: Int, _ change: (inout Exchange) -> Void) {
        guard case .exchanging(var exchange) = self.state, exchange.attempt == attempt else { return }
        change(&exchange)
        self.state = .exchanging(exchange)
    }

    private mutating func openFirst() -> Action {
        if let opening = Opening(first: self.delivery.firstCursor) { return self.open(opening) }
        switch self.policy.streaming.prefersWebSocket ? self.webSocket : .condemned {
        case .available:
            return self.open(Opening(attempt: 1, transport: .webSocket, reason: .first))
        case .condemned, .background:
            return self.open(Opening(attempt: 1, transport: .httpSSE, reason: .first))
        case .requestTooLarge:
            guard self.policy.streaming.fallsBackToHTTPSSE else { return self.fail(.failed(.requestTooLarge)) }
            self.recovery.leftWebSocket(because: .requestTooLarge)
            return self.open(Opening(attempt: 1, transport: .httpSSE, reason: .fallBack(.requestTooLarge)))
        }
    }

    /// Starts an attempt; delivered output is expected again, unless the response is resumed.
    private mutating func open(_ opening: Opening) -> Action {
        self.state = .connecting(attempt: opening.attempt, transport: opening.transport)
        self.attemptCount = max(self.attemptCount, opening.attempt)
        if self.request == .onItsWay { self.request = .notSent }
        switch opening.step {
        case .resume(let cursor): self.delivery.resume(at: cursor)
        case .first, .again, .verify: self.delivery.expectReplay(settling: opening.step.carriedItemCount)
        }
        switch opening.reason {
        case .first, .fallBack, .hedge, .replacement: break
        case .reconnect, .rateLimit, .credential: self.reconnectCount += 1
        }
        return .open(opening)
    }

    /// Records that an attempt's connection is established: on a WebSocket the request follows, on HTTP it was sent.
    private mutating func begin(_ exchange: Exchange) -> Action {
        self.state = .exchanging(exchange)
        switch exchange.transport {
        case .webSocket:
            if !self.asksBeforeSending { self.request.reach(.sent) }
            return .send
        case .httpSSE:
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
        case .diverged: return self.diverged()
        case .tooMuch: return self.fail(.failed(.outputTooLarge(limit: self.outputByteCountLimit)))
        }
    }

    /// Handles an answer that is not the delivered one: it replaces that one, or ends the turn.
    @inline(never)
    private mutating func diverged() -> Action {
        guard self.restartCount < self.policy.streaming.restartLimit else { return self.fail(.diverged) }
        let text = self.delivery.deliveredText
        guard self.delivery.restart() else { return self.fail(.diverged) }
        self.restartCount += 1
        return .restart(deliveredText: text)
    }

    /// Ends the turn with an error.
    private mutating func fail(_ failure: TurnFailure) -> Action {
        self.state = .failed
        return .fail(failure)
    }

    // MARK: Failures

    /// Handles the failure of one of two racing connections: the other one continues, if it can.
    private mutating func failed(
        _ failure: AttemptFailure, of attempt: Int, in race: HedgeRace, jitter: Double
    ) -> Action {
        var race = race
        guard attempt == race.upgrade else {
            self.noteEvidence(of: failure, on: .httpSSE, wasReleased: race.holder == attempt)
            guard race.holder == nil, !race.isUpgradeOver else {
                return self.decide(failure, on: .httpSSE, jitter: jitter)
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

    /// Handles a failure of an exchange: a fresh connection, without a retry, replaces a lent one that died unnoticed,
    /// and one whose continued response is forgotten.
    private mutating func failed(_ failure: AttemptFailure, in exchange: Exchange, jitter: Double) -> Action {
        let isSteered = self.request == .steered
        let hasDied =
            !isSteered && exchange.isLent && !exchange.hasEvents && failure.isLossOfConnection
            && self.policy.streaming.recovery != .never
        // The server has not begun a refused request, so even a policy that repeats nothing permits another.
        let isForgotten =
            !isSteered && exchange.isContinued && failure.refusesContinuation && !self.delivery.hasDelivered
        guard hasDied || isForgotten else { return self.decide(failure, on: exchange.transport, jitter: jitter) }
        return self.open(Opening(attempt: exchange.attempt, transport: .webSocket, reason: .replacement))
    }

    private mutating func decide(_ failure: AttemptFailure, on transport: ChappieTransportKind, jitter: Double)
        -> Action
    {
        let broken = Recovery.BrokenAttempt(
            transport: transport, failure: failure, nextAttempt: self.attemptCount + 1,
            hasDelivered: self.delivery.hasDelivered,
            step: self.recovery.nextStep(after: failure, self.request, &self.delivery))
        switch self.recovery.decide(broken, jitter: jitter) {
        case .open(let opening):
            return self.open(opening)
        case .wait(let delay, let opening):
            self.state = .backingOff(opening)
            return .wait(delay, then: opening)
        case .refreshCredential(let opening):
            self.state = .refreshing(opening)
            return .refreshCredential(then: opening)
        case .fail(.responseIncomplete) where !self.delivery.isCaughtUp:
            // The turn ends: this response will not repeat the delivered output of another.
            return self.fail(.diverged)
        case .fail(let failure):
            return self.fail(.failed(failure))
        }
    }

    /// Draws conclusions from the end of an attempt without `opened` about the request and the network.
    ///
    /// A held request that was not released was not sent, with any answer of the server.
    private mutating func noteEvidence(
        of failure: AttemptFailure, on transport: ChappieTransportKind, wasReleased: Bool = true
    ) {
        // A WebSocket carries no request before it is open.
        guard transport == .httpSSE, wasReleased else { return }
        if failure.mayFollowPOST { self.request.reach(.sent) }
        if failure.isAnswerToPOST { self.recovery.httpAnswered() }
    }
}
