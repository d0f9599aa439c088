// The bytes that a loop of tool calls uploads, and its time, by transport.
import BenchmarkResults
import Chappie
import ChappieTestServer
import Foundation

/// Turns of 10, 25 and 50 tool calls, one call in each response; the tool itself takes no time.
enum ToolLoop {
    static let all = [
        Measurement("tool-loop/websocket", "10, 25 and 50 tool calls over a WebSocket: bytes and time") { _ in
            try await Self.figures("websocket", .default, growthBound: 2.1, handshakeBound: 1)
        },
        Measurement("tool-loop/http", "the same over HTTP") { _ in try await Self.figures("http", .httpSSEOnly) },
    ]

    private static let runs = 5
    private static let callCounts = [10, 25, 50]

    /// The counts of one loop at the server, and its time.
    private struct Loop {
        /// Bytes of requests, before compression.
        let uploaded: Double
        /// Handshakes over a WebSocket, or POSTs.
        let attempts: Double
        /// Milliseconds from the prompt to the answer.
        let time: Double
    }

    private actor Calls {
        var names: [String] = []
        func add(_ name: String) { self.names.append(name) }
    }

    private static func figures(
        _ transport: String, _ policy: ChappieStreamingTransportPolicy, growthBound: Double? = nil,
        handshakeBound: Double? = nil
    ) async throws -> [Figure] {
        // A loop before the others, for state that is made once.
        _ = try await self.run(2, policy)
        var figures: [Figure] = []
        var loops: [Int: [Loop]] = [:]
        for count in self.callCounts {
            for _ in 0..<self.runs { loops[count, default: []].append(try await self.run(count, policy)) }
            let made = loops[count, default: []]
            figures += [
                Figure(
                    "tool-loop", "\(transport)-\(count)", measure: "uploaded", unit: "bytes", runs: made.map(\.uploaded)
                ),
                Figure("tool-loop", "\(transport)-\(count)", runs: made.map(\.time)),
                Figure(
                    "tool-loop", "\(transport)-\(count)", measure: transport == "http" ? "requests" : "handshakes",
                    unit: "", runs: made.map(\.attempts), bound: handshakeBound),
            ]
        }
        let growth = zip(loops[25, default: []], loops[50, default: []]).map { $1.uploaded / $0.uploaded }
        figures.append(
            Figure(
                "tool-loop", "\(transport)-50-against-25", measure: "uploaded-growth", unit: "", runs: growth,
                bound: growthBound))
        return figures
    }

    private static func run(_ callCount: Int, _ policy: ChappieStreamingTransportPolicy) async throws -> Loop {
        var model = ChappieTestServer.ScriptedModel(seed: 3, textByteCount: 500)
        model.toolRounds = callCount
        let server = try Cores.onServerCore {
            try ChappieTestServer(configuration: .init(model: .scripted(model)))
        }
        defer { server.stop() }
        let calls = Calls()
        let client = Chappie.client(configuration: try self.configuration(server, policy, callCount, calls))
        let start = ContinuousClock.now
        let answer = try await client.send("Read the book.")
        let time = ContinuousClock.now - start
        let names = await calls.names
        guard names.count == callCount, Set(names).count == callCount, answer == model.fullText else {
            throw WrongResultError("\(names.count) of \(callCount) calls, and the answer '\(answer)'")
        }
        return Loop(
            uploaded: Double(server.log.reduce(0) { $0 + $1.bodyByteCount }), attempts: Double(server.log.count),
            time: time.milliseconds)
    }

    private static func configuration(
        _ server: ChappieTestServer, _ policy: ChappieStreamingTransportPolicy, _ callCount: Int, _ calls: Calls
    ) throws -> ChappieConfiguration {
        guard let url = URL(string: server.baseURL) else { throw URLError(.badURL) }
        let output = String(repeating: "word ", count: 200)
        let tool = ChappieHostTool(name: "read_page", description: "Reads a page of a book.") { call in
            await calls.add(call.callID)
            return ChappieToolResult(output: output)
        }
        var configuration = ChappieConfiguration(model: "m", harness: .none, tools: [tool], endpoint: .other(url))
        configuration.streamingTransportPolicy = policy
        configuration.limits.roundTrips = callCount + 1
        configuration.proxy = .none
        return configuration
    }
}
