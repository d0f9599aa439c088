// What distinguishes one API of models from another above the decoder. Immutable values.

/// The language of a server's requests and events: the path, the names of fields, and what they allow a turn to do.
///
/// The engine knows no other name of a vendor's. A dialect states four facts: whether there is a cursor, what proves the
/// end of a response, what names a call, and what may be done with a partial answer.
package enum ChappieDialect: Sendable, Hashable {
    /// OpenAI's Responses API.
    ///
    /// Events have numbers, and a response that is kept has a cursor: its rest is requested behind a number. An event
    /// proves the end: `response.completed`, `response.incomplete`, `response.failed` or `error`. A call is named by its
    /// `call_id`. Finished items of a partial answer can go back as input.
    case responses

    /// The path of a request for a response, below the base URL.
    package var path: String {
        switch self {
        case .responses: "/responses"
        }
    }

    /// Indicates whether the rest of a kept response can be requested behind a number.
    package var hasCursor: Bool {
        switch self {
        case .responses: true
        }
    }

    /// Indicates whether the finished items of a partial answer can go back to the server, which continues behind them.
    package var continuesPartialAnswers: Bool {
        switch self {
        case .responses: true
        }
    }
}

/// The names of the header fields, in the spelling in which they are sent or, where they are only read, in lower case.
package enum DialectFields {
    /// The turn state, which a server requires in every further request of a turn; over a WebSocket it is a member of
    /// `client_metadata`.
    package static let turnState = "x-codex-turn-state"
    /// The server's name for a request; the first that is there counts.
    package static let requestID = ["x-request-id", "x-oai-request-id"]
    /// The server's name for the model.
    package static let model = "openai-model"
    /// The account that a credential belongs to.
    package static let account = "ChatGPT-Account-ID"
    /// The field that accounts of some authorities need, with its value.
    package static let fedRAMP = (name: "X-OpenAI-Fedramp", value: "true")
    /// The beta of WebSockets that an upgrade requests, with its value.
    package static let webSocketBeta = (name: "OpenAI-Beta", value: "responses_websockets=2026-02-06")

    /// Returns the names of a rate limit's maximum, of what is left of it, and of the time until its reset.
    package static func rateLimit(of limited: String) -> [String] {
        ["limit", "remaining", "reset"].map { "x-ratelimit-\($0)-\(limited)" }
    }
}
