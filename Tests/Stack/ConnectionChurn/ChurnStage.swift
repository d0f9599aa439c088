import Foundation
import LibwebsocketsTransport
import StreamTransport

/// The destinations of the connections, and their transport.
struct ChurnPlaces: Sendable {
    let plain: TransportEndpoint
    let secure: TransportEndpoint
    /// Never answers.
    let silent: TransportEndpoint
    /// Refuses.
    let closed: TransportEndpoint
    let transport: LibwebsocketsTransport
    let threadCount: Int

    init(servers: ChurnServers, hole: SilentPort, threadCount: Int) {
        func endpoint(_ url: URL, isSecure: Bool) -> TransportEndpoint {
            // A name, with an address of either family where the machine has both: only one of them answers.
            TransportEndpoint(
                isSecure: isSecure, host: "localhost", port: UInt16(url.port ?? 0), target: "/v1/responses")
        }
        self.plain = endpoint(servers.plain, isSecure: false)
        self.secure = endpoint(servers.secure, isSecure: true)
        self.silent = TransportEndpoint(isSecure: false, host: "127.0.0.2", port: hole.port, target: "/")
        self.closed = TransportEndpoint(isSecure: false, host: "127.0.0.3", port: hole.port, target: "/")
        self.transport = LibwebsocketsTransport(
            tls: ChappieTLSPolicy(trust: .file(path: servers.authority)), serviceThreadCount: threadCount)
        self.threadCount = threadCount
    }
}

/// The stage at which a connection is cancelled.
enum ChurnStage: String, CaseIterable, Sendable {
    /// Directly after its start.
    case atOnce
    /// Its address is not answering.
    case connecting
    /// At a port without a listener.
    case refused
    /// The name does not exist.
    case unresolvable
    /// The WebSocket is there.
    case upgraded
    /// Messages come.
    case inMessages
    /// The body of a response comes.
    case inBody
    /// The request waits to be let go.
    case held
    /// TLS is being established.
    case securing
    /// The WebSocket over TLS is there.
    case upgradedSecurely
    /// Messages come over TLS.
    case inSecureMessages
    /// A WebSocket is closed in order.
    case closed
    /// A refused upgrade is read to its end.
    case whole

    /// Runs one connection; what went otherwise than it should.
    func run(in places: ChurnPlaces) async -> String? {
        switch self {
        case .atOnce:
            places.transport.connect(self.webSocket(to: places.plain)).cancel()
            return nil
        case .connecting:
            return await self.interrupt(self.webSocket(to: places.silent), in: places)
        case .securing:
            return await self.interrupt(self.webSocket(to: places.secure), in: places)
        case .refused:
            return await self.expectEnd(TransportRequest(endpoint: places.closed, exchange: .get), in: places)
        case .unresolvable:
            var request = TransportRequest(endpoint: places.closed, exchange: .get)
            request.endpoint.host = "nonexistent.invalid"
            return await self.expectEnd(request, in: places)
        case .upgraded:
            return await self.open(self.webSocket(to: places.plain), in: places) { $0.cancel() }
        case .upgradedSecurely:
            return await self.open(self.webSocket(to: places.secure), in: places) { $0.cancel() }
        case .inMessages:
            return await self.open(self.webSocket(to: places.plain), in: places, self.readMessage)
        case .inSecureMessages:
            return await self.open(self.webSocket(to: places.secure), in: places, self.readMessage)
        case .inBody:
            return await self.open(self.post(to: places.plain), in: places) { connection in
                if case .payload? = await connection.event() {} else { Self.note("no body") }
                connection.cancel()
            }
        case .held:
            var request = self.post(to: places.plain)
            request.isHeld = true
            let connection = places.transport.connect(request)
            let event = await connection.event()
            connection.cancel()
            if case .ready? = event { return nil }
            return "\(self): \(String(describing: event))"
        case .closed:
            return await self.open(self.webSocket(to: places.plain), in: places) { connection in
                connection.close()
                while let event = await connection.event() { if case .ended = event { break } }
            }
        case .whole:
            var request = self.post(to: places.plain)
            request.endpoint.target = "/nothing/here"
            return await self.open(request, in: places) { connection in
                while let event = await connection.event() { if case .ended = event { break } }
            }
        }
    }

    private func webSocket(to endpoint: TransportEndpoint) -> TransportRequest {
        TransportRequest(endpoint: endpoint, exchange: .webSocket(offersCompression: true))
    }

    private func post(to endpoint: TransportEndpoint) -> TransportRequest {
        TransportRequest(
            endpoint: endpoint, exchange: .post(body: Array("{\"model\":\"m\",\"stream\":true,\"input\":\"hi\"}".utf8)),
            fields: [HTTPField("Content-Type", "application/json"), HTTPField("Accept", "text/event-stream")])
    }

    /// Cancels a moment later, wherever the connection is by then.
    private func interrupt(_ request: TransportRequest, in places: ChurnPlaces) async -> String? {
        let connection = places.transport.connect(request)
        _ = await connection.wait(for: .microseconds(Int.random(in: 0...3_000)))
        connection.cancel()
        return nil
    }

    private func open(
        _ request: TransportRequest, in places: ChurnPlaces, _ body: (any TransportConnection) async -> Void
    ) async -> String? {
        let connection = places.transport.connect(request)
        let event = await connection.event()
        guard case .opened? = event else {
            connection.cancel()
            return "\(self): \(String(describing: event))"
        }
        await body(connection)
        return nil
    }

    private func readMessage(_ connection: any TransportConnection) async {
        connection.send(Array("{\"type\":\"response.create\",\"model\":\"m\",\"input\":\"hi\"}".utf8), as: .text)
        if case .payload? = await connection.event() {} else { Self.note("no message") }
        connection.cancel()
    }

    private func expectEnd(_ request: TransportRequest, in places: ChurnPlaces) async -> String? {
        let event = await places.transport.connect(request).event()
        if case .ended? = event { return nil }
        return "\(self): \(String(describing: event))"
    }

    private static func note(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}

extension TransportConnection {
    /// The next event; waits for it.
    func event() async -> TransportEvent? {
        while true {
            if let event = self.next() { return event }
            if case .cancelled = await self.wait(for: nil) { return nil }
        }
    }
}
