import ChappieTestServer
import ChappieTransport
import Foundation
import StreamTransport
import Testing

@testable import LibwebsocketsTransport

/// Connections on several service threads.
@Suite(.timeLimit(.minutes(1))) struct ServiceThreadTests {
    /// A server with TLS, and how to trust it.
    private static func withSecureServer(
        _ body: (_ endpoint: TransportEndpoint, _ tls: TLSPolicy) async throws -> Void
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
                TLSPolicy(trust: .file(path: file.path)))
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

    @Test func handshakesThatHangGoOnWhenAThreadStarts() async throws {
        try await Self.withSecureServer { endpoint, tls in
            let pool = ServicePool()
            let request = TransportRequest(endpoint: endpoint, exchange: .webSocket(offersCompression: false))
            for count in 1...4 {
                let first = LibwebsocketsTransport(tls: tls, pool: pool)
                let connections = (0..<20).map { _ in first.connect(request) }
                // A thread starts now.
                let other = ServicePool()
                let last = LibwebsocketsTransport(tls: tls, serviceThreadCount: count, pool: other).connect(request)
                #expect(await last.event() == .opened(101))
                for connection in connections { #expect(await connection.event() == .opened(101)) }
                for connection in connections + [last] { connection.cancel() }
            }
        }
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
