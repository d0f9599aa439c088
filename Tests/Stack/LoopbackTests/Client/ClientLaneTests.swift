import Chappie
import ChappieTestServer
import Foundation
import Testing

/// Conversations beside each other, warm-ups, and the list of models.
@Suite(.timeLimit(.minutes(10))) struct ClientLaneTests {
    /// A server that repeats what the last message says.
    private static let echo = ChappieTestServer.Configuration(
        model: .custom { request in
            guard case .array(let items)? = ChappieJSONValue(jsonText: request.bodyText)?["input"],
                case .array(let parts)? = items.last?["content"]
            else { return responseEvents(request.response, [], text: "nothing") }
            return responseEvents(request.response, [], text: parts.last?["text"]?.string ?? "nothing")
        })

    @Test func sixteenLanesOfOneSocketDoNotMix() async throws {
        try await withServer(Self.echo) { server in
            let client = Chappie.client(configuration: .loopback(server) { $0.usesLanes = true })
            await withTaskGroup(of: Void.self) { group in
                for number in 1...16 {
                    group.addTask {
                        let lane = client.lane("lane-\(number)")
                        for turn in 1...3 {
                            let outcome = await lane.outcome("\(number)/\(turn)")
                            #expect(outcome.error == nil)
                            #expect(outcome.text == "\(number)/\(turn)")
                        }
                        #expect(lane.context.items.count == 6)
                    }
                }
            }
            #expect(client.context.isEmpty)
            // One upgrade for all of them.
            #expect(server.log.count == 1)
            #expect(server.requests.count == 48)
            #expect(Set(server.requests.compactMap { $0["stream_id"]?.string }).count == 16)
        }
    }

    @Test(arguments: [true, false])
    func forkBeginsWithTheContextAndContinuesIndependently(usesLanes: Bool) async throws {
        try await withServer(Self.echo) { server in
            let client = Chappie.client(configuration: .loopback(server) { $0.usesLanes = usesLanes }).lane("main")
            _ = try await client.send("one")
            let fork = client.fork(lane: "side")
            #expect(fork.context == client.context)
            async let left = client.outcome("two")
            async let right = fork.outcome("three")
            #expect(await left.text == "two")
            #expect(await right.text == "three")
            #expect(client.context.items.count == 4)
            #expect(fork.context.items.count == 4)
            #expect(fork.context.items.prefix(2) == client.context.items.prefix(2))
            #expect(fork.context.items.last != client.context.items.last)
        }
    }

    @Test func forkOnTheSameSocketSendsOnlyNewInput() async throws {
        try await withServer(Self.echo) { server in
            let client = Chappie.client(configuration: .loopback(server) { $0.usesLanes = true }).lane("main")
            _ = try await client.send("one")
            #expect(await client.fork(lane: "side").outcome("two").text == "two")
            #expect(server.log.count == 1)
            #expect(server.inputs.map(\.count) == [1, 1])
            #expect(server.requests.last?["previous_response_id"] == "resp_1")
        }
    }

    @Test func whereThereAreNoLanesAConversationHasAConnectionOfItsOwn() async throws {
        try await withServer(Self.echo) { server in
            let client = Chappie.client(configuration: .loopback(server))
            let lane = client.lane("other")
            async let left = client.outcome("one")
            async let right = lane.outcome("two")
            #expect(await left.text == "one")
            #expect(await right.text == "two")
            #expect(server.requests.allSatisfy { $0["stream_id"] == nil })
        }
    }

    // MARK: Warm-ups

    @Test func aWarmedConnectionCarriesTheNextTurn() async throws {
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let client = Chappie.client(
                configuration: .loopback(server) { $0.harness = ChappieHarness(name: "h", instructions: "Be brief.") })
            await client.prewarm()
            #expect(server.requests.map { $0["generate"] } == [false])
            #expect(server.requests.first?["instructions"] == "Be brief.")
            #expect(client.context.isEmpty)
            let outcome = await client.outcome()
            #expect(outcome.text == LoopbackTurn.model.fullText)
            #expect(outcome.report?.attempts.map(\.reusedConnection) == [true])
            #expect(server.log.count == 1)
            #expect(server.requests.last?["previous_response_id"]?.string?.isEmpty == false)
            #expect(server.inputs.last?.count == 1)
        }
    }

    @Test func aWarmUpThatFailsHasNoConsequences() async throws {
        let faults = [ChappieTestServer.Fault(.answer(status: 500), attempts: 1...1)]
        try await withServer(.init(model: .scripted(LoopbackTurn.model), faults: faults)) { server in
            let client = Chappie.client(configuration: .loopback(server))
            await client.prewarm()
            #expect(await client.outcome().text == LoopbackTurn.model.fullText)
        }
    }

    @Test func warmUpIsSkippedOverHTTP() async throws {
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let client = Chappie.client(configuration: .loopback(server, over: .httpSSE))
            await client.prewarm()
            #expect(server.log.isEmpty)
        }
    }

    // MARK: Models

    @Test func modelsAreListed() async throws {
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        configuration.modelNames = ["m-1", "m-2"]
        try await withServer(configuration) { server in
            let client = Chappie.client(configuration: .loopback(server))
            let models = try await client.models()
            #expect(models.map(\.id) == ["m-1", "m-2"])
        }
    }

    @Test func aListThatIsRefusedIsAnError() async throws {
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        configuration.acceptedTokens = ["other"]
        try await withServer(configuration) { server in
            let client = Chappie.client(configuration: .loopback(server))
            await #expect(throws: ChappieClientError.self) { try await client.models() }
        }
    }

    // MARK: What a turn passes on

    @Test(arguments: [ChappieRawEvents.unsurfaced, .all, .none])
    func callsThatRunAreNotDeliveredAsRawEvents(rawEvents: ChappieRawEvents) async throws {
        let tool = ChappieHostTool(name: "t", description: "") { _ in ChappieToolResult(output: "") }
        let responses = [responseEvents(1, [functionCall("c", "t")]), responseEvents(2, [], text: "Done.")]
        try await withServer(scripted(responses)) { server in
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [tool]
                    $0.rawEvents = rawEvents
                })
            let outcome = await client.outcome()
            let calls = outcome.events.count { event in
                guard case .raw("response.output_item.done", let payload) = event else { return false }
                return payload.contains("function_call")
            }
            #expect(calls == (rawEvents == .all ? 1 : 0))
            #expect(outcome.requested.count == 1)
        }
    }

    @Test func batchesHaveTheSameEventsInTheSameOrder() async throws {
        let tool = ChappieHostTool(name: "t", description: "") { _ in ChappieToolResult(output: "out") }
        let responses = [
            responseEvents(1, [functionCall("c", "t")], text: "Wait. "), responseEvents(2, [], text: "Done."),
        ]
        try await withServer(scripted(responses)) { server in
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [tool]
                    $0.rawEvents = .none
                })
            var batches: [[ChappieStreamEvent]] = []
            for try await batch in client.streamHandle("hi").batches() { batches.append(batch) }
            #expect(batches.allSatisfy { !$0.isEmpty })
            let events = batches.flatMap { $0 }
            let kinds = events.map { event in
                switch event {
                case .textDelta(let text): text
                case .toolCallRequested: "requested"
                case .toolCallCompleted: "completed call"
                case .completed: "completed"
                default: "other"
                }
            }
            #expect(kinds == ["Wait. ", "requested", "completed call", "Done.", "completed"])
        }
    }

    // MARK: Calls of a broken response

    /// A response of two calls that breaks behind the first one.
    private static var broken: ChappieTestServer.Configuration {
        let broken = Array(
            responseEvents(1, [functionCall("a", "t", #"{"n":1}"#), functionCall("b", "t", "{}")]).prefix(2))
        var configuration = ChappieTestServer.Configuration(
            model: .custom { request in
                let hasOutput = request.bodyText.contains("function_call_output")
                if !hasOutput { return broken }
                return request.bodyText.contains(#""call_id":"b","output""#)
                    ? responseEvents(3, [], text: "Done.")
                    : responseEvents(2, [functionCall("b", "t", "{}")])
            })
        configuration.faults = [ChappieTestServer.Fault(.cutAfterEvent(event: 2), attempts: 1...1)]
        return configuration
    }

    @Test(arguments: Wire.allCases)
    func aCarriedCallRunsOnceAndItsOutputGoesWithTheRequest(over wire: Wire) async throws {
        let record = ToolRecord()
        let tool = ChappieHostTool(name: "t", description: "") { call in
            record.note(call)
            return ChappieToolResult(output: "out \(call.callID)")
        }
        try await withServer(Self.broken) { server in
            let client = Chappie.client(
                configuration: .loopback(server, over: wire) {
                    $0.tools = [tool]
                    $0.streamingTransportPolicy.carriesFinishedItems = true
                })
            let outcome = await client.outcome()
            #expect(outcome.error == nil)
            #expect(outcome.text == "Done.")
            #expect(record.calls.map(\.callID) == ["a", "b"])
            #expect(outcome.requested.map(\.callID) == ["a", "b"])
            #expect(outcome.results.map(\.output) == ["out a", "out b"])
            #expect(
                client.context.items.map { $0["output"]?.string ?? $0["type"]?.string } == [
                    "message", "function_call", "out a", "function_call", "out b", "message",
                ])
        }
    }

    @Test(arguments: [ChappieToolPolicy.ask, .deny])
    func aCarriedCallHasItsPolicy(_ policy: ChappieToolPolicy) async throws {
        let record = ToolRecord()
        let tool = ChappieHostTool(name: "t", description: "", policy: policy) { call in
            record.note(call)
            return ChappieToolResult(output: "never")
        }
        try await withServer(Self.broken) { server in
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [tool]
                    $0.toolApprovalHandler = { _ in .denied("no") }
                    $0.streamingTransportPolicy.carriesFinishedItems = true
                })
            let outcome = await client.outcome()
            #expect(outcome.text == "Done.")
            #expect(record.calls.isEmpty)
            #expect(outcome.results.map(\.status) == [.denied, .denied])
        }
    }

    @Test func aCarriedCallThatThrowsEndsTheTurn() async throws {
        struct Broken: Error {}
        let tool = ChappieHostTool(name: "t", description: "") { _ in throw Broken() }
        try await withServer(Self.broken) { server in
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [tool]
                    $0.streamingTransportPolicy.carriesFinishedItems = true
                })
            let outcome = await client.outcome()
            #expect(outcome.clientError == .toolExecutionFailed("t", "Broken()"))
            #expect(client.context.isEmpty)
        }
    }

    @Test func runningToolOfACarriedCallIsCancelledWithItsTurn() async throws {
        let begun = Happening()
        let tool = ChappieHostTool(name: "t", description: "") { _ in
            begun.happened()
            try await forever()
            return ChappieToolResult(output: "")
        }
        try await withServer(Self.broken) { server in
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [tool]
                    $0.streamingTransportPolicy.carriesFinishedItems = true
                })
            let handle = client.streamHandle("hi")
            async let outcome = ClientOutcome.read(handle)
            await begun.wait()
            handle.cancel()
            #expect(await outcome.error is CancellationError)
            #expect(client.context.isEmpty)
        }
    }
}
