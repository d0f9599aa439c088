import ResponseEvents
import ServerSentEvents
import StreamSession
import StreamTransport
import TransportSurface

/// The conversion of a connection's events to inputs of the state machine.
extension TurnDriver {
    /// Handles one available event, or returns the necessary wait; `now` is the present time if the caller knows it.
    @inline(never)
    func receiveNow(at now: Moment? = nil) -> ConnectionWait? {
        guard let connection = self.attempts.current?.connection else { return nil }
        if self.attempts.isRace, self.receiveFromOther() { return nil }
        if let event = self.attempts.current?.nextEvent() {
            // The budget of the whole turn applies to a peer that never pauses too.
            if self.deadlines.isOver(at: self.now) { self.passed(.budget(.total)) } else { self.received(event) }
            return nil
        }
        let deadline = self.nearestDeadline(at: now ?? self.moment)
        if let deadline, deadline.nanoseconds <= 0 {
            self.passed(deadline.kind)
            return nil
        }
        let other = self.attempts.isRace ? self.attempts.other?.connection : nil
        return ConnectionWait(connection: connection, other: other, nanoseconds: deadline?.nanoseconds)
    }

    private func received(_ event: TransportEvent) {
        guard let number = self.attempts.current?.number else { return }
        switch event {
        case .ready: self.action = self.reader.machine.ready(attempt: number)
        // An unsolicited pong is ignored (RFC 6455 section 5.5.3).
        case .pong: return
        case .opened(let head): self.opened(head)
        case .payload(let payload): self.received(payload, attempt: number)
        case .ended(let end):
            self.attempts.current?.closesByItself = true
            if self.shared.withLock({ $0.isCancelled }) { return self.stop() }
            self.endEventStream(at: end, attempt: number)
            if case .complete = end { self.endAnswer(attempt: number) }
            guard self.action == nil else { return }
            self.failed(self.attempts.current?.failure(at: end, &self.reader))
        }
    }

    /// Handles one event of the other attempt; returns false when there is none.
    private func receiveFromOther() -> Bool {
        guard let other = self.attempts.other, let event = other.nextInRace() else { return false }
        switch event {
        case .ready: self.action = self.reader.machine.ready(attempt: other.number)
        case .opened:
            self.engine.webSocketEstablished()
            self.action = self.reader.machine.opened(attempt: other.number)
        case .failed(let failure): self.otherFailed(failure)
        }
        return true
    }

    // MARK: Deadlines

    /// Returns the first deadline of the current attempt; nil when there is none.
    private func nearestDeadline(at now: Moment) -> Deadlines.Nearest? {
        let isRace = self.attempts.isRace
        return self.deadlines.nearest(
            of: &self.attempts.current, hedgeDelay: isRace ? nil : self.reader.machine.hedgeDelay(), at: now)
    }

    private func passed(_ deadline: Deadlines.Kind) {
        guard let attempt = self.attempts.current else { return }
        switch deadline {
        case .budget(let budget):
            self.failed(self.attempts.current?.failure(after: budget, &self.reader))
        case .stall:
            self.attempts.current?.isKnownToStall = true
            self.reader.report(ChappieDiagnostic(kind: .stalled, transport: attempt.transport))
            self.recorder.stalled(attempt)
        case .hedge:
            self.action = self.reader.machine.hedgeDue(attempt: attempt.number)
        }
    }

    /// Checks whether a time limit has passed although events come: a model without output makes no progress.
    func checkProgress() {
        guard let deadline = self.nearestDeadline(at: self.moment), deadline.nanoseconds <= 0 else { return }
        self.passed(deadline.kind)
        // A budget may have run out behind it.
        if deadline.kind == .stall { self.checkProgress() }
    }

    /// Begins the next slice with a check of the budgets, all of which apply to a peer that never pauses.
    func beginSlice() {
        self.reader.meter.restartSlice()
        self.checkProgress()
    }

    // MARK: Head

    private func opened(_ head: ResponseHead) {
        // The server gets its own text back unchanged; all other recipients get it without secrets.
        let turnState = head.value(of: DialectFields.turnState)
        let head = self.redaction.head(head)
        self.reader.evidence.opened(head)
        self.attempts.current?.opened(head, at: self.now)
        if let attempt = self.attempts.current, attempt.transport == .httpSSE, attempt.stage != .refused {
            self.sender?.outgoing.learn(turnState: turnState)
        }
        switch self.attempts.current?.stage {
        case .streaming: self.established(head)
        case .refused: self.endIfWithoutWords(head)
        case .undecided, .opening, nil: return
        }
    }

    /// Ends an attempt whose answer claims success and is neither an event stream nor text about an error.
    private func endIfWithoutWords(_ head: ResponseHead) {
        if self.attempts.current?.isOtherContent == true, !head.hasWords { self.failed(.unexpectedContentType) }
    }

    /// Begins the response.
    private func established(_ head: ResponseHead) {
        guard let attempt = self.attempts.current else { return }
        self.reader.established(attempt, head)
        self.recorder.connected(attempt, at: self.now)
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
            guard unsafe self.attempts.current?.collect(payload.bytes, limit: limit) == true else { return }
            self.failed(self.attempts.current?.refusal(&self.reader))
        case (.undecided, _):
            unsafe self.receivedBeginning(payload.bytes, limit: limit, attempt: attempt)
        case (.streaming, .text):
            self.reader.beginBatch(attempt: attempt, at: self.moment)
            self.receivedMessages(payload, attempt: attempt)
            self.endBatch()
        case (.streaming, .body):
            unsafe self.attempts.current?.keepOtherDocument(payload.bytes, limit: limit)
            self.reader.beginBatch(attempt: attempt, at: self.moment)
            unsafe self.receivedEventStream(payload.bytes, attempt: attempt)
            self.endBatch()
        case (.streaming, .binary), (.opening, _):
            self.failed(.binaryMessage)
        }
    }

    /// Reads the beginning of a body with a general content type.
    private func receivedBeginning(_ bytes: UnsafeRawBufferPointer, limit: Int, attempt: Int) {
        let beginning = unsafe self.attempts.current?.decide(on: bytes, limit: limit, at: self.now)
        guard let current = self.attempts.current, let head = current.head else { return }
        guard let beginning else {
            guard current.stage == .refused else { return }
            self.endIfWithoutWords(head)
            if self.action == nil, current.refusal.count >= limit { self.failed(current.refusal(&self.reader)) }
            return
        }
        self.established(head)
        self.reader.report(
            ChappieDiagnostic(kind: .contentTypeMismatch, transport: .httpSSE, reason: head.mediaType))
        // Nothing is sent behind the head of an answer to a POST: what follows is decided by the events.
        self.action = nil
        self.reader.beginBatch(attempt: attempt, at: self.moment)
        unsafe PaddedBytes(beginning).withBytes {
            unsafe self.receivedEventStream(UnsafeRawBufferPointer($0), attempt: attempt)
        }
        self.endBatch()
    }

    /// Parses a piece of an event stream; events behind the end of the attempt are stale, and ignored.
    private func receivedEventStream(_ bytes: UnsafeRawBufferPointer, attempt: Int) {
        do {
            unsafe try self.parser.parse(bytes) { item in
                guard case .event(let event) = unsafe item else { return }
                unsafe self.received(event, attempt: attempt)
            }
        } catch {
            guard self.action == nil else { return }
            self.failed(.eventTooLarge(limit: self.engine.configuration.limits.eventByteCount))
        }
    }

    private func received(_ event: ServerSentEventBytes, attempt: Int) {
        // Five letters: of the types of a response's events, only `error` has that length.
        if unsafe event.type.count == 5, unsafe event.type.elementsEqual("error".utf8),
            let error = unsafe UntypedEvent(dataOfError: event.data)
        {
            return unsafe self.received(error, json: event.data, attempt: attempt)
        }
        guard unsafe !event.data.isEmpty else { return }
        if let decoder = self.decoder { return unsafe self.received(event, of: decoder, attempt: attempt) }
        unsafe self.receivedEvent(event.data, named: event.type, attempt: attempt)
    }

    // MARK: The end

    /// Reads the event whose empty line is missing at the end of an event stream, if it ends the response.
    ///
    /// Some servers omit that line. WHATWG HTML section 9.2.6 discards such an event; a terminal event that is whole
    /// JSON lacks nothing, however, when the body has ended in order. Any other is discarded, and the error names it.
    private func endEventStream(at end: TransportEnd, attempt number: Int) {
        guard let attempt = self.attempts.current, attempt.stage == .streaming, attempt.transport == .httpSSE else {
            return
        }
        // Copies are ended: the report asks the parser itself for the place at which the stream ended.
        var parser = self.parser
        self.reader.evidence.ended(insideEvent: parser.finish().pendingByteCount > 0)
        guard case .complete = end, EndedAnswer.hasKnownEnd(attempt.head) else { return }
        parser = self.parser
        self.reader.beginBatch(attempt: number, at: self.moment)
        // An event that is too large has been reported with its bytes.
        unsafe try? PaddedBytes(Array("\n\n".utf8)).withBytes { blankLines in
            unsafe try parser.parse(UnsafeRawBufferPointer(blankLines)) { item in
                guard case .event(let event) = unsafe item, unsafe self.isTerminal(event) else { return }
                unsafe self.received(event, attempt: number)
            }
        }
        self.endBatch()
    }

    /// Ends the attempt and determines the next step; does nothing without a failure.
    func failed(_ failure: AttemptFailure?) {
        guard let failure, let attempt = self.attempts.current else { return }
        self.reader.endSteering()
        let action = self.reader.machine.failed(
            failure, attempt: attempt.number, jitter: self.engine.clock.fraction())
        // Behind the end of an attempt a failure changes nothing: what follows the end is still to be done.
        if case .ignore = action, self.action != nil { return }
        self.follow(action, after: failure)
    }

    /// Performs the state machine's action after the end of the attempt.
    func follow(_ action: TurnStateMachine.Action, after failure: AttemptFailure) {
        self.action = action
        self.attempts.current?.noteCharge(of: failure)
        self.sender?.attemptFailed()
        if let attempt = self.attempts.current {
            self.reader.noteEnd(
                failure, of: attempt, endsBetweenEvents: self.parser.finish() == .clean, &self.recorder, at: self.now)
            self.reader.noteFailed(failure, of: attempt, in: self.attempts, self.recorder, at: self.now)
        }
        switch action {
        case .fail, .finish:
            return
        case .ignore:
            self.continueWithOther(after: failure)
        case .open(let opening) where opening.reason == .replacement:
            // The connection was dead: nothing of the request has reached the server.
            self.attempts.current?.isRequestSent = false
            self.closeAttempt(outcome: "replaced")
        case .open, .openHedge, .release, .park, .send, .receive, .deliver, .deliverWithheld, .restart, .wait,
            .refreshCredential:
            // The upgrade beside a failed POST may still serve a later turn.
            if self.attempts.current?.transport == .httpSSE { self.parkOther() }
            let category = self.reader.category(of: failure, of: self.attempts, at: self.now)
            self.closeAttempt(outcome: failure.tag, category: category)
            if self.reader.machine.condemnsWebSocket { self.engine.condemnWebSocket() }
        }
    }

    /// Continues with the other attempt after the current one has failed.
    private func continueWithOther(after failure: AttemptFailure) {
        guard self.attempts.isRace else { return }
        if let attempt = self.attempts.current {
            self.recorder.ended(attempt, in: self.attempts, outcome: failure.tag, at: self.now)
            attempt.connection.cancel()
        }
        guard let other = self.attempts.continueWithOther() else { return }
        self.reader.continues(with: other)
        if other.transport == .httpSSE { self.reader.noteFallback(because: failure.tag, other.step, self.recorder) }
        self.engine.raceEnded(self.reader.machine)
    }

    /// Ends the other attempt of a race.
    func otherFailed(_ failure: AttemptFailure) {
        guard let other = self.attempts.other else { return }
        self.reader.noteFailed(failure, of: other, in: self.attempts, self.recorder, at: self.now)
        self.action = self.reader.machine.failed(failure, attempt: other.number, jitter: self.engine.clock.fraction())
        self.closeOther(outcome: failure.tag)
        self.engine.raceEnded(self.reader.machine)
    }
}
