import Foundation
import Testing

@testable import ResponseEvents

/// Requests of the Responses API as bodies of Anthropic's Messages.
@Suite struct MessagesBodyTests {
    private static func body(_ json: String) throws -> String {
        String(decoding: try ResponseRequestBody(json: Array(json.utf8)).messagesBody(), as: UTF8.self)
    }

    private static let end = #""max_tokens":16384,"stream":true}"#

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
            #"{"model":"m","instructions":"Be \"brief\".","input":"Hi","temperature":0.50,"top_k":5}"#)
        #expect(
            body
                == #"{"model":"m","temperature":0.50,"top_k":5,"#
                + #""messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}],"system":"Be \"brief\".","#
                + Self.end)
        #expect(
            try Self.body(#"{"input":"Hi","max_output_tokens":9}"#).hasSuffix(
                #""max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}],"stream":true}"#))
    }

    @Test func textsOfTheSystemStandBesideTheMessages() throws {
        let input =
            #"[{"role":"developer","content":[{"type":"input_text","text":"a"}]},{"role":"system","content":"b"},"#
            + #"{"role":"user","content":"c"}]"#
        let body = try Self.body(#"{"instructions":"i","input":\#(input)}"#)
        #expect(
            body.contains(
                #""system":[{"type":"text","text":"i"},{"type":"text","text":"a"},{"type":"text","text":"b"}]"#))
        self.expect(
            #"{"input":[{"role":"user","content":"c"},{"role":"developer","content":"d"}]}"#,
            hasNoForm: "a message of the system behind others")
    }

    @Test(arguments: [#"\n\n"#, " ", #"\u00a0\t"#]) func answerGoesBackWithoutBlankTexts(_ blank: String) throws {
        let call = #"{"type":"function_call","call_id":"i","name":"f","arguments":"{}"}"#
        let message = { (text: String) in
            let part = #"{"type":"output_text","text":"\#(text)"}"#
            return #"{"type":"message","role":"assistant","content":[\#(part)]}"#
        }
        let user = #"{"role":"user","content":"\#(blank)"}"#
        let use = #"{"type":"tool_use","id":"i","name":"f","input":{}}"#
        #expect(
            try Self.messages("[\(user),\(message(blank)),\(call)]")
                == #"[{"role":"user","content":[{"type":"text","text":"\#(blank)"}]},{"role":"assistant","content":[\#(use)]}]"#
        )
        #expect(try Self.messages("[\(message("a")),\(message(blank))]").contains(#""text":"a"}]"#))
    }

    @Test(arguments: ["input_video", "input_audio", "computer_screenshot"]) func otherPartsHaveNoForm(_ type: String) {
        self.expect(
            #"{"input":[{"role":"user","content":[{"type":"\#(type)"}]}]}"#, hasNoForm: "a part of type \(type)")
    }

    @Test func contextManagementIsAnObjectHere() throws {
        self.expect(#"{"input":"Hi","context_management":[{"type":"compaction"}]}"#, hasNoForm: "context_management")
        let own = #""context_management":{"edits":[]}"#
        #expect(try Self.body(#"{"input":"Hi",\#(own)}"#).contains(own))
    }

    @Test func partsHaveTheirSources() throws {
        let image = #"{"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"low"}"#
        let file = #"{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,BB=="}"#
        let parts = [
            #"{"type":"input_text","text":"See"}"#, image, #"{"type":"input_image","image_url":"https://h/i.png"}"#,
            file,
            #"{"type":"input_file","file_url":"https://h/f.pdf"}"#, #"{"type":"input_file","file_id":"f"}"#,
            #"{"type":"input_file","filename":"t.csv","file_data":"data:text/csv;charset=utf-8;base64,aMOp"}"#,
            #"{"type":"text","text":"own","cache_control":{"type":"ephemeral"}}"#, #"{"type":"input_text","text":""}"#,
        ]
        #expect(
            try Self.messages(#"[{"role":"user","content":[\#(parts.joined(separator: ","))]}]"#)
                == #"[{"role":"user","content":[{"type":"text","text":"See"},"#
                + #"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},"#
                + #"{"type":"image","source":{"type":"url","url":"https://h/i.png"}},"#
                + #"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"BB=="},"title":"a.pdf"},"#
                + #"{"type":"document","source":{"type":"url","url":"https://h/f.pdf"}},"#
                + #"{"type":"document","source":{"type":"file","file_id":"f"}},"#
                + #"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"hé"},"title":"t.csv"},"#
                + #"{"type":"text","text":"own","cache_control":{"type":"ephemeral"}}]}]"#)
        for (part, words) in [
            (#"{"type":"input_image","image_url":"data:image/png,AA"}"#, "an image in a data: URL without ;base64"),
            (#"{"type":"input_image"}"#, "an image that is neither data nor an address"),
            (
                #"{"type":"input_file","file_data":"data:text/csv;base64,/w=="}"#,
                "a file of type text/csv that is not UTF-8"
            ),
        ] {
            self.expect(#"{"input":[{"role":"user","content":[\#(part)]}]}"#, hasNoForm: words)
        }
    }

    /// An answer is one message, and so are the outputs of its calls with what follows them.
    @Test func anAnswerIsOneMessageAndItsOutputsAreOne() throws {
        let input =
            #"[{"role":"user","content":"q"},"#
            + #"{"type":"reasoning","summary":[],"messages":{"type":"thinking","thinking":"t","signature":"s"}},"#
            + #"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Look"},{"type":"output_text","text":"ing."}]},"#
            + #"{"type":"function_call","call_id":"i","name":"f","arguments":"{\"a\":1}"},"#
            + #"{"type":"function_call","call_id":"functions.g:0","name":"g","arguments":"[1","messages":{"caller":{"type":"direct"}}},"#
            + #"{"type":"function_call_output","call_id":"i","output":"one"},"#
            + #"{"type":"function_call_output","call_id":"functions.g:0","output":[{"type":"input_text","text":"two"},{"type":"input_image","image_url":"https://h/i"}]},"#
            + #"{"role":"user","content":"and?"}]"#
        #expect(
            try Self.messages(input)
                == #"[{"role":"user","content":[{"type":"text","text":"q"}]},{"role":"assistant","content":["#
                + #"{"type":"thinking","thinking":"t","signature":"s"},"#
                + #"{"type":"text","text":"Look"},{"type":"text","text":"ing."},"#
                + #"{"type":"tool_use","id":"i","name":"f","input":{"a":1}},"#
                + #"{"type":"tool_use","id":"functions_g_0","name":"g","input":{},"caller":{"type":"direct"}}]},"#
                + #"{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","content":"one"},"#
                + #"{"type":"tool_result","tool_use_id":"functions_g_0","content":[{"type":"text","text":"two"},{"type":"image","source":{"type":"url","url":"https://h/i"}}]},"#
                + #"{"type":"text","text":"and?"}]}]"#)
    }

    @Test func whatOnlyThisAPIHasGoesBackAsItWas() throws {
        let input =
            #"[{"type":"server_tool_use","messages":{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}}},"#
            + #"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}],"messages":{"citations":[{"x":1}]}}]"#
        #expect(
            try Self.messages(input)
                == #"[{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}},"#
                + #"{"type":"text","text":"a","citations":[{"x":1}]}]}]"#)
    }

    @Test func anEmptyOutputHasNoContent() throws {
        #expect(
            try Self.messages(#"[{"type":"function_call_output","call_id":"i","output":""}]"#)
                == #"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"i"}]}]"#)
    }

    @Test func toolsHaveSchemasOfTheirInput() throws {
        let tools = [
            #"{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":true}"#,
            #"{"type":"function","name":"g","parameters":null,"strict":false}"#, #"{"type":"web_search"}"#,
            #"{"type":"code_execution_20260120","name":"code_execution"}"#,
            #"{"name":"h","input_schema":{"type":"object"}}"#,
        ]
        #expect(
            try Self.body(#"{"input":[],"tools":[\#(tools.joined(separator: ","))]}"#).contains(
                #""tools":[{"name":"f","description":"d","strict":true,"input_schema":{"type":"object"}},"#
                    + #"{"name":"g","input_schema":{"type":"object","properties":{}}},"#
                    + #"{"type":"web_search_20250305","name":"web_search"},"#
                    + #"{"type":"code_execution_20260120","name":"code_execution"},"#
                    + #"{"name":"h","input_schema":{"type":"object"}}]"#))
        self.expect(#"{"tools":[{"type":"custom","name":"c"}]}"#, hasNoForm: "a tool of type custom")
        self.expect(
            #"{"tools":[{"type":"web_search","external_web_access":false}]}"#, hasNoForm: "a tool of type web_search")
    }

    @Test func aChoiceAmongAllowedToolsIsTheseToolsAlone() throws {
        let tools = ["f", "g"].map { #"{"type":"function","name":"\#($0)"}"# }
        let choice = #"{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"g"}]}"#
        let body = try Self.body(#"{"tools":[\#(tools.joined(separator: ","))],"tool_choice":\#(choice)}"#)
        #expect(body.contains(#""tools":[{"name":"g","input_schema":{"type":"object","properties":{}}}]"#))
        #expect(body.contains(#""tool_choice":{"type":"any"}"#))
    }

    @Test(arguments: [
        (#""tool_choice":"auto""#, #"{"type":"auto"}"#), (#""tool_choice":"none""#, #"{"type":"none"}"#),
        (#""tool_choice":"required""#, #"{"type":"any"}"#),
        (#""tool_choice":"none","parallel_tool_calls":false"#, #"{"type":"none"}"#),
        (#""tool_choice":{"type":"function","name":"f"}"#, #"{"type":"tool","name":"f"}"#),
        (#""parallel_tool_calls":false"#, #"{"type":"auto","disable_parallel_tool_use":true}"#),
        (
            #""tool_choice":"required","parallel_tool_calls":false"#,
            #"{"type":"any","disable_parallel_tool_use":true}"#
        ),
    ])
    func theChoiceIsAnObject(_ members: String, _ choice: String) throws {
        let tool = #"{"type":"function","name":"f"}"#
        #expect(try Self.body(#"{"tools":[\#(tool)],\#(members)}"#).contains(#""tool_choice":\#(choice)"#))
        #expect(try !Self.body("{\(members)}").contains("tool_choice"))
        #expect(try !Self.body(#"{"tools":[\#(tool)],"parallel_tool_calls":true}"#).contains("tool_choice"))
    }

    @Test(arguments: [
        (
            #""reasoning":{"effort":"high","summary":"auto"}"#,
            #""thinking":{"type":"adaptive"},"output_config":{"effort":"high"}"#
        ),
        (#""reasoning":{"effort":"minimal"}"#, #""thinking":{"type":"adaptive"},"output_config":{"effort":"low"}"#),
        (#""reasoning":{"effort":"none"}"#, #""thinking":{"type":"disabled"}"#),
        (
            #""thinking":{"type":"enabled","budget_tokens":1024},"reasoning":{"effort":"low"}"#,
            #""thinking":{"type":"enabled","budget_tokens":1024},"output_config":{"effort":"low"}"#
        ),
        (
            #""text":{"format":{"type":"json_schema","name":"n","strict":true,"schema":{"type":"object"}}}"#,
            #""output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}"#
        ),
        (#""service_tier":"default""#, #""service_tier":"standard_only""#),
        (#""metadata":{"user_id":"u"}"#, #""metadata":{"user_id":"u"}"#),
        (#""user":"u""#, #""metadata":{"user_id":"u"}"#),
        (#""prompt_cache_key":"k""#, #""cache_control":{"type":"ephemeral"}"#),
        (#""stop_sequences":["x"]"#, #""stop_sequences":["x"]"#),
    ])
    func membersHaveTheirForms(_ member: String, _ form: String) throws {
        #expect(try Self.body("{\(member)}") == "{\(form)," + Self.end)
    }

    @Test func defaultsAreLeftOut() throws {
        let body = try Self.body(
            #"{"store":false,"background":false,"truncation":"disabled","include":["reasoning.encrypted_content"],"#
                + #""client_metadata":{"a":"b"},"text":{"format":{"type":"text"}},"stream":false,"metadata":null}"#)
        #expect(body == "{" + Self.end)
    }

    @Test func aBodyOfMessagesIsLeftAsItIs() throws {
        let own =
            #"{"model":"m","max_tokens":5,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"x"}]"#
        #expect(try Self.body(own + "}") == own + #","stream":true}"#)
        self.expect(own + #","input":"y"}"#, hasNoForm: "input beside messages")
        self.expect(own + #","input":[],"instructions":"i"}"#, hasNoForm: "instructions beside system")
    }

    @Test(arguments: [
        (#""store":true"#, "store"), (#""background":true"#, "background"), (#""truncation":"auto""#, "truncation"),
        (#""previous_response_id":"r""#, "previous_response_id"), (#""n":2"#, "more than one answer (n)"),
        (#""metadata":{"k":"v"}"#, "metadata.k"), (#""service_tier":"flex""#, #"service_tier "flex""#),
        (#""text":{"verbosity":"low"}"#, "text.verbosity"),
        (#""text":{"format":{"type":"json_object"}}"#, "text.format of type json_object"),
        (#""tool_choice":{"type":"custom","name":"c"}"#, "tool_choice of type custom"),
        (#""input":[{"type":"item_reference","id":"x"}]"#, "an input item of type item_reference"),
        (#""input":[{"role":"critic","content":"x"}]"#, "a message of the role critic"),
    ])
    func whatCannotBeSaidIsRefused(_ member: String, _ words: String) {
        self.expect("{\(member)}", hasNoForm: words)
    }
}
