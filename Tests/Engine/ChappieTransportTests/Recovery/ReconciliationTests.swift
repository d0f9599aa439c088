// A response states its content twice: in deltas, and in the events that close a part, an item and the response.

import ResponseEvents
import StreamTransport
import Testing

@testable import ChappieTransport

/// The events of a response with one message, and the texts of its closing events.
private enum Closing {
    static let added = added(id: "m")

    static func added(id: String, at index: Int = 0, agent: String? = nil) -> String {
        #"{"type":"response.output_item.added","output_index":\#(index),"item":\#(message(nil, id: id, agent: agent))}"#
    }

    static func message(_ text: String?, id: String = "m", agent: String? = nil) -> String {
        let content = text.map { #"{"type":"output_text","text":"\#($0)"}"# } ?? ""
        let member = agent.map { #","agent":{"agent_name":"\#($0)"}"# } ?? ""
        return #"{"type":"message","id":"\#(id)","role":"assistant","content":[\#(content)]\#(member)}"#
    }

    static func delta(_ text: String, id: String? = "m", at index: Int = 0) -> String {
        let name = id.map { #","item_id":"\#($0)""# } ?? ""
        return
            #"{"type":"response.output_text.delta","output_index":\#(index),"content_index":0\#(name),"delta":"\#(text)"}"#
    }

    static func textDone(_ text: String, id: String? = nil, at index: Int = 0, part: Int = 0) -> String {
        let name = id.map { #","item_id":"\#($0)""# } ?? ""
        return
            #"{"type":"response.output_text.done","output_index":\#(index),"content_index":\#(part)\#(name),"text":"\#(text)"}"#
    }

    static func partDone(_ text: String) -> String {
        #"{"type":"response.content_part.done","output_index":0,"content_index":0,"part":"#
            + #"{"type":"output_text","text":"\#(text)"}}"#
    }

    static func itemDone(_ text: String?, id: String = "m", at index: Int = 0, agent: String? = nil) -> String {
        #"{"type":"response.output_item.done","output_index":\#(index),"item":"#
            + "\(message(text, id: id, agent: agent))}"
    }

    static func completed(_ items: String...) -> String {
        #"{"type":"response.completed","response":{"id":"r","output":[\#(items.joined(separator: ","))]}}"#
    }

    static func call(_ id: String) -> String {
        #"{"type":"function_call","call_id":"\#(id)","name":"f","arguments":"{}"}"#
    }

    static let reasoning = #"{"type":"reasoning","summary":[],"encrypted_content":"x"}"#
}

@Suite struct ReconciliationTests {
    private static func run(
        _ events: [String], _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async -> TurnOutcome {
        let fixture = TurnFixture([[.opened(101), .request] + ([Event.created] + events).map { .text($0) }]) {
            $0.rawEvents = .none
            configure(&$0)
        }
        return await fixture.run()
    }

    private static func expectContradiction(_ outcome: TurnOutcome, _ text: String, _ detail: String) {
        #expect(outcome.text == text)
        #expect(outcome.transportFailure?.code == .contradictoryEvents)
        #expect(outcome.transportFailure?.details.detail == detail)
        #expect(outcome.outcomes == ["event.contradictory"])
    }

    // MARK: Missing output

    @Test(arguments: [
        Closing.textDone("Hello world"), Closing.partDone("Hello world"), Closing.itemDone("Hello world"),
        Closing.completed(Closing.message("Hello world")),
        Closing.completed(Closing.reasoning, Closing.message("Hello world", id: "n")),
    ])
    func closingEventDeliversTextMissingFromTheDeltas(_ closing: String) async {
        for deltas in [[], ["Hello "], ["Hello ", "world"]] {
            let outcome = await Self.run(
                [Closing.added] + deltas.map { Closing.delta($0) } + [closing, Event.completed])
            #expect(outcome.error == nil)
            #expect(outcome.text == "Hello world")
            #expect(outcome.events.last == .completed)
        }
    }

    @Test func eachClosingEventOfAResponseAddsNothingTwice() async {
        let outcome = await Self.run([
            Closing.added, Closing.delta("Hel"), Closing.textDone("Hello"), Closing.partDone("Hello"),
            Closing.itemDone("Hello"), Closing.completed(Closing.message("Hello")),
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
    }

    @Test func refusalsAndReasoningAreCompletedAsWell() async {
        let outcome = await Self.run([
            #"{"type":"response.reasoning_summary_text.done","output_index":0,"summary_index":0,"text":"think"}"#,
            #"{"type":"response.refusal.delta","output_index":1,"content_index":0,"delta":"n"}"#,
            #"{"type":"response.refusal.done","output_index":1,"content_index":0,"refusal":"no"}"#, Event.completed,
        ])
        #expect(outcome.events == [.reasoningDelta("think"), .refusalDelta("n"), .refusalDelta("o"), .completed])
    }

    @Test func responseWithoutClosingEventsIsTolerated() async {
        let outcome = await Self.run([
            Closing.added, Closing.delta("Hello"), Closing.itemDone(nil), Closing.completed(),
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
    }

    // MARK: The slot of a closing text

    private static let end = Closing.completed(Closing.message("Hello"))

    /// An identifier has precedence over an index, and output of one index is closed under another.
    @Test(arguments: [
        [
            Closing.added(id: "m", at: 1), Closing.delta("Hel"), Closing.delta("lo"), Closing.itemDone("Hello", at: 1),
            end,
        ],
        [
            Closing.added, Closing.delta("Hello"), Closing.textDone("Hello", id: "m", at: 1), Closing.itemDone("Hello"),
            end,
        ],
        [Closing.added, Closing.delta("Hello"), Closing.itemDone("Hello", at: 1), Closing.completed()],
        [Closing.added, Closing.delta("Hello"), Closing.itemDone("Hello"), Closing.itemDone("Hello", at: 1), end],
        [Closing.added, Closing.delta("Hello"), Closing.textDone("Hello", id: "m", part: 1), Closing.completed()],
        [Closing.added, Closing.delta("Hello"), Closing.textDone("Hello", part: 1), Closing.itemDone("Hello"), end],
        [Closing.delta("Hello", id: nil), Closing.textDone("Hello", at: 1), Closing.completed()],
        [
            Closing.added, Closing.delta("Hello"), Closing.textDone("Hello", id: "m", part: 1),
            Closing.textDone("Hello", id: "m", part: 1), Closing.itemDone("Hello"), end,
        ],
        [
            #"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs"}}"#,
            #"{"type":"response.reasoning_text.delta","output_index":0,"item_id":"rs","delta":"think"}"#,
            Closing.added(id: "m", at: 1), Closing.delta("Hel"), Closing.delta("lo"),
            Closing.textDone("Hello", id: "m"), Closing.itemDone("Hello", at: 1),
            Closing.completed(Closing.reasoning, Closing.message("Hello")),
        ],
        [
            #"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs"}}"#,
            #"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs"}}"#,
            Closing.added(id: "m", at: 1),
            #"{"type":"response.output_text.delta","item_id":"m","content_index":0,"delta":"Hello"}"#,
            Closing.itemDone("Hello", at: 1), Closing.completed(Closing.reasoning, Closing.message("Hello")),
        ],
    ])
    func aTextThatIsClosedUnderAnotherIndexComesOnce(_ events: [String]) async {
        for reportsDiagnostics in [true, false] {
            let outcome = await Self.run(events) { $0.reportsDiagnostics = reportsDiagnostics }
            #expect(outcome.error == nil)
            #expect(outcome.text == "Hello")
        }
    }

    @Test(arguments: [
        [Closing.added, Closing.delta("Hello"), Closing.itemDone("Hello")], [Closing.added, Closing.delta("Hel")], [],
    ])
    func itemListedTwiceAtTheEndIsDeliveredOnce(_ events: [String]) async {
        let (item, next) = (Closing.message("Hello"), Closing.message(" world", id: "n"))
        for list in [[item, item], [item, Closing.reasoning, item], [item, item, next], [item, next, item]] {
            let end = #"{"type":"response.completed","response":{"id":"r","output":[\#(list.joined(separator: ","))]}}"#
            let outcome = await Self.run(events + [end])
            #expect(outcome.error == nil)
            #expect(outcome.text == (list.contains(next) ? "Hello world" : "Hello"))
        }
    }

    /// An item of the request, or of another agent, is no output, whatever its identifier.
    @Test(arguments: [#""role":"user""#, #""role":"assistant","agent":{"agent_name":"/root/a"}"#])
    func itemListedBehindOneThatIsNoOutputIsDelivered(members: String) async {
        let aside = #"{"type":"message","id":"m",\#(members),"content":[{"type":"output_text","text":"Hello"}]}"#
        for events in [[], [Closing.added, Closing.delta("Hel")]] {
            let outcome = await Self.run(events + [Closing.completed(aside, Closing.message("Hello"))])
            #expect(outcome.error == nil)
            #expect(outcome.text == "Hello")
        }
    }

    @Test func itemsBesideOneThatIsListedTwiceAreCompared() async {
        let outcome = await Self.run([
            Closing.added, Closing.delta("Hello"), Closing.itemDone("Hello"), Closing.added(id: "n", at: 1),
            Closing.delta(" world", id: "n", at: 1), Closing.itemDone(" world", id: "n", at: 1),
            Closing.completed(
                Closing.message("Hello"), Closing.message("Hello"), Closing.message(" world", id: "n")),
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello world")
    }

    /// They are two items with the same text.
    @Test(arguments: [
        [
            Closing.added, Closing.delta("Hello"), Closing.textDone("Hello"), Closing.itemDone("Hello"),
            Closing.itemDone("Hello", id: "n", at: 1),
            Closing.completed(Closing.message("Hello"), Closing.message("Hello", id: "n")),
        ],
        [
            Closing.added, Closing.delta("Hello"), Closing.itemDone("Hello"), Closing.added(id: "m", at: 1),
            Closing.delta("Hello", at: 1), Closing.itemDone("Hello", at: 1),
            Closing.completed(Closing.message("Hello"), Closing.message("Hello")),
        ],
        [
            Closing.added, Closing.delta("Hello"),
            #"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":["#
                + #"{"type":"output_text","text":"Hello"},{"type":"output_text","text":"Hello"}]}}"#,
            Closing.completed(),
        ],
    ])
    func equalTextsOfTwoPlacesComeBoth(_ events: [String]) async {
        let outcome = await Self.run(events)
        #expect(outcome.error == nil)
        #expect(outcome.text == "HelloHello")
    }

    /// An item that is announced at two indices, and listed once, was sent twice.
    @Test func anItemThatCameTwiceIsAContradictionWhereTheEndListsItOnce() async {
        let outcome = await Self.run([
            Closing.added, Closing.delta("Hello"), Closing.itemDone("Hello"), Closing.added(id: "m", at: 1),
            Closing.delta("Hello", at: 1), Closing.itemDone("Hello", at: 1), Self.end,
        ])
        Self.expectContradiction(outcome, "HelloHello", "closing-differs at output 0, part 0")
    }

    // MARK: Deltas behind the closing text

    private static func refusal(_ text: String, isDelta: Bool) -> String {
        let (type, name) = isDelta ? ("delta", "delta") : ("done", "refusal")
        return
            #"{"type":"response.refusal.\#(type)","output_index":0,"content_index":0,"item_id":"m","\#(name)":"\#(text)"}"#
    }

    /// White space at the end of a text would pass for one that the closing events have trimmed.
    @Test(arguments: [" ", "\\n", "\u{2028}", "\u{3000}", "b", "b "], [true, false])
    func lastDeltaBehindTheClosingTextComesOnce(_ last: String, isNumbered: Bool) async {
        let text = "a" + (last == "\\n" ? "\n" : last)
        let end = [Closing.partDone("a\(last)"), Closing.itemDone("a\(last)")]
        let events = [
            Closing.added, Closing.delta("a"), Closing.textDone("a\(last)", id: "m"), Closing.delta(last),
        ]
        var numbered = Event.numbered(events)
        // The number is the one that the delta had before it was overtaken.
        numbered[2] = numbered[2].replacing(#""sequence_number":3"#, with: #""sequence_number":4"#)
        numbered[3] = numbered[3].replacing(#""sequence_number":4"#, with: #""sequence_number":3"#)
        for reportsDiagnostics in [true, false] {
            let outcome = await Self.run(
                (isNumbered ? numbered : events) + end + [Closing.completed(Closing.message("a\(last)"))]
            ) { $0.reportsDiagnostics = reportsDiagnostics }
            #expect(outcome.error == nil)
            #expect(outcome.text == text)
            #expect(outcome.diagnostics.allSatisfy { $0.kind != .contentRewritten })
        }
    }

    @Test func lastDeltasOfARefusalBehindItsClosingTextComeOnce() async {
        let outcome = await Self.run([
            Closing.added, Self.refusal("n", isDelta: true), Self.refusal("no. ", isDelta: false),
            Self.refusal("o.", isDelta: true), Self.refusal(" ", isDelta: true), Closing.itemDone(nil), Event.completed,
        ])
        #expect(outcome.events == [.refusalDelta("n"), .refusalDelta("o. "), .completed])
    }

    /// It is another part's, or another item's with the same index.
    @Test func deltasOfAnotherSlotBehindAClosingTextAreOutput() async {
        let outcome = await Self.run([
            Closing.added, Closing.delta("a"), Closing.textDone("ab", id: "m"),
            Closing.delta("b").replacing(#""content_index":0"#, with: #""content_index":1"#), Closing.delta("b"),
            Closing.itemDone(nil), Closing.added(id: "n"), Closing.delta("c", id: "n"), Closing.delta("d", id: "n"),
            Closing.textDone("cd", id: "n"), Closing.itemDone("cd", id: "n"), Event.completed,
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "abbcd")
    }

    /// No text that the closing text lacks is delivered, so that another attempt can repeat the output so far.
    @Test(arguments: ["ab", "abc"], ["b", " ", "bcd", "x"])
    func aDeltaThatTheClosingTextDoesNotHaveIsRefused(_ text: String, _ late: String) async {
        let isWhole = text == "ab"
        let events = [
            Closing.added, Closing.delta("a"), Closing.delta("b"), Closing.textDone(text, id: "m"), Closing.delta(late),
            Closing.itemDone(text), Event.completed,
        ]
        let refused = await Self.run(events) { $0.policy = .once }
        Self.expectContradiction(refused, text, "item-continued at output 0, part 0")
        let whole = [Closing.added, Closing.delta(text), Closing.itemDone(text), Event.completed]
        let fixture = TurnFixture([
            [.opened(101), .request] + ([Event.created] + events).map { .text($0) },
            [.opened(101), .request] + ([Event.created] + whole).map { .text($0) },
        ]) { $0.rawEvents = .none }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(outcome.events == (isWhole ? ["a", "b"] : ["a", "b", "c"]).map { .textDelta($0) } + [.completed])
    }

    // MARK: Other forms

    @Test func aTextInThePlaceOfPartsIsTheMessagesText() async {
        let message = #"{"type":"message","id":"m","role":"assistant","content":"Hello"}"#
        let outcome = await Self.run([Closing.added, Closing.completed(message)])
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
    }

    @Test func itemOfTheRequestIsNotOutput() async {
        let question = #"{"type":"message","id":"u","role":"user","content":[{"type":"output_text","text":"Why?"}]}"#
        let outcome = await Self.run([
            #"{"type":"response.output_item.added","output_index":0,"item":\#(question)}"#,
            #"{"type":"response.output_item.done","output_index":0,"item":\#(question)}"#,
            Closing.added(id: "m", at: 1), Closing.delta("Hello", at: 1), Closing.itemDone("Hello", at: 1),
            Closing.completed(question, Closing.message("Hello")),
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
    }

    @Test func aTypeInTheFieldOfTheEventStreamIsRead() async {
        let delta = #"{"output_index":0,"content_index":0,"delta":"Hel"}"#
        let fixture = TurnFixture([
            [
                .opened(200), .body(Event.sse(Event.created)),
                .body("event: response.output_text.delta\ndata: \(delta)\n\n"),
                .body("event: response.output_text.delta\r\ndata: \(delta.replacing("Hel", with: "lo"))\r\n\r\n"),
                .body("event: ping\ndata: {}\n\n"), .body("event: response.completed\ndata: {\"response\":{}}\n\n"),
                .ended(.complete),
            ]
        ]) {
            $0.policy = .httpSSEOnly
            $0.rawEvents = .none
        }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
    }

    @Test(arguments: [("Hello", "Hello"), ("Hel", "Hel"), ("Jello", "Hel"), ("", "Hel")])
    func textMissingInDeltasOfAnIncompleteResponseIsDelivered(_ text: String, _ delivered: String) async {
        let outcome = await Self.run([
            Closing.added, Closing.delta("Hel"),
            #"{"type":"response.incomplete","response":{"id":"r","incomplete_details":{"reason":"max_output_tokens"},"#
                + #""output":[\#(Closing.message(text))]}}"#,
        ])
        #expect(outcome.text == delivered)
        guard case .responseTerminalFailure(let response)? = outcome.clientError else {
            Issue.record("\(String(describing: outcome.error))")
            return
        }
        #expect(response.status == "incomplete")
    }

    // MARK: Contradictions

    @Test(arguments: [
        [Closing.message("Hello, too")], [Closing.message("Hello"), Closing.message(" and more", id: "x")],
        [Closing.message("Hello"), Closing.call("c")],
    ])
    func endWithAnotherIdentifierAddsNoOutput(_ items: [String]) async {
        let end =
            #"{"type":"response.completed","response":{"id":"other","output":[\#(items.joined(separator: ","))]}}"#
        let outcome = await Self.run([Closing.added, Closing.delta("Hello"), Closing.itemDone("Hello"), end]) {
            $0.policy = .once
            $0.rawEvents = .unsurfaced
        }
        #expect(outcome.text == "Hello")
        #expect(outcome.transportFailure?.code == .contradictoryEvents)
        #expect(outcome.outcomes == ["event.contradictory"])
    }

    @Test func anEndUnderAnotherIdentifierWithTheSameTextIsTolerated() async {
        let end = #"{"type":"response.completed","response":{"id":"other","output":[\#(Closing.message("Hello"))]}}"#
        let outcome = await Self.run([Closing.added, Closing.delta("Hello"), Closing.itemDone("Hello"), end])
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
    }

    /// Text is missing before the full stop (reported: BerriAI/litellm issue 36327), and cannot be delivered in its place.
    @Test(arguments: [["."], ["Hello", "."], ["Hello wor", "."]])
    func aFullStopDoesNotReplaceLostText(deltas: [String]) async {
        let text = "Hello world. And more."
        for closing in [Closing.textDone(text), Closing.itemDone(text), Closing.completed(Closing.message(text))] {
            let outcome = await Self.run(
                [Closing.added] + deltas.map { Closing.delta($0) } + [closing, Event.completed])
            Self.expectContradiction(outcome, deltas.joined(), "closing-differs at output 0, part 0")
        }
    }

    /// A closing event has confirmed the full stop as the end.
    @Test func textContinuedAfterItsClosingEventIsAContradiction() async {
        let outcome = await Self.run([
            Closing.added, Closing.delta("Hello"), Closing.textDone("Hello."),
            Closing.completed(Closing.message("Hello and more")),
        ])
        Self.expectContradiction(outcome, "Hello.", "closing-differs at output 0, part 0")
    }

    @Test(arguments: [
        Closing.textDone("Hello word"), Closing.partDone("Help"), Closing.itemDone("H"),
        Closing.itemDone("Hello  world"),
        Closing.completed(Closing.message("another answer")),
    ])
    func anotherTextIsAContradiction(_ closing: String) async {
        let outcome = await Self.run([Closing.added, Closing.delta("Hello world"), closing, Event.completed])
        Self.expectContradiction(outcome, "Hello world", "closing-differs at output 0, part 0")
    }

    @Test func aPieceThatIsMissingInTheMiddleIsAContradiction() async {
        let outcome = await Self.run([
            Closing.added, Closing.delta("one "), Closing.delta("three"), Closing.textDone("one two three"),
            Event.completed,
        ])
        Self.expectContradiction(outcome, "one three", "closing-differs at output 0, part 0")
    }

    @Test func textOfAnItemBeforeTheNewestOneIsAContradiction() async {
        let outcome = await Self.run([
            Closing.added, Closing.delta("one "), Closing.added(id: "n", at: 1), Closing.delta("three", id: "n", at: 1),
            Closing.itemDone("one two "), Event.completed,
        ])
        Self.expectContradiction(outcome, "one three", "closing-out-of-place at output 0, part 0")
    }

    @Test func aRepetitionWithoutANumberIsAContradiction() async {
        let outcome = await Self.run([
            Closing.added, Closing.delta("one "), Closing.delta("one "), Closing.textDone("one "), Event.completed,
        ])
        Self.expectContradiction(outcome, "one one ", "closing-differs at output 0, part 0")
    }

    /// Two items of one index are continued alternately: two answers are written at once.
    @Test func itemsThatWriteInTurnAtOneIndexAreAContradiction() async {
        let outcome = await Self.run([
            Closing.added(id: "a"), Closing.added(id: "b"), Closing.delta("one ", id: "a"),
            Closing.delta("uno ", id: "b"), Closing.delta("two", id: "a"), Event.completed,
        ])
        Self.expectContradiction(outcome, "one uno ", "items-interleaved")
    }

    @Test(arguments: [[], [Closing.itemDone("one ", id: "a")]])
    func itemsOfOneIndexMayFollowOneAnother(_ end: [String]) async {
        let outcome = await Self.run(
            [Closing.added(id: "a"), Closing.delta("one ", id: "a")] + end + [
                Closing.added(id: "b"), Closing.delta("two", id: "b"), Closing.itemDone("two", id: "b"),
                Event.completed,
            ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "one two")
    }

    /// An equal closing text shows that the numbers are wrong, rather than the order.
    @Test(arguments: [[], [Closing.textDone("one threetwo ")]])
    func overtakenOutputWithoutClosingEventsIsAContradiction(_ end: [String]) async {
        let texts = [(1, "one "), (3, "three"), (2, "two ")]
        let outcome = await Self.run(
            texts.map { number, text in
                Closing.delta(text).replacing(#""output_index""#, with: #""sequence_number":\#(number),"output_index""#)
            } + end + [Event.completed])
        guard end.isEmpty else { return #expect(outcome.error == nil) }
        Self.expectContradiction(outcome, "one threetwo ", "out-of-order")
    }

    @Test func contradictionIsReportedWithoutContent() async {
        let outcome = await Self.run([Closing.delta("secret"), Closing.textDone("other"), Event.completed])
        let error = outcome.clientError
        #expect(error.map { "\($0) \($0.safeDescription)" }?.contains("secret") == false)
        #expect(error.map { "\($0) \($0.safeDescription)" }?.contains("other") == false)
        #expect(error?.replaySafety == .outputDelivered)
    }

    @Test func harmlessDifferencesAreADiagnostic() async {
        let outcome = await Self.run([
            Closing.added, Closing.delta("Hello【3†source】 world \\n"), Closing.textDone("Hello world"),
            Closing.itemDone("Hello world"), Event.completed,
        ]) { $0.reportsDiagnostics = true }
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello【3†source】 world \n")
        #expect(outcome.diagnostics.count { $0.kind == .contentRewritten } == 1)
    }

    // MARK: Calls

    @Test func callInTheTerminalEventOnlyIsDelivered() async {
        let outcome = await Self.run([
            #"{"type":"response.output_item.done","output_index":0,"item":\#(Closing.call("a"))}"#,
            Closing.completed(Closing.call("a"), Closing.call("b")),
        ]) { $0.rawEvents = .unsurfaced }
        let calls = outcome.events.compactMap { event -> String? in
            guard case .raw("response.output_item.done", let payload) = event else { return nil }
            return payload
        }
        #expect(calls.count == 2)
        #expect(calls.last?.contains(#""output_index":1,"item":{"type":"function_call","call_id":"b""#) == true)
    }

    // MARK: Agents

    @Test func textOfAnotherAgentIsNotDelivered() async {
        let outcome = await Self.run([
            Closing.added(id: "m", agent: "/root"), Closing.added(id: "n", at: 1, agent: "/root/helper"),
            Closing.delta("Hel"), Closing.delta("aside", id: "n", at: 1), Closing.delta("lo"),
            Closing.itemDone("aside", id: "n", at: 1, agent: "/root/helper"), Closing.itemDone("Hello"),
            Closing.completed(Closing.message("Hello"), Closing.message("aside", id: "n", agent: "/root/helper")),
        ]) { $0.rawEvents = .unsurfaced }
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
        #expect(outcome.rawTypes.contains("response.output_text.delta"))
    }

    /// Text was taken for the root's, because no announcement had named the agent before.
    @Test(arguments: [
        [
            Closing.added(id: "n"), Closing.delta("aside", id: "n"),
            Closing.itemDone("aside", id: "n", agent: "/root/x"),
        ],
        [Closing.delta("aside", id: "n"), Closing.added(id: "n", agent: "/root/x"), Closing.delta("more", id: "n")],
        [Closing.delta("aside", id: nil), Closing.added(id: "n", agent: "/root/x"), Closing.delta("more", id: "n")],
    ])
    func anItemWithTextThatTurnsOutToBeAnotherAgentsIsAContradiction(_ events: [String]) async {
        let outcome = await Self.run(events + [Event.completed])
        Self.expectContradiction(outcome, "aside", "agent-changed")
    }

    private static let call =
        #"{"type":"response.output_item.done","output_index":1,"item":"#
        + #"{"id":"f","type":"function_call","call_id":"c","name":"t","arguments":"{}"}}"#

    /// The server waits for `response.inject`.
    @Test func awaitedToolOutputOfAMultiAgentResponseIsReported() async {
        let item = Closing.added(id: "m", agent: "/root/helper")
        let steps = [item, Closing.itemDone("aside", id: "m", agent: "/root/helper"), Self.call].map(ScriptStep.text)
        let fixture = TurnFixture([[.opened(101), .request] + steps + [.pause(.seconds(900))]])
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.code == .toolOutputAwaited)
        #expect(outcome.outcomes == ["event.tool-output-awaited"])
    }

    /// The silence has another reason: the request is sent again.
    @Test(arguments: [
        [Closing.added(id: "m"), call],
        [Closing.added(id: "m", agent: "/root"), call],
        [Closing.itemDone("x", id: "m", agent: "/root")],
    ])
    func aResponseThatDoesNotWaitForToolsIsAskedForAgain(_ events: [String]) async {
        let stalled: [ScriptStep] = [.opened(101), .request] + events.map(ScriptStep.text) + [.pause(.seconds(900))]
        let fixture = TurnFixture([
            stalled, [.opened(101), .request] + (events + [Event.completed]).map(ScriptStep.text),
        ])
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
    }

    // MARK: Scalars in two deltas

    private static func escaped(_ text: String, at index: Int = 0) -> String {
        #"{"type":"response.output_text.delta","output_index":\#(index),"delta":"\#(text)"}"#
    }

    /// JavaScript cuts text between the units of UTF-16, and writes the halves as escapes.
    @Test(arguments: [
        ([#"Hi \ud83d"#, #"\ude00!"#], ["Hi ", "😀!"]),
        ([#"\uD83D"#, #"\uDE00\uD83D"#, #"\uDE01"#], ["😀", "😁"]),
        ([#"a\ud83d"#, "b"], ["a", "\u{FFFD}b"]),
        ([#"a\ud83d"#, #"\ud83d\ude00"#], ["a", "\u{FFFD}😀"]),
        ([#"\ude00"#, #"\ude00"#], ["\u{FFFD}", "\u{FFFD}"]),
        ([#"a\ud83d"#], ["a", "\u{FFFD}"]),
        ([#"\\ud83d"#, #"\ude00"#], [#"\ud83d"#, "\u{FFFD}"]),
        ([#"a\ud83d"#, "", #"\ude00b"#], ["a", "😀b"]),
    ])
    func surrogatePairSplitBetweenDeltasIsJoined(_ texts: [String], _ deltas: [String]) async {
        let outcome = await Self.run(texts.map { Self.escaped($0) } + [Event.completed])
        #expect(outcome.events == deltas.map { .textDelta($0) } + [.completed])
    }

    @Test func aHalfIsNotHeldBackForAnotherSlot() async {
        let outcome = await Self.run([
            Self.escaped(#"a\ud83d"#), Self.escaped("b", at: 1), Self.escaped(#"\ude00"#), Event.completed,
        ])
        #expect(outcome.text == "a\u{FFFD}b\u{FFFD}")
    }

    @Test func aHalfIsHeldBackWhileTheModelReasons() async {
        let outcome = await Self.run([
            Self.escaped(#"a\ud83d"#),
            #"{"type":"response.reasoning_text.delta","output_index":1,"content_index":0,"delta":"think"}"#,
            Self.escaped(#"\ude00"#), Event.completed,
        ])
        #expect(outcome.events == [.textDelta("a"), .reasoningDelta("think"), .textDelta("😀"), .completed])
    }

    /// The closing event of the slot has the scalar.
    @Test func aScalarWhoseSecondHalfStandsInAClosingEventIsWhole() async {
        let outcome = await Self.run([
            Closing.added(id: "m"), Self.escaped(#"a\ud83d"#), Closing.itemDone("a😀"),
            Closing.completed(Closing.message("a😀")),
        ])
        #expect(outcome.text == "a😀")
        #expect(outcome.error == nil)
    }

    @Test func aHalfOfABrokenAttemptIsForgotten() async {
        let fixture = TurnFixture([
            [
                .opened(101), .request, .text(Self.escaped(#"a\ud83d"#)),
                .ended(.failed(TransportFailure(phase: .stream, cause: .connectionLost))),
            ],
            [.opened(101), .request] + ["a😀", "b"].map { .text(Self.escaped($0)) } + [.text(Event.completed)],
        ])
        #expect(await fixture.run().text == "a😀b")
    }

    // MARK: Restarts

    /// A gateway reports that another model answers from here on.
    @Test(arguments: ["fallback_restart", "response.fallback.restarted", "gateway:Rollback"])
    func restartedAnswerIsNotAppendedToTheDeliveredText(_ type: String) async {
        let fixture = TurnFixture([
            [
                .opened(101), .request, .text(Event.text("Hello ")), .text(#"{"type":"\#(type)"}"#),
                .text(Event.text("Hi")),
            ],
            [.opened(101), .request, .text(Event.text("Hello there")), .text(Event.completed)],
        ])
        let outcome = await fixture.run()
        #expect(outcome.text == "Hello there")
        #expect(outcome.error == nil)
        #expect(outcome.outcomes == ["event.contradictory", "completed"])
    }

    @Test(arguments: [
        [#"{"type":"fallback_restart"}"#, Event.text("Hi")],
        [Event.text("Hi"), #"{"type":"gateway.restarting_soon"}"#],
    ])
    func newsWithoutARestartOfOutputArePassedOver(_ events: [String]) async {
        let outcome = await Self.run(events + [Event.completed])
        #expect(outcome.text == "Hi")
        #expect(outcome.error == nil)
    }

    // MARK: Limits

    @Test func outputPastTheLimitEndsTheTurn() async {
        let outcome = await Self.run([Closing.delta("0123456789"), Closing.delta("0"), Event.completed]) {
            $0.limits.outputByteCount = 10
        }
        #expect(outcome.text == "0123456789")
        #expect(outcome.transportFailure?.code == .outputTooLarge)
        #expect(outcome.transportFailure?.details.limit == 10)
    }

    // MARK: Late events of the previous response

    private static let first = [
        #"{"type":"response.created","sequence_number":0,"response":{"id":"r1"}}"#, added(1, "a"), delta(2, "one", "a"),
        done(3, "one", "a"), #"{"type":"response.completed","sequence_number":4,"response":{"id":"r1"}}"#,
    ]

    private static func added(_ number: Int, _ id: String) -> String {
        #"{"type":"response.output_item.added","sequence_number":\#(number),"output_index":0,"item":\#(Closing.message(nil, id: id))}"#
    }

    private static func delta(_ number: Int?, _ text: String, _ id: String?) -> String {
        let member = number.map { #","sequence_number":\#($0)"# } ?? ""
        return Closing.delta(text, id: id).replacing(#""output_index""#, with: #""x":0\#(member),"output_index""#)
    }

    private static func done(_ number: Int, _ text: String, _ id: String) -> String {
        #"{"type":"response.output_item.done","sequence_number":\#(number),"output_index":0,"item":\#(Closing.message(text, id: id))}"#
    }

    /// A late call and a late message that the first response has not announced, without numbers.
    @Test(arguments: [true, false])
    func lateItemOfAnEarlierResponseIsNotAddedToTheNext(isNamed: Bool) async {
        func without(_ event: String) -> String {
            isNamed ? event : event.replacing(#","item_id":"b""#, with: "").replacing(#""id":"b","#, with: "")
        }
        let name = isNamed ? #""id":"late","# : ""
        let call =
            #"{"type":"response.output_item.done","output_index":2,"item":{\#(name)"type":"function_call","call_id":"l","#
            + #""name":"f","arguments":"{}"}}"#
        let first = [
            #"{"type":"response.created","response":{}}"#, Closing.added(id: "a"), Closing.delta("one", id: "a"),
            Closing.itemDone("one", id: "a"), #"{"type":"response.completed","response":{}}"#,
        ].map { isNamed ? $0 : $0.replacing(#","item_id":"a""#, with: "").replacing(#""id":"a","#, with: "") }
        let second = [
            #"{"type":"response.created","response":{}}"#, Closing.added(id: "b"), Closing.delta("two", id: "b"), call,
            Closing.delta(" more", id: "b"), Closing.itemDone("two more", id: "b"),
            #"{"type":"response.completed","response":{"output":[\#(Closing.message("two more", id: "b"))]}}"#,
        ].map(without)
        // The end of the first response comes again before the second one is created.
        let late = #"{"type":"response.completed","response":{}}"#
        let steps: [ScriptStep] =
            [.opened(101), .request] + first.map { .text($0) } + [.request, .text(late)] + second.map { .text($0) }
        let fixture = TurnFixture([steps]) { $0.rawEvents = .unsurfaced }
        #expect(await fixture.run().text == "one")
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(outcome.text == "two more")
        let isCalled = outcome.events.contains { event in
            guard case .raw(_, let payload) = event else { return false }
            return payload.contains("function_call")
        }
        #expect(!isCalled)
    }

    /// An item that is announced late may be missing in the terminal event, unless it is open.
    @Test func aLateItemThatIsOpenAtTheEndIsAContradiction() async {
        let second = [
            #"{"type":"response.created","response":{"id":"r2"}}"#, Closing.added(id: "b"),
            Closing.delta("two", id: "b"),
            Closing.added(id: "late", at: 2), Closing.delta("late", id: "late", at: 2),
            Closing.itemDone("two", id: "b"),
            #"{"type":"response.completed","response":{"id":"r2","output":[\#(Closing.message("two", id: "b"))]}}"#,
        ]
        let steps: [ScriptStep] =
            [.opened(101), .request] + Self.first.map { .text($0) } + [.request] + second.map { .text($0) }
        let fixture = TurnFixture([steps]) { $0.rawEvents = .none }
        #expect(await fixture.run().text == "one")
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.code == .contradictoryEvents)
        #expect(!outcome.events.contains(.completed))
    }

    /// The answer to a call is the response with the call repeated, and then the requested output.
    @Test(arguments: [true, false])
    func aResponseThatComesOnceMoreBehindItsCallIsNotTheNextOne(hasList: Bool) async {
        let call = #"{"id":"f","type":"function_call","call_id":"c","name":"t","arguments":"{}"}"#
        let list = #","output":[\#(Closing.message("one", id: "a")),\#(call)]"#
        let first =
            Self.first.dropLast() + [
                #"{"type":"response.output_item.added","output_index":1,"item":\#(call)}"#,
                #"{"type":"response.output_item.done","output_index":1,"item":\#(call)}"#,
                #"{"type":"response.completed","response":{"id":"r1"\#(hasList ? list : "")}}"#,
            ]
        let second = [
            #"{"type":"response.created","sequence_number":0,"response":{"id":"r2"}}"#, Self.added(1, "b"),
            Self.delta(2, "two", "b"), Self.done(3, "two", "b"),
            #"{"type":"response.completed","response":{"id":"r2"}}"#,
        ]
        let steps: [ScriptStep] =
            [.opened(101), .request] + first.map { .text($0) } + [.request] + (first + second).map { .text($0) }
        let fixture = TurnFixture([steps]) {
            $0.rawEvents = .none
            $0.policy.recovery = .never
        }
        #expect(await fixture.run().text == "one")
        var request = ChappieTransportRequest(prompt: "", model: "m")
        request.runsCalls = true
        request.answeredCalls = [
            FinishedCall(callID: "c", name: "t", payload: "{}")
        ]
        let outcome = await fixture.complete(request).outcome
        if hasList {
            #expect(outcome.error == nil)
            #expect(outcome.text == "two")
        } else {
            #expect(outcome.text == "")
            #expect(outcome.transportFailure?.code == .contradictoryEvents)
        }
    }

    /// A late delta of the first response, at each place of the second one on the same connection.
    @Test(arguments: 0...4)
    func aLateDeltaOfAnEarlierResponseIsNotDelivered(place: Int) async {
        let late = [Self.delta(3, "late", "a"), Self.delta(nil, "late", nil), Self.delta(nil, "late", "a")]
        for event in late {
            var second = [
                #"{"type":"response.created","sequence_number":0,"response":{"id":"r2"}}"#, Self.added(1, "b"),
                Self.delta(2, "two", "b"), Self.done(3, "two", "b"),
                #"{"type":"response.completed","sequence_number":4,"response":{"id":"r2"}}"#,
            ]
            second.insert(event, at: place)
            let steps: [ScriptStep] =
                [.opened(101), .request] + Self.first.map { .text($0) } + [.request] + second.map { .text($0) }
            let fixture = TurnFixture([steps]) { $0.rawEvents = .none }
            #expect(await fixture.run().text == "one")
            let outcome = await fixture.run()
            #expect(outcome.error == nil)
            #expect(outcome.text == "two")
            #expect(fixture.transport.requests.count == 1)
        }
    }
}
