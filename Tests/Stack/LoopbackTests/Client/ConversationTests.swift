import ChappieTestServer
import ChappieTransport
import Foundation
import ResponseEvents
import Testing

/// Several turns of one conversation, as a server sees them: the repeated and the omitted input.
@Suite(.timeLimit(.minutes(10))) struct ConversationTests {
    /// Reads a turn to its end; returns its completed response as well.
    private static func complete(
        _ transport: ChappieStreamingTransport, _ request: ChappieTransportRequest
    ) async throws -> (text: String, response: CompletedResponse) {
        let turn = transport.turn(request)
        var text = ""
        while let events = try await turn.next(for: .batches) {
            for case .textDelta(let delta) in events { text += delta }
        }
        return (text, try #require(turn.completedResponse))
    }

    private static func request(_ items: [String], turnState: String? = nil) -> ChappieTransportRequest {
        let tool = #"{"type":"function","name":"weather","parameters":{"type":"object","properties":{}}}"#
        var request = ChappieTransportRequest(
            body: Array(#"{"model":"m","tools":[\#(tool)],"input":[\#(items.joined(separator: ","))]}"#.utf8))
        request.runsCalls = true
        request.turnState = turnState
        return request
    }

    private static let question = #"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#

    private static func output(_ call: FinishedCall) -> String {
        #"{"type":"function_call_output","call_id":"\#(call.callID)","output":"21"}"#
    }

    private static func member(_ body: String, _ name: String) throws -> Any? {
        let object = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
        return object?[name]
    }

    private static func inputCount(_ body: String) throws -> Int? { (try Self.member(body, "input") as? [Any])?.count }

    /// A question, the model's call, and its output.
    private static func toolTurn(
        _ transport: ChappieStreamingTransport
    ) async throws -> (items: [String], text: String, turnState: String?) {
        let (_, called) = try await Self.complete(transport, Self.request([Self.question]))
        #expect(!called.calls.isEmpty)
        var items = [Self.question] + called.items.map { String(decoding: $0, as: UTF8.self) }
        items += called.calls.map(Self.output)
        let (text, answered) = try await Self.complete(
            transport, Self.request(items, turnState: called.turnState))
        #expect(answered.calls.isEmpty)
        items += answered.items.map { String(decoding: $0, as: UTF8.self) }
        return (items, text, called.turnState)
    }

    @Test(arguments: Wire.allCases)
    func toolTurnSendsOnlyNewInput(wire: Wire) async throws {
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { $0.policy = wire.policy })
            let (items, text, _) = try await Self.toolTurn(transport)
            #expect(text == LoopbackTurn.model.fullText)
            let more = Self.question.replacingOccurrences(of: "hi", with: "more")
            _ = try await Self.complete(transport, Self.request(items + [more]))
            let bodies = server.log.flatMap(\.bodies)
            #expect(bodies.count == 3)
            let previous = try bodies.map { try Self.member($0, "previous_response_id") as? String }
            let counts = try bodies.map(Self.inputCount)
            switch wire {
            case .webSocket:
                #expect(server.log.count == 1)
                #expect(previous.map { $0 != nil } == [false, true, true])
                #expect(Set(previous).count == 3)
                #expect(counts == [1, 1, 1])
            case .httpSSE:
                #expect(previous == [nil, nil, nil])
                #expect(counts == [1, 3, items.count + 1])
            }
        }
    }

    @Test func bothWiresLeaveTheSameItems() async throws {
        var items: [[String]] = []
        for wire in Wire.allCases {
            try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
                let transport = ChappieStreamingTransport(
                    configuration: .loopback(server.baseURL) { $0.policy = wire.policy })
                items.append(try await Self.toolTurn(transport).items)
            }
        }
        #expect(items[0] == items[1])
        #expect(!items[0].contains { $0.contains(#""id":"#) || $0.contains("annotations") || $0.contains("logprobs") })
    }

    @Test(arguments: [1, 5, 20])
    func wholeInputIsSentToANewSocketAfterACut(event: Int) async throws {
        let faults = [
            ChappieTestServer.Fault(action: .cutAfterEvent(event: event, with: .reset), attempts: 1...1, response: 2)
        ]
        try await withServer(.init(model: .scripted(LoopbackTurn.model), faults: faults)) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            let (_, text, _) = try await Self.toolTurn(transport)
            #expect(text == LoopbackTurn.model.fullText)
            #expect(server.log.map(\.bodies.count) == [2, 1])
            let bodies = server.log.flatMap(\.bodies)
            #expect(try bodies.map(Self.inputCount) == [1, 1, 3])
            #expect(try Self.member(bodies[2], "previous_response_id") == nil)
        }
    }

    @Test(arguments: Wire.allCases)
    func turnStateIsReturnedInTheNextRequestOfATurn(wire: Wire) async throws {
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        configuration.limitEvents = .always
        try await withServer(configuration) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { $0.policy = wire.policy })
            let state = try #require(try await Self.toolTurn(transport).turnState)
            let metadata = try server.log.flatMap(\.bodies).map {
                (try Self.member($0, "client_metadata") as? [String: String])?["x-codex-turn-state"]
            }
            let fields = server.log.map { $0.value(of: "x-codex-turn-state") }
            switch wire {
            case .webSocket:
                #expect(metadata == [nil, state])
                #expect(fields == [nil])
            case .httpSSE:
                #expect(metadata == [nil, nil])
                #expect(fields == [nil, state])
            }
        }
    }

    @Test func aWarmSocketIsUsed() async throws {
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            await transport.prewarm(Self.request([Self.question]))
            #expect(server.log.map(\.bodies.count) == [1])
            let (_, text, _) = try await Self.toolTurn(transport)
            #expect(text == LoopbackTurn.model.fullText)
            #expect(server.log.count == 1)
            let bodies = server.log[0].bodies
            #expect(try Self.member(bodies[0], "generate") as? Bool == false)
            #expect(try bodies.map(Self.inputCount) == [1, 0, 1])
            #expect(try Self.member(bodies[1], "previous_response_id") != nil)
        }
    }

    @Test(arguments: [403, 426, 503])
    func failedWarmUpKeepsTheWebSocketAvailable(status: Int) async throws {
        let faults = [ChappieTestServer.Fault(.answer(status: status), attempts: 1...1)]
        try await withServer(.init(model: .scripted(LoopbackTurn.model), faults: faults)) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            await transport.prewarm(ChappieTransportRequest(prompt: "hi", model: "m"))
            let outcome = await transport.outcome()
            outcome.expectWhole()
            #expect(server.log.map(\.transport) == [.webSocket, .webSocket])
        }
    }

    @Test func lanesAreKeptApart() async throws {
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL) { $0.usesLanes = true })
            for lane in ["a", "b"] {
                var request = ChappieTransportRequest(prompt: "hi", model: "m")
                request.lane = lane
                let outcome = await transport.outcome(of: request)
                outcome.expectWhole()
            }
            let lanes = try server.log.flatMap(\.bodies).map { try Self.member($0, "stream_id") as? String }
            #expect(lanes == ["a", "b"])
        }
    }

    @Test(arguments: Wire.allCases)
    func requestRefusedByWillSendIsNotSent(wire: Wire) async throws {
        struct No: Error {}
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) {
                    $0.policy = wire.policy
                    $0.willSend = { _ in throw No() }
                })
            let outcome = await transport.outcome()
            #expect(outcome.clientError == .requestRefused("No()"))
            #expect(outcome.report.replaySafety == .notSent)
            #expect(server.log.flatMap(\.bodies).isEmpty)
        }
    }

    @Test func missingDocumentIsAnError() async throws {
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            do {
                _ = try await transport.fetch(path: "/nothing-here")
                Issue.record("there is one")
            } catch ChappieClientError.httpError(let status, _) {
                #expect(status == 404)
            }
        }
    }

    @Test func unreachableServerIsAnError() async throws {
        let transport = ChappieStreamingTransport(configuration: .loopback("http://127.0.0.1:1"))
        await #expect {
            _ = try await transport.fetch(path: "/models")
        } throws: { error in
            guard case .transport(let failure)? = error as? ChappieClientError else { return false }
            return failure.code == .unreachable && failure.phase == .connect
        }
    }
}
