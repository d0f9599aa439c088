import ServerSentEvents
import StreamSession
import StreamTransport
import TransportSurface

/// The performance of the actions that the state machine returns.
extension TurnDriver {
    /// The remaining work of a step.
    enum Remainder {
        /// The step is done.
        case nothing
        /// The connection is read, or waited for.
        case receive
        /// The remaining action takes time.
        case action
    }

    /// Performs the next action, unless it takes time.
    ///
    /// Its result is the next action, if that is known already. It is not part of an asynchronous function: their
    /// variables are memory that a waiting task keeps, and with actions among them that was 11 KiB a stream.
    @inline(never)
    func performNow() -> Remainder {
        guard let action = self.action.take() else { return .receive }
        switch action {
        case .wait, .refreshCredential:
            self.action = action
            return .action
        case .open(let opening):
            if case .fallBack = opening.reason { self.announce(opening) }
            if self.sender?.mustWait(before: opening) == true {
                self.action = action
                return .action
            }
            self.openNow(opening)
        case .openHedge where self.control.permission.isAsked, .send where self.control.permission.isAsked:
            self.action = action
            return .action
        case .receive, .ignore, .deliver: return .receive
        case .openHedge(let opening):
            if let other = self.sender?.openHedge(self.hedge(opening)) { self.race(other) }
        case .send: if let message = self.webSocketMessage() { self.send(message) }
        case .release: self.release()
        case .park: self.keepOther()
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
            await self.openHedgeIfPermitted(opening)
        case .send: await self.sendIfPermitted()
        case .receive, .ignore, .deliver, .release, .park, .finish, .fail, nil: return
        }
    }

    // MARK: Opening

    /// Opens a connection of the attempt's own, or uses one of an earlier turn.
    private func openNow(_ opening: TurnStateMachine.Opening) {
        if let opened = self.sender?.openNow(opening) {
            self.opened(opened, opening)
        } else {
            self.action = .open(opening)
        }
    }

    /// Does the same after all necessary waits.
    private func open(_ opening: TurnStateMachine.Opening) async {
        guard let sender = self.sender else { return }
        do throws(RequestSender.Failure) {
            let opened = try await sender.open(opening, by: self.deadlines.end) {
                self.reader.machine.delivery.callCarried()
            }
            self.opened(opened, opening)
        } catch {
            self.notSent(error)
        }
    }

    private func opened(_ opened: RequestSender.Opened, _ opening: TurnStateMachine.Opening) {
        self.transport = opening.transport
        switch opened {
        case .connection(let attempt):
            if attempt.transport == .httpSSE { self.reader.machine.requestSent(attempt: attempt.number) }
            self.begin(attempt)
        case .kept(let attempt, let kept):
            self.begin(attempt)
            self.recorder.connected(attempt, at: attempt.startedAt)
            var earlier = kept.exchange?.earlier ?? EarlierResponses()
            earlier.areCallsAnswered = !self.reader.options.answeredCalls.isEmpty
            self.action = self.reader.machine.lent(
                attempt: attempt.number, after: kept.exchange?.responseID, earlier: earlier)
        case .failed(let failure):
            self.action = self.reader.machine.failed(failure, attempt: opening.attempt, jitter: 0)
        }
    }

    /// Ends the turn because its request is not sent.
    private func notSent(_ failure: RequestSender.Failure) {
        switch failure {
        case .stopped:
            self.stop()
        case .unanswered(let error):
            self.endUnanswered(error)
        case .refused(let error):
            self.closeAttempt(outcome: "request.refused")
            self.end(.failed(ChappieClientError.refusal(error)))
        case .toolFailed(let error):
            self.end(.failed(error))
        }
    }

    /// Makes an attempt the one whose answer is read.
    private func begin(_ attempt: Attempt) {
        self.attempts.begin(attempt)
        self.parser.reset(lastEventID: "")
        self.reader.beginAttempt(continuesResponse: attempt.continuesResponse)
        if !attempt.continuesResponse { self.sender?.outgoing.dropFinishedItems() }
        self.recorder.began(attempt, reconnects: self.reader.machine.reconnectCount)
        self.readsAnotherAttempt()
    }

    /// Prepares for the answer of an attempt other than before.
    func readsAnotherAttempt() {
        guard let attempt = self.attempts.current else { return }
        self.transport = attempt.transport
        self.reader.transport = attempt.transport
        self.control.steering.begin(over: attempt.transport)
        self.shareConnections()
    }

    /// Makes the connections of the attempts known to `cancel()`; in a cancelled turn, closes them.
    func shareConnections() {
        let connections = [self.attempts.current?.connection, self.attempts.other?.connection].compactMap { $0 }
        let isCancelled = self.shared.withLock { shared in
            shared.connections = connections
            return shared.isCancelled
        }
        if isCancelled { for connection in connections { connection.cancel() } }
    }

    /// Reports the reason for another attempt.
    private func announce(_ opening: TurnStateMachine.Opening) {
        switch opening.reason {
        case .first, .hedge, .replacement, .credential, .rateLimit:
            return
        case .reconnect(let retry, let limit, let failure):
            self.report(
                ChappieDiagnostic(
                    kind: .reconnecting, transport: opening.transport, attempt: retry,
                    limit: limit, reason: failure.tag, rung: ChappieRecoveryRung(opening.rung)))
        case .fallBack(let failure):
            self.noteFallback(because: failure.tag, rung: ChappieRecoveryRung(opening.rung))
        }
    }

    /// Reports that the stream continues over HTTP.
    func noteFallback(because tag: String, rung: ChappieRecoveryRung?) {
        self.recorder.fellBack(because: tag, attemptCount: self.reader.machine.attemptCount)
        self.report(ChappieDiagnostic(kind: .fellBack, transport: .httpSSE, reason: tag, rung: rung))
    }

    // MARK: Sending

    /// Returns the message that requests the response on the attempt's connection.
    ///
    /// Only the first attempt continues an exchange: after a failure it is not certain what the server still has.
    private func webSocketMessage() -> [UInt8]? {
        guard let attempt = self.attempts.current,
            let message = self.sender?.message(on: attempt, continues: !self.hasFailed)
        else { return nil }
        if message.isContinued { self.reader.machine.continued(attempt: attempt.number) }
        return message.text
    }

    /// Gives the request to the attempt's WebSocket.
    private func send(_ message: [UInt8]) {
        guard let attempt = self.attempts.current else { return }
        self.closeOther(outcome: "lost-race")
        self.reader.machine.requestSent(attempt: attempt.number)
        self.attempts.current?.requestedAt = self.engine.clock.now()
        attempt.connection.send(message, as: .text)
    }

    /// Sends the request on the attempt's WebSocket, if it is permitted.
    private func sendIfPermitted() async {
        guard let sender = self.sender, let attempt = self.attempts.current, let message = self.webSocketMessage()
        else {
            return
        }
        do throws(RequestSender.Failure) {
            try await sender.ask(about: message, attempt: attempt.number, by: self.deadlines.end)
            self.send(message)
        } catch {
            self.notSent(error)
        }
    }

    /// Opens an HTTP connection beside the upgrade, if its request is permitted.
    private func openHedgeIfPermitted(_ opening: TurnStateMachine.Opening) async {
        guard let sender = self.sender else { return }
        do throws(RequestSender.Failure) {
            guard let other = try await sender.openHedge(self.hedge(opening), by: self.deadlines.end) else { return }
            self.race(other)
        } catch {
            self.notSent(error)
        }
    }

    // MARK: Waiting

    private func wait(_ delay: Duration, before opening: TurnStateMachine.Opening) async {
        // Such a wait is useless, and its end would hide the reason for it.
        if let remaining = self.deadlines.remainingTotal(at: self.engine.clock.now()), remaining <= delay {
            return self.action = self.reader.machine.delayOutlastsTurn(attempt: opening.attempt)
        }
        if self.announcedAttempt < opening.attempt {
            self.announcedAttempt = opening.attempt
            self.announce(opening)
            self.recorder.retries(after: delay, opening)
            // The consumer gets the delay's diagnostic before the delay begins.
            if self.reader.queue.count > 0 { return self.action = .wait(delay, then: opening) }
        }
        let sleep = self.engine.clock.sleep
        guard case .success = await self.control.questions.result(of: { try await sleep(delay) }) else {
            return self.stop()
        }
        self.action =
            self.isTotalSpent
            ? self.reader.machine.failed(.timeout(.total), attempt: opening.attempt, jitter: 0)
            : self.reader.machine.timerFired(attempt: opening.attempt)
    }

    private func refreshCredential(before opening: TurnStateMachine.Opening) async {
        guard let sender = self.sender else { return }
        let start = self.engine.clock.now()
        do {
            let isNew = try await self.refreshCredential(sender, .rejected(sender.credential))
            self.recorder.refreshed(in: self.engine.clock.now() - start)
            self.action = self.reader.machine.credentialRefreshed(attempt: opening.attempt, changed: isNew)
        } catch {
            if !self.shared.isGivenUp {
                self.recorder.refreshed(in: self.engine.clock.now() - start, error: self.redaction.error(error))
            }
            self.endUnanswered(error)
        }
    }

    // MARK: The end

    private func finish() {
        let response = self.reader.record.response(requestID: self.reader.evidence.requestID)
            .map(self.redaction.response)
        self.shared.withLock { $0.response = response }
        self.deliver(.completed)
        self.closeOther(outcome: "lost-race")
        guard let attempt = self.attempts.takeCurrent() else { return }
        self.noteStatistics(of: attempt, outcome: "completed")
        self.endSteering()
        self.shareConnections()
        if attempt.transport == .webSocket, !self.control.steering.isOpen {
            self.sender?.keep(
                attempt,
                self.sender?.outgoing.exchange(
                    self.reader.record, responseID: self.reader.responseID,
                    earlier: self.reader.machine.delivery.earlierResponses,
                    hasOutput: self.reader.machine.delivery.hasDelivered,
                    isWarmUp: self.reader.options.isWarmUp))
        } else {
            attempt.connection.cancel()
        }
        self.end(.completed)
    }

    private func fail(_ failure: TurnFailure) {
        if self.reader.machine.condemnsWebSocket { self.engine.condemnWebSocket() }
        let error = self.redaction.error(
            self.reader.evidence.error(
                for: failure, self.circumstances, redaction: self.redaction,
                deliveredText: self.reader.machine.delivery.deliveredText))
        let message = self.reader.evidence.serverMessage(for: failure, error, redaction: self.redaction)
        self.shared.withLock { $0.serverMessage = message }
        let known = error as? ChappieClientError
        self.closeAttempt(outcome: failure.failure?.tag ?? known?.tag ?? "failed", category: known?.category)
        self.end(.failed(error))
    }

    /// Closes the attempt's connection, if there is one, and records its outcome, with the category of its failure.
    func closeAttempt(outcome: String, category: ChappieErrorCategory? = nil) {
        self.closeOther(outcome: "lost-race")
        guard let attempt = self.attempts.takeCurrent() else { return }
        self.noteStatistics(of: attempt, outcome: outcome, category: category)
        self.reader.evidence.isOver(hasEvents: attempt.hasEvents)
        if !attempt.closesByItself { attempt.connection.cancel() }
        self.endSteering()
        self.shareConnections()
    }

    /// Reports the outcome of an attempt and the counts of its connection.
    func noteStatistics(of attempt: Attempt, outcome: String, category: ChappieErrorCategory? = nil) {
        self.recorder.ended(
            attempt, self.attempts.statistics(of: attempt), outcome: outcome, category: category,
            at: self.engine.clock.now())
    }

    /// Ends the steering; a request that was steered is not sent again.
    func endSteering() {
        if self.control.steering.end() { self.reader.machine.steered() }
    }
}
