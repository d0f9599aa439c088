// The ledger's rule, one sentence at a time.
import StreamSession
import Testing

@Suite struct ReplayLedgerTests {
    @Test func aFirstAttemptIsDeliveredWhole() {
        var ledger = ReplayLedger()
        #expect(ledger.admit("Hel", in: .message) == .deliver(from: 0))
        #expect(ledger.admit("lo", in: .message) == .deliver(from: 0))
        #expect(ledger.isCaughtUp)
        #expect(ledger.finish() == .whole)
        #expect(ledger.deliveredText == "Hello")
        #expect(ledger.verifiedByteCount == 0)
    }

    @Test func emptyDeltaDeliversNoText() {
        var ledger = ReplayLedger()
        #expect(ledger.admit("", in: .message) == .swallow)
        #expect(!ledger.hasDelivered)
        #expect(ledger.admit("a", in: .message) == .deliver(from: 0))
        ledger.beginReplay()
        #expect(ledger.admit("", in: .message) == .swallow)
        #expect(ledger.admit("", in: .text(7)) == .swallow)
        #expect(!ledger.isCaughtUp)
    }

    @Test(arguments: 1...11)
    func aReplayIsSwallowedInAnyChunksAndTheRestIsDelivered(chunk: Int) {
        let whole = Array("Hello world".utf8)
        var ledger = ReplayLedger()
        _ = ledger.admit("Hello", in: .message)
        ledger.beginReplay()
        var delivered = "Hello"
        for start in stride(from: 0, to: whole.count, by: chunk) {
            let piece = Array(whole[start..<min(start + chunk, whole.count)])
            switch ledger.admit(piece.span, in: .message) {
            case .deliver(let offset):
                #expect(offset < piece.count)
                delivered += String(decoding: piece[offset...], as: UTF8.self)
            case .swallow: #expect(start + chunk <= 5)
            case .diverged, .tooMuch: Issue.record("diverged at \(start)")
            }
        }
        #expect(delivered == "Hello world")
        #expect(ledger.deliveredText == "Hello world")
        #expect(ledger.verifiedByteCount == 5)
        #expect(ledger.finish() == .whole)
    }

    @Test func aReplayThatEndsWithTheDeliveredEndHasNoRemainder() {
        var ledger = ReplayLedger()
        _ = ledger.admit("abc", in: .message)
        ledger.beginReplay()
        #expect(ledger.admit("abc", in: .message) == .swallow)
        #expect(ledger.isCaughtUp)
        #expect(ledger.admit("d", in: .message) == .deliver(from: 0))
    }

    @Test(arguments: 0..<5)
    func oneDifferentByteIsADivergence(at position: Int) {
        var ledger = ReplayLedger()
        _ = ledger.admit("Hello", in: .message)
        ledger.beginReplay()
        var bytes = Array("Hello, world".utf8)
        bytes[position] ^= 1
        #expect(ledger.admit(bytes.span, in: .message) == .diverged)
        #expect(ledger.deliveredText == "Hello")
    }

    @Test func divergenceIsPermanent() {
        var ledger = ReplayLedger()
        _ = ledger.admit("a", in: .message)
        ledger.beginReplay()
        #expect(ledger.admit("b", in: .message) == .diverged)
        #expect(ledger.admit("a", in: .message) == .diverged)
        #expect(ledger.admitToolCall(.weather(1)) == .diverged)
        #expect(ledger.admitRaw(type: "x") == false)
        #expect(ledger.finish() == .diverged)
        ledger.beginReplay()
        #expect(ledger.admit("a", in: .message) == .diverged)
        #expect(!ledger.isCaughtUp)
    }

    @Test func aReplayThatEndsShortDiverges() {
        var ledger = ReplayLedger()
        _ = ledger.admit("Hello", in: .message)
        ledger.beginReplay()
        #expect(ledger.admit("Hell", in: .message) == .swallow)
        #expect(!ledger.isCaughtUp)
        #expect(ledger.finish() == .diverged)
        #expect(ledger.finish() == .diverged)
    }

    @Test func emptyReplayOfNoOutputIsWhole() {
        var ledger = ReplayLedger()
        ledger.beginReplay()
        #expect(ledger.isCaughtUp)
        #expect(ledger.admit("a", in: .message) == .deliver(from: 0))
        #expect(ledger.finish() == .whole)
    }

    @Test func aReplayThatWasCutWhileItWasVerifiedIsFollowedByAnother() {
        var ledger = ReplayLedger()
        _ = ledger.admit("Hello", in: .message)
        ledger.beginReplay()
        #expect(ledger.admit("He", in: .message) == .swallow)
        ledger.beginReplay()
        #expect(ledger.admit("Hel", in: .message) == .swallow)
        #expect(ledger.admit("lo wo", in: .message) == .deliver(from: 2))
        ledger.beginReplay()
        #expect(ledger.admit("Hello world", in: .message) == .deliver(from: 8))
        #expect(ledger.deliveredText == "Hello world")
        #expect(ledger.verifiedByteCount == 2 + 5 + 8)
    }

    @Test func replayMustComeInTheSameItemAndKind() {
        for slot in [ReplaySlot.text(1), .text(1, part: 1), ReplaySlot(.refusal, outputIndex: 0)] {
            var ledger = ReplayLedger()
            _ = ledger.admit("abc", in: .message)
            ledger.beginReplay()
            #expect(ledger.admit("abc", in: slot) == .diverged)
        }
    }

    /// vLLM counts the parts of an item by its deltas, so that the count depends on where the text is cut.
    @Test func replayMayCountThePartsOfAnItemDifferently() {
        var ledger = ReplayLedger()
        for (part, text) in ["a", "bc", "d"].enumerated() { _ = ledger.admit(text, in: .text(0, part: part)) }
        ledger.beginReplay()
        #expect(ledger.admit("ab", in: .text(0, part: 7)) == .swallow)
        #expect(ledger.admit("cde", in: .text(0)) == .deliver(from: 2))
        ledger.beginReplay()
        #expect(ledger.admit("abcd", in: .text(0, part: 2)) == .swallow)
        #expect(ledger.admit("ef", in: .text(1)) == .diverged)
    }

    @Test func laterSlotsFollowVerifiedOnes() {
        var ledger = ReplayLedger()
        _ = ledger.admit("one", in: .text(0))
        _ = ledger.admit("two", in: .text(1))
        ledger.beginReplay()
        #expect(ledger.admit("one", in: .text(0)) == .swallow)
        #expect(ledger.admit("two, three", in: .text(1)) == .deliver(from: 3))
        #expect(ledger.admit("four", in: .text(2)) == .deliver(from: 0))
        #expect(ledger.deliveredText == "onetwo, threefour")
    }

    @Test func aSlotThatIsLongerThanBeforeALaterOneDiverges() {
        var ledger = ReplayLedger()
        _ = ledger.admit("one", in: .text(0))
        _ = ledger.admit("two", in: .text(1))
        ledger.beginReplay()
        #expect(ledger.admit("one!", in: .text(0)) == .diverged)
        #expect(ledger.verifiedByteCount == 0)
    }

    @Test func aNewSlotBeforeADeliveredOneIsWholeDiverges() {
        var ledger = ReplayLedger()
        _ = ledger.admit("one", in: .text(0))
        ledger.beginReplay()
        #expect(ledger.admit("on", in: .text(0)) == .swallow)
        #expect(ledger.admit("two", in: .text(1)) == .diverged)
    }

    @Test func aNewSlotOfAnotherChannelBeforeADeliveredOneIsWholeDiverges() {
        var ledger = ReplayLedger()
        _ = ledger.admit("one", in: .text(0))
        ledger.beginReplay()
        #expect(ledger.admit("No.", in: ReplaySlot(.refusal, outputIndex: 1)) == .diverged)
    }

    @Test func aChannelMayNotGoOnWhileAnotherIsNotWhole() {
        var ledger = ReplayLedger()
        _ = ledger.admit("think", in: .summary(0))
        _ = ledger.admit("say", in: .text(1))
        ledger.beginReplay()
        #expect(ledger.admit("thin", in: .summary(0)) == .swallow)
        #expect(ledger.admit("say more", in: .text(1)) == .diverged)
        #expect(ledger.deliveredText == "say")
    }

    @Test func channelsMayInterleaveDifferently() {
        var ledger = ReplayLedger()
        _ = ledger.admit("think", in: .summary(0))
        _ = ledger.admit("say", in: .text(1))
        _ = ledger.admit("ing", in: .summary(0))
        ledger.beginReplay()
        #expect(ledger.admit("sa", in: .text(1)) == .swallow)
        #expect(ledger.admit("thinking", in: .summary(0)) == .swallow)
        #expect(ledger.admit("y", in: .text(1)) == .swallow)
        #expect(ledger.isCaughtUp)
        #expect(ledger.admit("!", in: .text(1)) == .deliver(from: 0))
    }

    @Test func slotsMayInterleaveInTheSameWayWhereverTheReplayIsCut() {
        let events: [(ReplaySlot, String)] = [
            (.text(0), "ab"), (.text(1), "xy"), (.text(0), "cd"), (.text(1), "z"), (.text(2), "!"), (.text(0), "e"),
        ]
        for cut in 0...events.count {
            var ledger = ReplayLedger()
            for (slot, text) in events[..<cut] { #expect(ledger.admit(text, in: slot) == .deliver(from: 0)) }
            ledger.beginReplay()
            for (slot, text) in events[..<cut] { #expect(ledger.admit(text, in: slot) == .swallow) }
            for (slot, text) in events[cut...] { #expect(ledger.admit(text, in: slot) == .deliver(from: 0)) }
            #expect(ledger.finish() == .whole)
            #expect(ledger.deliveredText == "abxycdz!e")
        }
    }

    @Test func slotsOfOneChannelInAnotherOrderDiverge() {
        var ledger = ReplayLedger()
        _ = ledger.admit("ab", in: .text(0))
        _ = ledger.admit("xy", in: .text(1))
        _ = ledger.admit("cd", in: .text(0))
        ledger.beginReplay()
        #expect(ledger.admit("ab", in: .text(0)) == .swallow)
        #expect(ledger.admit("cd", in: .text(0)) == .diverged)
    }

    @Test func deliveredTextContainsOnlyTextSlots() {
        var ledger = ReplayLedger()
        for (index, kind) in ReplaySlot.Kind.allCases.enumerated() {
            _ = ledger.admit("\(kind)", in: ReplaySlot(kind, outputIndex: index))
        }
        #expect(ledger.deliveredText == "text")
        #expect(ledger.hasDelivered)
    }

    @Test func everyKindIsVerified() {
        for kind in ReplaySlot.Kind.allCases {
            var ledger = ReplayLedger()
            _ = ledger.admit("abc", in: ReplaySlot(kind, outputIndex: 3, partIndex: 2))
            ledger.beginReplay()
            #expect(ledger.admit("ab", in: ReplaySlot(kind, outputIndex: 3, partIndex: 2)) == .swallow)
            #expect(ledger.admit("x", in: ReplaySlot(kind, outputIndex: 3, partIndex: 2)) == .diverged)
        }
    }

    @Test func positionsMayBeAnyNumber() {
        var ledger = ReplayLedger()
        for position in [Int.min, -1, 0, Int.max] {
            #expect(ledger.admit("a", in: .text(position, part: position)) == .deliver(from: 0))
        }
        ledger.beginReplay()
        #expect(ledger.admit("a", in: .text(.min, part: .min)) == .swallow)
        #expect(ledger.admit("a", in: .text(.max, part: .max)) == .diverged)
    }
}

extension ReplaySlot {
    /// The slot of most text.
    static let message = Self.text(0)

    static func text(_ outputIndex: Int, part: Int = 0) -> Self {
        Self(.text, outputIndex: outputIndex, partIndex: part)
    }

    static func summary(_ outputIndex: Int, part: Int = 0) -> Self {
        Self(.reasoningSummary, outputIndex: outputIndex, partIndex: part)
    }
}

/// A finished call of a response.
struct SimulatedCall: Equatable {
    let outputIndex: Int
    let content: [UInt8]

    static func weather(_ outputIndex: Int, arguments: String = #"{"city":"Oslo"}"#) -> Self {
        Self(outputIndex: outputIndex, content: Array(arguments.utf8))
    }
}

extension TurnStateMachine {
    mutating func toolCallReceived(_ call: SimulatedCall, attempt: Int) -> Action {
        self.toolCallReceived(call.content, at: call.outputIndex, attempt: attempt)
    }
}

extension ReplayLedger {
    mutating func admitToolCall(_ call: SimulatedCall) -> Admission {
        self.admitToolCall(call.content, at: call.outputIndex)
    }

    mutating func admit(_ text: String, in slot: ReplaySlot) -> Admission {
        self.admit(Array(text.utf8).span, in: slot)
    }
}
