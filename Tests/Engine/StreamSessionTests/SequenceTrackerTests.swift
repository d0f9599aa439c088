// The conclusions from sequence numbers, number by number.
import StreamSession
import Testing

@Suite struct SequenceTrackerTests {
    @Test(arguments: [true, false])
    func numbersInOrderAreInOrder(isResumable: Bool) {
        var tracker = SequenceTracker(isResumable: isResumable)
        #expect(tracker.last == nil)
        for number in 0..<5_000 {
            #expect(tracker.received(number, fingerprint: UInt64(number)) == .inOrder)
            #expect(tracker.last == number)
        }
    }

    @Test(arguments: [0, 1, 2, 7, 1_000_000, Int.max - 1])
    func anyFirstNumberIsAccepted(first: Int) {
        for isResumable in [true, false] {
            var tracker = SequenceTracker(isResumable: isResumable)
            #expect(tracker.received(first, fingerprint: 1) == .inOrder)
            #expect(tracker.last == first)
        }
    }

    @Test(arguments: [nil, -1, Int.min, Int.max])
    func invalidNumberIsUntracked(number: Int?) {
        for isResumable in [true, false] {
            var tracker = SequenceTracker(isResumable: isResumable)
            for _ in 0..<3 { #expect(tracker.received(number, fingerprint: 7) == .untracked) }
            #expect(tracker.last == nil)
            #expect(tracker.received(0, fingerprint: 7) == .inOrder)
            #expect(tracker.received(number, fingerprint: 7) == .untracked)
            #expect(tracker.last == 0)
        }
    }

    @Test func aMissingNumberIsAGap() {
        var tracker = SequenceTracker(isResumable: false)
        _ = tracker.received(0, fingerprint: 1)
        #expect(tracker.received(2, fingerprint: 2) == .gap(expected: 1, found: 2))
        #expect(tracker.last == 2)
        #expect(tracker.received(3, fingerprint: 3) == .inOrder)
        #expect(tracker.received(90_000, fingerprint: 4) == .gap(expected: 4, found: 90_000))
        #expect(tracker.received(Int.max - 1, fingerprint: 4) == .gap(expected: 90_001, found: Int.max - 1))
        #expect(tracker.consequence(of: .gap(expected: 1, found: 2)) == .deliver)
    }

    @Test func aResumableResponseIsFetchedAgainFromBeforeAGap() {
        var tracker = SequenceTracker(isResumable: true)
        _ = tracker.received(0, fingerprint: 10)
        let gap = tracker.received(2, fingerprint: 12)
        #expect(gap == .gap(expected: 1, found: 2))
        #expect(tracker.consequence(of: gap) == .fail)
        #expect(tracker.last == 0)
        // The next connection.
        #expect(tracker.received(1, fingerprint: 11) == .inOrder)
        #expect(tracker.received(2, fingerprint: 12) == .inOrder)
        #expect(tracker.last == 2)
    }

    @Test func aResumedResponseMustGoOnBehindItsLastNumber() {
        var tracker = SequenceTracker(isResumable: true)
        for number in 0...5 { _ = tracker.received(number, fingerprint: UInt64(number)) }
        #expect(tracker.received(7, fingerprint: 7) == .gap(expected: 6, found: 7))
        #expect(tracker.received(6, fingerprint: 6) == .inOrder)
    }

    @Test(arguments: 0...3)
    func eventsWithoutANumberExcuseAGapOnceTheServerWasAsked(unnumbered: Int) {
        for missing in 1...4 {
            var tracker = SequenceTracker(isResumable: true)
            _ = tracker.received(0, fingerprint: 1)
            for _ in 0..<unnumbered { _ = tracker.received(nil, fingerprint: 9) }
            let gap = SequenceTracker.Verdict.gap(expected: 1, found: missing + 1)
            #expect(tracker.received(missing + 1, fingerprint: 2) == gap)
            // The next connection continues behind the gap, or has the missing events.
            var other = tracker
            #expect(other.received(1, fingerprint: 3) == .inOrder)
            #expect(tracker.received(missing + 1, fingerprint: 2) == (missing <= unnumbered ? .inOrder : gap))
        }
    }

    @Test(arguments: 0...3)
    func outputWithoutANumberExcusesAGap(unnumbered: Int) {
        for missing in 1...4 {
            var tracker = SequenceTracker(isResumable: true)
            _ = tracker.received(0, fingerprint: 1)
            for _ in 0..<unnumbered { _ = tracker.received(nil, fingerprint: 9, isOutput: true) }
            let verdict = tracker.received(missing + 1, fingerprint: 2)
            #expect(verdict == (missing <= unnumbered ? .inOrder : .gap(expected: 1, found: missing + 1)))
        }
    }

    @Test func eventsWithoutANumberThatUseNumbersUpAreAskedForOnce() {
        var tracker = SequenceTracker(isResumable: true)
        _ = tracker.received(0, fingerprint: 1)
        _ = tracker.received(nil, fingerprint: 9)
        #expect(tracker.received(2, fingerprint: 2) == .gap(expected: 1, found: 2))
        #expect(tracker.received(2, fingerprint: 2) == .inOrder)
        _ = tracker.received(nil, fingerprint: 9)
        #expect(tracker.received(4, fingerprint: 4) == .inOrder)
        // No event without a number came before this gap.
        #expect(tracker.received(6, fingerprint: 6) == .gap(expected: 5, found: 6))
    }

    @Test func repeatedEventIsRecognisedBeforeItIsReceived() {
        for isResumable in [true, false] {
            var tracker = SequenceTracker(isResumable: isResumable)
            for number in 0..<9 { _ = tracker.received(number, fingerprint: UInt64(number)) }
            for number in 0..<9 {
                #expect(tracker.isRepeated(number, fingerprint: UInt64(number)))
                #expect(!tracker.isRepeated(number, fingerprint: 77))
            }
            #expect(!tracker.isRepeated(9, fingerprint: 9))
            #expect(!tracker.isRepeated(nil, fingerprint: 0))
            let verdict = tracker.received(8, fingerprint: 8)
            #expect(verdict == .duplicate)
            #expect(tracker.consequence(of: verdict) == .drop)
        }
    }

    @Test func noRepetitionIsReportedBeforeASecondNumber() {
        var tracker = SequenceTracker(isResumable: false)
        _ = tracker.received(0, fingerprint: 1)
        #expect(!tracker.isRepeated(0, fingerprint: 1))
    }

    /// The fast path for events in order keeps the same state as the slow one.
    @Test(arguments: 0..<60 as Range<UInt64>)
    func takingTheNextNumberIsReceivingIt(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let isResumable = random.chance(0.5)
        var tracker = SequenceTracker(isResumable: isResumable)
        var other = SequenceTracker(isResumable: isResumable)
        var number = random.below(3)
        for _ in 0..<3_000 {
            number = random.chance(0.97) ? number + 1 : max(0, number + random.below(40) - 30)
            let fingerprint = UInt64(number) &* 3
            let verdict = other.received(number, fingerprint: fingerprint)
            if tracker.takeNext(number, fingerprint: fingerprint) {
                #expect(verdict == .inOrder)
            } else {
                #expect(tracker.received(number, fingerprint: fingerprint) == verdict)
            }
            #expect(tracker.last == other.last)
            let old = max(0, number - random.below(1_200))
            #expect(
                tracker.isRepeated(old, fingerprint: UInt64(old) &* 3)
                    == other.isRepeated(old, fingerprint: UInt64(old) &* 3))
        }
    }

    @Test func anEventWithoutANumberAccountsForOneMissingNumberOnce() {
        var tracker = SequenceTracker(isResumable: false)
        _ = tracker.received(0, fingerprint: 1)
        _ = tracker.received(nil, fingerprint: 9)
        #expect(tracker.received(2, fingerprint: 2) == .inOrder)
        #expect(tracker.received(4, fingerprint: 4) == .gap(expected: 3, found: 4))
    }

    @Test func aResumedResponseThatRepeatsEventsHasDuplicates() {
        var tracker = SequenceTracker(isResumable: true)
        for number in 0..<100 { _ = tracker.received(number, fingerprint: UInt64(number) &* 77) }
        for number in 0..<100 {
            let verdict = tracker.received(number, fingerprint: UInt64(number) &* 77)
            #expect(verdict == .duplicate)
            #expect(tracker.consequence(of: verdict) == .drop)
        }
        #expect(tracker.last == 99)
        #expect(tracker.received(100, fingerprint: 1) == .inOrder)
    }

    @Test func anotherEventWithAKnownNumberIsAContradiction() {
        for number in [0, 50, 99] {
            var tracker = SequenceTracker(isResumable: true)
            for number in 0..<100 { _ = tracker.received(number, fingerprint: UInt64(number)) }
            let verdict = tracker.received(number, fingerprint: 1_000)
            #expect(verdict == .contradiction)
            #expect(tracker.consequence(of: verdict) == .fail)
            #expect(tracker.received(number, fingerprint: UInt64(number)) == .duplicate)
        }
    }

    @Test func theSameFirstNumberIsJudgedInAResumableResponse() {
        var tracker = SequenceTracker(isResumable: true)
        _ = tracker.received(0, fingerprint: 1)
        #expect(tracker.received(0, fingerprint: 1) == .duplicate)
        #expect(tracker.received(0, fingerprint: 2) == .contradiction)
        #expect(tracker.last == 0)
    }

    @Test(arguments: [0, 1, 42])
    func constantNumbersAreNotASequence(constant: Int) {
        var tracker = SequenceTracker(isResumable: false)
        #expect(tracker.received(constant, fingerprint: 1) == .inOrder)
        for fingerprint in [2, 2, 1, 3] as [UInt64] {
            #expect(tracker.received(constant, fingerprint: fingerprint) == .untracked)
            #expect(tracker.last == nil)
        }
        #expect(tracker.received(constant + 1, fingerprint: 4) == .untracked)
    }

    @Test func equalEventsAreNoDuplicatesBeforeASecondNumber() {
        var tracker = SequenceTracker(isResumable: false)
        _ = tracker.received(0, fingerprint: 1)
        // Two equal deltas of a server that does not count.
        #expect(tracker.received(0, fingerprint: 1) == .untracked)
        #expect(tracker.received(1, fingerprint: 2) == .inOrder)
        #expect(tracker.received(0, fingerprint: 1) == .duplicate)
    }

    @Test func numbersThatBeginAnewAreReportedOnce() {
        var tracker = SequenceTracker(isResumable: false)
        for number in 0..<10 { _ = tracker.received(number, fingerprint: UInt64(number)) }
        let verdict = tracker.received(0, fingerprint: 99)
        #expect(verdict == .contradiction)
        #expect(tracker.consequence(of: verdict) == .deliver)
        // An event that equals an earlier one by chance is not dropped.
        #expect(tracker.received(1, fingerprint: 1) == .untracked)
        #expect(tracker.last == nil)
    }

    @Test func aNumberThatWasMissedMayComeLate() {
        var tracker = SequenceTracker(isResumable: false)
        for number in [0, 1, 4] { _ = tracker.received(number, fingerprint: UInt64(number)) }
        #expect(tracker.received(3, fingerprint: 3) == .late)
        #expect(tracker.received(3, fingerprint: 3) == .duplicate)
        #expect(tracker.received(2, fingerprint: 2) == .late)
        #expect(tracker.last == 4)
        #expect(tracker.received(5, fingerprint: 5) == .inOrder)
        #expect(tracker.consequence(of: .late) == .deliver)
        #expect(SequenceTracker(isResumable: true).consequence(of: .late) == .fail)
    }

    @Test(arguments: [
        ([0, 2, 1], true), ([0, 1, 3, 4, 2], true), ([0, 3, 1, 2], true), ([0, 10, 20, 15], false),
        ([0, 1, 5, 2], false), ([3, 2, 1], false), ([0, 1, 2, 4, 5], false),
    ])
    func outputIsOvertakenWhereBothNeighboursHaveCome(numbers: [Int], isOvertaken: Bool) {
        for isOutput in [true, false] {
            var tracker = SequenceTracker(isResumable: false)
            for number in numbers { _ = tracker.received(number, fingerprint: UInt64(number), isOutput: isOutput) }
            #expect(tracker.hasOvertakenOutput == (isOvertaken && isOutput))
        }
    }

    @Test func aNumberBeforeTheFirstIsLate() {
        var tracker = SequenceTracker(isResumable: true)
        _ = tracker.received(40, fingerprint: 40)
        #expect(tracker.received(3, fingerprint: 3) == .late)
        #expect(tracker.received(3, fingerprint: 3) == .duplicate)
        #expect(tracker.received(40, fingerprint: 40) == .duplicate)
        #expect(tracker.received(4, fingerprint: 4) == .late)
    }

    @Test(arguments: [-1, 0, 1])
    func numbersBeforeTheWindowAreForgotten(excess: Int) {
        var tracker = SequenceTracker(isResumable: true)
        let count = SequenceTracker.windowSize + excess
        for number in 0..<count { _ = tracker.received(number, fingerprint: UInt64(number)) }
        let verdict = tracker.received(0, fingerprint: 0)
        #expect(verdict == (excess <= 0 ? .duplicate : .forgotten))
        #expect(tracker.received(1, fingerprint: 1) == .duplicate)
        #expect(tracker.consequence(of: .forgotten) == .drop)
        #expect(SequenceTracker(isResumable: false).consequence(of: .duplicate) == .drop)
        #expect(SequenceTracker(isResumable: false).consequence(of: .forgotten) == .deliver)
    }

    @Test func leapRemovesSkippedNumbersOnly() {
        var tracker = SequenceTracker(isResumable: false)
        for number in 0..<11 { _ = tracker.received(number, fingerprint: UInt64(number)) }
        _ = tracker.received(100, fingerprint: 100)
        for number in 0..<11 { #expect(tracker.received(number, fingerprint: UInt64(number)) == .duplicate) }
        for number in [11, 12, 26, 99] { #expect(tracker.received(number, fingerprint: 1) == .late) }
        _ = tracker.received(5_000, fingerprint: 1)
        #expect(tracker.received(100, fingerprint: 100) == .forgotten)
        #expect(tracker.received(5_000 - 1_023, fingerprint: 1) == .late)
        #expect(tracker.received(5_000 - 1_024, fingerprint: 1) == .forgotten)
    }

    @Test func fingerprintOfZeroIsCompared() {
        var tracker = SequenceTracker(isResumable: true)
        _ = tracker.received(0, fingerprint: 0)
        _ = tracker.received(1, fingerprint: 5)
        #expect(tracker.received(0, fingerprint: 0) == .duplicate)
        #expect(tracker.received(0, fingerprint: 5) == .contradiction)
    }

    /// The same tracker with an unbounded dictionary.
    @Test(arguments: 0..<60 as Range<UInt64>)
    func trackerAgreesWithAnUnboundedTable(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let isResumable = random.chance(0.5)
        var tracker = SequenceTracker(isResumable: isResumable)
        var known: [Int: UInt64] = [:]
        var highest: Int?
        for _ in 0..<4_000 {
            let base = highest ?? random.below(50)
            let number = max(0, random.chance(0.8) ? base + 1 : base + random.below(3_000) - 2_000)
            let fingerprint = UInt64(number) &* 3
            let verdict = tracker.received(number, fingerprint: fingerprint)
            guard let last = highest else {
                #expect(verdict == .inOrder)
                highest = number
                known[number] = fingerprint
                continue
            }
            if number > last + 1 {
                #expect(verdict == .gap(expected: last + 1, found: number))
                if isResumable { continue }
            } else if number == last + 1 {
                #expect(verdict == .inOrder)
            } else if last - number >= SequenceTracker.windowSize {
                #expect(verdict == .forgotten)
                continue
            } else if known[number] == nil {
                #expect(verdict == .late)
            } else {
                #expect(verdict == (isResumable || known.count > 1 ? .duplicate : .untracked))
            }
            known[number] = fingerprint
            highest = max(last, number)
            #expect(tracker.last == highest)
        }
    }
}
