/// Responses that the server keeps: their state, their cancellation, and the rest of their events.
extension ChappieStreamingTransport {
    /// Returns a response that the server keeps, in its present state (GET `/responses/{id}`).
    ///
    /// Servers keep a response with `store` in its request for a time of their own. The result has `outputText` and
    /// `outputItems`, of a response that is still made as far as the server states them. A `status` other than
    /// `completed` is no error here. It is one request over HTTP, with the credential, the time limits and the errors
    /// of a turn: `ChappieClientError.httpError(404, …)` when the server does not have the response, `.transport` with
    /// the tag `request.invalid` for an identifier that cannot be a part of an address, and `.invalidResponse` for an
    /// answer that is not a response. A 401 has the credential replaced, once; no other failure is retried. May be
    /// called from any task.
    ///
    /// - Parameter responseID: the response's identifier: not empty, without spaces and control characters.
    /// - Returns: the response as the server describes it now.
    /// - Throws: `ChappieClientError`, the error of the source of credentials, and `CancellationError`.
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
    /// - Returns: the response as the server describes it now.
    /// - Throws: `ChappieClientError`, the error of the source of credentials, and `CancellationError`.
    public func cancel(_ responseID: String) async throws -> ChappieResponse {
        try await DocumentFetch(engine: self.engine, responseID: responseID, cancels: true).response()
    }

    /// Sends a conversation to be compacted (POST `/responses/compact`), and returns the server's answer: a JSON object.
    ///
    /// The errors are those of `retrieve(_:)`; `.transport` with the tag `request.invalid` in other dialects.
    package func compact(_ body: [UInt8]) async throws -> [UInt8] {
        try await DocumentFetch(engine: self.engine, compacting: body).compaction()
    }

    // MARK: The rest of the events

    /// Returns the events of a response that the server keeps behind one of its events: a process continues where
    /// another one has stopped.
    ///
    /// Servers keep the events of a response that was requested with `background` and `store`, about five minutes long.
    /// The stream has what `stream(_:)` would have delivered behind that event, with the same promise: nothing is
    /// repeated, nothing is skipped, no output of another response is mixed in. It is recovered like any stream of a
    /// kept response. To know how the output begins, the turn reads all events of the response, and passes on nothing
    /// of those up to the number; so the closing events are compared with the whole output, and calls of tools that
    /// were delivered are not delivered again. That the other process has delivered those events as they are read here
    /// is not known and not verified. At the last event of a response its end follows at once: `.completed`, or its
    /// failure.
    ///
    /// It goes over HTTP. The errors are those of `stream(_:)`; `.transport` with the tag `resume.expired` when the
    /// server no longer streams the response (`retrieve(_:)` may still return it), `event.sequence-gap` when its events
    /// have no numbers from the beginning on, `stream.ended-early` when the server has not stored the response's end,
    /// so that its stream ends in order without one at every attempt, and `request.invalid` for an identifier that
    /// cannot be a part of an address and a number below 0. After `stream.ended-early` the end is looked up by
    /// `retrieve(_:)`, which the engine does not do itself: a document has no numbers by which its output could be
    /// continued.
    ///
    /// ```swift
    /// for try await event in transport.resume("resp_1", after: 42) {
    ///     if case .textDelta(let text) = event { try FileHandle.standardOutput.write(contentsOf: Data(text.utf8)) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - responseID: the response's identifier.
    ///   - sequenceNumber: the number of the last event that was delivered (`ChappieResumePoint.sequenceNumber`); nil,
    ///     the default, for all events.
    /// - Returns: the events behind that one.
    public func resume(
        _ responseID: String, after sequenceNumber: Int? = nil
    ) -> AsyncThrowingStream<ChappieStreamEvent, any Error> {
        self.stream(resuming: ChappieResumePoint(responseID: responseID, sequenceNumber: sequenceNumber))
    }

    /// Returns the events of a kept response behind a position, like `resume(_:after:)`.
    public func stream(
        resuming point: ChappieResumePoint
    ) -> AsyncThrowingStream<ChappieStreamEvent, any Error> {
        self.streamHandle(resuming: point).events
    }

    /// Returns the events of a kept response behind a position, like `resume(_:after:)`, as a sequence whose elements
    /// cost less.
    public func events(resuming point: ChappieResumePoint) -> ChappieEventSequence {
        self.streamHandle(resuming: point).sequence()
    }

    /// Returns the events of a kept response behind a position, like `resume(_:after:)`, with a handle that can cancel
    /// the stream and report on it.
    ///
    /// Its `resumePoint` is the given position until an event behind it was delivered. Cancelling the stream does not
    /// cancel the response.
    public func streamHandle(resuming point: ChappieResumePoint) -> ChappieStreamHandle {
        var request = ChappieTransportRequest(body: Array("{}".utf8))
        request.resumption = point.cursor
        return ChappieStreamHandle(turn: self.turn(request))
    }
}
