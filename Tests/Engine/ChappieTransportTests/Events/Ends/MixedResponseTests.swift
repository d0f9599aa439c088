// Events of another response, such as a gateway mixes with those of the response that is read.

import StreamTransport
import Testing

@testable import ChappieTransport

/// The events of the responses; those of the other one are named `other`.
private enum Mixed {
    static func item(_ item: String, _ type: String, at index: Int) -> String {
        #"{"type":"response.output_item.\#(type)","output_index":\#(index),"item":\#(item)}"#
    }

    static func message(_ text: String?, id: String) -> String {
        let content = text.map { #"{"type":"output_text","text":"\#($0)"}"# } ?? ""
        return #"{"type":"message","id":"\#(id)","role":"assistant","content":[\#(content)]}"#
    }

    static func reasoning(_ text: String?, id: String = "rs") -> String {
        let summary = text.map { #"{"type":"summary_text","text":"\#($0)"}"# } ?? ""
        return #"{"type":"reasoning","id":"\#(id)","summary":[\#(summary)]}"#
    }

    static let thought =
        #"{"type":"response.reasoning_summary_text.delta","item_id":"rs","output_index":0,"summary_index":0,"#
        + #""delta":"think"}"#
    static let refused =
        #"{"type":"response.refusal.delta","item_id":"m","output_index":0,"content_index":0,"delta":"no"}"#

    static func partDone(_ text: String, id: String, at index: Int) -> String {
        #"{"type":"response.content_part.done","item_id":"\#(id)","output_index":\#(index),"content_index":0,"part":"#
            + #"{"type":"output_text","text":"\#(text)"}}"#
    }

    static func delta(_ text: String, id: String, at index: Int) -> String {
        #"{"type":"response.output_text.delta","item_id":"\#(id)","output_index":\#(index),"content_index":0,"#
            + #""delta":"\#(text)"}"#
    }

    static func completed(_ id: String, _ items: String...) -> String {
        #"{"type":"response.completed","response":{"id":"\#(id)","output":[\#(items.joined(separator: ","))]}}"#
    }
}

@Suite struct MixedResponseTests {
    private static func run(_ events: [String], retries: Int = 0) async -> TurnOutcome {
        let answer: [ScriptStep] =
            [.opened(200, fields: ["content-type": "text/event-stream"])]
            + ([Event.created] + events).map { .body(Event.sse($0)) } + [.ended(.complete)]
        let fixture = TurnFixture(Array(repeating: answer, count: retries + 1)) {
            $0.policy = .httpSSEOnly
            $0.maxHTTPRetries = retries
            $0.rawEvents = .none
        }
        return await fixture.run()
    }

    private static let announced = Mixed.item(Mixed.reasoning(nil), "added", at: 0)
    private static let reasoned = Mixed.item(Mixed.reasoning("think"), "done", at: 0)
    /// The end of the other response, from the end of its message on.
    private static let tail = [
        Mixed.partDone("other", id: "other", at: 1), Mixed.item(Mixed.message("other", id: "other"), "done", at: 1),
        Mixed.completed("x", Mixed.message("first", id: "before"), Mixed.message("other", id: "other")),
    ]

    private static func expectMixed(_ outcome: TurnOutcome, _ detail: String = "other-response at output 0, part 0") {
        #expect(outcome.transportFailure?.code == .contradictoryEvents)
        #expect(outcome.transportFailure?.details.detail == detail)
        #expect(Set(outcome.outcomes) == ["event.contradictory"])
        #expect(!outcome.events.contains(.completed))
    }

    /// Another attempt is whole, or diverges from what was delivered.
    @Test(arguments: [true, false])
    func anEndOfAnotherResponseBehindItsOutputInAnOpenItemIsAContradiction(isNumbered: Bool) async {
        let rest = [Self.reasoned, Mixed.completed("r", Mixed.reasoning("think"))]
        for skipped in 0..<2 {
            let events = [Self.announced, Mixed.thought] + Self.tail.dropFirst(skipped) + rest
            let outcome = await Self.run(isNumbered ? Event.numbered(events) : events, retries: 2)
            Self.expectMixed(outcome)
            #expect(outcome.events == [.reasoningDelta("think"), .textDelta("other")])
        }
    }

    /// The item of the other response has the index of one of this response.
    @Test func aTextUnderAnotherNameBeforeAnotherEndIsAContradiction() async {
        let outcome = await Self.run([
            Mixed.item(Mixed.message(nil, id: "m"), "added", at: 0), Mixed.refused,
            Mixed.partDone("other", id: "other", at: 0), Mixed.item(Mixed.message("other", id: "other"), "done", at: 0),
            Mixed.item(Mixed.message(nil, id: "n"), "added", at: 1),
            Mixed.completed("x", Mixed.message("other", id: "other")),
            Mixed.item(Mixed.message(nil, id: "m"), "done", at: 0),
            Mixed.item(Mixed.message(nil, id: "n"), "done", at: 1), Event.completed,
        ])
        Self.expectMixed(outcome)
    }

    @Test func anEndOfAnotherResponseBehindItsClosingEventsAloneIsAContradiction() async {
        let outcome = await Self.run([Self.announced, Mixed.thought, Self.reasoned] + Self.tail)
        Self.expectMixed(outcome)
    }

    /// The end of the other response was lost, and this response's own lists other items.
    @Test func aTextOfClosingEventsAloneThatTheEndOmitsIsAContradiction() async {
        let begun = [Self.announced, Mixed.thought] + Self.tail.prefix(2) + [Self.reasoned]
        let outcome = await Self.run(begun + [Mixed.completed("r", Mixed.reasoning("think"))])
        Self.expectMixed(outcome, "closing-differs at output 1, part 0")
        let message = [
            Mixed.item(Mixed.message(nil, id: "m"), "added", at: 0), Mixed.delta("own", id: "m", at: 0),
            Mixed.item(Mixed.message("own", id: "m"), "done", at: 0),
        ]
        let text = await Self.run(
            message + Self.tail.prefix(2) + [Mixed.completed("r", Mixed.message("own", id: "m"))])
        Self.expectMixed(text, "closing-differs at output 0, part 0")
        #expect(text.text == "ownother")
    }

    // MARK: Servers that name or announce in their own way

    /// Announcements are missing, or identifiers change, and the end is this response's.
    @Test(arguments: [
        // The end lists the item that was not announced.
        [
            announced, Mixed.thought, reasoned, tail[0], tail[1],
            Mixed.completed("r", Mixed.reasoning("think"), Mixed.message("other", id: "other")),
        ],
        [
            announced, Mixed.thought, reasoned, tail[0], tail[1],
            Mixed.completed("x", Mixed.reasoning("think"), Mixed.message("other", id: "other")),
        ],
        [announced, Mixed.thought, reasoned, tail[0], tail[1], Mixed.completed("r")],
        // Each event has identifiers of its own, as has the end.
        [
            announced, Mixed.item(Mixed.reasoning("think", id: "r2"), "done", at: 0),
            Mixed.item(Mixed.message(nil, id: "m1"), "added", at: 1), Mixed.delta("oth", id: "m2", at: 1),
            Mixed.partDone("other", id: "m3", at: 1), Mixed.item(Mixed.message("other", id: "m4"), "done", at: 1),
            Mixed.completed("x", Mixed.reasoning("think", id: "r5"), Mixed.message("other", id: "m5")),
        ],
        // The item is announced without an identifier.
        [
            Mixed.item(Mixed.message(nil, id: ""), "added", at: 0), Mixed.delta("ot", id: "m1", at: 0),
            Mixed.delta("her", id: "m2", at: 0), Mixed.item(Mixed.message("other", id: "m3"), "done", at: 0),
            Mixed.completed("x", Mixed.message("other", id: "m4")),
        ],
        // Nothing is announced.
        [
            Mixed.item(Mixed.reasoning("think"), "done", at: 0), tail[0], tail[1],
            Mixed.completed("x", Mixed.reasoning("think"), Mixed.message("other", id: "other")),
        ],
        // The identifier of the response has changed before.
        [
            #"{"type":"response.in_progress","response":{"id":"y"}}"#, announced, Mixed.thought, reasoned, tail[0],
            tail[1], Mixed.completed("x", Mixed.reasoning("think", id: "z"), Mixed.message("other", id: "other")),
        ],
        // Only the text is announced, and the end omits the reasoning.
        [
            Mixed.item(Mixed.message(nil, id: "m"), "added", at: 0), Mixed.delta("other", id: "m", at: 0),
            Mixed.item(Mixed.message("other", id: "m"), "done", at: 0),
            Mixed.item(Mixed.reasoning("think"), "done", at: 1), Mixed.completed("r", Mixed.message("other", id: "m")),
        ],
    ])
    func aResponseThatIsNamedInItsOwnWayIsWhole(_ events: [String]) async {
        for isNumbered in [true, false] {
            let outcome = await Self.run(isNumbered ? Event.numbered(events) : events)
            #expect(outcome.error == nil)
            #expect(outcome.text == "other")
            #expect(outcome.events.last == .completed)
        }
    }

    @Test func anEndOfAnotherResponseAloneIsAContradiction() async {
        let outcome = await Self.run([
            Self.announced, Mixed.thought, Self.tail[2], Self.reasoned, Mixed.completed("r", Mixed.reasoning("think")),
        ])
        Self.expectMixed(outcome, "other-response at output 0, part 0")
        #expect(outcome.events == [.reasoningDelta("think")])
    }
}
