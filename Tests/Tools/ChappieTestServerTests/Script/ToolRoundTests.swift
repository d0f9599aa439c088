// The scripted model's tool calls: rounds, arguments, custom tools, and calls without an output.
import Testing

@testable import ChappieTestServer

@Suite struct ToolRoundTests {
    private static let tools = #"""
        [{"type":"function","name":"count","parameters":{"type":"object","properties":{"n":{"type":"integer"}}}},
         {"type":"custom","name":"note","format":{"type":"text"}},{"type":"web_search"}]
        """#.replacing("\n", with: "")

    /// A call as a client sees it.
    private struct Call: Equatable {
        var id: String
        var name: String
        var payload: String

        init?(_ item: JSONValue) {
            guard let id = item["call_id"]?.string, let name = item["name"]?.string else { return nil }
            self.id = id
            self.name = name
            self.payload = (item["arguments"] ?? item["input"])?.string ?? ""
        }

        var output: String {
            #"{"type":"\#(self.name == "note" ? "custom_tool" : "function")_call_output","call_id":"\#(self.id)","output":"x"}"#
        }
    }

    private func model(_ change: (inout ChappieTestServer.ScriptedModel) -> Void)
        -> (inout ChappieTestServer.Configuration) -> Void
    {
        var model = ChappieTestServer.ScriptedModel(seed: 3, textByteCount: 40)
        change(&model)
        return { [model] in $0.model = .scripted(model) }
    }

    private func request(_ input: [String], previousID: String? = nil) -> String {
        let previous = previousID.map { #","previous_response_id":"\#($0)""# } ?? ""
        return #"{"type":"response.create","model":"m","stream":true,"tools":\#(Self.tools),"input":["#
            + input.joined(separator: ",") + "]" + previous + "}"
    }

    private let question = #"{"type":"message","role":"user","content":"Go on."}"#

    @Test(arguments: [0, 1, 50]) func roundsOnAWebSocketAreCountedThoughOnlyNewInputIsSent(_ rounds: Int) throws {
        try withServer(
            self.model {
                $0.toolRounds = rounds; $0.toolArguments = ["count": #"{"n":$number}"#]
            }
        ) { server in
            let client = try RawClient(port: server.port)
            try client.upgrade()
            _ = try client.readHead()
            for _ in 1...2 {
                var (calls, input, previousID) = ([Call](), [self.question], String?.none)
                while true {
                    try client.sendText(self.request(input, previousID: previousID))
                    let events = try client.readEvents()
                    let response = try #require(events.last?["response"])
                    previousID = response["id"]?.string
                    let made = (response["output"]?.elements ?? []).compactMap(Call.init)
                    guard !made.isEmpty else {
                        #expect(
                            text(of: events) == ChappieTestServer.ScriptedModel(seed: 3, textByteCount: 40).fullText)
                        break
                    }
                    calls += made
                    input = made.map(\.output)
                }
                #expect(calls.map(\.payload) == (0..<rounds).map { "{\"n\":\($0 + 1)}" })
                #expect(Set(calls.map(\.id)).count == rounds)
            }
        }
    }

    @Test func roundsOverHTTPAreCountedInTheHistory() throws {
        try withServer(
            self.model {
                $0.toolRounds = 3; $0.toolCallCount = 2
            }
        ) { server in
            let client = try RawClient(port: server.port)
            var (input, payloads) = ([self.question], [[String]]())
            for _ in 1...4 {
                try client.post(self.request(input))
                let events = try events(inStream: String(decoding: client.readBody(client.readHead()), as: UTF8.self))
                let items = try #require(events.last?["response"]?["output"]?.elements)
                let calls = items.compactMap(Call.init)
                payloads.append(calls.map { "\($0.name) \($0.payload)" })
                input += items.map(\.text) + calls.map(\.output)
            }
            #expect(
                payloads == [
                    [#"count {"n":1}"#, "note input 2"], [#"count {"n":3}"#, "note input 4"],
                    [#"count {"n":5}"#, "note input 6"], [],
                ])
        }
    }

    @Test func aCustomToolsInputIsStreamed() throws {
        try withServer(self.model { $0.toolArguments = ["note": "select 1; -- long enough for pieces"] }) { server in
            let client = try RawClient(port: server.port)
            try client.post(self.request([self.question]))
            let events = try events(inStream: String(decoding: client.readBody(client.readHead()), as: UTF8.self))
            let deltas = events.filter { $0["type"]?.string == "response.custom_tool_call_input.delta" }
            #expect(deltas.count > 1)
            #expect(deltas.compactMap { $0["delta"]?.string }.joined() == "select 1; -- long enough for pieces")
            let done = events.first { $0["type"]?.string == "response.custom_tool_call_input.done" }
            #expect(done?["input"]?.string == "select 1; -- long enough for pieces")
            let item = events.first {
                $0["type"]?.string == "response.output_item.done" && $0["item"]?["call_id"] != nil
            }?["item"]
            #expect(item?["type"]?.string == "custom_tool_call")
            #expect(item?["id"]?.string?.hasPrefix("ctc_") == true)
        }
    }

    @Test(arguments: [
        ([#"{"type":"function_call","call_id":"call_a","name":"count","arguments":"{}"}"#], "call_a"),
        (
            [
                #"{"type":"function_call","call_id":"call_a","name":"count","arguments":"{}"}"#,
                #"{"type":"custom_tool_call","call_id":"call_b","name":"note","input":""}"#,
                #"{"type":"function_call_output","call_id":"call_a","output":""}"#,
            ], "call_b"
        ),
    ])
    func aCallWithoutAnOutputIsRefused(_ items: [String], _ callID: String) throws {
        try withServer { server in
            let client = try RawClient(port: server.port)
            try client.post(self.request([self.question] + items))
            let head = try client.readHead()
            #expect(head.status == 400)
            let error = try JSONValue(client.readBody(head))?["error"]
            #expect(error?["message"]?.string == "No tool output found for function call \(callID).")
            #expect(error?["param"]?.string == "input")
        }
    }

    /// Over HTTP a request may continue a stored response, which has the call.
    @Test func outputWithoutItsCallIsRefusedOnAWebSocket() throws {
        let call = #"{"type":"function_call","call_id":"call_a","name":"count","arguments":"{}"}"#
        let output = #"{"type":"function_call_output","call_id":"call_a","output":""}"#
        let session = WebSocketSession()
        func refusal(_ items: [String]) throws -> WebSocketSession.Refusal? {
            let text = "{\"type\":\"response.create\",\"input\":[\(items.joined(separator: ","))]}"
            return session.continuationRefusal(for: try #require(JSONValue(Array(text.utf8))))
        }
        #expect(try refusal([call, output]) == nil)
        #expect(
            try refusal([output])
                == WebSocketSession.Refusal(
                    message: "No tool call found for function call output with call_id call_a.", param: "input"))
    }

    @Test func callsOfTheServerNeedNoOutput() throws {
        try withServer { server in
            let client = try RawClient(port: server.port)
            try client.post(
                self.request([self.question, #"{"type":"web_search_call","id":"ws_1","status":"completed"}"#]))
            #expect(try client.readHead().status == 200)
        }
    }

    @Test func madeArgumentsDifferForEachCall() {
        let schema = JSONValue(Array(#"{"properties":{"city":{"type":"string"},"n":{"type":"number"},"cmd":{}}}"#.utf8))
        let made = (0..<60).map { SchemaSample.arguments(for: schema, index: $0).text }
        #expect(Set(made).count == 60)
        #expect(made[0] == #"{"city":"Oslo","n":1,"cmd":"echo ok"}"#)
        #expect(made[5] == #"{"city":"Bergen 6","n":6,"cmd":"echo ok 6"}"#)
    }
}
