import ServerSentEvents
import StreamSession
import StreamTransport
import TransportSurface

/// The performance of the actions that the state machine returns.
extension TurnDriver {
    /// Performs the next action, unless it takes time; returns false for such a one, and when there is none.
    ///
    /// It is not part of an asynchronous function: their variables are memory that a waiting task keeps, and with
    /// actions among them that was 11 KiB a stream.
    @inline(never)
    func performNow() -> Bool {
        guard let action = self.action.take() else { return false }
        if case .open(let opening) = action, case .fallBack(let failure) = opening.reason {
            self.reader.noteFallback(because: failure.tag, opening.step, self.recorder)
        }
        if self.sender?.takesTime(action) == true {
            self.action = action
            return false
        }
        switch action {
        case .open(let opening):
            guard let opened = self.sender?.openNow(opening) else {
                self.action = action
                break
            }
            self.opened(opened, opening)
        case .openHedge(let opening): self.race(self.sender?.openHedge(self.attempts.hedge(opening)))
        case .send:
            guard let attempt = self.attempts.current, let sender = self.sender else { break }
            self.send(sender.message(on: attempt, &self.reader.machine), on: attempt)
        case .release: self.release()
        case .park:
            // The upgrade has succeeded too late for this turn.
            if let other = self.takeOther(outcome: "kept") { self.sender?.keep(other) }
        case .finish: self.finish()
        case .fail(let failure): self.fail(failure)
        case .receive, .ignore, .deliver, .deliverWithheld, .restart, .wait, .refreshCredential: return false
        }
        return true
    }

    /// Performs an action that takes time.
    @inline(never)
    func performAction() async {
        guard let action = self.action.take(), let sender = self.sender else { return }
        let end = self.deadlines.end
        do throws(RequestSender.Failure) {
            switch action {
            case .open(let opening):
                let opened = try await sender.open(opening, by: end) { self.reader.machine.delivery.callCarried() }
                self.opened(opened, opening)
            case .openHedge(let opening):
                self.race(try await sender.openHedge(self.attempts.hedge(opening), by: end))
            case .send:
                guard let attempt = self.attempts.current else { return }
                let message = sender.message(on: attempt, &self.reader.machine)
                try await sender.ask(about: message, attempt: attempt.number, by: end)
                self.send(message, on: attempt)
            case .wait(let delay, let opening):
                try await self.wait(delay, before: opening)
            case .refreshCredential(let opening):
                let isNew = try await sender.replaceCredential(by: end, self.recorder, self.redaction)
                self.reader.redaction.add(sender.credential)
                self.action = self.reader.machine.credentialRefreshed(attempt: opening.attempt, changed: isNew)
            case .receive, .ignore, .deliver, .deliverWithheld, .restart, .release, .park, .finish, .fail:
                return
            }
        } catch {
            self.notSent(error)
        }
    }

    /// Ends the turn because its request is not sent.
    func notSent(_ failure: RequestSender.Failure) {
        switch failure {
        case .stopped: self.stop()
        case .unanswered where self.shared.isGivenUp: self.stop()
        case .unanswered(let error) where error is ProgramQuestions.TotalPassedError: self.endLate()
        case .unanswered(let error):
            self.closeAttempt(outcome: "cancelled")
            self.end(error)
        case .refused(let error):
            self.closeAttempt(outcome: "request.refused")
            self.end(ChappieClientError.refusal(error))
        case .untried(let error), .toolFailed(let error): self.end(error)
        }
    }

    /// Ends the turn because its time was over before the program had answered.
    private func endLate() {
        let failure = AttemptFailure.timeout(.total)
        let error = self.reader.error(for: failure, of: self.attempts, at: self.now)
        // The program was slow, rather than the server.
        self.control.abandonTicket()
        self.closeAttempt(outcome: failure.tag)
        self.end(error)
    }

    // MARK: Opening

    private func opened(_ opened: RequestSender.Opened, _ opening: TurnStateMachine.Opening) {
        self.reader.transport = opening.transport
        switch opened {
        case .connection(let attempt): self.begin(attempt)
        case .failed(let failure):
            self.action = self.reader.machine.failed(failure, attempt: opening.attempt, jitter: 0)
        }
    }

    /// Makes an attempt the one whose answer is read.
    private func begin(_ attempt: Attempt) {
        self.attempts.begin(attempt)
        self.parser.reset(lastEventID: "")
        self.beginAnswer()
        self.reader.begin(attempt)
        if !attempt.continuesResponse { self.sender?.outgoing.dropFinishedItems() }
        self.recorder.began(attempt, reconnects: self.reader.machine.reconnectCount)
        if attempt.transport == .httpSSE {
            self.reader.machine.requestSent(attempt: attempt.number)
            self.attempts.current?.isRequestSent = true
        }
        guard let kept = attempt.kept else { return }
        self.recorder.connected(attempt, at: attempt.startedAt)
        self.action = self.reader.lent(attempt, kept.exchange)
    }

    /// Starts a second connection attempt, over HTTP, beside the upgrade; its request is held back.
    private func race(_ other: Attempt?) {
        guard let other else { return }
        self.attempts.race(other)
        self.recorder.began(other, isHedge: true)
    }

    // MARK: Sending

    /// Gives the request to the attempt's WebSocket.
    private func send(_ message: [UInt8], on attempt: Attempt) {
        self.closeOther(outcome: "lost-race")
        self.reader.machine.requestSent(attempt: attempt.number)
        self.attempts.current?.requestedAt = self.now
        self.attempts.current?.isRequestSent = true
        attempt.connection.send(message, as: .text)
    }

    /// Sends the held request; the upgrade becomes the other attempt.
    private func release() {
        if let hedge = self.attempts.readHedge() {
            self.reader.continues(with: hedge)
            let tag = self.attempts.otherRefusal?.tag ?? "upgrade.slow"
            self.reader.noteFallback(because: tag, hedge.step, self.recorder)
        }
        self.attempts.current?.requestedAt = self.now
        self.attempts.current?.isRequestSent = true
        self.attempts.current?.connection.release()
        // The body of a refusal is not awaited any longer.
        if let refusal = self.attempts.otherRefusal { self.otherFailed(refusal) }
    }

    // MARK: Waiting

    private func wait(_ delay: Duration, before opening: TurnStateMachine.Opening) async throws(RequestSender.Failure) {
        // Such a wait is useless, and its end would hide the reason for it.
        if self.deadlines.isOver(at: self.now + delay) {
            return self.action = self.reader.machine.delayOutlastsTurn(attempt: opening.attempt)
        }
        let isNew = self.recorder.retries(
            after: delay, opening,
            category: opening.reason.failure.map { self.reader.category(of: $0, of: self.attempts, at: self.now) })
        if isNew {
            if case .rateLimit = opening.reason { self.engine.queue?.pause(for: delay) }
            if let diagnostic = ChappieDiagnostic(retry: opening, after: delay) { self.reader.report(diagnostic) }
            // The consumer gets the delay's diagnostic before the delay begins.
            if self.reader.queue.count > 0 { return self.action = .wait(delay, then: opening) }
        }
        guard await self.control.questions.sleep(for: delay) else { throw .stopped }
        self.action =
            self.deadlines.isOver(at: self.now)
            ? self.reader.machine.failed(.timeout(.total), attempt: opening.attempt, jitter: 0)
            : self.reader.machine.timerFired(attempt: opening.attempt)
    }

    // MARK: The end

    private func finish() {
        self.reader.leaveSteering()
        let response = self.reader.response()
        self.shared.withLock { $0.response = response }
        self.reader.deliver(.completed)
        self.closeOther(outcome: "lost-race")
        guard let attempt = self.attempts.takeCurrent() else { return }
        self.recorder.ended(attempt, in: self.attempts, outcome: "completed", at: self.now)
        self.reader.endSteering()
        if attempt.transport == .webSocket, !self.control.steering.isOpen {
            self.sender?.keep(attempt, behind: self.reader)
        } else if !attempt.closesByItself {
            attempt.connection.cancel()
        }
        self.end(nil)
    }

    private func fail(_ failure: TurnFailure) {
        if self.reader.machine.condemnsWebSocket { self.engine.condemnWebSocket() }
        if let cause = failure.cause, cause.failureClass == .throttle, let delay = cause.retryAfter {
            self.engine.queue?.pause(for: min(delay, self.engine.configuration.rateLimitBackoff.maximumDelay))
        }
        let error = self.reader.error(for: failure, of: self.attempts, at: self.now)
        let message = self.reader.evidence.serverMessage(for: failure, error, redaction: self.redaction)
        self.shared.withLock { $0.serverMessage = message }
        let known = error as? ChappieClientError
        self.closeAttempt(outcome: failure.cause?.tag ?? known?.tag ?? "failed", category: known?.category)
        self.end(error)
    }

    /// Closes the attempt's connection, if there is one, and records its outcome, with the category of its failure.
    func closeAttempt(outcome: String, category: ChappieErrorCategory? = nil) {
        self.closeOther(outcome: "lost-race")
        guard let attempt = self.attempts.takeCurrent() else { return }
        self.recorder.ended(attempt, in: self.attempts, outcome: outcome, category: category, at: self.now)
        self.reader.evidence.isOver(hasEvents: attempt.hasEvents)
        if !attempt.closesByItself { attempt.connection.cancel() }
        self.reader.endSteering()
    }

    /// Lets the upgrade continue in the background, for a later turn.
    func parkOther() {
        if let other = self.takeOther(outcome: "parked") { self.sender?.park(other) }
    }

    /// Closes the connection of the other attempt, if there is one, and records its outcome.
    func closeOther(outcome: String) { self.takeOther(outcome: outcome)?.connection.cancel() }

    /// Takes the other attempt out of the turn and leaves its connection as it is.
    private func takeOther(outcome: String) -> Attempt? {
        guard let other = self.attempts.takeOther() else { return nil }
        self.recorder.ended(other, in: self.attempts, outcome: outcome, at: self.now)
        return other
    }
}
