import StreamTransport

/// The attempts of a turn that have a connection: the one whose answer is read and, in a race, the other one.
///
/// It belongs to the turn's driver. The state machine decides which of the two carries the request.
struct AttemptPair {
    /// The attempt that carries the request, or may carry it first; nil between attempts.
    var current: Attempt?
    /// Indicates whether there is another attempt: a comparison with nil would copy that.
    private(set) var isRace = false
    /// The other attempt of a race; nil when there is none.
    private(set) var other: Attempt? { didSet { self.isRace = self.other != nil } }
    /// The counts of a lent connection when it was lent: stored outside the attempt, which is copied often.
    private var countsBefore = TransportStatistics()

    /// Makes an attempt the one whose answer is read.
    mutating func begin(_ attempt: Attempt) {
        self.current = attempt
        if let kept = attempt.kept { self.countsBefore = kept.connection.statistics }
    }

    /// Adds a second attempt, which races the first.
    mutating func race(_ attempt: Attempt) { self.other = attempt }

    /// Exchanges the two attempts.
    mutating func exchange() { (self.current, self.other) = (self.other, self.current) }

    /// Takes the attempt whose answer is read out of the turn, and leaves its connection as it is.
    mutating func takeCurrent() -> Attempt? { self.current.take() }

    /// Takes the other attempt out of the turn, and leaves its connection as it is.
    mutating func takeOther() -> Attempt? { self.other.take() }

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
