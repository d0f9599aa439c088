import ChappieTestServer
import ChappieTransport
import Foundation
import StreamTransport
import Testing

@testable import LibwebsocketsTransport

/// Connections on several service threads.
@Suite(.timeLimit(.minutes(10))) struct ServiceThreadTests {
    /// A server with TLS, and how to trust it.
    private static func withSecureServer(
        _ body: (_ endpoint: TransportEndpoint, _ tls: ChappieTLSPolicy) async throws -> Void
    ) async throws {
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        configuration.tls = .init(certificate: .valid)
        try await withServer(configuration) { server in
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("ca-\(UUID().uuidString).pem")
            defer { try? FileManager.default.removeItem(at: file) }
            try #require(server.caPEM).write(to: file, atomically: true, encoding: .utf8)
            let port = UInt16(try #require(URL(string: server.baseURL)?.port))
            try await body(
                TransportEndpoint(isSecure: true, host: "127.0.0.1", port: port, target: "/v1/responses"),
                ChappieTLSPolicy(trust: .file(path: file.path)))
        }
    }

    /// A context of libwebsockets that sets TLS up once more makes handshakes of the others fail.
    @Test func handshakesSurviveTheStartOfOtherThreads() async throws {
        try await Self.withSecureServer { endpoint, tls in
            // Threads of its own: the first connections of each start them, while those before shake hands.
            let transport = LibwebsocketsTransport(tls: tls, serviceThreadCount: 4, pool: ServicePool())
            let request = TransportRequest(endpoint: endpoint, exchange: .webSocket(offersCompression: false))
            let opened = await withTaskGroup(of: Reported?.self) { group in
                for _ in 0..<120 {
                    group.addTask {
                        let connection = transport.connect(request)
                        let event = await connection.event()
                        connection.cancel()
                        return event
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(opened == Array(repeating: .opened(101), count: 120))
        }
    }

    /// The server's certificate comes when another thread has started.
    @Test func aHandshakeGoesOnWhenAnotherThreadHasStarted() async throws {
        try await Self.withSecureServer { endpoint, tls in
            let relay = try RawServer()
            let pool = ServicePool()
            var request = TransportRequest(endpoint: endpoint, exchange: .webSocket(offersCompression: false))
            request.endpoint.port = relay.port
            var held: [(connection: any TransportConnection, client: RawPeer)] = []
            for _ in 0..<4 {
                let connection = LibwebsocketsTransport(tls: tls, pool: pool).connect(request)
                held.append((connection, try await relay.accept()))
            }
            request.endpoint.port = endpoint.port
            for _ in 0..<3 {
                // A new pool starts a new thread, with a context of its own.
                let other = LibwebsocketsTransport(tls: tls, pool: ServicePool()).connect(request)
                #expect(await other.event() == .opened(101))
                other.cancel()
            }
            for (connection, client) in held {
                let server = try RawPeer.connected(to: endpoint.port)
                async let upload: Void = client.forward(to: server)
                async let download: Void = server.forward(to: client)
                #expect(await connection.event() == .opened(101))
                connection.cancel()
                _ = await (upload, download)
            }
        }
    }

    /// A task that is always ready, and takes all of the time for jobs, does not keep the thread from its sockets.
    @Test func socketsAreReadBetweenTheTurnsOfAReadyTask() async throws {
        let executor = try #require(LibwebsocketsTransport().consumerExecutor)
        let (connection, peer) = try await RawServer().connectWebSocket()
        let received = await withTaskExecutorPreference(executor) { () -> Reported? in
            peer.writeFrame(opcode: 1, Array("news".utf8))
            // A thread that never reads would take all turns.
            for _ in 0..<2_000 {
                if let event = connection.next() { return Reported(event) }
                let end = Moment.now.advanced(byNanoseconds: Service.jobNanoseconds)
                while Moment.now < end {}
                await Task.yield()
            }
            return nil
        }
        #expect(received == .text("news"))
        connection.cancel()
    }

    @Test(arguments: Wire.allCases, [1, 4])
    func turnsRunOnEveryThread(over wire: Wire, threads: Int) async throws {
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { configuration in
                    configuration.policy = wire.policy
                    configuration.serviceThreadCount = threads
                })
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<12 { group.addTask { await transport.outcome().expectWhole() } }
            }
        }
    }
}

extension RawPeer {
    /// A client of a server on the loopback interface.
    fileprivate static func connected(to port: UInt16) throws -> RawPeer {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        let isConnected = LoopbackAddress.first.withSocketAddress(port: port) {
            Glibc.connect(descriptor, $0, $1) == 0
        }
        guard isConnected else { throw RawServer.Failure(call: "connect", code: errno) }
        return RawPeer(descriptor: descriptor)
    }

    /// Writes to the other what is read here, and closes both at the end.
    fileprivate func forward(to other: RawPeer) async {
        while case .bytes(let bytes) = await self.receive() { other.write(bytes) }
        other.close()
        self.close()
    }
}
