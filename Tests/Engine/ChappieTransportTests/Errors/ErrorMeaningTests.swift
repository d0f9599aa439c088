// The engine's reaction to an error code, compared with the facts of the public error.
import StreamSession
import Testing

@testable import ChappieTransport

@Suite struct ErrorMeaningTests {
    private static let statusCodes = [400, 401, 403, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503, 529]

    /// Every code and type of the table, and some that it lacks.
    static let names = ErrorMeaning.names + ["something_new", ""]

    /// Returns the guidance for a caller after the engine has handled a failure.
    private static func guidance(after failureClass: FailureClass) -> ChappieRetryGuidance {
        switch failureClass {
        case .credential: .refreshAuthThenRetry
        case .throttle: .retryWithBackoff(afterSeconds: 30)
        case .transient, .server: .retryWithBackoff(afterSeconds: 5)
        case .definite, .probable, .offline, .size, .usageLimit, .fatal: .none
        }
    }

    @Test(arguments: names) func failedResponseHasTheGuidanceThatTheEngineFollows(name: String) {
        let error = ChappieClientError.responseTerminalFailure(
            ChappieResponse(id: nil, status: "failed", errorCode: name))
        for failure in [AttemptFailure.responseFailed, AttemptFailure.errorEvent] {
            // The retry of an unknown error is the caller's decision, as the server has responded.
            guard ErrorMeaning(code: name) != nil else { break }
            let failureClass = failure(RefusalFacts(errorCode: name)).failureClass
            #expect(error.retryGuidance == Self.guidance(after: failureClass))
        }
        #expect(!(error.isRetryable && error.requiresUserAction))
    }

    @Test(arguments: names) func refusedRequestHasTheGuidanceThatTheEngineFollows(name: String) {
        for statusCode in Self.statusCodes {
            for (code, type) in [(name, nil), (nil, name), ("something_new", name)] as [(String?, String?)] {
                let facts = RefusalFacts(statusCode: statusCode, errorCode: code ?? type, errorType: type)
                let members = [code.map { #""code":"\#($0)""# }, type.map { #""type":"\#($0)""# }, #""message":"m""#]
                let body = "{\"error\":{\(members.compactMap { $0 }.joined(separator: ","))}}"
                let error = ChappieClientError.httpError(statusCode, body)
                for failure in [AttemptFailure.httpStatus(facts), .errorEvent(facts)] {
                    #expect(
                        error.retryGuidance == Self.guidance(after: failure.failureClass), "\(statusCode) \(body)")
                }
            }
        }
    }

    @Test(
        arguments: [
            ("server_is_overloaded", .server), ("data_residency_mismatch", .validation),
            ("misalignment_policy_violation", .validation), ("invalid_stream_id", .validation),
            ("websocket_stream_limit_reached", .validation), ("organization_spend_limit_exceeded", .rateLimit),
            ("organization_usage_limit_exceeded", .rateLimit), ("invalid_api_key", .auth),
            ("invalid_request_error", .validation), ("model_not_found", .validation),
            ("failed_to_download_image", .validation), ("usage_not_included", .permission),
            ("content_filter", .validation), ("tool_use_failed", .validation), ("vector_store_timeout", .server),
            ("billing_hard_limit_reached", .rateLimit), ("something_new", .server),
        ] as [(String, ChappieErrorCategory)])
    func codesHaveACategory(code: String, category: ChappieErrorCategory) {
        let response = ChappieResponse(id: nil, status: "failed", errorCode: code)
        #expect(ChappieClientError.responseTerminalFailure(response).category == category)
    }

    /// The server fails in the same way each time: a turn has one attempt exactly when its error says not to retry.
    ///
    /// An error without a row ends it as well, and the caller may send the request again.
    @Test(arguments: names, [true, false])
    func turnIsRetriedExactlyWhenItsErrorIsRetryable(name: String, isResponse: Bool) async {
        let script: [ScriptStep] = .webSocket(
            isResponse ? Event.failed(code: name) : #"{"type":"error","code":"\#(name)","message":"m"}"#)
        let fixture = TurnFixture(Array(repeating: script, count: 20)) {
            $0.policy = ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
            $0.credential = { ChappieCredential(bearerToken: $0 == .connecting ? "old" : "new") }
        }
        let outcome = await fixture.run()
        guard case .reauthenticationRequired? = outcome.clientError else {
            #expect(outcome.clientError != nil)
            let isKnown = ErrorMeaning(code: name) != nil || isResponse
            #expect((outcome.report.attempts.count > 1) == (isKnown && outcome.clientError?.isRetryable == true))
            return
        }
        // A fresh credential was refused as well.
        #expect(outcome.report.attempts.count == 2)
        #expect(ErrorMeaning(code: name)?.failureClass == .credential)
    }

    @Test(arguments: ["usage_limit_reached", "usage_not_included", "insufficient_quota", "slow_down", "", "tokens"])
    func usageLimitNamesDifferFromThrottleNames(name: String) {
        let isLimit = ["usage_limit_reached", "usage_not_included", "insufficient_quota"].contains(name)
        #expect(ErrorMeaning.isUsageLimit(name) == isLimit)
    }
}
