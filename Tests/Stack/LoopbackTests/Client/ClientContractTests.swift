import Chappie
import ChappieTestServer
import Foundation
import Testing

/// Sentences of the public contract that take a client and a server, over both transports.
@Suite(.timeLimit(.minutes(10))) struct ClientContractTests {
    private static let call = functionCall("call_1", "weather", #"{"city":"Oslo"}"#)
    private static let toolTurn = [
        responseEvents(1, [call], text: "Let me see. "), responseEvents(2, [], text: "Sun."),
    ]

    private static let weather = ChappieHostTool(name: "weather", description: "The weather.") { _ in
        ChappieToolResult(output: "sun")
    }

    /// Returns the events of a consumer without the parts that differ between turns: durations, and news about the
    /// connection.
    ///
    /// Usage limits depend on the server: this one reports them over HTTP only.
    private static func shape(_ events: [ChappieStreamEvent]) -> [ChappieStreamEvent] {
        events.compactMap { event in
            switch event {
            case .toolCallCompleted(let result):
                .raw(type: "\(result.callID) \(result.name) \(result.status)", payload: result.output)
            case .diagnostic, .usageLimits: nil
            default: event
            }
        }
    }

    @Test(arguments: [ChappieRawEvents.all, .none])
    func aTurnWithAToolIsTheSameOverBothTransports(_ rawEvents: ChappieRawEvents) async throws {
        var seen: [[ChappieStreamEvent]] = []
        for wire in Wire.allCases {
            try await withServer(scripted(Self.toolTurn)) { server in
                let client = Chappie.client(
                    configuration: .loopback(server, over: wire) {
                        $0.tools = [Self.weather]
                        $0.rawEvents = rawEvents
                    })
                let outcome = await client.outcome()
                #expect(outcome.error == nil)
                seen.append(Self.shape(outcome.events))
                #expect(outcome.report?.attempts.map(\.transport) == [wire.kind, wire.kind])
            }
        }
        #expect(seen.first == seen.last)
        let request = ChappieToolExecutionRequest(
            callID: "call_1", name: "weather", arguments: #"{"city":"Oslo"}"#, policy: .automatic)
        #expect(
            seen.last?.filter { if case .raw(let type, _) = $0 { !type.hasPrefix("response.") } else { true } } == [
                .textDelta("Let me see. "), .toolCallRequested(request),
                .raw(type: "call_1 weather completed", payload: "sun"), .textDelta("Sun."), .completed,
            ])
    }

    @Test(arguments: [
        ChappieTestServer.Fault.Action.answer(status: 400, body: #"{"error":{"code":"bad"}}"#),
        .answer(status: 403, body: "no"), .divergeText(fromScalar: 1),
    ])
    func aFailureIsTheSameOverBothTransports(_ action: ChappieTestServer.Fault.Action) async throws {
        let isReplay = action == .divergeText(fromScalar: 1)
        var faults = [ChappieTestServer.Fault(action: action)]
        if isReplay { faults = [.init(.cutAfterEvent(event: 20), attempts: 1...1), .init(action: action, from: 2)] }
        var errors: [ChappieClientError?] = []
        for wire in Wire.allCases {
            try await withServer(.init(model: .scripted(LoopbackTurn.model), faults: faults)) { server in
                // A refused upgrade is asked again over HTTP, and then HTTP has the last word.
                let client = Chappie.client(configuration: .loopback(server, over: wire))
                let outcome = await client.outcome()
                errors.append(outcome.clientError)
                #expect(outcome.completions == 0)
                #expect(outcome.text.isEmpty != isReplay)
            }
        }
        #expect(errors.first != .some(nil))
        #expect(errors.first == errors.last)
    }

    @Test(arguments: Wire.allCases)
    func aToolRunsAfterTheConsumerHasSeenItsRequest(over wire: Wire) async throws {
        let record = ToolRecord()
        let tool = ChappieHostTool(name: "weather", description: "") { call in
            record.note(call)
            return ChappieToolResult(output: "sun")
        }
        try await withServer(scripted(Self.toolTurn)) { server in
            let client = Chappie.client(configuration: .loopback(server, over: wire) { $0.tools = [tool] })
            var callCounts: [Int] = []
            for try await event in client.stream("hi") {
                switch event {
                case .toolCallRequested, .toolCallCompleted: callCounts.append(record.calls.count)
                default: break
                }
            }
            #expect(callCounts == [0, 1])
        }
    }

    @Test(arguments: Wire.allCases)
    func aStreamThatEndsWithoutCompletedThrows(over wire: Wire) async throws {
        let unfinished = [Array(responseEvents(1, [], text: "Half.").dropLast())]
        try await withServer(scripted(unfinished)) { server in
            let client = Chappie.client(
                configuration: .loopback(server, over: wire) {
                    $0.streamingTransportPolicy = ChappieStreamingTransportPolicy(
                        prefersWebSocket: wire == .webSocket, maxWebSocketReconnectionAttempts: 0,
                        fallsBackToHTTPSSE: false)
                    $0.maxHTTPRetries = 0
                    $0.timeouts.idle = .seconds(2)
                })
            let outcome = await client.outcome()
            #expect(outcome.text == "Half.")
            #expect(outcome.completions == 0)
            guard case .transport? = outcome.clientError else {
                Issue.record("not a failure: \(String(describing: outcome.error))")
                return
            }
        }
    }

    @Test func aTaskThatIsCancelledBetweenTwoElementsSeesTheEnd() async throws {
        try await withServer(scripted(Self.toolTurn)) { server in
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = [Self.weather] })
            let reading = Task {
                var iterator = client.stream("hi").makeAsyncIterator()
                while let event = try await iterator.next() {
                    if case .textDelta = event { break }
                }
                withUnsafeCurrentTask { $0?.cancel() }
                return try await iterator.next()
            }
            switch await reading.result {
            case .success(let event): #expect(event == nil)
            case .failure(let error): #expect(error is CancellationError)
            }
            // Either way the turn is over, and the client may speak.
            #expect(await client.outcome("again").error == nil)
        }
    }

    @Test(arguments: Wire.allCases)
    func requestSettingsApplyToOneTurn(over wire: Wire) async throws {
        try await withServer(scripted([responseEvents(1, [], text: "A."), responseEvents(2, [], text: "B.")])) {
            server in
            let client = Chappie.client(
                configuration: .loopback(server, over: wire) {
                    $0.reasoningEffort = .high
                    $0.serviceTier = .flex
                })
            var request = ChappieResponseRequest("One?")
            request.model = "other"
            request.reasoningEffort = .minimal
            request.serviceTier = .priority
            request.searchAccess = .cached
            _ = try await client.send(request)
            _ = try await client.send(.user("Two?", fastMode: true))
            _ = try await client.send("Three?")
            let bodies = server.requests
            #expect(bodies.map { $0["model"] } == ["other", "m", "m"])
            #expect(bodies.map { $0["reasoning"]?["effort"] } == ["minimal", "low", "high"])
            #expect(bodies.map { $0["service_tier"] } == ["priority", "flex", "flex"])
            let search: ChappieJSONValue = [["type": "web_search", "external_web_access": false]]
            #expect(bodies.map { $0["tools"] } == [search, nil, nil])
        }
    }

    @Test func aFallbackIsForTheLifeOfTheClient() async throws {
        let faults = [ChappieTestServer.Fault(.answer(status: 426), transport: .webSocket)]
        try await withServer(.init(model: .scripted(LoopbackTurn.model), faults: faults)) { server in
            let client = Chappie.client(configuration: .loopback(server))
            for expected in [[ChappieTransportKind.webSocket, .httpSSE], [.httpSSE], [.httpSSE]] {
                let outcome = await client.outcome()
                #expect(outcome.text == LoopbackTurn.model.fullText)
                #expect(outcome.report?.attempts.map(\.transport) == expected)
            }
            // A fork is of the same instance, another client is not.
            #expect(await client.fork(lane: "f").outcome().report?.attempts.map(\.transport) == [.httpSSE])
            let other = Chappie.client(configuration: .loopback(server))
            #expect(await other.outcome().report?.attempts.map(\.transport) == [.webSocket, .httpSSE])
        }
    }
}
