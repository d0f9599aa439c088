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
