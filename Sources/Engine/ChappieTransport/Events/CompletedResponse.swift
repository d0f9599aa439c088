package import ResponseEvents

/// The result of a complete response for the turn that continues it.
///
/// A value; the driver provides it after its stream has delivered `completed`.
package struct CompletedResponse: Sendable, Equatable {
    /// The response's identifier.
    package var id: String?
    /// The model that answered.
    package var model: String?
    /// The service tier that answered.
    package var serviceTier: String?
    /// The tokens used by the response.
    package var usage: ChappieTokenUsage?
    /// Indicates whether the turn ends; false when the model wants to continue without a tool call (`end_turn`).
    package var endsTurn = true
    /// The response's items in order, each the JSON text of an input item; they include outputs of tools that were
    /// given back to the server within the response.
    package var items: [[UInt8]] = []
    /// The calls among the items that have no output yet.
    package var calls: [FinishedCall] = []
    /// Indicates whether a call has no `call_id`, or two different ones have the same, so that their outputs would be
    /// confused.
    package var hasAmbiguousCalls = false
    /// The turn state that the server requires in the requests of the same turn.
    package var turnState: String?
    /// The server's name for the request.
    package var requestID: String?
    /// The rate limits that came with the answer.
    package var rateLimits: ChappieRateLimits?

    /// Creates a value without any facts.
    package init() {}
}
