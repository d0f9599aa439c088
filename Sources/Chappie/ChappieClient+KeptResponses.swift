/// Responses that the server keeps.
extension ChappieClient {
    /// Returns a response that the server keeps, in its present state (GET `/responses/{id}`).
    ///
    /// For a conversation whose requests have `store`. It does not change the conversation, and may be called during a
    /// turn. It fails as `ChappieStreamingTransport.retrieve(_:)` does.
    ///
    /// - Parameter responseID: the response's identifier, such as `ChappieResponse.id`.
    public func retrieve(_ responseID: String) async throws -> ChappieResponse {
        try await self.transport.retrieve(responseID)
    }

    /// Cancels a response that the server makes in the background, and returns its state.
    ///
    /// It does not change the conversation. It fails as `ChappieStreamingTransport.cancel(_:)` does.
    ///
    /// - Parameter responseID: the response's identifier.
    public func cancel(_ responseID: String) async throws -> ChappieResponse {
        try await self.transport.cancel(responseID)
    }
}
