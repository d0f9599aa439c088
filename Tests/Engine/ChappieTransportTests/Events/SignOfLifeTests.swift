// Events that are no JSON: those that mean nothing, and those that end the attempt.
import ResponseEvents
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct SignOfLifeTests {
    /// sse-starlette's pings, the keepalives of proxies, and the mark behind a stream of Chat Completions.
    private static let data = [
        "ping", "PING", " ping ", "heartbeat", "keepalive", "KeepAlive", #""ping""#, "[DONE]", "[done]", " [DONE] ",
        "[DONE] 17", "", "  ", "\t",
    ]

    private static func eventStream(_ pieces: [String]) -> [ScriptStep] {
        [.opened(200, fields: ["content-type": "text/event-stream"])] + pieces.map { .body($0) } + [.ended(.complete)]
    }

    @Test(arguments: data, [false, true])
    func dataThatMeansNothingIsASignOfLife(data: String, isHTTP: Bool) async {
        let script: [ScriptStep] =
            isHTTP
            ? .eventStream(data, Event.created, data, Event.text("a"), data, Event.completed)
            : .webSocket(data, Event.created, data, Event.text("a"), data, Event.completed)
        let outcome = await TurnFixture([script]) { if isHTTP { $0.policy = .httpSSEOnly } }.run()
        #expect(outcome.error == nil && outcome.text == "a")
        #expect(outcome.outcomes == ["completed"])
    }

    @Test(
        arguments: ["ping", "heartbeat", "keepalive", "Heartbeat", "[DONE]"],
        ["", "2026-11-28 12:00:00+00:00", "1", "null", "x\ndata: y", "[1]"])
    func eventTypeThatMeansNothingIsASignOfLife(type: String, data: String) async {
        let ping = "event: \(type)\ndata: \(data)\n\n"
        let outcome = await TurnFixture([
            Self.eventStream([
                ping, Event.sse(Event.created), ping, Event.sse(Event.text("a")), ping, Event.sse(Event.completed),
            ])
        ]) { $0.policy = .httpSSEOnly }.run()
        #expect(outcome.error == nil && outcome.text == "a")
    }

    @Test(
        arguments: [
            "pong", "ping 7", "keepalive!", "hello", "upstream failed", "DONE", "[DON", "12", #"["ping"]"#,
            "{\"type\":",
        ], [false, true])
    func otherTextIsUndecodable(data: String, isHTTP: Bool) async {
        let script: [ScriptStep] =
            isHTTP ? .eventStream(Event.created, data) : .webSocket(Event.created, data)
        let fixture = TurnFixture(Array(repeating: script, count: 9)) {
            $0.policy = isHTTP ? .httpSSEOnly : ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
        }
        #expect(await fixture.run().clientError?.tag == "event.undecodable")
    }

    /// It keeps the connection, and not the response.
    @Test func signOfLifeIsNoProgress() async {
        let ping: [ScriptStep] = [.pause(.seconds(200)), .body("data: ping\n\n")]
        let pings = Array(repeating: ping, count: 20).flatMap { $0 }
        let head = ScriptStep.opened(200, fields: ["content-type": "text/event-stream"])
        let script = [head, .body(Event.sse(Event.text("a")))] + pings + [.ended(.complete)]
        let fixture = TurnFixture([script]) {
            $0.policy = .httpSSEOnly
            $0.policy.recovery = .never
            $0.timeouts.stall = nil
        }
        #expect(await fixture.run().outcomes == ["timeout.progress"])
    }

    // MARK: Errors

    /// Errors of gateways in mid-stream, with the words that the person sees.
    @Test(
        arguments: [
            (#"{"error":{"message":"m"}}"#, "m"), (#"{"error":"m"}"#, "m"), (#"{"error":true,"message":"m"}"#, "m"),
            (#"{"error":500,"message":"m"}"#, "m"), (#"{"error":["x"],"detail":"m"}"#, "m"),
            (#"{"type":"","error":{"message":"m"}}"#, "m"), (#"{"type":null,"error":{"message":"m"}}"#, "m"),
            (#"{"type":"response.failed","error":{"message":"m"}}"#, "m"),
            (#"{"type":"response.completed","error":"m"}"#, "m"),
        ], [false, true])
    func errorWithoutAnEventOfTheResponseIsTheServers(row: (String, String), isHTTP: Bool) async {
        let (event, message) = row
        let script: [ScriptStep] =
            isHTTP ? .eventStream(Event.text("a"), event) : .webSocket(Event.text("a"), event)
        let outcome = await TurnFixture([script]) {
            $0.policy = isHTTP ? .httpSSEOnly : ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
        }.run()
        #expect(outcome.clientError?.tag == "response.failed")
        #expect(outcome.clientError?.serverMessage == message)
        #expect(outcome.text == "a")
        #expect(outcome.report.attempts.count == 1)
    }

    /// Groq's form, and those of frameworks.
    @Test(arguments: [
        ("Internal Server Error", "Internal Server Error"), (#"{"message":"m"}"#, "m"),
        (#"{"error":{"message":"m"}}"#, "m"),
        (#""m""#, "m"), (#"{"detail":"m"}"#, "m"),
    ])
    func eventNamedErrorHasTheServersWords(data: String, message: String) async {
        let outcome = await TurnFixture([
            Self.eventStream([Event.sse(Event.text("a")), "event: error\ndata: \(data)\n\n"])
        ]) { $0.policy = .httpSSEOnly }.run()
        #expect(outcome.clientError?.tag == "response.failed")
        #expect(outcome.clientError?.serverMessage == message)
        #expect(outcome.text == "a")
    }

    @Test(arguments: [#"{"error":false}"#, #"{"error":0}"#, #"{"error":[]}"#, #"{"error":null}"#, #"{"error":""}"#])
    func errorThatStatesNoneIsPadding(event: String) async {
        let outcome = await TurnFixture([.webSocket(event, Event.text("a"), event, Event.completed)]).run()
        #expect(outcome.error == nil && outcome.text == "a")
    }
}
