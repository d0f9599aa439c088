// The WebSocket transport: the opening handshake, then requests in turn on one socket.
//
// Owned by the connection thread.

/// Answers one upgrade and all that is asked on the socket.
struct WebSocketExchange {
    private let exchange: Exchange
    private let start = ContinuousClock().now
    private var session = WebSocketSession()
    private var responseCount = 0

    private var configuration: ChappieTestServer.Configuration { self.exchange.parts.configuration }
    private var writer: WireWriter { self.exchange.writer }

    /// Prepares the answer to an upgrade.
    init(_ exchange: Exchange) { self.exchange = exchange }

    /// Serves the socket until it ends.
    ///
    /// The connection may carry another request when this returns.
    mutating func run() throws(ConnectionEnd) {
        if try self.exchange.sendReplacement() { return }
        let isKnownVersion = self.exchange.request.value(of: "sec-websocket-version") == "13"
        guard isKnownVersion, let key = self.exchange.request.value(of: "sec-websocket-key") else {
            let version = ChappieTestServer.Field(name: "sec-websocket-version", value: "13")
            return try self.exchange.send(
                status: isKnownVersion ? 400 : 426, body: ErrorBody.body(status: 400), fields: [version])
        }
        let offers = self.exchange.request.value(of: "sec-websocket-extensions") ?? ""
        let agreement = CompressionAgreement.negotiate(offers: offers, options: self.configuration.messageCompression)
        try self.sendHead(key: key, agreement: agreement)
        let connection = WebSocketConnection(self.exchange, agreement: agreement)
        try self.serve(connection)
    }

    private func sendHead(key: String, agreement: CompressionAgreement?) throws(ConnectionEnd) {
        let faults = self.exchange.faults
        let accept = HandshakeDigest.acceptKey(for: faults.hasWrongAcceptKey ? key + "!" : key)
        var fields: [ChappieTestServer.Field] = [
            .init(name: "upgrade", value: "websocket"), .init(name: "connection", value: "Upgrade"),
            .init(name: "sec-websocket-accept", value: accept),
        ]
        if let value = faults.unofferedExtension ?? agreement?.fieldValue {
            fields.append(.init(name: "sec-websocket-extensions", value: value))
        }
        if let value = faults.unofferedSubprotocol {
            fields.append(.init(name: "sec-websocket-protocol", value: value))
        }
        self.exchange.parts.log.setStatus(
            101, acceptedExtension: agreement?.fieldValue, attempt: self.exchange.attempt)
        let head = HTTPResponseHead(status: 101, fields: fields + self.exchange.sharedFields)
        try self.writer.append(head.bytes)
        try self.writer.beginBody()
        try self.writer.flush()
    }

    private mutating func serve(_ connection: WebSocketConnection) throws(ConnectionEnd) {
        if case .close(let code, let reason)? = self.exchange.faults.earlyClose {
            try connection.close(code: code, reason: reason)
        }
        while true {
            let message = try connection.receive()
            self.exchange.parts.log.addBody(message.payload, attempt: self.exchange.attempt)
            guard message.isText else { try connection.close(code: 1003, reason: "text expected") }
            try self.answer(message.payload, on: connection)
            try self.writer.flush()
        }
    }

    private mutating func answer(_ bytes: [UInt8], on connection: WebSocketConnection) throws(ConnectionEnd) {
        guard let body = JSONValue(bytes), body.isObject else {
            return try self.refuse(.init(message: "The message is not a JSON object."), on: connection)
        }
        let lane = body["stream_id"]?.string
        if let lifetime = self.configuration.connectionLifetime, ContinuousClock().now - self.start > lifetime {
            let refusal = WebSocketSession.Refusal(
                code: "websocket_connection_limit_reached", message: "The connection limit (60 minutes) is reached.")
            try self.refuse(refusal, on: connection)
            try connection.close(code: 1000, reason: "")
        }
        if let refusal = self.session.refusal(for: body, isOnChatGPTPath: self.exchange.isOnChatGPTPath) {
            return try self.refuse(refusal, on: connection)
        }
        let conversation = self.session.conversation(for: body)
        if let message = conversation.refusalMessage {
            return try self.refuse(.init(message: message, param: "input"), on: connection)
        }
        if body["generate"] == .bool(false) {
            let demand = self.exchange.demand(body: body, bytes: bytes, response: 0, conversation: conversation)
            let script = self.exchange.parts.source.warmUp(for: demand)
            for event in script.events { try self.send(event, lane: lane, on: connection) }
            self.session.complete(script, after: conversation, lane: lane)
            return
        }
        try self.respond(to: body, bytes: bytes, after: conversation, lane: lane, on: connection)
    }

    private func refuse(_ refusal: WebSocketSession.Refusal, on connection: WebSocketConnection) throws(ConnectionEnd) {
        let text = ErrorBody.frame(
            status: 400, code: refusal.code, message: refusal.message, param: refusal.param)
        try connection.send(Array(text.utf8), opcode: .text)
        try self.writer.flush()
    }

    private mutating func respond(
        to body: JSONValue, bytes: [UInt8], after conversation: Conversation, lane: String?,
        on connection: WebSocketConnection
    ) throws(ConnectionEnd) {
        self.responseCount += 1
        let demand = self.exchange.demand(
            body: body, bytes: bytes, response: self.responseCount, conversation: conversation)
        var response = self.exchange.parts.source.response(to: demand)
        if self.sendsLimits {
            let state = "ts-\(self.exchange.attempt)-\(self.responseCount)"
            response.script.prepend(UsageLimits.events(turnState: state, model: response.script.identity.model))
        }
        let actions = self.exchange.faults.actions(response: self.responseCount)
        let steps = ResponseSteps.make(
            response.script, actions: actions, transport: .webSocket, earlierID: self.session.lastID(lane: lane))
        var isComplete = false
        var terminalEnd = Int.max
        var failure: ConnectionEnd?
        do throws(ConnectionEnd) {
            for step in steps {
                if let event = try self.perform(step, lane: lane, on: connection) {
                    terminalEnd = self.writer.position
                    isComplete = event.type == "response.completed"
                }
            }
            try self.writer.flush()
        } catch { failure = error }
        if self.writer.sentByteCount >= terminalEnd {
            self.exchange.parts.source.delivered(response)
            self.exchange.parts.log.completeResponse(attempt: self.exchange.attempt)
        }
        if let failure { throw failure }
        if isComplete {
            self.session.complete(response.script, after: conversation, lane: lane)
        } else {
            self.session.fail(previousID: body["previous_response_id"]?.string)
        }
    }

    private var sendsLimits: Bool {
        switch self.configuration.limitEvents {
        case .never: false
        case .onChatGPTPath: self.exchange.isOnChatGPTPath
        case .always: true
        }
    }

    /// Performs a step; returns the event when it was the terminal one.
    private func perform(
        _ step: ResponseStep, lane: String?, on connection: WebSocketConnection
    ) throws(ConnectionEnd) -> ScriptEvent? {
        switch step {
        case .event(let event), .binary(let event):
            let isBinary = if case .binary = step { true } else { false }
            try self.pace(on: connection)
            try self.send(event, lane: lane, isBinary: isBinary, on: connection)
            return event.isTerminal ? event : nil
        case .ping: try connection.sendPing()
        case .close(let code, let reason): try connection.close(code: code, reason: reason)
        case .endStream: try connection.close(code: 1000, reason: "")
        case .end(let end):
            try self.writer.flush()
            throw end
        case .pause(let seconds): try self.wait(seconds: seconds, lane: lane, on: connection)
        case .hang: try self.wait(seconds: nil, lane: lane, on: connection)
        }
        return nil
    }

    /// Sends nothing but signs of life for a while, or for ever, serving the client meanwhile.
    private func wait(seconds: Double?, lane: String?, on connection: WebSocketConnection) throws(ConnectionEnd) {
        try self.writer.flush()
        var cadence = WaitingCadence(seconds: seconds, configuration: self.configuration, transport: .webSocket)
        if cadence.isEndless { try connection.serveForever() }
        while let (sign, instant) = cadence.next() {
            try connection.serve(until: instant)
            guard sign != nil else { return }
            try self.send(.keepalive, lane: lane, on: connection)
            try self.writer.flush()
        }
    }

    /// Waits for the next event's time, serving the client meanwhile.
    private func pace(on connection: WebSocketConnection) throws(ConnectionEnd) {
        guard let rate = self.configuration.eventsPerSecond, rate > 0 else { return }
        try self.writer.flush()
        try connection.serve(milliseconds: Int(min(3600, 1 / rate) * 1000))
    }

    private func send(
        _ event: ScriptEvent, lane: String?, isBinary: Bool = false, on connection: WebSocketConnection
    ) throws(ConnectionEnd) {
        var payload = Array(event.text.utf8)
        // Events of a named lane say so at top level.
        if let lane, payload.last == UInt8(ascii: "}") {
            payload.removeLast()
            payload += Array(",\"stream_id\":\(JSONValue.quoted(lane))}".utf8)
        }
        let sent = self.writer.sentByteCount
        try connection.send(payload, opcode: isBinary ? .binary : .text)
        try self.divideWrites()
        // The client is served whenever something was written, so that its pings do not wait for the whole response.
        if self.writer.sentByteCount != sent { try connection.serve(milliseconds: 0) }
    }

    private func divideWrites() throws(ConnectionEnd) {
        switch self.configuration.writeMode {
        case .batched: break
        case .perEvent, .bytes: try self.writer.flush()
        case .events(let count): try self.writer.flush(everyEvents: count)
        }
    }
}
