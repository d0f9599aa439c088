import ChappieTransport
import ResponseEvents
import Testing

@testable import Chappie

/// The output of a tool for the model, and its limit.
@Suite struct ToolOutputTests {
    private static let call = FinishedCall(
        callID: "c\"1", name: "t", payload: "")
    private static let custom = FinishedCall(.custom, callID: "c", name: "t", payload: "")

    private static func value(_ output: ToolOutput) -> ChappieJSONValue? {
        ChappieJSONValue(jsonText: String(decoding: output.item, as: UTF8.self))
    }

    @Test func textIsTheOutput() {
        let output = ToolOutput(ChappieToolResult(output: "a\n\u{0}"), of: Self.call, byteCount: 3)
        #expect(
            String(decoding: output.item, as: UTF8.self)
                == #"{"type":"function_call_output","call_id":"c\"1","output":"a\n\u0000"}"#)
        #expect(output.status == .completed)
        #expect(output.text == "a\n\u{0}")
    }

    @Test func aCustomToolHasAnItemOfItsOwn() {
        let output = ToolOutput(ChappieToolResult(output: "x"), of: Self.custom, byteCount: 9)
        #expect(Self.value(output)?["type"] == "custom_tool_call_output")
        #expect(
            String(decoding: ToolOutput.aborted(of: Self.custom), as: UTF8.self)
                == #"{"type":"custom_tool_call_output","call_id":"c","output":"aborted"}"#)
    }

    @Test(arguments: [
        (ChappieToolResult.failed(""), "The tool failed."), (.denied(""), "The tool was not allowed to run."),
        (.failed("no"), "no"), (ChappieToolResult(output: ""), ""),
    ])
    func emptyToolOutputIsReplacedByAText(_ result: ChappieToolResult, words: String) {
        #expect(ToolOutput(result, of: Self.call, byteCount: 99).text == words)
    }

    @Test(arguments: [
        ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcde\n[The output was cut here: it has 6 bytes.]"),
        ("aä", 3, "aä"), ("aä", 2, "a\n[The output was cut here: it has 3 bytes.]"),
        ("😀", 3, "\n[The output was cut here: it has 4 bytes.]"),
        ("e\u{301}", 1, "e\n[The output was cut here: it has 3 bytes.]"),
        ("x", 0, "\n[The output was cut here: it has 1 bytes.]"),
    ])
    func longTextIsCutBetweenTwoScalars(_ text: String, limit: Int, words: String) {
        let output = ToolOutput(ChappieToolResult(output: text), of: Self.call, byteCount: limit)
        #expect(output.text == words)
        #expect(Self.value(output)?["output"]?.string == words)
    }

    @Test func anOutputOf100MegabytesIsCut() {
        let output = ToolOutput(
            ChappieToolResult(output: String(repeating: "ä", count: 50 << 20)), of: Self.call, byteCount: 1 << 20)
        #expect(output.text.utf8.count < (1 << 20) + 64)
        #expect(output.text.hasSuffix("[The output was cut here: it has 104857600 bytes.]"))
        #expect(output.item.count < (1 << 20) + 256)
    }

    @Test func partsShareTheLimit() {
        let parts: [ChappieContentPart] = [
            .text("abcd"), .image(url: "data:12345"), .text("efgh"), .file(name: "n", dataURL: "d"), .text("ij"),
        ]
        let output = ToolOutput(ChappieToolResult(parts: parts), of: Self.call, byteCount: 7)
        #expect(
            Self.value(output)?["output"] == [
                ["type": "input_text", "text": "abcd"],
                ["type": "input_text", "text": "[A part of 10 bytes was left out: the output is too long.]"],
                ["type": "input_text", "text": "\n[The output was cut here: it has 4 bytes.]"],
                ["type": "input_text", "text": "[A part of 2 bytes was left out: the output is too long.]"],
                ["type": "input_text", "text": "\n[The output was cut here: it has 2 bytes.]"],
            ])
        let whole = ToolOutput(ChappieToolResult(parts: parts), of: Self.call, byteCount: 22)
        #expect(whole.text == "abcdefghij")
        #expect(
            Self.value(whole)?["output"] == [
                ["type": "input_text", "text": "abcd"], ["type": "input_image", "image_url": "data:12345"],
                ["type": "input_text", "text": "efgh"],
                ["type": "input_file", "filename": "n", "file_data": "d"], ["type": "input_text", "text": "ij"],
            ])
    }
}

/// The items that a turn adds to its conversation.
@Suite struct TurnJournalTests {
    private static func item(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static func call(_ id: String) -> FinishedCall {
        FinishedCall(callID: id, name: "t", payload: "")
    }

    @Test func journalIsEmptyBeforeAResponseIsComplete() {
        var journal = TurnJournal(input: [Self.item("q")])
        #expect(journal.remains == [])
        journal.completed([Self.item("a")], calls: [])
        #expect(journal.remains == [Self.item("q"), Self.item("a")])
    }

    @Test func outputsFollowInTheOrderOfTheCalls() {
        var journal = TurnJournal(input: [])
        journal.completed([Self.item("1"), Self.item("2")], calls: [Self.call("1"), Self.call("2")])
        journal.answered("2", with: Self.item("two"))
        journal.answered("1", with: Self.item("one"))
        journal.answered("3", with: Self.item("nobody asked"))
        journal.close()
        #expect(journal.items == ["1", "2", "one", "two"].map { Self.item($0) })
        // What comes late belongs to no call that waits.
        journal.answered("1", with: Self.item("late"))
        #expect(journal.remains == ["1", "2", "one", "two"].map { Self.item($0) })
        // An identifier may come again in a later response.
        journal.completed([Self.item("3")], calls: [Self.call("1")])
        journal.answered("1", with: Self.item("again"))
        #expect(journal.remains == ["1", "2", "one", "two", "3", "again"].map { Self.item($0) })
    }

    @Test func callWithoutAnOutputHasAnAbortedOutput() {
        var journal = TurnJournal(input: [])
        let call = Self.call("1")
        journal.completed([Self.item("1"), Self.item("1")], calls: [call, call])
        #expect(journal.remains == [Self.item("1"), Self.item("1"), ToolOutput.aborted(of: call)])
        journal.answered("1", with: Self.item("one"))
        #expect(journal.remains == [Self.item("1"), Self.item("1"), Self.item("one")])
    }

    @Test func canonicallyEquivalentIdentifiersBelongToTwoCalls() {
        var journal = TurnJournal(input: [])
        journal.completed([], calls: [Self.call("\u{E9}"), Self.call("e\u{301}")])
        journal.answered("e\u{301}", with: Self.item("two"))
        journal.answered("\u{E9}", with: Self.item("one"))
        #expect(journal.remains == ["one", "two"].map { Self.item($0) })
    }
}
