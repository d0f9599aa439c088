// Event streams whose last event has no empty line behind it.
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct UnfinishedEventTests {
    private static let chunked = ["content-type": "text/event-stream", "transfer-encoding": "chunked"]
    private static let sized = ["content-type": "text/event-stream", "content-length": "9"]
    private static let failed = Event.failed(code: "invalid_prompt")

    private static func turn(
        _ tail: String, fields: [String: String] = Self.chunked, end: TransportEnd = .complete,
        recovery: ChappieRecoveryPolicy = .never
    ) async -> (outcome: TurnOutcome, fixture: TurnFixture) {
        let script: [ScriptStep] = [
            .opened(200, fields: fields), .body(Event.sse(Event.created) + Event.sse(Event.text("a")) + tail),
            .ended(end),
        ]
        let fixture = TurnFixture(Array(repeating: script, count: 8)) {
            $0.policy = .httpSSEOnly
            $0.policy.recovery = recovery
        }
        return (await fixture.run(), fixture)
    }

    /// The last line with its end or without, in every form of a line's end.
    @Test(arguments: ["", "\n", "\r\n", "\r"], [chunked, sized])
    func terminalEventEndsTheResponse(lineEnd: String, fields: [String: String]) async {
        for tail in [
            "data: \(Event.completed)", "event: response.completed\ndata: \(Event.completed)",
            "event: response.completed\ndata: {\"response\":{\"id\":\"r\",\"status\":\"completed\"}}",
            "data: \(Event.completed)\nid: 7",
        ] {
            let (outcome, fixture) = await Self.turn(tail + lineEnd, fields: fields)
            #expect(outcome.error == nil && outcome.text == "a")
            #expect(outcome.events.last == .completed)
            #expect(outcome.outcomes == ["completed"])
            #expect(fixture.transport.requests.count == 1)
        }
    }

    @Test(arguments: ["", "\n"]) func terminalEventMayBeTheOnlyOne(lineEnd: String) async {
        let script: [ScriptStep] = [
            .opened(200, fields: Self.chunked), .body("data: \(Event.completed)\(lineEnd)"), .ended(.complete),
        ]
        let fixture = TurnFixture([script]) { $0.policy = .httpSSEOnly }
        let outcome = await fixture.run()
        #expect(outcome.error == nil && outcome.events.last == .completed)
    }

    @Test(
        arguments: [
            ("data: \(failed)", "response.failed"), ("data: \(Event.incomplete)", "response.incomplete"),
            (#"data: {"type":"error","code":"invalid_prompt","message":"m"}"#, "response.failed"),
            (#"data: {"error":{"code":"invalid_prompt","message":"m"}}"#, "response.failed"),
            ("event: error\n" + #"data: {"code":"invalid_prompt","message":"m"}"#, "response.failed"),
        ])
    func errorEndsTheResponse(tail: String, tag: String) async {
        for lineEnd in ["", "\n"] {
            let (outcome, fixture) = await Self.turn(tail + lineEnd)
            #expect(outcome.clientError?.tag == tag)
            #expect(outcome.text == "a")
            #expect(fixture.transport.requests.count == 1)
        }
    }

    /// Anything else is discarded, as WHATWG HTML section 9.2.6 says, and named.
    @Test(
        arguments: [
            "data: \(Event.text("b"))", "data: \(Event.completed.dropLast())", #"data: {"type":"response.compl"#,
            "data: \(Event.keepalive)", "event: response.completed", #"data: {"type":"response.completed"}"#,
            "event: error\ndata: Internal Serv",
        ])
    func otherUnfinishedEventIsNamed(tail: String) async {
        for lineEnd in ["", "\n"] {
            let (outcome, _) = await Self.turn(tail + lineEnd)
            #expect(outcome.outcomes == ["stream.ended-early"])
            #expect(outcome.text == "a")
            #expect(outcome.transportFailure?.details.detail == "unfinished-event")
            #expect(
                outcome.clientError?.failureReason
                    == "The answer ended with an unfinished event (while reading the response, HTTP, 1 attempt).")
            #expect(outcome.report.endedWithoutTerminalEvent == nil)
        }
    }

    /// Lines without values are no event.
    @Test(arguments: [": a comment", "retry: 5", "data"]) func lineWithoutAValueIsNoEvent(tail: String) async {
        let (outcome, _) = await Self.turn(tail)
        #expect(outcome.transportFailure?.details.detail != "unfinished-event")
    }

    /// A body that was cut, or whose end is not known, has not ended in order.
    @Test func terminalEventBehindACutDoesNotCount() async {
        let lost = TransportEnd.failed(TransportFailure(phase: .stream, cause: .connectionLost))
        let (cut, _) = await Self.turn("data: \(Event.completed)\n", end: lost)
        #expect(cut.outcomes == ["connection.lost"])
        let (unknown, _) = await Self.turn("data: \(Event.completed)\n", fields: [:])
        #expect(unknown.outcomes == ["stream.ended-early"])
        #expect(unknown.transportFailure?.details.detail == "unfinished-event")
    }

    /// Numbers, replays and other responses are judged as for any event.
    @Test func unfinishedTerminalEventOfAnotherResponseDoesNotCount() async {
        let other = #"{"type":"response.completed","response":{"id":"other","status":"completed"}}"#
        let (outcome, _) = await Self.turn("data: \(other)\n")
        #expect(outcome.error != nil)
    }

    @Test func replayMayEndSo() async {
        let first: [ScriptStep] = [
            .opened(200, fields: Self.chunked), .body(Event.sse(Event.created) + Event.sse(Event.text("a"))),
            .ended(.failed(TransportFailure(phase: .stream, cause: .connectionLost))),
        ]
        let second: [ScriptStep] = [
            .opened(200, fields: Self.chunked),
            .body(Event.sse(Event.created) + Event.sse(Event.text("ab")) + "data: \(Event.completed)"),
            .ended(.complete),
        ]
        let outcome = await TurnFixture([first, second]) { $0.policy = .httpSSEOnly }.run()
        #expect(outcome.error == nil && outcome.text == "ab")
        #expect(outcome.outcomes == ["connection.lost", "completed"])
    }
}
