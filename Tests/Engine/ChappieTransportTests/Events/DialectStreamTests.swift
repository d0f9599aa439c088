import StreamTransport
import Testing

@testable import ChappieTransport

/// An answer in another API than Responses, which says the same in each.
struct DialectSample: Sendable, CustomTestStringConvertible {
    let dialect: ChappieDialect
    /// The data of the events.
    let events: [String]
    /// The number of events up to the last delta of text.
    let textEnd: Int
    /// The number of events up to the one with the reason to end, with which a body may end in order.
    let finishedEnd: Int

    var testDescription: String { self.dialect.rawValue }
    var bytes: [UInt8] { Array((": hi\n\n" + self.events.map(Event.sse).joined()).utf8) }

    /// The number of bytes up to an event, its empty line left out.
    func byteCount(to eventCount: Int) -> Int {
        Array((": hi\n\n" + self.events.prefix(eventCount).map(Event.sse).joined()).utf8).count - 1
    }

    static let all = [
        Self(
            dialect: .chatCompletions,
            events: [
                #"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
                #"{"id":"c","choices":[{"index":0,"delta":{"reasoning":"é"}}]}"#,
                #"{"id":"c","choices":[{"index":0,"delta":{"content":"Hé "}}]}"#,
                #"{"id":"c","choices":[{"index":0,"delta":{"content":"😀"}}]}"#,
                #"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"i","function":{"name":"f","arguments":"{\"a\":"}}]}}]}"#,
                #"{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}"#,
                #"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#, "[DONE]",
            ], textEnd: 4, finishedEnd: 7),
        Self(
            dialect: .messages,
            events: [
                #"{"type":"message_start","message":{"id":"m","content":[]}}"#,
                #"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"é"}}"#,
                #"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
                #"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hé "}}"#,
                #"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"😀"}}"#,
                #"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"i","name":"f","input":{}}}"#,
                #"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}"#,
                #"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#, #"{"type":"message_stop"}"#,
            ], textEnd: 5, finishedEnd: 9),
    ]
}

/// The event streams of other APIs than Responses, split and cut at every byte.
@Suite struct DialectStreamTests {
    private static func script(_ pieces: [[UInt8]], _ end: TransportEnd = .complete) -> [ScriptStep] {
        [.opened(200, fields: ["content-type": "text/event-stream", "content-length": "9"])]
            + pieces.map { .bodyBytes($0) } + [.ended(end)]
    }

    private static func fixture(_ sample: DialectSample, _ scripts: [[ScriptStep]]) -> TurnFixture {
        TurnFixture(scripts) {
            $0.dialect = sample.dialect
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

    @Test(arguments: DialectSample.all) func everySplitSaysTheSame(_ sample: DialectSample) async {
        for place in 1..<sample.bytes.count {
            let pieces = [Array(sample.bytes[..<place]), Array(sample.bytes[place...])]
            let outcome = await Self.fixture(sample, [Self.script(pieces)]).run()
            Self.expectWhole(outcome, at: place)
            #expect(outcome.outcomes == ["completed"])
        }
        let outcome = await Self.fixture(sample, [Self.script(sample.bytes.map { [$0] })]).run()
        Self.expectWhole(outcome, at: 0)
    }

    @Test(arguments: DialectSample.all) func everyTruncationIsRecoveredOnce(_ sample: DialectSample) async {
        for place in 0..<sample.bytes.count {
            let cut = Self.script([Array(sample.bytes[..<place])])
            let outcome = await Self.fixture(sample, [cut, Self.script([sample.bytes])]).run()
            Self.expectWhole(outcome, at: place)
            #expect(
                outcome.report.attempts.count == (place < sample.byteCount(to: sample.finishedEnd) - 1 ? 2 : 1),
                "\(place)")
        }
    }

    @Test(arguments: DialectSample.all) func everyLossIsRecoveredOnce(_ sample: DialectSample) async {
        let loss = TransportEnd.failed(TransportFailure(phase: .stream, cause: .connectionLost))
        // Behind the mark the answer is complete.
        for place in 0..<(sample.bytes.count - 1) {
            let cut = Self.script([Array(sample.bytes[..<place])], loss)
            let outcome = await Self.fixture(sample, [cut, Self.script([sample.bytes])]).run()
            Self.expectWhole(outcome, at: place)
            #expect(outcome.report.attempts.count == 2, "\(place)")
        }
    }

    @Test(arguments: DialectSample.all) func anotherAnswerIsRefusedAtEveryByteBehindText(_ sample: DialectSample) async
    {
        let other = sample.events.map { $0.replacing("😀", with: "!") }
        let whole = Array(other.map(Event.sse).joined().utf8)
        let start = sample.byteCount(to: sample.textEnd) + 1
        for place in start..<sample.byteCount(to: sample.finishedEnd) - 1 {
            let cut = Self.script([Array(sample.bytes[..<place])])
            let outcome = await Self.fixture(sample, [cut, Self.script([whole])]).run()
            #expect(outcome.clientError == .streamingTransportReplayDiverged("Hé 😀"), "\(place)")
            #expect(outcome.events.last != .completed)
        }
    }

    @Test(arguments: DialectSample.all) func noWebSocketIsTriedAndNoPartIsSentBack(_ sample: DialectSample) async {
        let fixture = Self.fixture(
            sample,
            [
                Self.script([Array(sample.bytes[..<(sample.bytes.count / 2)])]), Self.script([sample.bytes]),
            ])
        Self.expectWhole(await fixture.run(), at: 0)
        let requests = fixture.transport.requests
        #expect(requests.map(\.endpoint.target) == Array(repeating: "/v1\(sample.dialect.path)", count: 2))
        let bodies = requests.compactMap { request -> [UInt8]? in
            guard case .post(let body) = request.exchange else { return nil }
            return body
        }
        #expect(bodies.count == 2 && bodies.first == bodies.last)
    }

    @Test(arguments: DialectSample.all) func pingsAndPaddingAreSignsOfLife(_ sample: DialectSample) async {
        let stream =
            ": ping\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\ndata: {}\n\n"
            + sample.events.map(Event.sse).joined(separator: ": keepalive\n\n")
        Self.expectWhole(await Self.fixture(sample, [Self.script([Array(stream.utf8)])]).run(), at: 0)
    }

    @Test(arguments: DialectSample.all) func anErrorEventIsTheServers(_ sample: DialectSample) async {
        let error = #"{"error":{"message":"m","code":"invalid_value"}}"#
        let stream = sample.events.prefix(sample.textEnd).map(Event.sse).joined() + "event: error\n" + Event.sse(error)
        let outcome = await Self.fixture(sample, [Self.script([Array(stream.utf8)])]).run()
        #expect(outcome.text == "Hé 😀")
        #expect(outcome.clientError?.tag == "response.failed")
        #expect(outcome.clientError?.category == .validation)
        #expect(outcome.report.attempts.count == 1)
    }

    @Test(arguments: DialectSample.all, ["", "event: error\n"])
    func anErrorInAnArrayIsTheServers(_ sample: DialectSample, _ name: String) async {
        let error = #"[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]"#
        let stream = sample.events.prefix(sample.textEnd).map(Event.sse).joined() + name + Event.sse(error)
        let outcome = await Self.fixture(sample, [Self.script([Array(stream.utf8)])]).run()
        #expect(outcome.text == "Hé 😀")
        #expect(outcome.clientError?.tag == "http.400")
        #expect(outcome.clientError?.category == .validation)
        #expect(outcome.report.attempts.count == 1)
    }

    @Test(arguments: DialectSample.all, ["[]", "[1]", "[{}]", #"[{"error":null}]"#, #"["error"]"#])
    func anotherArrayIsNoEvent(_ sample: DialectSample, _ data: String) async {
        let stream = sample.events.prefix(sample.textEnd).map(Event.sse).joined() + Event.sse(data)
        let outcome = await Self.fixture(
            sample, [Self.script([Array(stream.utf8)]), Self.script([sample.bytes])]
        ).run()
        #expect(outcome.report.attempts.first?.outcome == "event.undecodable")
    }

    @Test(arguments: [
        (ChappieDialect.chatCompletions, Event.created, "OpenAI's Responses API"),
        (.chatCompletions, #"{"type":"message_start","message":{"id":"m"}}"#, "Anthropic's Messages API"),
        (.messages, Event.created, "OpenAI's Responses API"),
        (.messages, #"{"choices":[{"index":0,"delta":{}}]}"#, "OpenAI's Chat Completions API"),
    ])
    func anotherAPIIsNamed(_ dialect: ChappieDialect, _ event: String, _ name: String) async {
        let fixture = TurnFixture([Self.script([Array(Event.sse(event).utf8)])]) { $0.dialect = dialect }
        let outcome = await fixture.run()
        #expect(outcome.clientError?.tag == "event.other-api")
        #expect(outcome.clientError?.safeDescription.hasPrefix("This endpoint speaks \(name) and not the API") == true)
        #expect(outcome.report.attempts.count == 1)
    }

    @Test(arguments: DialectSample.all) func anAnswerOverTheLimitIsTooLarge(_ sample: DialectSample) async {
        func outcome(_ events: [String]) async -> TurnOutcome {
            await TurnFixture([Self.script([Array(events.map(Event.sse).joined().utf8)])]) {
                $0.dialect = sample.dialect
                $0.limits.eventByteCount = 300
                $0.maxHTTPRetries = 0
            }.run()
        }
        Self.expectWhole(await outcome(sample.events), at: 0)
        let long = sample.events[sample.textEnd - 1].replacing("😀", with: String(repeating: "x", count: 160))
        #expect(await outcome([sample.events[0], long, long]).clientError?.tag == "event.too-large")
    }

    @Test(
        arguments: [
            (nil, "x-api-key", "k"), ("Authorization", "Authorization", "Bearer k"), ("api-key", "api-key", "k"),
        ] as [(String?, String, String)])
    func messagesHasAVersionAndAFieldForTheKey(_ name: String?, _ field: String, _ value: String) async {
        let fixture = TurnFixture([Self.script([DialectSample.all[1].bytes])]) {
            $0.dialect = .messages
            $0.credential = { _ in ChappieCredential(bearerToken: "k") }
            $0.credentialFieldName = name
        }
        _ = await fixture.run()
        let fields = fixture.transport.requests.first?.fields ?? []
        #expect(fields.contains { $0.isNamed("anthropic-version") && $0.value == "2023-06-01" })
        #expect(fields.filter { $0.value.hasSuffix("k") }.map(\.name) == [field])
        #expect(fields.contains { $0.isNamed(field) && $0.value == value })
    }
}
