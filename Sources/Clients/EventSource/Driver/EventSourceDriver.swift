import HTTPProtocol
import ServerSentEvents
import StreamSession
import StreamTransport
import TransportSurface

/// Performs an event source: passes the connection's events to the session, and performs its actions.
///
/// It has no policy. `nextBatch()` belongs to the one consumer, whose task does all the work.
/// - Safety: the stored variables are touched by the consumer's task only; `shared.isReading` admits one at a time.
@safe final class EventSourceDriver: @unchecked Sendable {
    private let configuration: EventSourceConfiguration
    private let transport: any StreamTransport
    private let clock: ClientClock
    private let shared: LockedValue<EventSourceSharedState>
    private let recorder: EventSourceRecorder
    private let redaction: SecretRedaction
    private let startedAt: Duration
    private var session: EventSourceSession
    /// The action that is performed next; nil while it depends on the connection.
    private var action: EventSourceSession.Action?
    private var attempt: EventSourceAttempt?
    private var maker = EventMaker()
    /// The events that were parsed and not handed out.
    private var batch: [ServerSentEvent] = []
    /// The end of the sequence: nil while it runs.
    private var outcome: Outcome?
    /// The number of pieces that were read since other tasks could run.
    private var sliceCount = 0

    private enum Outcome {
        case finished
        case failed(any Error)
    }

    /// The most pieces without an event that are read before other tasks run.
    private static let sliceLimit = 64

    init(
        _ session: EventSourceSession, _ configuration: EventSourceConfiguration, redaction: SecretRedaction,
        transport: any StreamTransport, clock: ClientClock, shared: LockedValue<EventSourceSharedState>,
        recorder: EventSourceRecorder
    ) {
        self.session = session
        self.configuration = configuration
        self.redaction = redaction
        self.transport = transport
        self.clock = clock
        self.shared = shared
        self.recorder = recorder
        self.startedAt = clock.now()
    }

    /// Returns the next events, at least one; nil at the end.
    ///
    /// - Throws: `EventSourceError` once, when the event source fails, or `CancellationError`.
    nonisolated(nonsending) func nextBatch() async throws -> [ServerSentEvent]? {
        while self.batch.isEmpty {
            if let outcome = self.outcome { return try self.handOut(outcome) }
            if Task.isCancelled {
                self.stop(CancellationError())
            } else if self.shared.withLock({ $0.isClosed }) {
                self.stop(nil)
            } else if self.action == nil, self.shared.withLock({ $0.takeReconnect() }) {
                self.restart()
            } else if let action = self.action.take() {
                await self.perform(action)
            } else if self.attempt != nil {
                await self.receive()
            } else {
                self.action = self.session.start()
            }
        }
        defer { self.batch = [] }
        return self.batch
    }

    private func handOut(_ outcome: Outcome) throws -> [ServerSentEvent]? {
        self.outcome = .finished
        switch outcome {
        case .finished: return nil
        case .failed(let error): throw error
        }
    }

    private var moment: EventSourceSession.Moment {
        EventSourceSession.Moment(now: self.clock.now(), fraction: self.clock.fraction())
    }

    // MARK: Actions

    private nonisolated(nonsending) func perform(_ action: EventSourceSession.Action) async {
        switch action {
        case .connect(let exchange): self.connect(exchange)
        case .readEvents: self.streamOpened()
        case .readRefusal: self.attempt?.stage = .refused
        case .wait(let delay, let failure): await self.wait(delay, after: failure)
        case .finish:
            if self.session.hasGivenUp { self.shared.withLock { $0.report.hasGivenUp = true } }
            self.closeAttempt(outcome: "ended")
            self.end(nil)
        case .fail(let failure):
            let error = self.error(for: failure)
            self.closeAttempt(outcome: failure.tag, category: error.category)
            self.end(error)
        }
    }

    private func connect(_ exchange: EventSourceSession.Exchange) {
        let now = self.clock.now()
        self.attempt?.connection.cancel()
        let connection = self.transport.connect(exchange.transportRequest(self.configuration))
        if let head = self.attempt?.head, self.session.redirectCount > 0 {
            self.recorder.redirected(head, count: self.session.redirectCount)
            self.attempt?.redirect(to: connection, at: now)
        } else {
            self.attempt = EventSourceAttempt(connection, at: now)
            self.recorder.began(self.session.attempt)
            if self.session.hasUnsendableLastEventID { self.recorder.leftOutLastEventID() }
        }
        self.shared.withLock { state in
            state.connection = connection
            state.advance(to: .connecting)
            state.canReconnect = self.session.canRestart
        }
    }

    private func streamOpened() {
        guard let attempt = self.attempt else { return }
        self.attempt?.stage = .streaming
        self.recorder.opened(after: self.clock.now() - attempt.startedAt)
        self.shared.withLock { $0.advance(to: .open) }
    }

    private nonisolated(nonsending) func wait(
        _ delay: Duration, after failure: EventSourceSession.Failure?
    ) async {
        let error = failure.map { self.error(for: $0) }
        self.closeAttempt(outcome: failure?.tag ?? "ended", category: error?.category)
        self.shared.withLock { state in
            state.advance(to: .connecting)
            state.lastEventID = self.session.lastEventID
            state.canReconnect = self.session.canRestart
            if self.session.hasUnsendableLastEventID { state.report.hadUnsendableLastEventID = true }
        }
        if let total = self.remainingTotal, delay > total {
            self.action = self.session.timedOut(.total, at: self.moment)
            return
        }
        self.recorder.reconnects(after: delay, error: error)
        let clock = self.clock
        let sleeper = Task<Void, any Error> { if delay > .zero { try await clock.sleep(delay) } }
        let isInterrupted = self.shared.withLock { state in
            state.sleeper = sleeper
            return state.isClosed || state.isReconnecting
        }
        if isInterrupted { sleeper.cancel() }
        await withTaskCancellationHandler {
            _ = await sleeper.result
        } onCancel: {
            sleeper.cancel()
        }
        self.shared.withLock { state in
            state.sleeper = nil
            state.isReconnecting = false
        }
        if !Task.isCancelled { self.action = self.session.waited() }
    }

    /// Reconnects at the program's wish.
    private func restart() {
        guard self.attempt != nil else { return }
        guard let action = self.session.restart() else {
            // The stream has withdrawn its ID meanwhile, and the connection is cut already.
            let failure = TransportFailure(phase: .stream, cause: .connectionLost)
            self.action = self.session.ended(.failed(failure), at: self.moment)
            return
        }
        self.closeAttempt(outcome: "restarted")
        self.action = action
    }

    // MARK: The connection

    private nonisolated(nonsending) func receive() async {
        guard let attempt = self.attempt else { return }
        guard let event = attempt.connection.next() else {
            self.sliceCount = 0
            let (budget, remaining) = self.nearestDeadline(of: attempt)
            if let remaining, remaining <= .zero {
                self.action = self.session.timedOut(budget, at: self.moment)
                return
            }
            // Data that came in the last moment counts: the next step checks again. So does a cancellation.
            _ = await attempt.connection.wait(for: remaining)
            return
        }
        switch event {
        case .ready, .pong: return
        case .opened(let head): self.opened(head)
        case .payload(let payload): self.received(payload, stage: attempt.stage)
        case .ended(let end):
            // A connection that `reconnect()` has ended is no failure.
            if self.shared.withLock({ $0.isClosed || $0.isReconnecting }) { return }
            self.action = self.session.ended(end.withoutCancellation, at: self.moment)
        }
        self.sliceCount += 1
        guard self.sliceCount > Self.sliceLimit, self.batch.isEmpty else { return }
        self.sliceCount = 0
        await Task.yield()
        // All budgets apply to a peer that never pauses.
        if self.action == nil, let total = self.remainingTotal, total <= .zero {
            self.action = self.session.timedOut(.total, at: self.moment)
        }
    }

    private func opened(_ head: ResponseHead) {
        self.attempt?.head = head
        self.attempt?.heardAt = self.clock.now()
        let response = EventSourceResponse(self.redaction.head(head))
        self.shared.withLock { $0.response = response }
        let fields = head.fields.map { (name: $0.name.lowercased(), value: $0.value) }
        let delay = RetryDelay.milliseconds(headers: fields, now: self.clock.unixTime())
        self.action = self.session.head(head, retryAfter: delay.map { .milliseconds($0) })
    }

    private func received(_ payload: InboundPayload, stage: EventSourceAttempt.Stage) {
        switch stage {
        case .streaming:
            let moment = self.moment
            self.attempt?.heardAt = moment.now
            // Local while they are parsed: access to a variable of an object is checked each time.
            var (maker, batch) = (self.maker, [ServerSentEvent]())
            self.action = unsafe self.session.receive(payload.bytes, at: moment) {
                if batch.isEmpty { batch.reserveCapacity(maker.batchCount) }
                batch.append(unsafe maker.event($0))
            }
            if !batch.isEmpty { maker.batchCount = batch.count }
            (self.maker, self.batch) = (maker, batch)
            guard let last = self.batch.last, let attempt = self.attempt else { return }
            self.recorder.received(self.batch.count, at: moment.now - attempt.requestedAt)
            self.shared.withLock { $0.lastEventID = last.lastEventID }
        case .refused, .opening:
            let limit = self.configuration.limits.errorBodyByteCount
            guard unsafe self.attempt?.collect(payload.bytes, limit: limit) == true else { return }
            self.action = self.session.refusalRead(at: self.moment)
        }
    }

    private var remainingTotal: Duration? {
        self.configuration.timeouts.total.map { self.startedAt + $0 - self.clock.now() }
    }

    private func nearestDeadline(
        of attempt: EventSourceAttempt
    ) -> (budget: AttemptFailure.TimeBudget, remaining: Duration?) {
        let timeouts = self.configuration.timeouts
        let now = self.clock.now()
        let own: (AttemptFailure.TimeBudget, Duration?) =
            switch attempt.stage {
            case .opening: (.firstEvent, timeouts.response.map { attempt.requestedAt + $0 - now })
            case .streaming: (.idle, timeouts.idle.map { attempt.heardAt + $0 - now })
            case .refused: (.idle, attempt.heardAt + timeouts.errorBody - now)
            }
        guard let total = self.remainingTotal, total < own.1 ?? .longestWait else { return own }
        return (.total, total)
    }

    // MARK: Ends

    private func closeAttempt(outcome: String, category: ChappieErrorCategory? = nil) {
        guard let attempt = self.attempt.take() else { return }
        let statistics = attempt.connection.statistics
        attempt.connection.cancel()
        self.shared.withLock { state in
            state.connection = nil
            state.reconnectionTime = self.session.reconnectionTime ?? state.reconnectionTime
        }
        self.recorder.ended(attempt, statistics, outcome: outcome, category: category, at: self.clock.now())
    }

    /// Ends the event source at the program's wish; the error is that of a cancelled task.
    private func stop(_ error: CancellationError?) {
        self.session.close()
        self.action = nil
        self.closeAttempt(outcome: "cancelled")
        self.end(error)
    }

    private func end(_ error: (any Error)?) {
        self.outcome = error.map { .failed($0) } ?? .finished
        self.shared.withLock { state in
            state.readyState = .closed
            state.lastEventID = self.session.lastEventID
            state.canReconnect = false
        }
        self.recorder.ended(with: error, after: self.clock.now() - self.startedAt)
    }

    // MARK: Errors

    private func error(for failure: EventSourceSession.Failure) -> EventSourceError {
        switch failure {
        case .redirect(let fault, let statusCode): return .redirect(fault, statusCode: statusCode)
        case .attempt(.httpStatus(let facts)):
            let head = self.attempt?.head ?? ResponseHead(statusCode: facts.statusCode ?? 0)
            return .refused(
                EventSourceRefusal(
                    EventSourceResponse(self.redaction.head(head)), retryAfter: facts.retryAfter,
                    body: self.refusalText))
        case .attempt(let failure): return .transport(self.transportFailure(failure))
        }
    }

    private var refusalText: String {
        self.redaction.body(String(decoding: self.attempt?.refusal ?? [], as: UTF8.self))
    }

    private func transportFailure(_ failure: AttemptFailure) -> ChappieTransportFailure {
        guard let (code, known) = failure.codeAndDetails else {
            preconditionFailure("a status code is the only failure above the transport")
        }
        var details = known
        let attempt = self.attempt
        details.statusCode = details.statusCode ?? attempt?.head?.statusCode
        if self.session.redirectCount == 0 {
            details.scheme = RequestScheme(self.session.exchange.endpoint, of: .url)
        }
        if let statistics = attempt?.connection.statistics {
            details.receivedByteCount = statistics.receivedByteCount
            if let last = statistics.lastReceived, let start = attempt?.requestedAt {
                details.sinceLastByte = self.clock.now() - start - last
            }
        }
        if code == .unexpectedContentType {
            let text = self.refusalText
            if !text.isEmpty { details.serverMessage = text }
            let isPage = WebPage.isContentType(attempt?.head?.mediaType) || WebPage(text) != nil
            if isPage { details.detail = WebPage.detail }
        }
        let hasEvents = self.shared.withLock { $0.report.eventCount > 0 }
        let safety: ChappieReplaySafety =
            hasEvents ? .outputDelivered : failure.mayFollowPOST || self.session.attempt > 1 ? .sentNoOutput : .notSent
        return ChappieTransportFailure(
            code: code, phase: failure.phase(hasEvents: hasEvents || attempt?.head != nil), transport: .httpSSE,
            progress: (attempts: self.session.attempt, replaySafety: safety), details: details
        ).replacingWords(self.redaction.words, inBody: self.redaction.body)
    }
}

extension EventSourceSession.Failure {
    /// The stable tag, for reports.
    fileprivate var tag: String {
        switch self {
        case .attempt(let failure): failure.tag
        case .redirect(let fault, _): "redirect.\(fault.rawValue)"
        }
    }
}

extension TransportEnd {
    /// The end, in which a connection that was cancelled to reconnect counts as lost.
    fileprivate var withoutCancellation: TransportEnd {
        guard case .failed(let failure) = self, failure.cause == .cancelled else { return self }
        return .failed(TransportFailure(phase: failure.phase, cause: .connectionLost))
    }
}

extension EventSourceSharedState {
    /// Returns whether `reconnect()` was called, once.
    fileprivate mutating func takeReconnect() -> Bool {
        defer { self.isReconnecting = false }
        return self.isReconnecting
    }
}
