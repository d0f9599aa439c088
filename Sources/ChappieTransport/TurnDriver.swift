import ResponseEvents
import ServerSentEvents
import StreamSession
import StreamTransport

/// Performs one turn: takes what the connection reports, asks the state machine, does what it says.
///
/// It has no policy. `next()` belongs to the stream's one consumer, whose task does all the work; `cancel()` and
/// `report` may be called from anywhere.
/// - Safety: everything but `shared` is touched inside `next()` only, and `shared.isBusy` lets one `next()` in at a time.
@safe package final class TurnDriver: StreamedTurn, @unchecked Sendable {
    /// What other tasks may touch.
    struct Shared {
        var isBusy = false
        var isCancelled = false
        /// The connections of the attempts.
        var connections: [any TransportConnection] = []
        /// Ends what the turn waits for that is no connection: a delay, or the source of credentials.
        var interrupt: (@Sendable () -> Void)?
        /// Events that the consumer can take without anything being done for them.
        var ready = EventQueue()
        var serverMessage: String?
        /// What the circuit breaker wants to have answered, once: at the turn's end, or when its stream is dropped.
        var ticket: CircuitBreaker.Ticket?
        var steering = Steering()

        /// Takes the event that is ready, unless the stream was cancelled.
        @inline(__always)
        mutating func takeReady(into event: inout ChappieStreamEvent) -> Ready {
            precondition(!self.isBusy, "a stream is read by one task at a time")
            let hasEvent = !self.isCancelled && self.ready.take(into: &event)
            guard hasEvent, self.ready.count > 0 else {
                self.isBusy = true
                return hasEvent ? .lastEvent : .nothing
            }
            return .event
        }
    }

    /// What a consumer finds ready.
    enum Ready {
        case event
        /// An event, and nothing behind it: the caller is the one who works, until it says otherwise.
        case lastEvent
        /// No event: the same.
        case nothing
    }

    let engine: Engine
    let request: ChappieTransportRequest
    /// What the request is called.
    let identity: RequestIdentity
    let shared = LockedValue(Shared())
    private let liveReport = LockedValue(ChappieStreamReport())

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
    @safe @exclusivity(unchecked) var outcome: Outcome?

    /// The request in the form in which it goes out; nil before the turn has begun.
    var outgoing: OutgoingRequest?
    /// Whether an attempt has failed.
    var hasFailed = false
    /// Whether the circuit breaker has let the turn through to see whether the server has recovered.
    var isProbe = false
    var parser: EventStreamParser
    var credential: ChappieCredential? { didSet { self.reader.redaction.add(self.credential) } }
    /// What the last failure leaves for the error: the body of an HTTP error, the response that failed.
    var evidence = FailureEvidence()
    /// The transport of the newest attempt.
    var transport: ChappieTransportKind
    /// The newest attempt that the consumer was told of before its delay.
    var announcedAttempt = 0

    /// How a turn ends.
    enum Outcome {
        case completed
        case failed(any Error)
    }

    init(engine: Engine, request: ChappieTransportRequest) {
        self.engine = engine
        self.request = request
        self.identity = RequestIdentity(requestID: request.requestID, traceContext: request.traceContext)
        let watch = RequestWatch(engine.configuration, identity: self.identity)
        self.recorder = TurnRecorder(watch, report: self.liveReport)
        self.deadlines = Deadlines(
            engine.configuration.timeouts,
            tellsOfStalls: engine.configuration.reportsDiagnostics || watch.isLogging)
        self.transport = engine.configuration.policy.prefersWebSocket ? .webSocket : .httpSSE
        self.reader = EventReader(
            machine: TurnStateMachine(policy: RetryPolicy(engine.configuration)),
            options: EventReader.Options(engine.configuration, request), redaction: engine.redaction)
        self.parser = EventStreamParser(maximumEventByteCount: engine.configuration.limits.eventByteCount)
    }

    deinit { self.noteDropped() }

    /// Takes the credentials of the turn out of the server's words.
    ///
    /// It belongs to the stream's one consumer.
    package var redaction: SecretRedaction { self.reader.redaction }

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
            return try await self.work { self.finishWork() }
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
        return try await self.work { self.finishBatch() }
    }

    @inline(__always)
    private func takeReady(into event: inout ChappieStreamEvent) -> Ready {
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
                try self.end(with: outcome)
                return nil
            }
            await self.advance()
        }
    }

    /// Makes what was read ready for the consumer, and takes the first of it; nil when there is nothing.
    private func finishWork() -> ChappieStreamEvent? {
        self.shared.withLock { shared in
            // What is ready but was left because of a cancellation comes first.
            if shared.ready.count == 0 {
                shared.ready.removeAll()
                swap(&shared.ready, &self.reader.queue)
            }
            var event = ChappieStreamEvent.completed
            guard shared.ready.take(into: &event) else { return nil }
            shared.isBusy = false
            return event
        }
    }

    /// Takes everything that was read; nil when there is nothing.
    private func finishBatch() -> [ChappieStreamEvent]? {
        self.shared.withLock { shared in
            // What `next()` has left comes first.
            let batch = shared.ready.count > 0 ? shared.ready.takeAll() : self.reader.queue.takeAll()
            guard !batch.isEmpty else { return nil }
            shared.isBusy = false
            return batch
        }
    }

    private func end(with outcome: Outcome) throws {
        switch outcome {
        case .completed: return
        case .failed(let error):
            // Only the first `next()` after a failure throws: a sequence that has thrown is over.
            self.outcome = .completed
            throw error
        }
    }

    /// Ends the turn, once.
    func end(_ outcome: Outcome) {
        guard self.outcome == nil else { return }
        self.outcome = outcome
        self.noteReplaySafety()
        self.recorder.measured(self.meter.summary)
        if let startedAt = self.deadlines.startedAt {
            var error: (any Error)?
            if case .failed(let reason) = outcome { error = reason }
            self.recorder.ended(with: error, after: self.engine.clock.now() - startedAt, self.facts)
        }
        self.answerBreaker(outcome)
    }

    /// Appends an event for the consumer.
    ///
    /// Whatever is not output goes through here, so that no secret of the turn is in it.
    func deliver(_ event: ChappieStreamEvent) {
        self.reader.deliver(event)
    }

    /// Appends news, when the consumer wants any.
    func report(_ diagnostic: ChappieDiagnostic) {
        self.reader.report(diagnostic)
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

    /// Keeps the report exact while the turn runs: its consumer may drop the stream between any two events.
    @inline(never)
    private func noteReplaySafety() {
        self.recorder.noteSafety(ChappieReplaySafety(self.reader.machine.replaySafetyInPlace()))
    }

    /// What is told of the turn as a whole.
    private var facts: TurnRecorder.Facts {
        TurnRecorder.Facts(
            attemptCount: self.reader.machine.attemptCount, transport: self.transport,
            serverRequestID: self.evidence.requestID)
    }

    /// The stream was dropped before the end of its turn.
    private func noteDropped() {
        self.abandonTicket()
        guard self.outcome == nil, let startedAt = self.deadlines.startedAt else { return }
        self.recorder.cancelled(after: self.engine.clock.now() - startedAt, self.facts)
    }

    /// Everything that is done once: reading the request, the credential, the first action.
    private func begin() async {
        self.deadlines.begin(at: self.engine.clock.now())
        self.recorder.began(on: self.transport)
        guard self.readRequest(), self.isPermitted() else { return }
        do {
            self.credential = try await self.askForCredential(.connecting)
        } catch {
            return self.endUnanswered(error)
        }
        self.start()
    }

    /// Reads the request; false when it cannot be sent, which ends the turn.
    @inline(never)
    private func readRequest() -> Bool {
        guard self.request.hasValidLane else {
            let fault = "a lane's name has 1 to 256 letters, digits and characters of _ . -"
            self.end(.failed(ChappieClientError(invalidRequest: fault, transport: self.transport, of: self.identity)))
            return false
        }
        do {
            let outgoing = try OutgoingRequest(
                self.request, usesLanes: self.engine.configuration.usesLanes, metadata: self.metadata)
            self.reader.lane = outgoing.streamID
            self.outgoing = outgoing
            return true
        } catch {
            self.end(.failed(ChappieClientError(invalidBody: error, transport: self.transport, of: self.identity)))
            return false
        }
    }

    /// What goes with a WebSocket's message about the request itself.
    private var metadata: [String: String] {
        self.engine.configuration.sendsClientMetadata ? self.identity.metadata : [:]
    }

    /// Asks for the first action.
    @inline(never)
    private func start() {
        guard let outgoing = self.outgoing else { return }
        self.engine.prepare(for: self.credential, lane: outgoing.keptLane, begins: !self.request.isWarmUp)
        let availability = self.webSocketAvailability(for: outgoing)
        guard !self.request.isWarmUp || self.canWarmUp(availability) else {
            let fault = "a warm-up needs a WebSocket"
            return self.end(
                .failed(ChappieClientError(invalidRequest: fault, transport: self.transport, of: self.identity)))
        }
        let configuration = self.engine.configuration
        self.reader.machine = TurnStateMachine(
            policy: self.request.isWarmUp ? .once : RetryPolicy(configuration), webSocket: availability,
            isResumable: outgoing.isResumable, asksBeforeSending: self.asksBeforeSending,
            outputByteCountLimit: configuration.limits.outputByteCount)
        self.action = self.reader.machine.started()
    }

    /// Whether a request that only prepares the server can do so.
    private func canWarmUp(_ availability: TurnStateMachine.WebSocketAvailability) -> Bool {
        self.engine.configuration.policy.prefersWebSocket && availability == .available
    }

    /// Ends the turn as cancelled.
    @inline(never)
    func stop() {
        _ = self.reader.machine.cancelled()
        // What is decoded and was not taken is not wanted any more.
        self.reader.queue.removeAll()
        self.shared.withLock { $0.ready.removeAll() }
        self.closeAttempt(outcome: "cancelled")
        self.end(.failed(self.stopReason))
    }

    // MARK: Anyone

    /// Closes the connection and ends the stream with `CancellationError`.
    package func cancel() {
        let (connections, interrupt) = self.shared.withLock { shared in
            shared.isCancelled = true
            return (shared.connections, shared.interrupt)
        }
        interrupt?()
        for connection in connections { connection.cancel() }
        // A turn whose consumer has stopped reading never comes to its end.
        self.abandonTicket()
    }

    /// The server's own words about the error that ended the turn.
    package var serverMessage: String? { self.shared.withLock { $0.serverMessage } }

    /// What the turn went through so far.
    package var report: ChappieStreamReport { self.liveReport.withLock { $0 } }
}
