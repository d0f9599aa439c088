// What a loop of tool calls uploads, by transport.
import Chappie
import ChappieTestServer
import Foundation

/// Turns of 25 and of 50 tool calls, one call in each response.
enum ToolLoop {
    /// What the server saw of one loop.
    private struct Upload {
        /// Bytes of requests, before compression.
        var byteCount: Int
        /// Handshakes over a WebSocket, or POSTs.
        var attemptCount: Int
        /// For how many different calls the tool ran, and how often.
        var calls: (different: Int, all: Int)
    }

    private actor Calls {
        var names: [String] = []
        func add(_ name: String) { self.names.append(name) }
    }

    /// The figures: what 50 calls upload over each transport, and how much more that is than 25 calls do.
    static func uploaded() async throws -> [Figure] {
        let (half, whole) = (try await Self.run(25, .default), try await Self.run(50, .default))
        let (halfHTTP, wholeHTTP) = (try await Self.run(25, .httpSSEOnly), try await Self.run(50, .httpSSEOnly))
        for (upload, count) in [(half, 25), (whole, 50), (halfHTTP, 25), (wholeHTTP, 50)] {
            guard upload.calls == (different: count, all: count) else { throw WrongLoop() }
        }
        func ratio(_ over: Upload, _ under: Upload) -> [Double] { [Double(over.byteCount) / Double(under.byteCount)] }
        return [
            Figure("50 tool calls over a WebSocket, uploaded", unit: "KB", values: Self.kilobytes(whole), bound: nil),
            Figure("50 tool calls over HTTP, uploaded", unit: "KB", values: Self.kilobytes(wholeHTTP), bound: nil),
            Figure("50 calls against 25, over a WebSocket", unit: "", values: ratio(whole, half), bound: 2.1),
            Figure("50 calls against 25, over HTTP", unit: "", values: ratio(wholeHTTP, halfHTTP), bound: nil),
            Figure("opening handshakes of 50 calls", unit: "", values: [Double(whole.attemptCount)], bound: 1),
        ]
    }

    /// The server has not seen what it should have.
    private struct WrongLoop: Error {}

    private static func kilobytes(_ upload: Upload) -> [Double] { [Double(upload.byteCount) / 1000] }

    private static func run(_ callCount: Int, _ policy: ChappieStreamingTransportPolicy) async throws -> Upload {
        var model = ChappieTestServer.ScriptedModel(seed: 3, textByteCount: 500)
        model.toolRounds = callCount
        let server = try ChappieTestServer(configuration: .init(model: .scripted(model)))
        defer { server.stop() }
        guard let url = URL(string: server.baseURL) else { throw URLError(.badURL) }
        let calls = Calls()
        let tool = ChappieHostTool(name: "read_page", description: "Reads a page of a book.") { call in
            await calls.add(call.callID)
            return ChappieToolResult(output: String(repeating: "word ", count: 200))
        }
        var configuration = ChappieConfiguration(model: "m", harness: .none, tools: [tool], endpoint: .other(url))
        configuration.streamingTransportPolicy = policy
        configuration.limits.roundTrips = callCount + 1
        configuration.proxy = .none
        _ = try await Chappie.client(configuration: configuration).send("Read the book.")
        let names = await calls.names
        return Upload(
            byteCount: server.log.reduce(0) { $0 + $1.bodyByteCount }, attemptCount: server.log.count,
            calls: (different: Set(names).count, all: names.count))
    }
}
