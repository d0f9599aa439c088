// Every cut of a short text on both sides, and a contradiction in every place.
import StreamSession
import Testing

@Suite struct ReplayLedgerExhaustiveTests {
    /// One to four bytes a scalar, a cluster of several, and the replacement character.
    static let texts = ["Hello!!", "e\u{301}\r\nab", "é😀\u{FFFD}z", "👩\u{200D}👧x", "\u{FFFD}\u{FFFD}\r\n\n"]

    /// Every way to divide a text into deltas of whole scalars.
    static func divisions(of text: String) -> [[[UInt8]]] {
        let scalars = text.unicodeScalars.map { Array(String($0).utf8) }
        guard let first = scalars.first else { return [[]] }
        return (0..<(1 << (scalars.count - 1))).map { joints in
            var deltas = [first]
            for (index, scalar) in scalars.dropFirst().enumerated() {
                if joints & (1 << index) == 0 { deltas.append(scalar) } else { deltas[deltas.count - 1] += scalar }
            }
            return deltas
        }
    }

    @Test(arguments: texts)
    func everyDivisionOfTheFirstAttemptMeetsEveryDivisionOfTheSecond(text: String) {
        let divisions = Self.divisions(of: text)
        var runCount = 0
        for first in divisions {
            for cut in 0...first.count {
                for second in divisions {
                    runCount += 1
                    let (consumed, ledger) = Self.run(first[..<cut], second)
                    guard consumed == Array(text.utf8), ledger.isCaughtUp else {
                        Issue.record("\(first[..<cut]) then \(second) gave \(consumed)")
                        return
                    }
                }
            }
        }
        #expect(runCount >= divisions.count * divisions.count * 2)
    }

    @Test(arguments: texts)
    func everyCutOfTheSecondAttemptMeetsEveryDivisionOfTheThird(text: String) {
        let divisions = Self.divisions(of: text)
        for second in divisions {
            for cut in 0...second.count {
                for third in divisions {
                    var ledger = ReplayLedger()
                    var consumed: [UInt8] = []
                    Self.play(divisions[0].prefix(2), &ledger, &consumed)
                    ledger.beginReplay()
                    Self.play(second[..<cut], &ledger, &consumed)
                    ledger.beginReplay()
                    Self.play(third[...], &ledger, &consumed)
                    guard consumed == Array(text.utf8), ledger.finish() == .whole else {
                        Issue.record("\(second[..<cut]) then \(third) gave \(consumed)")
                        return
                    }
                }
            }
        }
    }

    /// Long enough for a comparison that takes many bytes at once, at every length and in every place.
    @Test(arguments: [1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300])
    func aDifferentByteIsFoundInEveryPlaceOfEveryLength(count: Int) {
        let delivered = (0..<count).map { UInt8($0 % 95 + 32) }
        for position in 0..<count {
            for lead in [0, 1, 3] {
                var ledger = ReplayLedger()
                _ = ledger.admit(String(repeating: "x", count: lead), in: .message)
                _ = ledger.admit(delivered.span, in: .message)
                ledger.beginReplay()
                _ = ledger.admit(String(repeating: "x", count: lead), in: .message)
                var replayed = delivered
                replayed[position] ^= 0x01
                replayed += Array("more".utf8)
                #expect(ledger.admit(replayed.span, in: .message) == .diverged)
                #expect(ledger.verifiedByteCount == lead)
            }
        }
    }

    @Test(arguments: texts)
    func aDifferentByteIsFoundInEveryPlaceOfEveryDivision(text: String) {
        let whole = Array(text.utf8)
        for division in Self.divisions(of: text) {
            for position in whole.indices {
                var ledger = ReplayLedger()
                _ = ledger.admit(whole.span, in: .message)
                ledger.beginReplay()
                var offset = 0
                var outcome = ReplayLedger.Admission.swallow
                for delta in division where outcome == .swallow {
                    var delta = delta
                    if delta.indices.contains(position - offset) { delta[position - offset] ^= 0x40 }
                    offset += delta.count
                    outcome = ledger.admit(delta.span, in: .message)
                }
                #expect(outcome == .diverged)
                #expect(offset > position)
            }
        }
    }

    /// One transport sends word by word, with reasoning in between; another sends the same in a few pieces.
    @Test func theSameResponseIsTheSameOverAnyTransport() {
        var ledger = ReplayLedger()
        for piece in ["It ", "is ", "21", " °C"] {
            #expect(ledger.admit("hm ", in: .summary(0)) == .deliver(from: 0))
            #expect(ledger.admit(piece, in: .text(1)) == .deliver(from: 0))
        }
        #expect(ledger.admitToolCall(.weather(2)) == .deliver(from: 0))
        ledger.beginReplay()
        #expect(ledger.admit("hm hm hm hm ", in: .summary(0)) == .swallow)
        #expect(ledger.admit("It is 21 °C", in: .text(1)) == .swallow)
        #expect(!ledger.isCaughtUp)
        #expect(ledger.admitToolCall(.weather(2)) == .swallow)
        #expect(ledger.isCaughtUp)
        #expect(ledger.finish() == .whole)
    }

    @Test func anItemBeforeADeliveredOneIsADivergence() {
        for kind in ReplaySlot.Kind.allCases {
            var ledger = ReplayLedger()
            _ = ledger.admit("Hello", in: .text(0))
            ledger.beginReplay()
            // The text itself would be equal, one item further on.
            #expect(ledger.admit("Well", in: ReplaySlot(kind, outputIndex: 0)) == .diverged)
            #expect(ledger.admit("Hello", in: .text(1)) == .diverged)
        }
        var ledger = ReplayLedger()
        _ = ledger.admit("Hello", in: .text(0))
        ledger.beginReplay()
        #expect(ledger.admit("Hello", in: .text(1)) == .diverged)
        ledger = ReplayLedger()
        _ = ledger.admit("Hello", in: .text(0))
        ledger.beginReplay()
        #expect(ledger.admitToolCall(.weather(0)) == .diverged)
    }

    private static func run(
        _ first: ArraySlice<[UInt8]>, _ second: [[UInt8]]
    ) -> (consumed: [UInt8], ledger: ReplayLedger) {
        var ledger = ReplayLedger()
        var consumed: [UInt8] = []
        self.play(first, &ledger, &consumed)
        ledger.beginReplay()
        self.play(second[...], &ledger, &consumed)
        if ledger.finish() != .whole || ledger.deliveredText.utf8.elementsEqual(consumed) == false { consumed = [] }
        return (consumed, ledger)
    }

    private static func play(_ deltas: ArraySlice<[UInt8]>, _ ledger: inout ReplayLedger, _ consumed: inout [UInt8]) {
        for delta in deltas {
            guard case .deliver(let offset) = ledger.admit(delta.span, in: .message) else { continue }
            // A remainder is never empty and begins on a scalar boundary.
            if offset >= delta.count || delta[offset] & 0xC0 == 0x80 { consumed.append(0) }
            consumed += delta[offset...]
        }
    }
}
