// Streamable HTTP (Model Context Protocol 2025-11-25, "Transports") over event sources: one for the answer to each
// message, and one for what the server sends by itself. The actor owns its state.
import EventSource
import Foundation

/// The reason why a message was not answered.
public enum StreamableHTTPError: Error, Equatable {
    /// The transport is not connected, or not any more.
    case disconnected
    /// The server's stream ended without the answer.
    case unanswered
}

/// A transport whose messages are sent by POST, and received as events.
///
/// The stream that answers a message is resumed where it was lost, by a GET with `Last-Event-ID`, as far as the
/// server's events have IDs. A server that answers with JSON in place of an event stream is not supported: the message
/// fails with the tag `http.content-type`. Received messages are kept without a limit until they are read, as the
/// protocol of the SDK has no back-pressure.
public actor StreamableHTTPTransport: Transport {
    private enum State {
        case idle
        case connected
        case disconnected
    }

    private let endpoint: URL
    private let credential: String?
    private let messages: AsyncThrowingStream<Data, any Error>
    private let received: AsyncThrowingStream<Data, any Error>.Continuation
    private var state = State.idle
    private var sessionID: String?
    private var protocolVersion: String?
    /// The event sources that are open, by a number of their own.
    private var sources: [Int: EventSource] = [:]
    private var sourceCount = 0

    /// Creates a transport to a server's endpoint, such as `https://example.com/mcp`, with a bearer token or none.
    public init(endpoint: URL, credential: String? = nil) {
        self.endpoint = endpoint
        self.credential = credential
        (self.messages, self.received) = AsyncThrowingStream.makeStream()
    }

    // MARK: Transport

    /// Prepares the transport; the session begins with the first message, `initialize`.
    public func connect() throws {
        guard self.state == .idle else { throw StreamableHTTPError.disconnected }
        self.state = .connected
    }

    /// Ends every stream, and the session at the server.
    public func disconnect() async {
        guard self.state == .connected else { return }
        self.state = .disconnected
        for source in self.sources.values { source.close() }
        self.received.finish()
        await self.endSession()
    }

    /// Sends a message, and returns when it is answered; other messages may be sent meanwhile.
    ///
    /// Throws `EventSourceError`, `StreamableHTTPError`, and `CancellationError` when the task is cancelled.
    public func send(_ data: Data) async throws {
        guard self.state == .connected else { throw StreamableHTTPError.disconnected }
        let message = try Envelope(data)
        var request = self.request(method: "POST")
        request.fields.append((name: "Content-Type", value: "application/json"))
        request.body = Array(data)
        var configuration = EventSourceConfiguration()
        configuration.reconnection.resending = .asGet
        do {
            try await self.read(EventSource(request, configuration: configuration), answering: message)
        } catch EventSourceError.refused(let refusal) where refusal.statusCode == 202 && !message.isRequest {
            // The answer to a notification or a response has no content.
        }
        if message.method == "notifications/initialized" { self.listen() }
    }

    /// Returns the messages of the server, for one reader.
    public func receive() -> AsyncThrowingStream<Data, any Error> { self.messages }

    // MARK: Streams

    /// Passes on the messages of a stream, up to the answer.
    private func read(_ source: EventSource, answering message: Envelope) async throws {
        let number = self.add(source)
        defer {
            source.close()
            self.sources[number] = nil
        }
        for try await event in source {
            self.sessionID = source.response?.value(of: "Mcp-Session-Id") ?? self.sessionID
            // An event without data only has an ID.
            guard !event.data.isEmpty else { continue }
            let data = Data(event.data.utf8)
            let answer = try? Envelope(data)
            if let version = answer?.result?.protocolVersion, message.method == "initialize" {
                self.protocolVersion = version
            }
            self.received.yield(data)
            if let answer, answer.answers(message) { return }
        }
        try Task.checkCancellation()
        guard self.state == .connected else { throw StreamableHTTPError.disconnected }
        if message.isRequest { throw StreamableHTTPError.unanswered }
    }

    /// Opens the stream of what the server sends by itself, which reconnects until the transport is disconnected.
    private func listen() {
        let source = EventSource(self.request(method: "GET"))
        let number = self.add(source)
        Task {
            defer { self.sources[number] = nil }
            do {
                for try await event in source where !event.data.isEmpty {
                    self.received.yield(Data(event.data.utf8))
                }
            } catch EventSourceError.refused(let refusal) where refusal.statusCode == 405 {
                // The server offers no such stream.
            } catch {
                self.received.finish(throwing: error)
            }
        }
    }

    private func add(_ source: EventSource) -> Int {
        self.sourceCount += 1
        self.sources[self.sourceCount] = source
        return self.sourceCount
    }

    /// Tells the server that the session has ended; its answer does not count.
    private func endSession() async {
        guard self.sessionID != nil else { return }
        var configuration = EventSourceConfiguration()
        configuration.reconnection = .never
        configuration.timeouts.total = .seconds(5)
        let source = EventSource(self.request(method: "DELETE"), configuration: configuration)
        do {
            for try await _ in source { break }
        } catch {
            // The answer is no event stream.
        }
        source.close()
    }

    /// Returns a request of the session.
    private func request(method: String) -> EventSourceRequest {
        var request = EventSourceRequest(url: self.endpoint)
        request.method = method
        request.fields = [(name: "Accept", value: "application/json, text/event-stream")]
        if let credential = self.credential {
            request.fields.append((name: "Authorization", value: "Bearer \(credential)"))
        }
        if let sessionID = self.sessionID { request.fields.append((name: "Mcp-Session-Id", value: sessionID)) }
        if let version = self.protocolVersion { request.fields.append((name: "MCP-Protocol-Version", value: version)) }
        return request
    }
}
