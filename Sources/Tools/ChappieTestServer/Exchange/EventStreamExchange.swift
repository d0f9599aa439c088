// The HTTP transport: a POST that is answered with an event stream.
//
// Owned by the connection thread.

/// Answers one POST.
struct EventStreamExchange {
    let exchange: Exchange
    private let isChunked: Bool
    private let coding: ChappieTestServer.ContentCoding
    private let compressor: Compressor?
    private var pendingEvents: [UInt8] = []
    private var pendingEventCount = 0
    /// Writes the events as chunks of a chat completion, or as events of a message; both nil in the Responses API.
    private var chunks: ChatChunks?
    private var message: MessageEvents?
    /// Indicates whether events are sent when a background response has made them, and not at the stream's own rate.
    private var isBackground = false

    private var isChat: Bool { self.exchange.request.path == ChatRequest.path }
    private var isMessages: Bool { self.exchange.request.path == MessagesRequest.path }
    private var configuration: ChappieTestServer.Configuration { self.exchange.parts.configuration }
    private var writer: WireWriter { self.exchange.writer }

    /// Prepares the answer to a POST.
    init(_ exchange: Exchange) {
        self.exchange = exchange
        self.isChunked = exchange.request.minorVersion >= 1
        let wanted = exchange.parts.configuration.contentCoding
        self.coding = exchange.request.accepts(coding: wanted.rawValue) ? wanted : .identity
        switch self.coding {
        case .identity: self.compressor = nil
        case .gzip: self.compressor = Compressor(.gzip)
        case .deflate: self.compressor = Compressor(.zlib)
        }
    }

    /// Sends the answer.
    ///
    /// The connection may carry another request when this returns true.
    mutating func run() throws(ConnectionEnd) -> Bool {
        if try self.exchange.sendReplacement() { return true }
        let bytes = self.exchange.request.content
        if let problem = self.problem(bytes) {
            try self.exchange.send(status: problem.status, body: problem.body)
            return true
        }
        guard let given = JSONValue(bytes) else { return true }
        var body = given
        if self.isChat { body = ChatRequest.responseBody(given) }
        if self.isMessages { body = MessagesRequest.responseBody(given) }
        var conversation = Conversation()
        conversation.append(input: body["input"])
        if let message = conversation.refusalMessage {
            try self.exchange.send(status: 400, body: ErrorBody.body(message: message, param: "input"))
            return true
        }
        let demand = self.exchange.demand(
            body: body, bytes: bytes, response: 1, conversation: conversation)
        let response = self.exchange.parts.source.response(to: demand)
        if self.isChat {
            self.chunks = ChatChunks(
                response.script.identity, request: given, signsCalls: self.configuration.chatDemand == .signatures)
        }
        if self.isMessages { self.message = MessageEvents(response.script.identity) }
        if body["background"] == .bool(true) {
            self.exchange.parts.background.add(response.script, eventsPerSecond: self.configuration.eventsPerSecond)
        }
        guard body["stream"] == .bool(true) else {
            try self.sendWhole(response)
            return true
        }
        return try self.sendStream(response.script, of: response)
    }

    /// Returns the reason for which a body is refused; nil when it is accepted.
    private func problem(_ bytes: [UInt8]) -> (status: Int, body: String)? {
        let coding = self.exchange.request.value(of: "content-encoding")?.lowercased() ?? "identity"
        if coding != "identity" { return (415, ErrorBody.body(message: "Unsupported content encoding.")) }
        guard let body = JSONValue(bytes), body.isObject else {
            return (400, ErrorBody.body(message: "The body is not a JSON object."))
        }
        if self.isChat {
            let problem = ChatRequest.problem(body) ?? self.configuration.chatDemand?.problem(body)
            return problem.map { (400, ErrorBody.body(message: $0, param: "messages")) }
        }
        if self.isMessages { return MessagesRequest.refusal(self.exchange.request, body).map { (400, $0) } }
        if body["background"] == .bool(true), body["store"] != .bool(true) {
            return (400, ErrorBody.body(message: "background needs store."))
        }
        guard self.exchange.isOnChatGPTPath else { return nil }
        return ChatGPTRules.violation(body, needsStream: true).map { (400, "{\"detail\":\(JSONValue.quoted($0))}") }
    }

    /// Sends the finished response as one JSON object, for clients that do not stream.
    private func sendWhole(_ response: ResponseSource.Response) throws(ConnectionEnd) {
        let terminal = response.script.events.last { $0.isTerminal }
        let document = terminal.flatMap { JSONValue(Array($0.text.utf8))?["response"] }
        let object = document.map { self.chunks?.document($0) ?? self.message?.document($0) ?? $0.text }
        let source = self.exchange.parts.source
        try self.writer.append({ source.delivered(response) }) { () throws(ConnectionEnd) in
            try self.exchange.send(status: 200, body: object ?? "{}")
        }
        self.exchange.parts.log.completeResponse(attempt: self.exchange.attempt)
    }

    /// Sends a script as an event stream, with the attempt's faults.
    ///
    /// A response is delivered when all bytes up to the terminal event are written. The connection may carry another
    /// request when this returns true.
    mutating func sendStream(
        _ script: ResponseScript, of response: ResponseSource.Response? = nil
    ) throws(ConnectionEnd) -> Bool {
        try self.sendHead(model: script.identity.model)
        try self.sendEvents(script, of: response)
        return self.isChunked
    }

    private func sendHead(model: String) throws(ConnectionEnd) {
        var fields: [ChappieTestServer.Field] = [
            .init(name: "content-type", value: "text/event-stream; charset=utf-8"),
            .init(name: "cache-control", value: "no-cache"),
            .init(name: "openai-model", value: String(model.filter { $0.isASCII && !$0.isNewline })),
        ]
        if !self.isChat, !self.isMessages {
            fields.append(.init(name: "x-codex-turn-state", value: "ts-http-\(self.exchange.attempt)"))
        }
        if self.coding != .identity { fields.append(.init(name: "content-encoding", value: self.coding.rawValue)) }
        fields.append(
            self.isChunked
                ? .init(name: "transfer-encoding", value: "chunked") : .init(name: "connection", value: "close"))
        self.exchange.parts.log.setStatus(200, attempt: self.exchange.attempt)
        let head = HTTPResponseHead(status: 200, fields: fields + self.exchange.sharedFields)
        try self.writer.append(head.bytes)
        try self.writer.beginBody()
    }

    private mutating func sendEvents(
        _ script: ResponseScript, of response: ResponseSource.Response?
    ) throws(ConnectionEnd) {
        let actions = self.exchange.faults.actions(response: 1)
        let steps = ResponseSteps.make(script, actions: actions, transport: .http)
        let background = self.exchange.parts.background.progress(of: script.identity.id)
        self.isBackground = background != nil
        var terminalEnd = Int.max
        var failure: ConnectionEnd?
        do throws(ConnectionEnd) {
            for step in steps {
                if let background, let last = try self.waitForGeneration(of: step, background) {
                    try self.perform(.event(last), of: nil)
                    break
                }
                try self.perform(step, of: response)
                if step.isTerminal { terminalEnd = self.writer.position }
            }
            try self.endBody()
        } catch { failure = error }
        if self.writer.sentByteCount >= terminalEnd {
            self.exchange.parts.log.completeResponse(attempt: self.exchange.attempt)
        }
        if let failure { throw failure }
    }

    /// Performs a step of a response, which is delivered with its terminal event.
    private mutating func perform(
        _ step: ResponseStep, of response: ResponseSource.Response?
    ) throws(ConnectionEnd) {
        switch step {
        case .event(let event), .binary(let event):
            if let events = self.chunks?.chunks(of: event) ?? self.message?.events(of: event) {
                return try self.send(events, of: response)
            }
            if !self.isBackground { try self.pace() }
            guard event.isTerminal else { return try self.add(event) }
            let source = self.exchange.parts.source
            try self.writer.append({ if let response { source.delivered(response) } }) { () throws(ConnectionEnd) in
                try self.add(event)
                try self.sendPendingEvents()
            }
        case .ping, .close, .endStream: return
        case .text(let text, let inChunk):
            try self.sendPendingEvents()
            if inChunk { try self.sendBody(Array(text.utf8)) } else { try self.writer.append(Array(text.utf8)) }
        case .end(let end):
            try self.sendPendingEvents()
            try self.writer.flush()
            throw end
        case .pause(let seconds): try self.wait(seconds: seconds)
        case .hang: try self.wait(seconds: nil)
        }
    }

    /// Sends what one event is in another API.
    private mutating func send(
        _ events: [ScriptEvent], of response: ResponseSource.Response?
    ) throws(ConnectionEnd) {
        for event in events {
            try self.pace()
            guard event.isTerminal else {
                try self.add(event)
                continue
            }
            let source = self.exchange.parts.source
            try self.writer.append({ if let response { source.delivered(response) } }) { () throws(ConnectionEnd) in
                try self.add(event)
                try self.sendPendingEvents()
            }
        }
    }

    /// Sends only signs of life for some seconds, or without end.
    private mutating func wait(seconds: Double?) throws(ConnectionEnd) {
        try self.sendPendingEvents()
        try self.writer.flush()
        var cadence = WaitingCadence(seconds: seconds, configuration: self.configuration, transport: .http)
        if cadence.isEndless { throw .stalled }
        while let (sign, instant) = cadence.next() {
            // A pause is cut to whole milliseconds, and no event may come before it is made.
            self.exchange.stream.pause(seconds: (instant - ContinuousClock.now) / .seconds(1) + 0.001)
            switch sign {
            case .keepalive: try self.add(.keepalive)
            case .comment: self.pendingEvents += Array((": waiting" + self.configuration.lineEnding.text).utf8)
            case nil: return
            }
            try self.sendPendingEvents()
            try self.writer.flush()
        }
    }

    /// Waits until a background response has reached an event; returns its last event when it was cancelled.
    private mutating func waitForGeneration(
        of step: ResponseStep, _ background: BackgroundResponses.Progress
    ) throws(ConnectionEnd) -> ScriptEvent? {
        guard case .event(let event) = step, let number = event.number else { return nil }
        try self.sendPendingEvents()
        if let instant = background.instant(of: number), instant > ContinuousClock.now {
            try self.writer.flush()
            // A pause is cut to whole milliseconds, and no event may come before it is made.
            self.exchange.stream.pause(seconds: (instant - ContinuousClock.now) / .seconds(1) + 0.001)
        }
        return self.exchange.parts.background.cancellation(of: background.id, number: number)
    }

    private func pace() throws(ConnectionEnd) {
        guard let rate = self.configuration.eventsPerSecond, rate > 0 else { return }
        try self.writer.flush()
        self.exchange.stream.pause(seconds: 1 / rate)
    }

    private mutating func add(_ event: ScriptEvent) throws(ConnectionEnd) {
        let end = Array(self.configuration.lineEnding.text.utf8)
        if !event.type.isEmpty { self.pendingEvents += Array("event: \(event.type)".utf8) + end }
        self.pendingEvents += Array("data: ".utf8)
        let bytes = Array(event.text.utf8)
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            if index > 0 { self.pendingEvents += end + Array("data: ".utf8) }
            self.pendingEvents += line
        }
        self.pendingEvents += end + end
        self.pendingEventCount += 1
        switch self.configuration.writeMode {
        case .batched: try self.sendPendingEvents()
        case .perEvent, .bytes:
            try self.sendPendingEvents()
            try self.writer.flush()
        case .events(let count):
            guard self.pendingEventCount >= count else { return }
            try self.sendPendingEvents()
            try self.writer.flush()
        }
    }

    private mutating func sendPendingEvents() throws(ConnectionEnd) {
        guard !self.pendingEvents.isEmpty else { return }
        let bytes = self.compressor?.compress(self.pendingEvents) ?? self.pendingEvents
        self.pendingEvents = []
        self.pendingEventCount = 0
        try self.sendBody(bytes)
    }

    /// Writes body bytes as chunks, or unchunked to a client of HTTP/1.0.
    private func sendBody(_ bytes: [UInt8]) throws(ConnectionEnd) {
        guard self.isChunked else { return try self.writer.append(bytes) }
        let size = self.exchange.sliceByteCount ?? max(1, bytes.count)
        for start in stride(from: 0, to: bytes.count, by: size) {
            let piece = Array(bytes[start..<min(start + size, bytes.count)])
            try self.writer.appendChunk(piece)
            if self.exchange.sliceByteCount != nil { try self.writer.flush() }
        }
    }

    private mutating func endBody() throws(ConnectionEnd) {
        try self.sendPendingEvents()
        if let compressor = self.compressor, !self.exchange.faults.truncatesContent {
            try self.sendBody(compressor.finish())
        }
        if self.isChunked { try self.writer.append(Array("0\r\n\r\n".utf8)) }
        try self.writer.flush()
    }
}

/// The requirements of the ChatGPT backend.
enum ChatGPTRules {
    /// Returns the message for a body that violates a requirement; nil when it complies.
    static func violation(_ body: JSONValue, needsStream: Bool) -> String? {
        if body["store"] != .bool(false) { return "Store must be set to false" }
        if needsStream && body["stream"] != .bool(true) { return "Stream must be set to true" }
        return body["max_output_tokens"] == nil ? nil : "Unsupported parameter: max_output_tokens"
    }
}
