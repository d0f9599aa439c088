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
    private let request: TurnRequest
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
    @safe @exclusivity(unchecked) var attempts: AttemptPair
    @safe @exclusivity(unchecked) var deadlines: Deadlines
    /// Informs the program's log and metrics, and keeps the report.
    @safe @exclusivity(unchecked) var recorder: TurnRecorder
    @safe @exclusivity(unchecked) var ticket: TurnTicket
    /// The end of the stream once no event waits any more; nil while it runs.
    @safe @exclusivity(unchecked) private var outcome: Result<Void, any Error>?

    /// Opens connections and sends the request; nil before the turn has begun.
    private(set) var sender: RequestSender?
    var parser: EventStreamParser

    init(engine: Engine, request: ChappieTransportRequest) {
        let configuration = engine.configuration
        self.engine = engine
        self.request = TurnRequest(request)
        let identity = self.request.identity
        self.control = TurnControl(engine, requestID: identity.requestID, resuming: request.resumption)
        self.shared = self.control.shared
        self.ticket = TurnTicket(engine, self.control)
        self.recorder = TurnRecorder(
            RequestWatch(configuration, identity: identity), of: request.subject, report: self.control.report)
        self.deadlines = Deadlines(
            request.timeouts?.bounded ?? configuration.timeouts,
            tellsOfStalls: configuration.reportsDiagnostics || self.recorder.isLogging)
        self.attempts = AttemptPair(self.shared)
        self.reader = EventReader(engine, request, requestID: identity.requestID, self.control.steering)
        self.parser = EventStreamParser(maximumEventByteCount: configuration.limits.eventByteCount)
    }

    /// The stream may be dropped before the end of its turn.
    deinit {
        self.control.abandonTicket()
        guard self.outcome == nil, let startedAt = self.deadlines.startedAt else { return }
        self.recorder.dropped(after: self.now - startedAt, self.reader.facts)
    }

    /// Removes the credentials of the turn from the server's text; for the stream's one consumer.
    package var redaction: SecretRedaction { self.reader.redaction }

    /// The result of the complete response, for the stream's one consumer; nil before, and when its items are too large.
    package var completedResponse: CompletedResponse? {
        self.reader.completedResponse(of: self.sender?.outgoing)
    }

    // MARK: The consumer

    /// Returns the next event, a ready one without a change of executors; nil after `.completed`.
    nonisolated(nonsending) package func next() async throws -> ChappieStreamEvent? {
        var event = ChappieStreamEvent.completed
        switch self.shared.takeReady(into: &event) {
        case .event:
            return event
        case .lastEvent:
            self.tookLastOfBatch()
            self.shared.withLock { $0.isBusy = false }
            return event
        case .occupied:
            throw SharedTurnState.refusal
        case .nothing:
            return try await self.work(isCancelled: self.shared.withLock { $0.isCancelled }) {
                self.shared.withLock { $0.takeFirst(refillingFrom: &self.reader.queue) }
            }
        }
    }

    /// Returns the events that are ready, or those of the next step: up to 64 KiB of available messages, and the one
    /// that exceeds this; nil after the batch with `.completed`.
    nonisolated(nonsending) package func nextBatch() async throws -> [ChappieStreamEvent]? {
        try await self.work(isCancelled: try self.beginReading()) {
            self.shared.withLock { $0.takeAll(orOf: &self.reader.queue) }
        }
    }

    /// Returns the next events for a sequence: one if the response can be resumed, so that `resumePoint` is exact.
    nonisolated(nonsending) package func nextOfSequence() async throws -> [ChappieStreamEvent]? {
        _ = try self.beginReading()
        return try await self.restOfSequence()
    }

    /// Returns the next events for a sequence whose step was `other`.
    nonisolated(nonsending) package func restOfSequence() async throws -> [ChappieStreamEvent]? {
        try await self.work(isCancelled: self.shared.withLock { $0.isCancelled }) {
            self.shared.withLock { $0.takeAll(orOf: &self.reader.queue, oneByOne: self.reader.isKept) }
        }
    }

    /// Marks the stream as read; returns whether it was cancelled.
    private func beginReading() throws -> Bool {
        guard let isCancelled = self.shared.withLock({ $0.beginReading() }) else { throw SharedTurnState.refusal }
        // The consumer's time for the previous batch is not the server's.
        self.tookLastOfBatch()
        return isCancelled
    }

    /// Works until `take` has found a result for the consumer, or the end.
    private func work<Taken: Sendable>(
        isCancelled: Bool, _ take: @Sendable () -> Taken?
    ) async throws -> Taken? {
        if isCancelled, self.outcome == nil { self.stop() }
        self.reader.meter.restartSlice()
        if let taken = take() { return taken }
        while true {
            if let outcome = self.outcome {
                self.shared.withLock { $0.isBusy = false }
                // Only the first `next()` after a failure throws: a sequence that has thrown is over.
                self.outcome = .success(())
                try outcome.get()
                return nil
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
        if !self.performNow() {
            if self.action == nil { await self.receive() } else { await self.performAction() }
        }
        self.noteReplaySafety()
    }

    // MARK: The consumer, in steps

    // They serve the middle of a response, where nothing is to be done but to read and to wait; `work` does all else.
    // They are synchronous: the one function that waits is `EventBatchReader.nextOfSequence(reusing:)`.

    package var readsInSteps: Bool { true }

    /// Indicates whether nothing is to be done but to read one connection, and to wait for it.
    private var isInTheMiddle: Bool {
        self.action == nil && self.outcome == nil && self.deadlines.startedAt != nil && !self.attempts.isRace
    }

    package func beginStepOfSequence(reusing memory: consuming [ChappieStreamEvent]) -> SequenceStep {
        var hasReady = false
        let isCancelled = self.shared.withLock { state in
            hasReady = state.ready.count > 0
            return state.beginReading()
        }
        guard let isCancelled else { return .refused }
        // `work` ends the turn.
        guard !isCancelled, self.isInTheMiddle else { return .other }
        // The consumer's time for the previous batch is not the server's.
        let now = self.tookLastOfBatch()
        self.reader.meter.restartSlice()
        self.reader.queue.reuse(memory)
        if hasReady || self.reader.queue.count > 0, let events = self.takeOfSequence() { return .events(events) }
        return self.continueSequence(at: now)
    }

    package func stepOfSequence(after outcome: TransportWaitOutcome) -> SequenceStep {
        // A passed deadline is examined when nothing has arrived: data that came in the last moment counts.
        let isCancelled = if case .cancelled = outcome { true } else { self.shared.withLock { $0.isCancelled } }
        guard isCancelled else { return self.continueSequence(at: nil) }
        self.stop()
        return .other
    }

    /// Reads what has arrived, up to the next events for the consumer; `now` is the present time if it is known.
    private func continueSequence(at now: Moment?) -> SequenceStep {
        var now = now
        while self.isInTheMiddle {
            if let wait = self.receiveNow(at: now.take()) {
                self.reader.meter.restartSlice()
                return .wait(wait.connection, nanoseconds: wait.nanoseconds)
            }
            let isSliceOver = self.reader.meter.isSliceOverInPlace()
            if isSliceOver { self.beginSlice() }
            self.noteReplaySafety()
            // No other call makes events, so that an empty queue needs no lock.
            if self.reader.queue.count > 0, let events = self.takeOfSequence() { return .events(events) }
            if isSliceOver { return .pause }
            if self.shared.isGivenUp { self.stop() }
        }
        return .other
    }

    private func takeOfSequence() -> [ChappieStreamEvent]? {
        self.shared.withLock { $0.takeOfSequence(orOf: &self.reader.queue, oneByOne: self.reader.isKept) }
    }

    // MARK: The beginning

    /// Does the initial work: reading the request, the credential, the first action.
    private func begin() async {
        self.deadlines.begin(at: self.now)
        self.recorder.began(on: self.reader.transport)
        do throws(RequestSender.Failure) {
            let sender = try RequestSender.permitted(self.engine, self.request, self.control, &self.ticket)
            self.sender = sender
            try await self.control.takePlace(by: self.deadlines.end)
            _ = try await sender.refreshCredential(.connecting, by: self.deadlines.end)
            try self.start(sender)
        } catch {
            self.notSent(error)
        }
    }

    /// Asks for the first action.
    @inline(never)
    private func start(_ sender: RequestSender) throws(RequestSender.Failure) {
        self.reader.begin(sender)
        self.reader.machine = try sender.begin()
        self.action = self.reader.machine.started()
    }

    // MARK: The end

    /// Ends the turn, once: complete, or with an error.
    func end(_ error: (any Error)?) {
        guard self.outcome == nil else { return }
        self.outcome = error.map { .failure($0) } ?? .success(())
        self.control.leave()
        self.noteReplaySafety()
        if let startedAt = self.deadlines.startedAt {
            self.recorder.ended(
                with: error, after: self.now - startedAt, self.reader.facts, self.reader.meter.summary)
        }
        self.ticket.answer(error)
    }

    /// Ends the turn as cancelled: by its consumer, by the engine's shutdown, or because the program refused a steering.
    @inline(never)
    func stop() {
        let shutdown = self.shutdown
        _ = self.reader.machine.cancelled()
        // Decoded events that were not taken are wanted only by a consumer that has not cancelled.
        if shutdown == nil {
            self.reader.queue.removeAll()
            self.shared.withLock { $0.dropReady() }
        }
        self.closeAttempt(outcome: shutdown?.tag ?? "cancelled")
        self.end(self.control.steering.refusal ?? shutdown ?? CancellationError())
    }

    /// The error of a turn that the engine's shutdown has cancelled; nil for any other turn.
    private var shutdown: ChappieClientError? {
        guard self.shared.withLock({ $0.isShutDown }), !Task.isCancelled else { return nil }
        let hasEvents = self.attempts.current?.hasEvents
        return ChappieClientError(
            shutDown: self.reader.transport, of: self.request.identity,
            in: hasEvents.map { $0 ? .stream : .firstEvent } ?? .connect,
            progress: (self.reader.machine.attemptCount, self.reader.machine.replaySafety),
            deliveredText: self.reader.machine.delivery.deliveredText)
    }

    /// The present time.
    var now: Duration { self.engine.clock.now() }

    /// The same time, for the path of an event.
    var moment: Moment { self.engine.clock.moment() }

    /// Keeps the report exact: the consumer may drop the stream between any two events.
    @inline(never)
    func noteReplaySafety() {
        self.recorder.noteSafety(self.reader.machine.replaySafetyInPlace())
    }

    // MARK: From any task, as described for `StreamedTurn`

    package func cancel() { self.control.cancel() }
    package func steer(_ input: [UInt8]) throws { try self.control.steer(input) }
    package var serverMessage: String? { self.shared.withLock { $0.serverMessage } }
    package var response: ChappieResponse? { self.shared.withLock { $0.response } }
    package var resumePoint: ChappieResumePoint? { self.shared.withLock { $0.resumePoint } }
    package var report: ChappieStreamReport { self.control.report.withLock { $0 } }
}
