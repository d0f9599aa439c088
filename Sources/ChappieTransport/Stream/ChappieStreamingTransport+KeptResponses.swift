/// Responses that the server keeps: their state, their cancellation, and the rest of their events.
extension ChappieStreamingTransport {
    /// Returns a response that the server keeps, in its present state (GET `/responses/{id}`).
    ///
    /// Servers keep a response with `store` in its request for a time of their own. The result has `outputText` and
    /// `outputItems`, of a response that is still made as far as the server states them. A `status` other than
    /// `completed` is no error here. It is one request over HTTP, with the credential, the time limits and the errors of
    /// a turn: `ChappieClientError.httpError(404, …)` when the server does not have the response,
    /// `.transport` with the tag `request.invalid` for an identifier that cannot be a part of an address, and
    /// `.invalidResponse` for an answer that is not a response. A 401 has the credential replaced, once; no other
    /// failure is retried. May be called from any task.
    ///
    /// - Parameter responseID: the response's identifier: not empty, without spaces and control characters.
    public func retrieve(_ responseID: String) async throws -> ChappieResponse {
        try await DocumentFetch(engine: self.engine, responseID: responseID, cancels: false).response()
    }

    /// Cancels a response that the server makes in the background, and returns its state (POST
    /// `/responses/{id}/cancel`).
    ///
    /// A response that is over is returned as it is; cancelling one twice is no error. Servers refuse to cancel a
    /// response that was not requested with `background`, most with status 400. A stream that reads the response ends
    /// with `ChappieClientError.responseTerminalFailure`, whose `status` is `cancelled`. The errors are those of
    /// `retrieve(_:)`. May be called from any task.
    ///
    /// - Parameter responseID: the response's identifier: not empty, without spaces and control characters.
    public func cancel(_ responseID: String) async throws -> ChappieResponse {
        try await DocumentFetch(engine: self.engine, responseID: responseID, cancels: true).response()
    }
}
