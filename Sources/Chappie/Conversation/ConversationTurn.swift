import ChappieTransport
import StreamTransport
import Synchronization

/// A turn of a conversation: responses and tools in between, as one stream.
///
/// It reads a `TurnDriver` for each response, asks `ToolLoopStateMachine` what comes next, and does it. It has no
/// policy. `next()` belongs to the stream's one consumer, whose task does the work; tools run in tasks of their own,
/// and report to `inbox`. `cancel()` and `report` may be called from anywhere.
/// - Safety: everything but `shared` and `inbox`, which have locks, is touched inside `next()` only, and `isBusy` lets one
/// task in at a time.
final class ConversationTurn: StreamedTurn, @unchecked Sendable {
    /// What other tasks may touch.
    struct Shared {
        /// Indicates whether somebody has ended the turn.
        var isCancelled = false
        /// Indicates whether the conversation has what the turn leaves.
        var isOver = false
        /// Indicates whether the turn has taken as long as it may.
        var isLate = false
        /// The newest response.
        var driver: TurnDriver?
        /// The reports of the responses before.
        var finishedReport: ChappieStreamReport?
        /// Nil before the turn has begun, and after it has ended.
        var journal: TurnJournal?
        /// The conversation's turn, from the first read to the end.
        var turn: Conversation.Turn?
    }

    /// Where the turn is.
    enum Phase {
        /// Nobody has read.
        case notBegun
        /// A response is under way.
        case responding(TurnDriver)
        /// Tools run, or are about to.
        case answering
        /// The turn ends with an error, behind the events that came before it.
        case failing(any Error)
        /// Nothing comes any more.
        case over
    }

    /// What the client's turns have in common.
    let setup: TurnSetup
    /// What is asked.
    let request: ChappieResponseRequest
    /// What was said before, and who may speak.
    let conversation: Conversation
    /// Tells the program's sinks of tools, and has the caller's name for every request of the turn.
    let watch: RequestWatch
    /// What other tasks may touch.
    let shared = LockedValue(Shared())
    /// What tools and the timer say.
    let inbox = ToolInbox()
    /// Indicates whether a task is inside `next()` or `nextBatch()`.
    private let isBusy = Atomic(false)
    /// Where the turn is.
    var phase = Phase.notBegun
    /// Decides what comes next.
    var machine: ToolLoopStateMachine
    /// What is to be done before anything else, in order.
    var actions = ActionQueue()
    /// What the server wants to have echoed.
    var turnState: String?
    /// What the turn comes to as a response.
    var summary = TurnSummary()
    private let clock = ContinuousClock()
    private let start: ContinuousClock.Instant

    /// A turn that nobody reads yet.
    init(setup: TurnSetup, request: ChappieResponseRequest, conversation: Conversation) {
        self.setup = setup
        self.request = request
        self.conversation = conversation
        self.watch = RequestWatch(setup.engine, requestID: request.requestID)
        self.machine = ToolLoopStateMachine(rules: setup.rules)
        self.start = self.clock.now
    }

    /// Takes the credentials of the turn out of what the server calls things.
    ///
    /// It belongs to the stream's one consumer.
    var redaction: SecretRedaction { self.shared.withLock { $0.driver }?.redaction ?? SecretRedaction([]) }

    /// Time since the turn was made.
    var now: Duration { self.clock.now - self.start }

    // MARK: The consumer

    /// The next event; nil after `.completed`.
    nonisolated(nonsending) func next() async throws -> ChappieStreamEvent? {
        self.beginReading()
        defer { self.isBusy.store(false, ordering: .releasing) }
        do {
            while true {
                if let event = try self.performActions() { return event }
                switch self.phase {
                case .responding(let driver):
                    let event: ChappieStreamEvent?
                    do { event = try await driver.next() } catch { event = try self.failed(with: error) }
                    if case .failing = self.phase { continue }
                    if let event, self.isForConsumer(event), self.actions.isEmpty { return event }
                    self.received(event, from: driver)
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

    /// The events that are ready, never none; nil after the batch with `.completed`.
    nonisolated(nonsending) func nextBatch() async throws -> [ChappieStreamEvent]? {
        self.beginReading()
        defer { self.isBusy.store(false, ordering: .releasing) }
        do {
            while true {
                var batch: [ChappieStreamEvent] = []
                while let event = try self.performActions(batch.isEmpty) { batch.append(event) }
                if !batch.isEmpty { return batch }
                switch self.phase {
                case .responding(let driver):
                    let batch: [ChappieStreamEvent]?
                    do { batch = try await driver.nextBatch() } catch { batch = try self.failed(with: error) }
                    if case .failing = self.phase { continue }
                    let events = self.received(batch ?? [], from: driver)
                    if !events.isEmpty { return events }
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

    /// Lets one reader in at a time; what is touched inside has no lock.
    @inline(__always)
    private func beginReading() {
        precondition(
            !self.isBusy.exchange(true, ordering: .acquiring), "a stream is read by one task at a time")
    }

    /// Returns whether an event of a response is one of the turn.
    private func isForConsumer(_ event: ChappieStreamEvent) -> Bool {
        switch event {
        case .completed: false
        case .textDelta, .reasoningDelta, .refusalDelta, .toolCallRequested, .approvalRequested, .toolCallCompleted,
            .usageLimits, .raw, .diagnostic:
            true
        }
    }

    /// Puts an event of a response in line, or goes on when it is complete.
    private func received(_ event: ChappieStreamEvent?, from driver: TurnDriver) {
        if let event, self.isForConsumer(event) { self.actions.append(.deliver(event)) }
        if (event ?? .completed) == .completed { self.actions.append(contentsOf: self.responseCompleted(driver)) }
    }

    /// The events of a response that the consumer gets at once; goes on when it is complete.
    private func received(_ events: [ChappieStreamEvent], from driver: TurnDriver) -> [ChappieStreamEvent] {
        var own = events
        own.removeAll { !self.isForConsumer($0) }
        if !self.actions.isEmpty {
            // Calls that the response carries have left events that come first.
            for event in own { self.actions.append(.deliver(event)) }
            own = []
        }
        if (events.last ?? .completed) == .completed {
            self.actions.append(contentsOf: self.responseCompleted(driver))
        }
        return own
    }

    /// Does what is to be done, up to the next event for the consumer; nil when nothing is left.
    ///
    /// With `mayStart` false it stops before anything that is not an event.
    private func performActions(_ mayStart: Bool = true) throws -> ChappieStreamEvent? {
        while let action = self.actions.first {
            if self.shared.withLock({ $0.isCancelled }) { throw CancellationError() }
            if case .deliver(let event) = action {
                self.actions.removeFirst()
                let event = self.redaction.event(event)
                if case .toolCallCompleted(let result) = event { self.watch.note(result, self.redaction) }
                return event
            }
            guard mayStart else { return nil }
            self.actions.removeFirst()
            try self.perform(action)
        }
        return nil
    }

    // MARK: The end

    /// A response has failed: what its carried calls have left for the consumer comes before the error.
    private func failed<Event>(with error: any Error) throws -> Event? {
        guard !(error is CancellationError), !self.actions.isEmpty else { throw error }
        self.phase = .failing(error)
        return nil
    }

    /// Ends the turn because of an error: leaves what was complete to the conversation, and stops what runs.
    private func ended(with error: any Error) -> any Error {
        self.phase = .over
        self.actions.removeAll()
        let (isCancelled, isLate) = self.shared.withLock { ($0.isCancelled || Task.isCancelled, $0.isLate) }
        self.settle()
        guard error is CancellationError || isCancelled else { return error }
        // The timer stops a response in the same way as a cancellation.
        guard !isCancelled, isLate, let limit = self.setup.limits.duration else { return CancellationError() }
        return ChappieClientError.runTimeLimitExceeded(limit)
    }

    /// Leaves what the turn has come to to the conversation, once, and stops what runs.
    ///
    /// The conversation has it when any call of this returns, whoever was first: a consumer that hears of the end looks.
    func settle() {
        let driver = self.shared.withLock { shared in
            if let turn = shared.turn.take(), let journal = shared.journal.take() {
                self.conversation.end(turn, adding: journal.remains)
            }
            shared.isOver = true
            return shared.driver
        }
        self.inbox.close()
        driver?.cancel()
    }

    // MARK: Anyone

    /// Ends the turn with `CancellationError`: the connection is closed, tools that run are cancelled.
    func cancel() {
        let isOver = self.shared.withLock { shared in
            if !shared.isOver { shared.isCancelled = true }
            return shared.isOver
        }
        if !isOver { self.settle() }
    }

    /// Puts items into the response that is being made.
    func steer(_ input: [UInt8]) throws {
        guard let driver = self.shared.withLock({ $0.driver }) else { throw ChappieSteeringError.notRunning }
        try driver.steer(input)
    }

    /// The server's own words about the error that ended the turn.
    var serverMessage: String? { self.shared.withLock { $0.driver }?.serverMessage }

    /// What the turn went through so far: the attempts of all its responses.
    var report: ChappieStreamReport {
        let (finished, driver) = self.shared.withLock { ($0.finishedReport, $0.driver) }
        guard var report = finished else { return driver?.report ?? ChappieStreamReport() }
        if let driver { report.append(driver.report) }
        return report
    }
}

extension RequestWatch {
    /// A tool call is over.
    ///
    /// What a tool or a model says is nothing for a log, so that the line has numbers and fixed words alone.
    fileprivate func note(_ result: ChappieToolExecutionResult, _ redaction: SecretRedaction) {
        let (level, message, outcome): (ChappieLogEntry.Level, String, String) =
            switch result.status {
            case .completed: (.info, "A tool call is complete", "completed")
            case .failed: (.warning, "A tool call failed", "tool.failed")
            case .denied: (.warning, "A tool call was denied", "tool.denied")
            case .cancelled: (.info, "A tool call was cancelled", "cancelled")
            }
        self.log(level, "tool", message) { entry in
            entry.duration = result.duration
            entry.tag = outcome.hasPrefix("tool.") ? outcome : nil
            entry.privateMessage =
                result.status == .completed ? nil : redaction.words("\(result.name): \(result.output)")
        }
        self.measure("tool", result.duration, outcome: outcome)
    }
}
