// One connection of a probe server from its first byte to its last: one request.
//
// Runs on the connection's thread, which owns all of its state.
import PlatformFoundation

/// Serves the request of one connection.
struct ProbeThread {
    private let parts: ServerParts
    private let stream: ByteStream
    private let handle: SocketHandle
    private let writer: WireWriter
    private let logLine: (@Sendable (String) -> Void)?

    /// Creates the thread of an accepted socket.
    init(
        parts: ServerParts, stream: ByteStream, handle: SocketHandle, logLine: (@Sendable (String) -> Void)?
    ) {
        self.parts = parts
        self.stream = stream
        self.handle = handle
        self.writer = WireWriter(stream: stream)
        self.logLine = logLine
    }

    /// Serves one request, and closes.
    func run() {
        do throws(ConnectionEnd) {
            if let identity = self.parts.identity { try self.stream.startTLS(identity) }
            try self.serve()
        } catch {
            // The peer has gone, or the exchange is over: the connection is closed either way.
        }
        self.stream.finish(closingTLS: true)
    }

    private func serve() throws(ConnectionEnd) {
        let request: HTTPRequest
        do {
            request = try HTTPRequest.read(from: self.stream, limits: ProbeLimits.request)
        } catch let malformed as HTTPRequest.Malformed {
            return try self.answer(status: malformed.status, body: "{}")
        } catch {
            throw .peerGone
        }
        let route = ProbeRoute(request)
        self.logLine?("{\"request\":\"\(route.name)\"}")
        self.handle.allow(route.duration + ProbeLimits.margin)
        switch route {
        case .facts:
            let (family, tls) = (self.stream.clientFamily, self.stream.clientTLS)
            try self.answer(status: 200, body: ProbeFacts.text(of: request, family: family, tls: tls))
        case .echo: try self.echo(request)
        case .events(let events): try self.send(events)
        case .hold(let seconds):
            self.stream.pause(seconds: Double(seconds))
            try self.answer(status: 200, body: "{\"held\":\(seconds)}")
        case .unknown:
            try self.answer(status: 404, body: "{\"error\":{\"message\":\"There is nothing at this path.\"}}")
        }
    }

    // MARK: Answers

    private func answer(status: Int, body: String) throws(ConnectionEnd) {
        let fields: [ChappieTestServer.Field] = [
            .init(name: "content-type", value: "application/json"),
            .init(name: "content-length", value: String(body.utf8.count)), .init(name: "connection", value: "close"),
            .init(name: "date", value: ProbeFacts.date(secondsSince1970: Int(Date().timeIntervalSince1970))),
            ProbeFacts.field,
        ]
        try self.writer.append(HTTPResponseHead(status: status, fields: fields).bytes + Array(body.utf8))
        try self.writer.flush()
    }

    private func send(_ events: ProbeRoute.Events) throws(ConnectionEnd) {
        let fields: [ChappieTestServer.Field] = [
            .init(name: "content-type", value: "text/event-stream"), .init(name: "cache-control", value: "no-cache"),
            .init(name: "connection", value: "close"), ProbeFacts.field,
        ]
        try self.writer.append(HTTPResponseHead(status: 200, fields: fields).bytes)
        try self.writer.flush()
        let start = ContinuousClock.now
        let padding = String(repeating: "x", count: events.paddingByteCount)
        for number in 0..<events.count {
            let due = start + events.interval * number
            // Whole milliseconds are waited for; an event is late by one rather than early.
            let milliseconds = ((due - .now) / .milliseconds(1)).rounded(.up)
            if milliseconds > 0 { self.stream.pause(seconds: (milliseconds + 0.5) / 1_000) }
            let sent = Int((ContinuousClock.now - start) / .microseconds(1))
            try self.writer.append(Array("data: \(number) \(sent) \(padding)\n\n".utf8))
            try self.writer.flush()
        }
    }

    private func echo(_ request: HTTPRequest) throws(ConnectionEnd) {
        let exchange = Exchange(
            parts: self.parts, stream: self.stream, writer: self.writer, request: request, attempt: 0,
            transport: .webSocket, faults: AttemptFaults([], attempt: 0, transport: .webSocket))
        guard let connection = try WebSocketExchange(exchange).establish() else { return }
        let end = ContinuousClock.now + ProbeLimits.webSocketLifetime
        var byteCount = 0
        for _ in 0..<ProbeLimits.messageCount {
            guard let message = try connection.receive(before: end) else { break }
            byteCount += message.payload.count
            guard byteCount <= ProbeLimits.messagesByteCount else { break }
            try connection.send(message.payload, opcode: message.isText ? .text : .binary)
            try self.writer.flush()
        }
        // 1008: a limit was reached (RFC 6455 section 7.4.1).
        try connection.close(code: 1008, reason: "limit")
    }
}
