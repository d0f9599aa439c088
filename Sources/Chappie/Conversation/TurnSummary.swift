import ChappieTransport

/// The result of a turn as one response: the total usage of its responses, and the last of them.
struct TurnSummary: Sendable, Equatable {
    private var id: String?
    private var model: String?
    private var serviceTier: String?
    private var usage: ChappieTokenUsage?
    private var requestID: String?
    /// The items of the last response.
    private(set) var lastItems: [[UInt8]] = []

    /// Adds a complete response.
    mutating func add(_ response: CompletedResponse) {
        self.id = response.id ?? self.id
        self.model = response.model ?? self.model
        self.serviceTier = response.serviceTier ?? self.serviceTier
        self.usage = self.usage.map { $0.adding(response.usage) } ?? response.usage
        self.requestID = response.requestID ?? self.requestID
        self.lastItems = response.items
    }

    /// Returns the turn as a response with its text.
    func response(text: String) -> ChappieResponse {
        var response = ChappieResponse(id: self.id, status: "completed")
        response.model = self.model
        response.serviceTier = self.serviceTier
        response.outputText = text
        response.usage = self.usage
        response.requestID = self.requestID
        return response
    }
}

extension ChappieTokenUsage {
    /// Returns the sum; a count that one side lacks is the other's.
    fileprivate func adding(_ other: Self?) -> Self {
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
