// Requests: from received bytes to the handler.
// The owner is the service thread.

import HTTPProtocol
import StreamTransport
import WebSocketProtocol

extension ServerConnection {
    /// Reads bytes from the start of the buffer; returns the number that need not be kept.
    func consume(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        var position = 0
        while position < buffer.count {
            switch self.phase {
            case .idle, .head: self.readHead(UnsafeRawBufferPointer(buffer), at: &position)
            case .body: self.readBody(buffer, at: &position)
            case .webSocket:
                self.readFrames(UnsafeRawBufferPointer(buffer), at: &position)
                if self.webSocket?.isInboxFull == true { return position }
            case .exchange, .handshaking: return position
            case .closing, .lingering, .closed: return buffer.count
            }
        }
        return position
    }

    private func readHead(_ bytes: UnsafeRawBufferPointer, at position: inout Int) {
        do throws(RequestError) {
            guard let head = try self.reader.readHead(bytes, at: &position) else {
                if self.phase == .idle, self.reader.hasBegun {
                    // The time of the first request began with the connection.
                    if self.hasServed { self.deadline = .now + self.timeouts.requestHead }
                    self.phase = .head
                }
                return
            }
            self.begin(head, hasMoreInput: position < bytes.count)
        } catch {
            self.fail(statusCode: error.statusCode)
        }
    }

    private func begin(_ head: RequestMessageHead, hasMoreInput: Bool) {
        self.head = head
        self.answer = AnswerState(keepsConnection: head.allowsAnotherRequest && !self.thread.isStopping(self.core))
        guard head.bodyFraming != .none else { return self.dispatch(head) }
        self.phase = .body
        self.deadline = .now + self.timeouts.body
        // A client that has sent a part of the body does not wait.
        if head.expectsContinue, !hasMoreInput { self.output.append(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
    }

    private func readBody(_ buffer: UnsafeMutableRawBufferPointer, at position: inout Int) {
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[position...])
        do throws(RequestError) {
            let piece = try self.reader.readBody(rest)
            self.body.append(contentsOf: rest[piece.content])
            position += piece.consumed
            self.deadline = .now + self.timeouts.body
            if piece.isComplete, let head = self.head { self.dispatch(head) }
        } catch {
            self.fail(statusCode: error.statusCode)
        }
    }

    /// Gives a whole request to the handler.
    private func dispatch(_ head: RequestMessageHead) {
        let upgrade: UpgradeRequest?
        do throws(UpgradeRequest.Failure) {
            upgrade = try UpgradeRequest.read(head.upgradeHead)
        } catch {
            switch error {
            case .malformed:
                return self.fail(statusCode: 400)
            case .unsupportedVersion:
                return self.fail(statusCode: 426, fields: [("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")])
            }
        }
        let body = self.body
        self.body = []
        guard upgrade == nil || body.isEmpty else { return self.fail(statusCode: 400) }
        self.webSocketRequest = upgrade
        self.phase = .exchange
        self.deadline = nil
        let limits = self.core.configuration.limits
        let exchange = HTTPExchange(
            connection: self.id, thread: self.thread, offeredSubprotocols: upgrade?.subprotocols,
            limits: ExchangeLimits(
                bufferedByteCount: limits.bufferedByteCount, inboxByteCount: limits.request.bodyByteCount))
        self.exchange = exchange
        let request = HTTPServerRequest(
            method: head.method, path: head.path, query: head.query, fields: head.fields, body: body,
            remoteAddress: self.remoteAddress, offeredSubprotocols: upgrade?.subprotocols)
        self.core.handler(request, exchange)
    }

    /// Answers a request that cannot be read, or not be served, and closes the connection behind the answer.
    func fail(statusCode: Int, fields: [(name: String, value: String)] = []) {
        let body = Array("\(statusCode) \(ResponseHeadWriter.reasonPhrase(of: statusCode))\n".utf8)
        let own = [
            ("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", "\(body.count)"),
            ("Date", self.thread.dateText), ("Connection", "close"),
        ]
        self.output.append(ResponseHeadWriter.bytes(statusCode: statusCode, fields: fields + own))
        if self.head?.method != "HEAD" { self.output.append(body) }
        self.phase = .closing
        self.deadline = nil
        (self.input, self.body) = ([], [])
    }

    /// Answers a connection above the limit.
    func refuse() {
        self.fail(statusCode: 503, fields: [("Retry-After", "\(self.core.configuration.retryAfterSeconds)")])
    }
}

extension RequestMessageHead {
    /// The parts that decide about a WebSocket.
    fileprivate var upgradeHead: UpgradeRequest.Head {
        UpgradeRequest.Head(
            method: self.method, isHTTP11: self.minorVersion > 0, upgrade: self.fields.value(of: "upgrade"),
            connection: self.fields.value(of: "connection"), keys: self.fields.values(of: "sec-websocket-key"),
            version: self.fields.value(of: "sec-websocket-version"),
            subprotocols: self.fields.value(of: "sec-websocket-protocol"))
    }
}
