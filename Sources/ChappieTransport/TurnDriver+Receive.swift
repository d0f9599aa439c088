import ResponseEvents
import ServerSentEvents
import StreamSession
import StreamTransport

/// What the connection reports, turned into inputs of the state machine.
extension TurnDriver {
    /// Handles one thing from the connection, waiting for it if need be.
    func receive() async {
        guard let wait = self.receiveNow() else {
            if self.meter.isSliceOver { await self.endSlice() }
            return
        }
        self.meter.restartSlice()
        let outcome =
            if let rival = wait.rival {
                await self.engine.transport.wait(for: [wait.connection, rival], atMost: wait.duration)
            } else {
                await wait.connection.wait(for: wait.duration)
            }
        switch outcome {
        case .ready: return
        case .cancelled: self.stop()
        case .deadlinePassed:
            // What came in the last moment counts, and the service's clock is coarse: the next step looks again.
            return
        }
    }

    /// What has to be waited for, and how long at most.
    private struct Wait {
        let connection: any TransportConnection
        let rival: (any TransportConnection)?
        let duration: Duration?
    }

    /// Handles one thing that is there; nil when there was one.
    @inline(never)
    private func receiveNow() -> Wait? {
        guard let connection = self.attempts.current?.connection else { return nil }
        if self.attempts.other != nil, self.receiveFromRival() { return nil }
        guard let event = self.attempts.current?.unhandled.take() ?? connection.next() else {
            return self.wait(for: connection)
        }
        // A peer that never pauses is not excused from the budget of the whole turn.
        if self.isTotalSpent {
            self.timedOut(.total)
        } else {
            self.received(event)
        }
        return nil
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

    private func wait(for connection: any TransportConnection) -> Wait? {
        let deadline = self.nearestDeadline()
        if let deadline, deadline.remaining <= .zero {
            self.passed(deadline.kind)
            return nil
        }
        return Wait(connection: connection, rival: self.attempts.other?.connection, duration: deadline?.remaining)
    }

    /// The deadline that comes first for the attempt that runs; nil when there is none.
    func nearestDeadline() -> Deadlines.Nearest? {
        let hedgeDelay = self.attempts.other == nil ? self.reader.machine.hedgeDelay : nil
        return self.deadlines.nearest(
            of: &self.attempts.current, hedgeDelay: hedgeDelay, at: self.engine.clock.now())
    }

    /// The time that the whole turn may still take; nil without a budget.
    var remainingTotal: Duration? { self.deadlines.remainingTotal(at: self.engine.clock.now()) }

    /// Whether the whole turn has taken longer than it may.
    var isTotalSpent: Bool { self.deadlines.isTotalSpent(at: self.engine.clock.now()) }

    func passed(_ deadline: Deadlines.Kind) {
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

    func timedOut(_ budget: AttemptFailure.TimeBudget) {
        // The status code is known, and says more than that its body does not come.
        if budget == .firstEvent, self.attempts.current?.stage == .refused { return self.refused() }
        if budget == .firstEvent, self.isOtherDocument { return self.failed(.unexpectedContentType) }
        let isAwaited = budget == .idle || budget == .progress ? self.isToolOutputAwaited : false
        self.failed(isAwaited ? .toolOutputAwaited : .timeout(budget))
    }

    /// Whether the server seems to wait for the output of tools: only a response of several agents goes on with it.
    private var isToolOutputAwaited: Bool {
        let findings = self.reader.findings
        guard findings.hasAgents, findings.hasCalls else { return false }
        return !self.reader.machine.hasOpenItem()
    }

    // MARK: Head

    private func opened(_ head: ResponseHead) {
        guard var attempt = self.attempts.current else { return }
        // The server gets its own words back as they were; everybody else gets them without secrets.
        let turnState = head.value(of: "x-codex-turn-state")
        let head = self.redaction.head(head)
        attempt.head = head
        self.evidence.statusCode = head.statusCode
        self.evidence.requestID = head.requestID
        let isAccepted =
            attempt.transport == .webSocket
            ? head.statusCode == 101 : head.statusCode == 200 && head.isEventStream
        attempt.stage = isAccepted ? .streaming : .refused
        if !isAccepted {
            attempt.refusedAt = self.engine.clock.now()
            attempt.requestedAt = attempt.requestedAt ?? attempt.refusedAt
        }
        self.attempts.current = attempt
        guard isAccepted else {
            if self.isOtherContent, !head.hasWords { self.failed(.unexpectedContentType) }
            return
        }
        if attempt.transport == .httpSSE {
            self.outgoing?.learn(turnState: turnState)
            self.deliverUsageLimits(in: head)
        }
        self.report(ChappieDiagnostic(kind: .connected, transport: attempt.transport))
        self.recorder.connected(attempt, at: self.engine.clock.now())
        if attempt.isResumed { self.report(ChappieDiagnostic(kind: .resumed, transport: attempt.transport)) }
        if attempt.transport == .webSocket { self.engine.webSocketEstablished() }
        self.action = self.reader.machine.opened(attempt: attempt.number)
        if self.reader.machine.condemnsWebSocket { self.engine.condemnWebSocket() }
        // The response is here: the upgrade beside it is for a later turn.
        if attempt.transport == .httpSSE { self.parkRival() }
    }

    private func deliverUsageLimits(in head: ResponseHead) {
        self.reader.merge(UsageLimitHeaders(head.namedFields).activeSnapshot)
    }

    // MARK: Payloads

    private func received(_ payload: InboundPayload, attempt: Int) {
        switch (self.attempts.current?.stage ?? .opening, payload.kind) {
        case (.refused, _):
            unsafe self.collect(payload.bytes)
        case (.streaming, .text):
            self.beginBatch(of: attempt)
            self.receivedMessages(payload, attempt: attempt)
            self.endBatch()
        case (.streaming, .body):
            if self.attempts.current?.hasEvents == false { unsafe self.keepOtherDocument(payload.bytes) }
            self.beginBatch(of: attempt)
            unsafe self.receivedEventStream(payload.bytes, attempt: attempt)
            self.endBatch()
        case (.streaming, .binary), (.opening, _):
            self.failed(.binaryMessage)
        }
    }

    private func endBatch() {
        self.noteProgressOfQueued()
        if self.reader.takeHasDelivered() { self.meter.delivered() }
        self.meter.end()
    }

    /// Looks at the budgets and lets others work, once in a while, although there is still something to read.
    ///
    /// A peer that never pauses is excused from nothing.
    private func endSlice() async {
        self.meter.restartSlice()
        self.checkProgress()
        // `Task.yield` goes past the hook with which programs keep their tasks on one thread.
        await withCheckedContinuation { continuation in
            Task.detached { continuation.resume() }
        }
    }

    /// Keeps the beginning of a refusal's body.
    private func collect(_ bytes: UnsafeRawBufferPointer) {
        let limit = self.engine.configuration.limits.errorBodyByteCount
        let room = max(0, limit - (self.attempts.current?.refusal.count ?? 0))
        unsafe self.attempts.current?.refusal.append(contentsOf: bytes.prefix(room))
        if bytes.count >= room { self.refused() }
    }

    /// Parses a piece of an event stream.
    ///
    /// What stands in it behind the end of the attempt is stale, and the state machine ignores it.
    private func receivedEventStream(_ bytes: UnsafeRawBufferPointer, attempt: Int) {
        do {
            unsafe try self.parser.parse(bytes) { item in
                guard case .event(let event) = unsafe item else { return }
                // Five letters: the type that no event of a response has but an error.
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
        // The status code is known, and says more than the way the body ended.
        if attempt.stage == .refused { return self.refused() }
        if case .closed(_, let reason) = end { self.evidence.closeReason = reason }
        if !attempt.hasEvents, self.isOtherDocument { return self.failed(.unexpectedContentType) }
        self.failed(AttemptFailure(end, beforeFirstEvent: !attempt.hasEvents))
    }

    /// The body of a refusal is there, as much of it as is kept.
    private func refused() {
        guard let attempt = self.attempts.current, let head = attempt.head else { return }
        self.evidence.body = String(decoding: attempt.refusal, as: UTF8.self)
        if self.isOtherContent { return self.failed(.unexpectedContentType) }
        let facts = self.refusal(
            ServerErrorFacts(body: attempt.refusal) ?? ServerErrorFacts(), statusCode: head.statusCode,
            fields: head.namedFields)
        self.failed(attempt.transport == .webSocket ? .upgradeStatus(facts) : .httpStatus(facts))
    }

    /// Ends the attempt and asks what follows.
    func failed(_ failure: AttemptFailure) {
        guard let attempt = self.attempts.current else { return }
        self.endSteering()
        self.follow(
            self.reader.machine.failed(failure, attempt: attempt.number, jitter: self.engine.clock.fraction()),
            after: failure)
    }

    /// Does what the state machine says about the end of the attempt.
    func follow(_ action: TurnStateMachine.Action, after failure: AttemptFailure) {
        self.action = action
        self.hasFailed = true
        if let attempt = self.attempts.current {
            self.noteEnd(failure, of: attempt)
            self.noteCut(failure, of: attempt)
            self.noteFailed(failure, of: attempt)
        }
        switch action {
        case .fail:
            return
        case .ignore:
            self.continueWithRival(after: failure)
        case .open(let opening) where opening.reason == .replacement:
            self.closeAttempt(outcome: "replaced")
        case .open, .openHedge, .release, .park, .send, .receive, .deliver, .wait, .refreshCredential, .finish:
            // The upgrade beside a POST that has failed may still serve a later turn.
            if self.attempts.current?.transport == .httpSSE { self.parkRival() }
            self.closeAttempt(outcome: failure.tag)
            if self.reader.machine.condemnsWebSocket { self.engine.condemnWebSocket() }
        }
    }
}

extension AttemptFailure {
    /// How a connection came to its end, as the end of an attempt.
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
