import LibwebsocketsTransport
import StreamTransport
import Testing

/// The events of a connection, with copies of their bytes.
enum Reported: Equatable, Sendable {
    case ready
    case pong
    case opened(Int)
    case text(String)
    /// A run of a body, whatever its cuts.
    case body(String)
    case ended(TransportEnd)

    init(_ event: TransportEvent) {
        switch event {
        case .ready: self = .ready
        case .pong: self = .pong
        case .opened(let head): self = .opened(head.statusCode)
        case .payload(let payload):
            let text = String(decoding: payload.bytes, as: UTF8.self)
            self = payload.kind == .body ? .body(text) : .text(text)
        case .ended(let end): self = .ended(end)
        }
    }

    static func failed(_ phase: TransportFailure.Phase, _ cause: TransportFailure.Cause) -> Self {
        .ended(.failed(TransportFailure(phase: phase, cause: cause)))
    }
}

extension TransportConnection {
    /// The next event; waits for it.
    func event() async -> Reported? {
        while true {
            if let event = self.next() { return Reported(event) }
            if Task.isCancelled { return nil }
            _ = await self.wait(for: nil)
        }
    }

    /// Returns the next `count` events.
    func events(_ count: Int) async -> [Reported] {
        var result: [Reported] = []
        for _ in 0..<count {
            guard let event = await self.event() else { break }
            result.append(event)
        }
        return result
    }

    /// Everything to the end, with the runs of a body joined.
    func eventsToEnd() async -> [Reported] {
        var result: [Reported] = []
        while let event = await self.event() {
            if case .body(let text) = event, case .body(let before)? = result.last {
                result[result.count - 1] = .body(before + text)
            } else {
                result.append(event)
            }
            if case .ended = event { break }
        }
        return result
    }
}

extension RawServer {
    /// Connects to this server; the other end is the next that it accepts.
    func connect(
        _ exchange: TransportRequest.Exchange, _ change: (inout TransportRequest) -> Void = { _ in }
    ) async throws -> (connection: any TransportConnection, peer: RawPeer) {
        var request = TransportRequest(endpoint: self.endpoint, exchange: exchange)
        change(&request)
        let connection = LibwebsocketsTransport().connect(request)
        return (connection, try await self.accept())
    }

    /// Connects to this server and establishes a WebSocket.
    func connectWebSocket(
        _ change: (inout TransportTimeouts) -> Void = { _ in }
    ) async throws -> (connection: any TransportConnection, peer: RawPeer) {
        let (connection, peer) = try await self.connect(.webSocket(offersCompression: false)) {
            change(&$0.timeouts)
        }
        await peer.acceptWebSocket()
        #expect(await connection.event() == .opened(101))
        return (connection, peer)
    }

    /// Returns when the service thread has handled everything that was asked of it, or came to it, before.
    ///
    /// An exchange of its own goes through the same loop, more than once.
    static func fence() async throws {
        let server = try RawServer()
        let (connection, peer) = try await server.connect(.get)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")
        #expect(await connection.eventsToEnd() == [.opened(204), .ended(.complete)])
    }

    /// Returns when a connection whose peer does not read can write no more.
    static func fill(_ connection: any TransportConnection) async throws {
        var before = -1
        while connection.statistics.sentByteCount > before {
            before = connection.statistics.sentByteCount
            // Rounds of the loop, in each of which it would write on if it could.
            for _ in 0..<3 { try await Self.fence() }
        }
    }

    /// Returns when a connection whose consumer does not read takes no more bytes from its peer.
    static func stall(_ connection: any TransportConnection) async throws {
        var before = 0
        while connection.statistics.receivedByteCount == 0 || connection.statistics.receivedByteCount > before {
            before = connection.statistics.receivedByteCount
            // Rounds of the loop, in each of which it would read on if it could.
            for _ in 0..<3 { try await Self.fence() }
        }
    }
}
