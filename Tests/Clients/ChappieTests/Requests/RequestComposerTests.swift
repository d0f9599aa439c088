import ChappieTransport
import Foundation
import ResponseEvents
import Testing

@testable import Chappie

/// The bodies of a client's requests.
@Suite struct RequestComposerTests {
    private static func body(
        _ request: ChappieResponseRequest = ChappieResponseRequest("hi"), id: String = "conv",
        _ change: (inout ChappieConfiguration) -> Void = { _ in }
    ) -> String {
        var configuration = ChappieConfiguration(model: "m", harness: .none)
        change(&configuration)
        let composer = RequestComposer(configuration)
        let body = composer.body(of: request, items: composer.items(of: request), conversationID: id)
        return String(decoding: body, as: UTF8.self)
    }

    private static func value(
        _ request: ChappieResponseRequest = ChappieResponseRequest("hi"),
        _ change: (inout ChappieConfiguration) -> Void = { _ in }
    ) -> ChappieJSONValue? {
        ChappieJSONValue(jsonText: Self.body(request, change))
    }

    private static let message = #"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#

    @Test func aRequestHasItsMembersInOneOrder() {
        let tool = ChappieHostTool(name: "t", description: "d", inputSchema: ["type": "object", "b": 1, "a": 2]) { _ in
            ChappieToolResult(output: "")
        }
        var request = ChappieResponseRequest("hi")
        request.reasoningEffort = .high
        request.serviceTier = .flex
        request.maxOutputTokens = 9
        let body = Self.body(request) {
            $0.tools = [tool]
            $0.harness = ChappieHarness(name: "h", instructions: "Be brief.", capabilities: [.parallelToolCalls])
        }
        #expect(
            body == #"{"model":"m","instructions":"Be brief.","input":["# + Self.message
                + #"],"tools":[{"type":"function","name":"t","description":"d","strict":false,"#
                + #""parameters":{"a":2,"b":1,"type":"object"}}],"parallel_tool_calls":true,"store":false,"#
                + #""include":["reasoning.encrypted_content"],"reasoning":{"effort":"high"},"service_tier":"flex","#
                + #""prompt_cache_key":"conv","max_output_tokens":9}"#)
    }

    @Test func otherEndpointSendsOnlyCommonMembers() throws {
        let url = try #require(URL(string: "http://localhost/v1"))
        #expect(
            Self.body { $0.endpoint = .other(url) } == #"{"model":"m","input":["# + Self.message + "]}")
    }

    @Test func inputIsWithoutWhatOnlyAnotherDialectReads() throws {
        let url = try #require(URL(string: "http://localhost/v1"))
        let items = [
            #"{"type":"reasoning","summary":[],"chat":{"reasoning_content":"a"}}"#,
            #"{"type":"function_call","call_id":"c","name":"f","arguments":"{}","chat":{"extra_content":{}}}"#,
            #"{"type":"function_call_output","call_id":"c","output":"\"chat\""}"#,
            #"{"role":"user","content":[{"type":"input_text","text":"b","chat":{}}]}"#,
            #"{"type":"x","chat":"c"}"#,
        ].map { Array($0.utf8) }
        func input(_ endpoint: ChappieEndpoint) -> String? {
            let composer = RequestComposer(ChappieConfiguration(model: "m", harness: .none, endpoint: endpoint))
            let body = composer.body(of: ChappieResponseRequest([]), items: items, conversationID: "conv")
            return (try? JSONObjectText(body))?["input"].map { String(decoding: $0, as: UTF8.self) }
        }
        let all = JSONArrayText.json(items.map { $0[...] })
        #expect(input(.chatCompletions(url)) == String(decoding: all, as: UTF8.self))
        let call = #"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#
        let others = JSONArrayText.json([Array(call.utf8)[...]] + items.dropFirst(2).map { $0[...] })
        #expect(input(.other(url)) == String(decoding: others, as: UTF8.self))
    }

    @Test func configurationAppliesWhereTheRequestHasNoValue() {
        let value = Self.value {
            $0.reasoningEffort = .minimal
            $0.serviceTier = .priority
        }
        #expect(value?["reasoning"] == ["effort": "minimal"])
        #expect(value?["service_tier"] == "priority")
        var request = ChappieResponseRequest("hi")
        request.model = "other"
        request.instructions = "x"
        #expect(Self.value(request)?["model"] == "other")
        #expect(Self.value(request)?["instructions"] == "x")
    }

    @Test func fastModeIsLowEffortUnlessTheRequestNamesAnother() {
        var request = ChappieResponseRequest(.user("hi", fastMode: true))
        #expect(Self.value(request) { $0.reasoningEffort = .high }?["reasoning"] == ["effort": "low"])
        request.reasoningEffort = .medium
        #expect(Self.value(request)?["reasoning"] == ["effort": "medium"])
    }

    @Test func messagesAreItems() throws {
        let request = ChappieResponseRequest([
            .system("s"), .developer("d"),
            .user([
                .text("u"), .image(url: "https://e/x.png", detail: "low"), .imageFile(id: "f1"),
                .file(name: "a.pdf", dataURL: "data:x"), .fileReference(id: "f2"), .fileURL("https://e/a.pdf"),
            ]),
            .assistant("a"),
        ])
        guard case .array(let items)? = Self.value(request)?["input"] else {
            Issue.record("no input")
            return
        }
        #expect(items.map { $0["role"]?.string } == ["system", "developer", "user", "assistant"])
        #expect(items.map { $0["type"]?.string } == Array(repeating: "message", count: 4))
        #expect(items[3]["content"] == [["type": "output_text", "text": "a"]])
        #expect(
            items[2]["content"] == [
                ["type": "input_text", "text": "u"],
                ["type": "input_image", "image_url": "https://e/x.png", "detail": "low"],
                ["type": "input_image", "file_id": "f1"],
                ["type": "input_file", "filename": "a.pdf", "file_data": "data:x"],
                ["type": "input_file", "file_id": "f2"], ["type": "input_file", "file_url": "https://e/a.pdf"],
            ])
    }

    // MARK: Tools

    private static func toolNames(_ value: ChappieJSONValue?) -> [String?] {
        guard case .array(let tools)? = value?["tools"] else { return [] }
        return tools.map { $0["name"]?.string ?? $0["type"]?.string }
    }

    @Test func aHostToolTakesThePlaceOfTheHarnessesToolOfItsName() {
        let value = Self.value {
            $0.harness = ChappieHarness(
                name: "h",
                tools: [
                    ChappieHarnessTool(name: "a", description: "old"),
                    ChappieHarnessTool(name: "b", description: "old"),
                ])
            $0.tools = [
                ChappieHostTool(name: "c", description: "", format: .text) { _ in ChappieToolResult(output: "") },
                ChappieHostTool(name: "a", description: "older") { _ in ChappieToolResult(output: "") },
                ChappieHostTool(name: "a", description: "new", isStrict: true) { _ in ChappieToolResult(output: "") },
            ]
        }
        #expect(
            value?["tools"] == [
                [
                    "type": "function", "name": "a", "description": "new", "strict": true,
                    "parameters": ["type": "object", "properties": [:]],
                ],
                [
                    "type": "function", "name": "b", "description": "old", "strict": false,
                    "parameters": ["type": "object", "properties": [:]],
                ],
                ["type": "custom", "name": "c", "description": "", "format": ["type": "text"]],
            ])
    }

    @Test(arguments: [
        (ChappieSearchAccess?.none, false, [String]()), (nil, true, ["web_search"]), (.live, false, ["web_search"]),
        (.cached, false, ["web_search"]), (.disabled, true, []),
    ])
    func searchIsATool(access: ChappieSearchAccess?, isCapability: Bool, tools: [String]) {
        var request = ChappieResponseRequest("hi")
        request.searchAccess = access
        let value = Self.value(request) {
            $0.harness = ChappieHarness(name: "h", capabilities: isCapability ? [.webSearch] : [])
        }
        #expect(Self.toolNames(value) == tools)
        if access == .cached {
            #expect(value?["tools"] == [["type": "web_search", "external_web_access": false]])
        }
    }

    // MARK: Whole bodies

    @Test func aWholeBodyIsOverriddenMemberByMember() {
        let body =
            #"{"temperature":0.10,"model":"own","input":"hello","max_output_tokens":5,"store":true,"#
            + #""include":[],"tools":[{"type":"function","name":"a"},{"type":"web_search_preview"}],"#
            + #""reasoning":{"summary":"auto","effort":"high"},"x":{"y":1e2},"prompt_cache_key":"k"}"#
        var request = ChappieResponseRequest(bodyJSON: Array(body.utf8))
        let untouched = Self.body(request) {
            $0.tools = [ChappieHostTool(name: "b", description: "") { _ in ChappieToolResult(output: "") }]
            $0.reasoningEffort = .low
        }
        #expect(untouched.contains(#""temperature":0.10"#))
        #expect(untouched.contains(#""x":{"y":1e2}"#))
        let value = ChappieJSONValue(jsonText: untouched)
        #expect(value?["model"] == "own")
        #expect(value?["store"] == true)
        #expect(value?["include"] == [])
        #expect(value?["prompt_cache_key"] == "k")
        #expect(value?["reasoning"] == ["summary": "auto", "effort": "high"])
        #expect(value?["input"] == [["type": "message", "role": "user", "content": "hello"]])
        #expect(Self.toolNames(value) == ["a", "web_search_preview", "b"])
        request.messages = [.user("hi")]
        request.model = "m2"
        request.reasoningEffort = .low
        request.searchAccess = .disabled
        request.maxOutputTokens = 7
        let changed = Self.value(request)
        #expect(changed?["model"] == "m2")
        #expect(changed?["reasoning"] == ["summary": "auto", "effort": "low"])
        #expect(Self.toolNames(changed) == ["a"])
        #expect(changed?["max_output_tokens"] == 7)
        guard case .array(let items)? = changed?["input"] else {
            Issue.record("no input")
            return
        }
        #expect(items.count == 2)
    }

    @Test(arguments: ["", "[]", "{", "3", "{\"a\":}"])
    func invalidBodyIsPassedToTheEngineUnchanged(_ body: String) {
        #expect(Self.body(ChappieResponseRequest(bodyJSON: Array(body.utf8))) == body)
    }

    @Test func chatGPTTakesNoMaximumOfTokens() {
        let request = ChappieResponseRequest(bodyJSON: Array(#"{"max_output_tokens":5}"#.utf8))
        let value = Self.value(request) { $0.endpoint = .chatGPT }
        #expect(value?["max_output_tokens"] == nil)
        #expect(value?["store"] == false)
    }
}
