import ResponseEvents
import ServerSentEvents
import StreamSession
import StreamTransport

/// What the connection reports, turned into inputs of the state machine.
extension TurnDriver {
    /// Handles one thing from the connection, waiting for it if need be.
    func receive() async {
        guard let attempt = self.attempt else { return }
        guard let event = attempt.connection.next() else {
            return await self.waitForConnection(attempt)
        }
        // A peer that never pauses is not excused from the budget of the whole turn.
        if self.isOverTotalBudget { return self.timedOut(.total) }
        switch event {
        case .ready, .pong:
            // Nothing was held, and nobody asked.
            return
        case .opened(let head):
            self.opened(head)
        case .payload(let payload):
            self.received(payload)
        case .ended(let end):
            self.ended(end)
        }
    }

    private func waitForConnection(_ attempt: Attempt) async {
        let budget = self.nearestDeadline(of: attempt)
        if let budget, budget.remaining <= .zero { return self.timedOut(budget.kind) }
        switch await attempt.connection.wait(for: budget?.remaining) {
        case .ready: return
        case .cancelled: self.stop()
        case .deadlinePassed:
            // What came in the last moment counts, and the service's clock is coarse: the next step looks again.
            return
        }
    }

    func timedOut(_ budget: AttemptFailure.TimeBudget) {
        // The status code is known, and says more than that its body does not come.
        if budget == .firstEvent, self.attempt?.stage == .refused { return self.refused() }
        self.failed(.timeout(budget))
    }

    // MARK: Head

    private func opened(_ head: ResponseHead) {
        guard var attempt = self.attempt else { return }
        attempt.head = head
        self.evidence.statusCode = head.statusCode
        self.evidence.requestID = head.value(of: "x-request-id") ?? head.value(of: "x-oai-request-id")
        let isAccepted = attempt.transport == .webSocket ? head.statusCode == 101 : head.statusCode == 200
        attempt.stage = isAccepted ? .streaming : .refused
        // The body of a refusal has as much time as a first event has.
        if !isAccepted { attempt.requestedAt = attempt.requestedAt ?? self.engine.clock.now() }
        self.attempt = attempt
        guard isAccepted else { return }
        if attempt.transport == .httpSSE {
            guard Self.isEventStream(head) else { return self.failed(.unexpectedContentType) }
            self.deliverUsageLimits(in: head)
        }
        self.report(ChappieDiagnostic(kind: .connected, transport: attempt.transport))
        self.action = attempt.replacesReused ? .send : self.machine.opened(attempt: attempt.number)
        if self.machine.condemnsWebSocket { self.engine.stayOnHTTP() }
    }

    /// Whether the content type is `text/event-stream`.
    ///
    /// A server that names none gets the benefit of the doubt.
    private static func isEventStream(_ head: ResponseHead) -> Bool {
        guard let contentType = head.value(of: "content-type") else { return true }
        let essence = contentType.prefix { $0 != ";" && $0 != " " }
        return essence.lowercased() == "text/event-stream"
    }

    private func deliverUsageLimits(in head: ResponseHead) {
        self.merge(UsageLimitHeaders(head.namedFields).activeSnapshot)
    }

    // MARK: Payloads

    private func received(_ payload: InboundPayload) {
        guard let attempt = self.attempt else { return }
        switch (attempt.stage, payload.kind) {
        case (.refused, _):
            unsafe self.collect(payload.bytes)
        case (.streaming, .text):
            unsafe self.receivedEvent(payload.bytes)
        case (.streaming, .body):
            unsafe self.receivedEventStream(payload.bytes)
        case (.streaming, .binary), (.opening, _):
            self.failed(.binaryMessage)
        }
    }

    /// Keeps the beginning of a refusal's body.
    private func collect(_ bytes: UnsafeRawBufferPointer) {
        let limit = self.engine.configuration.limits.errorBodyByteCount
        let room = max(0, limit - (self.attempt?.refusal.count ?? 0))
        unsafe self.attempt?.refusal.append(contentsOf: bytes.prefix(room))
        if bytes.count >= room { self.refused() }
    }

    private func receivedEventStream(_ bytes: UnsafeRawBufferPointer) {
        do {
            unsafe try self.parser.parse(bytes) { item in
                // After the end of an attempt the rest of the piece belongs to nobody.
                guard self.action == nil, case .event(let event) = unsafe item, unsafe !event.data.isEmpty else {
                    return
                }
                unsafe self.receivedEvent(event.data)
            }
        } catch {
            guard self.action == nil else { return }
            self.failed(.eventTooLarge(limit: self.engine.configuration.limits.eventByteCount))
        }
    }

    // MARK: The end

    private func ended(_ end: TransportEnd) {
        self.attempt?.closesByItself = true
        guard let attempt = self.attempt else { return }
        if self.shared.withLock({ $0.isCancelled }) { return self.stop() }
        switch end {
        case .complete where attempt.stage == .refused:
            self.refused()
        case .complete:
            self.failed(.endedEarly)
        case .closed(let code, let reason):
            self.evidence.closeReason = reason
            self.failed(.closed(code: code, beforeFirstEvent: !attempt.hasEvents))
        case .failed where attempt.stage == .refused:
            // The status code is known, and says more than the way the body ended.
            self.refused()
        case .failed(let failure):
            self.failed(.transport(failure))
        }
    }

    /// The body of a refusal is there, as much of it as is kept.
    private func refused() {
        guard let attempt = self.attempt, let head = attempt.head else { return }
        self.evidence.body = String(decoding: attempt.refusal, as: UTF8.self)
        let facts = self.refusal(
            ServerErrorFacts(body: attempt.refusal) ?? ServerErrorFacts(), statusCode: head.statusCode,
            fields: head.namedFields)
        self.failed(attempt.transport == .webSocket ? .upgradeStatus(facts) : .httpStatus(facts))
    }

    /// Ends the attempt and asks what follows.
    func failed(_ failure: AttemptFailure) {
        guard let attempt = self.attempt else { return }
        if attempt.isReused, !attempt.hasEvents, failure.isLossOfConnection {
            return self.replaceReusedConnection(attempt)
        }
        self.action = self.machine.failed(failure, attempt: attempt.number, jitter: self.engine.clock.fraction())
        if case .fail = self.action { return }
        self.closeAttempt(outcome: failure.tag)
        if self.machine.condemnsWebSocket { self.engine.stayOnHTTP() }
    }

    /// A kept connection had died before it was used again: a fresh one takes its place, and nothing was lost.
    private func replaceReusedConnection(_ attempt: Attempt) {
        self.closeAttempt(outcome: "replaced")
        self.connect(TurnStateMachine.Opening(attempt: attempt.number, transport: .webSocket, reason: .first))
        self.attempt?.replacesReused = true
    }
}

extension ResponseHead {
    /// The fields as pairs.
    fileprivate var namedFields: [(name: String, value: String)] {
        self.fields.map { (name: $0.name, value: $0.value) }
    }
}
