import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

@Suite struct StreamingTests {
    @Test(arguments: Wire.allCases)
    func aResponseArrivesWholeAndOnce(over wire: Wire) async throws {
        let model = ChappieTestServer.ScriptedModel(seed: 7)
        try await withServer(.init(model: .scripted(model))) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { $0.policy = wire.policy })
            let outcome = await transport.outcome()
            #expect(outcome.error == nil)
            #expect(outcome.text == model.fullText)
            #expect(outcome.completions == 1)
            #expect(outcome.emptyDeltas == 0)
            #expect(outcome.reasoning.isEmpty == false)
            #expect(outcome.report.attempts.map(\.transport) == [wire == .webSocket ? .webSocket : .httpSSE])
            #expect(outcome.report.attempts.map(\.outcome) == ["completed"])
        }
    }
}
