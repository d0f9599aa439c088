// Compares the closing events of a response with its output.
import StreamSession
import Testing

@Suite struct ReplayLedgerClosingTests {
    private static func ledger(_ deltas: (String, ReplaySlot)...) -> ReplayLedger {
        var ledger = ReplayLedger()
        for (text, slot) in deltas { #expect(ledger.admit(text, in: slot) == .deliver(from: 0)) }
        return ledger
    }

    private static func close(_ ledger: ReplayLedger, _ text: String, _ slot: ReplaySlot = .text(0))
        -> ReplayLedger.Closing
    {
        var ledger = ledger
        return ledger.close(Array(text.utf8).span, in: slot)
    }

    private static func close(_ ledger: ReplayLedger, all texts: [String]) -> ReplayLedger.Closing {
        let buffers = texts.map { text in
            let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: text.utf8.count)
            _ = copy.initialize(from: text.utf8)
            return UnsafeBufferPointer(copy)
        }
        defer { for buffer in buffers { buffer.deallocate() } }
        return ledger.close(buffers, ofKind: .text)
    }

    @Test func theSameTextIsWhole() {
        let ledger = Self.ledger(("Hello ", .text(0)), ("world", .text(0)))
        #expect(Self.close(ledger, "Hello world") == .whole)
        #expect(Self.close(ledger, all: ["Hello world"]) == .whole)
        #expect(Self.close(ledger, all: ["Hello", "", " world"]) == .whole)
    }

    @Test func missingEndOfTheTextIsTheRest() {
        let ledger = Self.ledger(("Hello ", .text(0)))
        #expect(Self.close(ledger, "Hello world") == .rest(from: 6))
        #expect(Self.close(ledger, all: ["Hello world"]) == .rest(from: 6))
        #expect(Self.close(ledger, all: ["Hello ", "world"]) == .rest(from: 6))
        #expect(Self.close(ReplayLedger(), "all") == .rest(from: 0))
        #expect(Self.close(ReplayLedger(), all: ["all"]) == .rest(from: 0))
        #expect(Self.close(ReplayLedger(), "") == .whole)
    }

    @Test(arguments: ["Hello word", "Help", "Xello world", "", "Hello", "Hello  world", "Hello world, hello world"])
    func anyOtherTextDiffers(_ text: String) {
        let ledger = Self.ledger(("Hello ", .text(0)), ("world!", .text(0)))
        #expect(Self.close(ledger, text) == .differs)
        #expect(Self.close(ledger, all: [text]) == .differs)
    }

    @Test(arguments: [
        ("Hello world \n\t", "Hello world"), ("Hello\u{E200}cite\u{E202}turn0\u{E201} world", "Hello world"),
        ("Hello【4†source】 world", "Hello[12] world"), ("Hello【4†source】 world", "Hello world"),
        ("Hello world", "Hello【4†source】 world"),
        ("Hello world【4:0†a.txt】 ", "Hello world"), ("【1†x】", ""), ("é【1†x】", "é"),
        (" Hello", "Hello"), ("\n\nHello", "\nHello"), ("Hello", " Hello"), ("\n\tHello", "\u{A0} Hello"),
        ("\u{3000}Hello ", "Hello"), ("It ran.", "It ran in the container."), ("\u{FFFD}\u{FFFD} ax", "😀 ax"),
        ("a\u{FFFD}\u{FFFD}", "a😀"),
    ])
    func knownServerRewritesOfTextAreNoDivergence(_ streamed: String, _ closing: String) {
        let ledger = Self.ledger((streamed, .text(0)))
        #expect(Self.close(ledger, closing) == .rewritten)
        if !closing.isEmpty { #expect(Self.close(ledger, all: [closing]) == .rewritten) }
    }

    @Test(arguments: [
        ("Hello【1】 world", "Hello world"), ("Hello【4†a】 you", "Hello[x] you"), ("Hello【4†a】 you", "Hello[] you"),
        ("Hello world", "Hello[1] world"), ("a b", "ab"), ("ab", "a b"), (" a b", "ab"), ("Hello〔4†〕", "Hello"),
        ("Hello", " Help"), (" Hello", "Help"), ("Hello", " "),
        ("Hello【4†source", "Hello"), ("\u{FFFD} ax", "😀 ax"), ("\u{FFFD}\u{FFFD}", "éé"),
    ])
    func similarLookingChangesOfTextDiffer(_ streamed: String, _ closing: String) {
        #expect(Self.close(Self.ledger((streamed, .text(0))), closing) == .differs)
    }

    /// The white space that JavaScript and Python trim.
    @Test(arguments: [0x09, 0x0B, 0x1C, 0x1F, 0x20, 0x85, 0xA0, 0x1680, 0x2003, 0x2028, 0x202F, 0x205F, 0x3000, 0xFEFF])
    func whiteSpaceIsTrimmed(_ value: UInt32) throws {
        let space = String(try #require(Unicode.Scalar(value)))
        #expect(Self.close(Self.ledger(("Hello\(space) ", .text(0))), "Hello") == .rewritten)
        #expect(Self.close(Self.ledger(("a\(space)b", .text(0))), "ab") == .differs)
        #expect(Self.close(Self.ledger(("a\(space)", .text(0)), ("b", .text(1))), all: ["a", "b"]) == .rewritten)
    }

    @Test(arguments: ["\u{200B}", "\u{0}", "é", "𝄞", "\u{2060}"])
    func otherCharactersAreNotTrimmed(_ text: String) {
        #expect(Self.close(Self.ledger(("Hello\(text)", .text(0))), "Hello") == .differs)
    }

    /// A closing text has said that the full stop is the end.
    @Test func fullStopCannotReplaceTextAfterAClosingText() {
        var ledger = Self.ledger(("It ran.", .text(0)))
        let longer = "It ran in the container."
        // Recorded: each closing event has the longer text.
        for _ in 0..<2 { #expect(ledger.close(Array(longer.utf8).span, in: .text(0)) == .rewritten) }
        #expect(Self.close(ledger, all: [longer]) == .rewritten)
        #expect(ledger.close(Array("It ran.".utf8).span, in: .text(0)) == .whole)
        #expect(Self.close(ledger, longer) == .differs)
        #expect(Self.close(ledger, all: [longer]) == .differs)

        var rest = Self.ledger(("It ran", .text(0)))
        #expect(rest.close(Array("It ran.".utf8).span, in: .text(0)) == .rest(from: 6))
        #expect(rest.admit(".", in: .text(0)) == .deliver(from: 0))
        #expect(Self.close(rest, longer) == .differs)
        #expect(Self.close(rest, all: [longer]) == .differs)
        rest.beginReplay()
        #expect(rest.admit("It ran.", in: .text(0)) == .swallow)
        #expect(Self.close(rest, longer) == .rewritten)
    }

    // MARK: Deltas behind the closing text

    private static func late(_ ledger: inout ReplayLedger, _ text: String, _ slot: ReplaySlot = .text(0))
        -> ReplayLedger.Late
    {
        ledger.late(Array(text.utf8).span, in: slot)
    }

    /// Returns a ledger in which a closing text has brought " world" behind "Hello".
    private static func closed(_ ledger: ReplayLedger = ledger(("Hello", .text(0)))) -> ReplayLedger {
        var ledger = ledger
        #expect(ledger.close(Array("Hello world".utf8).span, in: .text(0)) == .rest(from: 5))
        #expect(ledger.admit(" world", in: .text(0)) == .deliver(from: 0))
        return ledger
    }

    @Test(arguments: [[" world"], [" ", "wor", "ld"], [" w"]])
    func theRestOfAClosingTextMayComeOnceMore(_ deltas: [String]) {
        var ledger = Self.closed()
        for delta in deltas { #expect(Self.late(&ledger, delta) == .delivered) }
        #expect(Self.close(ledger, "Hello world") == .whole)
        #expect(ledger.deliveredText == "Hello world")
    }

    @Test(arguments: ["world", " world!", "Hello", "\n", " worls"])
    func anyOtherDeltaBehindAClosingTextContradictsIt(_ delta: String) {
        var ledger = Self.closed()
        #expect(Self.late(&ledger, delta) == .contradiction)
        #expect(Self.late(&ledger, " world") == .delivered)
        #expect(Self.late(&ledger, " world") == .contradiction)
        var whole = Self.ledger(("Hello", .text(0)))
        #expect(whole.close(Array("Hello".utf8).span, in: .text(0)) == .whole)
        #expect(Self.late(&whole, delta) == .contradiction)
    }

    @Test func aDeltaOfASlotThatNoTextHasClosedIsNew() {
        var ledger = Self.closed()
        #expect(Self.late(&ledger, " world", .text(1)) == .isNew)
        #expect(Self.late(&ledger, " world", ReplaySlot(.refusal, outputIndex: 0)) == .isNew)
        var open = Self.ledger(("Hello", .text(0)))
        #expect(open.close([UInt8]().span, in: .text(1)) == .whole)
        #expect(Self.late(&open, " world") == .isNew)
        #expect(Self.late(&open, " world", .text(1)) == .isNew)
        // Another item has the index from here on.
        ledger.beginItem(0, of: .message)
        #expect(Self.late(&ledger, " world") == .isNew)
        #expect(ledger.close(Array("new".utf8).span, in: .text(0)) == .rest(from: 0))
        #expect(ledger.admit("new", in: .text(0)) == .deliver(from: 0))
        #expect(Self.late(&ledger, " world") == .contradiction)
        #expect(Self.late(&ledger, "new") == .delivered)
    }

    @Test func twoClosingTextsOfASlotBringOneRest() {
        var ledger = Self.closed()
        #expect(Self.late(&ledger, " wor") == .delivered)
        #expect(ledger.close(Array("Hello world, all".utf8).span, in: .text(0)) == .rest(from: 11))
        #expect(ledger.admit(", all", in: .text(0)) == .deliver(from: 0))
        #expect(Self.late(&ledger, "ld, ") == .delivered)
        #expect(Self.late(&ledger, "all") == .delivered)
    }

    /// The replay's own closing text has come, and its rest was delivered in the first attempt, or in part.
    @Test(arguments: [" world", " world\n"])
    func theRestMayComeOnceMoreInAReplay(_ rest: String) {
        var ledger = Self.closed()
        ledger.beginReplay()
        #expect(Self.late(&ledger, " world") == .isNew)
        #expect(ledger.admit("Hel", in: .text(0)) == .swallow)
        #expect(ledger.close(Array("Hello\(rest)".utf8).span, in: .text(0)) == .rest(from: 3))
        let isMore = rest == " world\n"
        #expect(ledger.admit("lo\(rest)", in: .text(0)) == (isMore ? .deliver(from: 8) : .swallow))
        #expect(Self.late(&ledger, "lo\(rest)") == .delivered)
        #expect(ledger.deliveredText == "Hello\(rest)")
        #expect(ledger.finish() == .whole)
    }

    @Test func aRestBehindSettledItemsMayComeOnceMore() {
        var ledger = Self.closed()
        let isSettled = ledger.beginReplay(settling: 1)
        #expect(isSettled)
        #expect(Self.late(&ledger, " world") == .isNew)
        #expect(ledger.close(Array("next".utf8).span, in: .text(0)) == .rest(from: 0))
        #expect(ledger.admit("next", in: .text(0)) == .deliver(from: 0))
        #expect(Self.late(&ledger, "ne") == .delivered)
        #expect(Self.late(&ledger, "xt") == .delivered)
    }

    // MARK: The slot of a closing text

    private static func place(
        _ ledger: ReplayLedger, _ text: String, _ slot: ReplaySlot, isKnown: Bool = true
    ) -> ReplaySlot {
        var ledger = ledger
        return ledger.place(of: Array(text.utf8).span, in: slot, isKnown: isKnown)
    }

    /// A server that counts parts from 1 in closing events does so in each of them.
    @Test func aPartThatHasClosedAnotherOneDoesSoAgain() {
        var ledger = Self.ledger(("Hello", .text(3)))
        let text = Array("Hello".utf8)
        #expect(ledger.place(of: text.span, in: .text(3, part: 1), isKnown: true) == .text(3))
        #expect(ledger.close(text.span, in: .text(3)) == .whole)
        #expect(Self.place(ledger, "Hello", .text(3, part: 1)) == .text(3))
        #expect(Self.place(ledger, "Hello", .text(3, part: 2)) == .text(3, part: 2))
        // The earlier output belongs to another item.
        ledger.beginItem(3, of: .message)
        #expect(Self.place(ledger, "Hello", .text(3, part: 1)) == .text(3, part: 1))
        ledger.beginReplay()
        #expect(Self.place(ledger, "Hello", .text(3, part: 1)) == .text(3, part: 1))
    }

    @Test func aTextOfAPartWithoutOutputClosesTheOpenPartOfTheItem() {
        var ledger = Self.ledger(("Hel", .text(3)), ("lo", .text(3)))
        #expect(Self.place(ledger, "Hello", .text(3, part: 1)) == .text(3))
        #expect(Self.place(ledger, "Hello world", .text(3, part: 1)) == .text(3))
        // The comparison decides whether so short a text closes it.
        #expect(Self.place(ledger, "Hel", .text(3, part: 1)) == .text(3))
        #expect(Self.place(ledger, "Help", .text(3, part: 1)) == .text(3, part: 1))
        #expect(Self.place(ledger, "", .text(3, part: 1)) == .text(3, part: 1))
        #expect(Self.place(ledger, "Hello", ReplaySlot(.refusal, outputIndex: 3)).kind == .refusal)
        #expect(ledger.close(Array("Hello".utf8).span, in: .text(3)) == .whole)
        #expect(Self.place(ledger, "Hello", .text(3, part: 1)) == .text(3, part: 1))
    }

    @Test func aTextOfAnotherItemClosesTheOpenOneWhereNothingNamesItsItem() {
        var ledger = Self.ledger(("Hello", .text(0)))
        // Where the item is known, the text has all of the open one.
        #expect(Self.place(ledger, "Hello world", .text(1)) == .text(0))
        #expect(Self.place(ledger, "Hell", .text(1)) == .text(1))
        #expect(Self.place(ledger, "Hell", .text(1), isKnown: false) == .text(0))
        #expect(Self.place(ledger, "Hello", .text(1), isKnown: false) == .text(0))
        #expect(ledger.admit("Hello", in: .text(1)) == .deliver(from: 0))
        #expect(Self.place(ledger, "Hello", .text(0), isKnown: false) == .text(0))
        ledger.beginReplay()
        #expect(ledger.admit("HelloHello", in: .text(0)) == .diverged)
    }

    @Test func theEndOfOnePartMayBeTrimmedBeforeTheNext() {
        let ledger = Self.ledger(("one \n", .text(0)), ("two", .text(1)))
        #expect(Self.close(ledger, all: ["one", "two"]) == .rewritten)
        #expect(Self.close(ledger, all: ["one", "two three"]) == .rest(from: 6))
    }

    @Test func slotsThatInterleaveAreComparedOneByOne() {
        let ledger = Self.ledger(("a", .text(0)), ("1", .text(1)), ("b", .text(0)), ("2", .text(1)), ("c", .text(0)))
        #expect(Self.close(ledger, "abc") == .whole)
        #expect(Self.close(ledger, "12", .text(1)) == .whole)
        #expect(Self.close(ledger, all: ["abc", "12"]) == .whole)
        #expect(Self.close(ledger, all: ["12", "abc"]) == .differs)
        #expect(Self.close(ledger, "abcd") == .rest(from: 3))
        // More of the second slot would follow the end of the first.
        #expect(Self.close(ledger, "123", .text(1)) == .outOfPlace)
        #expect(Self.close(ledger, all: ["abc", "123"]) == .outOfPlace)
    }

    /// A server counts the index up with each delta, and the last one is how the text begins.
    @Test(arguments: [["**", "Paris", "**"], ["ha", "ha"], ["a", "b", "a"], ["a", "a", "a"]], 0..<4)
    func closingTextThatBeginsWithTheNewestPartClosesTheWholeItem(_ deltas: [String], part: Int) {
        var ledger = ReplayLedger()
        for (index, delta) in deltas.enumerated() {
            #expect(ledger.admit(delta, in: .text(0, part: index)) == .deliver(from: 0))
        }
        let text = deltas.joined()
        let slot = Self.place(ledger, text, .text(0, part: part))
        #expect(Self.close(ledger, text + "!", slot) == .rest(from: text.utf8.count))
        // The end of the part, and of the text.
        for _ in 0..<2 { #expect(ledger.close(Array(text.utf8).span, in: slot) == .whole) }
    }

    @Test func theEndHasTheTextOfAllItems() {
        let ledger = Self.ledger(("one", .text(0)), (" two", .text(1)))
        #expect(Self.close(ledger, all: ["one"]) == .differs)
        #expect(Self.close(ledger, all: ["one", " two"]) == .whole)
    }

    @Test func deltasThatNameAnotherSlotAreHeldAgainstTheWhole() {
        let ledger = Self.ledger(("a", .text(0)), ("b", .text(5)), ("c", .text(0)))
        #expect(Self.close(ledger, "abc") == .rewritten)
        #expect(Self.close(ledger, "abd") == .differs)
    }

    @Test func aSlotBeforeTheNewestOneComesTooLate() {
        let ledger = Self.ledger(("b", .text(1)))
        #expect(Self.close(ledger, "a", .text(0)) == .outOfPlace)
        #expect(Self.close(ledger, "c", .text(2)) == .rest(from: 0))
        #expect(Self.close(ledger, all: ["a", "b"]) == .differs)
    }

    @Test func eachAttemptIsHeldAgainstItself() {
        var ledger = Self.ledger(("Hello world", .text(0)))
        ledger.beginReplay()
        #expect(ledger.admit("Hello", in: .text(0)) == .swallow)
        #expect(Self.close(ledger, "Help") == .differs)
        #expect(Self.close(ledger, "Hello world, too") == .rest(from: 5))
        #expect(ledger.admit(" world, too", in: .text(0)) == .deliver(from: 6))
        #expect(Self.close(ledger, "Hello world, too") == .whole)
        #expect(ledger.deliveredText == "Hello world, too")
    }

    @Test func aReplayWhoseTextComesAtTheEndIsVerified() {
        var ledger = Self.ledger(("Hello", .text(0)))
        ledger.beginReplay()
        #expect(Self.close(ledger, "Hello") == .rest(from: 0))
        #expect(ledger.admit("Hello", in: .text(0)) == .swallow)
        #expect(ledger.finish() == .whole)
    }

    @Test func settledItemsAreNoPartOfTheNextResponse() {
        var ledger = Self.ledger(("one", .text(0)), ("tw", .text(1)))
        #expect(ledger.beginReplay(settling: 1) == true)
        #expect(ledger.admit("two", in: .text(0)) == .deliver(from: 2))
        #expect(Self.close(ledger, "two") == .whole)
        #expect(Self.close(ledger, all: ["two"]) == .whole)
        #expect(Self.close(ledger, all: ["one", "two"]) == .differs)
    }

    @Test func aSuccessorHasNoneOfTheTextBefore() {
        var ledger = Self.ledger(("one", .text(0)))
        #expect(ledger.beginSuccessor() == true)
        #expect(Self.close(ledger, "two") == .rest(from: 0))
        #expect(ledger.admit("two", in: .text(0)) == .deliver(from: 0))
        #expect(Self.close(ledger, "two") == .whole)
        #expect(Self.close(ledger, all: ["two"]) == .whole)
    }

    @Test func anItemThatTakesAnIndexOverIsHeldAgainstItself() {
        var ledger = Self.ledger(("one", .text(0)))
        ledger.beginItem(0, of: .message)
        #expect(Self.close(ledger, "two") == .rest(from: 0))
        #expect(ledger.admit("two", in: .text(0)) == .deliver(from: 0))
        #expect(Self.close(ledger, "two") == .whole)
        #expect(Self.close(ledger, "onetwo") == .differs)
        #expect(Self.close(ledger, all: ["one", "two"]) == .whole)
    }

    /// White space may be trimmed at the end of a part, but its place is not skipped for that.
    @Test(arguments: ["three ", "\u{85}"])
    func partsOfItemsThatShareAnIndexAreComparedInTheOrderOfTheItems(_ text: String) {
        var ledger = Self.ledger(("one ", .text(0)), ("two ", .text(0, part: 1)))
        ledger.beginItem(0, of: .message)
        #expect(ledger.admit(text, in: .text(0)) == .deliver(from: 0))
        #expect(ledger.admit("\r\n", in: .text(0, part: 1)) == .deliver(from: 0))
        #expect(Self.close(ledger, all: ["one ", "two ", text, "\r\n"]) == .whole)
        #expect(Self.close(ledger, all: ["one ", "two ", text]) == .rewritten)
        #expect(Self.close(ledger, all: ["one ", text, "two ", "\r\n"]) == .differs)
    }

    @Test func restOfAnItemThatSharesAnIndexFollowsItsNewestPart() {
        var ledger = Self.ledger(("one ", .text(0)), ("two ", .text(0, part: 1)))
        ledger.beginItem(0, of: .message)
        #expect(ledger.admit("thr", in: .text(0)) == .deliver(from: 0))
        #expect(Self.close(ledger, all: ["one ", "two ", "three"]) == .rest(from: 11))
    }

    @Test func outputPastTheLimitIsTooMuch() {
        var ledger = ReplayLedger(byteCountLimit: 10)
        #expect(ledger.admit("0123456789", in: .text(0)) == .deliver(from: 0))
        #expect(ledger.admit("0", in: .text(0)) == .tooMuch)
        #expect(ledger.deliveredText == "0123456789")
        // Another kind may have as much.
        let reasoning = ReplaySlot(.reasoningText, outputIndex: 0)
        #expect(ledger.admit("0", in: reasoning) == .deliver(from: 0))
    }

    /// With any division of a text into deltas of slots, and any cut, the closing texts complete it.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func anyPrefixIsCompletedByTheClosingTexts(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let texts = (0..<1 + random.below(4)).map { _ in
            String((0..<1 + random.below(9)).map { _ in ["a", "b", " ", "é", "【", "†"][random.below(6)] }.joined())
        }
        let pieces = texts.enumerated().flatMap { index, text in text.unicodeScalars.map { (String($0), index) } }
        var ledger = ReplayLedger()
        for (text, index) in pieces.prefix(random.below(pieces.count + 1)) {
            _ = ledger.admit(text, in: .text(index))
        }
        for (index, text) in texts.enumerated() {
            switch Self.close(ledger, text, .text(index)) {
            case .whole: break
            case .rest(let offset): _ = ledger.admit(Array(text.utf8.dropFirst(offset)).span, in: .text(index))
            case let closing: Issue.record("\(closing)")
            }
        }
        #expect(ledger.deliveredText == texts.joined())
        #expect(Self.close(ledger, all: texts) == .whole)
    }
}
