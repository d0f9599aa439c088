import StreamSession
import StreamTransport
import TransportSurface

/// The account of an event source beside its events: report, log lines and measurements.
///
/// It belongs to the driver. The program's sinks are called with no lock held.
struct EventSourceRecorder {
    private let shared: LockedValue<EventSourceSharedState>
    private let watch: RequestWatch

    init(
        _ shared: LockedValue<EventSourceSharedState>, _ configuration: EventSourceConfiguration, requestID: String
    ) {
        self.shared = shared
        self.watch = RequestWatch(requestID: requestID, log: configuration.log, metrics: configuration.metrics)
        shared.withLock { $0.report.requestID = requestID }
    }

    // MARK: Attempts

    /// Records that an attempt begins.
    func began(_ number: Int) {
        self.shared.withLock { state in
            state.report.attemptCount = number
            state.report.attempts.append(EventSourceReport.Attempt(number: number))
            let excess = state.report.attempts.count - EventSourceReport.attemptLimit
            if excess > 0 { state.report.attempts.removeFirst(excess) }
        }
    }

    /// Records that the request has no last event ID, because the one of the stream cannot be sent.
    func leftOutLastEventID() {
        self.log(.warning, "attempt", "The last event ID cannot be sent: the request is without it.") { _ in }
    }

    /// Records that a redirect is followed.
    func redirected(_ head: ResponseHead, count: Int) {
        self.update { $0.redirectCount = count }
        self.log(.info, "attempt", "A redirect is followed.") { $0.tag = "http.\(head.statusCode)" }
    }

    /// Records that a stream is open.
    func opened(after duration: Duration) {
        self.log(.info, "connection", "An event stream is open.") { $0.duration = duration }
    }

    /// Records events of the current attempt.
    func received(_ count: Int, at duration: Duration) {
        self.shared.withLock { state in
            state.report.eventCount += count
            guard let last = state.report.attempts.indices.last else { return }
            if state.report.attempts[last].eventCount == 0 {
                state.report.attempts[last].firstEvent = duration.seconds
            }
            state.report.attempts[last].eventCount += count
        }
    }

    /// Records that an attempt is over; `category` is that of its failure.
    func ended(
        _ attempt: EventSourceAttempt, _ statistics: TransportStatistics, outcome: String,
        category: ChappieErrorCategory?, at now: Duration
    ) {
        let duration = now - attempt.startedAt
        self.watch.measure("attempt", duration, outcome: outcome, category: category)
        self.update { entry in
            entry.resolved = statistics.resolved?.seconds
            entry.tcpConnected = statistics.tcpConnected?.seconds
            entry.connected = statistics.connected?.seconds
            entry.opened = statistics.opened?.seconds
            entry.duration = duration.seconds
            entry.receivedByteCount = statistics.receivedByteCount
            entry.inflatedByteCount = statistics.inflatedByteCount
            entry.statusCode = attempt.head?.statusCode
            entry.outcome = outcome
        }
    }

    /// Records that another attempt follows after a delay; the error is that of the attempt before, if it had one.
    func reconnects(after delay: Duration, error: EventSourceError?) {
        let message = "The event source reconnects after a delay."
        self.log(error == nil ? .info : .warning, "attempt", message) { entry in
            entry.delay = delay
            if let error { entry.take(error) }
        }
    }

    // MARK: The end

    /// Records that the event source has ended.
    func ended(with error: (any Error)?, after duration: Duration) {
        let known = error as? EventSourceError
        let outcome = known?.tag ?? (error == nil ? "completed" : "cancelled")
        self.watch.measure("event-source", duration, outcome: outcome, category: known?.category)
        guard let error = known else {
            return self.log(.info, "event-source", "An event source has ended.") { $0.duration = duration }
        }
        self.log(.error, "event-source", "An event source has failed.") { entry in
            entry.duration = duration
            entry.take(error)
        }
    }

    private func update(_ change: (inout EventSourceReport.Attempt) -> Void) {
        self.shared.withLock { state in
            guard let last = state.report.attempts.indices.last else { return }
            change(&state.report.attempts[last])
        }
    }

    private func log(
        _ level: ChappieLogEntry.Level, _ context: String, _ message: String,
        _ fill: (inout ChappieLogEntry) -> Void
    ) {
        guard self.watch.isLogging else { return }
        let number = self.shared.withLock { $0.report.attemptCount }
        self.watch.log(level, context, message) { entry in
            entry.attempt = number
            entry.transport = .httpSSE
            fill(&entry)
        }
    }
}

extension ChappieLogEntry {
    /// Adds an error's facts; the server's words become the private message.
    fileprivate mutating func take(_ error: EventSourceError) {
        self.tag = error.tag
        self.category = error.category
        self.isRetryable = error.isRetryable
        self.privateMessage = error.unsafeMessage
    }
}
