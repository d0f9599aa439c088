// The path and the subprotocol of a WebSocket, for servers that have it elsewhere or demand a name.
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct WebSocketQuirkTests {
    private static func requests(
        _ scripts: [[ScriptStep]], _ change: (inout ChappieTransportConfiguration) -> Void
    ) async -> [TransportRequest] {
        let fixture = TurnFixture(scripts, change)
        _ = await fixture.run()
        return fixture.transport.requests
    }

    @Test(arguments: [
        (nil, "/v1/responses"), ("/responses/ws", "/v1/responses/ws"), ("/../ws", "/ws"),
        ("/responses?stream=ws", "/v1/responses?stream=ws"),
    ])
    func upgradeGoesToThePathAndThePOSTToTheResponses(path: String?, target: String) async {
        let requests = await Self.requests([.refusal(404), .eventStream(Event.completed)]) { $0.webSocketPath = path }
        #expect(requests.map(\.endpoint.target) == [target, "/v1/responses"])
    }

    @Test(arguments: [nil, "openai-beta.responses.v1"]) func subprotocolIsOffered(name: String?) async {
        let requests = await Self.requests([.refusal(404), .eventStream(Event.completed)]) {
            $0.webSocketSubprotocol = name
        }
        #expect(requests.map(\.subprotocols) == [name.map { [$0] } ?? [], []])
    }

    @Test(arguments: ["", "responses", "/a b", "/a#b", "/ü", "/a\r\nb"])
    func pathThatCannotBeSentFailsTheTurn(path: String) async {
        let fixture = TurnFixture([]) { $0.webSocketPath = path }
        let outcome = await fixture.run()
        #expect(outcome.clientError?.tag == "request.invalid")
        #expect(outcome.transportFailure?.details.detail?.hasPrefix("webSocketPath ") == true)
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test(arguments: ["", "a b", "a,b", "a\r\nb"]) func subprotocolThatIsNoTokenFailsTheTurn(name: String) async {
        let fixture = TurnFixture([]) { $0.webSocketSubprotocol = name }
        let outcome = await fixture.run()
        #expect(outcome.clientError?.tag == "request.invalid")
        #expect(outcome.transportFailure?.details.detail?.hasPrefix("webSocketSubprotocol ") == true)
        #expect(fixture.transport.requests.isEmpty)
    }
}
