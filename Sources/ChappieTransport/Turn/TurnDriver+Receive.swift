import ResponseEvents
import ServerSentEvents
import StreamSession
import StreamTransport
import TransportSurface

/// The conversion of a connection's events to inputs of the state machine.
extension TurnDriver {
    /// Handles one event of the connection, after a wait if necessary.
    nonisolated(nonsending) func receive() async {
        guard let wait = self.receiveNow() else {
            if self.meter.isSliceOver { await self.endSlice() }
            return
        }
        self.meter.restartSlice()
        switch await self.outcome(of: wait) {
        case .ready: return
        case .cancelled: self.stop()
        case .deadlinePassed:
            // Data that came in the last moment counts, and the service's clock is coarse: the next step checks again.
            return
        }
    }

    /// Waits.
    ///
    /// Each wait is the end of a branch, because what followed both would need a change of executors.
    nonisolated(nonsending) private func outcome(of wait: Wait) async -> TransportWaitOutcome {
        guard let other = wait.other else { return await wait.connection.wait(for: wait.duration) }
        return await self.engine.transport.wait(for: [wait.connection, other], atMost: wait.duration)
    }

    /// The connections to wait for, and the maximum duration.
    private struct Wait {
        let connection: any TransportConnection
        let other: (any TransportConnection)?
        let duration: Duration?
    }

    /// Handles one available event; returns the necessary wait when there is none.
    @inline(never)
    private func receiveNow() -> Wait? {
        guard let connection = self.attempts.current?.connection else { return nil }
        if self.attempts.isRace, self.receiveFromOther() { return nil }
        if let event = self.attempts.current?.unhandled.take() ?? connection.next() {
            // The budget of the whole turn applies to a peer that never pauses too.
            if self.isTotalSpent { self.timedOut(.total) } else { self.received(event) }
            return nil
        }
        let deadline = self.nearestDeadline()
        if let deadline, deadline.remaining <= .zero {
            self.passed(deadline.kind)
            return nil
        }
        let other = self.attempts.isRace ? self.attempts.other?.connection : nil
        return Wait(connection: connection, other: other, duration: deadline?.remaining)
    }

    private func received(_ event: TransportEvent) {
        guard let number = self.attempts.current?.number else { return }
        switch event {
        case .ready:
            self.action = self.reader.machine.ready(attempt: number)
        case .pong:
            // An unsolicited pong is ignored (RFC 6455 section 5.5.3).
            return
        case .opened(let head):
            self.opened(head)
        case .payload(let payload):
            self.received(payload, attempt: number)
        case .ended(let end):
            self.ended(end)
        }
    }

    // MARK: Deadlines

    /// Returns the first deadline of the current attempt; nil when there is none.
    private func nearestDeadline() -> Deadlines.Nearest? {
        let now = self.engine.clock.now()
        let isRace = self.attempts.isRace
        return self.deadlines.nearest(
            of: &self.attempts.current, hedgeDelay: isRace ? nil : self.reader.machine.hedgeDelay, at: now)
    }

    /// Indicates whether the whole turn has taken longer than it may.
    var isTotalSpent: Bool {
        // Without a budget the clock is not read.
        self.deadlines.end.map { $0 <= self.engine.clock.now() } ?? false
    }

    private func passed(_ deadline: Deadlines.Kind) {
        guard let attempt = self.attempts.current else { return }
        switch deadline {
        case .budget(let budget):
            self.timedOut(budget)
        case .stall:
            self.attempts.current?.isKnownToStall = true
            self.report(ChappieDiagnostic(kind: .stalled, transport: attempt.transport))
            self.recorder.stalled(attempt)
        case .hedge:
            self.action = self.reader.machine.hedgeDue(attempt: attempt.number)
        }
    }

    /// Checks whether a time limit has passed although events come: signs of life do not count for a model without
    /// output.
    func checkProgress() {
        guard let deadline = self.nearestDeadline(), deadline.remaining <= .zero else { return }
        switch deadline.kind {
        case .budget(let budget):
            self.timedOut(budget)
        case .stall:
            self.passed(.stall)
            // A budget may have run out behind it.
            self.checkProgress()
        case .hedge:
            // Only an upgrade has one.
            return
        }
    }

    private func timedOut(_ budget: AttemptFailure.TimeBudget) {
        // The status code is known, and is more precise than the missing body.
        if budget == .firstEvent, self.attempts.current?.stage == .refused { return self.refused() }
        if budget == .firstEvent, self.isOtherDocument() { return self.failed(.unexpectedContentType) }
        let isAwaited = (budget == .idle || budget == .progress) && self.reader.awaitsToolOutput()
        self.failed(isAwaited ? .toolOutputAwaited : .timeout(budget))
    }

    /// Checks the budgets and lets other tasks work, once in a while, although there is still data to read.
    ///
    /// All budgets apply to a peer that never pauses.
    nonisolated(nonsending) private func endSlice() async {
        self.meter.restartSlice()
        self.checkProgress()
        // `Task.yield` bypasses the hook with which programs keep their tasks on one thread.
        await withCheckedContinuation { continuation in
            Task.detached { continuation.resume() }
        }
    }

    // MARK: Head

    private func opened(_ head: ResponseHead) {
        // The server gets its own text back unchanged; all other recipients get it without secrets.
        let turnState = head.value(of: "x-codex-turn-state")
        let head = self.redaction.head(head)
        self.reader.evidence.opened(head)
        let isAccepted = self.attempts.current?.opened(head, at: self.engine.clock.now())
        guard let attempt = self.attempts.current, isAccepted == true else {
            if self.attempts.current?.isOtherContent == true, !head.hasWords { self.failed(.unexpectedContentType) }
            return
        }
        if attempt.transport == .httpSSE {
            self.sender?.outgoing.learn(turnState: turnState)
            self.reader.merge(UsageLimitHeaders(head.namedFields).activeSnapshot)
        }
        self.report(ChappieDiagnostic(kind: .connected, transport: attempt.transport))
        self.recorder.connected(attempt, at: self.engine.clock.now())
        if attempt.isResumed { self.report(ChappieDiagnostic(kind: .resumed, transport: attempt.transport)) }
        if attempt.transport == .webSocket { self.engine.webSocketEstablished() }
        self.action = self.reader.machine.opened(attempt: attempt.number)
        if self.reader.machine.condemnsWebSocket { self.engine.condemnWebSocket() }
        // The response has come: the upgrade beside it is for a later turn.
        if attempt.transport == .httpSSE { self.parkOther() }
    }

    // MARK: Payloads

    private func received(_ payload: InboundPayload, attempt: Int) {
        let limit = self.engine.configuration.limits.errorBodyByteCount
        switch (self.attempts.current?.stage ?? .opening, payload.kind) {
        case (.refused, _):
            if unsafe self.attempts.current?.collect(payload.bytes, limit: limit) == true { self.refused() }
        case (.streaming, .text):
            self.beginBatch(of: attempt)
            self.receivedMessages(payload, attempt: attempt)
            self.endBatch()
        case (.streaming, .body):
            unsafe self.attempts.current?.keepOtherDocument(payload.bytes, limit: limit)
            self.beginBatch(of: attempt)
            unsafe self.receivedEventStream(payload.bytes, attempt: attempt)
            self.endBatch()
        case (.streaming, .binary), (.opening, _):
            self.failed(.binaryMessage)
        }
    }

    /// Parses a piece of an event stream.
    ///
    /// Events behind the end of the attempt are stale, and the state machine ignores them.
    private func receivedEventStream(_ bytes: UnsafeRawBufferPointer, attempt: Int) {
        do {
            unsafe try self.parser.parse(bytes) { item in
                guard case .event(let event) = unsafe item else { return }
                // Five letters: of the types of a response's events, only `error` has that length.
                if unsafe event.type.count == 5, unsafe event.type.elementsEqual("error".utf8) {
                    return unsafe self.receivedNamedError(event.data, attempt: attempt)
                }
                guard unsafe !event.data.isEmpty else { return }
                unsafe self.receivedEvent(event.data, named: event.type, attempt: attempt)
            }
        } catch {
            guard self.action == nil else { return }
            self.failed(.eventTooLarge(limit: self.engine.configuration.limits.eventByteCount))
        }
    }

    // MARK: The end

    private func ended(_ end: TransportEnd) {
        self.attempts.current?.closesByItself = true
        guard let attempt = self.attempts.current else { return }
        if self.shared.withLock({ $0.isCancelled }) { return self.stop() }
        // The status code is known, and is more precise than the way the body ended.
        if attempt.stage == .refused { return self.refused() }
        if case .closed(_, let reason) = end { self.reader.evidence.closed(reason) }
        if self.isOtherDocument() { return self.failed(.unexpectedContentType) }
        self.failed(AttemptFailure(end, beforeFirstEvent: !attempt.hasEvents))
    }

    /// Returns whether the body is JSON or HTML in place of an event stream: then it is the server's message about the
    /// error.
    private func isOtherDocument() -> Bool {
        guard self.attempts.current?.isOtherDocument() == true else { return false }
        self.reader.evidence.read(body: self.attempts.current?.refusal ?? [])
        return true
    }

    /// Handles a refusal whose body, or its kept part, has come.
    private func refused() {
        guard let attempt = self.attempts.current, let head = attempt.head else { return }
        self.reader.evidence.read(body: attempt.refusal)
        if attempt.isOtherContent { return self.failed(.unexpectedContentType) }
        let facts = self.reader.evidence.refusal(
            ServerErrorFacts(body: attempt.refusal) ?? ServerErrorFacts(), statusCode: head.statusCode,
            fields: head.namedFields, known: self.reader.usageLimits)
        self.failed(attempt.transport == .webSocket ? .upgradeStatus(facts) : .httpStatus(facts))
    }

    /// Ends the attempt and determines the next step.
    func failed(_ failure: AttemptFailure) {
        guard let attempt = self.attempts.current else { return }
        self.endSteering()
        let action = self.reader.machine.failed(
            failure, attempt: attempt.number, jitter: self.engine.clock.fraction())
        // Behind the end of an attempt a failure changes nothing: what follows the end is still to be done.
        if case .ignore = action, self.action != nil { return }
        self.follow(action, after: failure)
    }

    /// Performs the state machine's action after the end of the attempt.
    func follow(_ action: TurnStateMachine.Action, after failure: AttemptFailure) {
        self.action = action
        self.hasFailed = true
        if let attempt = self.attempts.current {
            self.noteEnd(failure, of: attempt)
            self.noteFailed(failure, of: attempt)
        }
        switch action {
        case .fail:
            return
        case .ignore:
            self.continueWithOther(after: failure)
        case .open(let opening) where opening.reason == .replacement:
            self.closeAttempt(outcome: "replaced")
        case .open, .openHedge, .release, .park, .send, .receive, .deliver, .wait, .refreshCredential, .finish:
            // The upgrade beside a failed POST may still serve a later turn.
            if self.attempts.current?.transport == .httpSSE { self.parkOther() }
            let error = self.reader.evidence.error(for: failure, self.circumstances)
            self.closeAttempt(outcome: failure.tag, category: error.category)
            if self.reader.machine.condemnsWebSocket { self.engine.condemnWebSocket() }
        }
    }

    /// Records whether a partial answer was cut, or ended normally without its terminal event; and whether a connection
    /// was cut at the same age as an earlier one of the turn.
    private func noteEnd(_ failure: AttemptFailure, of attempt: Attempt) {
        if attempt.hasEvents {
            let isInOrder =
                !self.reader.findings.hasGap
                && EndedAnswer.isInOrder(
                    failure, head: attempt.head,
                    endsBetweenEvents: attempt.transport == .httpSSE && self.parser.finish() == .clean)
            self.reader.evidence.ended(inOrder: isInOrder)
            self.recorder.endedWithoutTerminalEvent(inOrder: isInOrder)
        }
        guard failure.isCut, attempt.stage == .streaming,
            let age = self.recorder.cut(at: self.engine.clock.now() - attempt.connectionStart)
        else { return }
        self.reader.evidence.cut(at: age)
        self.report(ChappieDiagnostic(kind: .pathTimeLimit, transport: attempt.transport, connectionAge: age))
    }

    /// Reports that an attempt has failed; the next step is reported by other functions.
    func noteFailed(_ failure: AttemptFailure, of attempt: Attempt) {
        guard self.recorder.isLogging else { return }
        self.recorder.failed(
            attempt, self.redaction.clientError(self.reader.evidence.error(for: failure, self.circumstances)),
            tag: failure.tag, serverRequestID: self.reader.evidence.requestID, at: self.engine.clock.now())
    }
}

extension AttemptFailure {
    /// Creates the failure of an attempt from the end of its connection.
    init(_ end: TransportEnd, beforeFirstEvent: Bool) {
        switch end {
        case .complete: self = beforeFirstEvent ? .endedWithoutEvent : .endedEarly
        case .closed(let code, _): self = .closed(code: code, beforeFirstEvent: beforeFirstEvent)
        case .failed(let failure): self = .transport(failure)
        }
    }
}

extension ResponseHead {
    /// The fields as pairs.
    fileprivate var namedFields: [(name: String, value: String)] {
        self.fields.map { (name: $0.name, value: $0.value) }
    }
}
