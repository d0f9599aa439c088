import StreamSession
import StreamTransport

/// The attempts of a turn that have a connection: the one whose answer is read and, in a race, the other one.
///
/// It belongs to the turn's driver. The state machine decides which of the two carries the request. Every change is
/// made known to `cancel()`, which closes the connections.
struct AttemptPair {
    private let shared: LockedValue<SharedTurnState>
    /// The attempt that carries the request, or may carry it first; nil between attempts.
    var current: Attempt?
    /// Indicates whether there is another attempt: a comparison with nil would copy that.
    private(set) var isRace = false
    /// The other attempt of a race; nil when there is none.
    private(set) var other: Attempt? { didSet { self.isRace = self.other != nil } }
    /// The counts of a lent connection when it was lent: stored outside the attempt, which is copied often.
    private var countsBefore = TransportStatistics()

    /// Creates the pair of a turn that has no attempt; `shared` is the turn's state that `cancel()` touches.
    init(_ shared: LockedValue<SharedTurnState>) { self.shared = shared }

    /// Makes an attempt the one whose answer is read.
    mutating func begin(_ attempt: Attempt) {
        self.current = attempt
        if let kept = attempt.kept { self.countsBefore = kept.connection.statistics }
        self.share()
    }

    /// Takes the attempt whose answer is read out of the turn, and leaves its connection as it is.
    mutating func takeCurrent() -> Attempt? {
        guard let attempt = self.current.take() else { return nil }
        self.share()
        return attempt
    }

    // MARK: The race

    /// Returns the opening of a hedge, which requests the same as the upgrade.
    func hedge(_ opening: TurnStateMachine.Opening) -> TurnStateMachine.Opening {
        TurnStateMachine.Opening(
            attempt: opening.attempt, transport: opening.transport, reason: opening.reason,
            step: self.current?.step ?? opening.step)
    }

    /// Adds a second attempt, which races the first.
    mutating func race(_ attempt: Attempt) {
        self.other = attempt
        self.share()
    }

    /// Makes the attempt over HTTP the one whose answer is read, and the upgrade the other one.
    ///
    /// - Returns: the attempt that is read now; nil when that does not change.
    mutating func readHedge() -> Attempt? {
        guard let hedge = self.other, hedge.transport == .httpSSE, self.current != nil else { return nil }
        (self.current, self.other) = (hedge, self.current)
        self.share()
        return hedge
    }

    /// Drops the attempt whose answer is read, and continues with the other one; returns that.
    mutating func continueWithOther() -> Attempt? {
        guard let other = self.other.take() else { return nil }
        self.begin(other)
        return other
    }

    /// Takes the other attempt out of the turn, and leaves its connection as it is.
    mutating func takeOther() -> Attempt? {
        guard let attempt = self.other.take() else { return nil }
        self.share()
        return attempt
    }

    /// The refusal of the other attempt, when it is an upgrade and the body of its refusal is still to come.
    var otherRefusal: AttemptFailure? {
        self.other?.head.map { .upgradeStatus(RefusalFacts(statusCode: $0.statusCode)) }
    }

    // MARK: The connections

    /// Makes the connections known to `cancel()`; in a cancelled turn, closes them.
    private func share() {
        let connections = [self.current?.connection, self.other?.connection].compactMap { $0 }
        let isCancelled = self.shared.withLock { shared in
            shared.connections = connections
            return shared.isCancelled
        }
        if isCancelled { for connection in connections { connection.cancel() } }
    }

    /// Returns the counts of an attempt's connection since the attempt began; times are the connection's own.
    ///
    /// On a socket of several lanes, the bytes received for the others count as well.
    func statistics(of attempt: Attempt) -> TransportStatistics {
        var statistics = attempt.connection.statistics
        guard attempt.kept != nil else { return statistics }
        let before = self.countsBefore
        statistics.receivedByteCount -= before.receivedByteCount
        let inflatedBefore = before.inflatedByteCount ?? before.receivedByteCount
        statistics.inflatedByteCount = statistics.inflatedByteCount.map { $0 - inflatedBefore }
        statistics.sentByteCount -= before.sentByteCount
        return statistics
    }
}
