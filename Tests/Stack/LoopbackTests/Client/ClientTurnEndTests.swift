import Chappie
import ChappieTestServer
import Foundation
import Testing

/// The ends of turns with tools, which are the same in both ways of reading.
@Suite(.timeLimit(.minutes(10))) struct ClientTurnEndTests {
    private static func tool(
        _ policy: ChappieToolPolicy = .automatic, _ handler: @escaping @Sendable () async throws -> ChappieToolResult
    ) -> ChappieHostTool {
        ChappieHostTool(name: "t", description: "", policy: policy) { _ in try await handler() }
    }

    private static func kinds(_ events: [ChappieStreamEvent]) -> [String] {
        events.compactMap { event in
            switch event {
            case .toolCallRequested(let request): "requested \(request.callID)"
            case .approvalRequested(let request): "approval \(request.callID)"
            case .toolCallCompleted(let result): "\(result.status) \(result.callID)"
            case .textDelta(let text): "text \(text)"
            case .completed: "completed"
            case .reasoningDelta, .refusalDelta, .usageLimits, .raw, .restarted, .diagnostic: nil
            }
        }
    }

    private static func batches(_ handle: ChappieStreamHandle) async -> ClientOutcome {
        var outcome = ClientOutcome()
        do {
            for try await batch in handle.batches() {
                #expect(!batch.isEmpty)
                outcome.events += batch
            }
        } catch {
            outcome.error = error
        }
        return outcome
    }

    // MARK: The two ways to read

    @Test(arguments: Wire.allCases)
    func batchesAndEventsAreTheSame(over wire: Wire) async throws {
        let responses = [
            responseEvents(1, [functionCall("a", "t"), functionCall("b", "t", #"{"n":1}"#)], text: "Wait. "),
            responseEvents(2, [functionCall("c", "t", #"{"n":2}"#)]), responseEvents(3, [], text: "Done."),
        ]
        var told: [[String]] = []
        for readsBatches in [false, true] {
            let kinds = try await withServer(scripted(responses)) { server in
                let client = Chappie.client(
                    configuration: .loopback(server, over: wire) {
                        $0.tools = [Self.tool { ChappieToolResult(output: "x") }]
                        $0.limits.concurrentTools = 1
                    })
                let handle = client.streamHandle("hi")
                let outcome = readsBatches ? await Self.batches(handle) : await ClientOutcome.read(handle)
                #expect(outcome.error == nil)
                #expect(client.context.items.count == 9)
                return Self.kinds(outcome.events)
            }
            told.append(kinds)
        }
        #expect(
            told[0] == [
                "text Wait. ", "requested a", "requested b", "completed a", "completed b", "requested c",
                "completed c", "text Done.", "completed",
            ])
        #expect(told[1] == told[0])
    }

    @Test func scopeHasTheEventsOfTheStream() async throws {
        let responses = [
            responseEvents(1, [functionCall("a", "t")], text: "Wait. "), responseEvents(2, [], text: "Done."),
        ]
        try await withServer(scripted(responses)) { server in
            let client = Chappie.client(
                configuration: .loopback(server) { $0.tools = [Self.tool { ChappieToolResult(output: "x") }] })
            var outcome = ClientOutcome()
            try await client.withEvents(of: "hi") { outcome.events.append($0) }
            #expect(
                Self.kinds(outcome.events) == [
                    "text Wait. ", "requested a", "completed a", "text Done.", "completed",
                ])
            #expect(client.context.items.count == 5)
        }
    }

    @Test func closureThatThrowsEndsTheTurnBeforeItsToolRuns() async throws {
        struct Stop: Error, Equatable {}
        let responses = [responseEvents(1, [functionCall("a", "t")]), responseEvents(2, [], text: "Done.")]
        try await withServer(scripted(responses)) { server in
            let record = ToolRecord()
            let tool = ChappieHostTool(name: "t", description: "") { call in
                record.note(call)
                return ChappieToolResult(output: "x")
            }
            let client = Chappie.client(configuration: .loopback(server) { $0.tools = [tool] })
            await #expect(throws: Stop()) {
                try await client.withEvents(of: "hi") { event in
                    if case .toolCallRequested = event { throw Stop() }
                }
            }
            #expect(!client.isRunning)
            #expect(record.calls.isEmpty)
            #expect(await client.outcome().text == "Done.")
        }
    }

    @Test(arguments: [false, true])
    func errorFollowsTheEventsBeforeIt(readsBatches: Bool) async throws {
        struct Broken: LocalizedError { var errorDescription: String? { "no" } }
        try await withServer(scripted([responseEvents(1, [functionCall("a", "t")], text: "Wait. ")])) { server in
            let client = Chappie.client(
                configuration: .loopback(server) { $0.tools = [Self.tool { throw Broken() }] })
            let handle = client.streamHandle("hi")
            let outcome = readsBatches ? await Self.batches(handle) : await ClientOutcome.read(handle)
            #expect(outcome.clientError == .toolExecutionFailed("t", "no"))
            #expect(Self.kinds(outcome.events) == ["text Wait. ", "requested a", "failed a"])
        }
    }

    /// The engine waits for the output of a carried call: the end of the call is reported nevertheless.
    @Test(arguments: [false, true])
    func failedCarriedCallIsDeliveredBeforeTheError(readsBatches: Bool) async throws {
        struct Broken: LocalizedError { var errorDescription: String? { "no" } }
        var configuration = scripted([responseEvents(1, [functionCall("a", "t")])])
        configuration.faults = [.init(action: .cutBeforeTerminal(), attempts: 1...1)]
        try await withServer(configuration) { server in
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [Self.tool { throw Broken() }]
                    $0.streamingTransportPolicy.carriesFinishedItems = true
                })
            let handle = client.streamHandle("hi")
            let outcome = readsBatches ? await Self.batches(handle) : await ClientOutcome.read(handle)
            #expect(outcome.clientError == .toolExecutionFailed("t", "no"))
            #expect(Self.kinds(outcome.events) == ["requested a", "failed a"])
            #expect(handle.report.replaySafety == .outputDelivered)
            #expect(server.requests.count == 1)
        }
    }

    // MARK: The wall clock

    @Test func timeLimitDoesNotWaitForAnApproval() async throws {
        let never = Happening()
        try await withServer(scripted([responseEvents(1, [functionCall("a", "t")])])) { server in
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [Self.tool(.ask) { ChappieToolResult(output: "") }]
                    $0.limits.duration = .seconds(4)
                    // It does not heed its cancellation.
                    $0.toolApprovalHandler = { _ in
                        await Task { await never.wait() }.value
                        return .approved()
                    }
                })
            let outcome = await client.outcome()
            #expect(outcome.clientError == .runTimeLimitExceeded(.seconds(4)))
            #expect(Self.kinds(outcome.events) == ["requested a", "approval a", "cancelled a"])
            #expect(client.context.items.last?["output"]?.string == "aborted")
            never.happened()
        }
    }

    @Test func timeLimitDoesNotWaitForACarriedCall() async throws {
        let never = Happening()
        var configuration = scripted([responseEvents(1, [functionCall("a", "t")])])
        configuration.faults = [.init(action: .cutBeforeTerminal(), attempts: 1...1)]
        try await withServer(configuration) { server in
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [
                        Self.tool {
                            await Task { await never.wait() }.value
                            return ChappieToolResult(output: "")
                        }
                    ]
                    $0.limits.duration = .seconds(4)
                    $0.streamingTransportPolicy.carriesFinishedItems = true
                })
            let outcome = await client.outcome()
            #expect(outcome.clientError == .runTimeLimitExceeded(.seconds(4)))
            #expect(Self.kinds(outcome.events) == ["requested a", "cancelled a"])
            never.happened()
        }
    }

    // MARK: Cancelling

    /// The tool has ended, the turn has not received that, and is cancelled by then.
    @Test func aToolThatCancelsItsOwnTurnEndsIt() async throws {
        let handles = Locked<ChappieStreamHandle?>(nil)
        try await withServer(scripted([responseEvents(1, [functionCall("a", "t")])])) { server in
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [
                        Self.tool {
                            handles.value?.cancel()
                            return ChappieToolResult(output: "x")
                        }
                    ]
                })
            let handle = client.streamHandle("hi")
            handles.update { $0 = handle }
            let outcome = await ClientOutcome.read(handle)
            handles.update { $0 = nil }
            #expect(outcome.error is CancellationError)
            #expect(Self.kinds(outcome.events) == ["requested a"])
            // Each call has exactly one output, and what was cancelled has this one.
            #expect(client.context.items.map { $0["output"]?.string } == [nil, nil, "aborted"])
            #expect(server.requests.count == 1)
        }
    }

    @Test func noToolBeginsBehindACancellation() async throws {
        let (begun, goOn) = (Happening(), Happening())
        let record = ToolRecord()
        let tool = ChappieHostTool(name: "t", description: "") { call in
            record.note(call)
            begun.happened()
            await goOn.wait()
            return ChappieToolResult(output: "")
        }
        let calls = (1...8).map { functionCall("c\($0)", "t", #"{"n":\#($0)}"#) }
        try await withServer(scripted([responseEvents(1, calls)])) { server in
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [tool]
                    $0.limits.concurrentTools = 1
                })
            let handle = client.streamHandle("hi")
            async let outcome = ClientOutcome.read(handle)
            await begun.wait()
            handle.cancel()
            goOn.happened()
            #expect(await outcome.error is CancellationError)
            #expect(record.calls.map(\.callID) == ["c1"])
            #expect(client.context.items.count { $0["output"]?.string == "aborted" } == 8)
        }
    }
}
