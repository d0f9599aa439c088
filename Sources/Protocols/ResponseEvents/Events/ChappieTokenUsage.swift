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

extension ChappieTokenUsage {
    /// Returns the sum; a count that one side lacks is the other's.
    package func adding(_ other: Self?) -> Self {
        guard let other else { return self }
        func sum(_ count: KeyPath<Self, Int?>) -> Int? {
            guard let left = self[keyPath: count], let right = other[keyPath: count] else {
                return self[keyPath: count] ?? other[keyPath: count]
            }
            let (sum, hasOverflown) = left.addingReportingOverflow(right)
            return hasOverflown ? Int.max : sum
        }
        return Self(
            inputTokens: sum(\.inputTokens), cachedInputTokens: sum(\.cachedInputTokens),
            outputTokens: sum(\.outputTokens), reasoningTokens: sum(\.reasoningTokens), totalTokens: sum(\.totalTokens))
    }
}
