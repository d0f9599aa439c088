import StreamSession
import StreamTransport
import TransportSurface

/// The account of a turn beside its events: the report, log lines and measurements.
///
/// It belongs to the turn's driver. The program's log and metrics are called on the consumer's task with no lock held,
/// a few times in a turn. The report is behind a lock, because any task may read it while the turn runs.
struct TurnRecorder {
    /// Facts about the turn as a whole.
    struct Facts {
        let attemptCount: Int
        let transport: ChappieTransportKind
        /// The server's name for the request; nil before an answer.
        let serverRequestID: String?
    }

    private let watch: RequestWatch
    private let subject: RequestWatch.Subject
    private let report: LockedValue<ChappieStreamReport>
    private var safety = ChappieReplaySafety.notSent
    /// The ages at which connections of the turn were cut.
    private var pathTimeLimit = PathTimeLimit()
    /// The newest attempt that was announced before its delay.
    private var announcedAttempt = 0

    /// Creates a recorder of a turn, or of one response of a turn, for a report that other tasks may read.
    init(_ watch: RequestWatch, of subject: RequestWatch.Subject, report: LockedValue<ChappieStreamReport>) {
        self.watch = watch
        self.subject = subject
        self.report = report
        report.withLock { $0.requestID = watch.requestID }
    }

    /// Indicates whether log lines are wanted.
    var isLogging: Bool { self.watch.isLogging }

    // MARK: The turn

    /// Records that the turn has begun.
    func began(on transport: ChappieTransportKind) {
        self.watch.began(self.subject, on: transport)
    }

    /// Records that the turn is complete, has failed with an error or was cancelled; `gaps` is the time between its
    /// batches of output.
    func ended(
        with error: (any Error)?, after duration: Duration, _ facts: Facts, _ gaps: ChappieStreamReport.OutputGaps?
    ) {
        self.report.withLock { $0.gaps = gaps }
        self.watch.ended(self.subject, with: error, after: duration) { $0.fill(with: facts) }
    }

    /// Records that the stream of the turn was dropped before its end.
    func dropped(after duration: Duration, _ facts: Facts) {
        self.watch.ended(self.subject, with: CancellationError(), after: duration) { $0.fill(with: facts) }
    }

    /// Records the safety of sending the request again; does nothing while it does not change.
    mutating func noteSafety(_ safety: ChappieReplaySafety) {
        guard safety != self.safety else { return }
        self.safety = safety
        self.report.withLock { $0.replaySafety = safety }
    }

    // MARK: Attempts

    /// Records that an attempt has begun.
    func began(_ attempt: Attempt, isHedge: Bool = false, reconnects: Int? = nil) {
        var entry = ChappieStreamReport.Attempt(number: attempt.number, transport: attempt.transport)
        entry.reusedConnection = attempt.kept != nil
        entry.rung = ChappieRecoveryRung(attempt.step)
        entry.isHedge = isHedge
        self.report.withLock { report in
            report.attempts.append(entry)
            if let reconnects { report.reconnects = reconnects }
        }
    }

    /// Records that the attempt has a connection: its own, or one of an earlier turn.
    func connected(_ attempt: Attempt, at now: Duration) {
        let message = attempt.kept == nil ? "A connection is open." : "A kept connection is used again."
        self.watch.log(.debug, "connection", message) { entry in
            entry.fill(with: attempt)
            if attempt.kept == nil { entry.duration = now - attempt.startedAt }
        }
    }

    /// Records that the first event of an attempt has come.
    func firstEvent(of attempt: Attempt, at now: Duration) {
        self.update(attempt.number) { $0.firstEvent = (now - attempt.startedAt).seconds }
    }

    /// Records that no event with content has come for a while.
    func stalled(_ attempt: Attempt) {
        self.watch.log(.warning, "attempt", "Nothing has come for a while; the turn waits on.") {
            $0.fill(with: attempt)
        }
    }

    /// Records that a replay has repeated the delivered output.
    func replayed(_ byteCount: Int, in attempt: Attempt?) {
        self.report.withLock { $0.verifiedReplayByteCount = byteCount }
        guard byteCount > 0 else { return }
        self.watch.log(.info, "attempt", "A replay has caught up with what was delivered.") { entry in
            if let attempt { entry.fill(with: attempt) }
        }
    }

    /// Records that an attempt has failed; the next step is recorded by other functions.
    func failed(
        _ attempt: Attempt, _ error: ChappieClientError, tag: String, serverRequestID: String?, at now: Duration
    ) {
        self.watch.log(.warning, "attempt", "An attempt has failed.") { entry in
            entry.fill(with: attempt)
            entry.take(error)
            entry.tag = tag
            entry.serverRequestID = entry.serverRequestID ?? serverRequestID
            entry.duration = now - attempt.startedAt
        }
    }

    /// Records whether the answer of a failed attempt ended normally and lacked only its terminal event, or was cut.
    func endedWithoutTerminalEvent(inOrder isInOrder: Bool) {
        self.report.withLock { $0.endedWithoutTerminalEvent = isInOrder ? true : nil }
    }

    /// Records that the connection of an attempt was cut at an age.
    ///
    /// - Returns: the age when an earlier connection of the turn was cut at the same one, or nil.
    mutating func cut(at age: Duration) -> Duration? {
        guard let limit = self.pathTimeLimit.cut(at: age) else { return nil }
        self.report.withLock { $0.pathTimeLimit = limit.seconds }
        return limit
    }

    /// Records that an attempt of the turn's is over, with its connection's counts; `category` is that of its failure.
    ///
    /// The other attempt of a race has sent no request.
    func ended(
        _ attempt: Attempt, in attempts: AttemptPair, outcome: String, category: ChappieErrorCategory? = nil,
        at now: Duration
    ) {
        let statistics = attempts.statistics(of: attempt)
        let duration = now - attempt.startedAt
        self.watch.measure("attempt", duration, outcome: outcome, category: category)
        self.update(attempt.number) { entry in
            if attempt.kept == nil {
                entry.resolved = statistics.resolved?.seconds
                entry.connected = statistics.connected?.seconds
                entry.opened = statistics.opened?.seconds
            }
            entry.duration = duration.seconds
            entry.receivedByteCount = statistics.receivedByteCount
            entry.inflatedByteCount = statistics.inflatedByteCount
            entry.sentByteCount = statistics.sentByteCount
            entry.statusCode = attempt.head?.statusCode
            entry.requestID = attempt.head?.requestID
            entry.traceResponse = attempt.head?.traceResponse
            entry.outcome = outcome
            entry.isProbablyCharged = attempt.isProbablyCharged(statistics)
        }
    }

    /// Records that another attempt follows after a delay, once for each.
    ///
    /// - Parameters:
    ///   - delay: the delay.
    ///   - opening: the attempt.
    ///   - category: the category of the failure that is its reason; asked for when there is a log.
    /// - Returns: whether it is recorded for the first time.
    mutating func retries(
        after delay: Duration, _ opening: TurnStateMachine.Opening,
        category: @autoclosure () -> ChappieErrorCategory?
    ) -> Bool {
        guard self.announcedAttempt < opening.attempt else { return false }
        self.announcedAttempt = opening.attempt
        let message =
            switch opening.reason {
            case .reconnect: "The attempt is repeated after a delay."
            case .rateLimit: "The server asks for fewer requests; the turn waits."
            case .first, .hedge, .replacement, .credential, .fallBack: "Another attempt follows after a delay."
            }
        self.watch.log(.info, "attempt", message) { entry in
            entry.tag = opening.reason.failure?.tag
            entry.category = category()
            entry.attempt = opening.attempt
            entry.transport = opening.transport
            entry.delay = delay
        }
        return true
    }

    /// Records that the turn continues over HTTP.
    func fellBack(because tag: String, attemptCount: Int) {
        self.report.withLock { $0.fallbackReason = tag }
        self.watch.log(.warning, "connection", "The turn goes on over HTTP.") { entry in
            entry.tag = tag
            entry.transport = .httpSSE
            entry.attempt = attemptCount
        }
    }

    /// Records that a rejected credential was replaced, or could not be, because of an error.
    func refreshed(in duration: Duration, error: (any Error)? = nil) {
        self.watch.measure("refresh", duration, error: error)
        guard let error else {
            return self.watch.log(.info, "credential", "The credential was refreshed.") { $0.duration = duration }
        }
        self.watch.log(.warning, "credential", "The credential could not be refreshed.") { entry in
            entry.duration = duration
            entry.take(error)
        }
    }

    private func update(_ number: Int, _ update: (inout ChappieStreamReport.Attempt) -> Void) {
        self.report.withLock { report in
            guard let index = report.attempts.lastIndex(where: { $0.number == number }) else { return }
            update(&report.attempts[index])
        }
    }
}

extension ChappieDiagnostic {
    /// Creates the announcement of a retry after a delay; nil for another attempt with any other reason.
    init?(retry opening: TurnStateMachine.Opening, after delay: Duration) {
        let (kind, retry, limit): (Kind, Int, Int)
        switch opening.reason {
        case .reconnect(let number, let maximum, _): (kind, retry, limit) = (.reconnecting, number, maximum)
        case .rateLimit(let number, let maximum, _): (kind, retry, limit) = (.rateLimited, number, maximum)
        case .first, .hedge, .replacement, .credential, .fallBack: return nil
        }
        self.init(
            kind: kind, transport: opening.transport, attempt: retry, limit: limit, reason: opening.reason.failure?.tag,
            rung: ChappieRecoveryRung(opening.step), delay: delay)
    }
}

extension ChappieLogEntry {
    /// Adds the facts of an attempt.
    fileprivate mutating func fill(with attempt: Attempt) {
        self.attempt = attempt.number
        self.transport = attempt.transport
        self.serverRequestID = attempt.head?.requestID
    }

    /// Adds the facts of a turn that is over.
    fileprivate mutating func fill(with facts: TurnRecorder.Facts) {
        self.attempt = facts.attemptCount
        self.transport = facts.transport
        self.serverRequestID = facts.serverRequestID
    }
}
