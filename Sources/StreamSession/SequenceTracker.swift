/// Judges the `sequence_number`s of one response.
///
/// It belongs to the turn's state machine, and with it to the stream's one consumer. It performs no I/O.
///
/// # Numbers
///
/// A server that numbers its events begins at 0 for each response and adds 1 each time. Another first number is accepted,
/// as nothing says that something came before it. Many servers send no numbers, and events that are no part of a
/// response (signs of life, metadata) may use numbers up without saying so. So an event without a number accounts for
/// one that is missing. A negative number is none, and so is one that has no successor.
///
/// # Resumable and other responses
///
/// The numbers of a resumable response decide what is new, so they are believed. When it is fetched again, nothing has
/// to be said here: the number behind the last one is expected, and what comes once more is a duplicate. An event
/// behind a gap is not taken in, so that the response can be fetched again from before the gap.
///
/// The numbers of other responses are only news. Some servers send the same number with every event, or begin anew in
/// between. As soon as a number comes with two different events the numbering is not usable, and every event after that
/// is untracked. Before a second number has come nothing is called a duplicate, because it is not known whether the
/// server counts at all.
///
/// # Memory
///
/// Of the last 1,024 numbers a fingerprint is kept, in a table that grows with them: at most 8 KiB.
package struct SequenceTracker: Sendable {
    /// What an event's number says.
    package enum Verdict: Equatable, Sendable {
        /// It is new, and nothing is missing before it.
        case inOrder
        /// It has no number that says anything.
        case untracked
        /// It is new, and numbers are missing before it.
        ///
        /// In a resumable response it counts as not received.
        case gap(expected: Int, found: Int)
        /// The same event has come before.
        case duplicate
        /// Another event has come with the same number.
        case contradiction
        /// It is new, and its number was missed before; later ones have come.
        case late
        /// It is so old that nothing is known of it.
        case forgotten
    }

    /// What to do with an event.
    package enum Consequence: Equatable, Sendable {
        /// It is read like any other.
        case deliver
        /// It has been read before.
        case drop
        /// What was delivered cannot be continued with it.
        case fail
    }

    /// How many numbers are remembered.
    package static let windowSize = 1_024

    /// True when the response can be fetched again from a number on.
    package let isResumable: Bool
    private var isUsable = true
    /// The highest number that has come.
    private var highest: Int?
    /// The lowest number that has come.
    private var lowest = 0
    /// Events without a number since the last one that had one.
    private var unnumberedCount = 0
    /// The fingerprint of a number stands at its remainder; 0 stands for a number that has not come.
    ///
    /// The count is a power of two, at least the span of the numbers or the window.
    private var fingerprints: [UInt64] = []

    /// Nothing has come yet.
    package init(isResumable: Bool) { self.isResumable = isResumable }

    /// The last number: where the response can be resumed.
    ///
    /// It is nil when none came or they are not usable.
    package var last: Int? { self.isUsable ? self.highest : nil }

    /// Judges the next event's number.
    package mutating func received(_ number: Int?, fingerprint: UInt64) -> Verdict {
        guard self.isUsable else { return .untracked }
        guard let number, number >= 0, number < .max else {
            self.unnumberedCount += 1
            return .untracked
        }
        // 0 stands for "has not come".
        let fingerprint = fingerprint == 0 ? 1 : fingerprint
        guard let highest = self.highest else { return self.receivedFirst(number, fingerprint) }
        return number > highest
            ? self.receivedNew(number, fingerprint, behind: highest)
            : self.receivedOld(number, fingerprint, highest: highest)
    }

    /// What a verdict means for the event: for a response that is not resumable, nothing.
    ///
    /// Its numbers are the server's own affair: one that counts each item anew may well say the same twice.
    package func consequence(of verdict: Verdict) -> Consequence {
        switch verdict {
        case .inOrder, .untracked: .deliver
        case .duplicate, .forgotten: self.isResumable ? .drop : .deliver
        case .gap, .contradiction, .late: self.isResumable ? .fail : .deliver
        }
    }

    private mutating func receivedFirst(_ number: Int, _ fingerprint: UInt64) -> Verdict {
        self.lowest = number
        self.grow(span: 1)
        self.highest = number
        self.record(number, fingerprint)
        return .inOrder
    }

    private mutating func receivedNew(_ number: Int, _ fingerprint: UInt64, behind highest: Int) -> Verdict {
        let expected = highest + 1
        let isGap = number - expected > self.unnumberedCount
        if isGap, self.isResumable { return .gap(expected: expected, found: number) }
        self.grow(span: number - self.lowest + 1)
        self.highest = number
        let mask = self.fingerprints.count - 1
        for passed in max(expected, number - mask)..<number { self.fingerprints[passed & mask] = 0 }
        self.record(number, fingerprint)
        return isGap ? .gap(expected: expected, found: number) : .inOrder
    }

    private mutating func receivedOld(_ number: Int, _ fingerprint: UInt64, highest: Int) -> Verdict {
        guard highest - number < Self.windowSize else { return .forgotten }
        let known = number < self.lowest ? 0 : self.fingerprints[number & (self.fingerprints.count - 1)]
        if known == 0 {
            self.lowest = min(self.lowest, number)
            self.grow(span: highest - self.lowest + 1)
            self.record(number, fingerprint)
            return .late
        }
        if self.isResumable { return known == fingerprint ? .duplicate : .contradiction }
        let hasCounted = self.lowest < highest
        if known == fingerprint { return hasCounted ? .duplicate : .untracked }
        self.isUsable = false
        self.fingerprints = []
        return hasCounted ? .contradiction : .untracked
    }

    private mutating func record(_ number: Int, _ fingerprint: UInt64) {
        self.unnumberedCount = 0
        self.fingerprints[number & (self.fingerprints.count - 1)] = fingerprint
    }

    /// Makes room for the span, or for the window, and puts what is known into its place.
    private mutating func grow(span: Int) {
        let needed = min(span, Self.windowSize)
        guard needed > self.fingerprints.count else { return }
        var count = max(16, self.fingerprints.count)
        while count < needed { count *= 2 }
        var grown = [UInt64](repeating: 0, count: count)
        if let highest = self.highest, !self.fingerprints.isEmpty {
            let mask = self.fingerprints.count - 1
            for known in max(0, highest - mask)...highest {
                grown[known & (count - 1)] = self.fingerprints[known & mask]
            }
        }
        self.fingerprints = grown
    }
}
