// Sending, by any task. The inlinable functions are compiled with the program, so that a message for which there is
// room is sent without a change of executors and without memory for a task.
import StreamTransport
import Synchronization
import TransportSurface
import WebSocketProtocol

extension WebSocketConnection {
    /// Sends one message: returns when it waits for the socket with at most ``WebSocketLimits/sendWatermark`` bytes of
    /// others.
    ///
    /// A call that has to wait for that goes on when at most half as many bytes wait. Messages of one task arrive in
    /// its order. One of 4 KiB or more is compressed where that was agreed and makes it markedly smaller, and a long
    /// one is sent in fragments of 64 KiB (RFC 6455 section 5.4).
    ///
    /// - Throws: ``WebSocketError/notOpen`` when the connection is closed, or is being closed; `CancellationError` when
    ///   the task is cancelled while it waits: the message is then not sent, and the connection stays open.
    @inlinable @inline(__always)
    nonisolated(nonsending) public func send(_ message: WebSocketMessage) async throws {
        switch message {
        case .text(let text): try await self.send(text)
        case .binary(let bytes): try await self.send(bytes)
        }
    }

    /// Sends one text message, like `send(_:)` of a message.
    @inlinable @inline(__always)
    nonisolated(nonsending) public func send(_ text: String) async throws {
        let payload = Array(text.utf8)
        if try !self.sendAtOnce(payload, as: .text) { try await self.waitAndSend(payload, as: .text) }
    }

    /// Sends one binary message, like `send(_:)` of a message.
    @inlinable @inline(__always)
    nonisolated(nonsending) public func send(_ bytes: [UInt8]) async throws {
        if try !self.sendAtOnce(bytes, as: .binary) { try await self.waitAndSend(bytes, as: .binary) }
    }

    /// Sends a message, if there is room for it at once; returns false otherwise, with nothing sent.
    @usableFromInline
    func sendAtOnce(_ payload: [UInt8], as kind: WebSocketMessage.Kind) throws -> Bool {
        guard self.allowsSending.load(ordering: .relaxed) else { throw WebSocketError.notOpen }
        guard
            let outcome = self.exchange.sendAtOnce(payload, as: OutboundKind(kind), upTo: self.sendWatermark)
        else { return false }
        try self.note(outcome)
        return true
    }

    /// Sends a message, when there is room for it.
    @usableFromInline
    nonisolated(nonsending) func waitAndSend(_ payload: [UInt8], as kind: WebSocketMessage.Kind) async throws {
        try self.note(await self.exchange.send(payload, as: OutboundKind(kind), upTo: self.sendWatermark))
    }

    private func note(_ outcome: SendOutcome) throws {
        switch outcome {
        case .queued: self.sentMessageCount.add(1, ordering: .relaxed)
        case .ended: throw WebSocketError.notOpen
        case .cancelled: throw CancellationError()
        }
    }

    /// Sends a ping (RFC 6455 section 5.5.2), and returns the time until its pong.
    ///
    /// While reading waits for the receiver at the high watermark, the pong is not read; the time limit begins again when
    /// reading continues. A pong answers the older pings of this side as well.
    ///
    /// - Throws: ``WebSocketError/transport(_:)`` with the tag `ws.ping-timeout` when no pong comes within
    ///   ``WebSocketTimeouts/pongTimeout``, and `CancellationError` when the task is cancelled while it waits: the
    ///   connection stays open. ``WebSocketError/notOpen`` when the connection ends before the pong.
    @discardableResult
    public func ping() async throws -> Duration {
        guard self.allowsSending.load(ordering: .relaxed) else { throw WebSocketError.notOpen }
        switch await self.exchange.roundTrip(within: self.pongTimeout) {
        case .measured(let time): return time
        case .timedOut: throw self.error(TransportFailure(phase: .stream, cause: .peerUnresponsive))
        case .ended where Task.isCancelled: throw CancellationError()
        case .ended: throw WebSocketError.notOpen
        }
    }

    /// Performs the closing handshake (RFC 6455 section 7.1.2), behind the messages that wait to be sent, and returns
    /// how the connection ended.
    ///
    /// Messages that arrive before the server's close frame can still be received. While more than the high watermark is
    /// not received, the server's close frame behind it is not read: receive to the end, or use `cancel()`. When it was
    /// not read within ``WebSocketTimeouts/close``, the socket is closed and the code is 1006. Of a connection that has
    /// ended the end is returned. Cancelling the task closes the socket.
    ///
    /// - Parameters:
    ///   - code: a code that a close frame may carry (RFC 6455 section 7.4): 1000 to 1003, 1007 to 1014, 3000 to 4999; nil
    ///     sends none.
    ///   - reason: a text of at most 123 bytes, for the server's log; empty without a code.
    /// - Returns: the server's code and reason, and the side that began to close.
    /// - Throws: ``WebSocketError/invalidArgument(_:)`` for another code or a longer reason, with nothing sent;
    ///   ``WebSocketError/transport(_:)`` when the connection had failed; `CancellationError`.
    @discardableResult
    public func close(code: Int? = 1000, reason: String = "") async throws -> WebSocketClose {
        if let fault = Self.fault(ofCode: code, reason: reason) { throw WebSocketError.invalidArgument(fault) }
        self.state.withLock { state in
            if state.end == nil { state.hasClosed = true }
            self.allowsSending.store(false, ordering: .relaxed)
        }
        self.exchange.close(code: code.map { UInt16($0) }, reason: reason)
        guard let announced = await self.exchange.announcedEnd() else {
            self.cancel()
            throw CancellationError()
        }
        switch self.end(announced) {
        case .closed(let close): return close
        case .failed(let error): throw error
        case .cancelled: throw CancellationError()
        }
    }

    /// Returns the fault of the content of a close frame; nil when it can be sent.
    static func fault(ofCode code: Int?, reason: String) -> ChappieArgumentError? {
        guard let code else {
            return reason.isEmpty ? nil : ChappieArgumentError("reason", "cannot be sent without a code")
        }
        guard let number = UInt16(exactly: code), CloseCode(rawValue: number).isAllowedInFrame else {
            return ChappieArgumentError("code", "is not one that a close frame may carry (RFC 6455 section 7.4)")
        }
        guard reason.utf8.count <= CloseFrame.reasonByteLimit else {
            return ChappieArgumentError("reason", "is longer than \(CloseFrame.reasonByteLimit) bytes")
        }
        return nil
    }
}

extension OutboundKind {
    fileprivate init(_ kind: WebSocketMessage.Kind) {
        switch kind {
        case .text: self = .text
        case .binary: self = .binary
        }
    }
}
