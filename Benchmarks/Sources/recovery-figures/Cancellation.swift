// The time from the cancellation of a stream to the end of its connection at the server.
import BenchmarkResults
import ChappieTestServer
import ChappieTransport

/// Times from `cancel()` to the moment at which the server sees the end of the connection.
enum Cancellation {
    static let measurement = Measurement("recovery/cancel", "from cancel() to the connection's end at the server") {
        [try await Self.closed(runs: $0.runs * 5)]
    }

    /// Streams that are cancelled in the middle of a response that never ends.
    private static func closed(runs: Int) async throws -> Figure {
        let server = try Cores.onServerCore {
            try ChappieTestServer(
                configuration: .init(
                    model: .scripted(.text(byteCount: 200)), faults: [.init(.hang(afterEvent: 6))]))
        }
        defer { server.stop() }
        let transport = ChappieStreamingTransport(configuration: try .loopback(server.baseURL))
        var values: [Double] = []
        for run in 1...runs {
            let handle = transport.streamHandle(.short)
            for try await event in handle.events {
                if case .textDelta = event { break }
            }
            let start = ContinuousClock.now
            handle.cancel()
            guard await server.reached(.finishedAttempts(run)) else {
                throw WrongResultError("the server has stopped")
            }
            values.append((ContinuousClock.now - start).milliseconds)
        }
        return Figure("recovery", "cancel", runs: values, bound: 5)
    }
}
