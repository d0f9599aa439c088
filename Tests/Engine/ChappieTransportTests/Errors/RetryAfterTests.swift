// The delay that a server asks for, in the error, in a diagnostic and in the log; and its rate limits.
import HTTPProtocol
import ResponseEvents
import StreamTransport
import Testing

@testable import ChappieTransport

/// The form of a refusal.
private enum Way: CaseIterable, Sendable {
    case post, upgrade, event

    func script(_ statusCode: Int, body: String, retryAfter: String?) -> [ScriptStep] {
        switch self {
        case .post, .upgrade:
            return .refusal(statusCode, body: body, fields: retryAfter.map { ["retry-after": $0] } ?? [:])
        case .event:
            let headers = retryAfter.map { #","headers":{"Retry-After":"\#($0)"}"# } ?? ""
            let error = body.hasPrefix("{") ? "," + body.dropFirst().dropLast() : ""
            return .webSocket(#"{"type":"error","status":\#(statusCode)\#(headers)\#(error)}"#)
        }
    }

    func fixture(_ scripts: [[ScriptStep]], _ change: (inout ChappieTransportConfiguration) -> Void) -> TurnFixture {
        TurnFixture(scripts) {
            $0.policy = self == .post ? .httpSSEOnly : ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
            change(&$0)
        }
    }
}

@Suite struct RetryAfterTests {
    private static let json = #"{"error":{"code":"slow_down","message":"m"}}"#

    // MARK: The error

    @Test(arguments: Way.allCases, [("3", 3.0), ("45", 45), ("2.5", 2.5), ("86400", 86_400)])
    fileprivate func finalRefusalHasTheServersDelay(way: Way, delay: (String, Double)) async {
        for body in [Self.json, "", "<html><title>Slow</title></html>", "slow down\n", "[1]", "{\"a\": 1}"] {
            let script = way.script(429, body: body, retryAfter: delay.0)
            let outcome = await way.fixture([script]) { $0.rateLimitBackoff = .disabled }.run()
            #expect(outcome.clientError?.tag == "http.429")
            #expect(outcome.clientError?.retryGuidance == .retryWithBackoff(afterSeconds: delay.1), "\(body)")
            #expect(outcome.clientError?.retryAfter == .milliseconds(Int(delay.1 * 1_000)))
            guard case .httpError(429, let text)? = outcome.clientError, way != .event else { continue }
            if body == Self.json {
                #expect(
                    text == #"{"error":{"code":"slow_down","message":"m"},"headers":{"retry-after":"\#(delay.0)"}}"#)
            }
            if !body.hasPrefix("{") { #expect(text.hasPrefix(body) && text.hasSuffix("retry-after: \(delay.0)")) }
        }
    }

    /// The delay in the text of the error is for programs.
    @Test(
        arguments: [
            ("", nil), ("slow down\n", "slow down"), ("a\nretry-after: x", "a retry-after: x"), ("{}", "{}"),
            (#"{"headers":{"a":"b"}}"#, #"{"headers":{"a":"b","retry-after":"3"}}"#),
            ("<html><title>Slow</title></html>", #"an HTML page with the title "Slow""#), (Self.json, "m"),
            ("[1]", "[1]"),
        ] as [(String, String?)])
    func personIsNotShownTheStatedDelay(body: String, shown: String?) async {
        for statusCode in [429, 400] {
            let script = Way.post.script(statusCode, body: body, retryAfter: "3")
            let outcome = await Way.post.fixture([script]) { $0.rateLimitBackoff = .disabled }.run()
            let error = outcome.clientError
            #expect(error?.retryAfter == .seconds(3))
            #expect(error?.serverMessage == shown)
            #expect(error?.safeDescription.contains("retry-after") == false)
            let isOwn = shown?.contains("retry-after") == true
            #expect(error?.unsafeMessage?.contains("retry-after") == isOwn)
            // A person is not sent to words of the server that there are none of.
            if body.isEmpty { #expect(error?.recoverySuggestion?.contains("the server says") == false) }
        }
    }

    /// The beginning of a secret at the end of a text that is cut is not hidden by the line behind it.
    @Test func secretThatIsCutBeforeTheStatedDelayIsRedacted() async {
        let fixture = TurnFixture([Way.post.script(429, body: "key sk-0123456789abcdef", retryAfter: "3")]) {
            $0.policy = .httpSSEOnly
            $0.rateLimitBackoff = .disabled
            $0.credential = { _ in ChappieCredential(bearerToken: "sk-0123456789abcdef") }
            $0.limits.errorBodyByteCount = "key sk-0123456789abc".utf8.count
        }
        let error = await fixture.run().clientError
        #expect(error?.retryAfter == .seconds(3))
        #expect(error?.unsafeMessage?.contains("0123456789") == false)
        guard case .httpError(429, let text)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!text.contains("0123456789") && text.hasSuffix("\nretry-after: 3"))
    }

    /// A delay of 0 and a date in the past ask for none (RFC 9110 section 5.6.7), and the words name no time.
    ///
    /// openai-python takes a delay over 0 only, and its own backoff otherwise.
    @Test(arguments: Way.allCases, ["0", "0.0", "-3", "Sun, 06 Nov 1994 08:49:37 GMT"])
    fileprivate func delayThatIsOverIsNone(way: Way, delay: String) async {
        for statusCode in [429, 503] {
            let script = way.script(statusCode, body: Self.json.replacing("slow_down", with: "x"), retryAfter: delay)
            let fixture = way.fixture(Array(repeating: script, count: 9)) { _ in }
            let error = await fixture.run().clientError
            #expect(error?.tag == "http.\(statusCode)")
            #expect(error?.retryAfter == nil)
            #expect(error?.retryGuidance == .retryWithBackoff(afterSeconds: statusCode == 429 ? 30 : 5))
            #expect(error?.safeDescription.contains(" 0 s") == false)
            #expect(!fixture.clock.sleeps.isEmpty && !fixture.clock.sleeps.contains(.zero))
        }
    }

    @Test(arguments: Way.allCases) fileprivate func refusalWithoutADelayIsUnchanged(way: Way) async {
        for body in [Self.json, ""] {
            let script = way.script(429, body: body, retryAfter: nil)
            let outcome = await way.fixture([script]) { $0.rateLimitBackoff = .disabled }.run()
            #expect(outcome.clientError?.retryGuidance == .retryWithBackoff(afterSeconds: 30))
            #expect(outcome.clientError?.retryAfter == nil)
            if way != .event { #expect(outcome.clientError == .httpError(429, body)) }
        }
    }

    /// Behind all retries, for any status code that is retried.
    @Test(arguments: [429, 503]) func exhaustedRetriesHaveIt(statusCode: Int) async {
        let script = Way.post.script(statusCode, body: Self.json.replacing("slow_down", with: "x"), retryAfter: "7")
        let outcome = await Way.post.fixture(Array(repeating: script, count: 9)) { _ in }.run()
        #expect(outcome.clientError?.retryGuidance == .retryWithBackoff(afterSeconds: 7))
    }

    @Test func refusalThatIsNotRetriedHasNoGuidance() async {
        let script = Way.post.script(400, body: "{}", retryAfter: "7")
        let outcome = await Way.post.fixture([script]) { _ in }.run()
        #expect(outcome.clientError?.retryGuidance == ChappieRetryGuidance.none)
        #expect(outcome.clientError?.retryAfter == .seconds(7))
    }

    @Test func messageOfARateLimitHasTheDelay() async {
        let message = #""code":"rate_limit_exceeded","message":"Please try again in 1.5s.""#
        let refused = await Way.post.fixture([.refusal(429, body: #"{"error":{\#(message)}}"#)]) {
            $0.rateLimitBackoff = .disabled
        }.run()
        #expect(refused.clientError?.retryGuidance == .retryWithBackoff(afterSeconds: 1.5))
        let failed = await TurnFixture([
            .webSocket(#"{"type":"response.failed","response":{"id":"r","status":"failed","error":{\#(message)}}}"#)
        ]) { $0.rateLimitBackoff = .disabled }.run()
        #expect(failed.clientError?.retryGuidance == .retryWithBackoff(afterSeconds: 1.5))
    }

    @Test(arguments: [1, 250, 1_000, 11_054, RetryDelay.maximum])
    func textThatStatesADelayIsReadAgain(milliseconds: Int) {
        for body in [
            "", "x", "x\n", "{}", "[]", #"{"headers":{"a":"b"}}"#, #"{"headers":[]}"#, "{\"cut", "retry-after: x",
        ] {
            let text = RetryDelay.refusal(body, stating: milliseconds)
            #expect(RefusalText(text).retryAfter == .milliseconds(milliseconds), "\(text)")
            #expect(RetryDelay.refusal(text, stating: milliseconds) == text)
        }
        #expect(RefusalText("retry-after: 3\nmore").retryAfter == nil)
    }

    // MARK: The wait

    @Test(arguments: Way.allCases) fileprivate func waitIsReportedBeforeItBegins(way: Way) async {
        let success: [ScriptStep] = way == .post ? .eventStream(Event.completed) : .webSocket(Event.completed)
        let recorder = WatchRecorder()
        let fixture = way.fixture([way.script(429, body: Self.json, retryAfter: "20"), success]) {
            $0.reportsDiagnostics = true
            recorder.listen(to: &$0)
        }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        let diagnostic = outcome.diagnostics.first { $0.kind == .rateLimited }
        #expect(diagnostic?.delay == .seconds(20))
        #expect(diagnostic?.attempt == 1 && diagnostic?.limit == 2 && diagnostic?.reason == "http.429")
        let line = recorder.entry("The server asks for fewer requests; the turn waits.")
        #expect(line?.tag == "http.429" && line?.category == .rateLimit && line?.delay == .seconds(20))
    }

    @Test func reconnectionHasItsDelayAndCategory() async {
        let recorder = WatchRecorder()
        let fixture = TurnFixture([.broken(Event.created), .webSocket(Event.completed)]) {
            $0.reportsDiagnostics = true
            recorder.listen(to: &$0)
        }
        let outcome = await fixture.run()
        let diagnostic = outcome.diagnostics.first { $0.kind == .reconnecting }
        #expect(diagnostic?.delay == fixture.clock.sleeps.first)
        let line = recorder.entry("The attempt is repeated after a delay.")
        #expect(line?.tag == "ws.close.1006" && line?.category == .network && line?.delay == diagnostic?.delay)
    }

    // MARK: Rate limits

    private static let fields = [
        "content-type": "text/event-stream", "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "499", "x-ratelimit-reset-requests": "120ms",
        "x-ratelimit-limit-tokens": "30000", "x-ratelimit-remaining-tokens": "29000",
        "x-ratelimit-reset-tokens": "6m0s",
    ]

    private static func response(_ script: [ScriptStep], isHTTP: Bool) async -> ChappieResponse? {
        let fixture = TurnFixture([script]) { if isHTTP { $0.policy = .httpSSEOnly } }
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
        let outcome = await TurnFixture.read(handle)
        if case .responseTerminalFailure(let response)? = outcome.clientError { return response }
        return handle.response
    }

    @Test func rateLimitsAreValuesOfTheResponse() async {
        for (isHTTP, end) in [(true, Event.completed), (true, Event.incomplete), (false, Event.completed)] {
            let script: [ScriptStep] =
                isHTTP
                ? [.opened(200, fields: Self.fields), .body(Event.sse(end)), .ended(.complete)]
                : [.opened(101, fields: Self.fields), .request, .text(end)]
            let limits = await Self.response(script, isHTTP: isHTTP)?.rateLimits
            #expect(limits?.requests?.maximum == 500 && limits?.requests?.remaining == 499)
            #expect(limits?.requests?.resetsAfter == .milliseconds(120))
            #expect(limits?.tokens?.maximum == 30_000 && limits?.tokens?.remaining == 29_000)
            #expect(limits?.tokens?.resetsAfter == .seconds(360))
        }
    }

    /// Recorded: Anthropic, with the dates of the resets.
    @Test(arguments: [("2023-11-14T22:14:20Z", 60), ("2020-01-01T00:00:00Z", 0), ("soon", nil)] as [(String, Int?)])
    func anthropicsLimitsHaveDates(_ date: String, _ seconds: Int?) throws {
        let head = ResponseHead(
            statusCode: 429,
            fields: [
                HTTPField("anthropic-ratelimit-requests-limit", "5"),
                HTTPField("anthropic-ratelimit-requests-remaining", "0"),
                HTTPField("anthropic-ratelimit-requests-reset", date),
                HTTPField("anthropic-ratelimit-tokens-limit", "25000"),
            ])
        let limits = try #require(ChappieRateLimits(head, at: 1_700_000_000))
        #expect(limits.requests?.maximum == 5 && limits.requests?.remaining == 0 && limits.tokens?.maximum == 25_000)
        #expect(limits.requests?.resetsAfter == seconds.map { .seconds($0) })
    }

    @Test func valuesThatAreMissingOrWrongAreNil() async {
        let none = await Self.response(.eventStream(Event.completed), isHTTP: true)
        #expect(none != nil && none?.rateLimits == nil)
        let some = await Self.response(
            [
                .opened(
                    200,
                    fields: [
                        "content-type": "text/event-stream", "x-ratelimit-limit-requests": "many",
                        "x-ratelimit-reset-tokens": "7",
                    ]), .body(Event.sse(Event.completed)), .ended(.complete),
            ], isHTTP: true)
        #expect(some?.rateLimits?.requests == nil)
        #expect(some?.rateLimits?.tokens?.resetsAfter == .seconds(7) && some?.rateLimits?.tokens?.maximum == nil)
    }
}
