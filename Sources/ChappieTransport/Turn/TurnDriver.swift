import ResponseEvents
import ServerSentEvents
import StreamSession
import StreamTransport

/// Performs one turn: takes what the connection reports, asks the state machine, does what it says.
///
/// It has no policy. `next()` belongs to the stream's one consumer, whose task does all the work; `cancel()`,
/// `steer(_:)` and `report` may be called from anywhere.
/// - Safety: everything but constants is touched inside `next()` only, and `shared.isBusy` lets one `next()` in at a
///   time.
@safe package final class TurnDriver: StreamedTurn, @unchecked Sendable {
    let engine: Engine
    private let request: ChappieTransportRequest
    private let identity: RequestIdentity
    let shared = LockedValue(SharedTurnState())
    private let liveReport = LockedValue(ChappieStreamReport())
    let steering = Steering()
    let questions: ProgramQuestions
    let permission: SendingPermission

    // The parts that an event goes through. One task at a time uses them, so their exclusive access is not checked again.

    /// Reads the events, and decides what the turn does.
    @safe @exclusivity(unchecked) var reader: EventReader
    /// The action that is performed next; nil while the connection has to say what it is.
    @safe @exclusivity(unchecked) var action: TurnStateMachine.Action?
    /// The attempts that have a connection.
    @safe @exclusivity(unchecked) var attempts = AttemptPair()
    /// When batches of events came, and output among them.
    @safe @exclusivity(unchecked) var meter = BatchMeter()
    @safe @exclusivity(unchecked) var deadlines: Deadlines
    /// Tells the program's log and metrics, and keeps the report.
    @safe @exclusivity(unchecked) var recorder: TurnRecorder
    /// The end of the stream once no event waits any more: nil while it runs.
    @safe @exclusivity(unchecked) private(set) var outcome: Outcome?

    /// Opens connections and sends the request; nil before the turn has begun.
    private(set) var sender: RequestSender?
    /// Indicates whether an attempt has failed.
    var hasFailed = false
    /// Indicates whether the circuit breaker has let the turn through to see whether the server has recovered.
    private var isProbe = false
    var parser: EventStreamParser
    /// The transport of the newest attempt.
    var transport: ChappieTransportKind
    /// The newest attempt that the consumer was told of before its delay.
    var announcedAttempt = 0

    /// How a turn ends.
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
        self.questions = ProgramQuestions(clock: engine.clock)
        self.permission = SendingPermission(configuration, requestID: self.identity.requestID)
        let watch = RequestWatch(configuration, identity: self.identity)
        self.recorder = TurnRecorder(watch, report: self.liveReport)
        self.deadlines = Deadlines(
            configuration.timeouts, tellsOfStalls: configuration.reportsDiagnostics || watch.isLogging)
        self.transport = configuration.policy.prefersWebSocket ? .webSocket : .httpSSE
        self.reader = EventReader(
            machine: TurnStateMachine(policy: RetryPolicy(configuration)),
            options: EventReader.Options(configuration, request), redaction: engine.redaction,
            evidence: FailureEvidence(
                clientRequestID: self.identity.requestID, bodyByteCountLimit: configuration.limits.errorBodyByteCount),
            steering: self.steering)
        self.parser = EventStreamParser(maximumEventByteCount: configuration.limits.eventByteCount)
    }

    /// The stream may be dropped before the end of its turn.
    deinit {
        self.abandonTicket()
        guard self.outcome == nil, let startedAt = self.deadlines.startedAt else { return }
        self.recorder.cancelled(after: self.engine.clock.now() - startedAt, self.facts)
    }

    /// Takes the credentials of the turn out of the server's words.
    ///
    /// It belongs to the stream's one consumer.
    package var redaction: SecretRedaction { self.reader.redaction }

    /// What the response leaves behind, once it is complete; nil before, and when its items are too large to be kept.
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

    /// The next event; nil after `.completed`.
    ///
    /// It stays where its caller runs: an event that is ready is there without a change of executors.
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
            return try await self.work {
                self.shared.withLock { $0.takeFirst(refillingFrom: &self.reader.queue) }
            }
        }
    }

    /// The events that are ready, in order and never none; nil after the batch with `.completed`.
    ///
    /// When none is, those that the next step makes: up to 64 KiB of messages that lie there, and the one that passes
    /// this. It and `next()` take from the same queue.
    nonisolated(nonsending) package func nextBatch() async throws -> [ChappieStreamEvent]? {
        self.shared.withLock { shared in
            precondition(!shared.isBusy, "a stream is read by one task at a time")
            shared.isBusy = true
        }
        // The time that the consumer has had for the batch before is none of the server's.
        self.tookLastOfBatch()
        return try await self.work { self.shared.withLock { $0.takeAll(orOf: &self.reader.queue) } }
    }

    @inline(__always)
    private func takeReady(into event: inout ChappieStreamEvent) -> SharedTurnState.Ready {
        // Without a closure, which would cost as much as the lock.
        self.shared.lock()
        defer { self.shared.unlock() }
        return unsafe self.shared.value.pointee.takeReady(into: &event)
    }

    /// Goes on until `take` has found something for the consumer, or the end.
    private func work<Taken: Sendable>(_ take: @Sendable () -> Taken?) async throws -> Taken? {
        let isCancelled = self.shared.withLock { $0.isCancelled }
        if isCancelled, self.outcome == nil { self.stop() }
        self.meter.restartSlice()
        while true {
            if let taken = take() { return taken }
            if let outcome = self.outcome {
                self.shared.withLock { $0.isBusy = false }
                guard let error = outcome.error else { return nil }
                // Only the first `next()` after a failure throws: a sequence that has thrown is over.
                self.outcome = .completed
                throw error
            }
            await self.advance()
        }
    }

    /// One step of the turn: one action, or one thing from the connection.
    private func advance() async {
        if self.isGivenUp { return self.stop() }
        guard self.deadlines.startedAt != nil else { return await self.begin() }
        switch self.performNow() {
        case .nothing: break
        case .receive: await self.receive()
        case .action: await self.performAction()
        }
        self.noteReplaySafety()
    }

    /// Indicates whether the stream was cancelled, or the task that reads it.
    var isGivenUp: Bool { self.shared.withLock { $0.isCancelled } || Task.isCancelled }

    // MARK: The beginning

    /// Everything that is done once: reading the request, the credential, the first action.
    private func begin() async {
        self.deadlines.begin(at: self.engine.clock.now())
        self.recorder.began(on: self.transport)
        guard let sender = self.readRequest(), self.isPermitted() else { return }
        do {
            try await self.refreshCredential(sender, .connecting)
        } catch {
            return self.endUnanswered(error)
        }
        self.start(sender)
    }

    /// Reads the request; nil when it cannot be sent, which ends the turn.
    @inline(never)
    private func readRequest() -> RequestSender? {
        guard self.request.hasValidLane else {
            self.end(invalid: "a lane's name has 1 to 256 letters, digits and characters of _ . -")
            return nil
        }
        do throws(ResponseRequestBodyError) {
            self.sender = try RequestSender(
                self.engine, self.request, identity: self.identity, shared: self.shared, questions: self.questions,
                permission: self.permission)
            self.reader.lane = self.sender?.outgoing.streamID
        } catch {
            self.end(.failed(ChappieClientError(invalidBody: error, transport: self.transport, of: self.identity)))
        }
        return self.sender
    }

    /// Asks the circuit breaker; false when it ends the turn.
    @inline(never)
    private func isPermitted() -> Bool {
        // A request that only prepares the server is no evidence about it.
        if self.request.isWarmUp { return true }
        switch self.engine.permission() {
        case .allowed(let ticket):
            self.shared.withLock { $0.ticket = ticket }
        case .probe(let ticket):
            self.shared.withLock { $0.ticket = ticket }
            self.isProbe = true
        case .refused(let retryAfter):
            self.end(
                .failed(ChappieClientError(circuitOpenFor: retryAfter, transport: self.transport, of: self.identity)))
            return false
        }
        return true
    }

    /// Asks for the first action.
    @inline(never)
    private func start(_ sender: RequestSender) {
        let configuration = self.engine.configuration
        self.engine.prepare(
            for: sender.credential, lane: sender.outgoing.keptLane, begins: !self.request.isWarmUp)
        let availability = sender.webSocketAvailability
        guard !self.request.isWarmUp || configuration.policy.prefersWebSocket && availability == .available else {
            return self.end(invalid: "a warm-up needs a WebSocket")
        }
        self.reader.machine = TurnStateMachine(
            policy: self.request.isWarmUp ? .once : RetryPolicy(configuration), webSocket: availability,
            isResumable: sender.outgoing.isResumable, asksBeforeSending: self.permission.isAsked,
            outputByteCountLimit: configuration.limits.outputByteCount)
        self.action = self.reader.machine.started()
    }

    /// Asks the program for a credential, whose secrets are taken out of the server's words from then on.
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
        self.noteReplaySafety()
        self.recorder.measured(self.meter.summary)
        if let startedAt = self.deadlines.startedAt {
            self.recorder.ended(with: outcome.error, after: self.engine.clock.now() - startedAt, self.facts)
        }
        guard let ticket = self.takeTicket() else { return }
        self.engine.answered(ticket, outcome.error)
    }

    private func end(invalid fault: String) {
        self.end(.failed(ChappieClientError(invalidRequest: fault, transport: self.transport, of: self.identity)))
    }

    /// Ends the turn as cancelled.
    @inline(never)
    func stop() {
        _ = self.reader.machine.cancelled()
        // What is decoded and was not taken is not wanted any more.
        self.reader.queue.removeAll()
        self.shared.withLock { $0.ready.removeAll() }
        self.closeAttempt(outcome: "cancelled")
        self.end(.failed(self.steering.refusal ?? CancellationError()))
    }

    /// Ends the turn because the program has not answered a question: with its error, as cancelled, or late.
    func endUnanswered(_ error: any Error) {
        if self.isGivenUp { return self.stop() }
        guard error is ProgramQuestions.TotalPassedError else {
            self.closeAttempt(outcome: "cancelled")
            return self.end(.failed(error))
        }
        let failure = AttemptFailure.timeout(.total)
        let late = self.redaction.error(self.reader.evidence.error(for: failure, self.circumstances))
        // The program was slow, and not the server.
        self.abandonTicket()
        self.closeAttempt(outcome: failure.tag)
        self.end(.failed(late))
    }

    /// The server works: others need not wait for the end of a turn that was let through to find that out.
    func serverAnswered() {
        guard self.isProbe, let ticket = self.takeTicket() else { return }
        self.engine.answered(ticket, nil)
    }

    /// The turn says nothing about the server, and another one may be let through in its place; any task may call it.
    private func abandonTicket() {
        guard let ticket = self.takeTicket() else { return }
        self.engine.abandoned(ticket)
    }

    private func takeTicket() -> CircuitBreaker.Ticket? { self.shared.withLock { $0.ticket.take() } }

    // MARK: Telling

    /// Appends an event for the consumer; whatever is not output goes through here, so that no secret is in it.
    func deliver(_ event: ChappieStreamEvent) { self.reader.deliver(event) }

    /// Appends news, when the consumer wants any.
    func report(_ diagnostic: ChappieDiagnostic) { self.reader.report(diagnostic) }

    /// Keeps the report exact while the turn runs: its consumer may drop the stream between any two events.
    @inline(never)
    private func noteReplaySafety() {
        self.recorder.noteSafety(ChappieReplaySafety(self.reader.machine.replaySafetyInPlace()))
    }

    /// The facts about the turn that its log lines have.
    private var facts: TurnRecorder.Facts {
        TurnRecorder.Facts(
            attemptCount: self.reader.machine.attemptCount, transport: self.transport,
            serverRequestID: self.reader.evidence.requestID)
    }

    /// The facts about the turn that its error has.
    var circumstances: FailureEvidence.Circumstances {
        FailureEvidence.Circumstances(
            attempt: self.attempts.current,
            statistics: self.attempts.current.map { self.attempts.statistics(of: $0) },
            transport: self.transport, attemptCount: self.reader.machine.attemptCount,
            replaySafety: ChappieReplaySafety(self.reader.machine.replaySafety), now: self.engine.clock.now())
    }

    // MARK: Anyone

    /// Closes the connection and ends the stream with `CancellationError`.
    package func cancel() {
        let connections = self.shared.withLock { shared in
            shared.isCancelled = true
            return shared.connections
        }
        self.questions.giveUp()
        _ = self.steering.end()
        for connection in connections { connection.cancel() }
        // A turn whose consumer has stopped reading never comes to its end.
        self.abandonTicket()
    }

    /// Puts items into the response that is being made.
    ///
    /// From then on the request is not sent again, because that would lose them: a failure ends the turn.
    package func steer(_ input: [UInt8]) throws {
        let attempt = self.report.attempts.last?.number ?? 1
        try self.steering.steer(input, self.permission, attempt: attempt) { self.cancel() }
    }

    /// The server's own words about the error that ended the turn.
    package var serverMessage: String? { self.shared.withLock { $0.serverMessage } }

    /// What the turn went through so far.
    package var report: ChappieStreamReport { self.liveReport.withLock { $0 } }
}
