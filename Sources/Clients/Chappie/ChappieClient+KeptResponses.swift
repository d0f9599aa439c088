/// Responses that the server keeps.
extension ChappieClient {
    /// Returns a response that the server keeps, in its present state (GET `/responses/{id}`).
    ///
    /// For a conversation whose requests have `store`. It does not change the conversation, and may be called during a
    /// turn. It fails as `ChappieStreamingTransport.retrieve(_:)` does.
    ///
    /// - Parameter responseID: the response's identifier, such as `ChappieResponse.id`.
    /// - Returns: the response as the server describes it now.
    /// - Throws: `ChappieClientError`, the error of the source of credentials, and `CancellationError`.
    public func retrieve(_ responseID: String) async throws -> ChappieResponse {
        try await self.transport.retrieve(responseID)
    }

    /// Cancels a response that the server makes in the background, and returns its state.
    ///
    /// It does not change the conversation. It fails as `ChappieStreamingTransport.cancel(_:)` does.
    ///
    /// - Parameter responseID: the response's identifier.
    /// - Returns: the response as the server describes it now.
    /// - Throws: `ChappieClientError`, the error of the source of credentials, and `CancellationError`.
    public func cancel(_ responseID: String) async throws -> ChappieResponse {
        try await self.transport.cancel(responseID)
    }

    /// Returns the events of a response that the server keeps behind one of its events.
    ///
    /// It is no turn of the conversation, and does not change it: calls of tools do not run, and come as `.raw`. The
    /// position of a client's own turn is `ChappieStreamHandle.resumePoint`, up to the first call of the response. A
    /// turn whose request has the identifier as its `previousResponseID` goes on behind the response. See
    /// `ChappieStreamingTransport.resume(_:after:)`.
    ///
    /// - Parameters:
    ///   - responseID: the response's identifier.
    ///   - sequenceNumber: the number of the last event that was delivered; nil, the default, for all events.
    /// - Returns: the events behind that one.
    public func resume(
        _ responseID: String, after sequenceNumber: Int? = nil
    ) -> AsyncThrowingStream<ChappieStreamEvent, any Error> {
        self.transport.resume(responseID, after: sequenceNumber)
    }

    /// Returns the events of a kept response behind a position, like `resume(_:after:)`, with a handle that can cancel
    /// the stream and report on it.
    public func streamHandle(resuming point: ChappieResumePoint) -> ChappieStreamHandle {
        self.transport.streamHandle(resuming: point)
    }
}
