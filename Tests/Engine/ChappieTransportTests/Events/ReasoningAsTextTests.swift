// Reasoning whose item is announced as such, and which comes in events of text (reported: mudler/LocalAI issue 9658).

import ResponseEvents
import StreamTransport
import Testing

@testable import ChappieTransport

/// A response whose reasoning comes in events of text, under the identifier of its item.
private struct ReasoningAsText {
    /// The order in which the two items come.
    enum Layout: CaseIterable {
        /// The message follows the end of the reasoning.
        case inTurn
        /// The message begins before the reasoning ends.
        case overlapping
        /// The message is announced first, and both are written under one index.
        case oneIndex
        /// A call follows the reasoning.
        case call
    }

    let layout: Layout
    /// The closing events, a bit each: of the deltas, of the parts, of the items, of the response.
    let closings: Int

    static let thought = "Let me think."
    static let answer = "The answer is 42."

    static let all: [Self] = Layout.allCases.flatMap { layout in
        (0..<16).map { Self(layout: layout, closings: $0) }
    }

    static func part(_ text: String) -> String { #"{"type":"output_text","text":"\#(text)","annotations":[]}"# }

    static func item(_ id: String, _ text: String?) -> String {
        let kind = id == "t" ? #""reasoning","summary":[]"# : #""message","role":"assistant""#
        return #"{"id":"\#(id)","type":\#(kind),"content":[\#(text.map(Self.part) ?? "")]}"#
    }

    private static let call = #"{"id":"f","type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#

    static func event(_ type: String, _ id: String, at index: Int, _ members: String) -> String {
        #"{"type":"response.\#(type)","item_id":"\#(id)","output_index":\#(index),"content_index":0,\#(members)}"#
    }

    static func added(_ id: String, at index: Int) -> String {
        #"{"type":"response.output_item.added","output_index":\#(index),"item":\#(Self.item(id, nil))}"#
    }

    static func deltas(_ text: String, _ id: String, at index: Int, type: String = "output_text.delta") -> [String] {
        [text.prefix(5), text.dropFirst(5)].map { Self.event(type, id, at: index, #""delta":"\#($0)""#) }
    }

    private func closing(_ text: String, _ id: String, at index: Int) -> [String] {
        let done = #"{"type":"response.output_item.done","output_index":\#(index),"item":\#(Self.item(id, text))}"#
        let events = [
            Self.event("output_text.done", id, at: index, #""text":"\#(text)""#),
            Self.event("content_part.done", id, at: index, #""part":\#(Self.part(text))"#), done,
        ]
        return events.enumerated().compactMap { self.closings & (1 << $0) != 0 ? $1 : nil }
    }

    var events: [String] {
        let (thought, answer) = (Self.thought, Self.answer)
        let ends = (self.closing(thought, "t", at: 0), self.closing(answer, "m", at: 1))
        let items = [Self.item("t", thought), self.layout == .call ? Self.call : Self.item("m", answer)]
        let list = self.closings & 8 != 0 ? #","output":[\#(items.joined(separator: ","))]"# : ""
        let begun = [Self.added("t", at: 0)] + Self.deltas(thought, "t", at: 0)
        let message = [Self.added("m", at: 1)] + Self.deltas(answer, "m", at: 1)
        let output: [String] =
            switch self.layout {
            case .inTurn: begun + ends.0 + message + ends.1
            case .overlapping: begun + message + ends.0 + ends.1
            case .oneIndex:
                [Self.added("m", at: 0), Self.added("t", at: 1)] + Self.deltas(thought, "t", at: 1)
                    + Self.deltas(answer, "m", at: 1) + self.closing(thought, "t", at: 1) + ends.1
            case .call: begun + ends.0 + [Event.done(Self.call, at: 1)]
            }
        return [Event.created] + output + [Event.completed("r", list)]
    }

    func isDelivered(in outcome: TurnOutcome, _ response: CompletedResponse?) -> Bool {
        let isCall = self.layout == .call
        return outcome.error == nil && outcome.reasoning == Self.thought
            && outcome.text == (isCall ? "" : Self.answer) && response?.calls.count == (isCall ? 1 : 0)
    }
}

@Suite struct ReasoningAsTextTests {
    private static func run(
        _ scripts: [[ScriptStep]], isHTTP: Bool = false
    ) async -> (outcome: TurnOutcome, response: CompletedResponse?) {
        await TurnFixture(scripts) {
            $0.rawEvents = .none
            if isHTTP { $0.policy = .httpSSEOnly }
        }.complete(conversation([WireItem.question]))
    }

    @Test(arguments: ReasoningAsText.all)
    private func textOfAnItemOfReasoningIsReasoning(_ answer: ReasoningAsText) async {
        let (outcome, response) = await Self.run([.socket(answer.events)])
        #expect(answer.isDelivered(in: outcome, response), "\(outcome.events) of \(answer.events)")
    }

    /// The same with a cut behind each event, over both transports.
    @Test(arguments: ReasoningAsText.Layout.allCases)
    private func cutReasoningComesOnce(_ layout: ReasoningAsText.Layout) async {
        let answer = ReasoningAsText(layout: layout, closings: 15)
        let events = answer.events
        for cut in 1..<events.count {
            let begun = Array(events.prefix(cut))
            let socket = await Self.run([.socket(begun, isBroken: true), .socket(events)])
            #expect(answer.isDelivered(in: socket.outcome, socket.response), "cut behind \(cut)")
            let stream = await Self.run([.http(begun), .http(events)], isHTTP: true)
            #expect(answer.isDelivered(in: stream.outcome, stream.response), "cut behind \(cut), over HTTP")
        }
    }

    /// Only the end of an item, or of the response, has the reasoning.
    @Test(arguments: 1..<4)
    func reasoningOfAnEndIsDelivered(closings: Int) async {
        let (thought, answer) = (ReasoningAsText.item("t", "why"), ReasoningAsText.item("m", "so"))
        let ends = [Event.done(thought, at: 1), Event.done(answer, at: 0)]
        let list = closings & 2 != 0 ? #","output":[\#(thought),\#(answer)]"# : ""
        let (outcome, _) = await Self.run([
            .socket(
                [Event.created, ReasoningAsText.added("m", at: 0)] + ReasoningAsText.deltas("so", "m", at: 0)
                    + (closings & 1 != 0 ? ends : []) + [Event.completed("r", list)])
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "so")
        #expect(outcome.reasoning == "why")
    }

    /// A closing text under the identifier of an item of reasoning that has nothing is that of the text it repeats.
    @Test(arguments: ["output_text.done", "content_part.done"], [false, true])
    func closingTextOfTheMessageIsNoReasoning(_ type: String, isAnnouncedFirst: Bool) async {
        let text = "Yes, it works."
        let part = #"{"type":"output_text","text":"\#(text)"}"#
        let closing = type == "output_text.done" ? #""text":"\#(text)""# : #""part":\#(part)"#
        let thought = #"{"id":"t","type":"reasoning","summary":[]}"#
        let message = ReasoningAsText.item("m", text)
        let begun = [ReasoningAsText.added("m", at: 0)] + ReasoningAsText.deltas(text, "m", at: 0)
        let reasoning = [ReasoningAsText.added("t", at: 1)]
        for list in ["", #","output":[\#(message),\#(thought)]"#] {
            let (outcome, _) = await Self.run([
                .socket(
                    [Event.created] + (isAnnouncedFirst ? reasoning + begun : begun + reasoning)
                        + [
                            ReasoningAsText.event(type, "t", at: 0, closing), Event.done(message, at: 0),
                            Event.done(thought, at: 1), Event.completed("r", list),
                        ])
            ])
            #expect(outcome.error == nil && outcome.text == text && outcome.reasoning.isEmpty)
        }
    }

    /// An identifier says less than the type of an event where its item has reasoning of its own.
    @Test func textUnderTheIdentifierOfOtherReasoningIsText() async {
        let (outcome, _) = await Self.run([
            .socket(
                [Event.created, ReasoningAsText.added("t", at: 0)]
                    + ReasoningAsText.deltas("because", "t", at: 0, type: "reasoning_text.delta")
                    + [ReasoningAsText.added("m", at: 1)] + ReasoningAsText.deltas("Hello you", "t", at: 1)
                    + [Event.done(ReasoningAsText.item("m", "Hello you"), at: 1), Event.completed])
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello you")
        #expect(outcome.reasoning == "because")
    }

    /// A message has no reasoning: what an event calls reasoning is it, whatever item the event names.
    @Test(arguments: ["reasoning_text.delta", "reasoning_summary_text.delta"])
    func reasoningUnderTheIdentifierOfAMessageIsReasoning(type: String) async {
        let (outcome, _) = await Self.run([
            .socket(
                [Event.created, ReasoningAsText.added("m", at: 0)]
                    + ReasoningAsText.deltas("because", "m", at: 0, type: type)
                    + ReasoningAsText.deltas("Hello you", "m", at: 0)
                    + [Event.done(ReasoningAsText.item("m", "Hello you"), at: 0), Event.completed])
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello you")
        #expect(outcome.reasoning == "because")
    }
}
