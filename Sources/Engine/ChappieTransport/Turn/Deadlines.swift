import StreamSession
import StreamTransport

/// The deadlines of a turn, on two clocks: one for the server's signs of life, one for the response's progress.
///
/// A value that belongs to the turn's driver. It reads no clock: every call passes the present time.
struct Deadlines {
    /// The event that a deadline causes.
    enum Kind: Equatable {
        /// A budget is used up: the attempt fails.
        case budget(AttemptFailure.TimeBudget)
        /// The consumer is informed that there is no progress.
        case stall
        /// An HTTP connection is opened beside the upgrade.
        case hedge

        /// Indicates whether it ends an attempt for the server's silence.
        var isSilence: Bool {
            switch self {
            case .budget(.firstEvent), .budget(.idle), .budget(.progress): true
            case .budget(.total), .stall, .hedge: false
            }
        }
    }

    /// A deadline and the time that is left until then, in nanoseconds: none or a negative one once it has passed.
    typealias Nearest = (kind: Kind, nanoseconds: Int64)

    /// A deadline as the search finds it.
    private typealias Found = (kind: Kind, remaining: Duration)

    private let timeouts: ChappieTimeouts
    private let tellsOfStalls: Bool
    /// The moment at which the turn began; nil before.
    private(set) var startedAt: Duration?
    /// A deadline of an attempt whose events only postpone its deadlines, so that none is nearer.
    private var known: (attempt: Int, moment: Moment)?

    /// Creates the deadlines of a turn that has not begun.
    init(_ timeouts: ChappieTimeouts, tellsOfStalls: Bool) {
        self.timeouts = timeouts
        self.tellsOfStalls = tellsOfStalls
    }

    /// Begins the turn.
    mutating func begin(at now: Duration) { self.startedAt = now }

    // MARK: The whole turn

    /// The moment at which the turn's time is over; nil without a budget.
    var end: Duration? {
        guard let total = self.timeouts.total, let startedAt = self.startedAt else { return nil }
        return startedAt + total
    }

    /// Returns whether the turn's time is over at a moment, which is determined only for a turn with a budget.
    @inline(__always)
    func isOver(at moment: @autoclosure () -> Duration) -> Bool { self.end.map { $0 <= moment() } ?? false }

    // MARK: One attempt

    /// Returns the deadline that comes first, for a process that may just have been resumed.
    ///
    /// While events only postpone the deadlines of an attempt, an earlier result is returned until its time has come,
    /// because the search touches much memory that no event needs. The wait then ends too early, once.
    ///
    /// Time in which the consumer did not read does not count as the server's silence, and received bytes are read
    /// before a budget ends: the budgets of silence begin anew then.
    /// - Parameters:
    ///   - attempt: the attempt, which records that the process was resumed; nil when there is none.
    ///   - hedgeDelay: the time after which an HTTP connection is opened beside an upgrade; nil when it is not. It is read
    ///     for a search only, because the state machine is copied for that.
    ///   - now: the present time.
    /// - Returns: the deadline, whose kind counts only when it has passed; nil when there is none.
    mutating func nearest(
        of attempt: inout Attempt?, hedgeDelay: @autoclosure () -> Duration?, at now: Moment
    ) -> Nearest? {
        let number = attempt?.numberIfOnlyPostponingInPlace()
        if let known = self.known, known.attempt == number, now < known.moment {
            return (.budget(.idle), known.moment.nanoseconds(since: now))
        }
        let found = self.search(for: &attempt, hedgeDelay: hedgeDelay(), at: now.sinceZero)
        self.known = nil
        guard let found else { return nil }
        let nanoseconds = found.remaining.nanoseconds
        if let number, nanoseconds > 0 { self.known = (number, now.advanced(byNanoseconds: nanoseconds)) }
        return (found.kind, nanoseconds)
    }

    /// Not inlined: few events search.
    @inline(never)
    private func search(for attempt: inout Attempt?, hedgeDelay: Duration?, at now: Duration) -> Found? {
        guard let deadline = self.next(of: attempt, hedgeDelay: hedgeDelay, at: now) else { return nil }
        guard deadline.kind.isSilence, deadline.remaining < .zero - Moment.latenessOfStop else { return deadline }
        attempt?.wentOn = now
        return self.next(of: attempt, hedgeDelay: hedgeDelay, at: now)
    }

    private func next(of attempt: Attempt?, hedgeDelay: Duration?, at now: Duration) -> Found? {
        guard let attempt else { return nil }
        let requestedAt = attempt.requestMoment
        var nearest: Found?
        let lastProgress = attempt.lastProgress?.sinceZero
        /// Returns the start of the server's silence, which does not count while the process was stopped.
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
            consider(.budget(.progress), self.timeouts.progress, since: silence(lastProgress ?? requestedAt))
        } else {
            consider(.budget(.firstEvent), self.timeouts.firstEvent, since: silence(requestedAt))
            // The status code of a refusal is known: its body has a shorter limit than an answer.
            consider(.budget(.firstEvent), self.timeouts.pongTimeout, since: silence(attempt.refusedAt))
        }
        consider(.budget(.firstEvent), self.timeouts.firstEvent, since: silence(attempt.steeredAt))
        if self.tellsOfStalls, !attempt.isKnownToStall {
            consider(.stall, self.timeouts.stall, since: silence(lastProgress ?? requestedAt))
        }
        if attempt.stage == .opening, attempt.transport == .webSocket {
            consider(.hedge, hedgeDelay, since: attempt.startedAt)
        }
        return nearest
    }
}

extension Attempt {
    /// The time at which the request was sent; nil while there is none, or it waits for its turn on a shared socket.
    fileprivate var requestMoment: Duration? {
        guard let requestedAt = self.requestedAt, self.transport == .webSocket else { return self.requestedAt }
        let statistics = self.connection.statistics
        guard !statistics.isWaitingForTurn else { return nil }
        return max(requestedAt, statistics.turnCame.map { self.connectionStart + $0 } ?? requestedAt)
    }

    /// Returns the time of the server's last unsolicited data: an event, a comment, a ping; or, by policy, a pong.
    fileprivate func lastSignOfLife(countingPongs: Bool) -> Duration? {
        let statistics = self.connection.statistics
        let lastEvent = self.lastEvent?.sinceZero
        guard let heard = countingPongs ? statistics.lastReceived ?? statistics.lastHeard : statistics.lastHeard else {
            return lastEvent
        }
        let moment = self.connectionStart + heard
        return lastEvent.map { max($0, moment) } ?? moment
    }
}
