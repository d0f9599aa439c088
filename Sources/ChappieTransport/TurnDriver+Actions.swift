import ServerSentEvents
import StreamSession
import StreamTransport

/// What the state machine can ask for, done.
extension TurnDriver {
    /// Performs one action.
    ///
    /// What follows from it is the next action, if that is known already.
    func perform(_ action: TurnStateMachine.Action) async {
        switch action {
        case .open(let opening):
            self.open(opening)
        case .wait(let delay, let opening):
            await self.wait(delay, before: opening)
        case .refreshCredential(let opening):
            await self.refreshCredential(before: opening)
        case .send:
            self.send()
        case .receive, .ignore, .deliver:
            await self.receive()
        case .finish:
            self.finish()
        case .fail(let failure):
            self.fail(failure)
        }
    }

    // MARK: Opening

    private func open(_ opening: TurnStateMachine.Opening) {
        if case .fallBack = opening.reason { self.announce(opening) }
        if opening.reason == .first, opening.transport == .webSocket,
            let kept = self.engine.takeKeptConnection(for: self.credential)
        {
            self.begin(Attempt(of: opening, on: kept, isReused: true, at: self.engine.clock.now()))
            self.attempt?.stage = .streaming
            self.action = self.machine.opened(attempt: opening.attempt)
            return
        }
        self.connect(opening)
    }

    /// Opens a connection of its own for an attempt.
    func connect(_ opening: TurnStateMachine.Opening) {
        let builder = TransportRequestBuilder(configuration: self.engine.configuration, credential: self.credential)
        let kind = ChappieTransportKind(opening.transport)
        self.transport = kind
        guard let request = builder.request(for: kind, body: self.bodies?.http ?? []) else {
            let fault = "the base URL needs a host and one of the schemes http, https, ws, wss"
            self.action = self.machine.failed(
                .transport(TransportFailure(phase: .send, cause: .invalidRequest(fault))), attempt: opening.attempt,
                jitter: 0)
            return
        }
        let connection = self.engine.transport.connect(request)
        var attempt = Attempt(of: opening, on: connection, isReused: false, at: self.engine.clock.now())
        if kind == .httpSSE { attempt.requestedAt = attempt.startedAt }
        self.begin(attempt)
    }

    private func begin(_ attempt: Attempt) {
        self.attempt = attempt
        self.transport = attempt.transport
        self.evidence = FailureEvidence()
        self.parser.reset(lastEventID: "")
        let isCancelled = self.shared.withLock { shared in
            shared.connection = attempt.connection
            var entry = ChappieStreamReport.Attempt(number: attempt.number, transport: attempt.transport)
            entry.reusedConnection = attempt.isReused
            shared.report.attempts.append(entry)
            shared.report.reconnects = self.machine.reconnectCount
            return shared.isCancelled
        }
        if isCancelled { attempt.connection.cancel() }
    }

    /// Says why there is another attempt.
    private func announce(_ opening: TurnStateMachine.Opening) {
        switch opening.reason {
        case .first, .credential, .rateLimit:
            return
        case .reconnect(let retry, let limit, let failure):
            self.report(
                ChappieDiagnostic(
                    kind: .reconnecting, transport: ChappieTransportKind(opening.transport), attempt: retry,
                    limit: limit, reason: failure.tag))
        case .fallBack(let failure):
            self.shared.withLock { $0.report.fallbackReason = failure.tag }
            self.report(ChappieDiagnostic(kind: .fellBack, transport: .httpSSE, reason: failure.tag))
        }
    }

    private func send() {
        guard let bodies = self.bodies, self.attempt != nil else { return }
        self.attempt?.requestedAt = self.engine.clock.now()
        self.attempt?.connection.send(bodies.webSocket, as: .text)
    }

    // MARK: Waiting

    private func wait(_ delay: Duration, before opening: TurnStateMachine.Opening) async {
        if self.announcedAttempt < opening.attempt {
            self.announcedAttempt = opening.attempt
            self.announce(opening)
            // The consumer hears of the delay before it begins.
            if !self.events.isEmpty { return self.action = .wait(delay, then: opening) }
        }
        await self.pause(for: min(delay, self.remainingTotal ?? delay), before: opening)
    }

    private func pause(for delay: Duration, before opening: TurnStateMachine.Opening) async {
        let sleep = self.engine.clock.sleep
        let pause = Task { try await sleep(delay) }
        let isCancelled = self.shared.withLock { shared in
            shared.pause = pause
            return shared.isCancelled
        }
        if isCancelled { pause.cancel() }
        let result = await withTaskCancellationHandler {
            await pause.result
        } onCancel: {
            pause.cancel()
        }
        self.shared.withLock { $0.pause = nil }
        guard case .success = result else { return self.stop() }
        if self.isOverTotalBudget {
            self.action = self.machine.failed(.timeout(.total), attempt: opening.attempt, jitter: 0)
            return
        }
        self.action = self.machine.timerFired(attempt: opening.attempt)
    }

    // MARK: Credentials

    private func refreshCredential(before opening: TurnStateMachine.Opening) async {
        let before = self.credential
        do {
            self.credential = try await self.engine.configuration.credential(.rejected)
        } catch {
            self.outcome = .failed(error)
            return
        }
        self.action = self.machine.credentialRefreshed(
            attempt: opening.attempt, changed: self.credential != before && self.credential != nil)
    }

    // MARK: The end

    private func finish() {
        self.deliver(.completed)
        guard let attempt = self.attempt else { return }
        self.noteStatistics(of: attempt, outcome: "completed")
        self.attempt = nil
        self.shared.withLock { $0.connection = nil }
        if attempt.transport == .webSocket {
            self.engine.keep(Engine.KeptConnection(connection: attempt.connection, credential: self.credential))
        } else {
            attempt.connection.cancel()
        }
        self.outcome = .completed
    }

    private func fail(_ failure: TurnFailure) {
        if self.machine.condemnsWebSocket { self.engine.stayOnHTTP() }
        let error = self.error(for: failure)
        self.closeAttempt(outcome: failure.failure?.tag ?? (error as? ChappieClientError)?.tag ?? "failed")
        self.outcome = .failed(error)
    }

    /// Closes the attempt's connection, if there is one, and notes how it ended.
    func closeAttempt(outcome: String) {
        guard let attempt = self.attempt else { return }
        self.noteStatistics(of: attempt, outcome: outcome)
        if !attempt.closesByItself { attempt.connection.cancel() }
        self.attempt = nil
        self.shared.withLock { $0.connection = nil }
    }
}
