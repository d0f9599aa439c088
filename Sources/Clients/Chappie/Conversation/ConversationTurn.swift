import ChappieTransport
import StreamTransport
import Synchronization
import TransportSurface

/// A turn of a conversation: responses and tools in between, as one stream.
///
/// It reads a `TurnDriver` for each response, asks `ToolLoopStateMachine` for the next actions, and performs them. It
/// has no policy. `next(for:reusing:)` belongs to the stream's one consumer, whose task does the work; tools run in tasks of their
/// own, and report to `inbox`. `cancel()` and `report` may be called from any task.
/// - Safety: all state but `shared` and `inbox`, which have locks, is used inside `next(for:reusing:)` only, and `isBusy` admits
///   one task at a time.
final class ConversationTurn: StreamedTurn, @unchecked Sendable {
    /// The state that other tasks may use.
    struct Shared {
        /// Indicates whether the turn was cancelled.
        var isCancelled = false
        /// Indicates whether the engine's shutdown has cancelled the turn.
        var isShutDown = false
        /// Indicates whether the turn's items were added to the conversation.
        var isOver = false
        /// Indicates whether the turn has exceeded its time limit.
        var isLate = false
        /// The newest response.
        var driver: TurnDriver?
        /// Indicates whether calls of the newest response's failed attempts have run: their events come beside its own.
        var hasCarriedCalls = false
        /// The turn's result once it is complete.
        var response: ChappieResponse?
        /// The reports of the earlier responses.
        var finishedReport: ChappieStreamReport?
        /// The turn's items; nil before the turn has begun, and after it has ended.
        var journal: TurnJournal?
        /// The right to run, from the first read to the end.
        var admission: TurnAdmission?
        /// The conversation's turn, from the first read to the end.
        var turn: Conversation.Turn?
    }

    /// The phase of the turn.
    enum Phase {
        /// The turn was not read yet.
        case notBegun
        /// A response is being received.
        case responding(TurnDriver)
        /// Tools run, or are about to.
        case answering
        /// The turn ends with an error, after the events before it.
        case failing(any Error)
        /// The turn is over.
        case over
    }

    /// The common settings of the client's turns.
    let setup: TurnSetup
    /// The request of the turn.
    let request: ChappieResponseRequest
    /// The conversation of the turn.
    let conversation: Conversation
    /// Passes tool events to the program's sinks, and has the caller's identifier for every request of the turn.
    let watch: RequestWatch
    /// The state that other tasks may use.
    let shared = LockedValue(Shared())
    /// The reports of tools and of the timer.
    let inbox = ToolInbox()
    /// Indicates whether a task is inside `next(for:reusing:)`.
    private let isBusy = Atomic(false)
    /// The phase of the turn.
    var phase = Phase.notBegun
    /// Decides the next actions.
    var machine: ToolLoopStateMachine
    /// The pending actions, in order.
    var actions = ActionQueue()
    /// The routing state that the server asks to have echoed.
    var turnState: String?
    /// The number of the conversation's turn; nil before the first read.
    var number: UInt64?
    /// The turn's result as a response.
    var summary = TurnSummary()
    /// The text that the consumer has.
    private var deliveredText = ""
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant
    /// The time of the first read, until the end is reported; nil before and behind.
    private var beganAt: Duration?

    /// Creates a turn that was not read yet.
    init(setup: TurnSetup, request: ChappieResponseRequest, conversation: Conversation) {
        self.setup = setup
        self.request = request
        self.conversation = conversation
        self.watch = RequestWatch(setup.engine, requestID: request.requestID)
        self.machine = ToolLoopStateMachine(rules: setup.rules)
        self.start = self.clock.now
    }

    /// The stream may be dropped before the end of its turn.
    deinit { self.reportEnd(CancellationError()) }

    /// Removes the credentials of the turn from the server's identifiers.
    ///
    /// It belongs to the stream's one consumer.
    var redaction: SecretRedaction { self.shared.withLock { $0.driver }?.redaction ?? SecretRedaction([]) }

    /// Time since the turn was made.
    var now: Duration { self.clock.now - self.start }

    // MARK: The consumer

    /// Returns the next events, at least one; nil after `.completed`.
    func next(
        for form: ReadingForm, reusing memory: consuming [ChappieStreamEvent]
    ) async throws -> [ChappieStreamEvent]? {
        try self.beginReading()
        defer { self.isBusy.store(false, ordering: .releasing) }
        if Task.isCancelled { self.cancel() }
        do {
            while true {
                var events: [ChappieStreamEvent] = []
                while events.isEmpty || form != .stream, let event = try self.performActions(events.isEmpty) {
                    events.append(event)
                }
                if !events.isEmpty { return events }
                switch self.phase {
                case .responding(let driver):
                    do {
                        // The memory goes with the first response that is read.
                        swap(&events, &memory)
                        events = try await driver.next(for: form, reusing: events) ?? []
                    } catch {
                        events = []
                        try self.failed(with: error)
                        continue
                    }
                    events = self.received(events, for: form, from: driver)
                    if !events.isEmpty {
                        self.delivers(events)
                        return events
                    }
                case .notBegun: try self.begin()
                case .answering: try await self.waitForTools()
                case .failing(let error): throw error
                case .over: return nil
                }
            }
        } catch {
            throw self.ended(with: error)
        }
    }

    /// Admits one reader at a time, because the state that is used inside has no lock; another one gets `alreadyRead`.
    @inline(__always)
    private func beginReading() throws(ChappieClientError) {
        guard !self.isBusy.exchange(true, ordering: .acquiring) else { throw .alreadyRead }
    }

    /// Returns whether an event of a response is passed on as an event of the turn.
    private func isForConsumer(_ event: ChappieStreamEvent) -> Bool {
        switch event {
        case .completed: false
        case .textDelta, .reasoningDelta, .refusalDelta, .toolCallRequested, .approvalRequested, .toolCallCompleted,
            .usageLimits, .raw, .restarted, .diagnostic:
            true
        }
    }

    /// Adds the text of events, which the consumer gets now, to what the conversation shows to other tasks.
    private func delivers(_ events: some Collection<ChappieStreamEvent>) {
        guard let number = self.number else { return }
        self.deliveredText.append(textOf: events)
        self.conversation.append(textOf: events, of: number)
    }

    /// Returns the events of a response that the consumer receives at once; continues when the response is complete.
    private func received(
        _ events: [ChappieStreamEvent], for form: ReadingForm, from driver: TurnDriver
    ) -> [ChappieStreamEvent] {
        var own = events
        own.removeAll { !self.isForConsumer($0) }
        // The calls that the response carries may have produced events that come first.
        if !self.actions.isEmpty || (form == .stream && own.count > 1) {
            for event in own { self.actions.append(.deliver(event)) }
            own = []
        }
        if (events.last ?? .completed) == .completed {
            self.actions.append(contentsOf: self.responseCompleted(driver))
        }
        return own
    }

    /// Performs actions up to the next event for the consumer; nil when none is left.
    ///
    /// With `mayStart` false it stops before anything that is not an event.
    private func performActions(_ mayStart: Bool = true) throws -> ChappieStreamEvent? {
        while let action = self.actions.first {
            if self.shared.withLock({ $0.isCancelled }) { throw CancellationError() }
            if case .deliver(let event) = action {
                self.actions.removeFirst()
                let event = self.redaction.event(event)
                self.delivers(CollectionOfOne(event))
                if case .toolCallCompleted(let result) = event { self.watch.note(result, self.redaction) }
                return event
            }
            guard mayStart else { return nil }
            self.actions.removeFirst()
            try self.perform(action)
        }
        return nil
    }

    // MARK: The beginning and the end in the log and the metrics

    /// Reports that the turn has begun.
    func reportBeginning() {
        self.beganAt = self.now
        self.watch.began(.turn, on: self.setup.engine.policy.prefersWebSocket ? .webSocket : .httpSSE)
    }

    /// Reports the end of the turn, once: complete, or with an error.
    func reportEnd(_ error: (any Error)?) {
        guard let beganAt = self.beganAt.take() else { return }
        let attempts = self.report.attempts
        self.watch.ended(.turn, with: error, after: self.now - beganAt) { entry in
            entry.attempt = attempts.count
            entry.transport = attempts.last?.transport
            entry.serverRequestID = attempts.last?.requestID
        }
    }

    // MARK: The end

    /// Ends a failed response: the events of its carried calls come before the error.
    private func failed(with error: any Error) throws {
        guard !(error is CancellationError), !self.actions.isEmpty else { throw error }
        self.phase = .failing(error)
    }

    /// Ends the turn with an error: adds complete responses to the conversation, and stops tools.
    private func ended(with error: any Error) -> any Error {
        let error = self.settled(after: error)
        self.reportEnd(error)
        return error
    }

    private func settled(after error: any Error) -> any Error {
        self.phase = .over
        self.actions.removeAll()
        let (isCancelled, isLate) = self.shared.withLock { ($0.isCancelled || Task.isCancelled, $0.isLate) }
        let isShutDown = self.shared.withLock { $0.isShutDown } && !Task.isCancelled
        self.settle()
        guard error is CancellationError || isCancelled else { return error }
        if isShutDown { return ChappieClientError(shutDown: self.report, deliveredText: self.deliveredText) }
        // The timer stops a response in the same way as a cancellation.
        guard !isCancelled, isLate, let limit = self.setup.limits.duration else { return CancellationError() }
        return ChappieClientError.runTimeLimitExceeded(limit)
    }

    /// Adds the turn's items to the conversation, once, and stops tools.
    ///
    /// The conversation has them when any call of this returns, whichever was first, because a consumer may read it
    /// after the end.
    func settle() {
        let driver = self.shared.withLock { shared in
            if let turn = shared.turn.take(), let journal = shared.journal.take() {
                self.conversation.end(turn, adding: journal.remains)
            }
            shared.isOver = true
            shared.admission = nil
            return shared.driver
        }
        self.inbox.close()
        driver?.cancel()
    }

    // MARK: Anyone

    /// Ends the turn with `CancellationError`: the connection is closed, and running tools are cancelled.
    func cancel() {
        let isOver = self.shared.withLock { shared in
            if !shared.isOver { shared.isCancelled = true }
            return shared.isOver
        }
        if !isOver { self.settle() }
    }

    /// Ends the turn with the error `engine.shut-down`, unless it is cancelled already.
    func shutDown() {
        self.shared.withLock { $0.isShutDown = !$0.isCancelled }
        self.cancel()
    }

    /// Adds items to the response that is being generated.
    func steer(_ input: [UInt8]) throws {
        guard let driver = self.shared.withLock({ $0.driver }) else { throw ChappieSteeringError.notRunning }
        try driver.steer(input)
    }

    /// The server's own description of the error that ended the turn.
    var serverMessage: String? { self.shared.withLock { $0.driver }?.serverMessage }

    /// The result of the complete turn, without its text.
    var response: ChappieResponse? { self.shared.withLock { $0.response } }

    /// The position in the newest response, whose events the consumer gets as the turn takes them.
    ///
    /// The response has none behind a call: that goes to the consumer when the response is complete, so that another
    /// process would skip it. Events of calls that run in the middle of a response may wait for the consumer.
    var resumePoint: ChappieResumePoint? {
        self.shared.withLock { $0.hasCarriedCalls ? nil : $0.driver }?.resumePoint
    }

    /// The attempts of all responses so far.
    var report: ChappieStreamReport {
        let (finished, driver) = self.shared.withLock { ($0.finishedReport, $0.driver) }
        guard var report = finished else { return driver?.report ?? ChappieStreamReport() }
        if let driver { report.append(driver.report) }
        return report
    }
}
