import StreamSession
import StreamTransport

/// Two connections for one request: a slow upgrade, and HTTP beside it.
///
/// The state machine says which one carries it.
extension TurnDriver {
    /// Lets a connection over HTTP race the upgrade, with a request that waits.
    func race(_ rival: Attempt) {
        self.attempts.race(rival)
        self.recorder.began(rival, isHedge: true)
        self.shareConnections()
    }

    /// The opening of a hedge: it asks for what the upgrade is to ask for.
    func hedge(_ opening: TurnStateMachine.Opening) -> TurnStateMachine.Opening {
        TurnStateMachine.Opening(
            attempt: opening.attempt, transport: opening.transport, reason: opening.reason,
            rung: self.attempts.current?.rung ?? opening.rung)
    }

    /// Sends the request that was held; the upgrade becomes the rival.
    func release() {
        if self.attempts.other?.transport == .httpSSE {
            self.exchangeRivals()
            self.reader.evidence.restart()
            self.noteFallback(
                because: self.rivalRefusal?.tag ?? "upgrade.slow", rung: self.attempts.current?.recoveryRung)
        }
        self.attempts.current?.requestedAt = self.engine.clock.now()
        self.attempts.current?.connection.release()
        // Nobody waits for the body of a refusal any more.
        if let refusal = self.rivalRefusal { self.rivalFailed(refusal) }
    }

    /// What the rival was refused with, when it is an upgrade whose refusal still has a body to come.
    private var rivalRefusal: AttemptFailure? {
        self.attempts.other?.head.map { .upgradeStatus(RefusalFacts(statusCode: $0.statusCode)) }
    }

    /// Handles one thing from the rival; false when it has nothing to say.
    func receiveFromRival() -> Bool {
        guard let rival = self.attempts.other, let event = rival.connection.next() else { return false }
        switch event {
        case .ready:
            self.action = self.reader.machine.ready(attempt: rival.number)
        case .opened(let head) where rival.transport == .webSocket && head.statusCode == 101:
            self.engine.webSocketEstablished()
            self.action = self.reader.machine.opened(attempt: rival.number)
            // Whichever of the two may send is the attempt.
            if self.action == .send { self.exchangeRivals() }
        case .opened(let head):
            let facts = RefusalFacts(statusCode: head.statusCode)
            self.rivalFailed(rival.transport == .webSocket ? .upgradeStatus(facts) : .httpStatus(facts))
        case .ended(let end):
            self.rivalFailed(AttemptFailure(end, beforeFirstEvent: true))
        case .payload, .pong:
            // Nothing was asked for on this connection.
            self.rivalFailed(.undecodableEvent)
        }
        return true
    }

    private func rivalFailed(_ failure: AttemptFailure) {
        guard let rival = self.attempts.other else { return }
        self.noteFailed(failure, of: rival)
        self.action = self.reader.machine.failed(failure, attempt: rival.number, jitter: self.engine.clock.fraction())
        self.closeRival(outcome: failure.tag)
        self.noteRace()
    }

    /// The attempt that runs has failed, and the state machine goes on with the other one.
    func continueWithRival(after failure: AttemptFailure) {
        guard let rival = self.attempts.takeOther() else { return }
        if let attempt = self.attempts.current {
            self.noteStatistics(of: attempt, outcome: failure.tag)
            attempt.connection.cancel()
        }
        self.attempts.begin(rival)
        self.reader.evidence.restart()
        self.readsAnotherAttempt()
        if rival.transport == .httpSSE { self.noteFallback(because: failure.tag, rung: rival.recoveryRung) }
        self.noteRace()
    }

    /// Tells the instance how the upgrade has fared.
    private func noteRace() {
        if self.reader.machine.condemnsWebSocket { return self.engine.condemnWebSocket() }
        if let failureClass = self.reader.machine.failedRace { self.engine.raceFailed(failureClass) }
    }

    /// The upgrade has succeeded too late for this turn: the next one can have it.
    func keepRival() {
        guard let rival = self.takeRival(outcome: "kept") else { return }
        self.sender?.keep(rival)
    }

    /// Lets the upgrade go on in background, for a later turn.
    func parkRival() {
        guard let rival = self.takeRival(outcome: "parked") else { return }
        self.sender?.park(rival)
    }

    /// Takes the rival out of the turn and leaves its connection as it is.
    private func takeRival(outcome: String) -> Attempt? {
        guard let rival = self.attempts.takeOther() else { return nil }
        self.shareConnections()
        self.noteStatistics(of: rival, outcome: outcome)
        return rival
    }

    /// Closes the rival's connection, if there is one, and notes how it ended.
    func closeRival(outcome: String) {
        self.takeRival(outcome: outcome)?.connection.cancel()
    }

    private func exchangeRivals() {
        guard self.attempts.other != nil, self.attempts.current != nil else { return }
        self.attempts.exchange()
        self.readsAnotherAttempt()
    }
}
