import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// The log and metrics of turns over real sockets: names, figures and sizes.
@Suite(.timeLimit(.minutes(10))) struct LoopbackWatchingTests {
    private static let trace = ChappieTraceContext(
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=b")
    private static let answer = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"

    /// The same name goes out with every attempt, and is in every line, the report and the error.
    @Test(arguments: Wire.allCases) func attemptsLogsAndReportHaveTheSameRequestID(over wire: Wire) async throws {
        var configuration = ChappieTestServer.Configuration(
            model: .scripted(LoopbackTurn.model), faults: [.init(.cutAfterEvent(event: 20), attempts: 1...2)])
        configuration.additionalFields = [.init(name: "traceresponse", value: Self.answer)]
        let watched = WatchedTurns()
        try await withServer(configuration) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) {
                    $0.policy = wire.alone
                    $0.sendsClientMetadata = true
                    watched.listen(to: &$0)
                })
            var request = ChappieTransportRequest(prompt: "hi", model: "m")
            request.requestID = "order 66"
            request.traceContext = Self.trace
            let outcome = await transport.outcome(of: request)
            outcome.expectWhole()
            #expect(server.log.count == 3)
            for record in server.log {
                #expect(record.value(of: "x-client-request-id") == "order 66")
                #expect(record.value(of: "traceparent") == Self.trace?.traceparent)
                #expect(record.value(of: "tracestate") == "a=b")
                let hasMetadata = record.bodies.first?.contains(#""x-client-request-id":"order 66""#)
                #expect(hasMetadata == (wire == .webSocket))
            }
            #expect(outcome.report.requestID == "order 66")
            #expect(outcome.report.attempts.map(\.traceResponse) == [Self.answer, Self.answer, Self.answer])
        }
        #expect(watched.entries.allSatisfy { $0.requestID == "order 66" })
        #expect(watched.metrics.map(\.operation) == ["attempt", "attempt", "attempt", "turn"])
        #expect(watched.metrics.last?.outcome == "completed")
    }

    @Test(arguments: Wire.allCases) func theCompressionRatioIsMeasured(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(over: wire) {
            $0.messageCompression = .deflate(.init())
            $0.contentCoding = .gzip
        }
        turn.outcome.expectWhole()
        let attempt = try #require(turn.outcome.report.attempts.first)
        let ratio = try #require(turn.outcome.report.compressionRatio)
        #expect(ratio > 2 && ratio < 100)
        #expect((attempt.inflatedByteCount ?? 0) > 2 * attempt.receivedByteCount)
        let plain = try await LoopbackTurn.run(over: wire)
        #expect(plain.outcome.report.compressionRatio == nil)
        // What was inflated is what comes without compression, but for the frames' headers.
        let difference =
            (attempt.inflatedByteCount ?? 0) - (plain.outcome.report.attempts.first?.receivedByteCount ?? 0)
        #expect(abs(difference) < 2_000)
    }

    @Test(arguments: Wire.allCases) func gapsAreMeasured(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(over: wire) { $0.eventsPerSecond = 50 }
        let gaps = try #require(turn.outcome.report.gaps)
        #expect(gaps.count > 5 && gaps.longest > 0 && gaps.mean > 0)
        #expect(gaps.p50 <= gaps.p99 && gaps.p99 <= gaps.longest && gaps.histogram.reduce(0, +) == gaps.count)
    }
}
