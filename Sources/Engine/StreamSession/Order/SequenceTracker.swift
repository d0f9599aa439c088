/// Judges the `sequence_number`s of one response.
///
/// It belongs to the turn's state machine, and with it to the stream's one consumer. It performs no I/O.
///
/// # Numbers
///
/// A server that numbers its events begins at 0 for each response and adds 1 each time. Another first number is
/// accepted, as there is no evidence of an earlier event. Many servers send no numbers. Events that are no part of a
/// response (signs of life, metadata) may use numbers up without showing them: an event without a number may account
/// for one that is missing. A negative number is invalid, and so is one that has no successor.
///
/// # Resumable and other responses
///
/// The numbers of a resumable response decide what is new, so they are trusted. Resuming it needs no call here: the
/// number behind the last one is expected, and a repeated event is a duplicate. An event behind a gap is not recorded,
/// so that the response can be resumed before the gap. Events without a number excuse a gap only when the server, asked
/// for the missing events, continues behind the gap once more; from then on they excuse every gap that they can fill.
/// Numbers that fall or come twice before any output, on the first connection, show that the server does not count.
///
/// The numbers of other responses decide one thing: an event that comes again under its number is a duplicate. Some
/// servers send the same number with every event, or restart the numbering. As soon as a number comes with two
/// different events the numbering is not usable, and every event after that is untracked. Before the second number no
/// event is treated as a duplicate, because it is not known whether the server counts at all. Output whose number was
/// left out between two others shows that the server counts and has changed the order of its events, or of their
/// numbers.
///
/// # Memory
///
/// Of the last 1,024 numbers a fingerprint is kept, in a table that grows with them: at most 8 KiB.
package struct SequenceTracker: Sendable {
    /// The conclusion from an event's number.
    package enum Verdict: Equatable, Sendable {
        /// It is new, and no number is missing before it.
        case inOrder
        /// It has no usable number.
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
        /// It is too old to be remembered.
        case forgotten
    }

    /// The treatment of an event.
    package enum Consequence: Equatable, Sendable {
        /// It is read like any other.
        case deliver
        /// It has been read before.
        case drop
        /// It cannot continue the delivered output.
        case fail
    }

    /// The number of remembered numbers.
    package static let windowSize = 1_024

    /// Indicates whether the response can be fetched again from a number on.
    package let isResumable: Bool
    private var isUsable = true
    /// The highest number that has come.
    private var highest: Int?
    /// The lowest number that has come.
    private var lowest = 0
    /// The number that follows the highest one, for events that come one behind the other; -1 when there is none.
    private var next = -1
    /// The first number beyond the table of fingerprints.
    private var end = 0
    /// Events without a number since the last one that had one.
    private var unnumberedCount = 0
    /// The events without a number since then that were output.
    private var unnumberedOutputCount = 0
    /// The first number of the gap that the server was asked for last.
    private var askedNumber: Int?
    /// Indicates whether a number was missing, or came late.
    private var hasLeapt = false
    /// Indicates whether output has come late whose number lies between two others that have come: others have
    /// overtaken it.
    package private(set) var hasOvertakenOutput = false
    /// Indicates whether events without a number have been shown to use numbers up.
    private var unnumberedUseNumbers = false
    /// The fingerprints of the numbers, each at its number's remainder; 0 stands for a number that has not come.
    ///
    /// The count is a power of two, at least the span of the numbers or the window.
    private var fingerprints: [UInt64] = []

    /// Creates a tracker before the first event.
    package init(isResumable: Bool) { self.isResumable = isResumable }

    /// The last number, at which the response can be resumed.
    ///
    /// It is nil when no number came or they are not usable.
    package var last: Int? { self.isUsable ? self.highest : nil }

    /// Takes the number of an event that is known to be new when it follows the highest one, which is the common case.
    ///
    /// - Returns: false when `received` has to judge it; the tracker is unchanged then.
    @inline(__always)
    package mutating func takeNext(_ number: Int, fingerprint: UInt64) -> Bool {
        guard number == self.next, number < .max - 1 else { return false }
        if number >= self.end { self.grow(span: number - self.lowest + 1) }
        self.fingerprints[number & (self.fingerprints.count - 1)] = Self.known(fingerprint)
        self.highest = number
        self.next = number + 1
        self.unnumberedCount = 0
        self.unnumberedOutputCount = 0
        return true
    }

    /// Indicates whether every number from the first on has come, in order.
    package var countsByOne: Bool { self.isUsable && !self.hasLeapt && self.lowest < (self.highest ?? 0) }

    /// Returns whether numbers of a resumable response are missing before this one.
    package func leavesNumbersOut(_ number: Int?) -> Bool {
        guard self.isUsable, self.isResumable, let number, number < .max, let highest = self.highest else {
            return false
        }
        return number > highest + 1
    }

    /// Indicates whether numbers carry no information, so that none need be evaluated.
    package var ignoresNumbers: Bool { !self.isUsable }

    /// Returns whether the event has come before: the same one, with the same number.
    package func isRepeated(_ number: Int?, fingerprint: UInt64) -> Bool {
        guard self.isUsable, let number, let highest = self.highest, number <= highest, number >= self.lowest,
            self.isResumable || self.lowest < highest
        else { return false }
        guard highest - number < Self.windowSize else { return self.isResumable }
        return self.fingerprints[number & (self.fingerprints.count - 1)] == Self.known(fingerprint)
    }

    /// Returns whether an event with the number has come and is still remembered.
    package func isTaken(_ number: Int?) -> Bool {
        guard self.isUsable, let number, let highest = self.highest, number <= highest, number >= self.lowest,
            highest - number < Self.windowSize
        else { return false }
        return self.fingerprints[number & (self.fingerprints.count - 1)] != 0
    }

    /// Judges the next event's number; `isOutput` says whether the event is a piece of the response's output.
    package mutating func received(_ number: Int?, fingerprint: UInt64, isOutput: Bool = false) -> Verdict {
        guard self.isUsable else { return .untracked }
        guard let number, number >= 0, number < .max else {
            self.unnumberedCount += 1
            if isOutput { self.unnumberedOutputCount += 1 }
            return .untracked
        }
        let fingerprint = Self.known(fingerprint)
        guard let highest = self.highest else { return self.receivedFirst(number, fingerprint) }
        return number > highest
            ? self.receivedNew(number, fingerprint, behind: highest)
            : self.receivedOld(number, fingerprint, highest: highest, isOutput: isOutput)
    }

    /// Returns the treatment of the event with a verdict.
    ///
    /// In a response that is not resumable only a repeated identical event is dropped: gaps are the server's own
    /// affair, and a server that counts each item anew may well repeat a number.
    package func consequence(of verdict: Verdict) -> Consequence {
        switch verdict {
        case .inOrder, .untracked: .deliver
        case .duplicate: .drop
        case .forgotten: self.isResumable ? .drop : .deliver
        case .gap, .contradiction, .late: self.isResumable ? .fail : .deliver
        }
    }

    /// Returns a fingerprint other than 0, which stands for a number that has not come.
    @inline(__always)
    private static func known(_ fingerprint: UInt64) -> UInt64 { fingerprint == 0 ? 1 : fingerprint }

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
        if number > expected + self.unnumberedOutputCount, self.isResumable,
            !self.isExcused(from: expected, isGap: isGap)
        {
            return .gap(expected: expected, found: number)
        }
        if number > expected { self.hasLeapt = true }
        self.grow(span: number - self.lowest + 1)
        self.highest = number
        let mask = self.fingerprints.count - 1
        for passed in max(expected, number - mask)..<number { self.fingerprints[passed & mask] = 0 }
        self.record(number, fingerprint)
        return isGap ? .gap(expected: expected, found: number) : .inOrder
    }

    /// Returns whether events without a number account for the missing numbers, as the server has been asked for them.
    private mutating func isExcused(from expected: Int, isGap: Bool) -> Bool {
        let wasAsked = self.askedNumber == expected
        self.askedNumber = expected
        guard !isGap, self.unnumberedUseNumbers || wasAsked else { return false }
        self.unnumberedUseNumbers = true
        return true
    }

    private mutating func receivedOld(
        _ number: Int, _ fingerprint: UInt64, highest: Int, isOutput: Bool
    ) -> Verdict {
        guard highest - number < Self.windowSize else { return .forgotten }
        let known = number < self.lowest ? 0 : self.fingerprints[number & (self.fingerprints.count - 1)]
        if known == 0 {
            self.hasLeapt = true
            self.lowest = min(self.lowest, number)
            self.grow(span: highest - self.lowest + 1)
            self.record(number, fingerprint)
            if isOutput, self.isTaken(number - 1), self.isTaken(number + 1) { self.hasOvertakenOutput = true }
            return .late
        }
        if self.isResumable { return known == fingerprint ? .duplicate : .contradiction }
        let hasCounted = self.lowest < highest
        if known == fingerprint { return hasCounted ? .duplicate : .untracked }
        self.giveUp()
        return hasCounted ? .contradiction : .untracked
    }

    /// Ignores all further numbers, as those so far do not count events.
    mutating func giveUp() {
        self.isUsable = false
        self.next = -1
        self.fingerprints = []
    }

    private mutating func record(_ number: Int, _ fingerprint: UInt64) {
        self.unnumberedCount = 0
        self.unnumberedOutputCount = 0
        self.next = (self.highest ?? number) + 1
        self.fingerprints[number & (self.fingerprints.count - 1)] = fingerprint
    }

    /// Makes room for the span, or for the window, and moves the known fingerprints.
    @inline(never)
    private mutating func grow(span: Int) {
        let needed = min(span, Self.windowSize)
        defer {
            let count = self.fingerprints.count
            self.end = count < min(Self.windowSize, .max - self.lowest) ? self.lowest + count : .max
        }
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
