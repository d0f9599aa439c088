import Chappie
import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Turns over real sockets whose configuration has the largest and the smallest numbers.
@Suite(.timeLimit(.minutes(10))) struct ExtremeValueTests {
    private static let answer = scripted([responseEvents(1, [], text: "Done.")])

    @Test(arguments: Wire.allCases, [false, true])
    func greatestDurationsAndLimitsDoNotEndATurn(over wire: Wire, usesLanes: Bool) async throws {
        try await withServer(Self.answer) { server in
            let endless = Duration.seconds(Int64.max)
            let client = Chappie.client(
                configuration: .loopback(server, over: wire) {
                    $0.usesLanes = usesLanes
                    $0.limits.duration = endless
                    $0.timeouts.connect = endless
                    $0.timeouts.firstEvent = endless
                    $0.timeouts.idle = endless
                    $0.timeouts.progress = endless
                    $0.timeouts.stall = endless
                    $0.timeouts.total = endless
                    $0.timeouts.pingInterval = endless
                    $0.timeouts.pongTimeout = endless
                    $0.timeouts.livenessCheck = endless
                    $0.streamingTransportPolicy.hedgeDelay = endless
                    $0.streamingTransportPolicy.maximumConnectionAge = endless
                    $0.streamingTransportPolicy.livenessCheckDelay = endless
                    $0.circuitBreaker = ChappieCircuitBreakerPolicy(openDuration: endless)
                    $0.rateLimitBackoff = ChappieRateLimitBackoffPolicy(initialDelay: endless, maximumDelay: endless)
                    $0.transport.limits.eventByteCount = .max
                    $0.transport.limits.errorBodyByteCount = .max
                    $0.transport.limits.highWatermark = .max
                    $0.transport.limits.lowWatermark = .max
                })
            for _ in 0..<2 {
                let outcome = await client.outcome()
                #expect(outcome.error == nil)
                #expect(outcome.text == "Done.")
            }
        }
    }

    /// An answer is read byte by byte, and no turn stalls.
    @Test(arguments: Wire.allCases, [0, -1, Int.min])
    func smallestWatermarksStallNoTurn(over wire: Wire, mark: Int) async throws {
        try await withServer(Self.answer) { server in
            let client = Chappie.client(
                configuration: .loopback(server, over: wire) {
                    $0.usesLanes = true
                    $0.transport.limits.highWatermark = mark
                    $0.transport.limits.lowWatermark = mark
                })
            for name in ["a", "b"] {
                let outcome = await client.lane(name).outcome()
                #expect(outcome.error == nil)
                #expect(outcome.text == "Done.")
            }
        }
    }

    @Test(arguments: [0, -1, Int.min]) func toolsRunWhateverTheirLimits(count: Int) async throws {
        let tool = ChappieHostTool(name: "f", description: "") { _ in ChappieToolResult(output: "out") }
        let server = scripted([
            responseEvents(1, [functionCall("c", "f")]), responseEvents(2, [], text: "Done."),
        ])
        try await withServer(server) { server in
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.tools = [tool]
                    $0.limits.concurrentTools = count
                    $0.limits.toolOutputByteCount = count
                })
            let outcome = await client.outcome()
            #expect(outcome.error == nil)
            #expect(outcome.text == "Done.")
            #expect(outcome.results.first?.output.hasPrefix("\n[The output was cut here") == true)
        }
    }

    /// The limit of a client's turn includes the time of the program's closures, whatever they do.
    @Test(arguments: [false, true]) func durationOfATurnCountsTheProgramsClosures(asksCredential: Bool) async throws {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        try await withServer(Self.answer) { server in
            let never: @Sendable () async -> Void = {
                await Task.detached { for await _ in stream {} }.value
            }
            let client = Chappie.client(
                configuration: .loopback(server) {
                    $0.limits.duration = .milliseconds(20)
                    if asksCredential {
                        $0.credential = { _ in
                            await never()
                            return nil
                        }
                    } else {
                        $0.willSend = { _ in await never() }
                    }
                })
            let outcome = await client.outcome()
            #expect((outcome.error as? ChappieClientError)?.tag == "turn.time-limit")
        }
        continuation.finish()
    }
}
