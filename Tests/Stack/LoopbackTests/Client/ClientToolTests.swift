import Chappie
import ChappieTestServer
import Foundation
import Testing

/// Turns with tools, over both transports.
@Suite(.timeLimit(.minutes(10))) struct ClientToolTests {
    private static let answer = responseEvents(2, [], text: "Done.")

    private static func weather(_ record: ToolRecord, policy: ChappieToolPolicy = .automatic) -> ChappieHostTool {
        ChappieHostTool(name: "weather", description: "The weather.", policy: policy) { call in
            record.note(call)
            return ChappieToolResult(output: "sun in \(call.argumentsJSON?["city"]?.string ?? "?")")
        }
    }

    /// Runs a turn of two responses: calls, then text.
    private func turn(
        _ items: [String], tools: [ChappieHostTool], over wire: Wire = .webSocket,
        _ change: (inout ChappieConfiguration) -> Void = { _ in }
    ) async throws -> (outcome: ClientOutcome, context: ChappieClientContext, inputs: [[ChappieJSONValue]]) {
        try await withServer(scripted([responseEvents(1, items), Self.answer])) { server in
            let client = Chappie.client(
                configuration: .loopback(server, over: wire) {
                    $0.tools = tools
                    change(&$0)
                })
            let outcome = await client.outcome()
            return (outcome, client.context, server.inputs)
        }
    }

    /// The server receives its own identifier of the call, whatever it contains; no other output contains a key from
    /// it.
    @Test(arguments: Wire.allCases)
    func keyInTheNameOfACallStaysBetweenTheServerAndTheClient(over wire: Wire) async throws {
        let key = "canary-key-7f3a"
        let record = ToolRecord()
        let asked = Locked<[ChappieApprovalRequest]>([])
        let (outcome, _, inputs) = try await self.turn(
            [functionCall("call_" + key, "weather")], tools: [Self.weather(record, policy: .ask)], over: wire
        ) {
            $0.credential = { _ in ChappieCredential(bearerToken: key) }
            $0.toolApprovalHandler = { request in
                asked.update { $0.append(request) }
                return .approved()
            }
        }
        #expect(outcome.completions == 1)
        let names =
            record.calls.map(\.callID) + asked.value.map(\.callID) + outcome.requested.map(\.callID)
            + outcome.approvals.map(\.callID) + outcome.results.map(\.callID)
        #expect(names == Array(repeating: "call_[redacted]", count: 5))
        #expect(inputs.last?.last?["call_id"]?.string == "call_" + key)
    }

    @Test(arguments: Wire.allCases)
    func aToolRunsAndItsOutputGoesBackByItself(over wire: Wire) async throws {
        let record = ToolRecord()
        let (outcome, context, inputs) = try await self.turn(
            [functionCall("call_1", "weather", #"{"city":"Oslo"}"#)], tools: [Self.weather(record)], over: wire)
        #expect(outcome.error == nil)
        #expect(outcome.text == "Done.")
        #expect(outcome.completions == 1)
        #expect(outcome.events.last == .completed)
        #expect(record.calls.map(\.arguments) == [#"{"city":"Oslo"}"#])
        #expect(outcome.requested.map(\.policy) == [.automatic])
        let result = try #require(outcome.results.first)
        #expect(result.status == .completed)
        #expect(result.output == "sun in Oslo")
        let output = try #require(inputs.last?.last)
        #expect(output == ["type": "function_call_output", "call_id": "call_1", "output": "sun in Oslo"])
        #expect(
            context.items.map { $0["type"]?.string } == ["message", "function_call", "function_call_output", "message"])
        #expect(outcome.report?.attempts.map(\.outcome) == ["completed", "completed"])
    }

    @Test(arguments: Wire.allCases)
    func requestWithTheOutputsOfToolsHasTheFieldsOfTheTurn(over wire: Wire) async throws {
        let events = [responseEvents(1, [functionCall("call_1", "weather")]), Self.answer]
        try await withServer(scripted(events)) { server in
            let client = Chappie.client(
                configuration: .loopback(server, over: wire) {
                    $0.tools = [Self.weather(ToolRecord())]
                    $0.additionalFields = [(name: "X-Org", value: "configuration")]
                })
            var request = ChappieResponseRequest("hi")
            request.fields = [(name: "x-org", value: "turn")]
            let outcome = await ClientOutcome.read(client.streamHandle(request))
            #expect(outcome.error == nil)
            #expect(server.requests.count == 2)
            #expect(
                server.log.compactMap { $0.value(of: "X-Org") } == (wire == .webSocket ? ["turn"] : ["turn", "turn"]))
            // The next turn has none of them.
            _ = await client.outcome()
            #expect(server.log.compactMap { $0.value(of: "X-Org") }.last == "configuration")
        }
    }

    @Test func callsOfOneResponseRunAtOnceAndTheirOutputsGoBackInOrder() async throws {
        let (first, second) = (Happening(), Happening())
        // Each waits for the other: one at a time they would never end.
        let tools = [
            ChappieHostTool(name: "a", description: "") { _ in
                first.happened()
                await second.wait()
                return ChappieToolResult(output: "A")
            },
            ChappieHostTool(name: "b", description: "") { _ in
                second.happened()
                await first.wait()
                return ChappieToolResult(output: "B")
            },
        ]
        let (outcome, _, inputs) = try await self.turn(
            [functionCall("call_1", "a"), functionCall("call_2", "b")], tools: tools)
        #expect(outcome.error == nil)
        #expect(inputs.last?.suffix(2).map { $0["output"]?.string } == ["A", "B"])
        #expect(outcome.requested.map(\.callID) == ["call_1", "call_2"])
    }

    @Test func concurrentToolsStayWithinTheLimit() async throws {
        let running = Locked((now: 0, most: 0))
        let tool = ChappieHostTool(name: "t", description: "") { _ in
            running.update { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            await Task.yield()
            running.update { $0.now -= 1 }
            return ChappieToolResult(output: "")
        }
        let items = (1...20).map { functionCall("call_\($0)", "t", #"{"n":\#($0)}"#) }
        let (outcome, _, inputs) = try await self.turn(items, tools: [tool]) { $0.limits.concurrentTools = 3 }
        #expect(outcome.error == nil)
        #expect(running.value.most <= 3)
        #expect(inputs.last?.compactMap { $0["call_id"]?.string }.suffix(20) == (1...20).map { "call_\($0)" }[...])
    }

    @Test func aCustomToolGetsTextAndAnswersWithParts() async throws {
        let record = ToolRecord()
        let tool = ChappieHostTool(
            name: "sql", description: "Runs SQL.", format: .grammar(syntax: .lark, definition: "start: /.+/")
        ) { call in
            record.note(call)
            return ChappieToolResult(parts: [
                .text("one row"), .image(url: "data:image/png;base64,AA==", detail: "low"),
            ])
        }
        let item = #"{"type":"custom_tool_call","id":"ctc_1","call_id":"c","name":"sql","input":"SELECT \"1\""}"#
        let (outcome, _, inputs) = try await self.turn([item], tools: [tool])
        #expect(outcome.error == nil)
        #expect(record.calls == [ChappieToolCall(callID: "c", name: "sql", arguments: #"SELECT "1""#)])
        #expect(record.calls.first?.argumentsJSON == nil)
        #expect(outcome.results.map(\.output) == ["one row"])
        #expect(
            inputs.last?.last == [
                "type": "custom_tool_call_output", "call_id": "c",
                "output": [
                    ["type": "input_text", "text": "one row"],
                    ["type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"],
                ],
            ])
    }

    // MARK: Outcomes that the model sees

    @Test func toolStatusIsReportedToTheModel() async throws {
        let tools = [
            ChappieHostTool(name: "a", description: "") { _ in .failed("no such city") },
            ChappieHostTool(name: "b", description: "") { _ in .denied("not on Sundays") },
            ChappieHostTool(name: "c", description: "", policy: .deny) { _ in ChappieToolResult(output: "never") },
        ]
        let (outcome, _, inputs) = try await self.turn(
            ["a", "b", "c"].map { functionCall("call_\($0)", $0) }, tools: tools)
        #expect(outcome.error == nil)
        #expect(outcome.text == "Done.")
        let statuses = Dictionary(outcome.results.map { ($0.name, $0.status) }) { first, _ in first }
        #expect(statuses == ["a": .failed, "b": .denied, "c": .denied])
        #expect(
            inputs.last?.suffix(3).map { $0["output"]?.string } == [
                "no such city", "not on Sundays", "This tool may not be used.",
            ])
    }

    @Test(arguments: [true, false])
    func approvalHandlerDeterminesWhetherAToolRuns(isApproved: Bool) async throws {
        let record = ToolRecord()
        let asked = Locked<[ChappieApprovalRequest]>([])
        let (outcome, _, inputs) = try await self.turn(
            [functionCall("call_1", "weather", #"{"city":"Oslo"}"#)], tools: [Self.weather(record, policy: .ask)]
        ) {
            $0.toolApprovalHandler = { request in
                asked.update { $0.append(request) }
                return isApproved ? .approved() : .denied("too warm")
            }
        }
        #expect(outcome.error == nil)
        #expect(outcome.approvals == asked.value)
        #expect(asked.value.map(\.name) == ["weather"])
        #expect(record.calls.count == (isApproved ? 1 : 0))
        #expect(outcome.results.map(\.status) == [isApproved ? .completed : .denied])
        #expect(inputs.last?.last?["output"]?.string == (isApproved ? "sun in Oslo" : "too warm"))
    }

    @Test func toolsAreLoggedAndMeasuredWithoutContent() async throws {
        let entries = Locked<[ChappieLogEntry]>([])
        let metrics = Locked<[ChappieMetric]>([])
        let tools = [
            ChappieHostTool(name: "a", description: "") { _ in ChappieToolResult(output: "secret") },
            ChappieHostTool(name: "b", description: "") { _ in .failed("no secret") },
            ChappieHostTool(name: "c", description: "", policy: .deny) { _ in ChappieToolResult(output: "") },
        ]
        let (outcome, _, _) = try await self.turn(
            ["a", "b", "c"].map { functionCall("call_\($0)", $0) }, tools: tools
        ) {
            $0.limits.concurrentTools = 1
            $0.log = { entry in entries.update { $0.append(entry) } }
            $0.metrics = { metric in metrics.update { $0.append(metric) } }
        }
        #expect(outcome.error == nil)
        let lines = entries.value.filter { $0.context == "tool" }
        #expect(lines.map(\.tag) == ["tool.denied", nil, "tool.failed"])
        #expect(lines.map(\.level) == [.warning, .info, .warning])
        #expect(Set(lines.map(\.requestID)).count == 1)
        #expect(lines.allSatisfy { !$0.message.contains("secret") })
        #expect(lines.map(\.privateMessage) == ["c: This tool may not be used.", nil, "b: no secret"])
        let tool = metrics.value.filter { $0.operation == "tool" }
        #expect(tool.map(\.outcome) == ["tool.denied", "completed", "tool.failed"])
        #expect(tool.map(\.category) == [.permission, nil, .internal])
        #expect(lines.map(\.category) == tool.map(\.category))
    }

    @Test func theAttemptsOfATurnAreCountedThrough() async throws {
        let (outcome, _, _) = try await self.turn(
            [functionCall("call_1", "weather")], tools: [Self.weather(ToolRecord())], over: .httpSSE)
        #expect(outcome.report?.attempts.map(\.number) == [1, 2])
        #expect(outcome.report?.replaySafety == .completed)
    }

    // MARK: Errors

    @Test func aThrownErrorEndsTheTurn() async throws {
        struct Broken: LocalizedError { var errorDescription: String? { "the sensor is gone" } }
        let tools = [
            ChappieHostTool(name: "a", description: "") { _ in throw Broken() },
            ChappieHostTool(name: "b", description: "") { _ in
                try await forever()
                return ChappieToolResult(output: "")
            },
        ]
        let (outcome, context, inputs) = try await self.turn(
            [functionCall("call_1", "a"), functionCall("call_2", "b")], tools: tools)
        #expect(outcome.clientError == .toolExecutionFailed("a", "the sensor is gone"))
        #expect(outcome.results.map(\.status) == [.failed, .cancelled])
        #expect(inputs.count == 1)
        // Each call has exactly one output.
        #expect(context.items.suffix(2).map { $0["output"]?.string } == ["the sensor is gone", "aborted"])
    }

    @Test func callWithoutAHandlerEndsTheTurnBeforeAnyToolRuns() async throws {
        let record = ToolRecord()
        let (outcome, _, _) = try await self.turn(
            [functionCall("call_1", "weather"), functionCall("call_2", "unknown")], tools: [Self.weather(record)])
        #expect(outcome.clientError == .missingToolHandler("unknown"))
        #expect(record.calls.isEmpty)
        #expect(outcome.requested.isEmpty)
    }

    @Test func harnessToolWithoutAHostToolIsDeclaredWithoutHandler() async throws {
        try await withServer(scripted([responseEvents(1, [functionCall("c", "search")])])) { server in
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.harness = ChappieHarness(
                        name: "h", tools: [ChappieHarnessTool(name: "search", description: "Finds.")])
                })
            let outcome = await client.outcome()
            #expect(outcome.clientError == .missingToolHandler("search"))
            guard case .array(let tools)? = server.requests.first?["tools"] else {
                Issue.record("no tools")
                return
            }
            #expect(tools.map { $0["name"]?.string } == ["search"])
        }
    }

    @Test func missingApprovalHandlerIsADenial() async throws {
        let record = ToolRecord()
        let (outcome, _, _) = try await self.turn(
            [functionCall("call_1", "weather")], tools: [Self.weather(record, policy: .ask)])
        #expect(outcome.clientError == .toolApprovalDenied("weather", "there is no approval handler"))
        #expect(record.calls.isEmpty)
    }

    @Test func anApprovalHandlerThatThrowsEndsTheTurn() async throws {
        struct Away: LocalizedError { var errorDescription: String? { "nobody is here" } }
        let record = ToolRecord()
        let (outcome, _, _) = try await self.turn(
            [functionCall("call_1", "weather")], tools: [Self.weather(record, policy: .ask)]
        ) {
            $0.toolApprovalHandler = { _ in throw Away() }
        }
        #expect(outcome.clientError == .toolApprovalDenied("weather", "nobody is here"))
        #expect(record.calls.isEmpty)
        #expect(outcome.results.map(\.status) == [.denied])
    }

    // MARK: Limits

    @Test(arguments: [(3, 3, nil), (3, 2, ChappieClientError.toolLoopLimitExceeded(2))])
    func theNumberOfCallsIsLimited(calls: Int, limit: Int, error: ChappieClientError?) async throws {
        let record = ToolRecord()
        let items = (1...calls).map { functionCall("call_\($0)", "weather", #"{"city":"\#($0)"}"#) }
        let (outcome, _, _) = try await self.turn(items, tools: [Self.weather(record)]) {
            $0.limits.toolCalls = limit
        }
        #expect(outcome.clientError == error)
        #expect(record.calls.count == (error == nil ? calls : 0))
    }

    @Test(arguments: [2, 3])
    func theNumberOfResponsesIsLimited(limit: Int) async throws {
        let record = ToolRecord()
        let responses = [1, 2].map { responseEvents($0, [functionCall("call_\($0)", "weather")]) } + [Self.answer]
        try await withServer(scripted(responses)) { server in
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [Self.weather(record)]
                    $0.limits.roundTrips = limit
                })
            let outcome = await client.outcome()
            #expect(outcome.clientError == (limit == 2 ? .toolLoopLimitExceeded(2) : nil))
            // What cannot be told to the model does not run.
            #expect(record.calls.count == limit - 1)
        }
    }

    @Test func timeLimitEndsAToolThatNeverFinishes() async throws {
        let tool = ChappieHostTool(name: "t", description: "") { _ in
            try await forever()
            return ChappieToolResult(output: "")
        }
        let (outcome, context, _) = try await self.turn([functionCall("call_1", "t")], tools: [tool]) {
            $0.limits.duration = .seconds(4)
        }
        #expect(outcome.clientError == .runTimeLimitExceeded(.seconds(4)))
        #expect(outcome.results.map(\.status) == [.cancelled])
        #expect(context.items.last?["output"]?.string == "aborted")
    }

    @Test(arguments: Wire.allCases)
    func timeLimitEndsASilentServer(over wire: Wire) async throws {
        let faults = [ChappieTestServer.Fault(.hang(afterEvent: 1))]
        try await withServer(.init(model: .scripted(LoopbackTurn.model), faults: faults)) { server in
            let client = Chappie.client(
                configuration: .loopback(server, over: wire) { $0.limits.duration = .milliseconds(200) })
            #expect(await client.outcome().clientError == .runTimeLimitExceeded(.milliseconds(200)))
            #expect(client.context.isEmpty)
        }
    }
}
