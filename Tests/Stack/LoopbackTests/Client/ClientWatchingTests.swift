import Chappie
import ChappieTestServer
import Foundation
import Testing

/// The log and the metrics of a client's turns: what the program asked for is a turn, each of its requests a response.
@Suite(.timeLimit(.minutes(10))) struct ClientWatchingTests {
    private static let rounds = [
        responseEvents(1, [functionCall("a", "t")], text: "Wait. "),
        responseEvents(2, [functionCall("b", "t")], text: "And wait. "), responseEvents(3, [], text: "Done."),
    ]

    /// The lines and measurements of a client.
    private final class Record: Sendable {
        let entries = Locked<[ChappieLogEntry]>([])
        let metrics = Locked<[ChappieMetric]>([])

        func configuration(
            _ server: ChappieTestServer, tool: @escaping @Sendable () async -> Void = {}
        ) -> ChappieConfiguration {
            .loopback(server) {
                $0.tools = [
                    ChappieHostTool(name: "t", description: "") { _ in
                        await tool()
                        return ChappieToolResult(output: "")
                    }
                ]
                $0.log = { entry in self.entries.update { $0.append(entry) } }
                $0.metrics = { metric in self.metrics.update { $0.append(metric) } }
            }
        }

        /// The operations and outcomes of turns, responses and tools.
        var operations: [String] {
            self.metrics.value.filter { ["turn", "response", "tool"].contains($0.operation) }
                .map { "\($0.operation) \($0.outcome)" }
        }

        /// The sentences about turns and responses.
        var sentences: [String] {
            self.entries.value.filter { ["turn", "response"].contains($0.context) }.map(\.message)
        }
    }

    @Test func turnWithTwoRoundsOfToolsIsOneTurnAndThreeResponses() async throws {
        try await withServer(scripted(Self.rounds)) { server in
            let record = Record()
            let outcome = await Chappie.client(configuration: record.configuration(server)).outcome()
            #expect(outcome.text == "Wait. And wait. Done.")
            #expect(
                record.operations == [
                    "response completed", "tool completed", "response completed", "tool completed",
                    "response completed", "turn completed",
                ])
            let response = ["A response has begun.", "A response is complete."]
            #expect(
                record.sentences == ["A turn has begun."] + response + response + response + ["A turn is complete."])
            let entries = record.entries.value
            #expect(Set(entries.map(\.requestID)).count == 1)
            #expect(entries.allSatisfy { $0.message.hasSuffix(".") })
            let (turn, metrics) = (try #require(entries.last), record.metrics.value)
            #expect(turn.context == "turn")
            #expect(turn.attempt == 3)
            #expect(turn.transport == .webSocket)
            let parts = metrics.filter { $0.operation == "response" }.reduce(.zero) { $0 + $1.duration }
            #expect(try #require(metrics.last).duration >= parts)
        }
    }

    @Test func turnThatIsCancelledBehindAToolIsCancelled() async throws {
        try await withServer(scripted(Self.rounds)) { server in
            let record = Record()
            let client = Chappie.client(configuration: record.configuration(server))
            let handle = client.streamHandle("hi")
            await #expect(throws: CancellationError.self) {
                for try await event in handle.events {
                    if case .toolCallCompleted = event { handle.cancel() }
                }
            }
            #expect(record.operations == ["response completed", "tool completed", "turn cancelled"])
            #expect(record.sentences.last == "A turn was cancelled.")
        }
    }

    @Test func turnWhoseStreamIsDroppedIsCancelled() async throws {
        try await withServer(scripted(Self.rounds)) { server in
            let record = Record()
            let client = Chappie.client(configuration: record.configuration(server))
            do {
                var events = client.stream("hi").makeAsyncIterator()
                _ = try await events.next()
            }
            #expect(Set(record.operations) == ["response cancelled", "turn cancelled"])
            #expect(record.operations.count == 2)
        }
    }

    @Test func turnThatFailsHasTheErrorOfItsResponse() async throws {
        var configuration = scripted(Self.rounds)
        configuration.faults = [.init(.answer(status: 400), attempts: 2...2)]
        try await withServer(configuration) { server in
            let record = Record()
            var settings = record.configuration(server)
            settings.streamingTransportPolicy = .httpSSEOnly
            let outcome = await Chappie.client(configuration: settings).outcome()
            #expect(outcome.clientError?.tag == "http.400")
            #expect(
                record.operations == ["response completed", "tool completed", "response http.400", "turn http.400"])
            #expect(record.entries.value.last?.level == .error)
            #expect(record.entries.value.last?.tag == "http.400")
            #expect(record.metrics.value.last?.category == .validation)
        }
    }

    @Test func turnThatIsRefusedBeforeItsFirstRequestIsATurn() async throws {
        try await withServer(scripted(Self.rounds)) { server in
            let record = Record()
            let client = Chappie.client(configuration: record.configuration(server))
            await client.shutdown()
            #expect(await client.outcome().clientError?.tag == "engine.shut-down")
            #expect(record.operations == ["turn engine.shut-down"])
        }
    }

    @Test func warmUpIsAResponseWithoutATurn() async throws {
        try await withServer(scripted(Self.rounds)) { server in
            let record = Record()
            let client = Chappie.client(configuration: record.configuration(server))
            await client.prewarm()
            #expect(record.operations == ["response completed"])
        }
    }
}
