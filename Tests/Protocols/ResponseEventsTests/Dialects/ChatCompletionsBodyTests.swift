import Foundation
import Testing

@testable import ResponseEvents

/// Requests of the Responses API as bodies of chat completions.
@Suite struct ChatCompletionsBodyTests {
    private static func body(_ json: String, _ form: ChatForm = ChatForm()) throws -> String {
        let body = try ResponseRequestBody(json: Array(json.utf8))
        return String(decoding: try body.chatBody(form), as: UTF8.self)
    }

    private static let end = #""stream":true,"stream_options":{"include_usage":true}}"#

    private static func messages(_ input: String) throws -> String {
        let body = try self.body(#"{"input":\#(input)}"#)
        let start = #"{"messages":"#
        #expect(body.hasPrefix(start) && body.hasSuffix("," + Self.end))
        return String(body.dropFirst(start.count).dropLast(Self.end.count + 1))
    }

    private func expect(_ json: String, hasNoForm part: String) {
        #expect(throws: ResponseRequestBodyError.notInDialect(part)) { try Self.body(json) }
    }

    @Test func textAndInstructionsAreMessages() throws {
        let body = try Self.body(
            #"{"model":"m","instructions":"Be \"brief\".","input":"Hi","temperature":0.50,"unknown":{"a":1}}"#)
        #expect(
            body
                == #"{"model":"m","temperature":0.50,"unknown":{"a":1},"messages":[{"role":"system","content":"Be \"brief\"."},"#
                + #"{"role":"user","content":"Hi"}],"# + Self.end)
    }

    @Test func messagesKeepTheirPartsWhereTheyAreNotJustText() throws {
        let image = #"{"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"low"}"#
        let file = #"{"type":"input_file","filename":"a.pdf","file_data":"data:x"}"#
        let input = #"[{"role":"user","content":[{"type":"input_text","text":"See"},\#(image),\#(file)]}]"#
        #expect(
            try Self.messages(input)
                == #"[{"role":"user","content":[{"type":"text","text":"See"},"#
                + #"{"type":"image_url","image_url":{"url":"data:image/png;base64,AA==","detail":"low"}},"#
                + #"{"type":"file","file":{"filename":"a.pdf","file_data":"data:x"}}]}]"#)
    }

    @Test func oneTextIsATextAndSystemTextsAreJoined() throws {
        let input =
            #"[{"type":"message","role":"developer","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]},"#
            + #"{"type":"message","role":"user","content":[{"type":"input_text","text":"c"}]}]"#
        #expect(try Self.messages(input) == #"[{"role":"system","content":"ab"},{"role":"user","content":"c"}]"#)
    }

    @Test func anAnswerIsOneMessageWithItsCalls() throws {
        let input =
            #"["#
            + #"{"type":"reasoning","summary":[],"encrypted_content":"x"},"#
            + #"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Look"},{"type":"output_text","text":"ing."}]},"#
            + #"{"type":"function_call","call_id":"i","name":"f","arguments":"{\"a\":1}"},"#
            + #"{"type":"function_call","call_id":"j","name":"g","arguments":""},"#
            + #"{"type":"function_call_output","call_id":"i","output":"one"},"#
            + #"{"type":"function_call_output","call_id":"j","output":[{"type":"input_text","text":"t"},{"type":"input_text","text":"wo"}]},"#
            + #"{"type":"message","role":"assistant","content":"Done."}]"#
        #expect(
            try Self.messages(input)
                == #"[{"role":"assistant","content":"Looking.","tool_calls":["#
                + #"{"id":"i","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},"#
                + #"{"id":"j","type":"function","function":{"name":"g","arguments":"{}"}}]},"#
                + #"{"role":"tool","tool_call_id":"i","content":"one"},"#
                + #"{"role":"tool","tool_call_id":"j","content":"two"},"#
                + #"{"role":"assistant","content":"Done."}]"#)
    }

    @Test func picturesOfOutputsStandWhereTheServerTakesThem() throws {
        func output(_ id: String, _ parts: String) -> String {
            #"{"type":"function_call_output","call_id":"\#(id)","output":[\#(parts)]}"#
        }
        let text = #"{"type":"input_text","text":"t"}"#
        let image = #"{"type":"input_image","image_url":"data:image/png;base64,eA=="}"#
        let items = [
            #"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#, output("c", text + "," + image),
            output("d", image), output("e", text), #"{"role":"assistant","content":"a"}"#,
        ]
        func messages(_ form: ChatForm, _ count: Int) throws -> String {
            let body = try Self.body(#"{"input":[\#(items.prefix(count).joined(separator: ","))]}"#, form)
            return String(body.dropFirst(#"{"messages":"#.count).dropLast(Self.end.count + 1))
        }
        let call =
            #"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","#
            + #""function":{"name":"f","arguments":"{}"}}]}"#
        let picture = #"{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}}"#
        #expect(
            try messages(ChatForm(), 5) == "[\(call),"
                + #"{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"t"},\#(picture)]},"#
                + #"{"role":"tool","tool_call_id":"d","content":[\#(picture)]},"#
                + #"{"role":"tool","tool_call_id":"e","content":"t"},{"role":"assistant","content":"a"}]"#)
        let outputs =
            #"{"role":"tool","tool_call_id":"c","content":"t"},{"role":"tool","tool_call_id":"d","content":""},"#
            + #"{"role":"tool","tool_call_id":"e","content":"t"}"#
        let behind =
            #"{"role":"user","content":[{"type":"text","text":"Output of the call c:"},\#(picture),"#
            + #"{"type":"text","text":"Output of the call d:"},\#(picture)]}"#
        #expect(try messages(.openAI, 5) == #"[\#(call),\#(outputs),\#(behind),{"role":"assistant","content":"a"}]"#)
        #expect(try messages(.openAI, 4) == "[\(call),\(outputs),\(behind)]")
    }

    // MARK: What goes back

    private static let call = #"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#
    private static let output = #"{"type":"function_call_output","call_id":"c","output":"1"}"#
    private static let thought = #"{"type":"reasoning","summary":[],"chat":{"reasoning_content":"a"}}"#

    /// Returns the messages of the model in a request with input items, and with tools or without.
    private static func answers(
        _ items: [String], tools: String = "", form: ChatForm = ChatForm()
    ) throws -> [String] {
        let json = #"{"input":[\#(items.joined(separator: ","))]\#(tools)}"#
        let body = try JSONObjectText(Array(Self.body(json, form).utf8))
        let messages = body["messages"].flatMap { JSONArrayText($0) }?.elements ?? []
        return messages.map { String(decoding: $0.json, as: UTF8.self) }.filter { $0.contains(#""role":"assistant""#) }
    }

    @Test func reasoningGoesBackWithItsCalls() throws {
        let calls = #""tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]"#
        let message = #"{"role":"assistant","content":null,\#(calls),"reasoning_content":"a"}"#
        #expect(try Self.answers([Self.thought, Self.call, Self.output]) == [message])
        // It may stand behind the calls, where nothing of it was delivered.
        #expect(try Self.answers([Self.call, Self.thought, Self.output]) == [message])
        let text = #"{"role":"assistant","content":"b"}"#
        #expect(
            try Self.answers([text, Self.thought, Self.call, Self.output])
                == [message.replacing("null", with: #""b""#)])
    }

    @Test func reasoningOfATurnWithCallsGoesBackWhole() throws {
        let text = #"{"role":"assistant","content":"b"}"#
        let user = #"{"role":"user","content":"c"}"#
        let other = #"{"type":"reasoning","summary":[],"chat":{"reasoning":"d"}}"#
        let turn = [Self.thought, Self.call, Self.output, other, text]
        let answers = try Self.answers([user] + turn + [user, other, text])
        #expect(answers.count == 3)
        #expect(answers.dropFirst() == [#"{"role":"assistant","content":"b","reasoning":"d"}"#, text])
        // In a request with tools it goes back with every message.
        let tools = #","tools":[{"type":"function","name":"f"}]"#
        #expect(try Self.answers([user, other, text], tools: tools) == [answers[1]])
        #expect(try Self.answers([user, other, text], tools: #","tools":[]"#) == [text])
    }

    @Test(arguments: [
        (#""b""#, #"[{"type":"thinking","thinking":"a"},{"type":"text","text":"b"}]"#),
        (#""""#, #"[{"type":"thinking","thinking":"a"}]"#),
    ])
    func reasoningPartsStandBeforeTheText(_ text: String, _ content: String) throws {
        let thought = #"{"type":"reasoning","chat":{"content":[{"type":"thinking","thinking":"a"}]}}"#
        let answers = try Self.answers([thought, #"{"role":"assistant","content":\#(text)}"#, Self.call])
        #expect(answers.count == 1)
        #expect(answers.first?.hasPrefix(#"{"role":"assistant","content":\#(content),"tool_calls":"#) == true)
    }

    @Test func strictServerGetsOnlyItsOwnMembers() throws {
        let thought = #"{"type":"reasoning","chat":{"reasoning_content":"a","reasoning":"a","content":[]}}"#
        let call = String(Self.call.dropLast()) + #","chat":{"extra_content":{}}}"#
        let calls = #""tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]"#
        var form = ChatForm()
        form.takenMembers = ["reasoning"]
        let message = #"{"role":"assistant","content":null,\#(calls)"#
        #expect(try Self.answers([thought, call], form: form) == [message + #","reasoning":"a"}"#])
        form.takenMembers = []
        #expect(try Self.answers([thought, call], form: form) == [message + "}"])
    }

    @Test func reasoningChangesNoOtherMember() throws {
        let thought = #"{"type":"reasoning","chat":{"role":"x","tool_calls":[],"reasoning":"a"}}"#
        #expect(
            try Self.answers([thought, Self.call]) == [
                #"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","#
                    + #""function":{"name":"f","arguments":"{}"}}],"reasoning":"a"}"#
            ])
        // Reasoning of another API has no form, and reasoning alone is no message.
        for other in [#"{"type":"reasoning","encrypted_content":"a"}"#, Self.thought] {
            #expect(try Self.answers([other, #"{"role":"user","content":"b"}"#]).isEmpty)
        }
    }

    @Test(arguments: [
        (
            #"{"extra_content":{"google":{}}}"#,
            #""function":{"name":"f","arguments":"{}"},"extra_content":{"google":{}}"#
        ),
        (
            #"{"function":{"thought_signature":"s","name":"x"},"id":"x"}"#,
            #""function":{"name":"f","arguments":"{}","thought_signature":"s"}"#
        ),
        (#"{"function":7}"#, #""function":{"name":"f","arguments":"{}"}"#),
    ])
    func signatureGoesBackWithItsCall(_ member: String, _ expected: String) throws {
        let call = String(Self.call.dropLast()) + #","chat":\#(member)}"#
        #expect(
            try Self.answers([call]) == [
                #"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",\#(expected)}]}"#
            ])
    }

    @Test func callsWithoutTextHaveNone() throws {
        let call = #"{"type":"function_call","call_id":"i","name":"f","arguments":"{}"}"#
        #expect(
            try Self.messages("[\(call)]")
                == #"[{"role":"assistant","content":null,"tool_calls":[{"id":"i","type":"function","function":{"name":"f","arguments":"{}"}}]}]"#
        )
    }

    @Test func refusalIsAMember() throws {
        let input = #"[{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}]"#
        #expect(try Self.messages(input) == #"[{"role":"assistant","content":null,"refusal":"No."}]"#)
    }

    @Test func toolsAndTheirChoiceAreNested() throws {
        let tool = #"{"type":"function","name":"f","parameters":{"type":"object"},"strict":true}"#
        let body = try Self.body(
            #"{"input":[],"tools":[\#(tool)],"tool_choice":{"type":"function","name":"f"},"parallel_tool_calls":false}"#
        )
        #expect(
            body.contains(
                #""tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"},"strict":true}}]"#))
        #expect(
            body.contains(#""tool_choice":{"type":"function","function":{"name":"f"}},"parallel_tool_calls":false"#))
    }

    @Test func withoutToolsThereIsNoChoice() throws {
        let body = try Self.body(#"{"input":[],"tools":[],"tool_choice":"auto","parallel_tool_calls":true}"#)
        #expect(body == #"{"messages":[],"# + Self.end)
    }

    @Test func onlyAllowedToolsAreSent() throws {
        func body(_ choice: String) throws -> String {
            try Self.body(
                #"{"tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}],"tool_choice":\#(choice)}"#)
        }
        let tool = #"{"type":"function","function":{"name":"g"}}"#
        for mode in ["auto", "required"] {
            let choice = #"{"type":"allowed_tools","mode":"\#(mode)","tools":[{"type":"function","name":"g"}]}"#
            #expect(try body(choice) == #"{"tools":[\#(tool)],"tool_choice":"\#(mode)","# + Self.end)
        }
        #expect(try body(#"{"type":"allowed_tools","tools":[]}"#) == "{" + Self.end)
        let own = #"{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[\#(tool)]}}"#
        #expect(try body(own).contains(#""tool_choice":\#(own)"#))
        self.expect(
            #"{"tool_choice":{"type":"allowed_tools","tools":[{"type":"mcp","server_label":"s"}]}}"#,
            hasNoForm: "an allowed tool of type mcp")
    }

    @Test func formatReasoningAndLimitHaveOtherNames() throws {
        let format = #"{"type":"json_schema","name":"n","strict":true,"schema":{"type":"object"}}"#
        let json =
            #"{"text":{"format":\#(format),"verbosity":"low"},"reasoning":{"effort":"high","summary":"auto"},"#
            + #""max_output_tokens":9}"#
        #expect(
            try Self.body(json)
                == #"{"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object"}}},"#
                + #""verbosity":"low","reasoning_effort":"high","max_tokens":9,"# + Self.end)
        #expect(try Self.body(json, .openAI).contains(#""max_completion_tokens":9,"#))
        #expect(try Self.body(#"{"text":{"format":{"type":"text"}}}"#) == "{" + Self.end)
        #expect(
            try Self.body(#"{"text":{"format":{"type":"json_object"}}}"#)
                == #"{"response_format":{"type":"json_object"},"# + Self.end)
    }

    @Test func aBodyOfChatCompletionsIsLeftAsItIs() throws {
        let own =
            #""messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f"}}],"#
            + #""tool_choice":{"type":"function","function":{"name":"f"}},"response_format":{"type":"json_object"}"#
        #expect(try Self.body("{\(own)}") == "{\(own)," + Self.end)
    }

    @Test func streamOptionsAreTheCallers() throws {
        #expect(try Self.body(#"{"stream_options":{"a":1}}"#) == #"{"stream_options":{"a":1},"stream":true}"#)
        #expect(try Self.body(#"{"stream_options":null}"#) == #"{"stream":true}"#)
    }

    @Test(arguments: [
        #""store":false"#, #""truncation":"disabled""#, #""background":false"#, #""client_metadata":{"a":"b"}"#,
        #""include":["reasoning.encrypted_content"]"#, #""previous_response_id":null"#, #""n":1"#, #""type":"x""#,
    ])
    func whatDoesNotChangeTheAnswerIsLeftOut(_ member: String) throws {
        let body = try Self.body("{\(member)}")
        #expect(body == (member == #""n":1"# ? #"{"n":1,"# : "{") + Self.end)
    }

    @Test func whatHasNoFormIsRefused() {
        for name in ["previous_response_id", "conversation", "prompt", "max_tool_calls", "context_management"] {
            self.expect(#"{"\#(name)":"x"}"#, hasNoForm: name)
        }
        self.expect(#"{"background":true}"#, hasNoForm: "background")
        self.expect(#"{"truncation":"auto"}"#, hasNoForm: "truncation")
        self.expect(#"{"n":2}"#, hasNoForm: "more than one choice (n)")
        self.expect(#"{"include":["file_search_call.results"]}"#, hasNoForm: #"include: "file_search_call.results""#)
        self.expect(#"{"tools":[{"type":"web_search"}]}"#, hasNoForm: "a tool of type web_search")
        self.expect(#"{"tools":[{"type":"custom","name":"c"}]}"#, hasNoForm: "a tool of type custom")
        self.expect(#"{"tools":{}}"#, hasNoForm: "tools that are no array")
        self.expect(#"{"tool_choice":{"type":"web_search"}}"#, hasNoForm: "tool_choice of type web_search")
        self.expect(#"{"reasoning":{"mode":"x"}}"#, hasNoForm: "reasoning.mode")
        self.expect(#"{"reasoning":"high"}"#, hasNoForm: "reasoning that is no object")
        self.expect(#"{"text":{"x":1}}"#, hasNoForm: "text.x")
        self.expect(#"{"text":{"format":{"type":"grammar"}}}"#, hasNoForm: "text.format of type grammar")
        self.expect(#"{"instructions":[]}"#, hasNoForm: "instructions that are no text")
        self.expect(#"{"messages":[],"input":"x"}"#, hasNoForm: "input beside messages")
    }

    @Test(arguments: [
        (#"{"type":"item_reference","id":"x"}"#, "an input item of type item_reference"),
        (#"{"type":"custom_tool_call","call_id":"x","name":"c","input":""}"#, "an input item of type custom_tool_call"),
        (#"{"role":"critic","content":"x"}"#, "a message of the role critic"),
        (#"{"content":"x"}"#, "a message of the role none"), ("7", "an input item that is no object"),
        (#"{"role":"user","content":7}"#, "a content that is neither a text nor an array"),
        (#"{"role":"user","content":[7]}"#, "a part of a content that is no object"),
        (#"{"role":"user","content":[{"type":"input_image","file_id":"x"}]}"#, "an image by file_id"),
        (#"{"role":"user","content":[{"type":"input_file","file_url":"x"}]}"#, "a file by file_url"),
    ])
    func itemWithoutAFormIsRefused(_ item: String, _ part: String) {
        self.expect(#"{"input":[\#(item)]}"#, hasNoForm: part)
    }

    @Test func inputIsATextOrAnArray() {
        #expect(throws: ResponseRequestBodyError.invalidInput) { try Self.body(#"{"input":7}"#) }
    }
}
