// Receiving messages, in one task at a time. The inlinable functions are compiled with the program, so that a message
// that has arrived, uncompressed and in one frame, is received without a change of executors, memory for a task, or a
// lock.
import StreamTransport
import Synchronization
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
    @inlinable @inline(__always)
    public func receive(isolation actor: isolated (any Actor)? = #isolation) async throws -> WebSocketMessage? {
        var message = unsafe self.arrivedMessage()
        if unsafe message == nil { unsafe message = try await self.awaitedMessage(isolation: actor) }
        guard let message = unsafe message else { return nil }
        defer { self.endReceiving() }
        return unsafe message.copy
    }

    /// Lends the next message to a closure, without copying it; returns nil after the end, as for `messages`.
    ///
    /// The bytes are valid during the call, and those of text are valid UTF-8.
    ///
    /// - Throws: what `receive()` throws, and the error of the closure, after which the message counts as received.
    @inlinable @inline(__always)
    public func withNextMessage<Result>(
        isolation actor: isolated (any Actor)? = #isolation,
        _ body: (WebSocketMessage.Kind, RawSpan) throws -> Result
    ) async throws -> Result? {
        var message = unsafe self.arrivedMessage()
        if unsafe message == nil { unsafe message = try await self.awaitedMessage(isolation: actor) }
        guard let message = unsafe message else { return nil }
        defer { self.endReceiving() }
        return unsafe try body(message.kind, message.bytes.bytes)
    }

    /// A message whose bytes the connection lends until `endReceiving()`; those of text are valid UTF-8.
    @unsafe @usableFromInline
    struct LentMessage {
        @usableFromInline let kind: WebSocketMessage.Kind
        @usableFromInline let bytes: UnsafeRawBufferPointer

        /// Returns nil for text that is not UTF-8.
        @inline(__always)
        init?(_ payload: InboundPayload) {
            switch payload.kind {
            case .text:
                guard unsafe UTF8Validator.isValid(payload.bytes) else { return nil }
                unsafe self.kind = .text
            case .binary, .body: unsafe self.kind = .binary
            }
            unsafe self.bytes = payload.bytes
        }

        /// The message with memory of its own.
        @usableFromInline var copy: WebSocketMessage {
            switch unsafe self.kind {
            case .text: unsafe .text(String(validatedUTF8: self.bytes))
            case .binary: unsafe .binary(Array(self.bytes))
            }
        }
    }

    /// Begins to receive and returns the next message, if it has arrived.
    ///
    /// Returns nil otherwise, and whenever there may be an error; `awaitedMessage` is called then.
    @usableFromInline
    func arrivedMessage() -> LentMessage? {
        guard !Task.isCancelled, self.beginReceiving() else { return nil }
        if !self.hasEndOfMessages.load(ordering: .relaxed), let payload = self.exchange.nextWholeMessage() {
            if let message = unsafe self.received(payload) { return unsafe message }
        }
        self.endReceiving()
        return nil
    }

    /// Begins to receive and waits for the next message; nil after the end.
    @usableFromInline
    func awaitedMessage(isolation actor: isolated (any Actor)?) async throws -> LentMessage? {
        guard self.beginReceiving() else { throw WebSocketError.alreadyReceiving }
        do {
            if let message = unsafe try await self.nextMessage(isolation: actor) { return unsafe message }
        } catch {
            self.endReceiving()
            throw error
        }
        self.endReceiving()
        return nil
    }

    /// Ends the loan of the message that was received, and lets any task receive.
    @usableFromInline
    func endReceiving() { self.isReceiving.store(false, ordering: .releasing) }

    /// Returns false when another task receives.
    @inline(__always)
    private func beginReceiving() -> Bool {
        self.isReceiving.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
    }

    private func nextMessage(isolation actor: isolated (any Actor)?) async throws -> LentMessage? {
        while true {
            if let end = self.state.withLock({ $0.endOfMessages }) {
                if let error = end.error { throw error }
                return nil
            }
            if Task.isCancelled {
                self.cancel()
                throw CancellationError()
            }
            guard let event = self.exchange.next() else {
                _ = await self.exchange.wait(for: nil)
                continue
            }
            switch event {
            case .payload(let payload):
                if let message = unsafe self.received(payload) { return unsafe message }
            case .ended(let end): self.endMessages(end)
            case .opened, .ready, .pong: break
            }
        }
    }

    /// Counts a message; text that is not UTF-8 fails the connection instead (RFC 6455 section 8.1).
    @inline(__always)
    private func received(_ payload: InboundPayload) -> LentMessage? {
        guard let message = unsafe LentMessage(payload) else {
            self.failForUnreadableMessage()
            return nil
        }
        let count = self.receivedMessageCount.load(ordering: .relaxed)
        self.receivedMessageCount.store(count + 1, ordering: .relaxed)
        if count == 0 { self.noteFirstMessage() }
        return unsafe message
    }

    /// Not inlined: the size of a clock's instant is known only at run time, and its stack frame would be set up for
    /// every message.
    @inline(never)
    private func noteFirstMessage() {
        let moment = self.opening.age
        self.state.withLock { $0.firstMessage = moment }
    }
}

extension String {
    /// Copies bytes that are known to be UTF-8.
    fileprivate init(validatedUTF8 bytes: UnsafeRawBufferPointer) {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            let text = unsafe bytes.assumingMemoryBound(to: UInt8.self)
            unsafe self.init(copying: UTF8Span(unchecked: text.span))
        } else {
            unsafe self.init(decoding: bytes, as: UTF8.self)
        }
    }
}
