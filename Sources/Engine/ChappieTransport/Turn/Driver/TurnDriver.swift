import ResponseEvents
import ServerSentEvents
import StreamSession
import StreamTransport
import TransportSurface

/// Performs one turn: passes the connection's events to the state machine, and performs its actions.
///
/// It has no policy. `next(for:reusing:)` belongs to the stream's one consumer, whose task does all the work; `cancel()`,
/// `steer(_:)`, `serverMessage` and `report` may be called from any task.
/// - Safety: variables are accessed by the consumer's task (`next(for:reusing:)`, `redaction`, `completedResponse`) and
///   `deinit`; `shared.isBusy` admits one call of `next(for:reusing:)` at a time.
@safe @usableFromInline package final class TurnDriver: StreamedTurn, @unchecked Sendable {
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
    /// Translates the events of the attempt; nil where the server speaks the Responses API.
    @safe @exclusivity(unchecked) var decoder: (any DialectDecoder)?

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
        self.recorder.dropped(after: self.now - startedAt, self.reader.facts())
    }

    /// Removes the credentials of the turn from the server's text; for the stream's one consumer.
    package var redaction: SecretRedaction { self.reader.redaction }

    /// The result of the complete response, for the stream's one consumer; nil before, and when its items are too large.
    package var completedResponse: CompletedResponse? {
        self.reader.completedResponse(of: self.sender?.outgoing)
    }

    // MARK: The consumer

    /// The next step of the consumer's task.
    private enum Step {
        /// Return these events, at least one.
        case events([ChappieStreamEvent])
        /// Wait for the connection, for at most this number of nanoseconds; nil for no limit.
        case wait(any TransportConnection, nanoseconds: Int64?)
        /// Let other tasks run, once.
        case pause
        /// Call `work()`, for any other action that may suspend.
        case work
        /// End the stream, with the turn's error if it has one.
        case over
        /// Throw `alreadyRead`: another task reads the turn, which continues.
        case refused
    }

    /// Returns the next events, at least one; nil after `.completed`, and after an error, which comes once.
    ///
    /// They are those that have been read, or those of up to 64 KiB of available messages and the one that exceeds
    /// this. `memory` is an empty array for them. The function performs the whole turn, in synchronous steps: each
    /// asynchronous function between a consumer and its connection costs as much as reading an event. It has no variable
    /// whose size is known only at run time, because that would allocate memory with every event.
    @usableFromInline
    package func next(
        for form: ReadingForm, reusing memory: consuming [ChappieStreamEvent] = []
    ) async throws -> [ChappieStreamEvent]? {
        var step = self.begin(for: form, reusing: memory)
        while true {
            switch step {
            case .events(let events): return events
            case .wait(let connection, let nanoseconds):
                step =
                    if form == .scope {
                        self.goOn(for: form, after: await connection.waitInScope(forNanoseconds: nanoseconds))
                    } else {
                        self.goOn(for: form, after: await connection.wait(forNanoseconds: nanoseconds))
                    }
            case .pause:
                await OtherTasks.run()
                step = self.goOn(for: form, after: Task.isCancelled ? .cancelled : .ready)
            case .work: step = self.goOn(for: form, after: await self.work())
            case .over:
                try self.leave()
                return nil
            case .refused: throw SharedTurnState.refusal
            }
        }
    }

    private func begin(for form: ReadingForm, reusing memory: consuming [ChappieStreamEvent]) -> Step {
        guard let isCancelled = self.shared.withLock({ $0.beginReading() }) else { return .refused }
        // The consumer's time for the previous batch is not the server's.
        let now = self.tookLastOfBatch()
        self.reader.meter.restartSlice()
        self.reader.queue.reuse(memory)
        if isCancelled || Task.isCancelled { self.giveUp() }
        return self.step(for: form, at: now)
    }

    private func goOn(for form: ReadingForm, after outcome: TransportWaitOutcome) -> Step {
        // A passed deadline is examined when nothing has arrived: data that came in the last moment counts.
        let isCancelled = if case .cancelled = outcome { true } else { self.shared.withLock { $0.isCancelled } }
        if isCancelled { self.giveUp() }
        return self.step(for: form, at: nil)
    }

    /// Reads what has arrived and does what takes no time, up to the next events, or to what takes time; `now` is the
    /// present time if it is known.
    private func step(for form: ReadingForm, at now: Moment?) -> Step {
        var now = now
        var isSliceOver = false
        while true {
            // No other task makes events, so that an empty queue needs no lock.
            if self.reader.queue.count > 0 {
                return .events(
                    self.shared.withLock {
                        $0.take(for: form, from: &self.reader.queue, isKept: self.reader.isKept)
                    })
            }
            if isSliceOver { return .pause }
            guard self.isInTheMiddle else {
                if let step = self.stepAtAnEdge() { return step }
                continue
            }
            if let wait = self.receiveNow(at: now.take()) {
                self.reader.meter.restartSlice()
                return .wait(wait.connection, nanoseconds: wait.nanoseconds)
            }
            isSliceOver = self.reader.meter.isSliceOverInPlace()
            if isSliceOver { self.beginSlice() }
            self.noteReplaySafety()
            if self.reader.queue.count == 0, self.shared.isGivenUp { self.giveUp() }
        }
    }

    /// Indicates whether nothing is to be done but to read one connection, and to wait for it.
    private var isInTheMiddle: Bool {
        self.action == nil && self.outcome == nil && self.deadlines.startedAt != nil && !self.attempts.isRace
    }

    /// Performs an action that takes no time; returns what else is to be done, nil when reading continues.
    @inline(never)
    private func stepAtAnEdge() -> Step? {
        guard self.outcome == nil else { return .over }
        guard !self.shared.isGivenUp else {
            self.stop()
            return nil
        }
        guard self.deadlines.startedAt != nil else { return .work }
        let hasPerformed = self.performNow()
        self.noteReplaySafety()
        return hasPerformed || self.isInTheMiddle ? nil : .work
    }

    /// Does what takes time: the beginning of the turn, an action, or the reading of the two connections of a race.
    @inline(never)
    nonisolated(nonsending) private func work() async -> TransportWaitOutcome {
        if self.deadlines.startedAt == nil {
            await self.begin()
        } else if self.action != nil {
            await self.performAction()
        } else if let wait = self.receiveNow() {
            self.reader.meter.restartSlice()
            return await wait.outcome(on: self.engine.transport)
        } else if self.reader.meter.isSliceOverInPlace() {
            self.beginSlice()
            await OtherTasks.run()
        }
        self.noteReplaySafety()
        return .ready
    }

    /// Ends a turn that was cancelled, unless it is over.
    private func giveUp() {
        if self.outcome == nil { self.stop() }
    }

    /// Lets the consumer go at the end of the turn, with the error if there is one.
    @inline(never)
    private func leave() throws {
        self.shared.withLock { $0.isBusy = false }
        let outcome = self.outcome
        // Only the first call after a failure throws: a sequence that has thrown is over.
        self.outcome = .success(())
        try outcome?.get()
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
                with: error, after: self.now - startedAt, self.reader.facts(), self.reader.meter.summary)
        }
        self.ticket.answer(error)
    }

    /// Ends the turn as cancelled: by its consumer, by the engine's shutdown, or because the program refused a steering.
    @inline(never)
    func stop() {
        let shutdown = self.shutdown
        _ = self.reader.machine.cancelled()
        // Decoded events that were not taken are wanted only by a consumer that has not cancelled.
        if shutdown == nil { self.reader.queue.removeAll() }
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
            progress: (self.reader.machine.attemptCount, self.reader.machine.replaySafety()),
            deliveredText: self.reader.machine.delivery.deliveredText)
    }

    /// The present time.
    var now: Duration { self.engine.clock.now() }

    /// The same time, for the path of an event.
    var moment: Moment { self.engine.clock.moment() }

    /// Keeps the report exact: the consumer may drop the stream between any two events.
    @inline(never)
    func noteReplaySafety() {
        self.recorder.noteSafety(self.reader.machine.replaySafety())
    }

    // MARK: From any task, as described for `StreamedTurn`

    package func cancel() { self.control.cancel() }
    package func steer(_ input: [UInt8]) throws { try self.control.steer(input) }
    package var serverMessage: String? { self.shared.withLock { $0.serverMessage } }
    package var response: ChappieResponse? { self.shared.withLock { $0.response } }
    package var resumePoint: ChappieResumePoint? { self.shared.withLock { $0.resumePoint } }
    package var report: ChappieStreamReport { self.control.report.withLock { $0 } }
}
