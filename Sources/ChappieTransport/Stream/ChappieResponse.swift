/// A response as the server described it at its end.
public struct ChappieResponse: Sendable, Equatable {
    /// The response's identifier.
    public let id: String?
    /// The status in the server's spelling: `completed`, `failed`, `incomplete`, `cancelled`.
    public let status: String
    /// The model that answered.
    public package(set) var model: String?
    /// The text of the whole turn; empty for a response that is not a success.
    public package(set) var outputText = ""
    /// The tokens of the response, if the server counted them; of a turn with several responses, their sum.
    public package(set) var usage: ChappieTokenUsage?
    /// The server's name for the request (`x-request-id`).
    public package(set) var requestID: String?
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

/// The tokens used by responses.
///
/// A count is nil when the server did not send it.
public struct ChappieTokenUsage: Sendable, Equatable, Codable {
    /// Tokens of the request.
    public var inputTokens: Int?
    /// Tokens of the request that were found in a cache.
    public var cachedInputTokens: Int?
    /// Tokens of the answer.
    public var outputTokens: Int?
    /// Tokens of the answer that were reasoning.
    public var reasoningTokens: Int?
    /// All tokens together.
    public var totalTokens: Int?

    /// Creates counts; all are nil unless given.
    public init(
        inputTokens: Int? = nil, cachedInputTokens: Int? = nil, outputTokens: Int? = nil,
        reasoningTokens: Int? = nil, totalTokens: Int? = nil
    ) {
        self.inputTokens = inputTokens
        self.cachedInputTokens = cachedInputTokens
        self.outputTokens = outputTokens
        self.reasoningTokens = reasoningTokens
        self.totalTokens = totalTokens
    }
}
