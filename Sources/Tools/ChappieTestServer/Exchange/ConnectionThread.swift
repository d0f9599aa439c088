// One connection from its first byte to its last: requests are read and dispatched.
//
// Runs on the connection's thread, which owns all of its state except the server's shared parts.

/// Serves the requests of one connection.
struct ConnectionThread {
    private static let responsesPaths = ["/v1/responses", "/backend-api/codex/responses"]
    private static let modelsPaths = ["/v1/models", "/backend-api/codex/models"]
    /// The path of the health check of gateways.
    private static let healthPath = "/health"

    private let parts: ServerParts
    private let stream: ByteStream
    private let connection: Int
    private let writer: WireWriter

    /// Creates the thread of an accepted socket, which is the server's connection with that number.
    init(parts: ServerParts, stream: ByteStream, connection: Int) {
        self.parts = parts
        self.connection = connection
        self.stream = stream
        self.writer = WireWriter(stream: stream)
    }

    /// Serves until the connection ends.
    func run() {
        do throws(ConnectionEnd) {
            if self.connection <= self.parts.configuration.droppedConnections {
                // The first byte has arrived, so the client has completed the TCP handshake.
                _ = try self.stream.readByte()
                throw .cut(.end)
            }
            if let identity = self.parts.identity { try self.stream.startTLS(identity) }
            while try self.serveRequest() {}
            self.stream.finish(closingTLS: true)
        } catch {
            self.stream.end(error)
        }
    }

    /// Serves one request; returns false when the connection is over.
    private func serveRequest() throws(ConnectionEnd) -> Bool {
        let request: HTTPRequest
        do {
            request = try HTTPRequest.read(from: self.stream)
        } catch let malformed as HTTPRequest.Malformed {
            try self.answer(status: malformed.status, body: ErrorBody.body(status: malformed.status))
            return false
        } catch {
            throw .peerGone
        }
        let isOther = [ChatRequest.path, MessagesRequest.path].contains(request.path) && request.method == "POST"
        if isOther || Self.responsesPaths.contains(request.path) && ["GET", "POST"].contains(request.method) {
            return try self.serveAttempt(request) && request.keepsAlive
        }
        if request.path == CompactionExchange.path && request.method == "POST" {
            let exchange = self.exchange(for: request, transport: .http)
            return try self.serve(exchange) { () throws(ConnectionEnd) in
                try CompactionExchange(exchange: exchange).run()
            } && request.keepsAlive
        }
        if let target = BackgroundExchange.target(request) {
            let exchange = self.exchange(for: request, transport: .http)
            return try self.serve(exchange) { () throws(ConnectionEnd) in
                try BackgroundExchange(exchange, id: target.id, cancels: target.cancels).run()
            } && request.keepsAlive
        }
        if let endpoint = SignInRoute(path: request.path) {
            let exchange = SignInExchange(parts: self.parts, stream: self.stream, writer: self.writer, request: request)
            try exchange.run(endpoint)
            return request.keepsAlive
        }
        if Self.modelsPaths.contains(request.path) && request.method == "GET" {
            let isAuthorized = self.parts.authorizes(request)
            try self.answer(
                status: isAuthorized ? 200 : 401, body: isAuthorized ? self.models : ErrorBody.body(status: 401))
        } else if request.path == Self.healthPath && request.method == "GET" {
            try self.answer(status: 200, body: "{}")
        } else {
            try self.answer(status: 404, body: ErrorBody.body(message: "There is nothing at this path."))
        }
        return request.keepsAlive
    }

    private func serveAttempt(_ request: HTTPRequest) throws(ConnectionEnd) -> Bool {
        if request.method == "GET" && !request.asksForWebSocket {
            try self.answer(status: 405, body: ErrorBody.body(status: 405))
            return true
        }
        let exchange = self.exchange(for: request, transport: request.method == "GET" ? .webSocket : .http)
        return try self.serve(exchange) { () throws(ConnectionEnd) in
            switch exchange.transport {
            case .webSocket:
                var socket = WebSocketExchange(exchange)
                try socket.run()
                return true
            case .http:
                var answer = EventStreamExchange(exchange)
                return try answer.run()
            }
        }
    }

    /// Begins an attempt.
    private func exchange(for request: HTTPRequest, transport: ChappieTestServer.Transport) -> Exchange {
        let attempt = self.parts.log.begin(request, transport: transport, connection: self.connection, on: self.stream)
        if transport == .http { self.parts.log.addBody(request.content, attempt: attempt) }
        return Exchange(
            parts: self.parts,
            stream: self.stream,
            writer: self.writer,
            request: request,
            attempt: attempt,
            transport: transport,
            faults: AttemptFaults(self.parts.configuration.faults, attempt: attempt, transport: transport)
        )
    }

    /// Answers an attempt; its record ends when no more bytes are written and a silence is over.
    private func serve(
        _ exchange: Exchange, _ answer: () throws(ConnectionEnd) -> Bool
    ) throws(ConnectionEnd) -> Bool {
        defer { self.parts.log.finish(attempt: exchange.attempt, sentByteCount: self.writer.sentByteCount) }
        do throws(ConnectionEnd) {
            try self.writer.begin(
                exchange.faults, sliceByteCount: exchange.transport == .webSocket ? exchange.sliceByteCount : nil)
            return try answer()
        } catch {
            if case .stalled = error { self.stream.waitForPeerToLeave() }
            throw error
        }
    }

    private func answer(status: Int, body: String) throws(ConnectionEnd) {
        let fields: [ChappieTestServer.Field] = [
            .init(name: "content-type", value: "application/json"),
            .init(name: "content-length", value: String(body.utf8.count)),
        ]
        let bytes = HTTPResponseHead(status: status, fields: fields).bytes + Array(body.utf8)
        try self.writer.begin(AttemptFaults([], attempt: 0, transport: .http), sliceByteCount: nil)
        try self.writer.append(bytes)
        try self.writer.flush()
    }

    /// The list of models; the second list is the one that codex reads.
    private var models: String {
        let entries = self.parts.configuration.modelNames.map { name in
            "{\"id\":\(JSONValue.quoted(name)),\"object\":\"model\",\"created\":\(ResponseIdentity.creationTime),"
                + "\"owned_by\":\"test\"}"
        }
        return "{\"object\":\"list\",\"data\":[" + entries.joined(separator: ",") + "],\"models\":[]}"
    }
}
