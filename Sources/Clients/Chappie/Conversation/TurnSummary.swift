import ChappieTransport

/// The result of a turn as one response: the total usage of its responses, and the last of them.
struct TurnSummary: Sendable, Equatable {
    private var id: String?
    private var model: String?
    private var serviceTier: String?
    private var usage: ChappieTokenUsage?
    private var requestID: String?
    private var rateLimits: ChappieRateLimits?
    /// The items of the last response.
    private(set) var lastItems: [[UInt8]] = []

    /// Adds a complete response.
    mutating func add(_ response: CompletedResponse) {
        self.id = response.id ?? self.id
        self.model = response.model ?? self.model
        self.serviceTier = response.serviceTier ?? self.serviceTier
        self.usage = self.usage.map { $0.adding(response.usage) } ?? response.usage
        self.requestID = response.requestID ?? self.requestID
        self.rateLimits = response.rateLimits ?? self.rateLimits
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
        response.rateLimits = self.rateLimits
        return response
    }
}
