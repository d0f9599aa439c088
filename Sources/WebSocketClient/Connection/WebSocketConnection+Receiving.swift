import StreamTransport
import WebSocketProtocol

extension WebSocketConnection {
    /// The messages that were not received yet, in order.
    public var messages: WebSocketMessages { WebSocketMessages(self) }

    /// Returns the next message; nil after the end, as for `messages`.
    ///
    /// Cancelling the task closes the connection with 1001.
    ///
    /// - Throws: ``WebSocketError`` when the connection ended with an error, or another task receives; the same error
    ///   again when it is called again. `CancellationError` when the task is cancelled.
    public func receive(isolation actor: isolated (any Actor)? = #isolation) async throws -> WebSocketMessage? {
        try await self.next(isolation: actor) { payload in
            switch payload.kind {
            case .text: unsafe String(validating: payload.bytes, as: UTF8.self).map { .text($0) }
            case .binary, .body: unsafe .binary(Array(payload.bytes))
            }
        }
    }

    /// Lends the next message to a closure, without copying it; returns nil after the end, as for `messages`.
    ///
    /// The bytes are valid during the call, and those of text are valid UTF-8.
    ///
    /// - Throws: what `receive()` throws, and the error of the closure, after which the message counts as received.
    public func withNextMessage<Result>(
        isolation actor: isolated (any Actor)? = #isolation,
        _ body: (WebSocketMessage.Kind, RawSpan) throws -> Result
    ) async throws -> Result? {
        try await self.next(isolation: actor) { payload in
            switch payload.kind {
            case .text: unsafe payload.isUTF8 ? try body(.text, payload.bytes.bytes) : nil
            case .binary, .body: unsafe try body(.binary, payload.bytes.bytes)
            }
        }
    }

    /// Reads the next message; `read` returns nil for text that is not UTF-8, which fails the connection (RFC 6455
    /// section 8.1).
    private func next<Result>(
        isolation actor: isolated (any Actor)?, _ read: (InboundPayload) throws -> Result?
    ) async throws -> Result? {
        try self.beginReceiving()
        defer { self.state.withLock { $0.isReceiving = false } }
        while true {
            if let end = self.state.withLock({ $0.endOfMessages }) {
                if let error = end.error { throw error }
                return nil
            }
            if Task.isCancelled { throw self.receivingWasCancelled() }
            guard let event = self.exchange.next() else {
                _ = await self.exchange.wait(for: nil)
                continue
            }
            switch event {
            case .payload(let payload):
                guard let result = try read(payload) else {
                    self.failForUnreadableMessage()
                    continue
                }
                self.noteMessage()
                return result
            case .ended(let end): self.endMessages(end)
            case .opened, .ready, .pong: break
            }
        }
    }

    private func beginReceiving() throws(WebSocketError) {
        let isFree = self.state.withLock { state in
            defer { state.isReceiving = true }
            return !state.isReceiving
        }
        guard isFree else { throw .alreadyReceiving }
    }

    private func noteMessage() {
        let isFirst = self.state.withLock { state in
            state.receivedMessageCount += 1
            return state.receivedMessageCount == 1
        }
        guard isFirst else { return }
        let moment = self.opening.age
        self.state.withLock { $0.firstMessage = moment }
    }

    private func receivingWasCancelled() -> CancellationError {
        self.cancel()
        return CancellationError()
    }
}

extension InboundPayload {
    /// Indicates whether the bytes are UTF-8 as a whole.
    fileprivate var isUTF8: Bool {
        var validator = UTF8Validator()
        return unsafe validator.validate(self.bytes) && validator.finish()
    }
}
