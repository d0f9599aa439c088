import ServerSentEvents
import StreamSession
import StreamTransport

/// What the state machine can ask for, done.
extension TurnDriver {
    /// What is left to do of a step.
    enum Remainder {
        /// Nothing.
        case nothing
        /// Take what the connection has, or wait for it.
        case receive
        /// Perform the action that is still there, which takes time.
        case action
    }

    /// Performs the next action, unless it takes time.
    ///
    /// What follows from it is the next action, if that is known already. It is no part of an asynchronous function:
    /// their variables are memory that a waiting task keeps, and with actions among them that was 11 KiB a stream.
    @inline(never)
    func performNow() -> Remainder {
        guard let action = self.action.take() else { return .receive }
        switch action {
        case .wait, .refreshCredential:
            self.action = action
            return .action
        case .open(let opening):
            if case .fallBack = opening.reason { self.announce(opening) }
            if self.mustWait(before: opening) {
                self.action = action
                return .action
            }
            self.openNow(opening)
        case .openHedge where self.asksBeforeSending, .send where self.asksBeforeSending:
            self.action = action
            return .action
        case .receive, .ignore, .deliver: return .receive
        case .openHedge(let opening): self.openHedge(opening)
        case .send: self.send()
        case .release: self.release()
        case .park: self.keepRival()
        case .finish: self.finish()
        case .fail(let failure): self.fail(failure)
        }
        return .nothing
    }

    /// Performs an action that takes time.
    @inline(never)
    func performAction() async {
        switch self.action.take() {
        case .open(let opening): await self.open(opening)
        case .wait(let delay, let opening): await self.wait(delay, before: opening)
        case .refreshCredential(let opening): await self.refreshCredential(before: opening)
        case .openHedge(let opening): await self.openHedgeIfPermitted(opening)
        case .send: await self.sendIfPermitted()
        case .receive, .ignore, .deliver, .release, .park, .finish, .fail, nil: return
        }
    }

    // MARK: Opening

    /// Whether somebody has to be asked before a connection is opened: a tool, the program, or a connection that is kept.
    private func mustWait(before opening: TurnStateMachine.Opening) -> Bool {
        if opening.rung.carriedItemCount > 0 || self.asksBeforeSending && opening.transport == .http { return true }
        guard opening.takesKeptConnection,
            let kept = self.engine.keptConnection(of: self.keptLane, for: self.credential)
        else { return false }
        return self.isToBeAsked(kept)
    }

    /// Lends a kept connection, or opens one.
    @inline(never)
    private func openNow(_ opening: TurnStateMachine.Opening) {
        guard let kept = self.takeKeptConnection(for: opening) else { return self.connect(opening) }
        guard self.isToBeAsked(kept) else { return self.lend(kept, to: opening) }
        // Another turn has put it back since it was decided that nobody is asked: the next step asks.
        self.engine.keep(kept)
        self.action = .open(opening)
    }

    /// Does the same after whatever has to be waited for.
    private func open(_ opening: TurnStateMachine.Opening) async {
        guard await self.carryItems(opening.rung) else { return }
        if let kept = self.takeKeptConnection(for: opening) {
            guard await self.isAlive(kept) else {
                kept.connection.cancel()
                if self.outcome == nil { self.connect(opening) }
                return
            }
            return self.lend(kept, to: opening)
        }
        guard self.asksBeforeSending, opening.transport == .http else { return self.connect(opening) }
        let request = await self.permittedRequest(for: opening)
        if self.outcome == nil { self.connect(opening, request) }
    }

    /// The connection that an earlier turn has left, if it can carry the request.
    @inline(never)
    private func takeKeptConnection(for opening: TurnStateMachine.Opening) -> KeptConnection? {
        guard opening.takesKeptConnection,
            let kept = self.engine.takeKeptConnection(of: self.keptLane, for: self.credential)
        else { return nil }
        guard self.outgoing?.isTooLarge(after: kept.exchange) == true else { return kept }
        self.engine.keep(kept)
        return nil
    }

    /// Uses a connection that an earlier turn has left.
    @inline(never)
    private func lend(_ kept: KeptConnection, to opening: TurnStateMachine.Opening) {
        let attempt = Attempt(of: opening, on: kept, at: self.engine.clock.now())
        self.begin(attempt)
        self.recorder.connected(attempt, at: attempt.startedAt)
        var earlier = kept.exchange?.earlier ?? EarlierResponses()
        earlier.areCallsAnswered = !self.request.answeredCalls.isEmpty
        self.action = self.reader.machine.lent(
            attempt: opening.attempt, after: kept.exchange?.responseID, earlier: earlier)
    }

    /// Whether a kept connection has been quiet for so long that it is asked.
    private func isToBeAsked(_ kept: KeptConnection) -> Bool {
        guard let delay = self.engine.configuration.policy.livenessCheckDelay else { return false }
        return self.engine.clock.now() - kept.lastReceived >= delay
    }

    /// Whether a kept connection answers, when it has been quiet for so long that it is asked.
    private func isAlive(_ kept: KeptConnection) async -> Bool {
        guard self.isToBeAsked(kept) else { return true }
        let clock = self.engine.clock
        let configuration = self.engine.configuration
        let isCancelled = self.shared.withLock { shared in
            shared.connections = [kept.connection]
            return shared.isCancelled
        }
        if isCancelled { return false }
        kept.connection.ping()
        let deadline = clock.now() + min(configuration.timeouts.livenessCheck, self.remainingTotal ?? .seconds(86_400))
        while true {
            if let event = kept.connection.next() {
                guard case .pong = event else { return false }
                return true
            }
            let remaining = deadline - clock.now()
            guard remaining > .zero else { return false }
            if await kept.connection.wait(for: remaining) == .cancelled {
                self.stop()
                return false
            }
        }
    }

    /// Opens a connection of its own for an attempt, with its request if that was made before.
    @inline(never)
    func connect(_ opening: TurnStateMachine.Opening, _ known: TransportRequest? = nil) {
        // The turn may be cancelled while a kept connection is asked, or a tool's output is waited for.
        if self.shared.withLock({ $0.isCancelled }) { return self.stop() }
        self.transport = ChappieTransportKind(opening.transport)
        if opening.transport == .webSocket, self.outgoing?.isTooLarge(after: nil) == true {
            self.action = self.reader.machine.failed(.requestTooLarge, attempt: opening.attempt, jitter: 0)
            return
        }
        guard let request = known ?? self.transportRequest(for: opening) else {
            let fault = "the base URL needs a host and one of the schemes http, https, ws, wss"
            self.action = self.reader.machine.failed(
                .transport(TransportFailure(phase: .send, cause: .invalidRequest(fault))), attempt: opening.attempt,
                jitter: 0)
            return
        }
        let connection = self.engine.transport.connect(request)
        var attempt = Attempt(of: opening, on: connection, at: self.engine.clock.now())
        if attempt.transport == .httpSSE {
            self.reader.machine.requestSent(attempt: opening.attempt)
            attempt.requestedAt = attempt.startedAt
        }
        self.begin(attempt)
    }

    /// What goes to the transport for an attempt; nil when the base URL cannot be used.
    @inline(never)
    func transportRequest(for opening: TurnStateMachine.Opening) -> TransportRequest? {
        let builder = TransportRequestBuilder(
            configuration: self.engine.configuration, credential: self.credential, turnState: self.outgoing?.turnState,
            identity: self.identity)
        if case .resume(let cursor) = opening.rung { return builder.resumption(at: cursor) }
        switch opening.transport {
        case .webSocket: return builder.upgrade(lane: self.outgoing?.laneName)
        case .http: return builder.post(self.outgoing?.http ?? [])
        }
    }

    /// Whether the rest of a response of this name can be asked for.
    func canResume(_ responseID: String) -> Bool {
        TransportRequestBuilder(
            configuration: self.engine.configuration, credential: self.credential, turnState: self.outgoing?.turnState,
            identity: self.identity
        ).canResume(responseID)
    }

    /// Makes an attempt the one whose answer is read.
    func begin(_ attempt: Attempt) {
        self.attempts.begin(attempt)
        self.evidence = FailureEvidence()
        self.parser.reset(lastEventID: "")
        self.reader.beginAttempt(continuesResponse: attempt.continuesResponse)
        if !attempt.continuesResponse { self.outgoing?.dropFinishedItems() }
        self.recorder.began(attempt, reconnects: self.reader.machine.reconnectCount)
        self.readsAnotherAttempt()
    }

    /// Another attempt than before is the one whose answer is read.
    func readsAnotherAttempt() {
        guard let attempt = self.attempts.current else { return }
        self.transport = attempt.transport
        self.reader.transport = attempt.transport
        self.shared.withLock { $0.steering.target = attempt.transport == .webSocket ? .unnamed : .http }
        self.shareConnections()
    }

    /// Makes the connections of the attempts known to `cancel()`; a turn that is cancelled already closes them.
    func shareConnections() {
        let connections = [self.attempts.current?.connection, self.attempts.other?.connection].compactMap { $0 }
        let isCancelled = self.shared.withLock { shared in
            shared.connections = connections
            return shared.isCancelled
        }
        if isCancelled { for connection in connections { connection.cancel() } }
    }

    /// Says why there is another attempt.
    private func announce(_ opening: TurnStateMachine.Opening) {
        switch opening.reason {
        case .first, .hedge, .replacement, .credential, .rateLimit:
            return
        case .reconnect(let retry, let limit, let failure):
            self.report(
                ChappieDiagnostic(
                    kind: .reconnecting, transport: ChappieTransportKind(opening.transport), attempt: retry,
                    limit: limit, reason: failure.tag, rung: ChappieRecoveryRung(opening.rung)))
        case .fallBack(let failure):
            self.noteFallback(because: failure.tag, rung: ChappieRecoveryRung(opening.rung))
        }
    }

    /// Tells of a stream that goes on over HTTP.
    func noteFallback(because tag: String, rung: ChappieRecoveryRung?) {
        self.recorder.fellBack(because: tag, attemptCount: self.reader.machine.attemptCount)
        self.report(ChappieDiagnostic(kind: .fellBack, transport: .httpSSE, reason: tag, rung: rung))
    }

    private func send() {
        guard let message = self.webSocketMessage() else { return }
        self.send(message)
    }

    /// Gives the request to the attempt's WebSocket.
    func send(_ message: [UInt8]) {
        guard let attempt = self.attempts.current else { return }
        self.closeRival(outcome: "lost-race")
        self.reader.machine.requestSent(attempt: attempt.number)
        self.attempts.current?.requestedAt = self.engine.clock.now()
        attempt.connection.send(message, as: .text)
    }

    // MARK: Waiting

    private func wait(_ delay: Duration, before opening: TurnStateMachine.Opening) async {
        // Nothing can come of such a wait, and its end would hide why it was begun.
        if let remaining = self.remainingTotal, remaining <= delay {
            return self.action = self.reader.machine.delayOutlastsTurn(attempt: opening.attempt)
        }
        if self.announcedAttempt < opening.attempt {
            self.announcedAttempt = opening.attempt
            self.announce(opening)
            self.recorder.retries(after: delay, opening)
            // The consumer hears of the delay before it begins.
            if self.reader.queue.count > 0 { return self.action = .wait(delay, then: opening) }
        }
        await self.pause(for: delay, before: opening)
    }

    private func pause(for delay: Duration, before opening: TurnStateMachine.Opening) async {
        let sleep = self.engine.clock.sleep
        guard case .success = await self.result(of: ProgramTask { try await sleep(delay) }) else { return self.stop() }
        if self.isTotalSpent {
            self.action = self.reader.machine.failed(.timeout(.total), attempt: opening.attempt, jitter: 0)
            return
        }
        self.action = self.reader.machine.timerFired(attempt: opening.attempt)
    }

    /// Whether nobody wants the turn any more.
    var isGivenUp: Bool { self.shared.withLock { $0.isCancelled } || Task.isCancelled }

    // MARK: Credentials

    /// Asks the program for a credential, which may take as long as a refresh does.
    func askForCredential(
        _ request: ChappieTransportConfiguration.CredentialRequest
    ) async throws -> ChappieCredential? {
        let source = self.engine.configuration.credential
        return try await self.answer { try await source(request) }
    }

    private func refreshCredential(before opening: TurnStateMachine.Opening) async {
        let before = self.credential
        let start = self.engine.clock.now()
        do {
            self.credential = try await self.askForCredential(.rejected(before))
        } catch {
            if !self.isGivenUp {
                self.recorder.refreshed(in: self.engine.clock.now() - start, error: self.redaction.error(error))
            }
            return self.endUnanswered(error)
        }
        self.recorder.refreshed(in: self.engine.clock.now() - start)
        self.action = self.reader.machine.credentialRefreshed(
            attempt: opening.attempt, changed: self.credential != before && self.credential != nil)
    }

    // MARK: The end

    private func finish() {
        self.deliver(.completed)
        self.closeRival(outcome: "lost-race")
        guard let attempt = self.attempts.takeCurrent() else { return }
        self.noteStatistics(of: attempt, outcome: "completed")
        self.endSteering()
        self.shareConnections()
        if attempt.transport == .webSocket, !self.hasOpenSteering {
            self.engine.keep(
                KeptConnection(
                    connection: attempt.connection, credential: self.credential, lane: self.keptLane,
                    startedAt: attempt.kept?.startedAt ?? attempt.startedAt, keptAt: self.engine.clock.now(),
                    exchange: self.keptExchange))
        } else {
            attempt.connection.cancel()
        }
        self.end(.completed)
    }

    private func fail(_ failure: TurnFailure) {
        if self.reader.machine.condemnsWebSocket { self.engine.condemnWebSocket() }
        let error = self.redaction.error(self.error(for: failure))
        let message = self.serverMessage(for: failure, error)
        self.shared.withLock { $0.serverMessage = message }
        self.closeAttempt(outcome: failure.failure?.tag ?? (error as? ChappieClientError)?.tag ?? "failed")
        self.end(.failed(error))
    }

    /// Closes the attempt's connection, if there is one, and notes how it ended.
    func closeAttempt(outcome: String) {
        self.closeRival(outcome: "lost-race")
        guard let attempt = self.attempts.takeCurrent() else { return }
        self.noteStatistics(of: attempt, outcome: outcome)
        self.evidence.hasEvents = attempt.hasEvents
        if !attempt.closesByItself { attempt.connection.cancel() }
        self.endSteering()
        self.shareConnections()
    }
}

extension TurnStateMachine.Opening {
    /// Whether a connection that an earlier turn has left will do.
    fileprivate var takesKeptConnection: Bool { self.reason == .first && self.transport == .webSocket }
}
