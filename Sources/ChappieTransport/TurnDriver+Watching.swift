import StreamSession
import StreamTransport

/// What the program's log and metrics hear of a turn.
///
/// Everything here happens a few times a turn or once in a batch of events, on the consumer's task and outside locks.
extension TurnDriver {
    // MARK: The turn

    /// The turn has begun.
    func noteTurnBegan() {
        self.watch.log(.info, "turn", "A turn has begun.") { $0.transport = self.transport }
    }

    /// The turn is over.
    func noteEnd(_ outcome: Outcome) {
        self.noteGaps()
        guard let startedAt = self.deadlines.startedAt else { return }
        let duration = self.engine.clock.now() - startedAt
        switch outcome {
        case .completed:
            self.watch.measure("turn", duration, outcome: "completed")
            self.watch.log(.info, "turn", "A turn is complete.") { self.fill(&$0, duration) }
        case .failed(is CancellationError):
            self.noteCancelled(after: duration)
        case .failed(let error):
            self.watch.measure("turn", duration, outcome: RequestWatch.outcome(of: error))
            self.watch.log(.error, "turn", "A turn has failed.") { entry in
                self.fill(&entry, duration)
                entry.take(error)
            }
        }
    }

    /// Nobody reads the turn any more, and its end was never reached.
    func noteDropped() {
        self.abandonTicket()
        guard self.outcome == nil, let startedAt = self.deadlines.startedAt else { return }
        self.noteCancelled(after: self.engine.clock.now() - startedAt)
    }

    private func noteCancelled(after duration: Duration) {
        self.watch.measure("turn", duration, outcome: "cancelled")
        self.watch.log(.info, "turn", "A turn was cancelled.") { self.fill(&$0, duration) }
    }

    private func fill(_ entry: inout ChappieLogEntry, _ duration: Duration) {
        entry.duration = duration
        entry.attempt = self.machine.attemptCount
        entry.transport = self.transport
        entry.serverRequestID = self.evidence.requestID
    }

    // MARK: Attempts

    /// The attempt has a connection: its own, or one that an earlier turn has left.
    func noteConnected(_ attempt: Attempt) {
        let message = attempt.kept == nil ? "A connection is open." : "A kept connection is used again."
        self.watch.log(.debug, "connection", message) { entry in
            entry.fill(with: attempt)
            if attempt.kept == nil { entry.duration = self.engine.clock.now() - attempt.startedAt }
        }
    }

    /// An attempt has failed; what follows is told by others.
    func noteFailed(_ failure: AttemptFailure, of attempt: Attempt) {
        guard self.watch.isLogging else { return }
        let error = self.redaction.clientError(self.error(for: failure))
        self.watch.log(.warning, "attempt", "An attempt has failed.") { entry in
            entry.fill(with: attempt)
            entry.take(error)
            entry.tag = failure.tag
            entry.serverRequestID = entry.serverRequestID ?? self.evidence.requestID
            entry.duration = self.engine.clock.now() - attempt.startedAt
        }
    }

    /// Another attempt follows, after a delay.
    func noteRetry(after delay: Duration, _ opening: TurnStateMachine.Opening) {
        let message: String
        var tag: String?
        switch opening.reason {
        case .reconnect(_, _, let failure):
            message = "The attempt is repeated after a delay."
            tag = failure.tag
        case .rateLimit:
            message = "The server asks for fewer requests; the turn waits."
        case .first, .hedge, .replacement, .credential, .fallBack:
            message = "Another attempt follows after a delay."
        }
        self.watch.log(.info, "attempt", message) { entry in
            entry.tag = tag
            entry.attempt = opening.attempt
            entry.transport = ChappieTransportKind(opening.transport)
            entry.delay = delay
        }
    }

    /// The turn goes on over HTTP.
    func noteLogOfFallback(because tag: String) {
        self.watch.log(.warning, "connection", "The turn goes on over HTTP.") { entry in
            entry.tag = tag
            entry.transport = .httpSSE
            entry.attempt = self.machine.attemptCount
        }
    }

    /// Nothing with content has come for a while.
    func noteStalled(_ attempt: Attempt) {
        self.watch.log(.warning, "attempt", "Nothing has come for a while; the turn waits on.") { entry in
            entry.fill(with: attempt)
        }
    }

    /// What was delivered has come a second time, and was the same.
    func noteLogOfReplay() {
        self.watch.log(.info, "attempt", "A replay has caught up with what was delivered.") { entry in
            if let attempt = self.attempt { entry.fill(with: attempt) }
        }
    }

    // MARK: Credentials

    /// A rejected credential was to be replaced; nil for an error when another one is there.
    func noteRefresh(since start: Duration, error: (any Error)? = nil) {
        let duration = self.engine.clock.now() - start
        self.watch.measure("refresh", duration, outcome: error.map(RequestWatch.outcome(of:)) ?? "completed")
        guard let error else {
            return self.watch.log(.info, "credential", "The credential was refreshed.") { $0.duration = duration }
        }
        self.watch.log(.warning, "credential", "The credential could not be refreshed.") { entry in
            entry.duration = duration
            entry.take(self.redaction.error(error))
        }
    }

    // MARK: Gaps

    /// Puts what was measured between batches into the report.
    func noteGaps() {
        let gaps = self.meter.summary
        self.shared.withLock { $0.report.gaps = gaps }
    }
}

extension ChappieLogEntry {
    /// The facts of an attempt.
    fileprivate mutating func fill(with attempt: Attempt) {
        self.attempt = attempt.number
        self.transport = attempt.transport
        self.serverRequestID = attempt.head?.requestID
    }
}
