import StreamSession
import StreamTransport
import TransportSurface

/// Two connections for one request: a slow upgrade, and HTTP beside it.
///
/// The state machine decides which of the two carries it.
extension TurnDriver {
    /// Starts a second connection attempt, over HTTP, beside the upgrade; its request is held back.
    func race(_ other: Attempt) {
        self.attempts.race(other)
        self.recorder.began(other, isHedge: true)
        self.shareConnections()
    }

    /// Returns the opening of a hedge, which requests the same as the upgrade.
    func hedge(_ opening: TurnStateMachine.Opening) -> TurnStateMachine.Opening {
        TurnStateMachine.Opening(
            attempt: opening.attempt, transport: opening.transport, reason: opening.reason,
            rung: self.attempts.current?.rung ?? opening.rung)
    }

    /// Sends the held request; the upgrade becomes the other attempt.
    func release() {
        if self.attempts.other?.transport == .httpSSE {
            self.exchangeAttempts()
            self.reader.evidence.restart()
            self.noteFallback(
                because: self.otherRefusal?.tag ?? "upgrade.slow", rung: self.attempts.current?.recoveryRung)
        }
        self.attempts.current?.requestedAt = self.engine.clock.now()
        self.attempts.current?.connection.release()
        // The body of a refusal is not awaited any longer.
        if let refusal = self.otherRefusal { self.otherFailed(refusal) }
    }

    /// The refusal of the other attempt, when it is an upgrade and the body of its refusal is still to come.
    private var otherRefusal: AttemptFailure? {
        self.attempts.other?.head.map { .upgradeStatus(RefusalFacts(statusCode: $0.statusCode)) }
    }

    /// Handles one event of the other attempt; returns false when there is none.
    func receiveFromOther() -> Bool {
        guard let other = self.attempts.other, let event = other.connection.next() else { return false }
        switch event {
        case .ready:
            self.action = self.reader.machine.ready(attempt: other.number)
        case .opened(let head) where other.transport == .webSocket && head.statusCode == 101:
            self.engine.webSocketEstablished()
            self.action = self.reader.machine.opened(attempt: other.number)
            // The attempt that may send becomes the current one.
            if self.action == .send { self.exchangeAttempts() }
        case .opened(let head):
            let facts = RefusalFacts(statusCode: head.statusCode)
            self.otherFailed(other.transport == .webSocket ? .upgradeStatus(facts) : .httpStatus(facts))
        case .ended(let end):
            self.otherFailed(AttemptFailure(end, beforeFirstEvent: true))
        case .payload, .pong:
            // No request was sent on this connection.
            self.otherFailed(.undecodableEvent)
        }
        return true
    }

    private func otherFailed(_ failure: AttemptFailure) {
        guard let other = self.attempts.other else { return }
        self.noteFailed(failure, of: other)
        self.action = self.reader.machine.failed(failure, attempt: other.number, jitter: self.engine.clock.fraction())
        self.closeOther(outcome: failure.tag)
        self.noteRace()
    }

    /// Continues with the other attempt after the current one has failed.
    func continueWithOther(after failure: AttemptFailure) {
        guard let other = self.attempts.takeOther() else { return }
        if let attempt = self.attempts.current {
            self.noteStatistics(of: attempt, outcome: failure.tag)
            attempt.connection.cancel()
        }
        self.attempts.begin(other)
        self.reader.evidence.restart()
        self.readsAnotherAttempt()
        if other.transport == .httpSSE { self.noteFallback(because: failure.tag, rung: other.recoveryRung) }
        self.noteRace()
    }

    /// Reports the outcome of the upgrade to the instance.
    private func noteRace() {
        if self.reader.machine.condemnsWebSocket { return self.engine.condemnWebSocket() }
        if let failureClass = self.reader.machine.failedRace { self.engine.raceFailed(failureClass) }
    }

    /// Keeps an upgrade that succeeded too late for this turn, for the next one.
    func keepOther() {
        guard let other = self.takeOther(outcome: "kept") else { return }
        self.sender?.keep(other)
    }

    /// Lets the upgrade continue in the background, for a later turn.
    func parkOther() {
        guard let other = self.takeOther(outcome: "parked") else { return }
        self.sender?.park(other)
    }

    /// Takes the other attempt out of the turn and leaves its connection as it is.
    private func takeOther(outcome: String) -> Attempt? {
        guard let other = self.attempts.takeOther() else { return nil }
        self.shareConnections()
        self.noteStatistics(of: other, outcome: outcome)
        return other
    }

    /// Closes the connection of the other attempt, if there is one, and records its outcome.
    func closeOther(outcome: String) {
        self.takeOther(outcome: outcome)?.connection.cancel()
    }

    private func exchangeAttempts() {
        guard self.attempts.other != nil, self.attempts.current != nil else { return }
        self.attempts.exchange()
        self.readsAnotherAttempt()
    }
}
