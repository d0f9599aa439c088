import Foundation
import StreamTransport
import Testing
import WebSocketClient

/// A connection of the client, and its server's end.
struct OpenedWebSocket {
    let connection: WebSocketConnection
    let peer: RawPeer
    /// The head of the opening handshake.
    let head: String

    /// Establishes a WebSocket without compression; `fields` are field lines of the answer besides those it must have.
    init(
        to server: RawServer, answering fields: [String] = [],
        _ change: (inout WebSocketConfiguration) -> Void = { _ in }
    ) async throws {
        let configuration = try WebSocketConfiguration.loopback(server, change)
        let opening = Task { try await WebSocketConnection.open(configuration) }
        self.peer = try await server.accept()
        self.head = await self.peer.read(until: "\r\n\r\n")
        self.peer.write(RawPeer.acceptance(of: self.head, fields))
        self.connection = try await opening.value
    }

    /// Echoes messages, and answers pings, until the client closes.
    func echo() async {
        while let frame = await self.peer.readMessage() {
            self.peer.write(RawPeer.frame(frame.opcode == 9 ? 10 : frame.opcode, frame.payload))
            if frame.opcode == 8 { return self.peer.close() }
        }
    }

    /// Returns when at least `least` bytes have been received, and nothing moves any more in either direction.
    func settle(receiving least: Int = 0) async throws {
        var before = WebSocketConnection.Counts(self.connection)
        while true {
            try Task.checkCancellation()
            // Rounds of the loop, in each of which it would read or write on if it could.
            for _ in 0..<3 { try await RawServer.fence() }
            let now = WebSocketConnection.Counts(self.connection)
            if now == before, now.received >= least { return }
            before = now
        }
    }
}

extension WebSocketConnection {
    /// The bytes that have moved so far.
    struct Counts: Equatable {
        let received: Int
        let sent: Int
        let messages: Int

        init(_ connection: WebSocketConnection) {
            let report = connection.report
            (self.received, self.sent) = (report.receivedByteCount, report.sentByteCount)
            self.messages = report.sentMessageCount
        }
    }

    /// The messages to the end, and the error that it ends with.
    func messagesToEnd() async -> (messages: [WebSocketMessage], error: (any Error)?) {
        var received: [WebSocketMessage] = []
        do {
            for try await message in self.messages { received.append(message) }
            return (received, nil)
        } catch {
            return (received, error)
        }
    }
}

extension WebSocketConfiguration {
    /// The configuration for a server on loopback, without a proxy and without compression.
    static func loopback(
        _ server: RawServer, _ change: (inout WebSocketConfiguration) -> Void = { _ in }
    ) throws -> Self {
        var configuration = Self(url: try #require(URL(string: "ws://127.0.0.1:\(server.port)/chat?room=1")))
        configuration.proxy = .none
        configuration.compression = .disabled
        change(&configuration)
        return configuration
    }
}
