import ServerSentEvents
import StreamSession
import StreamTransport

/// Performs the actions that the state machine asks for.
extension TurnDriver {
    /// What is left to do of a step.
    enum Remainder {
        /// The step is done.
        case nothing
        /// The connection is read, or waited for.
        case receive
        /// The action that is still there takes time.
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
        case .openHedge where self.permission.isAsked, .send where self.permission.isAsked:
            self.action = action
            return .action
        case .receive, .ignore, .deliver: return .receive
        case .openHedge(let opening): self.openHedge(opening)
        case .send: if let message = self.webSocketMessage() { self.send(message) }
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
        case .openHedge(let opening):
            guard let request = await self.permittedRequest(for: self.hedge(opening)) else { return }
            self.openHedge(opening, request)
        case .send: await self.sendIfPermitted()
        case .receive, .ignore, .deliver, .release, .park, .finish, .fail, nil: return
        }
    }

    // MARK: Opening

    /// Whether a tool, the program, or a kept connection has to be asked before a connection is opened.
    private func mustWait(before opening: TurnStateMachine.Opening) -> Bool {
        if opening.rung.carriedItemCount > 0 || self.permission.isAsked && opening.transport == .http { return true }
        guard opening.takesKeptConnection,
            let kept = self.engine.keptConnection(of: self.keptLane, for: self.credential)
        else { return false }
        return self.engine.needsLivenessCheck(kept)
    }

    /// Lends a kept connection, or opens one.
    @inline(never)
    private func openNow(_ opening: TurnStateMachine.Opening) {
        guard let kept = self.takeKeptConnection(for: opening) else { return self.connect(opening) }
        guard self.engine.needsLivenessCheck(kept) else { return self.lend(kept, to: opening) }
        // Another turn has put it back since it was decided that it is not asked: the next step asks.
        self.engine.keep(kept)
        self.action = .open(opening)
    }

    /// Does the same after all that has to be waited for.
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
        guard self.permission.isAsked, opening.transport == .http else { return self.connect(opening) }
        let request = await self.permittedRequest(for: opening)
        if self.outcome == nil { self.connect(opening, request) }
    }

    /// The lane whose kept connection the turn uses.
    var keptLane: Lane { self.outgoing?.keptLane ?? Lane(name: self.request.lane) }

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

    /// Whether a kept connection answers, when it has been quiet for so long that it is asked.
    private func isAlive(_ kept: KeptConnection) async -> Bool {
        guard self.engine.needsLivenessCheck(kept) else { return true }
        let isCancelled = self.shared.withLock { shared in
            shared.connections = [kept.connection]
            return shared.isCancelled
        }
        if isCancelled { return false }
        let limit = self.engine.configuration.timeouts.livenessCheck
        let remaining = self.deadlines.remainingTotal(at: self.engine.clock.now())
        let isAlive = await kept.isAlive(within: min(limit, remaining ?? limit), self.engine.clock)
        if isAlive == nil { self.stop() }
        return isAlive == true
    }

    /// Puts finished items into the request, with the outputs of calls; false when that ends the turn.
    private func carryItems(_ rung: TurnStateMachine.Opening.Rung) async -> Bool {
        var count = rung.carriedItemCount
        guard count > 0 else { return true }
        do {
            while let call = self.outgoing?.carryItems(&count) {
                guard let source = self.toolOutput else { continue }
                // From here on the call is settled: every later attempt has it and its output in the request.
                self.reader.machine.callCarried()
                let name = String(decoding: call, as: UTF8.self)
                // A client's turn answers inside `next()`, and ends its waits by itself; a program may do neither.
                let output =
                    self.request.toolOutput == nil
                    ? try await self.answer { try await source(name) } : try await source(name)
                self.outgoing?.carry(output: output)
            }
        } catch {
            // A client's turn has its own reason, its time limit among them.
            if self.request.toolOutput == nil { self.endUnanswered(error) } else { self.end(.failed(error)) }
            return false
        }
        return true
    }

    /// The source of tools' outputs: the request's own goes before the configuration's.
    var toolOutput: ChappieTransportConfiguration.ToolOutputSource? {
        self.request.toolOutput ?? self.engine.configuration.toolOutput
    }

    /// Opens a connection of its own for an attempt, with its request if that was made before.
    @inline(never)
    private func connect(_ opening: TurnStateMachine.Opening, _ known: TransportRequest? = nil) {
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

    /// Makes requests for the transport, as the turn stands now.
    var requestBuilder: TransportRequestBuilder {
        TransportRequestBuilder(
            configuration: self.engine.configuration, credential: self.credential, turnState: self.outgoing?.turnState,
            identity: self.identity)
    }

    /// The transport's request for an attempt; nil when the base URL cannot be used.
    @inline(never)
    func transportRequest(for opening: TurnStateMachine.Opening) -> TransportRequest? {
        if case .resume(let cursor) = opening.rung { return self.requestBuilder.resumption(at: cursor) }
        switch opening.transport {
        case .webSocket: return self.requestBuilder.upgrade(lane: self.outgoing?.laneName)
        case .http: return self.requestBuilder.post(self.outgoing?.http ?? [])
        }
    }

    /// Makes an attempt the one whose answer is read.
    private func begin(_ attempt: Attempt) {
        self.attempts.begin(attempt)
        self.evidence.restart()
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
        self.steering.begin(over: attempt.transport)
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

    // MARK: Sending

    /// The message that asks for the response on the attempt's connection.
    ///
    /// Only the first attempt continues anything: after a failure it is not certain what the server still has.
    private func webSocketMessage() -> [UInt8]? {
        let exchange = self.hasFailed ? nil : self.attempts.current.flatMap { self.exchange(before: $0) }
        let message = self.outgoing?.message(after: exchange)
        if message?.isContinued == true, let attempt = self.attempts.current {
            self.reader.machine.continued(attempt: attempt.number)
        }
        return message?.text
    }

    /// What the connection carried last; on a lane that has carried nothing, what the lane that it comes from did.
    private func exchange(before attempt: Attempt) -> KeptExchange? {
        if let exchange = attempt.kept?.exchange { return exchange }
        guard let source = self.request.forkedFrom,
            let kept = self.engine.keptConnection(of: Lane(name: source), for: self.credential),
            kept.connection.socketIdentity == attempt.connection.socketIdentity
        else { return nil }
        return kept.exchange
    }

    /// Gives the request to the attempt's WebSocket.
    private func send(_ message: [UInt8]) {
        guard let attempt = self.attempts.current else { return }
        self.closeRival(outcome: "lost-race")
        self.reader.machine.requestSent(attempt: attempt.number)
        self.attempts.current?.requestedAt = self.engine.clock.now()
        attempt.connection.send(message, as: .text)
    }

    /// Sends the request on the attempt's WebSocket, if it may go out.
    private func sendIfPermitted() async {
        guard let attempt = self.attempts.current, let message = self.webSocketMessage(),
            let question = self.permission.question(about: message, attempt: attempt.number),
            await self.mayGoOut(question)
        else { return }
        self.send(message)
    }

    /// The request of an attempt over HTTP, if it may go out; nil when that is not so, which ends the turn, and when
    /// there is none.
    private func permittedRequest(for opening: TurnStateMachine.Opening) async -> TransportRequest? {
        guard let request = self.transportRequest(for: opening) else { return nil }
        guard let question = self.permission.question(about: request, attempt: opening.attempt) else { return request }
        return await self.mayGoOut(question) ? request : nil
    }

    /// Asks the program; what it throws ends the turn.
    private func mayGoOut(_ question: @escaping SendingPermission.Question) async -> Bool {
        do {
            try await self.answer(question)
        } catch {
            if error is ProgramQuestions.TotalPassedError || self.isGivenUp {
                self.endUnanswered(error)
            } else {
                self.closeAttempt(outcome: "request.refused")
                self.end(.failed(ChappieClientError.refusal(error)))
            }
            return false
        }
        // A caller that cancels in the meantime wants nothing to be sent.
        if self.isGivenUp { self.stop() }
        return self.outcome == nil
    }

    // MARK: Waiting

    private func wait(_ delay: Duration, before opening: TurnStateMachine.Opening) async {
        // Nothing can come of such a wait, and its end would hide why it was begun.
        if let remaining = self.deadlines.remainingTotal(at: self.engine.clock.now()), remaining <= delay {
            return self.action = self.reader.machine.delayOutlastsTurn(attempt: opening.attempt)
        }
        if self.announcedAttempt < opening.attempt {
            self.announcedAttempt = opening.attempt
            self.announce(opening)
            self.recorder.retries(after: delay, opening)
            // The consumer hears of the delay before it begins.
            if self.reader.queue.count > 0 { return self.action = .wait(delay, then: opening) }
        }
        let sleep = self.engine.clock.sleep
        guard case .success = await self.questions.result(of: { try await sleep(delay) }) else { return self.stop() }
        self.action =
            self.isTotalSpent
            ? self.reader.machine.failed(.timeout(.total), attempt: opening.attempt, jitter: 0)
            : self.reader.machine.timerFired(attempt: opening.attempt)
    }

    /// Asks the program a question, which may take as long as the turn.
    private func answer<Value: Sendable>(
        _ question: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await self.questions.answer(by: self.deadlines.end, question)
    }

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
        if attempt.transport == .webSocket, !self.steering.isOpen {
            self.engine.keep(
                KeptConnection(
                    connection: attempt.connection, credential: self.credential, lane: self.keptLane,
                    startedAt: attempt.kept?.startedAt ?? attempt.startedAt, keptAt: self.engine.clock.now(),
                    exchange: self.outgoing?.exchange(
                        self.reader.record, responseID: self.reader.responseID,
                        earlier: self.reader.machine.earlierResponses, hasOutput: self.reader.machine.hasDelivered,
                        isWarmUp: self.request.isWarmUp)))
        } else {
            attempt.connection.cancel()
        }
        self.end(.completed)
    }

    private func fail(_ failure: TurnFailure) {
        if self.reader.machine.condemnsWebSocket { self.engine.condemnWebSocket() }
        let error = self.redaction.error(
            self.evidence.error(
                for: failure, self.circumstances, redaction: self.redaction,
                deliveredText: self.reader.machine.deliveredText))
        let message = self.evidence.serverMessage(for: failure, error, redaction: self.redaction)
        self.shared.withLock { $0.serverMessage = message }
        self.closeAttempt(outcome: failure.failure?.tag ?? (error as? ChappieClientError)?.tag ?? "failed")
        self.end(.failed(error))
    }

    /// Closes the attempt's connection, if there is one, and notes how it ended.
    func closeAttempt(outcome: String) {
        self.closeRival(outcome: "lost-race")
        guard let attempt = self.attempts.takeCurrent() else { return }
        self.noteStatistics(of: attempt, outcome: outcome)
        self.evidence.isOver(hasEvents: attempt.hasEvents)
        if !attempt.closesByItself { attempt.connection.cancel() }
        self.endSteering()
        self.shareConnections()
    }

    /// Tells how an attempt ended, and what its connection has counted.
    func noteStatistics(of attempt: Attempt, outcome: String) {
        self.recorder.ended(
            attempt, self.attempts.statistics(of: attempt), outcome: outcome, at: self.engine.clock.now())
    }

    /// No response can be steered any more; a request that was is not sent again.
    func endSteering() {
        if self.steering.end() { self.reader.machine.steered() }
    }
}

extension TurnStateMachine.Opening {
    /// Whether a connection that an earlier turn has left will do.
    fileprivate var takesKeptConnection: Bool { self.reason == .first && self.transport == .webSocket }
}
