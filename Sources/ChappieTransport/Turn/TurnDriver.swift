import ResponseEvents
import ServerSentEvents
import StreamSession
import StreamTransport
import TransportSurface

/// Performs one turn: passes the connection's events to the state machine, and performs its actions.
///
/// It has no policy. `next()` belongs to the stream's one consumer, whose task does all the work; `cancel()`,
/// `steer(_:)`, `serverMessage` and `report` may be called from any task.
/// - Safety: variables are accessed by the consumer's task (`next()`, `nextBatch()`, `nextOfSequence()`, `redaction`,
///   `completedResponse`) and `deinit`; `shared.isBusy` admits one `next()` at a time.
@safe package final class TurnDriver: StreamedTurn, @unchecked Sendable {
    let engine: Engine
    private let request: ChappieTransportRequest
    private let identity: RequestIdentity
    let control: TurnControl
    /// The control's state, which is stored here as well because every event needs it.
    let shared: LockedValue<SharedTurnState>

    // The parts that an event goes through, whose exclusive access is not checked at run time: `next()` runs in one
    // task at a time, and a closure that is passed to a member of a part, or is the program's, does not access the same
    // part.

    /// Reads the events, and decides the turn's next action.
    @safe @exclusivity(unchecked) var reader: EventReader
    /// The action that is performed next; nil while it depends on the connection.
    @safe @exclusivity(unchecked) var action: TurnStateMachine.Action?
    /// The attempts that have a connection.
    @safe @exclusivity(unchecked) var attempts = AttemptPair()
    /// The times of batches of events, and of output among them.
    @safe @exclusivity(unchecked) var meter = BatchMeter()
    @safe @exclusivity(unchecked) var deadlines: Deadlines
    /// Informs the program's log and metrics, and keeps the report.
    @safe @exclusivity(unchecked) var recorder: TurnRecorder
    @safe @exclusivity(unchecked) var ticket: TurnTicket
    /// The end of the stream once no event waits any more; nil while it runs.
    @safe @exclusivity(unchecked) private(set) var outcome: Outcome?

    /// Opens connections and sends the request; nil before the turn has begun.
    private(set) var sender: RequestSender?
    /// Indicates whether an attempt has failed.
    var hasFailed = false
    /// Indicates whether the server keeps the response, so that another turn can continue it.
    private(set) var isKept = false
    var parser: EventStreamParser
    /// The transport of the newest attempt.
    var transport: ChappieTransportKind
    /// The newest attempt that was announced to the consumer before its delay.
    var announcedAttempt = 0

    /// The way in which a turn ends.
    enum Outcome {
        case completed
        case failed(any Error)

        /// The error of a turn that has failed.
        var error: (any Error)? {
            guard case .failed(let error) = self else { return nil }
            return error
        }
    }

    init(engine: Engine, request: ChappieTransportRequest) {
        let configuration = engine.configuration
        self.engine = engine
        self.request = request
        self.identity = RequestIdentity(requestID: request.requestID, traceContext: request.traceContext)
        self.control = TurnControl(engine, requestID: self.identity.requestID, resuming: request.resumption)
        self.shared = self.control.shared
        self.ticket = TurnTicket(engine, self.control)
        let watch = RequestWatch(configuration, identity: self.identity)
        self.recorder = TurnRecorder(watch, report: self.control.report)
        self.deadlines = Deadlines(
            request.timeouts?.bounded ?? configuration.timeouts,
            tellsOfStalls: configuration.reportsDiagnostics || watch.isLogging)
        self.transport =
            configuration.policy.prefersWebSocket && request.resumption == nil ? .webSocket : .httpSSE
        self.reader = EventReader(
            machine: TurnStateMachine(policy: RetryPolicy(configuration)),
            options: EventReader.Options(configuration, request), redaction: engine.redaction.adding(request.fields),
            evidence: FailureEvidence(
                clientRequestID: self.identity.requestID, bodyByteCountLimit: configuration.limits.errorBodyByteCount,
                unixTime: engine.clock.unixTime),
            steering: self.control.steering)
        self.parser = EventStreamParser(maximumEventByteCount: configuration.limits.eventByteCount)
    }

    /// Cleans up, as the stream may be dropped before the end of its turn.
    deinit {
        self.control.abandonTicket()
        guard self.outcome == nil, let startedAt = self.deadlines.startedAt else { return }
        self.recorder.cancelled(after: self.engine.clock.now() - startedAt, self.facts)
    }

    /// Removes the credentials of the turn from the server's text.
    ///
    /// It belongs to the stream's one consumer.
    package var redaction: SecretRedaction { self.reader.redaction }

    /// The result of the complete response; nil before, and when its items are too large to be kept.
    ///
    /// It belongs to the stream's one consumer.
    package var completedResponse: CompletedResponse? {
        guard self.reader.machine.replaySafety == .completed else { return nil }
        let carriedItems = self.sender?.outgoing.carriedItems ?? []
        var response = self.reader.record.completedResponse(behind: carriedItems).map(self.redaction.response)
        response?.requestID = self.reader.evidence.requestID
        response?.turnState = self.sender?.outgoing.turnState
        return response
    }

    // MARK: The consumer

    /// Returns the next event; nil after `.completed`.
    ///
    /// It runs where its caller does: a ready event is returned without a change of executors.
    nonisolated(nonsending) package func next() async throws -> ChappieStreamEvent? {
        var event = ChappieStreamEvent.completed
        switch self.takeReady(into: &event) {
        case .event:
            return event
        case .lastEvent:
            self.tookLastOfBatch()
            self.shared.withLock { $0.isBusy = false }
            return event
        case .nothing:
            return try await self.work(isCancelled: self.shared.withLock { $0.isCancelled }) {
                self.shared.withLock { $0.takeFirst(refillingFrom: &self.reader.queue) }
            }
        }
    }

    /// Returns the events that are ready, in order and at least one; nil after the batch with `.completed`.
    ///
    /// When none is ready, it returns those of the next step: up to 64 KiB of available messages, and the one that
    /// exceeds this. It and `next()` take from the same queue.
    nonisolated(nonsending) package func nextBatch() async throws -> [ChappieStreamEvent]? {
        let isCancelled = self.beginReading()
        return try await self.work(isCancelled: isCancelled) {
            self.shared.withLock { $0.takeAll(orOf: &self.reader.queue) }
        }
    }

    /// Returns the next events for a sequence that hands them out one by one.
    ///
    /// Of a response that can be resumed it is one event, so that `resumePoint` is exact behind each.
    nonisolated(nonsending) package func nextOfSequence() async throws -> [ChappieStreamEvent]? {
        let isCancelled = self.beginReading()
        return try await self.work(isCancelled: isCancelled) {
            self.shared.withLock { shared in
                guard self.isKept else { return shared.takeAll(orOf: &self.reader.queue) }
                return shared.takeFirst(refillingFrom: &self.reader.queue).map { [$0] }
            }
        }
    }

    /// Marks the stream as read; returns whether it was cancelled.
    private func beginReading() -> Bool {
        let isCancelled = self.shared.withLock { shared in
            precondition(!shared.isBusy, "a stream is read by one task at a time")
            shared.isBusy = true
            return shared.isCancelled
        }
        // The consumer's time for the previous batch is not the server's.
        self.tookLastOfBatch()
        return isCancelled
    }

    @inline(__always)
    private func takeReady(into event: inout ChappieStreamEvent) -> SharedTurnState.Ready {
        // There is no closure, which would cost as much as the lock.
        self.shared.lock()
        defer { self.shared.unlock() }
        return unsafe self.shared.value.pointee.takeReady(into: &event)
    }

    /// Works until `take` has found a result for the consumer, or the end.
    private func work<Taken: Sendable>(
        isCancelled: Bool, _ take: @Sendable () -> Taken?
    ) async throws -> Taken? {
        if isCancelled, self.outcome == nil { self.stop() }
        self.meter.restartSlice()
        if let taken = take() { return taken }
        while true {
            if let outcome = self.outcome {
                self.shared.withLock { $0.isBusy = false }
                guard let error = outcome.error else { return nil }
                // Only the first `next()` after a failure throws: a sequence that has thrown is over.
                self.outcome = .completed
                throw error
            }
            await self.advance()
            // No other call makes events, so that an empty queue needs no lock.
            if self.reader.queue.count > 0, let taken = take() { return taken }
        }
    }

    /// Performs one step of the turn: one action, or one event of the connection.
    ///
    /// It runs where `work` does, so that an event needs no change of executors.
    nonisolated(nonsending) private func advance() async {
        if self.shared.isGivenUp { return self.stop() }
        guard self.deadlines.startedAt != nil else { return await self.begin() }
        switch self.performNow() {
        case .nothing: break
        case .receive: await self.receive()
        case .action: await self.performAction()
        }
        self.noteReplaySafety()
    }

    // MARK: The beginning

    /// Does the initial work: reading the request, the credential, the first action.
    private func begin() async {
        self.deadlines.begin(at: self.engine.clock.now())
        self.recorder.began(on: self.transport)
        guard self.isAdmitted(), let sender = self.readRequest(), self.isPermitted() else { return }
        do {
            try await self.refreshCredential(sender, .connecting)
        } catch {
            return self.endUnanswered(error)
        }
        self.start(sender)
    }

    /// Asks for the right to run; returns false when that ends the turn.
    @inline(never)
    private func isAdmitted() -> Bool {
        if self.request.isAdmitted { return true }
        if self.control.admit() { return true }
        self.end(.failed(ChappieClientError(shutDown: self.transport, of: self.identity)))
        return false
    }

    /// Reads the request; returns nil when it cannot be sent, which ends the turn.
    @inline(never)
    private func readRequest() -> RequestSender? {
        if let fault = self.request.faultOfProperty {
            self.end(invalid: fault)
            return nil
        }
        do throws(ResponseRequestBodyError) {
            self.sender = try RequestSender(
                self.engine, self.request, identity: self.identity, self.control)
            self.reader.lane = self.sender?.outgoing.streamID
        } catch {
            self.end(.failed(ChappieClientError(invalidBody: error, transport: self.transport, of: self.identity)))
        }
        return self.sender
    }

    /// Asks the circuit breaker; returns false when it ends the turn.
    @inline(never)
    private func isPermitted() -> Bool {
        // A request that only prepares the server is no evidence about it.
        if self.request.isWarmUp { return true }
        guard let retryAfter = self.ticket.ask() else { return true }
        self.end(.failed(ChappieClientError(circuitOpenFor: retryAfter, transport: self.transport, of: self.identity)))
        return false
    }

    /// Asks for the first action.
    @inline(never)
    private func start(_ sender: RequestSender) {
        if let fault = sender.fault { return self.end(invalid: fault) }
        let configuration = self.engine.configuration
        self.engine.prepare(
            for: sender.credential, sender.configuration, lane: sender.outgoing.keptLane, begins: !self.request.isWarmUp
        )
        let availability = sender.webSocketAvailability
        guard !self.request.isWarmUp || configuration.policy.prefersWebSocket && availability == .available else {
            return self.end(invalid: "a warm-up needs a WebSocket")
        }
        self.isKept =
            self.request.resumption != nil
            || sender.outgoing.isResumable && configuration.policy.recovery != .never
        self.reader.machine = TurnStateMachine(
            policy: self.request.isWarmUp ? .once : RetryPolicy(configuration), webSocket: availability,
            isResumable: sender.outgoing.isResumable, asksBeforeSending: self.control.permission.isAsked,
            outputByteCountLimit: configuration.limits.outputByteCount, resuming: self.request.resumption)
        self.action = self.reader.machine.started()
    }

    /// Asks the program for a credential, whose secrets are redacted from the server's text from then on.
    ///
    /// - Returns: whether it is a new one.
    @discardableResult
    func refreshCredential(
        _ sender: RequestSender, _ request: ChappieTransportConfiguration.CredentialRequest
    ) async throws -> Bool {
        let isNew = try await sender.refreshCredential(request, by: self.deadlines.end)
        self.reader.redaction.add(sender.credential)
        return isNew
    }

    // MARK: The end

    /// Ends the turn, once.
    func end(_ outcome: Outcome) {
        guard self.outcome == nil else { return }
        self.outcome = outcome
        self.control.leave()
        self.noteReplaySafety()
        self.recorder.measured(self.meter.summary)
        if let startedAt = self.deadlines.startedAt {
            self.recorder.ended(with: outcome.error, after: self.engine.clock.now() - startedAt, self.facts)
        }
        self.ticket.answer(outcome.error)
    }

    private func end(invalid fault: String) {
        self.end(.failed(ChappieClientError(invalidRequest: fault, transport: self.transport, of: self.identity)))
    }

    /// Ends the turn as cancelled.
    @inline(never)
    func stop() {
        _ = self.reader.machine.cancelled()
        // Decoded events that were not taken are no longer wanted.
        self.reader.queue.removeAll()
        self.shared.withLock { $0.dropReady() }
        self.closeAttempt(outcome: "cancelled")
        self.end(.failed(self.control.steering.refusal ?? CancellationError()))
    }

    /// Ends the turn because the program has not answered a question: with its error, as cancelled, or late.
    func endUnanswered(_ error: any Error) {
        if self.shared.isGivenUp { return self.stop() }
        guard error is ProgramQuestions.TotalPassedError else {
            self.closeAttempt(outcome: "cancelled")
            return self.end(.failed(error))
        }
        let failure = AttemptFailure.timeout(.total)
        let late = self.redaction.error(self.reader.evidence.error(for: failure, self.circumstances))
        // The program was slow, rather than the server.
        self.control.abandonTicket()
        self.closeAttempt(outcome: failure.tag)
        self.end(.failed(late))
    }

    // MARK: Reporting

    /// Appends an event for the consumer; all events that are not output pass here, so that they contain no secret.
    func deliver(_ event: ChappieStreamEvent) { self.reader.deliver(event) }

    /// Appends a diagnostic, when the consumer wants any.
    func report(_ diagnostic: ChappieDiagnostic) { self.reader.report(diagnostic) }

    /// Keeps the report exact while the turn runs: its consumer may drop the stream between any two events.
    @inline(never)
    private func noteReplaySafety() {
        self.recorder.noteSafety(self.reader.machine.replaySafetyInPlace())
    }

    /// The facts about the turn in its log lines.
    private var facts: TurnRecorder.Facts {
        TurnRecorder.Facts(
            attemptCount: self.reader.machine.attemptCount, transport: self.transport,
            serverRequestID: self.reader.evidence.requestID)
    }

    /// The facts about the turn in its error.
    var circumstances: FailureEvidence.Circumstances {
        FailureEvidence.Circumstances(
            attempt: self.attempts.current,
            statistics: self.attempts.current.map { self.attempts.statistics(of: $0) },
            transport: self.transport, attemptCount: self.reader.machine.attemptCount,
            replaySafety: self.reader.machine.replaySafety, now: self.engine.clock.now())
    }

    // MARK: From any task

    /// Closes the connection and ends the stream with `CancellationError`.
    package func cancel() { self.control.cancel() }

    /// Adds items to the response that is being made.
    ///
    /// From then on the request is not sent again, because that would lose them: a failure ends the turn.
    package func steer(_ input: [UInt8]) throws { try self.control.steer(input) }

    /// The server's message about the error that ended the turn.
    package var serverMessage: String? { self.shared.withLock { $0.serverMessage } }

    /// The complete response, without its text; nil before its end.
    package var response: ChappieResponse? { self.shared.withLock { $0.response } }

    /// The position behind the events that the consumer has taken; nil when another turn could not continue there.
    package var resumePoint: ChappieResumePoint? { self.shared.withLock { $0.resumePoint } }

    /// The turn's report so far.
    package var report: ChappieStreamReport { self.control.report.withLock { $0 } }
}
