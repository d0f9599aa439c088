// The memory beside the delivered text.
import StreamSession
import Testing

@Suite struct ReplayLedgerMemoryTests {
    @Test func aThousandDeltasOfOneSlotTakeNothingBesideTheText() {
        var ledger = ReplayLedger()
        for _ in 0..<1_000 { _ = ledger.admit("a word ", in: .message) }
        #expect(ledger.runByteCount == 0)
        ledger.beginReplay()
        for _ in 0..<1_000 { _ = ledger.admit("a word ", in: .message) }
        #expect(ledger.isCaughtUp)
        _ = ledger.admit("more", in: .message)
        #expect(ledger.runByteCount == 0)
    }

    @Test func slotsOneAfterTheOtherTakeAFewBytesEach() {
        var ledger = ReplayLedger()
        for item in 0..<1_000 {
            for _ in 0..<10 { _ = ledger.admit("some words", in: .text(item)) }
        }
        #expect(ledger.runByteCount <= 1_000 * 4)
    }

    @Test func slotsThatChangeWithEveryDeltaTakeAFewBytesEach() {
        var ledger = ReplayLedger()
        for index in 0..<10_000 { _ = ledger.admit("some words", in: .text(index % 7, part: index % 3)) }
        #expect(ledger.runByteCount <= 10_000 * 4)
        ledger.beginReplay()
        for index in 0..<10_000 {
            #expect(ledger.admit("some words", in: .text(index % 7, part: index % 3)) == .swallow)
        }
        #expect(ledger.isCaughtUp)
        #expect(ledger.verifiedByteCount == 100_000)
    }

    @Test func memoryOfDistantSlotsIsBoundedByTheirCount() {
        var ledger = ReplayLedger()
        for index in 0..<1_000 {
            _ = ledger.admit("a", in: .text(index.isMultiple(of: 2) ? .min : .max, part: index * 7_777_777))
        }
        #expect(ledger.runByteCount <= 1_000 * (1 + 10 + 10 + 1))
    }

    /// Copies share the delivered bytes until one of them changes.
    @Test func copiesGoOnIndependently() {
        var first = ReplayLedger()
        _ = first.admit("shared ", in: .message)
        var second = first
        #expect(second.admit("two", in: .message) == .deliver(from: 0))
        #expect(first.admit("one and more", in: .message) == .deliver(from: 0))
        #expect(first.deliveredText == "shared one and more")
        #expect(second.deliveredText == "shared two")
        let long = String(repeating: "x", count: 100_000)
        let third = second
        _ = second.admit(long, in: .message)
        #expect(second.deliveredText == "shared two" + long)
        #expect(third.deliveredText == "shared two")
    }
}
