// Chat completions, answered from the same script.
import Testing

@testable import ChappieTestServer

@Suite struct ChatCompletionsTests {
    private static let tool =
        #"{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}"#

    private func answer(
        _ body: String, _ configure: (inout ChappieTestServer.Configuration) -> Void = { _ in }
    ) throws -> (status: Int, lines: [String]) {
        try streamedAnswer(to: body, path: "/v1/chat/completions", configure)
    }

    private static func request(_ rest: String = "") -> String {
        #"{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true\#(rest)}"#
    }

    private static func deltas(_ lines: [String], _ name: String) -> String {
        lines.compactMap { JSONValue(Array($0.utf8))?["choices"]?.elements.first?["delta"]?[name]?.string }.joined()
    }

    @Test func theChunksCarryTheScriptedText() throws {
        let usage = #","stream_options":{"include_usage":true}"#
        let (status, lines) = try self.answer(Self.request(usage))
        #expect(status == 200)
        #expect(lines.last == "[DONE]")
        #expect(Self.deltas(lines, "content") == ChappieTestServer.ScriptedModel().fullText)
        #expect(Self.deltas(lines, "reasoning_content").hasPrefix("**Looking"))
        let chunks = lines.dropLast().compactMap { JSONValue(Array($0.utf8)) }
        #expect(chunks.count == lines.count - 1)
        #expect(Set(chunks.compactMap { $0["object"]?.string }) == ["chat.completion.chunk"])
        #expect(chunks.last?["choices"] == .array([]))
        #expect(chunks.last?["usage"]?["total_tokens"]?.integer != nil)
        #expect(chunks.dropLast().last?["choices"]?.elements.first?["finish_reason"] == .string("stop"))
        let without = try self.answer(Self.request()).lines
        #expect(!without.contains { $0.contains("\"usage\"") })
    }

    @Test func toolsAreCalledAndTheirOutputsAnswered() throws {
        let (_, lines) = try self.answer(Self.request(#","tools":[\#(Self.tool)]"#))
        let pieces = lines.compactMap {
            JSONValue(Array($0.utf8))?["choices"]?.elements.first?["delta"]?["tool_calls"]?.elements.first
        }
        #expect(pieces.first?["function"]?["name"] == .string("f"))
        #expect(pieces.compactMap { $0["function"]?["arguments"]?.string }.joined() == "{}")
        #expect(lines.contains { $0.contains(#""finish_reason":"tool_calls""#) })
        let id = try #require(pieces.first?["id"]?.string)
        let call = #"{"id":"\#(id)","type":"function","function":{"name":"f","arguments":"{}"}}"#
        let answered =
            #"{"model":"m","stream":true,"tools":[\#(Self.tool)],"messages":[{"role":"user","content":"hi"},"#
            + #"{"role":"assistant","content":null,"tool_calls":[\#(call)]},"#
            + #"{"role":"tool","tool_call_id":"\#(id)","content":"done"}]}"#
        #expect(Self.deltas(try self.answer(answered).lines, "content") == ChappieTestServer.ScriptedModel().fullText)
        let unanswered = answered.replacing(#","content":"done""#, with: "").replacing(
            #","messages""#, with: #","x""#)
        #expect(try self.answer(unanswered).status == 400)
    }

    @Test func reasoningIsDemandedBackInARequestWithTools() throws {
        func status(_ members: String, tools: String = #","tools":[\#(Self.tool)]"#) throws -> Int {
            let call = #"{"id":"i","type":"function","function":{"name":"f","arguments":"{}"}}"#
            let body =
                #"{"stream":true\#(tools),"messages":[{"role":"user","content":"hi"},"#
                + #"{"role":"assistant","content":null\#(members.replacing("CALL", with: call))},"#
                + #"{"role":"user","content":"And?"}]}"#
            return try self.answer(body) { $0.chatDemand = .reasoning }.status
        }
        let reasoning = #","reasoning_content":\#(JSONValue.quoted(ScriptedResponseBuilder.summary))"#
        #expect(try status("") == 400)
        #expect(try status(#","reasoning_content":"""#) == 400)
        #expect(try status(reasoning) == 200)
        #expect(try status("", tools: "") == 200)
        let calls = #","tool_calls":[CALL]"#
        #expect(try ChappieTestServer.ChatDemand.reasoning.problem(Self.value(calls)) != nil)
        #expect(try ChappieTestServer.ChatDemand.reasoning.problem(Self.value(calls + reasoning)) == nil)
    }

    private static func value(_ members: String) throws -> JSONValue {
        let call = #"{"id":"i","type":"function","function":{"name":"f","arguments":"{}"}}"#
        let text = #"{"messages":[{"role":"assistant"\#(members.replacing("CALL", with: call))}]}"#
        return try #require(JSONValue(Array(text.utf8)))
    }

    @Test func signaturesComeWithCallsAndAreDemandedBack() throws {
        let (_, lines) = try self.answer(Self.request(#","tools":[\#(Self.tool)]"#)) { $0.chatDemand = .signatures }
        let call = lines.compactMap {
            JSONValue(Array($0.utf8))?["choices"]?.elements.first?["delta"]?["tool_calls"]?.elements.first
        }.first
        let id = try #require(call?["id"]?.string)
        let signature = ChappieTestServer.ChatDemand.signature(of: id)
        #expect(call?["extra_content"]?["google"]?["thought_signature"]?.string == signature)
        for (written, isWhole) in [(signature, true), ("", false)] {
            let text =
                #"{"messages":[{"role":"assistant","tool_calls":[{"id":"\#(id)","#
                + #""extra_content":{"google":{"thought_signature":"\#(written)"}}}]}]}"#
            let body = try #require(JSONValue(Array(text.utf8)))
            #expect((ChappieTestServer.ChatDemand.signatures.problem(body) == nil) == isWhole)
        }
    }

    @Test func anAnswerThatIsNotStreamedIsWhole() throws {
        let (status, lines) = try self.answer(#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#)
        let document = try #require(JSONValue(Array(lines.joined().utf8)))
        #expect(status == 200)
        #expect(document["object"] == .string("chat.completion"))
        let choice = document["choices"]?.elements.first
        #expect(choice?["message"]?["content"]?.string == ChappieTestServer.ScriptedModel().fullText)
        #expect(choice?["message"]?["reasoning_content"]?.string?.hasPrefix("**Looking") == true)
        #expect(choice?["finish_reason"] == .string("stop"))
    }

    @Test func faultsAreThoseOfTheScript() throws {
        #expect(try self.answer(Self.request()) { $0.faults = [.init(.answer(status: 429))] }.status == 429)
        let ended = try self.answer(Self.request()) { $0.faults = [.init(action: .endWithoutTerminal(afterEvent: 20))] }
        #expect(!ended.lines.contains("[DONE]") && !ended.lines.isEmpty)
        let cut = try self.answer(Self.request()) {
            $0.faults = [.init(action: .incomplete(reason: "max_output_tokens", afterEvent: 20))]
        }
        #expect(cut.lines.contains { $0.contains(#""finish_reason":"length""#) })
        let failed = try self.answer(Self.request()) {
            $0.faults = [.init(action: .fail(code: "server_error", message: "m", afterEvent: 20))]
        }
        #expect(failed.lines.last == #"{"error":{"code":"server_error","message":"m"}}"#)
    }

    @Test(arguments: [
        "{}", #"{"messages":[]}"#, #"{"messages":[{"content":"x"}]}"#, #"{"messages":[{"role":"tool","content":"x"}]}"#,
        #"{"messages":[{"role":"user"}],"tools":[{"type":"function"}]}"#, "[]", "",
    ])
    func aBodyThatIsNoRequestIsRefused(_ body: String) throws {
        #expect(try self.answer(body).status == 400)
    }

    @Test func recordedChunksAreSentAsTheyAre() throws {
        let recording = [#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#, #"{"type":"ping"}"#, "[DONE]"]
        let lines = try self.answer(Self.request()) { $0.model = .recordings([recording]) }.lines
        #expect(lines == recording)
    }
}
