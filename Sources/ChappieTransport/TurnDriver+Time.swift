import StreamSession
import StreamTransport

/// What a turn waits for no longer than so.
enum TurnDeadline: Equatable {
    /// A budget: the attempt fails.
    case budget(AttemptFailure.TimeBudget)
    /// The consumer is told that there is no progress.
    case stall
    /// HTTP is opened beside the upgrade.
    case hedge

    /// Whether it ends an attempt for the server's silence.
    var isSilence: Bool {
        switch self {
        case .budget(.firstEvent), .budget(.idle), .budget(.progress): true
        case .budget(.total), .stall, .hedge: false
        }
    }
}

/// Two clocks: whether the server lives, and whether the response gets on.
extension TurnDriver {
    /// The deadline that comes first, and what is left until then; nil when there is none.
    func nearestDeadline(of attempt: Attempt) -> (kind: TurnDeadline, remaining: Duration)? {
        let now = self.engine.clock.now()
        let timeouts = self.engine.configuration.timeouts
        let requestedAt = self.requestMoment(of: attempt)
        var nearest: (kind: TurnDeadline, remaining: Duration)?
        /// The server's silence, which does not count while the process was stopped.
        func silence(_ start: Duration?) -> Duration? { start.map { max($0, attempt.wentOn ?? $0) } }
        func consider(_ kind: TurnDeadline, _ limit: Duration?, since start: Duration?) {
            guard let limit, let start else { return }
            let remaining = start + limit - now
            if nearest.map({ remaining < $0.remaining }) ?? true { nearest = (kind, remaining) }
        }
        consider(.budget(.total), timeouts.total, since: self.startedAt)
        if attempt.hasEvents {
            consider(.budget(.idle), timeouts.idle, since: silence(self.lastSignOfLife(of: attempt)))
            consider(.budget(.progress), timeouts.progress, since: silence(attempt.lastProgress ?? requestedAt))
        } else {
            consider(.budget(.firstEvent), timeouts.firstEvent, since: silence(requestedAt))
            // The status code of a refusal is known: its body is not waited for as an answer is.
            consider(.budget(.firstEvent), timeouts.pongTimeout, since: silence(attempt.refusedAt))
        }
        if self.engine.configuration.reportsDiagnostics || self.watch.isLogging, !attempt.isKnownToStall {
            consider(.stall, timeouts.stall, since: silence(attempt.lastProgress ?? requestedAt))
        }
        if attempt.stage == .opening, self.rival == nil, attempt.transport == .webSocket {
            consider(.hedge, self.machine.hedgeDelay, since: attempt.startedAt)
        }
        return nearest
    }

    /// When the request went out; nil while there is none, or it waits for its turn on a shared socket.
    private func requestMoment(of attempt: Attempt) -> Duration? {
        guard let requestedAt = attempt.requestedAt, attempt.transport == .webSocket else { return attempt.requestedAt }
        let statistics = attempt.connection.statistics
        guard !statistics.isWaitingForTurn else { return nil }
        return max(requestedAt, statistics.turnCame.map { attempt.connectionStart + $0 } ?? requestedAt)
    }

    /// When the server last sent something of its own accord: an event, a comment, a ping; or, by policy, a pong.
    private func lastSignOfLife(of attempt: Attempt) -> Duration? {
        let connectionStart = attempt.kept?.startedAt ?? attempt.startedAt
        let statistics = attempt.connection.statistics
        let prolongs = self.engine.configuration.timeouts.pongsProlongIdle
        guard let heard = prolongs ? statistics.lastReceived ?? statistics.lastHeard : statistics.lastHeard else {
            return attempt.lastEvent
        }
        return attempt.lastEvent.map { max($0, connectionStart + heard) } ?? connectionStart + heard
    }

    /// How long a deadline is over when it was not looked at: the process was stopped, or the machine asleep.
    ///
    /// A process that runs is late by milliseconds, and a busy one by less than this.
    private static let latenessOfStop = Duration.seconds(1)

    /// The deadline that comes first, looked at by a process that may just have gone on.
    ///
    /// Time in which the consumer did not read is not the server's silence, and received bytes are read before a
    /// budget ends: the budgets of silence begin anew then.
    func deadlineToJudge(of attempt: Attempt) -> (kind: TurnDeadline, remaining: Duration)? {
        guard let deadline = self.nearestDeadline(of: attempt) else { return nil }
        guard deadline.kind.isSilence, deadline.remaining < .zero - Self.latenessOfStop else { return deadline }
        var attempt = attempt
        attempt.wentOn = self.engine.clock.now()
        self.attempt?.wentOn = attempt.wentOn
        return self.nearestDeadline(of: attempt)
    }

    /// Whether the whole turn has taken longer than it may.
    var isOverTotalBudget: Bool { self.remainingTotal.map { $0 <= .zero } ?? false }

    /// What the whole turn may still take, never less than nothing; nil when it has no budget.
    var remainingTotal: Duration? {
        guard let total = self.engine.configuration.timeouts.total, let startedAt = self.startedAt else { return nil }
        return max(.zero, startedAt + total - self.engine.clock.now())
    }
}
