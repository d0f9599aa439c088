// Unusual numbers and types of events: they do not prevent the reading of a response.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct SequenceNewsTests {
    /// Returns a delta whose number is any JSON; without a number when it is nil.
    private static func text(_ text: String, _ number: String?, at index: Int = 0) -> String {
        let member = number.map { #""sequence_number":\#($0),"# } ?? ""
        return #"{"type":"response.output_text.delta",\#(member)"output_index":\#(index),"content_index":0,"#
            + #""delta":"\#(text)"}"#
    }

    private static func numbered(_ events: [(String, String?)]) -> [ScriptStep] {
        [.opened(101), .request] + events.map { .text(Self.text($0.0, $0.1)) }
    }

    private static func fixture(_ scripts: [[ScriptStep]]) -> TurnFixture {
        TurnFixture(scripts) { $0.reportsDiagnostics = true }
    }

    private static func gaps(_ outcome: TurnOutcome) -> Int { outcome.diagnostics.count { $0.kind == .sequenceGap } }

    @Test(arguments: [
        ["0", "1", "2", "3", "4"], ["0", "0", "0", "0", "0"], [nil, nil, nil, nil, nil], ["7", "7", "7", "8", "8"],
        ["1.5", "2.5", "3.5", "4.5", "5.5"], ["\"0\"", "\"1\"", "null", "true", "[]"], ["-1", "-2", "-3", "-4", "-5"],
        ["0", "10", "20", "5", "15"], ["0", "1", "100", "2", "101"],
        ["4", "3", "2", "1", "0"], ["0", "1", "0", "1", "2"],
        ["0", "100000", "3", "9223372036854775807", "1"],
        ["9223372036854775807", "9223372036854775806", "0", "1", "2"],
        ["99999999999999999999", "1", "1e2", "0", "{}"],
    ])
    func everythingThatWasSentIsDelivered(_ numbers: [String?]) async {
        let texts = ["a", "b", "c", "d", "e"]
        let fixture = Self.fixture([Self.numbered(Array(zip(texts, numbers))) + [.text(Event.completed)]])
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(outcome.text == "abcde")
        #expect(outcome.report.attempts.count == 1)
    }

    @Test(arguments: [["0", "0", "0", "0"], [nil, nil, nil, nil], ["0", "1", "2", "3"], ["-1", "-1", "-1", "-1"]])
    func equalDeltasAreNotRepetitions(_ numbers: [String?]) async {
        let fixture = Self.fixture([
            Self.numbered(Array(zip(["a", "a", "a", "a"], numbers))) + [.text(Event.completed)]
        ])
        #expect(await fixture.run().text == "aaaa")
    }

    @Test func theSameEventWithTheSameNumberIsReadOnce() async {
        let fixture = Self.fixture([
            Self.numbered([("a", "0"), ("b", "1"), ("b", "1"), ("a", "0"), ("c", "2")]) + [.text(Event.completed)]
        ])
        let outcome = await fixture.run()
        #expect(outcome.text == "abc")
        #expect(Self.gaps(outcome) == 0)
    }

    /// Some servers number the events of each item from 0.
    @Test func numberingPerItemLosesNoEvents() async {
        let item: @Sendable (Int) -> [String] = { index in
            [
                #"{"type":"response.output_item.added","sequence_number":0,"output_index":\#(index),"item":{"type":"message"}}"#,
                Self.text("The ", "1", at: index), Self.text("end. ", "2", at: index),
            ]
        }
        let events = (item(0) + item(1) + [Event.completed]).map { ScriptStep.text($0) }
        let fixture = Self.fixture([[.opened(101), .request] + events])
        let outcome = await fixture.run()
        #expect(outcome.text == "The end. The end. ")
        #expect(outcome.rawTypes.filter { $0 == "response.output_item.added" }.count == 2)
    }

    /// The same text in two places is two events, with any numbers.
    @Test func theSameNumberInAnotherPlaceIsAnotherEvent() async {
        let fixture = Self.fixture([
            [.opened(101), .request]
                + [("a", "0", 0), ("b", "1", 0), ("b", "1", 1), ("c", "2", 1)].map {
                    .text(Self.text($0.0, $0.1, at: $0.2))
                } + [.text(Event.completed)]
        ])
        #expect(await fixture.run().text == "abbc")
    }

    // MARK: Gaps

    @Test func sequenceGapIsReportedOnceInAnAttempt() async {
        let gappy: [(String, String?)] = [("a", "0"), ("b", "2"), ("c", "5")]
        let fixture = Self.fixture([
            Self.numbered(gappy) + [.ended(.closed(code: 1006, reason: ""))],
            Self.numbered(gappy + [("d", "9")]) + [.text(Event.completed)],
        ])
        let outcome = await fixture.run()
        #expect(outcome.text == "abcd")
        #expect(outcome.error == nil)
        #expect(Self.gaps(outcome) == 2)
        #expect(
            outcome.diagnostics.map(\.kind) == [
                .connected, .sequenceGap, .reconnecting, .connected, .sequenceGap, .replayVerified,
            ])
        #expect(outcome.diagnostics.filter { $0.kind == .sequenceGap }.map(\.transport) == [.webSocket, .webSocket])
    }

    @Test func aSignOfLifeMayUseANumberUp() async {
        let fixture = Self.fixture([
            [
                .opened(101), .request, .text(Self.text("a", "0")), .text(Event.keepalive), .text(Self.text("b", "2")),
                .text(Event.completed),
            ]
        ])
        let outcome = await fixture.run()
        #expect(outcome.text == "ab")
        #expect(Self.gaps(outcome) == 0)
    }

    @Test func aFirstNumberOtherThanZeroIsNoGap() async {
        let fixture = Self.fixture([Self.numbered([("a", "12"), ("b", "13")]) + [.text(Event.completed)]])
        #expect(Self.gaps(await fixture.run()) == 0)
    }

    @Test func disabledRawEventsSuppressSequenceNews() async {
        let fixture = TurnFixture([
            Self.numbered([("a", "0"), ("b", "9")]) + [.text(#"{"type":"x.y"}"#), .text(Event.completed)]
        ]) { $0.rawEvents = .none }
        #expect(await fixture.run().events == [.textDelta("a"), .textDelta("b"), .completed])
    }

    // MARK: Unknown types

    @Test func unknownEventTypeIsReportedOnce() async {
        let x = #"{"type":"response.x"}"#
        let y = #"{"type":"response.y"}"#
        let fixture = Self.fixture([.broken(x, x, y), .webSocket(y, x, x, x, Event.completed)])
        let outcome = await fixture.run()
        let news = outcome.diagnostics.filter { $0.kind == .unknownEvent }
        #expect(news.map(\.reason) == ["response.x", "response.y"])
        #expect(news.map(\.transport) == [.webSocket, .webSocket])
        // Events of an unknown type are passed on; a replay's are not repeated.
        #expect(outcome.rawTypes.filter { $0 == "response.x" }.count == 3)
    }

    @Test func aLongTypeIsCut() async {
        let type = String(repeating: "x", count: 100)
        let fixture = Self.fixture([.webSocket(#"{"type":"\#(type)"}"#, Event.completed)])
        let news = await fixture.run().diagnostics.filter { $0.kind == .unknownEvent }
        #expect(news.map { $0.reason?.utf8.count } == [64])
    }

    @Test func unknownTypesAreReportedUpToALimit() async {
        let events = (0..<100).map { ScriptStep.text(#"{"type":"x.\#($0)"}"#) }
        let fixture = Self.fixture([[.opened(101), .request] + events + [.text(Event.completed)]])
        let outcome = await fixture.run()
        #expect(outcome.diagnostics.count { $0.kind == .unknownEvent } == 64)
        #expect(outcome.rawTypes.count == 100)
    }

    @Test(arguments: [Event.created, Event.keepalive, Event.limits(primary: 1), #"{"type":"response.in_progress"}"#])
    func knownTypeIsNotReported(_ event: String) async {
        let outcome = await Self.fixture([.webSocket(event, Event.completed)]).run()
        #expect(outcome.diagnostics.map(\.kind) == [.connected])
    }
}
