// The words of errors: that they follow the facts, and name what a person can do.
import HTTPProtocol
import ResponseEvents
import StreamSession
import Testing

@testable import ChappieTransport
@testable import TransportSurface

@Suite struct ErrorWordsTests {
    private static let page = "<html><title>T</title></html>"

    private static func failure(
        _ code: FailureCode, _ phase: ChappieTransportFailure.Phase = .stream,
        _ set: (inout ChappieTransportFailure.Details) -> Void = { _ in }
    ) -> ChappieClientError {
        var details = ChappieTransportFailure.Details()
        set(&details)
        return .transport(
            ChappieTransportFailure(
                code: .init(code), phase: phase, transport: .webSocket,
                progress: (attempts: 1, replaySafety: .sentNoOutput), details: details))
    }

    private static func failedResponse(
        code: String?, type: String? = nil, status: String = "failed", message: String? = "m"
    ) -> ChappieClientError {
        var response = ChappieResponse(id: nil, status: status, errorCode: code ?? type, errorMessage: message)
        response.errorType = type
        return .responseTerminalFailure(response)
    }

    private static func body(code: String?, type: String?) -> String {
        let members = [code.map { #""code":"\#($0)""# }, type.map { #""type":"\#($0)""# }, #""message":"m""#]
        return "{\"error\":{\(members.compactMap { $0 }.joined(separator: ","))}}"
    }

    private static func expectConsistentWords(_ error: ChappieClientError) {
        let advice = error.recoverySuggestion?.lowercased() ?? ""
        let advisesAnotherTry = advice.contains("try again") || advice.contains("ask again.")
        #expect(error.isRetryable || !advisesAnotherTry, "\(error)")
    }

    @Test func wordsAdviseAnotherTryOnlyAfterARetryableError() {
        for statusCode in 100...999 {
            for body in ["", "words", Self.page] { Self.expectConsistentWords(.httpError(statusCode, body)) }
        }
        for name in ErrorMeaning.names + ["something_new", "400", "501"] {
            for message in ["m", nil] { Self.expectConsistentWords(Self.failedResponse(code: name, message: message)) }
            for statusCode in [400, 429, 500, 501] {
                Self.expectConsistentWords(.httpError(statusCode, Self.body(code: name, type: nil)))
            }
        }
        for status in ["failed", "incomplete", "cancelled"] {
            Self.expectConsistentWords(Self.failedResponse(code: nil, status: status))
        }
        for closeCode in 1_000...1_015 {
            Self.expectConsistentWords(Self.failure(.webSocketClosed) { $0.closeCode = closeCode })
        }
        let details =
            AttemptFailure.TimeBudget.allCases.map(\.rawValue) + ["no-event", "ended-in-order", "unfinished-event"]
            + (0...255).compactMap { TLSRefusal(alert: $0)?.rawValue }
        for code in FailureCode.allCases {
            for phase in ChappieTransportFailure.Phase.allCases {
                Self.expectConsistentWords(Self.failure(code, phase))
                for detail in details { Self.expectConsistentWords(Self.failure(code, phase) { $0.detail = detail }) }
            }
        }
    }

    /// Errors that servers were recorded to send, with their status codes: in band, without the status code, each means
    /// the same.
    @Test(
        arguments: [
            (nil, "overloaded_error", 529), ("RateLimitReached", nil, 429), (nil, "rate_limit_error", 429),
            (nil, "not_found_error", 404), ("DeploymentNotFound", "invalid_request_error", 404),
            (nil, "authentication_error", 401), ("invalid_request_error", "authentication_error", 401),
            ("401", nil, 401), ("forbidden", "invalid_request_error", 403),
            ("tool_use_failed", "invalid_request_error", 400),
            ("1500", "invalid_model", 400), ("400", "exceed_context_size_error", 400), ("429", nil, 429),
            ("500", "server_error", 500), ("404", "NotFoundError", 404),
        ] as [(String?, String?, Int)])
    func errorInBandMeansWhatItsStatusCodeMeans(code: String?, type: String?, statusCode: Int) {
        let inBand = RefusalFacts(errorCode: code ?? type, errorType: type)
        let withStatusCode = RefusalFacts(statusCode: statusCode, errorCode: code ?? type, errorType: type)
        for failure in [AttemptFailure.errorEvent(inBand), .responseFailed(inBand)] {
            #expect(failure.failureClass == AttemptFailure.httpStatus(withStatusCode).failureClass)
        }
        let error = Self.failedResponse(code: code, type: type)
        let refusal = ChappieClientError.httpError(statusCode, Self.body(code: code, type: type))
        #expect(error.category == refusal.category)
        #expect(error.retryGuidance == refusal.retryGuidance)
        #expect(error.requiresUserAction == refusal.requiresUserAction)
        #expect(error.shouldReport == refusal.shouldReport)
        #expect(error.recoverySuggestion == refusal.recoverySuggestion)
    }

    @Test(arguments: ["api_error", "1500", "399", "600", ""])
    func nameWithoutAKnownStatusCodeHasNoMeaning(name: String) {
        #expect(ErrorMeaning(code: name) == nil)
    }

    @Test(
        arguments: [
            (501, "Ask the server's operator: the same request would fail again."),
            (505, "Ask the server's operator: the same request would fail again."),
            (600, "Ask the server's operator: the same request would fail again."), (413, "Send a smaller request."),
            (
                407,
                "A proxy on the way demands a user name and a password: put them into the proxy's URL, or ask its "
                    + "operator."
            ), (426, "Check the address and the request."), (500, "Try again in a moment."),
        ])
    func statusCodeLeadsToItsRemedy(statusCode: Int, advice: String) {
        #expect(ChappieClientError.httpError(statusCode, "words").recoverySuggestion == advice)
    }

    @Test func delayThatTheServerAskedForIsInTheWords() {
        let stated = { (text: String) in RetryDelay.refusal(text, stating: 6_500) }
        for body in ["", "words", #"{"error":{"message":"m"}}"#] {
            #expect(
                ChappieClientError.httpError(429, stated(body)).recoverySuggestion
                    == "Wait 7 s, and send fewer requests.")
            #expect(ChappieClientError.httpError(503, stated(body)).recoverySuggestion == "Try again in 7 s.")
            #expect(ChappieClientError.httpError(400, stated(body)).recoverySuggestion?.contains("7 s") == false)
        }
        let limited = Self.failedResponse(code: "rate_limit_exceeded", message: "Please try again in 12s.")
        #expect(limited.recoverySuggestion == "Wait 12 s, and send fewer requests.")
    }

    @Test(
        arguments: [
            (
                .firstEvent, "The answer did not begin in time",
                "Check the network, or allow more time for its beginning."
            ),
            (.idle, "The server sent nothing for too long", "Check the network, or allow a longer silence."),
            (
                .progress, "The server sent signs of life and no content for too long",
                "Ask the server's operator, or allow more time without content."
            ),
            (
                .total, "The time for all attempts together ran out", "Allow more time in all, or ask for less."
            ),
        ] as [(AttemptFailure.TimeBudget, String, String)])
    func timeLimitIsNamed(budget: AttemptFailure.TimeBudget, problem: String, advice: String) throws {
        let (code, details) = try #require(AttemptFailure.timeout(budget).codeAndDetails)
        let error = Self.failure(code.kind) { $0 = details }
        #expect(error.tag == "timeout.stream")
        #expect(error.failureReason == "\(problem) (while reading the response, WebSocket, 1 attempt).")
        #expect(error.recoverySuggestion == advice)
    }

    // MARK: Turns

    /// The engine cannot remove the caller's own reference, so the same request fails each time.
    @Test(arguments: [false, true]) func unknownResponseOfTheCallerIsAskedForOnce(isHTTP: Bool) async {
        let error =
            #""error":{"type":"invalid_request_error","code":"previous_response_not_found","message":"not found"}}"#
        let script: [ScriptStep] =
            isHTTP ? .refusal(400, body: "{" + error) : .webSocket(#"{"type":"error","status":400,"# + error)
        let fixture = TurnFixture(Array(repeating: script, count: 12)) { if isHTTP { $0.policy = .httpSSEOnly } }
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["http.400"])
        #expect(outcome.clientError?.isRetryable == false && outcome.clientError?.requiresUserAction == true)
        #expect(
            outcome.clientError?.recoverySuggestion
                == "Send the whole input without previous_response_id: the server does not have that response.")
    }

    @Test(
        arguments: [
            (
                "https://user:pw@other.example/v2/responses?token=x#f",
                "redirect to https://other.example/v2/responses moved"
            ),
            ("/api/v1/responses", "redirect to https://api.example/api/v1/responses moved"), (nil, "moved"),
        ] as [(String?, String)], [301, 307, 308])
    func redirectNamesItsTarget(_ redirect: (location: String?, message: String), statusCode: Int) async {
        let fields = redirect.location.map { ["location": $0] } ?? [:]
        let fixture = TurnFixture([.refusal(statusCode, body: "moved", fields: fields)]) {
            $0.policy = .httpSSEOnly
        }
        let outcome = await fixture.run()
        #expect(fixture.transport.requests.first?.capturedFieldNames.contains("location") == true)
        #expect(outcome.outcomes == ["http.\(statusCode)"])
        #expect(outcome.clientError?.serverMessage == redirect.message)
        let page = await TurnFixture([.refusal(statusCode, body: Self.page, fields: fields)]) {
            $0.policy = .httpSSEOnly
        }.run()
        let message = #"an HTML page with the title "T""#
        let wordsOfPage = redirect.location == nil ? message : String(redirect.message.dropLast(" moved".count))
        #expect(page.clientError?.serverMessage == wordsOfPage)
        #expect(
            outcome.clientError?.recoverySuggestion
                == "Redirects are not followed. If the server names its address, set the base URL to that, without "
                + "the path of the API, such as /responses.")
    }

    /// RFC 9110 section 15.5.22: the server refuses the protocol, as with a status code that answers the upgrade.
    @Test func upgradeThatIsRequiredInBandLeadsToHTTP() async {
        let refused: [ScriptStep] = .webSocket(
            #"{"type":"error","status":426,"error":{"type":"invalid_request_error","message":"m"}}"#)
        let outcome = await TurnFixture([refused, .eventStream(Event.text("a"), Event.completed)]).run()
        #expect(outcome.error == nil && outcome.text == "a")
        #expect(outcome.outcomes == ["http.426", "completed"])
        #expect(outcome.report.attempts.map(\.transport) == [.webSocket, .httpSSE])
    }

    @Test func compressedStreamWhoseHeadDoesNotSaySoIsNamed() async {
        let script: [ScriptStep] = [
            .opened(200, fields: ["content-type": "text/event-stream"]), .bodyBytes([0x1F, 0x8B, 8, 0, 10, 10]),
            .ended(.complete),
        ]
        let outcome = await TurnFixture(Array(repeating: script, count: 8)) { $0.policy = .httpSSEOnly }.run()
        #expect(outcome.outcomes == ["http.content-coding"])
        #expect(outcome.clientError?.serverMessage == nil)
        let refusal: [ScriptStep] = [.opened(400), .bodyBytes([0x1F, 0x8B, 8, 0, 10, 10]), .ended(.complete)]
        let refused = await TurnFixture([refusal]) { $0.policy = .httpSSEOnly }.run()
        #expect(refused.clientError == .httpError(400, ""))
    }
}
