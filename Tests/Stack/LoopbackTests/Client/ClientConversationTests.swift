import Chappie
import ChappieTestServer
import Foundation
import Testing

/// The context of a conversation, over both transports, and its one running turn.
@Suite(.timeLimit(.minutes(10))) struct ClientConversationTests {
    private static let model: ChappieTestServer.Configuration = scripted(
        (1...6).map { responseEvents($0, [], text: "Answer \($0).") })

    /// Roles and texts of the messages among items.
    private static func said(_ items: [ChappieJSONValue]) -> [String] {
        items.compactMap { item in
            guard case .array(let parts)? = item["content"], let role = item["role"]?.string else { return nil }
            return role + ": " + parts.compactMap { $0["text"]?.string }.joined()
        }
    }

    @Test(arguments: Wire.allCases)
    func earlierTurnsAreTheContextOfTheNext(over wire: Wire) async throws {
        try await withServer(Self.model) { server in
            let client = Chappie.client(configuration: .loopback(server, over: wire))
            #expect(try await client.send("One?") == "Answer 1.")
            #expect(try await client.send(.user("Two?")) == "Answer 2.")
            let said = ["user: One?", "assistant: Answer 1.", "user: Two?", "assistant: Answer 2."]
            #expect(Self.said(client.context.items) == said)
            #expect(Self.said(server.inputs[1]) == (wire == .httpSSE ? Array(said.prefix(3)) : ["user: Two?"]))
            client.clearContext()
            #expect(client.context.isEmpty)
            _ = try await client.send("Three?")
            #expect(Self.said(server.inputs[2]) == ["user: Three?"])
        }
    }

    @Test(arguments: Wire.allCases) func eventsOfAFixedAnswerAreItsText(over wire: Wire) async throws {
        try await withServer(.init(model: .text("The sky is blue."))) { server in
            var configuration = ChappieConfiguration.loopback(server, over: wire)
            configuration.endpoint.baseURL = server.url
            var text = ""
            for try await event in Chappie.client(configuration: configuration).events("Why?") {
                switch event {
                case .textDelta(let delta): text += delta
                case .reasoningDelta, .toolCallRequested: Issue.record("\(event)")
                default: break
                }
            }
            #expect(text == "The sky is blue.")
        }
    }

    /// The second answer differs from the first, which was cut.
    @Test(arguments: Wire.allCases)
    func anAnswerThatReplacesAnotherIsTheTextOfTheTurn(over wire: Wire) async throws {
        let other = ChappieTestServer.Fault(.divergeText(fromScalar: 4), from: 2)
        let cut = ChappieTestServer.Fault(.cutAfterEvent(event: 8), attempts: 1...1)
        var settings = ChappieTestServer.Configuration(model: .text("The sky is blue."), faults: [cut, other])
        settings.writeMode = .perEvent
        for isSend in [true, false] {
            try await withServer(settings) { server in
                var configuration = ChappieConfiguration.loopback(server, over: wire)
                configuration.streamingTransportPolicy.divergence = .restarts
                let client = Chappie.client(configuration: configuration)
                guard !isSend else {
                    let text = try await client.send("Why?")
                    #expect(text.hasPrefix("The ") && text != "The sky is blue.")
                    #expect(Self.said(client.context.items).last == "assistant: " + text)
                    return
                }
                var (text, restarts) = ("", 0)
                for try await batch in client.streamHandle("Why?").batches() {
                    for event in batch {
                        switch event {
                        case .textDelta(let delta): text += delta
                        case .restarted(let delivered):
                            restarts += 1
                            #expect(delivered == text)
                            text = ""
                        default: continue
                        }
                    }
                    if client.isRunning { #expect(client.textSoFar == text) }
                }
                #expect(restarts == 1)
                #expect(Self.said(client.context.items).last == "assistant: " + text)
            }
        }
    }

    @Test(arguments: Wire.allCases)
    func aRunningTurnAndItsTextAreVisible(over wire: Wire) async throws {
        try await withServer(.init(model: .text("The sky is blue."))) { server in
            let client = Chappie.client(configuration: .loopback(server, over: wire))
            #expect(!client.isRunning)
            let handle = client.streamHandle("Why?")
            #expect(handle.response == nil)
            var text = ""
            for try await event in handle.events {
                guard case .textDelta(let delta) = event else { continue }
                text += delta
                #expect(client.isRunning)
                #expect(client.textSoFar == text)
            }
            #expect(text == "The sky is blue.")
            #expect(!client.isRunning)
            #expect(client.textSoFar.isEmpty)
            #expect(handle.response?.status == "completed")
            #expect(handle.response?.id?.isEmpty == false)
            #expect(handle.response?.outputText.isEmpty == true)
        }
    }

    @Test(arguments: Wire.allCases)
    func conversationsOfOneClientAreIndependent(over wire: Wire) async throws {
        try await withServer(Self.model) { server in
            let client = Chappie.client(configuration: .loopback(server, over: wire))
            let other = client.conversation()
            _ = try await client.send("One?")
            #expect(other.context.isEmpty)
            _ = try await other.send("Two?")
            #expect(Self.said(server.inputs[1]) == ["user: Two?"])
            #expect(client.fork().context == client.context)
        }
    }

    @Test(arguments: Wire.allCases)
    func aShutDownClientTakesNoTurns(over wire: Wire) async throws {
        try await withServer(Self.model) { server in
            let client = Chappie.client(configuration: .loopback(server, over: wire))
            _ = try await client.send("One?")
            await client.shutdown()
            for conversation in [client, client.conversation()] {
                let outcome = await conversation.outcome()
                #expect(outcome.clientError?.tag == "engine.shut-down")
                #expect(!conversation.isRunning)
            }
            #expect(server.inputs.count == 1)
        }
    }

    /// A shutdown whose grace period is over ends a response, or a tool, with the text that was delivered.
    @Test(arguments: [false, true]) func turnThatAShutdownEndsHasAnErrorOfItsOwn(inATool: Bool) async throws {
        let call = responseEvents(1, [functionCall("c", "t")], text: "Wait. ")
        var configuration = scripted([call, responseEvents(2, [], text: "Done.")])
        configuration.writeMode = .perEvent
        // Behind the text, and before the end of the response.
        if !inATool { configuration.faults = [.init(.hang(afterEvent: call.count - 2), attempts: 1...1)] }
        try await withServer(configuration) { server in
            let (running, gate) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
            let tool = ChappieHostTool(name: "t", description: "") { _ in
                running.continuation.yield()
                for await _ in gate.stream { break }
                return ChappieToolResult(output: "")
            }
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = [tool] })
            let handle = client.streamHandle("hi")
            let turn = Task {
                var outcome = ClientOutcome()
                do {
                    for try await event in handle.events {
                        outcome.events.append(event)
                        if !inATool, case .textDelta = event, outcome.text == "Wait. " { running.continuation.yield() }
                    }
                } catch {
                    outcome.error = error
                }
                return outcome
            }
            for await _ in running.stream { break }
            await client.shutdown(gracePeriod: .zero)
            gate.continuation.yield()
            let outcome = await turn.value
            #expect(outcome.text == "Wait. ")
            #expect(outcome.clientError?.tag == "engine.shut-down")
            #expect(outcome.clientError?.category == .validation)
            guard case .transport(let failure)? = outcome.clientError else { return }
            #expect(failure.details.deliveredText == "Wait. ")
            #expect(failure.details.clientRequestID == handle.report.requestID)
            #expect(!client.isRunning)
        }
    }

    @Test func aContextGoesOnInAnotherClient() async throws {
        try await withServer(Self.model) { server in
            let first = Chappie.client(configuration: .loopback(server))
            _ = try await first.send("One?")
            let data = try first.context.data()
            let second = Chappie.client(configuration: .loopback(server))
            second.context = try ChappieClientContext(data: data)
            #expect(second.context == first.context)
            #expect(try await second.send("Two?") == "Answer 2.")
            #expect(Self.said(server.inputs[1]) == ["user: One?", "assistant: Answer 1.", "user: Two?"])
            #expect(server.requests.map { $0["prompt_cache_key"]?.string } == [first.context.id, first.context.id])
        }
    }

    @Test(arguments: [false, true]) func aHandleHasTheFactsOfTheWholeTurn(inBatches: Bool) async throws {
        let call = responseEvents(1, [functionCall("c", "t")], text: "Wait. ")
        try await withServer(scripted([call, responseEvents(2, [], text: "Done.")])) { server in
            let tool = ChappieHostTool(name: "t", description: "") { _ in ChappieToolResult(output: "") }
            let handle = Chappie.client(configuration: .loopback(server) { $0.tools = [tool] }).streamHandle("hi")
            if inBatches {
                for try await _ in handle.batches() {}
            } else {
                for try await event in handle.events where event != .completed { #expect(handle.response == nil) }
            }
            let response = try #require(handle.response)
            #expect(response.outputText.isEmpty)
            #expect(response.id == "resp_2")
            #expect(response.model == "m-1")
            #expect(response.usage == ChappieTokenUsage(inputTokens: 20, outputTokens: 4, totalTokens: 24))
        }
    }

    @Test func aResponseHasItsFacts() async throws {
        let call = responseEvents(1, [functionCall("c", "t")], text: "Wait. ")
        try await withServer(scripted([call, responseEvents(2, [], text: "Done.")])) { server in
            let tool = ChappieHostTool(name: "t", description: "") { _ in ChappieToolResult(output: "") }
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = [tool] })
            let response = try await client.response("hi")
            #expect(response.outputText == "Wait. Done.")
            #expect(response.status == "completed")
            #expect(response.id == "resp_2")
            #expect(response.model == "m-1")
            #expect(response.usage == ChappieTokenUsage(inputTokens: 20, outputTokens: 4, totalTokens: 24))
        }
    }

    @Test func responseWithEndTurnFalseIsFollowedByAnotherRequest() async throws {
        let responses = [
            responseEvents(1, [], text: "Half. ", endsTurn: false), responseEvents(2, [], text: "Whole."),
        ]
        try await withServer(scripted(responses)) { server in
            let client = Chappie.client(configuration: .loopback(server, over: .httpSSE))
            let outcome = await client.outcome()
            #expect(outcome.text == "Half. Whole.")
            #expect(outcome.completions == 1)
            #expect(Self.said(server.inputs[1]) == ["user: hi", "assistant: Half. "])
        }
    }

    @Test func steeredMessageIsPartOfTheConversation() async throws {
        // The response pauses until it is steered.
        let pause = ChappieTestServer.Fault(.pause(afterEvent: 20, seconds: 600), attempts: 1...1)
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model), faults: [pause])
        configuration.eventsPerSecond = 200
        try await withServer(configuration) { server in
            let client = Chappie.client(configuration: .loopback(server))
            let handle = client.streamHandle("One?")
            #expect(throws: ChappieSteeringError.notRunning) { try handle.steer("Too soon.") }
            var outcome = ClientOutcome()
            for try await event in handle.events {
                outcome.events.append(event)
                if case .textDelta = event, outcome.text.utf8.count == event.textByteCount {
                    try handle.steer("Be brief.")
                }
            }
            #expect(outcome.completions == 1)
            let said = Self.said(client.context.items)
            #expect(said.filter { $0.hasPrefix("user") } == ["user: One?", "user: Be brief."])
            #expect(said.last?.hasPrefix("assistant") == true)
        }
    }

    // MARK: One turn at a time

    @Test func aSecondTurnIsRefusedAndTheFirstGoesOn() async throws {
        let (begun, goOn) = (Happening(), Happening())
        let tool = ChappieHostTool(name: "t", description: "") { _ in
            begun.happened()
            await goOn.wait()
            return ChappieToolResult(output: "")
        }
        let responses = [
            responseEvents(1, [functionCall("c", "t")]), responseEvents(2, [], text: "Done."),
            responseEvents(3, [], text: "Again."),
        ]
        try await withServer(scripted(responses)) { server in
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = [tool] })
            async let first = client.outcome("first")
            await begun.wait()
            let refused = await client.outcome("second")
            #expect(refused.clientError == .alreadyRunning)
            #expect(refused.events.isEmpty)
            goOn.happened()
            let outcome = await first
            #expect(outcome.error == nil)
            #expect(outcome.text == "Done.")
            #expect(await client.outcome("third").text == "Again.")
            #expect(Self.said(client.context.items).filter { $0.hasPrefix("user") } == ["user: first", "user: third"])
        }
    }

    @Test func noRequestIsSentBeforeATurnIsRead() async throws {
        try await withServer(Self.model) { server in
            let client = Chappie.client(configuration: .loopback(server))
            let unread = client.streamHandle("never")
            #expect(await client.outcome("One?").text == "Answer 1.")
            #expect(server.inputs.count == 1)
            unread.cancel()
            let outcome = await ClientOutcome.read(unread)
            #expect(outcome.error is CancellationError)
            #expect(server.inputs.count == 1)
        }
    }

    @Test func theNextMessageMayFollowTheLastEventAtOnce() async throws {
        try await withServer(Self.model) { server in
            let client = Chappie.client(configuration: .loopback(server))
            var iterator = client.stream("One?").makeAsyncIterator()
            while let event = try await iterator.next(), event != .completed {}
            // The first stream has not been told that it is over.
            #expect(await client.outcome("Two?").text == "Answer 2.")
            #expect(try await iterator.next() == nil)
        }
    }

    // MARK: What a turn leaves that did not end well

    @Test(arguments: Wire.allCases)
    func immediateFailureLeavesTheContextUnchanged(over wire: Wire) async throws {
        let faults = [ChappieTestServer.Fault(.answer(status: 400, body: "{}"), attempts: 1...1)]
        var configuration = Self.model
        configuration.faults = faults
        try await withServer(configuration) { server in
            let client = Chappie.client(
                configuration: .loopback(server, over: wire) { $0.streamingTransportPolicy = wire.alone })
            let failed = await client.outcome("One?")
            #expect(failed.error != nil)
            #expect(client.context.isEmpty)
            #expect(await client.outcome("One?").text == "Answer 1.")
            #expect(Self.said(client.context.items) == ["user: One?", "assistant: Answer 1."])
        }
    }

    @Test func aTurnThatBreaksBehindACompleteResponseKeepsIt() async throws {
        let failed =
            #"{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"invalid_prompt"}}}"#
        let responses = [
            responseEvents(1, [functionCall("c", "t")]), [failed], responseEvents(3, [], text: "Done."),
        ]
        try await withServer(scripted(responses)) { server in
            let tool = ChappieHostTool(name: "t", description: "") { _ in ChappieToolResult(output: "out") }
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = [tool] })
            let outcome = await client.outcome("One?")
            guard case .responseTerminalFailure(let response)? = outcome.clientError else {
                Issue.record("not a terminal failure: \(String(describing: outcome.error))")
                return
            }
            #expect(response.errorCode == "invalid_prompt")
            #expect(
                client.context.items.map { $0["type"]?.string } == ["message", "function_call", "function_call_output"])
            #expect(client.context.items.last?["output"]?.string == "out")
            #expect(await client.outcome("Two?").text == "Done.")
        }
    }

    // MARK: Cancelling

    /// Ways to end a turn from outside.
    enum Ending: CaseIterable {
        case handle
        case task
        case drop
    }

    @Test(arguments: Ending.allCases)
    func cancelledTurnStopsItsToolsWithoutWaiting(_ ending: Ending) async throws {
        let (begun, cancelled, never) = (Happening(), Happening(), Happening())
        let tools = [
            ChappieHostTool(name: "polite", description: "") { _ in
                begun.happened()
                try? await forever()
                cancelled.happened()
                // An error that it throws comes too late to be reported.
                throw ChappieClientError.invalidResponse
            },
            // It ignores its cancellation, and is not waited for.
            ChappieHostTool(name: "stubborn", description: "") { _ in
                await Task { await never.wait() }.value
                return ChappieToolResult(output: "")
            },
        ]
        let calls = responseEvents(1, [functionCall("c", "polite"), functionCall("d", "stubborn")])
        try await withServer(scripted([calls, responseEvents(2, [], text: "Done.")])) { server in
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = tools })
            await Self.run(client, until: begun, ending: ending)
            await cancelled.wait()
            #expect(client.context.items.suffix(2).map { $0["output"]?.string } == ["aborted", "aborted"])
            #expect(await client.outcome("Go on.").text == "Done.")
            #expect(server.inputs.last?.count { $0["output"]?.string == "aborted" } == 2)
            never.happened()
        }
    }

    private static func run(_ client: ChappieClient, until begun: Happening, ending: Ending) async {
        switch ending {
        case .handle:
            let handle = client.streamHandle("hi")
            async let outcome = ClientOutcome.read(handle)
            await begun.wait()
            handle.cancel()
            #expect(await outcome.error is CancellationError)
        case .task:
            let task = Task { await client.outcome() }
            await begun.wait()
            task.cancel()
            #expect(await task.value.error is CancellationError)
        case .drop:
            var iterator: AsyncThrowingStream<ChappieStreamEvent, any Error>.AsyncIterator? =
                client.stream("hi").makeAsyncIterator()
            while let event = try? await iterator?.next() {
                if case .toolCallRequested(let request) = event, request.name == "stubborn" { break }
            }
            // The tools run once the consumer asks for more; that read ends with the stream.
            let reading = Task { [iterator] in
                var iterator = iterator
                _ = try? await iterator?.next()
            }
            iterator = nil
            await begun.wait()
            reading.cancel()
            await reading.value
        }
    }

    @Test func anApprovalThatNeverComesEndsWithTheTurn() async throws {
        let asked = Happening()
        let tool = ChappieHostTool(name: "t", description: "", policy: .ask) { _ in ChappieToolResult(output: "") }
        try await withServer(scripted([responseEvents(1, [functionCall("c", "t")])])) { server in
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [tool]
                    $0.toolApprovalHandler = { _ in
                        asked.happened()
                        try await forever()
                        return .approved()
                    }
                })
            let handle = client.streamHandle("hi")
            async let outcome = ClientOutcome.read(handle)
            await asked.wait()
            handle.cancel()
            #expect(await outcome.error is CancellationError)
            #expect(client.context.items.last?["output"]?.string == "aborted")
        }
    }

    @Test func theSocketStaysAliveWhileAPersonThinks() async throws {
        var configuration = scripted([
            responseEvents(1, [functionCall("c", "t")]), responseEvents(2, [], text: "Done."),
        ])
        configuration.pingInterval = .milliseconds(20)
        configuration.pongTimeout = .seconds(10)
        try await withServer(configuration) { server in
            let tool = ChappieHostTool(name: "t", description: "", policy: .ask) { _ in ChappieToolResult(output: "") }
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [tool]
                    // The person takes as long as the server takes to ping ten times.
                    $0.toolApprovalHandler = { _ in
                        #expect(await server.reached(.pongs(10)))
                        return .approved()
                    }
                })
            let outcome = await client.outcome()
            #expect(outcome.error == nil)
            #expect(outcome.text == "Done.")
            #expect(server.log.count == 1)
            #expect(outcome.report?.attempts.map(\.reusedConnection) == [false, true])
        }
    }

    @Test func turnAddsNoItemsAfterItsContextWasCleared() async throws {
        let (begun, goOn) = (Happening(), Happening())
        let tool = ChappieHostTool(name: "t", description: "") { _ in
            begun.happened()
            await goOn.wait()
            return ChappieToolResult(output: "")
        }
        let responses = [responseEvents(1, [functionCall("c", "t")]), responseEvents(2, [], text: "Done.")]
        try await withServer(scripted(responses)) { server in
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = [tool] })
            async let outcome = client.outcome()
            await begun.wait()
            client.clearContext()
            goOn.happened()
            #expect(await outcome.text == "Done.")
            #expect(client.context.isEmpty)
        }
    }
}

extension ChappieStreamEvent {
    fileprivate var textByteCount: Int {
        guard case .textDelta(let text) = self else { return 0 }
        return text.utf8.count
    }
}
