// A program that sends every message of a WebSocketConnection back, in each way to read one.

import Testing
import WebSocketClient

/// The way in which a consumer reads its messages.
enum WebSocketReading: String, CaseIterable, Sendable {
    /// As events of the internal transport, below the client.
    case events
    /// `WebSocketConnection.messages`.
    case messages
    /// `WebSocketConnection.receive()`.
    case receive
    /// `WebSocketConnection.withNextMessage(_:)`, which lends the bytes.
    case lent
}

/// A program that sends every message back, and the server's end of its connection.
struct WebSocketClientEcho {
    let connection: WebSocketConnection
    let peer: RawPeer
    /// The messages, and the error that receiving ended with, once the connection has ended.
    let received: Task<(messages: [WebSocketMessage], error: WebSocketError?), Never>

    /// Establishes a WebSocket; `extensions` is the server's answer to the offer of compression, if it is offered.
    init(to server: RawServer, reading: WebSocketReading, extensions: String? = nil) async throws {
        let fields = extensions.map { ["Sec-WebSocket-Extensions: \($0)"] } ?? []
        let opened = try await OpenedWebSocket(to: server, answering: fields) {
            $0.compression = extensions == nil ? .disabled : .enabled
        }
        let connection = opened.connection
        (self.connection, self.peer) = (connection, opened.peer)
        self.received = Task {
            var messages: [WebSocketMessage] = []
            do {
                switch reading {
                case .events: preconditionFailure("a connection of the client has no events")
                case .messages:
                    for try await message in connection.messages {
                        messages.append(message)
                        try await Self.send(message, over: connection)
                    }
                case .receive:
                    while let message = try await connection.receive() {
                        messages.append(message)
                        try await Self.send(message, over: connection)
                    }
                case .lent:
                    while let message = try await connection.withNextMessage(Self.copy) {
                        messages.append(message)
                        try await Self.send(message, over: connection)
                    }
                }
                return (messages, nil)
            } catch let error as WebSocketError {
                return (messages, error)
            } catch {
                Issue.record(error)
                return (messages, nil)
            }
        }
    }

    /// Sends a message, unless the server's close frame has come.
    private static func send(_ message: WebSocketMessage, over connection: WebSocketConnection) async throws {
        do { try await connection.send(message) } catch WebSocketError.notOpen {}
    }

    private static func copy(_ kind: WebSocketMessage.Kind, _ bytes: RawSpan) -> WebSocketMessage {
        bytes.withUnsafeBytes { bytes in
            switch kind {
            case .text: .text(String(validating: bytes, as: UTF8.self) ?? "bytes that are not UTF-8")
            case .binary: .binary(Array(bytes))
            }
        }
    }
}
