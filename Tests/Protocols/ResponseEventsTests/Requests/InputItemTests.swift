// Output items as input: what goes back to a server, and which calls are open.

import Testing

@testable import ResponseEvents

@Suite struct InputItemTests {
    private static func item(_ json: String) -> InputItem? { InputItem(Array(json.utf8)) }

    private static func json(_ json: String) -> String? {
        Self.item(json).map { String(decoding: $0.json, as: UTF8.self) }
    }

    @Test(arguments: [
        (
            #"{"id":"msg_1","type":"message","status":"completed","role":"assistant","phase":"final_answer","content":[]}"#,
            #"{"type":"message","role":"assistant","phase":"final_answer","content":[]}"#
        ),
        (
            #"{"type":"message","role":"assistant","phase":null,"content":[{"type":"output_text","text":"a","#
                + #""annotations":[{"type":"url_citation"}],"logprobs":[],"x":null},{"type":"refusal","refusal":"no"}]}"#,
            #"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},"#
                + #"{"type":"refusal","refusal":"no"}]}"#
        ),
        // The parts of a user's message, and a content that is a text, are as they were.
        (
            #"{"type":"message","role":"user","content":[{"type":"input_text","text":"a","logprobs":[]}]}"#,
            #"{"type":"message","role":"user","content":[{"type":"input_text","text":"a","logprobs":[]}]}"#
        ),
        (#"{"role":"assistant","content":"a"}"#, #"{"role":"assistant","content":"a"}"#),
        (#"{"role":"assistant","content":[1,"x",null]}"#, #"{"role":"assistant","content":[1,"x",null]}"#),
        (
            #"{"id":"fc","type":"function_call","status":"completed","call_id":"c","name":"f","namespace":null,"#
                + #""arguments":"{ \"a\" : 1.0 }"}"#,
            #"{"type":"function_call","call_id":"c","name":"f","arguments":"{ \"a\" : 1.0 }"}"#
        ),
        (
            #"{"id":"rs","type":"reasoning","summary":[],"content":null,"encrypted_content":"gAAA"}"#,
            #"{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}"#
        ),
        // A member of a dialect stays as it was written.
        (
            #"{"id":"rs","type":"reasoning","summary":[],"content":[],"chat":{ "reasoning_content" : "a" }}"#,
            #"{"type":"reasoning","summary":[],"content":[],"chat":{ "reasoning_content" : "a" }}"#
        ),
        (
            #"{"type":"function_call","call_id":"c","name":"f","arguments":"{}","chat":{"extra_content":null}}"#,
            #"{"type":"function_call","call_id":"c","name":"f","arguments":"{}","chat":{"extra_content":null}}"#
        ),
        (#"{"id":"ws","type":"web_search_call","status":"completed"}"#, #"{"type":"web_search_call"}"#),
        // Items that are meaningless without their identifier keep it.
        (#"{"type":"item_reference","id":"msg_1"}"#, #"{"type":"item_reference","id":"msg_1"}"#),
        (
            #"{"type":"mcp_approval_request","id":"a","name":"n"}"#,
            #"{"type":"mcp_approval_request","id":"a","name":"n"}"#
        ),
        (
            #"{"type":"tool_search_output","call_id":"c","status":"completed","tools":[]}"#,
            #"{"type":"tool_search_output","call_id":"c","status":"completed","tools":[]}"#
        ),
        ("{}", "{}"),
    ])
    func anItemGoesBackWithoutWhatOnlyAServerKnows(output: String, input: String) {
        #expect(Self.json(output) == input)
        // A second conversion has no effect.
        #expect(Self.json(input) == input)
    }

    @Test(arguments: [
        #"{"type":"reasoning","summary":[]}"#, #"{"type":"reasoning","encrypted_content":null}"#,
        #"{"type":"reasoning","encrypted_content":7}"#, #"{"type":"reasoning","chat":"a"}"#,
        "[]", "null", "", "{", "7", #"{"type":"message"}{"#,
        "{\"a\":\"\u{1}\"}",
    ])
    func invalidItemsAndUnencryptedReasoningHaveNoInputForm(output: String) {
        #expect(Self.item(output) == nil)
    }

    @Test func bytesThatAreNotUTF8HaveNoForm() {
        #expect(InputItem(Array(#"{"a":""#.utf8) + [0xFF] + Array(#""}"#.utf8)) == nil)
    }

    @Test(arguments: [
        (
            #"{"type":"function_call","call_id":"c\u0031","name":"n\"","arguments":"{\"a\":\"\ud83d\ude00\"}"}"#,
            FinishedCall(callID: "c1", name: "n\"", payload: #"{"a":"😀"}"#)
        ),
        (
            #"{"type":"function_call","call_id":"c","name":"f","namespace":"s","arguments":{"a":[1]}}"#,
            FinishedCall(callID: "c", name: "f", namespace: "s", payload: #"{"a":[1]}"#)
        ),
        (
            #"{"type":"custom_tool_call","call_id":"c","name":"f","input":"a\nb"}"#,
            FinishedCall(.custom, callID: "c", name: "f", payload: "a\nb")
        ),
        (
            #"{"type":"function_call"}"#,
            FinishedCall(name: "", payload: "{}")
        ),
        (
            #"{"type":"function_call","call_id":"","arguments":null}"#,
            FinishedCall(name: "", payload: "{}")
        ),
        (
            #"{"type":"function_call","call_id":"c","name":"f","arguments":"","status":"completed"}"#,
            FinishedCall(callID: "c", name: "f", payload: "")
        ),
        (
            #"{"type":"function_call","call_id":"c","name":"f","arguments":"","status":"in_progress"}"#,
            FinishedCall(callID: "c", name: "f", payload: "", isIncomplete: true)
        ),
        (
            #"{"type":"function_call","call_id":"c","name":"f","arguments":"{}","status":"in_progress"}"#,
            FinishedCall(callID: "c", name: "f", payload: "{}")
        ),
        (
            #"{"type":"custom_tool_call","call_id":"c","name":"f","status":"incomplete"}"#,
            FinishedCall(.custom, callID: "c", name: "f", payload: "", isIncomplete: true)
        ),
        (
            #"{"type":"function_call","call_id":7,"name":7,"arguments":7}"#,
            FinishedCall(name: "", payload: "7")
        ),
    ])
    func callItemHasItsNameIdentifierAndPayload(json: String, call: FinishedCall) {
        #expect(Self.item(json)?.part == .call(call))
        #expect(Self.item(json)?.call?.payload == call.payload)
    }

    @Test(arguments: [
        (#"{"type":"function_call_output","call_id":"c","output":"1"}"#, InputItem.Part.output(callID: "c")),
        (#"{"type":"custom_tool_call_output","call_id":"c","output":"1"}"#, .output(callID: "c")),
        (#"{"type":"function_call_output","output":"1"}"#, .other),
        (#"{"type":"message","call_id":"c"}"#, .other), (#"{"call_id":"c"}"#, .other),
        (#"{"type":["function_call"],"call_id":"c"}"#, .other),
    ])
    func outputItemHasTheIdentifierOfItsCall(json: String, part: InputItem.Part) {
        #expect(Self.item(json)?.part == part)
    }

    // MARK: The error of a response

    @Test(
        arguments: [
            (#"{"error":{"code":"x"}}"#, 64, #"{"code":"x"}"#), (#"{"error":null}"#, 64, nil), ("{}", 64, nil),
            (#"{"error":"no"}"#, 64, #""no""#), (#"{"error":"äöü"}"#, 6, #""äö"#), (#"{"error":"äöü"}"#, 5, #""äö"#),
            (#"{"error":"äöü"}"#, 4, #""ä"#), (#"{"error":"äöü"}"#, 1, "\""), (#"{"error":"äöü"}"#, 0, ""),
            (#"{"error":"äöü"}"#, -1, ""), (#"{"error":"äöü"}"#, 8, #""äöü""#), (#"{"error":"äöü"}"#, 7, #""äöü"#),
        ] as [(String, Int, String?)])
    func anErrorIsCutBetweenScalars(json: String, limit: Int, payload: String?) {
        #expect(ServerErrorFacts.payload(of: Array(json.utf8), byteCountLimit: limit, orWhole: false) == payload)
    }

    @Test func withoutAnErrorMemberTheEventIsTheError() {
        let event = Array(#"{"type":"error","code":"x"}"#.utf8)
        #expect(
            ServerErrorFacts.payload(of: event, byteCountLimit: 64, orWhole: true) == #"{"type":"error","code":"x"}"#)
        #expect(ServerErrorFacts.payload(of: event, byteCountLimit: 3, orWhole: true) == #"{"t"#)
    }
}
