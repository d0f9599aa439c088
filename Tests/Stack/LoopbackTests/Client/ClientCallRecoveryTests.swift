import Chappie
import ChappieTestServer
import Foundation
import Testing

/// Turns whose connection breaks behind a call that has not run yet.
@Suite(.timeLimit(.minutes(10))) struct ClientCallRecoveryTests {
    /// Returns a response with a text, if it is not empty, and a call for the weather of a city.
    private static func call(_ number: Int, _ city: String, saying text: String) -> [String] {
        let message = responseEvents(number, [], text: text).dropFirst().dropLast()
        var events = responseEvents(
            number, [functionCall("call_\(city)", "weather", #"{"city":"\#(city)"}"#)])
        guard !text.isEmpty else { return events }
        events[1] = events[1].replacing(#""output_index":0"#, with: #""output_index":1"#)
        events.insert(contentsOf: message, at: 1)
        return events
    }

    /// A server that calls for Paris on the connection that is cut and for Rome on the next one, then answers.
    private static func configuration(
        saying text: (before: String, after: String) = ("", "")
    ) -> ChappieTestServer.Configuration {
        let model = ChappieTestServer.Model.custom { request in
            if request.bodyText.contains("function_call_output") { return responseEvents(9, [], text: "Done.") }
            return request.attempt == 1
                ? Self.call(1, "Paris", saying: text.before) : Self.call(2, "Rome", saying: text.after)
        }
        return ChappieTestServer.Configuration(
            model: model, faults: [.init(action: .cutBeforeTerminal(), attempts: 1...1)])
    }

    private static func outcome(
        of server: ChappieTestServer, over wire: Wire, _ record: ToolRecord,
        _ change: (inout ChappieConfiguration) -> Void = { _ in }
    ) async -> (ClientOutcome, ChappieClientContext) {
        let weather = ChappieHostTool(name: "weather", description: "The weather.") { call in
            record.note(call)
            return ChappieToolResult(output: "sun")
        }
        let client = Chappie.client(
            configuration: .loopback(server, over: wire) {
                $0.tools = [weather]
                change(&$0)
            })
        return (await client.outcome(), client.context)
    }

    private static func cities(_ record: ToolRecord) -> [String?] {
        record.calls.map { $0.argumentsJSON?["city"]?.string }
    }

    @Test(arguments: Wire.allCases, ChappieRecoveryPolicy.allCases.filter { $0 != .never })
    func toolRunsOnceWithTheCompleteArguments(over wire: Wire, recovery: ChappieRecoveryPolicy) async throws {
        try await withServer(Self.configuration()) { server in
            let record = ToolRecord()
            let (outcome, context) = await Self.outcome(of: server, over: wire, record) {
                $0.streamingTransportPolicy.recovery = recovery
            }
            #expect(outcome.error == nil)
            #expect(outcome.text == "Done.")
            #expect(Self.cities(record) == ["Rome"])
            #expect(outcome.requested.map(\.callID) == ["call_Rome"])
            #expect(outcome.results.map(\.callID) == ["call_Rome"])
            #expect(outcome.report?.attempts.map(\.rung) == [nil, .sentAgain, nil])
            #expect(
                context.items.map { $0["type"]?.string } == [
                    "message", "function_call", "function_call_output", "message",
                ])
        }
    }

    @Test(arguments: Wire.allCases)
    func textBeforeTheCallIsVerified(over wire: Wire) async throws {
        try await withServer(Self.configuration(saying: ("Let me see. ", "Let me see. "))) { server in
            let record = ToolRecord()
            let (outcome, _) = await Self.outcome(of: server, over: wire, record)
            #expect(outcome.error == nil)
            #expect(outcome.text == "Let me see. Done.")
            #expect(outcome.report?.attempts.map(\.rung) == [nil, .verifiedReplay, nil])
            #expect(Self.cities(record) == ["Rome"])
        }
    }

    @Test(arguments: Wire.allCases)
    func otherTextBeforeTheCallIsADivergence(over wire: Wire) async throws {
        try await withServer(Self.configuration(saying: ("Let me see. ", "Let me think. "))) { server in
            let record = ToolRecord()
            let (outcome, context) = await Self.outcome(of: server, over: wire, record)
            #expect(outcome.clientError == .streamingTransportReplayDiverged("Let me see. "))
            #expect(record.calls.isEmpty)
            #expect(outcome.requested.isEmpty)
            #expect(context.isEmpty)
        }
    }

    @Test(arguments: Wire.allCases)
    func aCallThatIsCarriedRunsOnceAndIsNotMadeAgain(over wire: Wire) async throws {
        try await withServer(Self.configuration()) { server in
            let record = ToolRecord()
            let (outcome, context) = await Self.outcome(of: server, over: wire, record) {
                $0.streamingTransportPolicy.carriesFinishedItems = true
            }
            #expect(outcome.error == nil)
            #expect(outcome.text == "Done.")
            #expect(Self.cities(record) == ["Paris"])
            #expect(outcome.requested.map(\.callID) == ["call_Paris"])
            #expect(outcome.results.map(\.callID) == ["call_Paris"])
            #expect(outcome.report?.attempts.map(\.rung) == [nil, .sentAgain])
            #expect(server.inputs.map(\.count) == [1, 3])
            #expect(
                context.items.map { $0["type"]?.string } == [
                    "message", "function_call", "function_call_output", "message",
                ])
        }
    }
}
