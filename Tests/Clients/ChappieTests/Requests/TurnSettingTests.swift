// Header fields and time limits of one turn's requests.
import ChappieTransport
import Testing

@testable import Chappie

@Suite struct TurnSettingTests {
    private static let body = Array("{}".utf8)

    @Test func requestOfATurnHasItsFieldsAndTimeLimits() {
        var turn = ChappieResponseRequest("hi")
        turn.fields = [(name: "X-Org", value: "1")]
        turn.fields.append((name: "X-Team", value: "2"))
        turn.timeouts = ChappieTimeouts()
        turn.timeouts?.total = .seconds(90)
        let request = ChappieTransportRequest(body: Self.body, of: turn)
        #expect(request.body == Self.body)
        #expect(request.fields.map(\.name) == ["X-Org", "X-Team"])
        #expect(request.fields.map(\.value) == ["1", "2"])
        #expect(request.timeouts == turn.timeouts)
    }

    @Test func requestOfATurnWithoutSettingsHasThoseOfTheConfiguration() {
        let request = ChappieTransportRequest(body: Self.body, of: ChappieResponseRequest("hi"))
        #expect(request.fields.isEmpty)
        #expect(request.timeouts == nil)
    }

    @Test func turnsWithOtherSettingsAreNotEqual() {
        let turn = ChappieResponseRequest("hi")
        var other = turn
        other.fields = [(name: "X-Org", value: "1")]
        #expect(other != turn)
        #expect(other.fields.map(\.value) == ["1"])
        other.fields = []
        #expect(other == turn)
        other.timeouts = ChappieTimeouts()
        #expect(other != turn)
    }
}
