import Chappie
import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Turns with a server that speaks Chat Completions.
@Suite(.timeLimit(.minutes(10))) struct ChatCompletionsTests {
    typealias Fault = ChappieTestServer.Fault

    private static func chunk(_ delta: String, finish: String? = nil) -> String {
        let reason = finish.map { "\"\($0)\"" } ?? "null"
        let choice = #"{"index":0,"delta":\#(delta),"finish_reason":\#(reason)}"#
        return #"{"id":"c1","object":"chat.completion.chunk","choices":[\#(choice)]}"#
    }

    // MARK: Answers

    @Test func theTextOfAWholeAnswerComesOverHTTP() async throws {
        let turn = try await LoopbackTurn.run(in: .chatCompletions)
        turn.outcome.expectWhole()
        #expect(turn.transports == [.http])
        #expect(turn.log.first?.path == "/v1/chat/completions")
        let body = try #require(turn.log.first?.bodies.first.flatMap { ChappieJSONValue(jsonText: $0) })
        #expect(body["messages"] == .array([.object(["role": .string("user"), "content": .string("hi")])]))
        #expect(body["stream_options"] == .object(["include_usage": .bool(true)]))
    }

    @Test func reasoningIsReasoning() async throws {
        let turn = try await LoopbackTurn.run(in: .chatCompletions, server: { $0.model = .scripted(.init()) })
        #expect(turn.outcome.error == nil)
        #expect(turn.outcome.reasoning.hasPrefix("**Looking at the harbour**"))
    }

    @Test(arguments: [ChappieRawEvents.none, .unsurfaced, .all])
    func rawEventsAreTheServersOwn(_ which: ChappieRawEvents) async throws {
        let lines = [
            Self.chunk(#"{"role":"assistant"}"#), Self.chunk(#"{"content":"Hi"}"#),
            Self.chunk(#"{"tool_calls":[{"index":0,"id":"i","function":{"name":"f","arguments":"{}"}}]}"#),
            Self.chunk("{}", finish: "tool_calls"), "[DONE]",
        ]
        let turn = try await LoopbackTurn.run(
            in: .chatCompletions, server: LoopbackTurn.answering(lines), client: { $0.rawEvents = which })
        #expect(turn.outcome.error == nil)
        let chunks = turn.outcome.raw.filter { $0.type == "chat.completion.chunk" }.map(\.payload)
        switch which {
        case .none: #expect(turn.outcome.raw.isEmpty)
        case .unsurfaced: #expect(chunks == [lines[0], lines[2], lines[3]])
        case .all: #expect(chunks == Array(lines.dropLast()))
        }
        // A finished call is in the form of the Responses API, in every dialect.
        let others = turn.outcome.raw.filter { $0.type != "chat.completion.chunk" }
        #expect(others.map(\.type) == (which == .none ? [] : ["response.output_item.done"]))
        #expect(others.allSatisfy { $0.payload.contains(#""call_id":"i","name":"f","arguments":"{}""#) })
    }

    // MARK: Recovery

    @Test(arguments: [Fault.ConnectionCut.end, .reset])
    func aCutAnswerIsAskedForAgainAndCompared(_ cut: Fault.ConnectionCut) async throws {
        let turn = try await LoopbackTurn.run(
            [
                Fault(action: .cutAfterEvent(event: 20, with: cut), attempts: 1...1)
            ], in: .chatCompletions)
        turn.outcome.expectWhole()
        #expect(turn.transports == [.http, .http])
        #expect(turn.outcome.report.verifiedReplayByteCount > 0)
    }

    @Test(arguments: [Fault.Action.divergeText(fromScalar: 1), .shortenText(toScalar: 3)])
    func anotherAnswerEndsTheTurn(_ change: Fault.Action) async throws {
        let turn = try await LoopbackTurn.run(
            [
                .init(.cutAfterEvent(event: 20), attempts: 1...1), .init(action: change, from: 2),
            ], in: .chatCompletions)
        turn.outcome.expectBeginning(deliversText: true)
        #expect(turn.outcome.clientError == .streamingTransportReplayDiverged(turn.outcome.text))
    }

    @Test func anotherAnswerReplacesTheFirstWhereItIsWanted() async throws {
        let change = Fault.Action.divergeText(fromScalar: 1)
        let answer = try await LoopbackTurn.run([.init(action: change)], in: .chatCompletions)
        let turn = try await LoopbackTurn.run(
            [.init(.cutAfterEvent(event: 20), attempts: 1...1), .init(action: change, from: 2)], in: .chatCompletions,
            client: { $0.policy.divergence = .restarts })
        #expect(turn.outcome.error == nil)
        #expect(turn.outcome.restarts.count == 1)
        #expect(turn.outcome.text == answer.outcome.text)
        #expect(turn.log.count == 2)
    }

    @Test func anAnswerWithoutItsReasonToEndHasEndedEarly() async throws {
        for lines in [[Self.chunk(#"{"content":"Hi"}"#)], [Self.chunk(#"{"content":"Hi"}"#), "[DONE]"]] {
            let turn = try await LoopbackTurn.run(
                in: .chatCompletions, server: LoopbackTurn.answering(lines), client: { $0.maxHTTPRetries = 1 })
            #expect(turn.outcome.text == "Hi")
            #expect(turn.outcome.completions == 0)
            #expect(turn.outcome.report.attempts.map(\.outcome) == ["stream.ended-early", "stream.ended-early"])
        }
    }

    @Test func anAnswerMayEndWithoutTheMark() async throws {
        let lines = [Self.chunk(#"{"content":"Hi"}"#), Self.chunk("{}", finish: "stop")]
        let turn = try await LoopbackTurn.run(in: .chatCompletions, server: LoopbackTurn.answering(lines))
        #expect(turn.outcome.error == nil)
        #expect(turn.outcome.text == "Hi")
        #expect(turn.log.count == 1)
    }

    @Test func aCutBehindTheReasonIsStillACut() async throws {
        let lines = [Self.chunk(#"{"content":"Hi"}"#), Self.chunk("{}", finish: "stop"), "[DONE]"]
        let turn = try await LoopbackTurn.run(
            [Fault(action: .cutAfterEvent(event: 2, with: .reset), attempts: 1...1)], in: .chatCompletions,
            server: LoopbackTurn.answering(lines))
        #expect(turn.outcome.error == nil)
        #expect(turn.outcome.text == "Hi")
        #expect(turn.log.count == 2)
    }

    @Test func aRateLimitIsWaitedFor() async throws {
        let turn = try await LoopbackTurn.run([.init(.answer(status: 429), attempts: 1...1)], in: .chatCompletions)
        turn.outcome.expectWhole()
        #expect(turn.outcome.report.attempts.map(\.outcome) == ["http.429", "completed"])
    }

    // MARK: Ends

    @Test(arguments: [("length", "max_output_tokens"), ("content_filter", "content_filter")])
    func anIncompleteAnswerIsOne(_ reason: String, _ cause: String) async throws {
        let lines = [Self.chunk(#"{"content":"Hi"}"#), Self.chunk("{}", finish: reason), "[DONE]"]
        let turn = try await LoopbackTurn.run(in: .chatCompletions, server: LoopbackTurn.answering(lines))
        guard case .responseTerminalFailure(let response)? = turn.outcome.clientError else {
            Issue.record("not an incomplete response: \(String(describing: turn.outcome.error))")
            return
        }
        #expect(response.status == "incomplete")
        #expect(response.incompleteReason == cause)
        #expect(turn.outcome.text == "Hi")
        #expect(turn.log.count == 1)
    }

    @Test func anErrorInTheStreamIsTheServers() async throws {
        let error = #"{"error":{"message":"No more.","type":"invalid_request_error","code":"invalid_value"}}"#
        let turn = try await LoopbackTurn.run(
            in: .chatCompletions, server: LoopbackTurn.answering([Self.chunk(#"{"content":"Hi"}"#), error]))
        #expect(turn.outcome.clientError?.tag == "response.failed")
        #expect(turn.outcome.clientError?.category == .validation)
        #expect(turn.outcome.serverMessage?.contains("No more.") == true)
        #expect(turn.log.count == 1)
    }

    // MARK: Requests

    @Test func whatHasNoFormIsNotSent() async throws {
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { $0.dialect = .chatCompletions })
            let body = #"{"model":"m","input":"hi","previous_response_id":"r"}"#
            let outcome = await transport.outcome(of: ChappieTransportRequest(body: Array(body.utf8)))
            #expect(outcome.clientError?.tag == "request.invalid")
            #expect(outcome.clientError?.description.contains("previous_response_id") == true)
            #expect(server.log.isEmpty)
        }
    }

    // MARK: Tools

    private static func configuration(
        _ server: ChappieTestServer, _ record: ToolRecord
    ) -> ChappieConfiguration {
        .loopback(server) {
            $0.endpoint = .chatCompletions($0.endpoint.baseURL)
            $0.tools = [
                ChappieHostTool(name: "weather", description: "The weather.") { call in
                    record.note(call)
                    return ChappieToolResult(output: "sun")
                }
            ]
        }
    }

    @Test(arguments: [[], [Fault(.cutAfterEvent(event: 6), attempts: 1...1)]])
    func aToolRunsOnceAndItsOutputGoesBack(_ faults: [Fault]) async throws {
        var model = LoopbackTurn.model
        model.toolArguments = ["weather": #"{"city":"Oslo"}"#]
        try await withServer(.init(model: .scripted(model), faults: faults)) { server in
            let record = ToolRecord()
            let client = Chappie.client(configuration: Self.configuration(server, record))
            let outcome = await client.outcome()
            #expect(outcome.error == nil)
            #expect(outcome.text == model.fullText)
            #expect(record.calls.map(\.arguments) == [#"{"city":"Oslo"}"#])
            #expect(server.log.allSatisfy { $0.path == "/v1/chat/completions" })
            let last = try #require(server.requests.last)
            guard case .array(let messages)? = last["messages"] else {
                Issue.record("no messages")
                return
            }
            #expect(messages.map { $0["role"] } == ["user", "assistant", "tool"].map { .string($0) })
            #expect(messages.last?["content"] == .string("sun"))
            // The conversation goes on with all of it.
            let second = await client.outcome("And now?")
            #expect(second.error == nil)
            guard case .array(let more)? = server.requests.last?["messages"] else {
                Issue.record("no messages")
                return
            }
            #expect(more.prefix(3) == messages[...])
            #expect(more.count > 4)
        }
    }

    @Test(arguments: [ChappieTestServer.ChatDemand.reasoning, .signatures])
    func whatAServerDemandsGoesBackWithItsCalls(_ demand: ChappieTestServer.ChatDemand) async throws {
        var model = ChappieTestServer.ScriptedModel()
        model.toolCallCount = 2
        model.toolRounds = 2
        var configuration = ChappieTestServer.Configuration(model: .scripted(model))
        configuration.chatDemand = demand
        try await withServer(configuration) { server in
            let record = ToolRecord()
            let client = Chappie.client(configuration: Self.configuration(server, record))
            let first = await client.outcome()
            #expect(first.error == nil)
            #expect(first.text == model.fullText)
            #expect(first.reasoning.components(separatedBy: "**Looking").count == 4)
            #expect(record.calls.count == 4)
            // The next turn has all of it too, as has one of another client that continues from the saved conversation.
            #expect(await client.outcome("And now?").error == nil)
            let other = Chappie.client(configuration: Self.configuration(server, record))
            other.context = try ChappieClientContext(data: client.context.data())
            #expect(await other.outcome("And then?").error == nil)
            #expect(server.log.allSatisfy { $0.status == 200 })
            #expect(server.log.count == 9)
            let reasoning = client.context.history.filter { $0.type == "reasoning" }
            #expect(reasoning.count == 6)
            #expect(reasoning.allSatisfy { $0.text.hasPrefix("**Looking") && !$0.isIncluded(in: .responses) })
            #expect(client.context.history.allSatisfy { $0.isIncluded(in: .chatCompletions) })
        }
    }

    @Test func aConversationMovesToTheResponsesAPI() async throws {
        var configuration = ChappieTestServer.Configuration(model: .scripted(.init()))
        configuration.chatDemand = .signatures
        try await withServer(configuration) { server in
            let record = ToolRecord()
            let client = Chappie.client(configuration: Self.configuration(server, record))
            #expect(await client.outcome().error == nil)
            let other = Chappie.client(configuration: .loopback(server))
            other.context = client.context
            #expect(await other.outcome("And now?").error == nil)
            guard case .array(let items)? = server.requests.last?["input"] else {
                Issue.record("no input")
                return
            }
            #expect(
                items.map { $0["type"]?.string } == [
                    "message", "function_call", "function_call_output", "message", "message",
                ])
            #expect(items.allSatisfy { $0["chat"] == nil })
        }
    }

    @Test func cutArgumentsRunNoTool() async throws {
        let lines = [
            Self.chunk(
                #"{"tool_calls":[{"index":0,"id":"i","function":{"name":"weather","arguments":"{\"city\":\"Os"}}]}"#),
            Self.chunk("{}", finish: "tool_calls"), "[DONE]",
        ]
        var configuration = ChappieTestServer.Configuration()
        LoopbackTurn.answering(lines)(&configuration)
        try await withServer(configuration) { server in
            let record = ToolRecord()
            let outcome = await Chappie.client(configuration: Self.configuration(server, record)).outcome()
            #expect(record.calls.isEmpty)
            guard case .responseTerminalFailure(let response)? = outcome.clientError else {
                Issue.record("not an incomplete response: \(String(describing: outcome.error))")
                return
            }
            #expect(response.incompleteReason == "cut_arguments")
        }
    }
}
