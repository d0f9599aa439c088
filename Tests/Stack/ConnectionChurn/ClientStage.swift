import EventSource
import WebSocketClient

/// The way in which a connection of a client ends: of `WebSocketClient` or of `EventSource`.
enum ClientStage: String, CaseIterable, Sendable {
    /// A WebSocket is closed in order.
    case webSocketClosed
    /// A WebSocket over TLS is closed in order.
    case secureWebSocketClosed
    /// A WebSocket is cancelled in the middle of its messages.
    case webSocketCancelled
    /// The last reference to a WebSocket is dropped.
    case webSocketDropped
    /// The task that opens a WebSocket is cancelled.
    case webSocketOpening
    /// An upgrade is refused.
    case webSocketRefused
    /// An event source is closed in the middle of its events.
    case eventSourceClosed
    /// An event source over TLS is closed in the middle of its events.
    case secureEventSourceClosed
    /// The task that reads events is cancelled.
    case eventSourceCancelled
    /// An event source is dropped with its iterator.
    case eventSourceDropped
    /// An answer is read to its end.
    case eventSourceEnded
    /// An event source loses its stream, and reconnects, before it is closed.
    case eventSourceReconnected
    /// A port without a listener is tried again, and given up.
    case eventSourceUnreachable

    /// Makes one connection, or the few of an event source; returns the deviation from what was expected, if any.
    func run(with clients: ChurnClients) async -> String? {
        do {
            return try await self.connect(clients) ? nil : "\(self): another end"
        } catch {
            return "\(self): \(error)"
        }
    }

    private func connect(_ clients: ChurnClients) async throws -> Bool {
        switch self {
        case .webSocketClosed: try await Self.close(clients.webSocket())
        case .secureWebSocketClosed: try await Self.close(clients.webSocket(isSecure: true))
        case .webSocketCancelled: try await Self.cancelInMessages(clients.webSocket())
        case .webSocketDropped: try await WebSocketConnection.open(clients.webSocket()).report.opened != nil
        case .webSocketOpening: try await Self.cancelOpening(clients.webSocket())
        case .webSocketRefused: try await Self.isRefused(clients.webSocket(path: "/nothing/here"))
        case .eventSourceClosed: try await Self.readAndClose(clients.eventSource())
        case .secureEventSourceClosed: try await Self.readAndClose(clients.eventSource(isSecure: true))
        case .eventSourceCancelled: try await Self.cancelReading(clients.eventSource())
        case .eventSourceDropped: try await Self.firstEvent(of: clients.eventSource()) != nil
        case .eventSourceEnded: try await Self.isRefused(clients.eventSource(path: "/nothing/here"))
        case .eventSourceReconnected: try await Self.reconnect(clients.eventSource(isRepeated: true))
        case .eventSourceUnreachable: try await Self.isUnreachable(clients.unreachable())
        }
    }

    // MARK: WebSockets

    private static func close(_ configuration: WebSocketConfiguration) async throws -> Bool {
        try await WebSocketConnection.open(configuration).close().isNormal
    }

    private static func cancelInMessages(_ configuration: WebSocketConfiguration) async throws -> Bool {
        let connection = try await WebSocketConnection.open(configuration)
        defer { connection.cancel() }
        try await connection.send(ChurnClients.message)
        return try await connection.receive()?.kind == .text
    }

    private static func cancelOpening(_ configuration: WebSocketConfiguration) async throws -> Bool {
        let opening = Task { try await WebSocketConnection.open(configuration).cancel() }
        try await Task.sleep(for: .microseconds(Int.random(in: 0...3_000)))
        opening.cancel()
        // It may have been faster.
        do { try await opening.value } catch is CancellationError {}
        return true
    }

    private static func isRefused(_ configuration: WebSocketConfiguration) async throws -> Bool {
        do {
            try await WebSocketConnection.open(configuration).cancel()
            return false
        } catch WebSocketError.refused(let refusal) {
            return refusal.statusCode == 404
        }
    }

    // MARK: Event sources

    private static func firstEvent(of source: EventSource) async throws -> ServerSentEvent? {
        var iterator = source.makeAsyncIterator()
        return try await iterator.next()
    }

    private static func readAndClose(_ source: EventSource) async throws -> Bool {
        var iterator = source.makeAsyncIterator()
        guard try await iterator.next() != nil else { return false }
        source.close()
        return try await iterator.next() == nil
    }

    private static func cancelReading(_ source: EventSource) async throws -> Bool {
        let reading = Task { for try await _ in source {} }
        try await Task.sleep(for: .microseconds(Int.random(in: 0...3_000)))
        reading.cancel()
        do { try await reading.value } catch is CancellationError {}
        return source.readyState == .closed
    }

    private static func isRefused(_ source: EventSource) async throws -> Bool {
        do {
            _ = try await Self.firstEvent(of: source)
            return false
        } catch EventSourceError.refused(let refusal) {
            return refusal.statusCode == 404
        }
    }

    private static func reconnect(_ source: EventSource) async throws -> Bool {
        var iterator = source.makeAsyncIterator()
        guard try await iterator.next() != nil else { return false }
        source.reconnect()
        // Events of the first stream may have been read with its first one.
        while source.report.attemptCount < 2 { guard try await iterator.next() != nil else { return false } }
        source.close()
        return true
    }

    private static func isUnreachable(_ source: EventSource) async throws -> Bool {
        do {
            _ = try await Self.firstEvent(of: source)
            return false
        } catch EventSourceError.transport(let failure) {
            return failure.attempts == 2
        }
    }
}
