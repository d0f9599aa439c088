// An open WebSocket: frames, pings, the closing handshake (RFC 6455).
// The owner is the service thread.

import HTTPProtocol
import StreamTransport
import WebSocketProtocol

/// The state of a WebSocket.
struct WebSocketState {
    var reader: ClientFrameReader
    var closing = ClosingHandshake()
    /// The close frame that was sent and not answered.
    var sentClose: CloseFrame?
    /// Indicates whether no more messages are read until some were taken.
    var isInboxFull = false
    var lastReceived: Moment
    /// Indicates whether a ping was sent because the client was quiet, with nothing received since.
    var pingTime: Moment?
}

extension ServerConnection {
    func beginWebSocket() {
        let limit = self.core.configuration.limits.request.bodyByteCount
        let now = Moment.now
        self.webSocket = WebSocketState(reader: ClientFrameReader(messageByteLimit: limit), lastReceived: now)
        self.phase = .webSocket
        self.deadline = now + self.timeouts.ping
        // The rest of the request's head is not needed any more.
        (self.head, self.webSocketRequest) = (nil, nil)
        self.readInput()
    }

    // MARK: Sending

    func performInWebSocket(_ output: ExchangeOutput) {
        guard self.webSocket?.closing.allowsSending == true else { return }
        switch output {
        case .bytes(let bytes): self.output.append(OutboundPiece(.text, payload: bytes, cost: output.cost))
        case .ping(let payload): self.output.append(OutboundPiece(.ping, payload: payload, cost: output.cost))
        case .close(let frame):
            guard let action = self.webSocket?.closing.closeRequested(frame) else { return }
            self.performClosing(action, end: .closed(frame), isReceived: false)
        case .response, .head, .acceptance, .end:
            // The exchange allows one answer.
            break
        }
    }

    // MARK: Receiving

    func readFrames(_ bytes: UnsafeRawBufferPointer, at position: inout Int) {
        do throws(FrameError) {
            while self.phase == .webSocket, self.webSocket?.isInboxFull == false,
                let element = try self.webSocket?.reader.next(in: bytes, at: &position)
            {
                self.received(element)
            }
        } catch {
            self.failWebSocket(error.closeCode)
        }
    }

    private func received(_ element: ClientFrameReader.Element) {
        switch element {
        case .message(.text, let bytes):
            guard bytes.withUnsafeBytes({ UTF8Validator.isValid($0) }) else {
                return self.failWebSocket(.invalidFramePayloadData)
            }
            // Messages behind this side's close frame are not asked for any more.
            guard self.webSocket?.closing.allowsSending == true, let exchange = self.exchange else { return }
            if !exchange.received(String(decoding: bytes, as: UTF8.self)) { self.webSocket?.isInboxFull = true }
        case .message(.binary, _):
            self.failWebSocket(.unsupportedData)
        case .ping(let payload):
            // A client that sends pings and reads nothing gets no more of them (RFC 6455 section 5.5.3 allows it).
            let hasRoom = self.output.byteCount < self.core.configuration.limits.bufferedByteCount
            if hasRoom, self.webSocket?.closing.allowsSending == true {
                self.output.append(OutboundPiece(.pong, payload: payload))
            }
        case .pong(let payload):
            self.exchange?.receivedPong(payload)
        case .close(let frame):
            guard let action = self.webSocket?.closing.closeReceived(frame) else { return }
            self.performClosing(action, end: .closed(frame))
        }
    }

    /// Goes on reading, because messages were taken.
    func inboxHasRoom(of exchange: HTTPExchange) {
        guard exchange === self.exchange, self.webSocket?.isInboxFull == true else { return }
        self.webSocket?.isInboxFull = false
        self.readInput()
        self.settle()
    }

    // MARK: Closing

    private func failWebSocket(_ code: CloseCode) {
        guard let action = self.webSocket?.closing.connectionFailed(code) else { return }
        self.performClosing(action, end: .protocolViolated(code))
    }

    private func performClosing(_ action: ClosingHandshake.Action, end: HTTPExchange.End, isReceived: Bool = true) {
        switch action {
        case .sendClose(let frame):
            self.output.append(OutboundPiece(closing: frame))
            guard isReceived else {
                self.webSocket?.sentClose = frame
                self.deadline = .now + self.timeouts.closing
                return
            }
            self.endWebSocket(end)
        case .sendCloseAndDisconnect(let frame):
            self.output.append(OutboundPiece(closing: frame))
            self.endWebSocket(end)
        // RFC 6455 section 7.1.1: the server is the one that ends the connection.
        case .awaitDisconnect, .disconnect:
            self.endWebSocket(end)
        case .ignore:
            break
        }
    }

    /// Ends the exchange; the connection is closed behind the last frame.
    private func endWebSocket(_ end: HTTPExchange.End) {
        self.phase = .closing
        self.deadline = nil
        let exchange = self.exchange
        self.exchange = nil
        exchange?.ended(end)
    }

    // MARK: Time

    func webSocketTimedOut(at now: Moment) {
        guard let state = self.webSocket else { return }
        if let frame = state.sentClose {
            self.endWebSocket(.closed(frame))
            return
        }
        let quietEnd = state.lastReceived + self.timeouts.ping
        if state.isInboxFull || !self.output.isEmpty {
            // The client is not read, or a ping would wait behind what it still takes: `stall` is the limit of that.
            self.webSocket?.pingTime = nil
            self.deadline = now + self.timeouts.ping
        } else if quietEnd > now {
            self.webSocket?.pingTime = nil
            self.deadline = quietEnd
        } else if let pingTime = state.pingTime, pingTime > state.lastReceived {
            self.close(.clientStalled)
        } else {
            self.webSocket?.pingTime = now
            self.deadline = now + self.timeouts.ping
            self.output.append(OutboundPiece(.ping, payload: []))
        }
    }
}
