// The built-in scenarios of error events and of the HTTP transport.
//
// Constants; nobody owns them.

extension ChappieTestServer {
    private typealias ErrorEvent = Fault.ErrorEvent

    private static let usageFields = [
        Field(name: "x-codex-active-limit", value: "premium"), Field(name: "x-codex-plan-type", value: "plus"),
        Field(name: "x-codex-primary-used-percent", value: "100"),
        Field(name: "x-codex-primary-window-minutes", value: "300"),
        Field(name: "x-codex-primary-reset-at", value: String(ErrorBody.usageLimitEnd)),
    ]

    private static func errorScenario(
        _ name: String, _ summary: String, _ expectation: Scenario.Expectation, _ event: ErrorEvent,
        attempts: ClosedRange<Int> = 1...Int.max
    ) -> Scenario {
        Scenario(
            name: name, summary: summary, expectation: expectation,
            faults: [Fault(.error(event: event, afterEvent: 0), attempts: attempts)])
    }

    /// Errors in the stream of either transport.
    static let errorScenarios: [Scenario] = [
        ChappieTestServer.errorScenario(
            "limit", "The first WebSocket has reached its age limit.", .completesAfterRetry,
            ErrorEvent(shape: .nested, status: 400, code: "websocket_connection_limit_reached"), attempts: 1...1),
        ChappieTestServer.errorScenario(
            "prev-nf", "The first attempt's previous response is not found.", .completesAfterRetry,
            ErrorEvent(shape: .nested, status: 400, code: "previous_response_not_found"), attempts: 1...1),
        ChappieTestServer.errorScenario(
            "usage", "The usage limit is reached.", .fails,
            ErrorEvent(shape: .nested, status: 429, type: "usage_limit_reached", fields: ChappieTestServer.usageFields)),
        ChappieTestServer.errorScenario(
            "usage-status-code", "The usage limit is reached, in a frame with `status_code`.", .fails,
            ErrorEvent(
                shape: .nested, status: 429, statusName: "status_code", type: "usage_limit_reached",
                fields: ChappieTestServer.usageFields)),
        ChappieTestServer.errorScenario(
            "err429", "The first attempt is throttled for a second.", .completesAfterRetry,
            ErrorEvent(
                shape: .nested, status: 429, type: "rate_limit_exceeded", code: "rate_limit_exceeded",
                fields: [Field(name: "retry-after", value: "1")]), attempts: 1...1),
        ChappieTestServer.errorScenario(
            "err500", "The first attempt fails with status 500.", .completesAfterRetry,
            ErrorEvent(shape: .nested, status: 500, type: "server_error", code: "server_error"), attempts: 1...1),
        ChappieTestServer.errorScenario(
            "err-nostatus", "An error frame has no status.", .fails, ErrorEvent(shape: .nested, code: "unknown")),
        ChappieTestServer.errorScenario(
            "sse-error", "A flat error event ends the response.", .fails, ErrorEvent(shape: .flat, code: "server_error")
        ),
        Scenario(
            name: "failed", summary: "The response fails in mid-text.", expectation: .completesAfterRetry,
            faults: [Fault(.fail(code: "server_error", afterEvent: 6), attempts: 1...1)]),
        Scenario(
            name: "failed-rl", summary: "The response fails and says how long to wait.",
            expectation: .completesAfterRetry,
            faults: [
                Fault(
                    .fail(
                        code: "rate_limit_exceeded", message: "Rate limit reached. Please try again in 2.5s.",
                        afterEvent: 2), attempts: 1...1)
            ]),
        Scenario(
            name: "incomplete", summary: "The response ends before it is complete.", expectation: .fails,
            faults: [Fault(.incomplete(reason: "max_output_tokens", afterEvent: 60))]),
        Scenario(
            name: "no-terminal", summary: "The first attempt's stream ends in order without a terminal event.",
            expectation: .completesAfterRetry, faults: [Fault(.endWithoutTerminal(), attempts: 1...1)]),
        Scenario(
            name: "sse-done", summary: "`[DONE]` stands before the events.", expectation: .completes,
            faults: [Fault(.insert(payload: "[DONE]", beforeEvent: 1))]),
    ]

    /// Faults of the HTTP transport; upgrades are refused so that it is used.
    static let httpScenarios: [Scenario] = [
        ChappieTestServer.httpScenario(
            "http-cut", "Answers up to the second attempt end after 6 events.", .completesAfterRetry,
            .cutAfterEvent(event: 6), attempts: 1...2),
        ChappieTestServer.httpScenario(
            "http-500", "POSTs up to the second attempt are answered 500.", .completesAfterRetry, .answer(status: 500),
            attempts: 1...2),
        ChappieTestServer.httpScenario(
            "http-429", "POSTs up to the second attempt are answered 429 with Retry-After: 1.", .completesAfterRetry,
            .answer(status: 429, fields: [Field(name: "retry-after", value: "1")]), attempts: 1...2),
        ChappieTestServer.httpScenario(
            "http-429usage", "Every POST is answered with a used-up plan.", .fails,
            .answer(status: 429, fields: ChappieTestServer.usageFields, body: ErrorBody.usageLimit)),
        ChappieTestServer.httpScenario(
            "http-401", "POSTs up to the second attempt are answered 401.", .completesAfterRetry, .answer(status: 401),
            attempts: 1...2),
        ChappieTestServer.httpScenario(
            "http-html", "Every POST is answered 200 with a page.", .fails,
            .answer(status: 200, body: "<!doctype html><title>Sign in</title>")),
        Scenario(
            name: "http-truncated", summary: "Compressed streams up to the second attempt end in mid-response.",
            expectation: .completesAfterRetry,
            faults: [
                Fault(.answer(status: 426), transport: .webSocket),
                Fault(.truncateContent, attempts: 1...2, transport: .http),
                Fault(.endWithoutTerminal(afterEvent: 60), attempts: 1...2, transport: .http),
            ]),
    ]

    private static func httpScenario(
        _ name: String, _ summary: String, _ expectation: Scenario.Expectation, _ action: Fault.Action,
        attempts: ClosedRange<Int> = 1...Int.max
    ) -> Scenario {
        let refusal = Fault(.answer(status: 426), transport: .webSocket)
        return Scenario(
            name: name, summary: summary, expectation: expectation,
            faults: [refusal, Fault(action, attempts: attempts, transport: .http)])
    }
}
