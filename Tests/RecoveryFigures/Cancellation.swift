// How soon a cancelled stream's socket is closed.
import ChappieTestServer
import ChappieTransport

/// Times from `cancel()` to the moment at which the server sees the end of the connection.
enum Cancellation {
    /// Streams that are cancelled in the middle of a response that never ends.
    static func closed(runs: Int) async throws -> Figure {
        var model = ChappieTestServer.ScriptedModel(seed: 1, textByteCount: 200)
        model.includesReasoning = false
        let server = try ChappieTestServer(
            configuration: .init(model: .scripted(model), faults: [.init(.hang(afterEvent: 6))]))
        defer { server.stop() }
        let transport = ChappieStreamingTransport(configuration: try .loopback(server.baseURL))
        var values: [Double] = []
        for run in 1...runs {
            let handle = transport.streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
            for try await event in handle.events {
                if case .textDelta = event { break }
            }
            let start = ContinuousClock.now
            handle.cancel()
            _ = await server.reached(.finishedAttempts(run))
            values.append((ContinuousClock.now - start).milliseconds)
        }
        return Figure("cancel to a closed socket", values: values, bound: 5)
    }
}
