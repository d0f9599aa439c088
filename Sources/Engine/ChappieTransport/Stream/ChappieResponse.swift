public import ResponseEvents

/// A response as the server described it: at its end, or when it was retrieved.
public struct ChappieResponse: Sendable, Equatable {
    /// The response's identifier.
    public let id: String?
    /// The status in the server's spelling: `completed`, `failed`, `incomplete`, `cancelled`; of a response that was
    /// retrieved while it is made, also `queued` and `in_progress`.
    public let status: String
    /// The model that answered.
    public package(set) var model: String?
    /// The service tier that answered, in the server's spelling.
    public package(set) var serviceTier: String?
    /// The text of the whole turn; empty for a response that is not a success, and in `ChappieStreamHandle.response`.
    public package(set) var outputText = ""
    /// The items of the output in order, each as the JSON text that the server sent; only of a retrieved response.
    public internal(set) var outputItems: [String] = []
    /// The tokens of the response, if the server counted them; of a turn with several responses, their sum.
    public package(set) var usage: ChappieTokenUsage?
    /// The server's name for the request (`x-request-id`).
    public package(set) var requestID: String?
    /// The rate limits that came with the answer, if the server reports any (`x-ratelimit-…`, `anthropic-ratelimit-…`); of a WebSocket, those of
    /// its upgrade.
    ///
    /// Nil for a response on a WebSocket that had carried an earlier turn.
    public package(set) var rateLimits: ChappieRateLimits?
    /// The error's code, such as `server_error`.
    public let errorCode: String?
    /// The error's type, where it is more precise than the code.
    var errorType: String?
    /// The error's text, in the server's words.
    public let errorMessage: String?
    /// The error as the server sent it: JSON text, at most 64 KiB.
    public internal(set) var errorPayload: String?
    /// The reason why the response is incomplete, such as `max_output_tokens`.
    public let incompleteReason: String?

    /// Creates a response.
    package init(
        id: String?, status: String, errorCode: String? = nil, errorMessage: String? = nil,
        incompleteReason: String? = nil
    ) {
        self.id = id
        self.status = status
        self.errorCode = errorCode
        self.errorMessage = errorMessage
        self.incompleteReason = incompleteReason
    }
}

extension ChappieResponse {
    /// The maximum size of a server's error object, in bytes.
    static let errorPayloadByteCountLimit = 64 << 10

    /// Creates a response that failed or is incomplete, with `status` where it does not say so itself.
    init(_ summary: ResponseSummary, status: String, requestID: String?, byteCountLimit: Int) {
        self.init(
            summary, statedStatus: summary.status.flatMap { $0 == "completed" ? nil : $0 } ?? status,
            byteCountLimit: byteCountLimit)
        self.requestID = requestID
    }

    /// Creates a response with a status, without its output.
    init(_ summary: ResponseSummary, statedStatus status: String, byteCountLimit: Int) {
        self.init(
            id: summary.id, status: status, errorCode: summary.errorCode, errorMessage: summary.errorMessage,
            incompleteReason: summary.incompleteReason)
        self.errorType = summary.errorType
        self.model = summary.model
        self.serviceTier = summary.serviceTier
        self.usage = summary.usage
        self.errorPayload = summary.errorPayload(byteCountLimit: byteCountLimit)
    }
}
