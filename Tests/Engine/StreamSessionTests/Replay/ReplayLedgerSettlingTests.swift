// Items that the server is given back are not expected again.
import Testing

@testable import StreamSession

@Suite struct ReplayLedgerSettlingTests {
    @Test func anAttemptGoesOnBehindTheSettledItems() {
        var ledger = ReplayLedger()
        _ = ledger.admit("one", in: .text(0))
        _ = ledger.admit("two", in: .text(1))
        _ = ledger.admit("thr", in: .text(2))
        #expect(ledger.canSettle(itemCount: 2))
        #expect(ledger.beginReplay(settling: 2) == true)
        #expect(!ledger.isCaughtUp)
        #expect(ledger.admit("three", in: .text(0)) == .deliver(from: 3))
        #expect(ledger.admit("four", in: .text(1)) == .deliver(from: 0))
        #expect(ledger.deliveredText == "onetwothreefour")
        #expect(ledger.verifiedByteCount == 3)
        #expect(ledger.finish() == .whole)
    }

    @Test func settledItemsAccumulateOverReplays() {
        var ledger = ReplayLedger()
        _ = ledger.admit("a", in: .text(0))
        _ = ledger.admit("b", in: .text(1))
        #expect(ledger.beginReplay(settling: 1) == true)
        #expect(ledger.admit("b", in: .text(0)) == .swallow)
        _ = ledger.admit("c", in: .text(1))
        _ = ledger.admit("d", in: .text(2))
        #expect(ledger.beginReplay(settling: 2) == true)
        #expect(ledger.admit("de", in: .text(0)) == .deliver(from: 1))
        ledger.beginReplay()
        #expect(ledger.admit("de", in: .text(0)) == .swallow)
        #expect(ledger.admit("f", in: .text(5)) == .deliver(from: 0))
        #expect(ledger.deliveredText == "abcdef")
    }

    @Test func allItemsMayBeSettled() {
        var ledger = ReplayLedger()
        _ = ledger.admit("a", in: .summary(0))
        _ = ledger.admit("b", in: .text(1))
        _ = ledger.admitToolCall(.weather(2))
        #expect(ledger.beginReplay(settling: 3) == true)
        #expect(ledger.isCaughtUp)
        #expect(ledger.hasDelivered)
        #expect(ledger.admit("b", in: .text(0)) == .deliver(from: 0))
        #expect(ledger.deliveredText == "bb")
        // The last run of the settled items was still open.
        ledger.beginReplay()
        #expect(ledger.admit("b", in: .text(0)) == .swallow)
        #expect(ledger.isCaughtUp)
    }

    @Test func moreItemsThanWereSeenMayBeSettled() {
        var ledger = ReplayLedger()
        _ = ledger.admit("a", in: .text(0))
        #expect(ledger.beginReplay(settling: 4) == true)
        #expect(ledger.admit("b", in: .text(0)) == .deliver(from: 0))
        #expect(ledger.beginReplay(settling: 1) == true)
        #expect(ledger.admitToolCall(.weather(0)) == .deliver(from: 0))
    }

    @Test func settlingNoItemsIsAReplay() {
        var ledger = ReplayLedger()
        _ = ledger.admit("a", in: .text(0))
        _ = ledger.admitRaw(type: "x")
        #expect(ledger.beginReplay(settling: 0) == true)
        #expect(ledger.admit("a", in: .text(0)) == .swallow)
        #expect(ledger.admitRaw(type: "x") == false)
    }

    @Test(arguments: [-1, Int.min])
    func negativeItemCountCannotBeSettled(count: Int) {
        var ledger = ReplayLedger()
        #expect(!ledger.canSettle(itemCount: count))
        #expect(ledger.beginReplay(settling: count) == false)
    }

    @Test func moreItemsThanThereAreNumbersCannotBeSettled() {
        var ledger = ReplayLedger()
        #expect(ledger.beginReplay(settling: .max) == true)
        #expect(!ledger.canSettle(itemCount: 1))
        #expect(ledger.admit("a", in: .text(0)) == .deliver(from: 0))
        #expect(ledger.admit("a", in: .text(1)) == .diverged)
    }

    @Test func settledItemsStandBeforeTheOthersInEachChannel() {
        var ledger = ReplayLedger()
        _ = ledger.admit("a", in: .text(0))
        _ = ledger.admit("b", in: .text(1))
        _ = ledger.admit("c", in: .text(0))
        #expect(!ledger.canSettle(itemCount: 1))
        #expect(ledger.canSettle(itemCount: 2))
        #expect(ledger.beginReplay(settling: 1) == false)
        // The state is unchanged.
        #expect(ledger.isCaughtUp)
        #expect(ledger.admit("d", in: .text(0)) == .deliver(from: 0))
        ledger.beginReplay()
        #expect(ledger.admit("a", in: .text(0)) == .swallow)
        #expect(!ledger.isCaughtUp)
    }

    @Test func anEarlierRunOfALaterItemIsFoundToo() {
        var ledger = ReplayLedger()
        _ = ledger.admit("b", in: .text(1))
        _ = ledger.admit("a", in: .text(0))
        _ = ledger.admit("c", in: .text(2))
        #expect(!ledger.canSettle(itemCount: 1))
        #expect(ledger.canSettle(itemCount: 2))
    }

    @Test func channelsMayInterleave() {
        var ledger = ReplayLedger()
        _ = ledger.admit("say", in: .text(1))
        _ = ledger.admit("think", in: .summary(0))
        #expect(ledger.beginReplay(settling: 1) == true)
        #expect(ledger.admit("say", in: .text(0)) == .swallow)
        #expect(ledger.isCaughtUp)
        #expect(ledger.admit("more", in: .summary(1)) == .deliver(from: 0))
    }

    @Test func callsOfSettledItemsAreNotExpectedAndTheSameCallIsNew() {
        var ledger = ReplayLedger()
        _ = ledger.admitToolCall(.weather(0))
        _ = ledger.admitToolCall(.weather(1))
        #expect(ledger.beginReplay(settling: 1) == true)
        #expect(!ledger.isCaughtUp)
        #expect(ledger.admitToolCall(.weather(0)) == .swallow)
        #expect(ledger.isCaughtUp)
        #expect(ledger.admitToolCall(.weather(0)) == .deliver(from: 0))
        #expect(ledger.admitToolCall(.weather(1)) == .deliver(from: 0))
    }

    @Test func callsOfSettledItemsStandBeforeTheOthers() {
        var ledger = ReplayLedger()
        _ = ledger.admitToolCall(.weather(1))
        _ = ledger.admitToolCall(.weather(0))
        #expect(!ledger.canSettle(itemCount: 1))
        #expect(ledger.canSettle(itemCount: 2))
    }

    @Test func aDifferentContinuationIsADivergence() {
        for text in ["x", "on", "two"] {
            var ledger = ReplayLedger()
            _ = ledger.admit("one", in: .text(0))
            _ = ledger.admit("tw", in: .text(1))
            #expect(ledger.beginReplay(settling: 1) == true)
            let admission = ledger.admit(text, in: .text(0))
            #expect(admission == (text == "two" ? .deliver(from: 2) : .diverged))
        }
    }

    @Test func theSlotCountsFromTheFirstItemThatIsNotSettled() {
        for slot in [ReplaySlot.text(1), .text(1, part: 1), .summary(0)] {
            var ledger = ReplayLedger()
            _ = ledger.admit("one", in: .text(0))
            _ = ledger.admit("two", in: .text(1))
            #expect(ledger.beginReplay(settling: 1) == true)
            #expect(ledger.admit("two", in: slot) == .diverged)
        }
    }

    @Test func outputNotRepeatedByTheBrokenAttemptCannotBeSettled() {
        var ledger = ReplayLedger()
        _ = ledger.admit("Hello", in: .text(0))
        ledger.beginReplay()
        #expect(!ledger.canSettle(itemCount: 1))
        // This attempt ends its item before all delivered output has been repeated.
        _ = ledger.admit("Hell", in: .text(0))
        #expect(!ledger.canSettle(itemCount: 1))
        _ = ledger.admit("o", in: .text(0))
        #expect(ledger.canSettle(itemCount: 1))
    }

    @Test func callsThatTheBrokenAttemptHasNotRepeatedCannotBeSettled() {
        var ledger = ReplayLedger()
        _ = ledger.admitToolCall(.weather(0))
        ledger.beginReplay()
        #expect(!ledger.canSettle(itemCount: 1))
        _ = ledger.admitToolCall(.weather(0))
        #expect(ledger.canSettle(itemCount: 1))
    }

    @Test func settledItemsMayBeAheadOfAVerificationThatGoesOn() {
        var ledger = ReplayLedger()
        _ = ledger.admit("one", in: .text(0))
        _ = ledger.admit("two", in: .text(1))
        ledger.beginReplay()
        _ = ledger.admit("one", in: .text(0))
        _ = ledger.admit("t", in: .text(1))
        #expect(!ledger.isCaughtUp)
        #expect(ledger.beginReplay(settling: 1) == true)
        #expect(ledger.admit("tw", in: .text(0)) == .swallow)
        #expect(ledger.admit("o!", in: .text(0)) == .deliver(from: 1))
    }

    @Test func aDivergenceCannotBeSettled() {
        var ledger = ReplayLedger()
        _ = ledger.admit("a", in: .text(0))
        ledger.beginReplay()
        _ = ledger.admit("b", in: .text(0))
        #expect(!ledger.canSettle(itemCount: 1))
        #expect(!ledger.canSettle(itemCount: 0))
        #expect(ledger.beginReplay(settling: 1) == false)
        #expect(ledger.finish() == .diverged)
    }

    @Test func aSettledReplayThatEndsShortDiverges() {
        var ledger = ReplayLedger()
        _ = ledger.admit("one", in: .text(0))
        _ = ledger.admit("two", in: .text(1))
        #expect(ledger.beginReplay(settling: 1) == true)
        _ = ledger.admit("tw", in: .text(0))
        #expect(ledger.finish() == .diverged)
    }

    @Test func aResumedResponseGoesOnAsItWas() {
        var ledger = ReplayLedger()
        _ = ledger.admit("Hello", in: .message)
        _ = ledger.admitRaw(type: "x", outputIndex: 0)
        // The connection breaks; the next events are the same as without the break.
        #expect(ledger.admit(" world", in: .message) == .deliver(from: 0))
        #expect(ledger.admitRaw(type: "x", outputIndex: 0) == true)
        ledger.beginReplay()
        #expect(ledger.admit("Hel", in: .message) == .swallow)
        // And again, in the middle of a verification.
        #expect(ledger.admit("lo wor", in: .message) == .swallow)
        #expect(ledger.admit("ld!", in: .message) == .deliver(from: 2))
    }

    // MARK: Raw events

    @Test func rawEventsAreCountedForEachItem() {
        var ledger = ReplayLedger()
        #expect([0, 0, 0, 1].map { ledger.admitRaw(type: "a", outputIndex: $0) } == [true, true, true, true])
        ledger.beginReplay()
        // Item 0 comes in fewer pieces, item 1 in more.
        #expect([0, 1, 1, 0].map { ledger.admitRaw(type: "a", outputIndex: $0) } == [false, false, true, false])
        #expect(ledger.admitRaw(type: "b", outputIndex: 0) == true)
        #expect(ledger.admitRaw(type: "a") == true)
    }

    @Test func rawEventsOfSettledItemsAreForgotten() {
        var ledger = ReplayLedger()
        for item in 0...2 { #expect(ledger.admitRaw(type: "done", outputIndex: item) == true) }
        #expect(ledger.admitRaw(type: "created") == true)
        #expect(ledger.beginReplay(settling: 2) == true)
        #expect(ledger.admitRaw(type: "created") == true)
        #expect(ledger.admitRaw(type: "done", outputIndex: 0) == false)
        #expect(ledger.admitRaw(type: "done", outputIndex: 1) == true)
        ledger.beginReplay()
        #expect(ledger.admitRaw(type: "created") == false)
        #expect(ledger.admitRaw(type: "done", outputIndex: 0) == false)
        #expect(ledger.admitRaw(type: "done", outputIndex: 1) == false)
        #expect(ledger.admitRaw(type: "done", outputIndex: 2) == true)
    }

    @Test(arguments: [-1, 0, 1])
    func itemsPastTheTableAreCountedByType(excess: Int) {
        let count = RawEventCounts.maximumItemCount + excess
        var counts = RawEventCounts()
        for index in 0..<count { #expect(counts.admit("a", outputIndex: index) == true) }
        counts.rewind()
        #expect(counts.admit("a") == (excess <= 0))
        #expect(counts.admit("a", outputIndex: 0) == false)
    }

    @Test func settledItemsMakeRoomInTheTable() {
        var counts = RawEventCounts()
        for index in 0..<RawEventCounts.maximumItemCount { _ = counts.admit("a", outputIndex: index) }
        counts.settle(0..<10)
        counts.rewind()
        for index in 10..<RawEventCounts.maximumItemCount { #expect(counts.admit("a", outputIndex: index) == false) }
        for index in 0..<10 {
            // Each has a separate count.
            #expect(counts.admit("a", outputIndex: RawEventCounts.maximumItemCount + index) == true)
        }
        #expect(counts.admit("a") == true)
        counts.rewind()
        #expect(counts.admit("a") == false)
        #expect(counts.admit("a") == true)
    }

    // MARK: At random

    /// A response of several items, cut again and again, whose finished items are given back whenever that is possible.
    @Test(arguments: 0..<400 as Range<UInt64>)
    func anyCutsAndAnySettlingGiveTheResponseOnce(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let items = (0..<5).map { _ in String((0..<random.below(6)).map { _ in ["a", "é", "😀"][random.below(3)] }) }
        var ledger = ReplayLedger()
        var consumed = ""
        var first = 0
        for attempt in 0..<6 {
            let isLast = attempt == 5
            var finished = 0
            output: for (index, item) in items[first...].enumerated() {
                for scalar in item.unicodeScalars {
                    if !isLast, random.chance(0.12) { break output }
                    if case .deliver = ledger.admit(String(scalar), in: .text(index)) {
                        consumed.unicodeScalars.append(scalar)
                    }
                }
                finished += 1
            }
            if isLast { break }
            let count = random.below(finished + 1)
            if random.chance(0.7), ledger.beginReplay(settling: count) { first += count } else { ledger.beginReplay() }
        }
        #expect(ledger.finish() == .whole)
        #expect(consumed == items.joined())
        #expect(ledger.deliveredText == consumed)
    }
}
