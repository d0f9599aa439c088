// Errors that gateways put into a stream of status code 200, and endpoints of other APIs.
import StreamSession
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct UntypedEventTests {
    private static let stream = ScriptStep.opened(200, fields: ["content-type": "text/event-stream"])

    private static func turn(
        _ body: String, isHTTP: Bool, then rest: [[ScriptStep]] = []
    ) async -> (outcome: TurnOutcome, fixture: TurnFixture) {
        let script: [ScriptStep] =
            isHTTP
            ? [Self.stream, .body(Event.sse(Event.created)), .body(Event.sse(body)), .ended(.complete)]
            : .webSocket(Event.created, body)
        let fixture = TurnFixture([script] + rest) {
            $0.policy = isHTTP ? .httpSSEOnly : ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
        }
        return (await fixture.run(), fixture)
    }

    /// The errors of LiteLLM, vLLM and gateways; the attempts, and the error.
    @Test(
        arguments: [
            (#"{"error":{"message":"m","type":"rate_limit_error","code":null}}"#, 3, "response.failed", .rateLimit),
            (#"{"error":{"message":"m","type":"rate_limit_error","code":"429"}}"#, 3, "http.429", .rateLimit),
            (
                #"{"error":{"message":"m","type":"throttling_error","param":null,"code":"429"}}"#, 3, "http.429",
                .rateLimit
            ),
            (
                #"{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}"#, 1,
                "response.failed", .rateLimit
            ),
            (
                #"{"error":{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}}"#, 1,
                "http.400", .validation
            ),
            (
                #"{"object":"error","message":"m","type":"BadRequestError","param":null,"code":400}"#, 1, "http.400",
                .validation
            ),
            (#"{"type":"permission_error","message":"m"}"#, 1, "response.failed", .permission),
            (
                #"{"error":{"message":"m","type":"invalid_request_error","code":"context_length_exceeded"}}"#, 1,
                "response.failed", .validation
            ),
            (#"{"error":{"message":"m","type":"permission_error"}}"#, 1, "response.failed", .permission),
            (#"{"error":{"message":"m","type":"api_error"}}"#, 1, "response.failed", .server),
            (#"{"error":"Internal error"}"#, 1, "response.failed", .server),
            (#"{"status":503,"error":{"message":"m"}}"#, 6, "http.503", .server),
            // Google's servers.
            (#"[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]"#, 1, "http.400", .validation),
            (" [ {\"error\":{\"code\":503,\"message\":\"m\"}}, 1]", 6, "http.503", .server),
            (#"{"type":"about:blank","title":"Bad Gateway","status":502}"#, 6, "http.502", .server),
        ] as [(String, Int, String, ChappieErrorCategory)], [false, true])
    func errorWithoutATypeIsTheServers(row: (String, Int, String, ChappieErrorCategory), isHTTP: Bool) async {
        let (body, attempts, tag, category) = row
        let again: [ScriptStep] =
            isHTTP
            ? [Self.stream, .body(Event.sse(body)), .ended(.complete)] : .webSocket(body)
        let (outcome, fixture) = await Self.turn(body, isHTTP: isHTTP, then: Array(repeating: again, count: 20))
        #expect(outcome.report.attempts.count == attempts)
        #expect(outcome.clientError?.tag == tag)
        #expect(outcome.clientError?.category == category)
        #expect(fixture.transport.connections.count == attempts)
    }

    /// The flat bodies of refusals, as messages or as data in the middle of a stream: FastAPI's, AWS API Gateway's and
    /// Lambda's, xAI's, Cloudflare's, that of a status code, and problems (RFC 9457).
    @Test(
        arguments: [
            (#"{"message":"m","code":"invalid_prompt"}"#, "response.failed", .validation, "m"),
            (#"{"message":"m","code":401}"#, "auth.reauthentication-required", .auth, "m"),
            (
                #"{"message":"Internal server error","connectionId":"c","requestId":"r"}"#, "response.failed", .server,
                "Internal server error"
            ),
            (#"{"detail":"Not Found"}"#, "response.failed", .server, "Not Found"),
            (#"{"detail":"Not Found","status":404}"#, "http.404", .validation, "Not Found"),
            (#"{"detail":[{"loc":["body","input"],"msg":"m"}]}"#, "response.failed", .server, "body.input: m"),
            (#"{"detail":{"message":"m","code":"unsupported_value"}}"#, "response.failed", .validation, "m"),
            (#"{"error":"m"}"#, "response.failed", .server, "m"),
            (#"{"title":"Not Found","status":404}"#, "http.404", .validation, "Not Found"),
            (#"{"type":"https://a.example/p","title":"t","status":400,"detail":"m"}"#, "http.400", .validation, "m"),
            (#"{"code":"invalid-argument","error":"m"}"#, "response.failed", .validation, "m"),
            (
                #"{"result":null,"success":false,"errors":[{"code":7009,"message":"m"}],"messages":[]}"#,
                "response.failed", .server, "m"
            ),
            (
                #"{"success":false,"result":[],"messages":[],"error":[{"code":2001,"message":"m"}]}"#,
                "response.failed", .server, "m"
            ),
            (#"{"errors":[{"message":"m","code":"unsupported_value"}]}"#, "response.failed", .validation, "m"),
            (#"{"errorMessage":"m","errorType":"Sandbox.Timedout"}"#, "response.failed", .server, "m"),
            // Mistral's and Doubleword's.
            (
                #"{"code":"1500","message":"m","object":"error","raw_status_code":400,"type":"invalid_model"}"#,
                "http.400", .validation, "m"
            ),
            (#"{"object":"error","message":"m","type":"invalid_model"}"#, "response.failed", .validation, "m"),
            (#"{"code":400,"message":"m","type":"Bad Request"}"#, "http.400", .validation, "m"),
            (#"{"status":404,"message":"m","type":"absent"}"#, "http.404", .validation, "m"),
        ] as [(String, String, ChappieErrorCategory, String)], [false, true])
    func flatBodyWithoutATypeIsTheServersError(
        row: (String, String, ChappieErrorCategory, String), isHTTP: Bool
    ) async {
        let (body, tag, category, words) = row
        for before in [[], [Event.created], [Event.created, Event.text("a")]] {
            let events = before + [body]
            let script: [ScriptStep] =
                isHTTP
                ? [Self.stream] + events.map { .body(Event.sse($0)) } + [.ended(.complete)]
                : [.opened(101), .request] + events.map { .text($0) }
            let fixture = TurnFixture([script]) {
                $0.policy = isHTTP ? .httpSSEOnly : ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
            }
            let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
            let outcome = await TurnFixture.read(handle)
            #expect(outcome.clientError?.tag == tag, "\(body)")
            #expect(outcome.clientError?.category == category, "\(body)")
            #expect(handle.serverMessage == words, "\(body)")
            #expect(outcome.report.attempts.count == 1)
        }
    }

    /// The data of an event with a type of its own may be about a message.
    @Test func namedEventWithAMessageIsNotAnError() async {
        let progress = "event: progress\ndata: {\"message\":\"Loading the model\"}\n\n"
        let fixture = TurnFixture([
            [
                Self.stream, .body(Event.sse(Event.created)), .body(progress), .body(Event.sse(Event.text("a"))),
                .body(Event.sse(Event.completed)), .ended(.complete),
            ]
        ]) { $0.policy = .httpSSEOnly }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(outcome.text == "a")
    }

    @Test(arguments: [false, true]) func untypedUsageLimitErrorIsAUsageLimit(isHTTP: Bool) async {
        let (outcome, _) = await Self.turn(
            #"{"error":{"type":"usage_limit_reached","message":"m","plan_type":"plus"}}"#, isHTTP: isHTTP)
        #expect(outcome.clientError?.tag == "usage-limit")
    }

    /// Objects without content pad a stream, as before.
    @Test(
        arguments: [
            #"{}"#, #"{"error":null}"#, #"{"error":""}"#, #"{"ping":1}"#, #"{"object":"x"}"#, #"{"message":""}"#,
            #"{"message":null,"code":null}"#, #"{"message":{"role":"assistant"}}"#, #"{"detail":[]}"#, #"{"code":"x"}"#,
            #"{"title":"x"}"#, #"{"title":"x","status":200}"#, #"{"type":"a:b","status":201,"detail":"x"}"#,
            #"{"type":"a:b","detail":"x"}"#, #"{"type":"progress","message":"x"}"#, #"{"errors":[]}"#,
            #"{"errors":{"a":"b"}}"#, #"{"error":[],"errors":[]}"#, #"{"errorMessage":null}"#, #"{"errors":["x"]}"#,
            #"{"type":"progress","message":"x","code":7}"#, #"{"type":"progress","message":"x","status":201}"#,
            #"{"type":"progress","code":404}"#, #"{"type":"progress","object":"error"}"#,
            #"{"type":"tool.progress","message":"x","code":404}"#,
            #"{"type":"response.tool.failed","message":"x","code":404,"object":"error"}"#,
        ], [false, true])
    func paddingIsNotAnError(body: String, isHTTP: Bool) async {
        let script: [ScriptStep] =
            isHTTP
            ? .eventStream(Event.created, body, Event.text("a"), body, Event.completed)
            : .webSocket(Event.created, body, Event.text("a"), body, Event.completed)
        let fixture = TurnFixture([script]) { if isHTTP { $0.policy = .httpSSEOnly } }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(outcome.text == "a")
    }

    /// An event whose type is only in the event stream's field.
    @Test(
        arguments: [
            ("event: error\ndata: {\"message\":\"m\",\"code\":\"invalid_prompt\"}\n\n", "response.failed", .validation),
            (
                "event: error\ndata: {\"type\":\"permission_error\",\"message\":\"m\"}\n\n", "response.failed",
                .permission
            ),
            ("event: error\ndata: {\"error\":{\"code\":400}}\n\n", "http.400", .validation),
            ("event: error\ndata: Internal Server Error\n\n", "response.failed", .server),
            ("event: error\ndata:\n\n", "response.failed", .server),
            ("event: error\ndata: [1]\n\n", "response.failed", .server),
            (
                "event: error\ndata: {\"type\":\"error\",\"code\":\"invalid_prompt\"}\n\n", "response.failed",
                .validation
            ),
        ] as [(String, String, ChappieErrorCategory)])
    func errorEventFieldMakesTheEventAServerError(body: String, tag: String, category: ChappieErrorCategory) async {
        let fixture = TurnFixture([[Self.stream, .body(Event.sse(Event.text("a"))), .body(body), .ended(.complete)]]) {
            $0.policy = .httpSSEOnly
        }
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(outcome.clientError?.tag == tag)
        #expect(outcome.clientError?.category == category)
        #expect(outcome.report.attempts.count == 1)
    }

    // MARK: Other APIs

    private static let otherAPIs = [
        (
            #"{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"}}]}"#,
            "OpenAI's Chat Completions API"
        ),
        (#"{"choices":[]}"#, "OpenAI's Chat Completions API"),
        (#"{"type":"message_start","message":{"id":"msg_1","role":"assistant"}}"#, "Anthropic's Messages API"),
    ]

    @Test(arguments: otherAPIs) func otherAPIIsNamedAfterOneAttemptOverHTTP(event: String, name: String) async {
        let fixture = TurnFixture(Array(repeating: .eventStream(event), count: 9)) { $0.policy = .httpSSEOnly }
        await Self.expect(name, of: fixture, attempts: 1)
    }

    @Test(arguments: otherAPIs) func otherAPIIsNamedAfterOneAttemptATransport(event: String, name: String) async {
        let fixture = TurnFixture([.webSocket(event)] + Array(repeating: .eventStream(event), count: 9))
        await Self.expect(name, of: fixture, attempts: 2)
    }

    private static func expect(_ name: String, of fixture: TurnFixture, attempts: Int) async {
        let outcome = await fixture.run()
        #expect(outcome.clientError?.tag == "event.other-api")
        #expect(outcome.clientError?.safeDescription.hasPrefix("This endpoint speaks \(name) and not the ") == true)
        #expect(outcome.clientError?.isRetryable == false)
        #expect(outcome.report.attempts.count == attempts)
        #expect(outcome.text.isEmpty)
    }
}
