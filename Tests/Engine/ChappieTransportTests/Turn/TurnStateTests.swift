// The routing state that a server sends in a turn, and the requests that return it.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct TurnStateTests {
    private static func metadata(_ state: String, type: String = "response.metadata") -> String {
        #"{"type":"\#(type)","headers":{"X-Codex-Turn-State":"\#(state)","openai-model":"m"}}"#
    }

    private static let field = "x-codex-turn-state"

    private static func request(_ state: String? = nil) -> ChappieTransportRequest {
        conversation([WireItem.question]) { $0.turnState = state }
    }

    @Test func firstTurnStateEventOfAWebSocketIsReported() async {
        let fixture = TurnFixture([
            .socket([Self.metadata("ts-1"), Self.metadata("ts-2"), Event.created("r1"), Event.completed("r1")])
        ])
        let (_, response) = await fixture.complete(Self.request())
        #expect(response?.turnState == "ts-1")
        // The first request cannot have it, and the opening handshake never has.
        #expect(SentMessage(fixture.messages[0].first)?.turnState == nil)
        #expect(fixture.transport.requests[0].value(of: Self.field) == nil)
    }

    @Test func turnStateOfTheOtherMetadataEventIsIgnored() async {
        let fixture = TurnFixture([
            .socket([Self.metadata("ts-1", type: "codex.response.metadata"), Event.completed("r1")])
        ])
        #expect(await fixture.complete(Self.request()).response?.turnState == nil)
    }

    @Test func turnStateOverHTTPIsReadFromAField() async {
        let fixture = TurnFixture([
            [
                .opened(200, fields: [Self.field: "ts-http"]), .body(Event.sse(Self.metadata("ts-frame"))),
                .body(Event.sse(Event.completed("r1"))),
            ]
        ]) { $0.policy = .httpSSEOnly }
        #expect(await fixture.complete(Self.request()).response?.turnState == "ts-http")
        #expect(fixture.transport.requests[0].capturedFieldNames.contains(Self.field))
    }

    @Test func turnStateInAnEventOverHTTPIsIgnored() async {
        let fixture = TurnFixture([.http([Self.metadata("ts-frame"), Event.completed("r1")])]) {
            $0.policy = .httpSSEOnly
        }
        #expect(await fixture.complete(Self.request()).response?.turnState == nil)
    }

    @Test func turnStateInTheOpeningHandshakeIsIgnored() async {
        let fixture = TurnFixture([
            [.opened(101, fields: [Self.field: "ts-101"]), .request, .text(Event.completed("r1"))]
        ])
        #expect(await fixture.complete(Self.request()).response?.turnState == nil)
    }

    // MARK: Echoes

    @Test func givenTurnStateIsSentAndKept() async {
        let fixture = TurnFixture([.socket([Self.metadata("ts-2"), Event.completed("r1")])])
        let (_, response) = await fixture.complete(Self.request("ts-1"))
        #expect(SentMessage(fixture.messages[0].first)?.turnState == "ts-1")
        // The first value is kept.
        #expect(response?.turnState == "ts-1")
    }

    @Test func turnStateOverHTTPIsSentInAField() async {
        let fixture = TurnFixture([.http([Event.completed("r1")])]) { $0.policy = .httpSSEOnly }
        _ = await fixture.run(Self.request("ts-1"))
        #expect(fixture.transport.requests[0].value(of: Self.field) == "ts-1")
        #expect(fixture.transport.requests[0].body?.contains("ts-1") == false)
    }

    @Test func retrySendsTheTurnState() async {
        let fixture = TurnFixture([
            .socket([Self.metadata("ts-1"), Event.created("r1")], isBroken: true), .socket([Event.completed("r2")]),
        ])
        _ = await fixture.run(Self.request())
        #expect(SentMessage(fixture.messages[1].first)?.turnState == "ts-1")
        #expect(fixture.transport.requests[1].value(of: Self.field) == nil)
    }

    @Test func turnStateIsSentAfterAFallbackAndInAResumption() async {
        let fixture = TurnFixture([
            .socket([Self.metadata("ts-1"), Event.created("r1")], isBroken: true), .http([Event.completed("r2")]),
        ]) { $0.policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0) }
        _ = await fixture.run(Self.request())
        #expect(fixture.transport.requests[1].value(of: Self.field) == "ts-1")

        let created = #"{"type":"response.created","response":{"id":"r1"},"sequence_number":0}"#
        let completed = #"{"type":"response.completed","response":{"id":"r1"},"sequence_number":1}"#
        let background = TurnFixture([
            [.opened(200, fields: [Self.field: "ts-1"]), .body(Event.sse(created)), .ended(.complete)],
            .http([completed]),
        ])
        let outcome = await background.run(
            conversation([WireItem.question], #""model":"m","background":true,"store":true"#))
        #expect(outcome.error == nil)
        #expect(background.transport.requests[1].isResumption)
        #expect(background.transport.requests[1].value(of: Self.field) == "ts-1")
    }

    @Test func theCallersMetadataStays() async {
        let fixture = TurnFixture([.socket([Event.completed("r1")])])
        _ = await fixture.run(
            conversation([WireItem.question], #""model":"m","client_metadata":{"a":"b"}"#) { $0.turnState = "ts" })
        let metadata = SentMessage(fixture.messages[0].first)?.members["client_metadata"] as? [String: String]
        #expect(metadata == ["a": "b", "x-codex-turn-state": "ts"])
    }

    @Test func nextTurnSendsNoTurnState() async {
        let fixture = TurnFixture([.socket([Self.metadata("ts-1"), Event.created("r1"), Event.completed("r1")])])
        _ = await fixture.run(Self.request())
        fixture.transport.connections[0].append(.again(Event.created("r2"), Event.completed("r2")))
        _ = await fixture.run(Self.request())
        #expect(fixture.messages[0].count == 2)
        #expect(SentMessage(fixture.messages[0].last)?.turnState == nil)
    }

    // MARK: Bad input

    @Test(arguments: [#"a\r\nX-Evil: 1"#, #"a\u0000"#, "ä", #"\ta"#, " a", "a ", #"a\u007f"#])
    func turnStateInvalidAsAFieldValueIsNotSent(state: String) async {
        let fixture = TurnFixture([
            .socket([Self.metadata(state), Event.created("r1")], isBroken: true), .http([Event.completed("r2")]),
        ]) { $0.policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0) }
        let (outcome, response) = await fixture.complete(Self.request())
        #expect(outcome.error == nil)
        #expect(response?.turnState != nil)
        #expect(fixture.transport.requests[1].value(of: Self.field) == nil)
    }

    @Test(arguments: [(8_191, true), (8_192, true), (8_193, false), (0, false)])
    func aStateHasALimit(byteCount: Int, isTaken: Bool) async {
        let state = String(repeating: "x", count: byteCount)
        let fixture = TurnFixture([.socket([Self.metadata(state), Event.completed("r1")])])
        #expect(await fixture.complete(Self.request()).response?.turnState == (isTaken ? state : nil))
    }
}
