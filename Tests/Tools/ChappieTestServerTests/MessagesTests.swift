// Messages, answered from the same script.
import Testing

@testable import ChappieTestServer

@Suite struct MessagesTests {
    private static let tool = #"{"name":"f","input_schema":{"type":"object","properties":{}}}"#
    private static let user = #"{"role":"user","content":"hi"}"#

    private func answer(
        _ body: String, fields: [String] = ["anthropic-version: 2023-06-01"],
        _ configure: (inout ChappieTestServer.Configuration) -> Void = { _ in }
    ) throws -> (status: Int, lines: [String]) {
        try streamedAnswer(to: body, path: "/v1/messages", fields: fields, configure)
    }

    private static func request(_ rest: String = "", messages: [String] = [user]) -> String {
        #"{"model":"m","max_tokens":9,"messages":[\#(messages.joined(separator: ","))],"stream":true\#(rest)}"#
    }

    private static func deltas(_ lines: [String], _ name: String) -> String {
        lines.compactMap { JSONValue(Array($0.utf8))?["delta"]?[name]?.string }.joined()
    }

    private static func types(_ lines: [String]) -> [String] {
        lines.compactMap { JSONValue(Array($0.utf8))?["type"]?.string }
    }

    @Test func theEventsCarryTheScriptedText() throws {
        let (status, lines) = try self.answer(Self.request())
        #expect(status == 200)
        #expect(Self.deltas(lines, "text") == ChappieTestServer.ScriptedModel().fullText)
        #expect(Self.deltas(lines, "thinking").hasPrefix("**Looking"))
        #expect(Self.deltas(lines, "signature") == MessagesRequest.signature)
        let types = Self.types(lines)
        #expect(types.prefix(2) == ["message_start", "ping"])
        #expect(types.suffix(3) == ["content_block_stop", "message_delta", "message_stop"])
        #expect(types.filter { $0 == "content_block_start" }.count == types.filter { $0 == "content_block_stop" }.count)
        #expect(Self.deltas(lines, "stop_reason") == "end_turn")
    }

    @Test func toolsAreCalledAndTheirOutputsAnswered() throws {
        let tools = #","tools":[\#(Self.tool)]"#
        let (_, lines) = try self.answer(Self.request(tools))
        let block = try #require(
            lines.compactMap { JSONValue(Array($0.utf8))?["content_block"] }.last { $0["type"]?.string == "tool_use" })
        #expect(block["name"] == .string("f"))
        #expect(Self.deltas(lines, "partial_json") == "{}")
        #expect(Self.deltas(lines, "stop_reason") == "tool_use")
        let id = try #require(block["id"]?.string)
        let call = #"{"role":"assistant","content":[{"type":"tool_use","id":"\#(id)","name":"f","input":{}}]}"#
        let output = #"{"role":"user","content":[{"type":"tool_result","tool_use_id":"\#(id)","content":"done"}]}"#
        let answered = try self.answer(Self.request(tools, messages: [Self.user, call, output]))
        #expect(Self.deltas(answered.lines, "text") == ChappieTestServer.ScriptedModel().fullText)
        for messages in [[Self.user, call, Self.user], [Self.user, output]] {
            #expect(try self.answer(Self.request(tools, messages: messages)).status == 400)
        }
        // With thinking, what was thought has to come back.
        let thinking = tools + #","thinking":{"type":"adaptive"}"#
        let refused = try self.answer(Self.request(thinking, messages: [Self.user, call, output]))
        #expect(refused.status == 400)
        #expect(refused.lines.joined().contains("Expected `thinking`"))
        for (signature, status) in [(MessagesRequest.signature, 200), ("other", 400)] {
            let thought = #"{"type":"thinking","thinking":"t","signature":"\#(signature)"},"#
            let whole = call.replacing(#"[{"type":"tool_use""#, with: #"[\#(thought){"type":"tool_use""#)
            #expect(try self.answer(Self.request(thinking, messages: [Self.user, whole, output])).status == status)
        }
    }

    @Test func anAnswerThatIsNotStreamedIsWhole() throws {
        let (status, lines) = try self.answer(Self.request().replacing(#","stream":true"#, with: ""))
        let document = try #require(JSONValue(Array(lines.joined().utf8)))
        #expect(status == 200)
        #expect(document["type"] == .string("message") && document["stop_reason"] == .string("end_turn"))
        let blocks = document["content"]?.elements ?? []
        #expect(blocks.map { $0["type"]?.string } == ["thinking", "text"])
        #expect(blocks.first?["thinking"]?.string?.hasPrefix("**Looking") == true)
        #expect(blocks.first?["signature"] == .string(MessagesRequest.signature))
        #expect(blocks.last?["text"]?.string == ChappieTestServer.ScriptedModel().fullText)
    }

    @Test func faultsAreThoseOfTheScript() throws {
        #expect(try self.answer(Self.request()) { $0.faults = [.init(.answer(status: 429))] }.status == 429)
        let ended = try self.answer(Self.request()) { $0.faults = [.init(action: .endWithoutTerminal(afterEvent: 20))] }
        #expect(!Self.types(ended.lines).contains("message_stop") && !ended.lines.isEmpty)
        let cut = try self.answer(Self.request()) {
            $0.faults = [.init(action: .incomplete(reason: "max_output_tokens", afterEvent: 20))]
        }
        #expect(Self.deltas(cut.lines, "stop_reason") == "max_tokens")
        let failed = try self.answer(Self.request()) {
            $0.faults = [.init(action: .fail(code: "api_error", message: "m", afterEvent: 20))]
        }
        #expect(failed.lines.last == #"{"type":"error","error":{"type":"api_error","message":"m"}}"#)
    }

    @Test(arguments: [
        #"{"messages":[{"role":"user","content":"x"}]}"#, #"{"max_tokens":9,"messages":[]}"#,
        request(messages: [#"{"content":"x"}"#]), request(messages: [#"{"role":"system","content":"x"}"#]),
        request(messages: [#"{"role":"user","content":[{"type":"text","text":""}]}"#]),
        request(messages: [#"{"role":"user","content":[{}]}"#]), request(#","tools":[{"name":"f"}]"#), "[]", "",
    ])
    func aBodyThatIsNoRequestIsRefused(_ body: String) throws {
        #expect(try self.answer(body).status == 400)
    }

    @Test func theVersionAndAKeyAreDemanded() throws {
        #expect(try self.answer(Self.request(), fields: []).status == 400)
        let version = "anthropic-version: 2023-06-01"
        for (key, status) in [("x-api-key: k", 200), ("authorization: Bearer k", 200), ("x-api-key: other", 401)] {
            #expect(
                try self.answer(Self.request(), fields: [version, key]) { $0.acceptedTokens = ["k"] }.status == status)
        }
    }

    @Test func recordedEventsAreSentAsTheyAre() throws {
        let recording = [#"{"type":"ping"}"#, #"{"type":"message_stop"}"#]
        let lines = try self.answer(Self.request()) { $0.model = .recordings([recording]) }.lines
        #expect(lines == recording)
    }
}
