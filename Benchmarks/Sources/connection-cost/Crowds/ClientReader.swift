// The clients beside the engine, and what they stand on, as readers of one response.
import CStreamScript
import EventSource
import Foundation
import LibwebsocketsTransport
import ServerSentEvents
import StreamTransport
import WebSocketClient
import WebSocketProtocol

/// Reads one response from a server on loopback, to its last message.
struct ClientReader: Sendable {
    let way: ClientIterations.Way
    let port: UInt16

    /// A request; the server does not look at it.
    static let request = #"{"type":"response.create","model":"m","input":"hi"}"#

    /// Reads, and returns what has come.
    func read(_ tally: ResponseTally) async throws -> ResponseTally {
        switch self.way {
        case .payloads, .checkedPayloads: try await self.payloads(tally)
        case .parsedEvents: try await self.parsedEvents(tally)
        case .borrowedMessages: try await self.borrowedMessages(tally)
        case .messages: try await self.messages(tally)
        case .sourceEvents: try await self.sourceEvents(tally)
        case .sending: throw UsageError("nothing is read")
        }
    }

    // MARK: The transport

    private func payloads(_ tally: ResponseTally) async throws -> ResponseTally {
        var tally = tally
        let connection = LibwebsocketsTransport().connect(self.request(.webSocket(offersCompression: false)))
        defer { connection.cancel() }
        while !tally.isComplete {
            guard let event = connection.next() else {
                _ = await connection.wait(for: nil)
                continue
            }
            switch event {
            case .opened: connection.send(Array(Self.request.utf8), as: .text)
            case .payload(let payload):
                if self.way == .checkedPayloads, !UTF8Validator.isValid(payload.bytes) {
                    throw WrongResultError("a message is not UTF-8")
                }
                tally.take(byteCount: payload.bytes.count)
            case .ended: return tally
            case .ready, .pong: break
            }
        }
        return tally
    }

    private func parsedEvents(_ tally: ResponseTally) async throws -> ResponseTally {
        var tally = tally
        var parser = EventStreamParser()
        var batch: [ServerSentEvent] = []
        let connection = LibwebsocketsTransport().connect(self.request(.post(body: Array(Self.request.utf8))))
        defer { connection.cancel() }
        while !tally.isComplete {
            guard let event = connection.next() else {
                _ = await connection.wait(for: nil)
                continue
            }
            switch event {
            case .payload(let payload):
                try parser.parse(payload.bytes) { item in
                    if case .event(let event) = item { batch.append(ServerSentEvent(event)) }
                }
                for event in batch { tally.take(byteCount: event.data.utf8.count) }
                batch.removeAll(keepingCapacity: true)
            case .ended: return tally
            case .opened, .ready, .pong: break
            }
        }
        return tally
    }

    private func request(_ exchange: TransportRequest.Exchange) -> TransportRequest {
        var request = TransportRequest(
            endpoint: TransportEndpoint(isSecure: false, host: "127.0.0.1", port: self.port, target: "/v1/responses"),
            exchange: exchange,
            fields: [HTTPField("Content-Type", "application/json"), HTTPField("Accept", "text/event-stream")])
        request.timeouts.connect = nil
        return request
    }

    // MARK: The clients

    /// Sends the request, apart from the loop that receives: in a function that also sends, the compiler has each
    /// message followed by a check of the executor.
    @inline(never)
    private static func begin(_ connection: WebSocketConnection) async throws {
        try await connection.send(Self.request)
    }

    private func borrowedMessages(_ tally: ResponseTally) async throws -> ResponseTally {
        var tally = tally
        let connection = try await WebSocketConnection.open(.benchmark(port: self.port))
        defer { connection.cancel() }
        try await Self.begin(connection)
        while !tally.isComplete {
            guard try await connection.withNextMessage({ tally.take(byteCount: $1.byteCount) }) != nil else { break }
        }
        return tally
    }

    private func messages(_ tally: ResponseTally) async throws -> ResponseTally {
        var tally = tally
        let connection = try await WebSocketConnection.open(.benchmark(port: self.port))
        defer { connection.cancel() }
        try await connection.send(Self.request)
        for try await message in connection.messages {
            guard case .text(let text) = message else { break }
            tally.take(byteCount: text.utf8.count)
            if tally.isComplete { break }
        }
        return tally
    }

    private func sourceEvents(_ tally: ResponseTally) async throws -> ResponseTally {
        var tally = tally
        guard let url = URL(string: "http://127.0.0.1:\(self.port)/v1/responses") else { throw URLError(.badURL) }
        var request = EventSourceRequest(url: url)
        request.method = "POST"
        request.fields = [(name: "Content-Type", value: "application/json")]
        request.body = Array(Self.request.utf8)
        var configuration = EventSourceConfiguration()
        configuration.proxy = .none
        configuration.offersCompression = false
        configuration.timeouts.connect = nil
        configuration.timeouts.response = nil
        for try await event in EventSource(request, configuration: configuration) {
            tally.take(byteCount: event.data.utf8.count)
            if tally.isComplete { break }
        }
        return tally
    }
}

/// The length of a response.
enum ExpectedMessages {
    /// Returns the bytes of a response's messages: the first, `deltaCount` deltas, and the last.
    static func byteCount(deltaCount: Int) -> Int {
        let edges = String(cString: css_created()).utf8.count + String(cString: css_completed()).utf8.count
        return edges + deltaCount * Int(CSS_MESSAGE_SIZE)
    }
}

extension WebSocketConfiguration {
    /// The configuration of all measurements: without compression, and without pings and a time limit, for a process
    /// that is slow under valgrind.
    static func benchmark(port: UInt16) throws -> Self {
        guard let url = URL(string: "ws://127.0.0.1:\(port)/v1/responses") else { throw URLError(.badURL) }
        var configuration = Self(url: url)
        configuration.proxy = .none
        configuration.compression = .disabled
        configuration.timeouts.connect = nil
        configuration.timeouts.pingInterval = nil
        return configuration
    }
}
