import Chappie
import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Turns with a server that speaks Anthropic's Messages.
@Suite(.timeLimit(.minutes(10))) struct MessagesTests {
    typealias Fault = ChappieTestServer.Fault

    private static func answer(_ rest: [String]) -> [String] {
        [
            #"{"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}"#,
            #"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            #"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}"#,
        ] + rest
    }

    private static func end(_ reason: String) -> [String] {
        [
            #"{"type":"message_delta","delta":{"stop_reason":"\#(reason)"},"usage":{"output_tokens":2}}"#,
            #"{"type":"message_stop"}"#,
        ]
    }

    // MARK: Answers

    @Test func theTextOfAWholeAnswerComesOverHTTP() async throws {
        let turn = try await LoopbackTurn.run(in: .messages)
        turn.outcome.expectWhole()
        #expect(turn.transports == [.http])
        #expect(turn.log.first?.path == "/v1/messages")
        let body = try #require(turn.log.first?.bodies.first.flatMap { ChappieJSONValue(jsonText: $0) })
        let text = ChappieJSONValue.object(["type": .string("text"), "text": .string("hi")])
        #expect(body["messages"] == .array([.object(["role": .string("user"), "content": .array([text])])]))
        #expect(body["max_tokens"] == .number(16384))
    }

    @Test func thinkingIsReasoning() async throws {
        let turn = try await LoopbackTurn.run(in: .messages, server: { $0.model = .scripted(.init()) })
        #expect(turn.outcome.error == nil)
        #expect(turn.outcome.reasoning.hasPrefix("**Looking at the harbour**"))
    }

    @Test(arguments: [ChappieRawEvents.none, .unsurfaced, .all])
    func rawEventsAreTheServersOwn(_ which: ChappieRawEvents) async throws {
        let lines = Self.answer([#"{"type":"ping"}"#]) + Self.end("end_turn")
        let turn = try await LoopbackTurn.run(
            in: .messages, server: LoopbackTurn.answering(lines), client: { $0.rawEvents = which })
        #expect(turn.outcome.error == nil)
        let types = turn.outcome.raw.map(\.type)
        switch which {
        case .none: #expect(types.isEmpty)
        case .unsurfaced: #expect(types == ["message_start", "content_block_start", "ping", "message_delta"])
        case .all:
            #expect(
                types == ["message_start", "content_block_start", "content_block_delta", "ping", "message_delta"])
        }
    }

    // MARK: Recovery

    @Test(arguments: [Fault.ConnectionCut.end, .reset])
    func aCutAnswerIsAskedForAgainAndCompared(_ cut: Fault.ConnectionCut) async throws {
        let turn = try await LoopbackTurn.run(
            [
                Fault(action: .cutAfterEvent(event: 20, with: cut), attempts: 1...1)
            ], in: .messages)
        turn.outcome.expectWhole()
        #expect(turn.transports == [.http, .http])
        #expect(turn.outcome.report.verifiedReplayByteCount > 0)
    }

    @Test func anotherAnswerEndsTheTurnOrReplacesTheFirst() async throws {
        let faults: [Fault] = [
            .init(.cutAfterEvent(event: 20), attempts: 1...1), .init(action: .divergeText(fromScalar: 1), from: 2),
        ]
        let failed = try await LoopbackTurn.run(faults, in: .messages)
        #expect(failed.outcome.clientError == .streamingTransportReplayDiverged(failed.outcome.text))
        let turn = try await LoopbackTurn.run(faults, in: .messages, client: { $0.policy.divergence = .restarts })
        #expect(turn.outcome.error == nil && turn.outcome.restarts.count == 1)
    }

    @Test(arguments: [[], [#"{"type":"content_block_stop","index":0}"#], Array(end("end_turn").prefix(1))])
    func anAnswerWithoutMessageStopHasEndedEarly(_ rest: [String]) async throws {
        let turn = try await LoopbackTurn.run(
            in: .messages, server: LoopbackTurn.answering(Self.answer(rest)), client: { $0.maxHTTPRetries = 1 })
        #expect(turn.outcome.text == "Hi")
        #expect(turn.outcome.completions == 0)
        #expect(turn.outcome.report.attempts.map(\.outcome) == ["stream.ended-early", "stream.ended-early"])
    }

    // MARK: Ends

    @Test(arguments: [("max_tokens", "max_output_tokens"), ("refusal", "refusal")])
    func anIncompleteAnswerIsOne(_ reason: String, _ cause: String) async throws {
        let turn = try await LoopbackTurn.run(
            in: .messages, server: LoopbackTurn.answering(Self.answer(Self.end(reason))))
        guard case .responseTerminalFailure(let response)? = turn.outcome.clientError else {
            Issue.record("not an incomplete response: \(String(describing: turn.outcome.error))")
            return
        }
        #expect(response.status == "incomplete")
        #expect(response.incompleteReason == cause)
        #expect(response.usage?.inputTokens == 3 && response.usage?.outputTokens == 2)
        #expect(turn.outcome.text == "Hi")
        #expect(turn.log.count == 1)
    }

    /// The server stops within the work of its own tools, and goes on when it gets that back.
    @Test func anAnswerThatPausesGoesOnInTheSameTurn() async throws {
        let search = #"{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}}"#
        let paused = Self.answer(
            [#"{"type":"content_block_start","index":1,"content_block":\#(search)}"#] + Self.end("pause_turn"))
        let rest = Self.answer(Self.end("end_turn"))
        try await withServer(.init(model: .custom { $0.attempt > 1 ? rest : paused })) { server in
            let client = Chappie.client(
                configuration: .loopback(server) { $0.endpoint = .messages($0.endpoint.baseURL) })
            let outcome = await client.outcome()
            #expect(outcome.error == nil)
            #expect(outcome.text == "HiHi")
            #expect(outcome.completions == 1)
            let requests = server.requests
            #expect(requests.count == 2)
            guard case .array(let messages)? = requests.last?["messages"], messages.count == 2 else {
                Issue.record("no messages")
                return
            }
            let text = ChappieJSONValue.object(["type": .string("text"), "text": .string("Hi")])
            #expect(messages[1]["content"] == ChappieJSONValue(jsonText: search).map { .array([text, $0]) })
        }
    }

    @Test(arguments: [
        ("invalid_request_error", ChappieErrorCategory.validation, 1), ("overloaded_error", .server, 2),
        ("rate_limit_error", .rateLimit, 2), ("authentication_error", .auth, 1), ("permission_error", .permission, 1),
    ])
    func anErrorInTheStreamIsTheServers(_ type: String, _ category: ChappieErrorCategory, _ count: Int) async throws {
        let error = #"{"type":"error","error":{"type":"\#(type)","message":"No more."}}"#
        let turn = try await LoopbackTurn.run(
            in: .messages, server: LoopbackTurn.answering(Self.answer([error])),
            client: {
                $0.maxHTTPRetries = 1
                $0.rateLimitBackoff = .init(maxRetries: 1)
                $0.reconnectDelay = .zero
            })
        #expect(turn.outcome.clientError?.category == category)
        #expect(turn.outcome.serverMessage?.contains("No more.") == true)
        #expect(turn.log.count == count)
    }

    // MARK: Tools

    /// The server refuses outputs whose call was thought about, unless the thinking comes back with its signature.
    @Test(arguments: [[], [Fault(.cutAfterEvent(event: 12), attempts: 1...1)]])
    func aToolRunsOnceAndWhatWasThoughtGoesBack(_ faults: [Fault]) async throws {
        var model = ChappieTestServer.ScriptedModel()
        model.toolArguments = ["weather": #"{"city":"Oslo"}"#]
        try await withServer(.init(model: .scripted(model), faults: faults)) { server in
            let record = ToolRecord()
            let configuration = ChappieConfiguration.loopback(server) {
                $0.endpoint = .messages($0.endpoint.baseURL)
                $0.reasoningEffort = .high
                $0.tools = [
                    ChappieHostTool(name: "weather", description: "The weather.") { call in
                        record.note(call)
                        return ChappieToolResult(output: "sun")
                    }
                ]
            }
            let client = Chappie.client(configuration: configuration)
            let outcome = await client.outcome()
            #expect(outcome.error == nil)
            #expect(outcome.text == model.fullText)
            #expect(record.calls.map(\.arguments) == [#"{"city":"Oslo"}"#])
            let last = try #require(server.requests.last)
            #expect(last["thinking"] == .object(["type": .string("adaptive")]))
            guard case .array(let messages)? = last["messages"], case .array(let blocks)? = messages[1]["content"]
            else {
                Issue.record("no messages")
                return
            }
            #expect(messages.map { $0["role"] } == ["user", "assistant", "user"].map { .string($0) })
            #expect(blocks.map { $0["type"] } == ["thinking", "tool_use"].map { .string($0) })
            #expect(blocks.first?["signature"] != .string(""))
            // The conversation goes on with all of it.
            #expect(await client.outcome("And now?").error == nil)
            // In another API it goes on without what was thought.
            let items = client.context.history
            #expect(items.contains { !$0.isIncluded(in: .chatCompletions) && $0.type == "reasoning" })
            var other = configuration
            other.endpoint = .chatCompletions(configuration.endpoint.baseURL)
            let second = Chappie.client(configuration: other)
            second.context = client.context
            #expect(await second.outcome("And there?").error == nil)
        }
    }
}
