// Tool calls are delivered once, and raw events are counted.

import Testing

@testable import StreamSession

@Suite struct ReplayLedgerToolCallTests {
    @Test func aCallIsHandedOverOnce() {
        var ledger = ReplayLedger()
        #expect(ledger.admitToolCall(.weather(0)) == .deliver(from: 0))
        #expect(ledger.hasDelivered)
        ledger.beginReplay()
        #expect(!ledger.isCaughtUp)
        #expect(ledger.admitToolCall(.weather(0)) == .swallow)
        #expect(ledger.isCaughtUp)
        #expect(ledger.verifiedByteCount == 15)
        #expect(ledger.finish() == .whole)
    }

    @Test func equalCallsAreCountedEach() {
        var ledger = ReplayLedger()
        #expect(ledger.admitToolCall(.weather(0)) == .deliver(from: 0))
        #expect(ledger.admitToolCall(.weather(0)) == .deliver(from: 0))
        #expect(ledger.admitToolCall(.weather(1)) == .deliver(from: 0))
        ledger.beginReplay()
        #expect(ledger.admitToolCall(.weather(0)) == .swallow)
        #expect(ledger.admitToolCall(.weather(0)) == .swallow)
        #expect(!ledger.isCaughtUp)
        #expect(ledger.admitToolCall(.weather(1)) == .swallow)
        #expect(ledger.isCaughtUp)
        #expect(ledger.admitToolCall(.weather(0)) == .deliver(from: 0))
        #expect(ledger.finish() == .whole)
    }

    @Test func fewerAndMoreEqualCallsThanBeforeAreADivergence() {
        for count in [1, 3] {
            var ledger = ReplayLedger()
            for call in [0, 0, 1] { _ = ledger.admitToolCall(.weather(call)) }
            ledger.beginReplay()
            for _ in 0..<min(count, 2) { #expect(ledger.admitToolCall(.weather(0)) == .swallow) }
            #expect(ledger.admitToolCall(.weather(count == 1 ? 1 : 0)) == .diverged)
        }
    }

    static let contradictions: [SimulatedCall] = [
        .weather(0, arguments: "e"), .weather(0, arguments: "e\u{301}"), .weather(0, arguments: "é "),
        .weather(0, arguments: ""), .weather(1, arguments: "é"),
    ]

    @Test(arguments: contradictions)
    func anotherCallIsADivergence(call: SimulatedCall) {
        var ledger = ReplayLedger()
        _ = ledger.admitToolCall(.weather(0, arguments: "é"))
        ledger.beginReplay()
        #expect(ledger.admitToolCall(call) == .diverged)
    }

    @Test func callsAtTheSamePositionAreDistinguishedByTheirArguments() {
        var ledger = ReplayLedger()
        #expect(ledger.admitToolCall(.weather(0)) == .deliver(from: 0))
        #expect(ledger.admitToolCall(.weather(0, arguments: "{}")) == .deliver(from: 0))
        ledger.beginReplay()
        #expect(ledger.admitToolCall(.weather(0)) == .swallow)
        #expect(!ledger.isCaughtUp)
        #expect(ledger.admitToolCall(.weather(0, arguments: "{}")) == .swallow)
        #expect(ledger.isCaughtUp)
        ledger.beginReplay()
        #expect(ledger.admitToolCall(.weather(0, arguments: "{}")) == .diverged)
    }

    @Test func callsComeAgainInTheirOrder() {
        var ledger = ReplayLedger()
        _ = ledger.admitToolCall(.weather(0))
        _ = ledger.admitToolCall(.weather(1))
        ledger.beginReplay()
        #expect(ledger.admitToolCall(.weather(1)) == .diverged)
    }

    @Test func aMissingCallIsADivergence() {
        var ledger = ReplayLedger()
        _ = ledger.admit("Let me look. ", in: .message)
        _ = ledger.admitToolCall(.weather(1))
        ledger.beginReplay()
        #expect(ledger.admit("Let me look. ", in: .message) == .swallow)
        #expect(ledger.finish() == .diverged)
    }

    @Test func textMayNotGoOnBeforeTheCallHasComeAgain() {
        var ledger = ReplayLedger()
        _ = ledger.admit("Let me look. ", in: .message)
        _ = ledger.admitToolCall(.weather(1))
        ledger.beginReplay()
        #expect(ledger.admit("Let me look. It is 21 °C.", in: .message) == .diverged)
    }

    @Test func aNewCallMayNotComeBeforeTheTextIsWhole() {
        var ledger = ReplayLedger()
        _ = ledger.admit("Let me look. ", in: .message)
        ledger.beginReplay()
        #expect(ledger.admit("Let me", in: .message) == .swallow)
        #expect(ledger.admitToolCall(.weather(1)) == .diverged)
    }

    @Test func rawEventsAreWithheldByCountForEachType() {
        var ledger = ReplayLedger()
        #expect(ledger.admitRaw(type: "a") == true)
        #expect(ledger.admitRaw(type: "a") == true)
        #expect(ledger.admitRaw(type: "b") == true)
        #expect(!ledger.hasDelivered)
        ledger.beginReplay()
        #expect(ledger.isCaughtUp)
        #expect(ledger.admitRaw(type: "b") == false)
        #expect(ledger.admitRaw(type: "b") == true)
        #expect(ledger.admitRaw(type: "a") == false)
        ledger.beginReplay()
        #expect([1, 2, 3].map { _ in ledger.admitRaw(type: "a") } == [false, false, true])
        #expect([1, 2, 3].map { _ in ledger.admitRaw(type: "b") } == [false, false, true])
        #expect(ledger.admitRaw(type: "") == true)
    }

    @Test(arguments: [-1, 0, 1])
    func rawTypesPastTheTableAreCountedTogether(excess: Int) {
        let count = RawEventCounts.maximumTypeCount + excess
        var counts = RawEventCounts()
        for index in 0..<count { #expect(counts.admit("type \(index)") == true) }
        counts.rewind()
        // One type beyond the table was passed on without its own count, so another one is withheld.
        #expect(counts.admit("another") == (excess <= 0))
        for index in 0..<RawEventCounts.maximumTypeCount - 1 { #expect(counts.admit("type \(index)") == false) }
    }

    @Test(arguments: [-1, 0, 1])
    func longRawTypesAreCountedTogether(excess: Int) {
        let count = RawEventCounts.maximumTypeByteCount + excess
        var counts = RawEventCounts()
        #expect(counts.admit(String(repeating: "a", count: count)) == true)
        counts.rewind()
        // Another type of the same length has its own count as long as it is not too long for one.
        #expect(counts.admit(String(repeating: "b", count: count)) == (excess <= 0))
    }
}
