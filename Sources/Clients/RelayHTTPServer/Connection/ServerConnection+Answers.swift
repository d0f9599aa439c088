// Answers: from what an exchange posts to bytes.
// The owner is the service thread.

import CLibwebsocketsShim
import HTTPProtocol
import WebSocketProtocol

extension OutboundPiece {
    /// A chunk of a body (RFC 9112 section 7.1).
    init(chunk: [UInt8], cost: Int) {
        self.init(
            prefix: Prefix(lineOfChunk: chunk.count), payload: chunk, endsLine: true, cost: cost)
    }

    /// A frame of a WebSocket.
    init(_ opcode: Opcode, payload: [UInt8], cost: Int = 0) {
        self.init(
            prefix: Prefix(ServerFrameWriter.header(opcode, payloadByteCount: payload.count)), payload: payload,
            cost: cost)
    }

    /// A close frame.
    init(closing frame: CloseFrame) { self.init(.close, payload: frame.payload) }
}

extension ServerConnection {
    /// Queues a part of an answer.
    func perform(_ output: ExchangeOutput) {
        switch self.phase {
        case .exchange: self.performInResponse(output)
        case .webSocket: self.performInWebSocket(output)
        // The exchange had posted more before it ended.
        case .handshaking, .idle, .head, .body, .closing, .lingering, .closed: break
        }
    }

    private func performInResponse(_ output: ExchangeOutput) {
        switch output {
        case .response(let response): self.send(response, cost: output.cost)
        case .head(let statusCode, let fields):
            self.beginResponse(statusCode: statusCode, fields: fields)
            self.exchange?.sent(cost: output.cost)
        case .bytes(let bytes):
            self.sendChunk(bytes, cost: output.cost)
        case .end:
            if case .chunked = self.answer.body { self.output.append(Array("0\r\n\r\n".utf8)) }
            self.answer.isComplete = true
        case .acceptance(let subprotocol, let fields):
            self.openWebSocket(subprotocol: subprotocol, fields: fields)
            self.exchange?.sent(cost: output.cost)
        case .ping, .close:
            // Only an open WebSocket has these.
            break
        }
    }

    private func send(_ response: HTTPServerResponse, cost: Int) {
        var fields = response.fields
        let hasContent = Self.allowsContent(response.statusCode)
        if hasContent { fields.append(("Content-Length", "\(response.body.count)")) }
        self.appendHead(statusCode: response.statusCode, fields: fields, cost: ExchangeOutput.overhead)
        if hasContent, self.head?.method != "HEAD" {
            self.output.append(OutboundPiece(payload: response.body, cost: cost - ExchangeOutput.overhead))
        }
        self.answer.isComplete = true
    }

    private func beginResponse(statusCode: Int, fields: [(name: String, value: String)]) {
        var fields = fields
        let isHTTP11 = self.head.map { $0.minorVersion > 0 } ?? true
        if !Self.allowsContent(statusCode) {
            self.answer.body = .dropped
        } else if isHTTP11 {
            fields.append(("Transfer-Encoding", "chunked"))
            self.answer.body = self.head?.method == "HEAD" ? .dropped : .chunked
        } else {
            self.answer.body = self.head?.method == "HEAD" ? .dropped : .untilClose
            self.answer.keepsConnection = false
        }
        self.appendHead(statusCode: statusCode, fields: fields, cost: 0)
    }

    private func sendChunk(_ bytes: [UInt8], cost: Int) {
        switch self.answer.body {
        case .chunked: self.output.append(OutboundPiece(chunk: bytes, cost: cost))
        case .untilClose: self.output.append(OutboundPiece(payload: bytes, cost: cost))
        case .dropped, .none: self.exchange?.sent(cost: cost)
        }
    }

    /// Queues a head with the fields that are the server's own.
    private func appendHead(statusCode: Int, fields: [(name: String, value: String)], cost: Int) {
        var fields = fields
        fields.append(("Date", self.thread.dateText))
        if self.thread.isStopping(self.core) { self.answer.keepsConnection = false }
        if !self.answer.keepsConnection {
            fields.append(("Connection", "close"))
        } else if self.head?.minorVersion == 0 {
            fields.append(("Connection", "keep-alive"))
        }
        self.output.append(
            OutboundPiece(payload: ResponseHeadWriter.bytes(statusCode: statusCode, fields: fields), cost: cost))
        self.answer.hasBegun = true
    }

    /// Returns whether a response can have a body (RFC 9110 sections 15.3.5 and 15.4.5).
    private static func allowsContent(_ statusCode: Int) -> Bool { statusCode != 204 && statusCode != 304 }

    // MARK: Opening a WebSocket

    private func openWebSocket(subprotocol: String?, fields: [(name: String, value: String)]) {
        guard let request = self.webSocketRequest else { return }
        var digest = [UInt8](repeating: 0, count: 20)
        let input = Array(request.acceptInput.utf8)
        clws_sha1(input, input.count, &digest)
        var own = [
            (name: "Upgrade", value: "websocket"), (name: "Connection", value: "Upgrade"),
            (name: "Sec-WebSocket-Accept", value: Base64.encode(digest)),
        ]
        if let subprotocol { own.append((name: "Sec-WebSocket-Protocol", value: subprotocol)) }
        own.append((name: "Date", value: self.thread.dateText))
        self.output.append(ResponseHeadWriter.bytes(statusCode: 101, fields: own + fields))
        self.answer.hasBegun = true
        // A client that has ended its side cannot take part in a WebSocket.
        guard !self.hasInputEnded else { return self.close(.clientGone) }
        self.beginWebSocket()
    }
}
