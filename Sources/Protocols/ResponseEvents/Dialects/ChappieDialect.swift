// The differences between the APIs of models, above the decoder. Immutable values.

/// The language of a server: the API in which requests are sent and answers are read.
///
/// A program's requests, and the engine's events, are those of the Responses API in each of them. In another language a
/// request is written anew, and what that language has no form for is refused before anything is sent.
///
/// A minor version may add cases.
public enum ChappieDialect: String, Sendable, Hashable, CaseIterable {
    // A dialect states four facts, which decide what the engine may do:
    //
    //                           responses                     chatCompletions              messages
    // a cursor                  numbers of a kept response    none                         none
    // proves the end            an event of the response      finish_reason, then [DONE]   message_stop
    //                                                         or the body's end in order
    // names a call              its call_id                   its index, and its id        its id
    // use of a partial answer   finished items go back        it is compared with the next answer

    /// OpenAI's Responses API, over a WebSocket and over HTTP with server-sent events: `/responses`.
    case responses
    /// OpenAI's Chat Completions, which most servers of models have, over HTTP with server-sent events:
    /// `/chat/completions`.
    ///
    /// It has no WebSocket and no cursor: a request whose answer broke is sent again, and the new answer is compared with
    /// what was delivered. Calls of tools come when the answer is complete.
    case chatCompletions = "chat"
    /// Anthropic's Messages, over HTTP with server-sent events: `/messages`.
    ///
    /// It has no WebSocket and no cursor either. Requests carry `anthropic-version`.
    case messages

    /// The path of a request for an answer, below the base URL.
    package var path: String {
        switch self {
        case .responses: "/responses"
        case .chatCompletions: "/chat/completions"
        case .messages: "/messages"
        }
    }

    /// The name of the API.
    package var name: String {
        switch self {
        case .responses: "Responses"
        case .chatCompletions: "Chat Completions"
        case .messages: "Messages"
        }
    }

    /// Indicates whether answers may come over a WebSocket.
    package var hasWebSocket: Bool { self == .responses }

    /// Indicates whether the server can keep a response, whose rest is requested behind a number.
    package var hasCursor: Bool { self == .responses }

    /// Indicates whether the finished items of a partial answer can go back to the server, which continues behind them.
    package var continuesPartialAnswers: Bool { self == .responses }
}

extension ChappieDialect {
    /// Returns whether parts of a content with a type are those of the Responses API.
    ///
    /// Chat Completions has an `input_audio` of its own.
    static func isPartOfResponses(_ type: String) -> Bool { type.hasPrefix("input_") || type == "computer_screenshot" }

    /// The field that carries the credential, without a scheme; nil for `Authorization` with the scheme `Bearer`.
    package var credentialFieldName: String? { self == .messages ? "x-api-key" : nil }

    /// The fields of every request of the dialect, unless the caller sets them.
    package var requestFields: [(name: String, value: String)] {
        self == .messages ? [("anthropic-version", "2023-06-01")] : []
    }
}

/// The names of the header fields, in the spelling in which they are sent or, where they are only read, in lower case.
package enum DialectFields {
    /// The turn state, which a server requires in every further request of a turn; over a WebSocket it is a member of
    /// `client_metadata`.
    package static let turnState = "x-codex-turn-state"
    /// The server's name for a request; the first that is there counts.
    package static let requestID = ["x-request-id", "x-oai-request-id", "request-id"]
    /// The server's name for the model.
    package static let model = "openai-model"
    /// The account that a credential belongs to.
    package static let account = "ChatGPT-Account-ID"
    /// The field that accounts of some authorities need, with its value.
    package static let fedRAMP = (name: "X-OpenAI-Fedramp", value: "true")
    /// The beta of WebSockets that an upgrade requests, with its value.
    package static let webSocketBeta = (name: "OpenAI-Beta", value: "responses_websockets=2026-02-06")

    /// Returns the names of a rate limit's maximum, of what is left of it, and of its reset: those of most servers, with
    /// the time until then, and those of Anthropic, with the date.
    package static func rateLimit(of limited: String) -> [[String]] {
        ["limit", "remaining", "reset"].map {
            ["x-ratelimit-\($0)-\(limited)", "anthropic-ratelimit-\(limited)-\($0)"]
        }
    }
}
