import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// The real server behind the fault proxy, and the real client before it: broken connections are recovered.
@Suite(.timeLimit(.minutes(10))) struct FaultProxyTests {
    /// A transport, with or without TLS.
    struct Path: Sendable, CustomTestStringConvertible {
        let wire: Wire
        let isSecure: Bool

        var testDescription: String { "\(self.wire.rawValue)\(self.isSecure ? " over TLS" : "")" }

        static let all = Wire.allCases.flatMap { wire in [false, true].map { Path(wire: wire, isSecure: $0) } }
        static let secure = Self.all.filter(\.isSecure)
    }

    /// One turn through a proxy, and what passed.
    private struct Turn {
        var outcome: StreamOutcome
        var connections: [FaultProxy.ConnectionRecord]
    }

    private func run(
        _ faults: [FaultProxy.Fault], on path: Path,
        client change: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async throws -> Turn {
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        if path.isSecure { configuration.tls = .init() }
        return try await withServer(configuration) { server in
            let proxy = try FaultProxy(upstream: .init(host: "127.0.0.1", port: server.port), plan: .init(faults))
            defer { proxy.stop() }
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("ca-\(UUID().uuidString).pem")
            defer { try? FileManager.default.removeItem(at: file) }
            try server.caPEM?.write(to: file, atomically: true, encoding: .utf8)
            let baseURL = proxy.baseURL(scheme: path.isSecure ? "https" : "http")
            let transport = ChappieStreamingTransport(
                configuration: .loopback(baseURL) { configuration in
                    configuration.policy = path.wire.policy
                    if path.isSecure { configuration.tls.trust = .file(path: file.path) }
                    change(&configuration)
                })
            let outcome = await transport.outcome()
            // The last bytes may be here before the proxy has counted them.
            proxy.stop()
            return Turn(outcome: outcome, connections: proxy.connections)
        }
    }

    /// Some bytes of a direction: the first ones, the last ones, and those between in steps.
    private static func offsets(of byteCount: Int, count: Int) -> [Int] {
        let step = max(1, byteCount / count)
        return [0, 1] + Array(stride(from: step, to: byteCount, by: step)) + [byteCount - 1, byteCount]
    }

    @Test(arguments: Path.all) func proxyWithoutFaultsIsTransparent(_ path: Path) async throws {
        let turn = try await self.run([], on: path)
        turn.outcome.expectWhole()
        #expect(turn.outcome.report.attempts.map(\.transport) == [path.wire.kind])
        #expect(turn.connections.count == 1)
    }

    @Test(arguments: Path.all, FaultProxy.Direction.allCases)
    func aConnectionThatBreaksAtAnyByteIsNotNoticed(_ path: Path, direction: FaultProxy.Direction) async throws {
        let byteCount = try #require(try await self.run([], on: path).connections.first)[direction].deliveredByteCount
        #expect(byteCount > 200)
        for (index, offset) in Self.offsets(of: byteCount, count: EveryByteCutTests.stride == 1 ? 16 : 4).enumerated() {
            let action = ConnectionFault.cut(atByte: offset, with: index.isMultiple(of: 2) ? .end : .reset)
            let turn = try await self.run([.init(action, connections: 1...1, direction: direction)], on: path)
            turn.outcome.expectWhole()
            let first = try #require(turn.connections.first)
            #expect(first[direction].deliveredByteCount <= offset)
            // A break after the last relevant byte needs no retry.
            if offset < byteCount / 2 { #expect(turn.connections.count > 1, "\(action)") }
        }
    }

    @Test(arguments: Path.all) func bytesThatComeOneByOneAreTheSame(_ path: Path) async throws {
        let slices = FaultProxy.Direction.allCases.map { direction in
            FaultProxy.Fault(.slice(byteCount: 1), direction: direction)
        }
        let turn = try await self.run(slices, on: path)
        turn.outcome.expectWhole()
        #expect(turn.connections.count == 1)
    }

    @Test(arguments: [false, true]) func aHalfOpenWebSocketIsFoundByItsPings(isSecure: Bool) async throws {
        let path = Path(wire: .webSocket, isSecure: isSecure)
        let byteCount = try #require(try await self.run([], on: path).connections.first).toClient.deliveredByteCount
        let turn = try await self.run(
            [.init(.halfOpen(atByte: byteCount / 2), connections: 1...1)], on: path,
            client: {
                $0.timeouts.pingInterval = .milliseconds(50)
                $0.timeouts.pongTimeout = .seconds(2)
            })
        turn.outcome.expectWhole()
        #expect(turn.outcome.report.attempts.count == 2)
        #expect(turn.connections.first?.strikes.map(\.action.name) == ["halfOpen"])
    }

    @Test(arguments: Path.secure) func aByteThatIsCorruptedUnderTLSBreaksTheConnection(_ path: Path) async throws {
        let byteCount = try #require(try await self.run([], on: path).connections.first).toClient.deliveredByteCount
        for offset in [byteCount / 2, byteCount * 2 / 3, byteCount - 200] {
            let turn = try await self.run([.init(.corrupt(atByte: offset), connections: 1...1)], on: path)
            turn.outcome.expectWhole()
            #expect(turn.connections.count == 2)
        }
    }

    @Test(arguments: Wire.allCases) func aRefusedConnectionIsTriedAgain(over wire: Wire) async throws {
        let turn = try await self.run(
            [.init(.refuse, connections: 1...1)], on: Path(wire: wire, isSecure: false))
        turn.outcome.expectWhole()
        #expect(turn.connections.map(\.isConnected) == [false, true])
    }
}
