import Chappie
import ChappieTestServer
import Testing

/// Scenarios of tool calls, against the client that runs them.
@Suite(.timeLimit(.minutes(10))) struct ClientScenarioTests {
    /// Runs a scenario's first turn with a clock for the model.
    private func turn(
        of name: String, _ record: ToolRecord
    ) async throws -> (outcome: ClientOutcome, inputs: [[ChappieJSONValue]]) {
        let scenario = try #require(ChappieTestServer.builtInScenario(named: name))
        let tool = ChappieHostTool(name: "clock", description: "The time.", policy: .automatic) { call in
            record.note(call)
            return ChappieToolResult(output: "noon")
        }
        return try await withServer(.init(scenario: scenario)) { server in
            let client = Chappie.client(configuration: .loopback(server, over: .httpSSE) { $0.tools = [tool] })
            let outcome = await client.outcome()
            return (outcome, server.inputs)
        }
    }

    @Test func repeatedMessageIsDeliveredOnceAndCarriedOnceWithTheCalls() async throws {
        let record = ToolRecord()
        let (outcome, inputs) = try await self.turn(of: "odd-repeated-item", record)
        #expect(outcome.error == nil)
        #expect(outcome.text == "Let me look.It is noon.")
        #expect(Set(record.calls.map(\.arguments)) == [#"{"zone": "UTC"}"#, #"{"zone": "Europe/Oslo"}"#])
        #expect(record.calls.count == 2)
        #expect(
            inputs.last?.map { $0["type"]?.string ?? "" } == [
                "message", "message", "function_call", "function_call", "function_call_output", "function_call_output",
            ])
    }

    @Test func callWithDoubledArgumentsDoesNotRunAndReturnsTheReason() async throws {
        let record = ToolRecord()
        let (outcome, inputs) = try await self.turn(of: "odd-doubled-arguments", record)
        #expect(outcome.error == nil)
        #expect(outcome.text == "It is noon.")
        #expect(record.calls.isEmpty)
        #expect(outcome.results.map(\.status) == [.failed])
        let told = inputs.last?.last?["output"]?.string ?? ""
        #expect(told.hasPrefix("The tool was not run: its arguments are not one JSON object."))
    }
}
