// The server's end of one connection, as the user of a peer server answers its request.
//
// Owned by the connection thread.

/// The request of a connection, and the ways to answer it.
///
/// Functions block, and throw when the client has gone or the connection is to end: the error is for the server.
package final class ServedPeer {
    /// The number of the connection, from 1.
    package let connection: Int
    private let parts: ServerParts
    private let stream: ByteStream
    private let writer: WireWriter
    private let request: HTTPRequest

    /// Reads the request.
    init(_ stream: ByteStream, connection: Int, parts: ServerParts) throws {
        self.connection = connection
        self.parts = parts
        self.stream = stream
        self.writer = WireWriter(stream: stream)
        self.request = try HTTPRequest.read(from: stream)
    }

    /// Indicates whether the client asks for a WebSocket.
    package var asksForWebSocket: Bool { self.request.asksForWebSocket }

    /// Returns a parameter of the target's query; nil when it is missing.
    package func parameter(_ name: String) -> String? { self.request.parameter(name) }

    /// Returns the value of a field, by its name in lower case; nil when it is missing.
    package func value(of name: String) -> String? { self.request.value(of: name) }

    /// Waits for some seconds without reading.
    package func pause(seconds: Double) { self.stream.pause(seconds: seconds) }

    /// Answers with a status code and no content.
    package func answer(status: Int) throws {
        try self.writer.append(
            HTTPResponseHead(status: status, fields: [.init(name: "connection", value: "close")]).bytes)
        try self.writer.flush()
    }

    /// Ends the connection in the middle, without TLS's closing alert.
    package func cut(_ cut: ChappieTestServer.Fault.ConnectionCut) throws -> Never { throw ConnectionEnd.cut(cut) }

    // MARK: WebSockets

    /// Accepts the WebSocket, with permessage-deflate if the client offers it.
    ///
    /// With `fragmentByteCount` every message is sent in fragments of that size, with pings between them.
    package func acceptWebSocket(fragmentByteCount: Int? = nil) throws -> ServedWebSocket {
        let attempt = self.parts.log.begin(
            self.request, transport: .webSocket, connection: self.connection, on: self.stream)
        let faults = fragmentByteCount.map { byteCount in
            ChappieTestServer.Fault(action: .fragment(byteCount: byteCount, pingsBetween: true))
        }
        let exchange = Exchange(
            parts: self.parts, stream: self.stream, writer: self.writer, request: self.request, attempt: attempt,
            transport: .webSocket,
            faults: AttemptFaults(faults.map { [$0] } ?? [], attempt: attempt, transport: .webSocket))
        // A refusal has been sent.
        guard let connection = try WebSocketExchange(exchange).establish() else { throw ConnectionEnd.finished }
        return ServedWebSocket(exchange, connection)
    }

    // MARK: Event streams

    /// Begins an event stream, with gzip if the client accepts it.
    package func beginEventStream() throws -> ServedEventStream {
        let isCompressed = self.request.accepts(coding: "gzip")
        var fields: [ChappieTestServer.Field] = [
            .init(name: "content-type", value: "text/event-stream"), .init(name: "cache-control", value: "no-cache"),
            .init(name: "transfer-encoding", value: "chunked"), .init(name: "connection", value: "close"),
        ]
        if isCompressed { fields.append(.init(name: "content-encoding", value: "gzip")) }
        try self.writer.append(HTTPResponseHead(status: 200, fields: fields).bytes)
        return ServedEventStream(self.writer, isCompressed: isCompressed)
    }
}

/// The server's end of a WebSocket.
package final class ServedWebSocket {
    /// The client's next action.
    package enum Received {
        /// A whole message.
        case message(isText: Bool, payload: [UInt8])
        /// A Close frame, which was answered with the same code; 1005 is one without a code.
        case close(code: Int, reason: String)
    }

    private let exchange: Exchange
    private let connection: WebSocketConnection

    init(_ exchange: Exchange, _ connection: WebSocketConnection) {
        self.exchange = exchange
        self.connection = connection
    }

    /// The number of pings of the server that the client has answered.
    package var answeredPingCount: Int {
        self.exchange.parts.log.milestones.withLock { $0.records[self.exchange.attempt]?.matchedPongCount ?? 0 }
    }

    /// Sends a message, waiting for the client's window if necessary.
    package func send(isText: Bool, payload: [UInt8]) throws {
        try self.connection.send(payload, opcode: isText ? .text : .binary)
        try self.exchange.writer.flush()
    }

    /// Returns the next message or the Close frame, waiting for it until `end`, or without limit; nil when none has
    /// arrived before that.
    package func receive(before end: ContinuousClock.Instant? = nil) throws -> Received? {
        do throws(ConnectionEnd) {
            guard let message = try self.connection.receive(before: end) else { return nil }
            return .message(isText: message.isText, payload: message.payload)
        } catch {
            guard case .finished = error, let frame = self.connection.closeFrame else { throw error }
            return .close(code: frame.closeCode, reason: frame.closeReason)
        }
    }

    /// Sends a Close frame, and waits up to 2 s for the client's; nil sends no code.
    package func close(code: Int?, reason: String) throws -> Never {
        try self.connection.close(code: code, reason: reason)
    }
}

/// The server's end of an event stream.
package final class ServedEventStream {
    private let writer: WireWriter
    private let compressor: Compressor?

    init(_ writer: WireWriter, isCompressed: Bool) {
        self.writer = writer
        self.compressor = isCompressed ? Compressor(.gzip) : nil
    }

    /// Sends text in a chunk of its own, which the client can read at once.
    package func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        try self.writer.appendChunk(self.compressor?.compress(bytes) ?? bytes)
        try self.writer.flush()
    }

    /// Ends the content in order.
    package func end() throws {
        if let compressor = self.compressor { try self.writer.appendChunk(compressor.finish()) }
        try self.writer.append(Array("0\r\n\r\n".utf8))
        try self.writer.flush()
    }
}
