import StreamSession
import StreamTransport

/// The deadlines of a turn, on two clocks: whether the server lives, and whether the response gets on.
///
/// A value that belongs to the turn's driver. It reads no clock: every question gives the present moment.
struct Deadlines {
    /// The event that a deadline causes.
    enum Kind: Equatable {
        /// A budget is spent: the attempt fails.
        case budget(AttemptFailure.TimeBudget)
        /// The consumer is told that there is no progress.
        case stall
        /// HTTP is opened beside the upgrade.
        case hedge

        /// Indicates whether it ends an attempt for the server's silence.
        var isSilence: Bool {
            switch self {
            case .budget(.firstEvent), .budget(.idle), .budget(.progress): true
            case .budget(.total), .stall, .hedge: false
            }
        }
    }

    /// A deadline and the time that is left until then, which is negative once it has passed.
    typealias Nearest = (kind: Kind, remaining: Duration)

    private let timeouts: ChappieTimeouts
    private let tellsOfStalls: Bool
    /// The moment at which the turn began; nil before.
    private(set) var startedAt: Duration?

    /// The deadlines of a turn that has not begun.
    init(_ timeouts: ChappieTimeouts, tellsOfStalls: Bool) {
        self.timeouts = timeouts
        self.tellsOfStalls = tellsOfStalls
    }

    /// The turn begins.
    mutating func begin(at now: Duration) { self.startedAt = now }

    // MARK: The whole turn

    /// The moment at which the turn's time is over; nil without a budget.
    var end: Duration? {
        guard let total = self.timeouts.total, let startedAt = self.startedAt else { return nil }
        return startedAt + total
    }

    /// The time that the whole turn may still take, never below zero; nil without a budget.
    func remainingTotal(at now: Duration) -> Duration? {
        self.end.map { max(.zero, $0 - now) }
    }

    /// Returns whether the whole turn has taken longer than it may.
    func isTotalSpent(at now: Duration) -> Bool { self.end.map { $0 <= now } ?? false }

    // MARK: One attempt

    /// The deadline that comes first, for a process that may just have gone on.
    ///
    /// Time in which the consumer did not read is not the server's silence, and received bytes are read before a
    /// budget ends: the budgets of silence begin anew then.
    /// - Parameters:
    ///   - attempt: the attempt, which remembers that the process went on; nil when there is none.
    ///   - hedgeDelay: the time after which HTTP is opened beside an upgrade; nil when it is not.
    ///   - now: the present moment.
    /// - Returns: the deadline; nil when there is none.
    func nearest(of attempt: inout Attempt?, hedgeDelay: Duration?, at now: Duration) -> Nearest? {
        guard let deadline = self.next(of: attempt, hedgeDelay: hedgeDelay, at: now) else { return nil }
        guard deadline.kind.isSilence, deadline.remaining < .zero - Self.latenessOfStop else { return deadline }
        attempt?.wentOn = now
        return self.next(of: attempt, hedgeDelay: hedgeDelay, at: now)
    }

    /// How long a deadline is over when it was not looked at: the process was stopped, or the machine asleep.
    ///
    /// A process that runs is late by milliseconds, and a busy one by less than this.
    private static let latenessOfStop = Duration.seconds(1)

    private func next(of attempt: Attempt?, hedgeDelay: Duration?, at now: Duration) -> Nearest? {
        guard let attempt else { return nil }
        let requestedAt = attempt.requestMoment
        var nearest: Nearest?
        /// The server's silence, which does not count while the process was stopped.
        func silence(_ start: Duration?) -> Duration? { start.map { max($0, attempt.wentOn ?? $0) } }
        func consider(_ kind: Kind, _ limit: Duration?, since start: Duration?) {
            guard let limit, let start else { return }
            let remaining = start + limit - now
            if nearest.map({ remaining < $0.remaining }) ?? true { nearest = (kind, remaining) }
        }
        consider(.budget(.total), self.timeouts.total, since: self.startedAt)
        if attempt.hasEvents {
            let sign = attempt.lastSignOfLife(countingPongs: self.timeouts.pongsProlongIdle)
            consider(.budget(.idle), self.timeouts.idle, since: silence(sign))
            consider(.budget(.progress), self.timeouts.progress, since: silence(attempt.lastProgress ?? requestedAt))
        } else {
            consider(.budget(.firstEvent), self.timeouts.firstEvent, since: silence(requestedAt))
            // The status code of a refusal is known: its body is not waited for as an answer is.
            consider(.budget(.firstEvent), self.timeouts.pongTimeout, since: silence(attempt.refusedAt))
        }
        if self.tellsOfStalls, !attempt.isKnownToStall {
            consider(.stall, self.timeouts.stall, since: silence(attempt.lastProgress ?? requestedAt))
        }
        if attempt.stage == .opening, attempt.transport == .webSocket {
            consider(.hedge, hedgeDelay, since: attempt.startedAt)
        }
        return nearest
    }
}

extension Attempt {
    /// The moment at which the request went out; nil while there is none, or it waits for its turn on a shared socket.
    fileprivate var requestMoment: Duration? {
        guard let requestedAt = self.requestedAt, self.transport == .webSocket else { return self.requestedAt }
        let statistics = self.connection.statistics
        guard !statistics.isWaitingForTurn else { return nil }
        return max(requestedAt, statistics.turnCame.map { self.connectionStart + $0 } ?? requestedAt)
    }

    /// The moment at which the server last sent something of its own accord: an event, a comment, a ping; or, by
    /// policy, a pong.
    fileprivate func lastSignOfLife(countingPongs: Bool) -> Duration? {
        let statistics = self.connection.statistics
        guard let heard = countingPongs ? statistics.lastReceived ?? statistics.lastHeard : statistics.lastHeard else {
            return self.lastEvent
        }
        let moment = self.connectionStart + heard
        return self.lastEvent.map { max($0, moment) } ?? moment
    }
}
