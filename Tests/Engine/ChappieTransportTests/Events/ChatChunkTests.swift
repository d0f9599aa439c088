import StreamTransport
import Testing

@testable import ChappieTransport

/// The event stream of a chat completion, split and cut at every byte.
@Suite struct ChatChunkTests {
    private static let chunks = [
        #"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        #"{"id":"c","choices":[{"index":0,"delta":{"reasoning":"é"}}]}"#,
        #"{"id":"c","choices":[{"index":0,"delta":{"content":"Hé "}}]}"#,
        #"{"id":"c","choices":[{"index":0,"delta":{"content":"😀"}}]}"#,
        #"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"i","function":{"name":"f","arguments":"{\"a\":"}}]}}]}"#,
        #"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}"#,
        #"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    ]
    private static let bytes = Array((": hi\n\n" + (Self.chunks + ["[DONE]"]).map(Event.sse).joined()).utf8)
    /// The number of bytes up to the chunk with the reason to end, its empty line left out.
    private static let finishedByteCount = bytes.count - Array(Event.sse("[DONE]").utf8).count - 1

    private static func script(_ pieces: [[UInt8]], _ end: TransportEnd = .complete) -> [ScriptStep] {
        [.opened(200, fields: ["content-type": "text/event-stream", "content-length": "9"])]
            + pieces.map { .bodyBytes($0) } + [.ended(end)]
    }

    private static func fixture(_ scripts: [[ScriptStep]]) -> TurnFixture {
        TurnFixture(scripts) {
            $0.dialect = .chatCompletions
            $0.reconnectDelay = .zero
        }
    }

    private static func expectWhole(_ outcome: TurnOutcome, at place: Int) {
        #expect(outcome.error == nil, "\(place)")
        #expect(outcome.text == "Hé 😀", "\(place)")
        #expect(outcome.reasoning == "é", "\(place)")
        #expect(outcome.rawTypes.filter { $0 == "response.output_item.done" }.count == 1, "\(place)")
        #expect(outcome.events.last == .completed, "\(place)")
    }

    @Test func everySplitSaysTheSame() async {
        for place in 1..<Self.bytes.count {
            let pieces = [Array(Self.bytes[..<place]), Array(Self.bytes[place...])]
            let outcome = await Self.fixture([Self.script(pieces)]).run()
            Self.expectWhole(outcome, at: place)
            #expect(outcome.outcomes == ["completed"])
        }
        let outcome = await Self.fixture([Self.script(Self.bytes.map { [$0] })]).run()
        Self.expectWhole(outcome, at: 0)
    }

    @Test func everyTruncationIsRecoveredOnce() async {
        for place in 0..<Self.bytes.count {
            let cut = Self.script([Array(Self.bytes[..<place])])
            let outcome = await Self.fixture([cut, Self.script([Self.bytes])]).run()
            Self.expectWhole(outcome, at: place)
            #expect(outcome.report.attempts.count == (place < Self.finishedByteCount - 1 ? 2 : 1), "\(place)")
        }
    }

    @Test func everyLossIsRecoveredOnce() async {
        let loss = TransportEnd.failed(TransportFailure(phase: .stream, cause: .connectionLost))
        // Behind the mark the answer is complete.
        for place in 0..<(Self.bytes.count - 1) {
            let cut = Self.script([Array(Self.bytes[..<place])], loss)
            let outcome = await Self.fixture([cut, Self.script([Self.bytes])]).run()
            Self.expectWhole(outcome, at: place)
            #expect(outcome.report.attempts.count == 2, "\(place)")
        }
    }

    @Test func anotherAnswerIsRefusedAtEveryByteBehindText() async {
        let other = Self.chunks.map { $0.replacing("😀", with: "!") }
        let whole = Array((other + ["[DONE]"]).map(Event.sse).joined().utf8)
        let start = Array((": hi\n\n" + Self.chunks.prefix(4).map(Event.sse).joined()).utf8).count
        for place in start..<Self.finishedByteCount - 1 {
            let cut = Self.script([Array(Self.bytes[..<place])])
            let outcome = await Self.fixture([cut, Self.script([whole])]).run()
            #expect(outcome.clientError == .streamingTransportReplayDiverged("Hé 😀"), "\(place)")
            #expect(outcome.events.last != .completed)
        }
    }

    @Test func noWebSocketIsTriedAndNoPartIsSentBack() async {
        let fixture = Self.fixture([
            Self.script([Array(Self.bytes[..<(Self.bytes.count / 2)])]), Self.script([Self.bytes]),
        ])
        Self.expectWhole(await fixture.run(), at: 0)
        let requests = fixture.transport.requests
        #expect(requests.map(\.endpoint.target) == ["/v1/chat/completions", "/v1/chat/completions"])
        let bodies = requests.compactMap { request -> [UInt8]? in
            guard case .post(let body) = request.exchange else { return nil }
            return body
        }
        #expect(bodies.count == 2 && bodies.first == bodies.last)
    }

    @Test func pingsAndPaddingAreSignsOfLife() async {
        let stream =
            ": ping\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\ndata: {}\n\n"
            + Self.chunks.map(Event.sse).joined(separator: ": keepalive\n\n") + Event.sse("[DONE]")
        Self.expectWhole(await Self.fixture([Self.script([Array(stream.utf8)])]).run(), at: 0)
    }

    @Test func anErrorEventIsTheServers() async {
        let error = #"{"error":{"message":"m","code":"invalid_value"}}"#
        let stream = Event.sse(Self.chunks[2]) + "event: error\n" + Event.sse(error)
        let outcome = await Self.fixture([Self.script([Array(stream.utf8)])]).run()
        #expect(outcome.text == "Hé ")
        #expect(outcome.clientError?.tag == "response.failed")
        #expect(outcome.clientError?.category == .validation)
        #expect(outcome.report.attempts.count == 1)
    }

    @Test(arguments: ["", "event: error\n"]) func anErrorInAnArrayIsTheServers(_ name: String) async {
        let error = #"[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]"#
        let stream = Event.sse(Self.chunks[2]) + name + Event.sse(error)
        let outcome = await Self.fixture([Self.script([Array(stream.utf8)])]).run()
        #expect(outcome.text == "Hé ")
        #expect(outcome.clientError?.tag == "http.400")
        #expect(outcome.clientError?.category == .validation)
        #expect(outcome.report.attempts.count == 1)
    }

    @Test(arguments: ["[]", "[1]", "[{}]", #"[{"error":null}]"#, #"["error"]"#])
    func anotherArrayIsNoEvent(_ data: String) async {
        let stream = Event.sse(Self.chunks[2]) + Event.sse(data)
        let outcome = await Self.fixture([Self.script([Array(stream.utf8)]), Self.script([Self.bytes])]).run()
        #expect(outcome.report.attempts.first?.outcome == "event.undecodable")
    }

    @Test(arguments: [
        (Event.created, "OpenAI's Responses API"),
        (#"{"type":"message_start","message":{"id":"m","role":"assistant"}}"#, "Anthropic's Messages API"),
    ])
    func anotherAPIIsNamed(_ event: String, _ name: String) async {
        let outcome = await Self.fixture([Self.script([Array(Event.sse(event).utf8)])]).run()
        #expect(outcome.clientError?.tag == "event.other-api")
        #expect(outcome.clientError?.safeDescription.hasPrefix("This endpoint speaks \(name) and not the API") == true)
        #expect(outcome.report.attempts.count == 1)
    }

    @Test func anAnswerOverTheLimitIsTooLarge() async {
        let fixture = TurnFixture([Self.script([Self.bytes])]) {
            $0.dialect = .chatCompletions
            $0.limits.eventByteCount = 300
            $0.maxHTTPRetries = 0
        }
        let long = Event.sse(#"{"choices":[{"index":0,"delta":{"content":"\#(String(repeating: "x", count: 200))"}}]}"#)
        let other = TurnFixture([Self.script([Array((long + long).utf8)])]) {
            $0.dialect = .chatCompletions
            $0.limits.eventByteCount = 300
            $0.maxHTTPRetries = 0
        }
        Self.expectWhole(await fixture.run(), at: 0)
        #expect(await other.run().clientError?.tag == "event.too-large")
    }
}
