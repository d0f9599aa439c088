// The WebSocket transport: the opening handshake, then the loop that takes requests and sends responses.
//
// Owned by the connection thread.

/// Answers one upgrade and all requests on the socket.
struct WebSocketExchange {
    /// A request as it was received.
    struct Request {
        /// Its JSON.
        var body: JSONValue
        /// Its text.
        var bytes: [UInt8]
    }

    /// The attempt.
    let exchange: Exchange
    /// The state of the lanes.
    var session = WebSocketSession()
    /// The unanswered requests.
    var queue = LaneQueue<Request>()
    /// The responses that are sent now, at most one on a lane.
    var running: [RunningResponse] = []
    /// The number of responses that the socket was asked for.
    var responseCount = 0
    /// The number of times that a client has added input to a response.
    var steeringCount = 0
    /// Indicates whether the connection is too old for another request.
    var isExpired = false
    private let start = ContinuousClock().now
    private var servedByteCount = -1

    /// The configuration of the answers.
    var configuration: ChappieTestServer.Configuration { self.exchange.parts.configuration }
    /// The writer of the attempt.
    var writer: WireWriter { self.exchange.writer }
    /// Indicates whether the connection has reached its maximum age.
    var isTooOld: Bool {
        self.configuration.connectionLifetime.map { ContinuousClock().now - self.start > $0 } ?? false
    }

    /// Prepares the answer to an upgrade.
    init(_ exchange: Exchange) { self.exchange = exchange }

    /// Serves the socket until it ends.
    ///
    /// The connection may carry another request when this returns.
    mutating func run() throws(ConnectionEnd) {
        if try self.exchange.sendReplacement() { return }
        guard let connection = try self.establish() else { return }
        try self.serve(connection)
    }

    /// Answers the opening handshake; returns nil when it was refused.
    func establish() throws(ConnectionEnd) -> WebSocketConnection? {
        let isKnownVersion = self.exchange.request.value(of: "sec-websocket-version") == "13"
        guard isKnownVersion, let key = self.exchange.request.value(of: "sec-websocket-key") else {
            let version = ChappieTestServer.Field(name: "sec-websocket-version", value: "13")
            try self.exchange.send(
                status: isKnownVersion ? 400 : 426, body: ErrorBody.body(status: 400), fields: [version])
            return nil
        }
        let offers = self.exchange.request.value(of: "sec-websocket-extensions") ?? ""
        let agreement = CompressionAgreement.negotiate(offers: offers, options: self.configuration.messageCompression)
        try self.sendHead(key: key, agreement: agreement)
        return WebSocketConnection(self.exchange, agreement: agreement)
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

    // MARK: The loop

    /// Takes the messages that have arrived, starts the responses that may run, and sends one due event of each
    /// response.
    private mutating func serve(_ connection: WebSocketConnection) throws(ConnectionEnd) {
        if case .close(let code, let reason)? = self.exchange.faults.earlyClose {
            try connection.close(code: code, reason: reason)
        }
        do throws(ConnectionEnd) {
            while true {
                try self.receive(on: connection)
                try self.startResponses(on: connection)
                try self.advance(on: connection)
                // A response that ends lets the next one of its lane begin, for which no message has to arrive.
                try self.startResponses(on: connection)
                if self.isExpired, self.running.isEmpty { try connection.close(code: 1000, reason: "") }
            }
        } catch {
            // A response whose terminal event was written before the end of the connection counts as delivered.
            for response in self.running { self.noteDelivery(of: response) }
            // A client that exits while it is written to may have sent its Close frame before.
            if case .peerGone = error { connection.readToCloseFrame(waiting: 0) }
            throw error
        }
    }

    /// Takes the available messages, and waits for one while no response has an event to send.
    private mutating func receive(on connection: WebSocketConnection) throws(ConnectionEnd) {
        let now = ContinuousClock.now
        guard self.running.contains(where: { $0.isDue(at: now) }) else {
            try self.writer.flush()
            // One at a time: further frames of the client, such as a Close frame, are read after the response has
            // begun.
            if let message = try connection.receive(before: self.nextInstant) { try self.take(message, on: connection) }
            self.servedByteCount = self.writer.sentByteCount
            return
        }
        // The client's frames are read whenever bytes were written, so that its pings do not wait for a whole response.
        guard self.writer.sentByteCount != self.servedByteCount else { return }
        self.servedByteCount = self.writer.sentByteCount
        while let message = try connection.receive(before: now) { try self.take(message, on: connection) }
    }

    /// The time at which a response continues by itself; nil is never.
    private var nextInstant: ContinuousClock.Instant? {
        self.running.compactMap { if case .until(let instant) = $0.wait { instant } else { nil } }.min()
    }

    private mutating func take(
        _ message: WebSocketConnection.Message, on connection: WebSocketConnection
    ) throws(ConnectionEnd) {
        self.exchange.parts.log.addBody(message.payload, attempt: self.exchange.attempt)
        guard message.isText else { try connection.close(code: 1003, reason: "text expected") }
        try self.receivedText(message.payload, on: connection)
    }

    /// Performs one action of every response that has one due, in turn.
    private mutating func advance(on connection: WebSocketConnection) throws(ConnectionEnd) {
        let now = ContinuousClock.now
        var index = 0
        while index < self.running.count {
            guard self.running[index].isDue(at: now) else {
                index += 1
                continue
            }
            if try self.advance(index, at: now, on: connection) { index += 1 }
        }
    }

    /// Performs one action of a response; returns false when that was its last.
    private mutating func advance(
        _ index: Int, at now: ContinuousClock.Instant, on connection: WebSocketConnection
    ) throws(ConnectionEnd) -> Bool {
        if self.running[index].steering != nil {
            try self.redirect(index, on: connection)
            return true
        }
        switch self.running[index].next(at: now, configuration: self.configuration) {
        case .later:
            try self.writer.flush()
            return true
        case .step(let step):
            try self.perform(step, of: index, on: connection)
            return true
        case .over:
            try self.writer.flush()
            let response = self.running.remove(at: index)
            self.finish(response)
            if self.beginSuccessor(of: response, at: index) { return true }
            try self.settleSteering(of: response, on: connection)
            self.queue.finish(lane: response.laneName)
            return false
        }
    }

    private mutating func perform(
        _ step: ResponseStep, of index: Int, on connection: WebSocketConnection
    ) throws(ConnectionEnd) {
        switch step {
        case .event(let event), .binary(let event):
            let isBinary = if case .binary = step { true } else { false }
            let lane = self.running[index].lane
            guard event.isTerminal else {
                return try self.send(event, lane: lane, isBinary: isBinary, on: connection)
            }
            try self.writer.append(self.delivery(of: self.running[index])) { () throws(ConnectionEnd) in
                try self.send(event, lane: lane, isBinary: isBinary, on: connection)
            }
            self.running[index].terminalEnd = self.writer.position
            self.running[index].isComplete = event.type == "response.completed"
        case .ping: try connection.sendPing()
        case .close(let code, let reason): try connection.close(code: code, reason: reason)
        case .endStream: try connection.close(code: 1000, reason: "")
        case .end(let end):
            try self.writer.flush()
            throw end
        case .text, .pause, .hang: return
        }
    }

    /// Completes a response: the next one may continue it.
    private mutating func finish(_ response: RunningResponse) {
        self.noteDelivery(of: response)
        if response.isComplete {
            self.session.complete(response.response.script, after: response.conversation, lane: response.lane)
        } else {
            self.session.fail(previousID: response.body["previous_response_id"]?.string, lane: response.lane)
        }
    }

    /// Returns what is done when a response's terminal event is about to be written.
    func delivery(of response: RunningResponse) -> () -> Void {
        let source = self.exchange.parts.source
        return { source.delivered(response.response) }
    }

    /// Counts a response whose terminal event is written.
    func noteDelivery(of response: RunningResponse) {
        guard self.writer.sentByteCount >= response.terminalEnd else { return }
        self.exchange.parts.log.completeResponse(attempt: self.exchange.attempt)
    }

    /// Sends an event; events of a named lane have a top-level member for it.
    func send(
        _ event: ScriptEvent, lane: String?, isBinary: Bool = false, on connection: WebSocketConnection
    ) throws(ConnectionEnd) {
        var payload = Array(event.text.utf8)
        if let lane, payload.last == UInt8(ascii: "}") {
            payload.removeLast()
            payload += Array(",\"stream_id\":\(JSONValue.quoted(lane))}".utf8)
        }
        try connection.send(payload, opcode: isBinary ? .binary : .text)
        switch self.configuration.writeMode {
        case .batched: break
        case .perEvent, .bytes: try self.writer.flush()
        case .events(let count): try self.writer.flush(everyEvents: count)
        }
    }
}
