// One request and its answer: the side of an exchange that any thread can use.
// The state is behind a lock; the connection belongs to the service thread.

package import HTTPProtocol
import LibwebsocketsTransport
import StreamTransport
package import WebSocketProtocol

/// An exchange, by which any thread answers a request: with a whole response, a streaming one, or a WebSocket.
///
/// Callbacks run on the service thread, one at a time and without a lock. They must return soon: no connection is
/// served meanwhile. An exchange that is never answered lasts until its client goes.
package final class HTTPExchange: Sendable {
    /// The way in which an exchange has ended.
    package enum End: Equatable, Sendable {
        /// The system has taken the whole response.
        case completed
        /// The client has closed the connection, or lost it, before the end.
        case clientGone
        /// The client has taken no byte, or answered no ping, for the time of the configuration.
        case clientStalled
        /// The closing handshake of a WebSocket is over; `frame` is the client's, or the one it has not answered.
        case closed(CloseFrame)
        /// The client has broken a rule of RFC 6455, and the connection was failed with a close code.
        case protocolViolated(CloseCode)
        /// The server has stopped, and its grace period was over.
        case serverStopped
        /// `abort()` was called.
        case aborted
    }

    /// The answer to an offer of bytes.
    package enum Acceptance: Equatable, Sendable {
        /// The bytes will be sent.
        case accepted
        /// The bytes were not taken, because the reader is slow: `whenWritable(_:)` tells when to offer them again.
        case full
        /// The bytes were not taken: the exchange has ended, or its answer has.
        case ended
    }

    /// The reason for which an answer, or a part of one, cannot be sent.
    package enum Failure: Error, Equatable, Sendable {
        /// The request was answered before.
        case alreadyAnswered
        /// The exchange has ended, or its answer has.
        case ended
        /// A status code, or a field, that must not be sent.
        case invalidHead(ResponseHeadWriter.Failure)
        /// `accept` for a request that does not ask for a WebSocket, or with a subprotocol that it does not offer.
        case notOffered
        /// A streaming response has not begun, and no WebSocket is open.
        case notStreaming
    }

    /// The number of the connection.
    let connection: ConnectionID
    private let thread: ServerThread
    private let offeredSubprotocols: [String]?
    private let state: LockedValue<ExchangeState>

    init(connection: ConnectionID, thread: ServerThread, offeredSubprotocols: [String]?, limits: ExchangeLimits) {
        self.connection = connection
        self.thread = thread
        self.offeredSubprotocols = offeredSubprotocols
        self.state = LockedValue(ExchangeState(limits: limits))
    }

    // MARK: Whole and streaming responses

    /// Sends a whole response.
    package func respond(_ response: HTTPServerResponse) throws(Failure) {
        do throws(ResponseHeadWriter.Failure) {
            try ResponseHeadWriter.check(statusCode: response.statusCode, fields: response.fields)
        } catch {
            throw .invalidHead(error)
        }
        try self.answer(with: .response(response), as: .answered)
    }

    /// Sends the head of a streaming response; `offer(_:)` and `write(_:)` send its chunks, and `finish()` ends it.
    ///
    /// With HTTP/1.1 the body is in chunks; with HTTP/1.0 it ends with the connection. In answer to HEAD, and with 204
    /// and 304, the chunks are dropped.
    package func begin(statusCode: Int = 200, fields: [(name: String, value: String)] = []) throws(Failure) {
        do throws(ResponseHeadWriter.Failure) {
            try ResponseHeadWriter.check(statusCode: statusCode, fields: fields)
        } catch {
            throw .invalidHead(error)
        }
        try self.answer(with: .head(statusCode: statusCode, fields: fields), as: .streaming)
    }

    /// Opens the WebSocket that the request asks for; bytes that are offered then are text messages.
    package func accept(
        subprotocol: String? = nil, fields: [(name: String, value: String)] = []
    ) throws(Failure) {
        guard let offered = self.offeredSubprotocols, subprotocol.map(offered.contains) ?? true else {
            throw .notOffered
        }
        do throws(ResponseHeadWriter.Failure) {
            try ResponseHeadWriter.check(fields)
        } catch {
            throw .invalidHead(error)
        }
        try self.answer(with: .acceptance(subprotocol: subprotocol, fields: fields), as: .webSocket)
    }

    private func answer(with output: ExchangeOutput, as phase: ExchangeState.Phase) throws(Failure) {
        let (failure, isNews) = self.state.withLock { $0.answer(with: output, as: phase) }
        if let failure { throw failure }
        if isNews { self.thread.post(.flush(self)) }
    }

    /// Offers a chunk of the streaming response, or a text message of the WebSocket, in UTF-8.
    ///
    /// The array is kept, and not copied, until the system has taken its bytes: many exchanges can share one. An empty
    /// chunk of a response is dropped.
    package func offer(_ bytes: [UInt8]) -> Acceptance {
        let (acceptance, isNews) = self.state.withLock { $0.offer(bytes) }
        if isNews { self.thread.post(.flush(self)) }
        return acceptance
    }

    /// Offers bytes as `offer(_:)` does, and waits while the buffer is full.
    ///
    /// It throws `Failure.ended`, `Failure.notStreaming`, or `CancellationError` when the task is cancelled while it
    /// waits. One task writes at a time: the order of several that wait is not defined.
    package func write(_ bytes: [UInt8]) async throws {
        while true {
            switch self.offer(bytes) {
            case .accepted: return
            case .ended: throw self.state.withLock { $0.isUnanswered } ? Failure.notStreaming : Failure.ended
            case .full: try await self.waitUntilWritable()
            }
        }
    }

    /// Sends a text message of the WebSocket, as `write(_:)` does.
    package func send(_ text: String) async throws { try await self.write(Array(text.utf8)) }

    /// Calls back once when half of the buffer is free again, or the exchange has ended; at once, on this thread, when
    /// that is so.
    package func whenWritable(_ callback: @escaping @Sendable () -> Void) {
        let isNow = self.state.withLock { $0.addWritableCallback(callback) }
        if isNow { callback() }
    }

    private func waitUntilWritable() async throws {
        let ticket = WaitTicket()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                ticket.wait(with: continuation)
                self.whenWritable { ticket.resume() }
            }
        } onCancel: {
            ticket.resume()
        }
        try Task.checkCancellation()
    }

    /// Ends the streaming response; without one, and when it was ended before, it has no effect.
    package func finish() {
        let isNews = self.state.withLock { $0.finish() }
        if isNews { self.thread.post(.flush(self)) }
    }

    /// Closes the connection at once; bytes that were not sent are dropped.
    package func abort() { self.thread.post(.abort(self)) }

    // MARK: WebSockets

    /// Begins the closing handshake of the WebSocket; messages that were accepted before are sent first.
    ///
    /// Without a WebSocket, and when it is being closed, it has no effect.
    package func close(code: CloseCode = .normalClosure, reason: String = "") {
        let isNews = self.state.withLock { $0.close(with: CloseFrame(code: code, reason: reason)) }
        if isNews { self.thread.post(.flush(self)) }
    }

    /// Sends a ping on the WebSocket, with at most 125 bytes; more are cut off.
    package func ping(_ payload: [UInt8] = []) {
        let isNews = self.state.withLock { $0.ping(Array(payload.prefix(Opcode.controlPayloadLimit))) }
        if isNews { self.thread.post(.flush(self)) }
    }

    /// Calls back with the payload of each pong that arrives from now on.
    package func whenPongArrives(_ callback: @escaping @Sendable ([UInt8]) -> Void) {
        self.state.withLock { $0.setPongCallback(callback) }
    }

    /// Waits for the next text message; nil when the exchange has ended, and when the task is cancelled.
    ///
    /// One task receives at a time. While messages wait to be received, as many as may be in one message, no more are
    /// read from the connection.
    package func receive() async -> String? {
        let ticket = WaitTicket()
        while !Task.isCancelled {
            switch self.state.withLock({ $0.takeMessage() }) {
            case .message(let text, let resumesReading):
                if resumesReading { self.thread.post(.resumeReading(self)) }
                return text
            case .ended:
                return nil
            case .none:
                await withTaskCancellationHandler {
                    await withCheckedContinuation { continuation in
                        ticket.wait(with: continuation)
                        let isNow = self.state.withLock { $0.setMessageCallback { ticket.resume() } }
                        if isNow { ticket.resume() }
                    }
                } onCancel: {
                    ticket.cancel()
                }
            }
        }
        return nil
    }

    // MARK: The end

    /// The way in which the exchange has ended; nil while it lasts.
    package var end: End? { self.state.withLock { $0.end } }

    /// Calls back once with the end of the exchange; at once, on this thread, when it has ended.
    ///
    /// A client that closes the connection while a response streams has gone. One that ends its side before the answer
    /// begins can still read, and gets the answer; only a failed write tells that it cannot.
    package func whenEnded(_ callback: @escaping @Sendable (End) -> Void) {
        if let end = self.state.withLock({ $0.addEndCallback(callback) }) { callback(end) }
    }

    /// Runs an operation in a task that is cancelled when the exchange ends.
    package func run(_ operation: @escaping @Sendable () async -> Void) {
        let task = Task.detached { await operation() }
        self.whenEnded { _ in task.cancel() }
    }

    // MARK: Service thread

    /// Takes what was posted to be sent.
    func takeOutputs() -> [ExchangeOutput] { self.state.withLock { $0.takeOutputs() } }

    /// Notes that bytes of this cost wait no longer.
    func sent(cost: Int) {
        guard cost > 0 else { return }
        for callback in self.state.withLock({ $0.sent(cost: cost) }) { callback() }
    }

    /// Passes a message to the receiver; returns whether more may be read.
    func received(_ text: String) -> Bool {
        let (callback, isRoomLeft) = self.state.withLock { $0.received(text) }
        callback?()
        return isRoomLeft
    }

    /// Passes the payload of a pong on.
    func receivedPong(_ payload: [UInt8]) { self.state.withLock { $0.pongCallback }?(payload) }

    /// Ends the exchange; every call but the first has no effect.
    func ended(_ end: End) {
        guard let callbacks = self.state.withLock({ $0.ended(end) }) else { return }
        for callback in callbacks.waiting { callback() }
        for callback in callbacks.ending { callback(end) }
    }
}
