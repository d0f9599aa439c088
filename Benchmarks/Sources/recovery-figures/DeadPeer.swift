// The time until a peer that has stopped answering is detected.
import BenchmarkResults
import ChappieTestServer
import ChappieTransport

/// Times from the last byte of a peer to the failure of the turn.
enum DeadPeer {
    static let measurement = Measurement("recovery/dead-peer", "a silent peer: ping after 300 ms, pong within 200") {
        [try await Self.found(runs: max(5, $0.runs / 5))]
    }

    private static let pingInterval = Duration.milliseconds(300)
    private static let pongTimeout = Duration.milliseconds(200)

    /// The peer stops reading and writing in the middle of a response.
    private static func found(runs: Int) async throws -> Figure {
        let server = try Cores.onServerCore {
            try ChappieTestServer(
                configuration: .init(
                    model: .scripted(.text(byteCount: 600)),
                    faults: [.init(action: .stall(afterByte: 1_000, origin: .body))]))
        }
        defer { server.stop() }
        let configuration = try ChappieTransportConfiguration.loopback(server.baseURL) { configuration in
            configuration.policy = .init(maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
            configuration.timeouts.pingInterval = Self.pingInterval
            configuration.timeouts.pongTimeout = Self.pongTimeout
        }
        var values: [Double] = []
        for _ in 0..<runs {
            values.append(try await self.silence(ChappieStreamingTransport(configuration: configuration)))
        }
        // The service's clock has a resolution of a few milliseconds.
        let bound = (Self.pingInterval + Self.pongTimeout).milliseconds + 10
        return Figure("recovery", "dead-peer", runs: values, bound: bound)
    }

    private static func silence(_ transport: ChappieStreamingTransport) async throws -> Double {
        do {
            for try await _ in transport.stream(.short) {}
        } catch ChappieClientError.transport(let failure) where failure.code == .peerUnresponsive {
            guard let silence = failure.details.sinceLastByte else {
                throw WrongResultError("the failure has no time since the last byte")
            }
            return silence.milliseconds
        }
        throw WrongResultError("the response has ended, though its peer is dead")
    }
}
