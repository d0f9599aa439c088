// Answers that the server ends normally without their terminal event, in contrast to those that were cut.
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct EndedAnswerTests {
    private static let chunked = ["transfer-encoding": "chunked"]

    private static func answer(
        _ text: String, fields: [String: String] = Self.chunked, tail: String = "", end: TransportEnd = .complete
    ) -> [ScriptStep] {
        [
            .opened(200, fields: fields), .body(Event.sse(Event.created) + Event.sse(Event.text(text)) + tail),
            .ended(end),
        ]
    }

    private static func turn(
        _ scripts: [[ScriptStep]], recovery: ChappieRecoveryPolicy = .verify
    ) async -> TurnOutcome {
        await TurnFixture(scripts) {
            $0.policy = .httpSSEOnly
            $0.policy.recovery = recovery
        }.run()
    }

    @Test(arguments: [Self.chunked, ["content-length": "123"]])
    func reportNotesAnOrderlyEndBeforeTheDivergence(fields: [String: String]) async {
        let outcome = await Self.turn([Self.answer("one", fields: fields), Self.answer("two", fields: fields)])
        #expect(outcome.clientError == .streamingTransportReplayDiverged("one"))
        #expect(outcome.report.endedWithoutTerminalEvent == true)
    }

    @Test func reportNotesCloseCode1000BeforeTheDivergence() async {
        for (code, isInOrder) in [(1000, true), (1001, nil), (1006, nil)] as [(UInt16, Bool?)] {
            let fixture = TurnFixture([
                .webSocket(Event.created, Event.text("one"), then: .closed(code: code, reason: "")),
                .webSocket(Event.created, Event.text("two")),
            ])
            let outcome = await fixture.run()
            #expect(outcome.clientError == .streamingTransportReplayDiverged("one"))
            #expect(outcome.report.endedWithoutTerminalEvent == isInOrder)
        }
    }

    /// A body that ends with its connection, or inside an event, may have been cut.
    @Test(arguments: [
        Self.answer("one", fields: [:]), Self.answer("one", tail: "data: {\"ty"),
        Self.answer("one", tail: "data: {}\n"),
        Self.answer(
            "one", end: .failed(TransportFailure(phase: .stream, cause: .connectionLost))),
    ])
    func reportOmitsAnOrderlyEndAfterACut(first: [ScriptStep]) async {
        let outcome = await Self.turn([first, Self.answer("two")])
        #expect(outcome.clientError == .streamingTransportReplayDiverged("one"))
        #expect(outcome.report.endedWithoutTerminalEvent == nil)
    }

    @Test func withoutRecoveryTheServerIsAskedOnceAndTheCauseIsNamed() async {
        let outcome = await Self.turn([Self.answer("one"), Self.answer("two")], recovery: .never)
        #expect(outcome.outcomes == ["stream.ended-early"])
        #expect(outcome.text == "one")
        #expect(outcome.transportFailure?.details.detail == "ended-in-order")
        #expect(
            outcome.clientError?.failureReason
                == "The answer ended behind a whole event, and the server did not say that it was complete "
                + "(while reading the response, HTTP, 1 attempt).")
        #expect(outcome.clientError?.recoverySuggestion?.contains("set recovery to never") == true)
    }

    @Test func reportNotesAnOrderlyEndBeforeTheCompleteAttempt() async {
        let whole: [ScriptStep] = [
            .opened(200), .body(Event.sse(Event.created) + Event.sse(Event.text("one")) + Event.sse(Event.completed)),
        ]
        let outcome = await Self.turn([Self.answer("one"), whole])
        #expect(outcome.error == nil && outcome.text == "one")
        #expect(outcome.report.endedWithoutTerminalEvent == true)
    }
}
