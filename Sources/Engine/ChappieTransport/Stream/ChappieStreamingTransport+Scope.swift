extension ChappieStreamingTransport {
    /// Passes each event of one response to a closure, one at a time and in order, and returns when the turn has ended.
    ///
    /// The turn lives as long as the call. An event costs less than by `events(_:)`: there is one handler of
    /// cancellation for the turn, and none for an event.
    ///
    /// ```swift
    /// var text = ""
    /// try await transport.withEvents(of: request) { event in
    ///     if case .textDelta(let delta) = event { text += delta }
    /// }
    /// ```
    ///
    /// The closure runs in the task of the caller and on its actor, where it may suspend; the turn is read between two
    /// events, and pauses while the closure runs. When the closure throws, or the task is cancelled, the turn is
    /// cancelled: the connection is closed before the call returns, and events that were read and not passed on are
    /// dropped, unless the turn had ended. May be called from any task, any number of times at once.
    ///
    /// - Parameters:
    ///   - request: the request of the turn.
    ///   - actor: the actor that the closure runs on; default the caller's.
    ///   - body: the closure.
    /// - Throws: the error of the closure; `ChappieClientError` when the turn fails; the errors of the program's own
    ///   closures, such as the source of credentials; `CancellationError`.
    @inlinable
    public func withEvents(
        of request: ChappieTransportRequest, isolation actor: isolated (any Actor)? = #isolation,
        _ body: (ChappieStreamEvent) async throws -> Void
    ) async throws {
        try await self.reader(of: request).withEvents(isolation: actor, body)
    }
}

extension TurnReader {
    /// Passes each event to a closure, and returns at the end; cancels the turn when the closure throws, or the task is
    /// cancelled.
    @inlinable
    package func withEvents(
        isolation actor: isolated (any Actor)?, _ body: (ChappieStreamEvent) async throws -> Void
    ) async throws {
        try await withTaskCancellationHandler(
            operation: {
                // A closure that does not name the actor does not run on it: each event would change executors.
                _ = actor
                var batch = EventBatch()
                var isOver = false
                do {
                    while !isOver {
                        let memory = batch.takeMemory()
                        let events =
                            if let driver = self.driver {
                                try await driver.next(for: .scope, reusing: memory)
                            } else {
                                try await self.next(for: .scope, reusing: memory)
                            }
                        isOver = events == nil
                        var next = batch.fill(events)
                        while let event = next {
                            try await body(event)
                            next = isOver || !Task.isCancelled ? batch.next() : nil
                        }
                    }
                } catch {
                    let error = self.noted(error)
                    self.cancel()
                    throw error
                }
            },
            onCancel: { self.cancel() },
            isolation: actor)
    }
}
