// The usage limits that the server reports, as response fields and as events.
//
// Constants without an owner.

/// Reports the same two windows everywhere.
enum UsageLimits {
    /// The fields of an answer.
    static let fields: [ChappieTestServer.Field] = [
        .init(name: "x-codex-plan-type", value: "plus"),
        .init(name: "x-codex-primary-used-percent", value: "42"),
        .init(name: "x-codex-primary-window-minutes", value: "300"),
        .init(name: "x-codex-primary-reset-at", value: "1795260000"),
        .init(name: "x-codex-secondary-used-percent", value: "5"),
        .init(name: "x-codex-secondary-window-minutes", value: "10080"),
        .init(name: "x-codex-secondary-reset-at", value: "1795642651"),
    ]

    /// The events that precede a response on a WebSocket.
    ///
    /// The turn's state is sent once, to a client that has not sent it.
    static func events(turnState: String?, model: String) -> [ScriptEvent] {
        let state = turnState.map { "\"x-codex-turn-state\":\"\($0)\"," } ?? ""
        let limits =
            "{\"type\":\"codex.rate_limits\",\"plan_type\":\"plus\",\"rate_limits\":{\"allowed\":true,"
            + "\"limit_reached\":false,\"primary\":{\"used_percent\":42,\"window_minutes\":300,\"reset_at\":1795260000},"
            + "\"secondary\":{\"used_percent\":5,\"window_minutes\":10080,\"reset_at\":1795642651}},"
            + "\"code_review_rate_limits\":null,\"credits\":{\"has_credits\":false,\"unlimited\":false,"
            + "\"balance\":null},\"promo\":null}"
        let metadata =
            "{\"type\":\"response.metadata\",\"headers\":{\(state)"
            + "\"openai-model\":\(JSONValue.quoted(model))}}"
        return [
            ScriptEvent(type: "codex.rate_limits", text: limits, isNumbered: false),
            ScriptEvent(type: "response.metadata", text: metadata, isNumbered: false),
        ]
    }
}
