import Chappie
import ChappieTestServer
import Foundation
import Testing

/// Long loops of tool calls: what they upload, and what cuts do to them.
@Suite(.timeLimit(.minutes(10))) struct ClientToolLoopTests {
    private static func model(rounds: Int) -> ChappieTestServer.ScriptedModel {
        var model = ChappieTestServer.ScriptedModel(seed: 5, textByteCount: 300)
        model.includesReasoning = false
        model.toolRounds = rounds
        model.toolArguments = ["count": #"{"n":$number}"#]
        return model
    }

    private static func tool(_ record: ToolRecord) -> ChappieHostTool {
        ChappieHostTool(
            name: "count", description: "Counts.",
            inputSchema: ["type": "object", "properties": ["n": ["type": "integer"]]]
        ) { call in
            record.note(call)
            return ChappieToolResult(output: "counted \(call.argumentsJSON?["n"]?.number ?? -1)")
        }
    }

    /// The result of a loop.
    private struct Loop {
        var outcome: ClientOutcome
        var calls: [String]
        var log: [ChappieTestServer.RequestRecord]

        var uploadedByteCount: Int { self.log.reduce(0) { $0 + $1.bodyByteCount } }
    }

    private static func run(
        rounds: Int, over wire: Wire, faults: [ChappieTestServer.Fault] = [],
        _ change: (inout ChappieConfiguration) -> Void = { _ in }
    ) async throws -> Loop {
        let record = ToolRecord()
        return try await withServer(.init(model: .scripted(Self.model(rounds: rounds)), faults: faults)) { server in
            let client = Chappie.client(
                configuration: .loopback(server, over: wire) {
                    $0.tools = [Self.tool(record)]
                    $0.limits.roundTrips = rounds + 1
                    change(&$0)
                })
            let outcome = await client.outcome("Count.")
            return Loop(outcome: outcome, calls: record.calls.map(\.arguments), log: server.log)
        }
    }

    private func expectWhole(_ loop: Loop, rounds: Int, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(loop.outcome.error == nil, sourceLocation: sourceLocation)
        #expect(loop.outcome.text == Self.model(rounds: rounds).fullText, sourceLocation: sourceLocation)
        #expect(loop.outcome.completions == 1, sourceLocation: sourceLocation)
        #expect(loop.calls == (0..<rounds).map { #"{"n":\#($0 + 1)}"# }, sourceLocation: sourceLocation)
        #expect(loop.outcome.results.count == rounds, sourceLocation: sourceLocation)
    }

    @Test func toolLoopOverAWebSocketUploadsOnlyNewInput() async throws {
        let (half, whole) = (
            try await Self.run(rounds: 25, over: .webSocket), try await Self.run(rounds: 50, over: .webSocket)
        )
        self.expectWhole(half, rounds: 25)
        self.expectWhole(whole, rounds: 50)
        // One handshake for all of it.
        #expect(whole.log.count == 1)
        #expect(whole.log.first?.bodies.count == 51)
        let ratio = Double(whole.uploadedByteCount) / Double(half.uploadedByteCount)
        #expect(ratio < 2.1, "\(half.uploadedByteCount) bytes for 25 calls, \(whole.uploadedByteCount) for 50")
    }

    @Test func toolLoopOverHTTPUploadsTheWholeInput() async throws {
        let (half, whole) = (
            try await Self.run(rounds: 25, over: .httpSSE), try await Self.run(rounds: 50, over: .httpSSE)
        )
        self.expectWhole(half, rounds: 25)
        self.expectWhole(whole, rounds: 50)
        #expect(whole.log.count == 51)
        let ratio = Double(whole.uploadedByteCount) / Double(half.uploadedByteCount)
        #expect(ratio > 3, "\(half.uploadedByteCount) bytes for 25 calls, \(whole.uploadedByteCount) for 50")
    }

    /// 200 places in 20 loops of 50 calls; each loop is cut ten times, in ten attempts.
    @Test(arguments: 0..<(EveryByteCutTests.stride > 1 ? 3 : 20))
    func toolLoopCutAnywhereRunsEachToolOnce(seed: Int) async throws {
        var generator = CutGenerator(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 &+ 1)
        let wire: Wire = seed.isMultiple(of: 2) ? .webSocket : .httpSSE
        var attempt = 0
        let faults = (0..<10).map { _ in
            // Over HTTP every response is an attempt; a WebSocket carries them until it is cut.
            attempt += 1 + (wire == .httpSSE ? generator.next(below: 5) : 0)
            let reach = wire == .httpSSE ? 2_400 : 9_000
            return ChappieTestServer.Fault(
                action: .cut(
                    afterByte: 1 + generator.next(below: reach), origin: .body,
                    with: generator.next(below: 2) == 0 ? .end : .reset),
                attempts: attempt...attempt)
        }
        let loop = try await Self.run(rounds: 50, over: wire, faults: faults) {
            $0.streamingTransportPolicy = wire.alone
            $0.maxHTTPRetries = 20
            if wire == .webSocket {
                $0.streamingTransportPolicy = ChappieStreamingTransportPolicy(
                    maxWebSocketReconnectionAttempts: 20, fallsBackToHTTPSSE: false)
            }
            $0.streamingTransportPolicy.carriesFinishedItems = seed % 4 < 2
        }
        self.expectWhole(loop, rounds: 50)
        let failures = loop.outcome.report?.attempts.count { $0.outcome != "completed" } ?? 0
        #expect(failures == 10, "only \(failures) cuts were felt")
    }
}

/// A small generator of numbers that a seed decides (SplitMix64).
private struct CutGenerator {
    var state: UInt64

    mutating func next(below bound: Int) -> Int {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((value ^ (value >> 31)) % UInt64(bound))
    }
}
