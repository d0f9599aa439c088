import Foundation
import Testing

@testable import Chappie

/// The items of a conversation as a program reads, replaces and trims them.
@Suite struct HistoryTests {
    private static func item(_ text: String) throws -> ChappieHistoryItem { try ChappieHistoryItem(parsing: text) }

    @Test func messageHasItsRoleTextAndPictures() throws {
        let parts: [ChappieContentPart] = [
            .text("What is "), .image(url: "https://example.org/a.png", detail: "low"), .text("this?"),
            .imageFile(id: "file-1"), .file(name: "a.pdf", dataURL: "data:application/pdf;base64,eA=="),
            .fileReference(id: "file-2"), .fileURL("https://example.org/b.pdf"),
        ]
        let item = ChappieHistoryItem(.user(parts))
        #expect(item.type == "message" && item.role == .user && item.text == "What is this?")
        #expect(item.parts == parts)
        #expect(item.images == [parts[1], parts[3]])
        #expect(item.call == nil && item.answeredCallID == nil)
    }

    @Test(arguments: [
        (#"{"role":"user","content":"Hi"}"#, "message", ChappieInputMessage.Role.user, "Hi"),
        (
            #"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"b"}]}"#,
            "message", .assistant, "ab"
        ),
        (#"{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]}"#, "reasoning", nil, "Hm."),
        (#"{"type":"message","role":"critic","content":[{"type":"input_audio"}]}"#, "message", nil, ""),
        (#"{"type":"web_search_call"}"#, "web_search_call", nil, ""),
    ])
    func itemIsReadByItsKind(text: String, type: String, role: ChappieInputMessage.Role?, words: String) throws {
        let item = try Self.item(text)
        #expect(item.type == type && item.role == role && item.text == words && item.jsonText == text)
    }

    @Test func callAndOutputNameEachOther() throws {
        let call = try Self.item(#"{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"}"#)
        #expect(call.call == ChappieToolCall(callID: "c1", name: "f", arguments: #"{"a":1}"#))
        let custom = try Self.item(#"{"type":"custom_tool_call","call_id":"c2","name":"g","input":"x"}"#)
        #expect(custom.call?.arguments == "x")
        let output = try Self.item(#"{"type":"function_call_output","call_id":"c1","output":"21"}"#)
        #expect(output.answeredCallID == "c1" && output.text == "21" && output.call == nil)
    }

    @Test(arguments: [
        (#"{"type":"reasoning","summary":[],"encrypted_content":"gA"}"#, [ChappieDialect.responses]),
        (#"{"type":"reasoning","content":[{"type":"reasoning_text","text":"Hm."}]}"#, [.responses]),
        (#"{"type":"reasoning","summary":[],"chat":{"reasoning_content":"Hm."}}"#, [.chatCompletions]),
        (
            #"{"type":"reasoning","encrypted_content":"gA","chat":{"reasoning":"Hm."}}"#,
            [.responses, .chatCompletions]
        ),
        (#"{"role":"user","content":"Hi"}"#, ChappieDialect.allCases),
        (#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}","chat":{}}"#, ChappieDialect.allCases),
        (#"{"type":"web_search_call"}"#, ChappieDialect.allCases),
        (#"{"type":"reasoning","summary":[],"messages":{"type":"thinking","signature":"s"}}"#, [.messages]),
        (#"{"type":"server_tool_use","messages":{"type":"server_tool_use"}}"#, [.messages]),
        (
            #"{"type":"message","role":"assistant","content":[],"messages":{"citations":[]}}"#, ChappieDialect.allCases
        ),
    ])
    func reasoningIsIncludedInRequestsToItsOwnAPI(text: String, dialects: [ChappieDialect]) throws {
        let item = try Self.item(text)
        #expect(ChappieDialect.allCases.filter { item.isIncluded(in: $0) } == dialects)
    }

    @Test func textThatIsNoObjectIsNoItem() {
        #expect(throws: ChappieArgumentError.self) { try Self.item("[]") }
        #expect(throws: ChappieArgumentError.self) { try Self.item("{") }
    }

    // MARK: Changing it

    private static func call(_ id: String) throws -> [ChappieHistoryItem] {
        [
            try Self.item(#"{"type":"function_call","call_id":"\#(id)","name":"f","arguments":"{}"}"#),
            try Self.item(#"{"type":"function_call_output","call_id":"\#(id)","output":"\#(id)"}"#),
        ]
    }

    private static func user(_ text: String) -> ChappieHistoryItem { ChappieHistoryItem(.user(text)) }
    private static func assistant(_ text: String) -> ChappieHistoryItem { ChappieHistoryItem(.assistant(text)) }

    /// Three turns: with two messages of the person, with a call in whose middle input was added, and a plain one.
    private static func context() throws -> ChappieClientContext {
        let call = try Self.call("c1")
        return ChappieClientContext(
            history: [ChappieHistoryItem(.developer("Be brief.")), Self.user("a"), Self.user("b"), Self.assistant("A")]
                + [Self.user("c"), call[0], Self.user("more"), call[1], Self.assistant("C")]
                + [Self.user("d"), Self.assistant("D")])
    }

    @Test(arguments: [
        (4, "Be brief. a b A c  more c1 C d D"), (3, "Be brief. a b A c  more c1 C d D"),
        (2, "Be brief. c  more c1 C d D"), (1, "Be brief. d D"), (0, "Be brief."), (-1, "Be brief."),
    ])
    func wholeTurnsAreTrimmed(count: Int, words: String) throws {
        var context = try Self.context()
        context.trim(toTurns: count)
        #expect(context.history.map(\.text).joined(separator: " ") == words)
    }

    @Test func turnsAreTrimmedToBytes() throws {
        var context = try Self.context()
        let byteCount = context.byteCount
        context.trim(toByteCount: byteCount)
        #expect(context.history.count == 11)
        context.trim(toByteCount: byteCount - 1)
        #expect(context.history.map(\.text).joined(separator: " ") == "Be brief. c  more c1 C d D")
        context.trim(toByteCount: 0)
        #expect(context.history.map(\.text).joined(separator: " ") == "Be brief. d D")
        var empty = ChappieClientContext()
        empty.trim(toByteCount: 0)
        empty.trim(toTurns: 0)
        #expect(empty.isEmpty && empty.byteCount == 0)
    }

    @Test func itemsAreReplacedAndTheOthersKeepTheirText() throws {
        var context = try Self.context()
        context.history[0] = ChappieHistoryItem(.developer("Be kind."))
        context.history.removeLast(2)
        #expect(context.items.count == 9 && context.history.first?.text == "Be kind.")
        #expect(context.history.dropFirst() == (try Self.context()).history.dropFirst().dropLast(2))
    }
}
