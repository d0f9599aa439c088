// Lanes: each has its own connection and its own memory, and may be forked.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct LaneTests {
    private static func request(
        _ items: [String], lane: String?, forkedFrom: String? = nil
    ) -> ChappieTransportRequest {
        conversation(items) {
            $0.lane = lane
            $0.forkedFrom = forkedFrom
        }
    }

    private static func answer(_ id: String) -> [String] {
        [Event.created(id), Event.done(WireItem.sentMessage(id)), Event.completed(id)]
    }

    @Test func eachLaneKeepsAConnectionOfItsOwn() async {
        let fixture = TurnFixture([.socket(Self.answer("a1")), .socket(Self.answer("b1")), .socket(Self.answer("n1"))])
        for lane in ["a", "b", nil] { _ = await fixture.run(Self.request([WireItem.question], lane: lane)) }
        for (index, lane) in ["a", "b", nil].enumerated() {
            fixture.transport.connections[index].append(.again(Event.created("x"), Event.completed("x")))
            let before = ["a1", "b1", "n1"][index]
            let items = [WireItem.question, WireItem.message(before), WireItem.user("more")]
            #expect(await fixture.run(Self.request(items, lane: lane)).error == nil)
            #expect(SentMessage(fixture.messages[index].last)?.previousResponseID == before)
        }
        #expect(fixture.transport.requests.count == 3)
    }

    @Test(arguments: [false, true])
    func aLaneIsNamedWhereTheEndpointHasLanes(usesLanes: Bool) async {
        let fixture = TurnFixture([.socket(Self.answer("a1")), .socket(Self.answer("n1"))]) {
            $0.usesLanes = usesLanes
        }
        _ = await fixture.run(Self.request([WireItem.question], lane: "a"))
        _ = await fixture.run(Self.request([WireItem.question], lane: nil))
        #expect(SentMessage(fixture.messages[0].first)?.streamID == (usesLanes ? "a" : nil))
        #expect(SentMessage(fixture.messages[1].first)?.streamID == nil)
    }

    @Test func aLaneThatTheBodyNamesIsALaneToo() async {
        let fixture = TurnFixture([.socket(Self.answer("a1")), .socket(Self.answer("b1"))]) { $0.usesLanes = true }
        for lane in ["a", "b"] {
            _ = await fixture.run(conversation([WireItem.question], #""model":"m","stream_id":"\#(lane)""#))
        }
        #expect(fixture.messages.map { SentMessage($0.first)?.streamID } == ["a", "b"])
    }

    @Test func eventsOfOtherLanesAreIgnored() async {
        func on(_ lane: String, _ event: String) -> String { event.dropLast() + #","stream_id":"\#(lane)"}"# }
        let events = [
            on("a", Event.created("a1")), on("b", Event.text("no")), on("a", Event.text("yes")),
            on("b", Event.completed("b1")), on("a", Event.done(WireItem.sentMessage("yes"))),
            on("a", Event.completed("a1")),
        ]
        let fixture = TurnFixture([.socket(events)]) { $0.usesLanes = true }
        let (outcome, response) = await fixture.complete(Self.request([WireItem.question], lane: "a"))
        #expect(outcome.text == "yes")
        #expect(response?.itemTexts == [WireItem.message("yes")])
    }

    @Test func laneIsIgnoredOverHTTP() async {
        let fixture = TurnFixture([.http(Self.answer("a1"))]) {
            $0.usesLanes = true
            $0.policy = .httpSSEOnly
        }
        #expect(await fixture.run(Self.request([WireItem.question], lane: "a")).error == nil)
        #expect(fixture.transport.requests[0].body?.contains("stream_id") == false)
    }

    @Test(arguments: [
        "", " ", "a b", "a/b", "ä", "a\u{0}", "a\n", "\"", "😀", String(repeating: "a", count: 257),
    ])
    func invalidLaneNameSendsNoRequest(lane: String) async {
        for usesLanes in [false, true] {
            let fixture = TurnFixture([.socket(Self.answer("a1"))]) {
                $0.usesLanes = usesLanes
                $0.credential = { _ in
                    Issue.record("asked")
                    return nil
                }
            }
            let outcome = await fixture.run(Self.request([WireItem.question], lane: lane))
            #expect(outcome.clientError?.tag == "request.invalid")
            #expect(outcome.clientError?.replaySafety == .notSent)
            #expect(fixture.transport.requests.isEmpty)
        }
    }

    @Test(arguments: ["a", "Z", "0", "_.-", String(repeating: "a", count: 256)])
    func aValidNameIsTaken(lane: String) async {
        let fixture = TurnFixture([.socket(Self.answer("a1"))]) { $0.usesLanes = true }
        #expect(await fixture.run(Self.request([WireItem.question], lane: lane)).error == nil)
        #expect(SentMessage(fixture.messages[0].first)?.streamID == lane)
    }

    @Test func theOldestConnectionMakesRoom() async {
        let count = KeptConnections.maximumCount
        let fixture = TurnFixture((0...count).map { .socket(Self.answer("r\($0)")) })
        for lane in 0...count {
            _ = await fixture.run(Self.request([WireItem.question], lane: "\(lane)"))
            fixture.clock.advance(by: .seconds(1))
        }
        let closed = (0...count).filter { fixture.calls($0).contains(.close) }
        #expect(closed == [0])
    }

    // MARK: Forks

    private static let more = [WireItem.question, WireItem.message("a1"), WireItem.user("fork")]

    private static func forked(
        isShared: Bool, lane: String = "b", from source: String? = "a",
        script: [ScriptStep] = .socket(Self.answer("b1"))
    ) async -> TurnFixture {
        let fixture = TurnFixture([.socket(Self.answer("a1")), script, .socket(Self.answer("c1"))]) {
            $0.usesLanes = true
        }
        if isShared { fixture.transport.sharesSocket() }
        _ = await fixture.run(Self.request([WireItem.question], lane: "a"))
        let outcome = await fixture.run(Self.request(Self.more, lane: lane, forkedFrom: source))
        #expect(outcome.error == nil)
        return fixture
    }

    @Test func aForkContinuesTheOtherLaneOnTheSameSocket() async {
        let fixture = await Self.forked(isShared: true)
        let message = SentMessage(fixture.messages[1].first)
        #expect(message?.streamID == "b")
        #expect(message?.previousResponseID == "a1")
        #expect(message?.inputCount == 1)
        // The original lane is unchanged.
        fixture.transport.connections[0].append(.again(Event.created("a2"), Event.completed("a2")))
        _ = await fixture.run(Self.request(Self.more, lane: "a"))
        #expect(SentMessage(fixture.messages[0].last)?.previousResponseID == "a1")
        // From now on the fork has its own memory.
        fixture.transport.connections[1].append(.again(Event.created("b2"), Event.completed("b2")))
        let items = Self.more + [WireItem.message("b1"), WireItem.user("on")]
        _ = await fixture.run(Self.request(items, lane: "b", forkedFrom: "a"))
        #expect(SentMessage(fixture.messages[1].last)?.previousResponseID == "b1")
    }

    @Test func forkOnAnotherSocketSendsTheWholeInput() async {
        let fixture = await Self.forked(isShared: false)
        let message = SentMessage(fixture.messages[1].first)
        #expect(message?.previousResponseID == nil)
        #expect(message?.inputCount == 3)
    }

    @Test(arguments: ["zzz", nil])
    func forkWithoutASourceResponseIsSentWhole(source: String?) async {
        let fixture = await Self.forked(isShared: true, from: source)
        #expect(SentMessage(fixture.messages[1].first)?.previousResponseID == nil)
    }

    @Test func aForkThatTheServerRefusesIsSentWhole() async {
        let forgotten = #"{"type":"error","status":400,"error":{"code":"previous_response_not_found"},"stream_id":"b"}"#
        let fixture = await Self.forked(isShared: true, script: .socket([forgotten]))
        #expect(SentMessage(fixture.messages[1].first)?.previousResponseID == "a1")
        #expect(SentMessage(fixture.messages[2].first)?.previousResponseID == nil)
        #expect(SentMessage(fixture.messages[2].first)?.inputCount == 3)
    }

    @Test func aForkAfterAFailureIsSentWhole() async {
        let fixture = await Self.forked(
            isShared: true, script: .socket([Event.created("b1")], isBroken: true))
        #expect(SentMessage(fixture.messages[1].first)?.previousResponseID == "a1")
        #expect(SentMessage(fixture.messages[2].first)?.previousResponseID == nil)
    }
}
