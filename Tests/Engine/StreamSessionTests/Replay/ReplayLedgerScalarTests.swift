// Remainders begin on scalar boundaries, and bytes decide what is equal.
import StreamSession
import Testing

@Suite struct ReplayLedgerScalarTests {
    /// Texts whose grapheme clusters, canonical forms or lengths a string comparison gets wrong.
    static let texts = [
        "e\u{301}te\u{301} \u{E9}",
        "a\u{300}\u{301}\u{302}b",
        "👩\u{200D}👩\u{200D}👧\u{200D}👦 and 🏳️\u{200D}🌈",
        "one\r\ntwo\r\n\r\nthree\n\r",
        "𝄞𐍈🜁\u{10FFFF}",
        "\u{FFFD}x\u{FFFD}\u{FFFD}",
        "\u{0}\u{1}\u{7F}",
        "🇳🇴🇸🇪🇩🇰",
        "한국어 한국어",
    ]

    @Test(arguments: texts)
    func everyCutAndEveryChunkingGivesTheTextOnce(text: String) {
        let scalars = text.unicodeScalars.map { Array(String($0).utf8) }
        for cut in 0...scalars.count {
            for chunk in 1...max(1, scalars.count) {
                #expect(Self.consumed(scalars, cutAfter: cut, chunk: chunk).elementsEqual(Array(text.utf8)))
            }
        }
    }

    @Test func canonicallyEquivalentTextIsNotTheSame() {
        #expect("\u{E9}" == "e\u{301}")
        var ledger = ReplayLedger()
        _ = ledger.admit("\u{E9}", in: .message)
        ledger.beginReplay()
        #expect(ledger.admit("e\u{301}", in: .message) == .diverged)
    }

    @Test func aCombiningMarkMayBeginARemainder() {
        var ledger = ReplayLedger()
        _ = ledger.admit("e", in: .message)
        ledger.beginReplay()
        #expect(ledger.admit("e\u{301}", in: .message) == .deliver(from: 1))
        #expect(ledger.deliveredText == "\u{E9}")
    }

    @Test func theHalvesOfACarriageReturnAndLineFeedMayComeApart() {
        var ledger = ReplayLedger()
        _ = ledger.admit("a\r", in: .message)
        ledger.beginReplay()
        #expect(ledger.admit("a\r\nb", in: .message) == .deliver(from: 2))
    }

    @Test func aScalarThatSharesItsFirstBytesIsADivergence() {
        var ledger = ReplayLedger()
        _ = ledger.admit("😀", in: .message)
        ledger.beginReplay()
        // Three of four bytes are the same.
        #expect(ledger.admit("😁", in: .message) == .diverged)
    }

    /// Returns the consumer's bytes of a text that is cut after `cut` scalars and repeated in chunks of `chunk`.
    private static func consumed(_ scalars: [[UInt8]], cutAfter cut: Int, chunk: Int) -> [UInt8] {
        var ledger = ReplayLedger()
        var consumed: [UInt8] = []
        for scalar in scalars[..<cut] where ledger.admit(scalar.span, in: .message) == .deliver(from: 0) {
            consumed += scalar
        }
        ledger.beginReplay()
        for start in stride(from: 0, to: scalars.count, by: chunk) {
            let delta = Array(scalars[start..<min(start + chunk, scalars.count)].joined())
            guard case .deliver(let offset) = ledger.admit(delta.span, in: .message) else { continue }
            let remainder = Array(delta[offset...])
            // The remainder is UTF-8 by itself.
            #expect(Array(String(decoding: remainder, as: UTF8.self).utf8) == remainder)
            #expect(remainder[0] & 0xC0 != 0x80)
            consumed += remainder
        }
        #expect(ledger.finish() == .whole)
        #expect(Array(ledger.deliveredText.utf8) == consumed)
        return consumed
    }
}
