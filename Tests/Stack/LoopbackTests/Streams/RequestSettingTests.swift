import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Header fields of one request, as a server receives them.
@Suite(.timeLimit(.minutes(10))) struct RequestSettingTests {
    @Test(arguments: Wire.allCases) func serverGetsTheFieldsOfEachRequest(over wire: Wire) async throws {
        let configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        try await withServer(configuration) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { $0.policy = wire.policy })
            for value in ["1", "1", "2"] {
                var request = ChappieTransportRequest(prompt: "hi")
                request.fields = [(name: "X-Org", value: value)]
                for try await _ in transport.stream(request) {}
            }
            #expect(Set(server.log.compactMap { $0.value(of: "X-Org") }) == ["1", "2"])
            // A WebSocket is used again for the same fields alone.
            if wire == .webSocket { #expect(server.connectionCount == 2) }
        }
    }
}
