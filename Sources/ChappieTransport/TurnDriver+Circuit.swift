import StreamSession
import StreamTransport

/// The turn's ticket of the circuit breaker, which is answered exactly once, however the turn ends.
extension TurnDriver {
    /// Asks the circuit breaker; false when it ends the turn.
    @inline(never)
    func isPermitted() -> Bool {
        // A request that only prepares the server is no evidence about it.
        if self.request.isWarmUp { return true }
        switch self.engine.permission() {
        case .allowed(let ticket):
            self.hold(ticket)
        case .probe(let ticket):
            self.hold(ticket)
            self.isProbe = true
        case .refused(let retryAfter):
            self.end(
                .failed(ChappieClientError(circuitOpenFor: retryAfter, transport: self.transport, of: self.identity)))
            return false
        }
        return true
    }

    /// The server works: others need not wait for the end of a turn that was let through to find that out.
    func serverAnswered() {
        guard self.isProbe, let ticket = self.takeTicket() else { return }
        self.engine.succeeded(ticket)
    }

    /// The turn is over.
    func answerBreaker(_ outcome: Outcome) {
        guard let ticket = self.takeTicket() else { return }
        switch outcome {
        case .completed: self.engine.succeeded(ticket)
        case .failed(let error as ChappieClientError): self.engine.failed(ticket, isCounted: error.countsAgainstServer)
        case .failed: self.engine.abandoned(ticket)
        }
    }

    /// The turn says nothing about the server, and another one may be let through in its place.
    ///
    /// May be called by any task.
    func abandonTicket() {
        guard let ticket = self.takeTicket() else { return }
        self.engine.abandoned(ticket)
    }

    private func takeTicket() -> CircuitBreaker.Ticket? { self.shared.withLock { $0.ticket.take() } }

    private func hold(_ ticket: CircuitBreaker.Ticket) { self.shared.withLock { $0.ticket = ticket } }
}
