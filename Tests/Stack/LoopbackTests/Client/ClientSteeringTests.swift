import Chappie
import ChappieTestServer
import Foundation
import Testing

/// Messages of the user that are put into a response while it is made.
@Suite(.timeLimit(.minutes(10))) struct ClientSteeringTests {
    /// Roles and texts of messages, and the types of other items.
    private static func words(_ items: [ChappieJSONValue]) -> [String] {
        items.map { item in
            guard case .array(let parts)? = item["content"], let role = item["role"]?.string else {
                return item["type"]?.string ?? "?"
            }
            return role + ": " + parts.compactMap { $0["text"]?.string }.joined()
        }
    }

    /// Returns a server that pauses after the first message of some responses until it is steered.
    private static func server(
        _ responses: [[String]], hangingIn numbers: Set<Int> = [1], _ more: ChappieTestServer.Fault...
    ) -> ChappieTestServer.Configuration {
        var configuration = scripted(responses)
        configuration.faults =
            numbers.map {
                .init(.pause(afterEvent: 3, seconds: 600), attempts: 1...1, response: $0)
            } + more
        return configuration
    }

    /// Returns a response with a text, and then a call or more text.
    private static func response(_ number: Int, _ text: String, then item: String) -> [String] {
        var events = responseEvents(number, [], text: text)
        events.insert(
            #"{"type":"response.output_item.done","output_index":1,"item":\#(item)}"#, at: events.count - 1)
        return events
    }

    private static let rest =
        #"{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"unsaid"}]}"#

    private static let plain = [
        response(1, "One. ", then: rest), responseEvents(2, [], text: "Two."), responseEvents(3, [], text: "Three."),
    ]

    /// Reads a turn that is steered when its text ends as told.
    private static func steer(
        _ client: ChappieClient, behind text: String, with message: String = "Be brief."
    ) async -> (outcome: ClientOutcome, refusal: ChappieSteeringError?) {
        let handle = client.streamHandle("hi")
        var outcome = ClientOutcome()
        var refusal: ChappieSteeringError?
        do {
            for try await event in handle.events {
                outcome.events.append(event)
                guard case .textDelta = event, outcome.text.hasSuffix(text) else { continue }
                do { try handle.steer(message) } catch { refusal = error as? ChappieSteeringError }
            }
        } catch {
            outcome.error = error
        }
        outcome.report = handle.report
        #expect(throws: ChappieSteeringError.notRunning) { try handle.steer("Too late.") }
        return (outcome, refusal)
    }

    private static func creations(_ server: ChappieTestServer) -> [ChappieJSONValue] {
        server.requests.filter { $0["type"] != "response.steer" }
    }

    private static func input(_ request: ChappieJSONValue?) -> [String] {
        guard case .array(let items)? = request?["input"] else { return [] }
        return Self.words(items)
    }

    // MARK: It works

    @Test(arguments: [false, true])
    func theSuccessorGoesOnAndTheConversationHasBoth(usesLanes: Bool) async throws {
        try await withServer(Self.server(Self.plain)) { server in
            let whole = Chappie.client(configuration: .loopback(server) { $0.usesLanes = usesLanes })
            let client = usesLanes ? whole.lane("main") : whole
            let (outcome, refusal) = await Self.steer(client, behind: "One. ")
            #expect(outcome.error == nil)
            #expect(refusal == nil)
            #expect(outcome.text == "One. Two.")
            #expect(outcome.completions == 1)
            #expect(outcome.events.last == .completed)
            #expect(outcome.report?.attempts.map(\.outcome) == ["completed"])
            let said = ["user: hi", "assistant: One. ", "user: Be brief.", "assistant: Two."]
            #expect(Self.words(client.context.items) == said)
            let message = try #require(server.requests.first { $0["type"] == "response.steer" })
            #expect(message["previous_response_id"] == "resp_1")
            #expect(message["stream_id"] == nil)
            // The next turn goes on from the successor, on the same socket.
            #expect(await client.outcome("next").text == "Three.")
            #expect(Self.input(Self.creations(server).last) == ["user: next"])
            #expect(Self.creations(server).last?["previous_response_id"] == "resp_2")
            #expect(server.log.count == 1)
        }
    }

    @Test func newSocketReceivesTheWholeConversation() async throws {
        let configuration = Self.server(Self.plain, .init(action: .closeAfterResponse(), attempts: 1...1, response: 2))
        try await withServer(configuration) { server in
            let client = Chappie.client(configuration: .loopback(server))
            #expect(await Self.steer(client, behind: "One. ").outcome.text == "One. Two.")
            #expect(await client.outcome("next").text == "Three.")
            let said = ["user: hi", "assistant: One. ", "user: Be brief.", "assistant: Two.", "user: next"]
            #expect(Self.input(Self.creations(server).last) == said)
            #expect(Self.creations(server).last?["previous_response_id"] == nil)
            #expect(server.log.count == 2)
        }
    }

    // MARK: In a tool loop

    private static let called = [
        response(1, "Wait. ", then: functionCall("c", "t")), response(2, "One. ", then: rest),
        responseEvents(3, [], text: "Two."), responseEvents(4, [], text: "Three."),
    ]

    private static func tool(_ record: ToolRecord) -> ChappieHostTool {
        ChappieHostTool(name: "t", description: "") { call in
            record.note(call)
            return ChappieToolResult(output: "")
        }
    }

    @Test func aResponseBehindAToolIsSteered() async throws {
        try await withServer(Self.server(Self.called, hangingIn: [2])) { server in
            let record = ToolRecord()
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = [Self.tool(record)] })
            let (outcome, refusal) = await Self.steer(client, behind: "One. ")
            #expect(outcome.error == nil)
            #expect(refusal == nil)
            #expect(outcome.text == "Wait. One. Two.")
            #expect(outcome.completions == 1)
            #expect(record.calls.count == 1)
            let said = [
                "user: hi", "assistant: Wait. ", "function_call", "function_call_output", "assistant: One. ",
                "user: Be brief.", "assistant: Two.",
            ]
            #expect(Self.words(client.context.items) == said)
            #expect(await client.outcome("next").text == "Three.")
            #expect(Self.input(Self.creations(server).last) == ["user: next"])
            #expect(server.log.count == 1)
        }
    }

    /// The server keeps the message until the outputs come, on the same socket and lane, and puts it before them.
    @Test(arguments: [false, true])
    func outputsOfASteeredResponseComeWithoutTheMessage(usesLanes: Bool) async throws {
        let responses = [Self.called[0], responseEvents(2, [], text: "Done."), responseEvents(3, [], text: "Three.")]
        try await withServer(Self.server(responses)) { server in
            let record = ToolRecord()
            let whole = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [Self.tool(record)]
                    $0.usesLanes = usesLanes
                })
            let client = usesLanes ? whole.lane("main") : whole
            let (outcome, refusal) = await Self.steer(client, behind: "Wait. ")
            #expect(outcome.error == nil)
            #expect(refusal == nil)
            #expect(outcome.text == "Wait. Done.")
            #expect(outcome.completions == 1)
            #expect(record.calls.count == 1)
            let creations = Self.creations(server)
            #expect(creations.count == 2)
            #expect(Self.input(creations.last) == ["function_call_output"])
            #expect(creations.last?["previous_response_id"] == "resp_1")
            #expect(creations.last?["stream_id"]?.string == (usesLanes ? "main" : nil))
            let said = [
                "user: hi", "assistant: Wait. ", "function_call", "user: Be brief.", "function_call_output",
                "assistant: Done.",
            ]
            #expect(Self.words(client.context.items) == said)
            #expect(await client.outcome("next").text == "Three.")
            #expect(Self.input(Self.creations(server).last) == ["user: next"])
            #expect(server.log.count == 1)
        }
    }

    /// The message is no longer the server's when its socket is closed: it goes with the outputs, on another one.
    @Test func outputsOnAnotherSocketComeWithTheMessage() async throws {
        let responses = [Self.called[0], responseEvents(2, [], text: "Done.")]
        let close = ChappieTestServer.Fault(action: .closeAfterResponse(), attempts: 1...1, response: 1)
        try await withServer(Self.server(responses, hangingIn: [1], close)) { server in
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = [Self.tool(ToolRecord())] })
            let (outcome, _) = await Self.steer(client, behind: "Wait. ")
            #expect(outcome.error == nil)
            #expect(outcome.text == "Wait. Done.")
            let said = [
                "user: hi", "assistant: Wait. ", "function_call", "user: Be brief.", "function_call_output",
            ]
            #expect(Self.input(Self.creations(server).last) == said)
            #expect(Self.creations(server).last?["previous_response_id"] == nil)
            #expect(server.log.count == 2)
        }
    }

    // MARK: Behind a complete response

    private static let whole = [
        responseEvents(1, [], text: "One. "), responseEvents(2, [], text: "Two."),
        responseEvents(3, [], text: "Three."),
    ]

    private static func server(outcome: ChappieTestServer.SteeringOutcome) -> ChappieTestServer.Configuration {
        var configuration = Self.server(Self.whole)
        configuration.steeringOutcome = outcome
        return configuration
    }

    @Test(arguments: [false, true])
    func successorOfACompleteResponseContinuesTheTurn(usesLanes: Bool) async throws {
        try await withServer(Self.server(outcome: .followsCompletion)) { server in
            let engine = Chappie.client(configuration: .loopback(server) { $0.usesLanes = usesLanes })
            let client = usesLanes ? engine.lane("main") : engine
            let (outcome, refusal) = await Self.steer(client, behind: "One. ")
            #expect(outcome.error == nil)
            #expect(refusal == nil)
            #expect(outcome.text == "One. Two.")
            #expect(outcome.completions == 1)
            #expect(
                Self.words(client.context.items)
                    == ["user: hi", "assistant: One. ", "user: Be brief.", "assistant: Two."])
            #expect(await client.outcome("next").text == "Three.")
            #expect(Self.input(Self.creations(server).last) == ["user: next"])
            #expect(Self.creations(server).last?["previous_response_id"] == "resp_2")
            #expect(server.log.count == 1)
        }
    }

    @Test(arguments: [false, true]) func returnedMessageIsNoPartOfTheConversation(usesLanes: Bool) async throws {
        try await withServer(Self.server(outcome: .isReturned)) { server in
            let engine = Chappie.client(
                configuration: .loopback(server) {
                    $0.usesLanes = usesLanes
                    $0.reportsDiagnostics = true
                })
            let client = usesLanes ? engine.lane("main") : engine
            let (outcome, _) = await Self.steer(client, behind: "One. ")
            #expect(outcome.error == nil)
            #expect(outcome.text == "One. ")
            let news = outcome.events.compactMap { event -> ChappieDiagnostic? in
                guard case .diagnostic(let news) = event else { return nil }
                return news
            }
            #expect(news.map(\.kind).suffix(2) == [.steered, .steerFailed])
            #expect(news.last?.reason == "successor_creation_failed")
            #expect(Self.words(client.context.items) == ["user: hi", "assistant: One. "])
            #expect(await client.outcome("next").text == "Two.")
            #expect(Self.creations(server).last?["previous_response_id"] == "resp_1")
            #expect(server.log.count == 1)
        }
    }

    @Test func usageIsTheSumOfTheResponses() async throws {
        try await withServer(Self.server(outcome: .followsCompletion)) { server in
            let handle = Chappie.client(configuration: .loopback(server)).streamHandle("hi")
            for try await event in handle.events where event == .textDelta("One. ") { try handle.steer("Be brief.") }
            #expect(
                handle.response?.usage == ChappieTokenUsage(inputTokens: 20, outputTokens: 4, totalTokens: 24))
        }
    }

    // MARK: Pictures and files

    @Test func pictureAndFileSteerAResponse() async throws {
        try await withServer(Self.server(Self.plain)) { server in
            let client = Chappie.client(configuration: .loopback(server))
            let handle = client.streamHandle("hi")
            var text = ""
            for try await event in handle.events {
                guard case .textDelta(let delta) = event else { continue }
                text += delta
                guard text == "One. " else { continue }
                for message in [
                    ChappieInputMessage.assistant("no"), .system("no"), .user([]), .user([.image(url: "no URL")]),
                ] {
                    #expect(throws: ChappieSteeringError.invalidInput) { try handle.steer(message) }
                }
                try handle.steer(
                    .user([
                        .text("Like this:"), .image(url: "https://example.org/cat.png"), .fileReference(id: "file-1"),
                    ]))
            }
            #expect(text == "One. Two.")
            let sent = try #require(server.requests.first { $0["type"] == "response.steer" })
            guard case .array(let items)? = sent["input"], case .array(let parts)? = items.first?["content"] else {
                Issue.record("no parts")
                return
            }
            #expect(items.count == 1)
            #expect(items[0]["role"] == "user")
            #expect(parts.map { $0["type"] } == ["input_text", "input_image", "input_file"])
            #expect(parts[1]["image_url"] == "https://example.org/cat.png")
            #expect(parts[2]["file_id"] == "file-1")
            // It is part of the conversation as it was sent.
            #expect(client.context.items.count == 4)
            #expect(client.context.items[2] == items[0])
        }
    }

    // MARK: It does not

    @Test func steeringOverHTTPIsRefused() async throws {
        try await withServer(scripted([responseEvents(1, [], text: "One. ")])) { server in
            let client = Chappie.client(configuration: .loopback(server, over: .httpSSE))
            let (outcome, refusal) = await Self.steer(client, behind: "One. ")
            #expect(refusal == .notOverWebSocket)
            #expect(outcome.error == nil)
            #expect(outcome.text == "One. ")
            #expect(Self.words(client.context.items) == ["user: hi", "assistant: One. "])
        }
    }

    @Test func refusedSteeringIsReportedAndTheResponseContinues() async throws {
        // Long enough for the message to arrive before the end of the response, also on a busy machine.
        let pause = ChappieTestServer.Fault(.pause(afterEvent: 20, seconds: 2), attempts: 1...1)
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model), faults: [pause])
        configuration.eventsPerSecond = 200
        configuration.supportsSteering = false
        try await withServer(configuration) { server in
            let client = Chappie.client(configuration: .loopback(server) { $0.reportsDiagnostics = true })
            let begin = String(LoopbackTurn.model.fullText.prefix(1))
            let handle = client.streamHandle("hi")
            var (outcome, isSteered) = (ClientOutcome(), false)
            for try await event in handle.events {
                outcome.events.append(event)
                guard !isSteered, outcome.text.hasPrefix(begin) else { continue }
                isSteered = true
                try handle.steer("Be brief.")
            }
            #expect(outcome.text == LoopbackTurn.model.fullText)
            let news = outcome.events.compactMap { event -> ChappieDiagnostic? in
                guard case .diagnostic(let news) = event, news.kind == .steerFailed else { return nil }
                return news
            }
            #expect(news.map(\.reason) == ["steering_not_supported"])
            #expect(!Self.words(client.context.items).contains("user: Be brief."))
            // The socket owes no answer: it is used again.
            _ = await client.outcome("next")
            #expect(server.log.count == 1)
        }
    }

    @Test func cutAfterSteeringEndsTheTurnWithoutARetry() async throws {
        let configuration = Self.server(Self.plain, .init(.cutAfterEvent(event: 2), attempts: 1...1, response: 2))
        try await withServer(configuration) { server in
            let client = Chappie.client(configuration: .loopback(server))
            let (outcome, refusal) = await Self.steer(client, behind: "One. ")
            #expect(refusal == nil)
            #expect(outcome.clientError != nil)
            #expect(outcome.clientError != .streamingTransportReplayDiverged("One. Two."))
            #expect(outcome.text == "One. Two.")
            #expect(outcome.completions == 0)
            #expect(outcome.report?.replaySafety == .outputDelivered)
            #expect(Self.creations(server).count == 1)
            #expect(server.log.count == 1)
        }
    }
}
