// Content decides which part a closing event closes: recorded servers count parts wrongly.

import StreamTransport
import Testing

@testable import ChappieTransport

/// A message or a reasoning item whose events have indices of their own.
private struct PartCount {
    enum Kind: String, CaseIterable {
        case text, refusal, reasoning
    }

    let kind: Kind
    let deltas: [String]
    /// The index of each delta's part, of the two events that close the part, and of the part itself in the item.
    let deltaIndices: [Int]
    let textIndex: Int
    let partIndex: Int
    /// What all closing events have in place of the deltas' text.
    var closing = Closing.equal

    enum Closing: CaseIterable {
        case absent, null, empty, equal, longer, other
    }

    private var isReasoning: Bool { self.kind == .reasoning }

    private var names: (delta: String, done: String, member: String) {
        switch self.kind {
        case .text: ("response.output_text.delta", "response.output_text.done", "text")
        case .refusal: ("response.refusal.delta", "response.refusal.done", "refusal")
        case .reasoning: ("response.reasoning_text.delta", "response.reasoning_text.done", "text")
        }
    }

    private var text: String { self.deltas.joined() }

    /// The text of the closing events as a JSON member; empty for an absent one.
    private var closingMember: String {
        let value: String? =
            switch self.closing {
            case .absent: nil
            case .null: "null"
            case .empty: #""""#
            case .equal: #""\#(self.text)""#
            case .longer: #""\#(self.text) there""#
            case .other: #""Bye""#
            }
        return value.map { #","\#(self.names.member)":\#($0)"# } ?? ""
    }

    /// The text by the rule: what says nothing closes nothing, what begins with the item's text completes it, and another
    /// text is that of another part, which has to be behind the open one and in the list at the response's end.
    ///
    /// The end of the item may have the part alone that was closed last.
    ///
    /// - Returns: nil for a contradiction.
    func value(closings: Int) -> String? {
        switch self.closing {
        case .absent, .null, .empty, .equal: return self.text
        case .longer: return closings == 0 ? self.text : self.text + " there"
        case .other:
            let indices = [self.textIndex, self.partIndex].enumerated().filter { closings & (1 << $0.offset) != 0 }
            let isBehind = indices.allSatisfy { $0.element > self.deltaIndices.max() ?? 0 }
            guard isBehind, closings & 8 == 0, closings & 4 == 0 || !indices.isEmpty else { return nil }
            return indices.isEmpty ? self.text : self.text + "Bye"
        }
    }

    private var part: String {
        let type =
            ["text": "output_text", "refusal": "refusal", "reasoning": "reasoning_text"][self.kind.rawValue] ?? ""
        return #"{"type":"\#(type)"\#(self.closingMember)}"#
    }

    private func item(_ content: String) -> String {
        let type = self.isReasoning ? #""reasoning","summary":[]"# : #""message","role":"assistant""#
        return #"{"id":"m","type":\#(type),"content":[\#(content)]}"#
    }

    /// The events, with the closing events that are chosen by a bit each: of the text, the part, the item, the response.
    func events(closings: Int, order: [Int]) -> [String] {
        let place = #""item_id":"m","output_index":0"#
        var events = [
            Event.created, #"{"type":"response.output_item.added","output_index":0,"item":\#(self.item(""))}"#,
        ]
        for (text, index) in zip(self.deltas, self.deltaIndices) {
            events.append(#"{"type":"\#(self.names.delta)",\#(place),"content_index":\#(index),"delta":"\#(text)"}"#)
        }
        let closing = [
            #"{"type":"\#(self.names.done)",\#(place),"content_index":\#(self.textIndex)\#(self.closingMember)}"#,
            #"{"type":"response.content_part.done",\#(place),"content_index":\#(self.partIndex),"part":\#(self.part)}"#,
            #"{"type":"response.output_item.done","output_index":0,"item":\#(self.item(self.part))}"#,
        ]
        for bit in order where closings & (1 << bit) != 0 { events.append(closing[bit]) }
        let list = closings & 8 != 0 ? self.item(self.part) : ""
        events.append(
            #"{"type":"response.completed","response":{"id":"r","status":"completed","output":[\#(list)]}}"#)
        return events
    }

    /// What a consumer has to receive.
    func isDelivered(in outcome: TurnOutcome, as text: String? = nil) -> Bool {
        var received = ""
        for event in outcome.events {
            switch (self.kind, event) {
            case (.text, .textDelta(let text)), (.refusal, .refusalDelta(let text)),
                (.reasoning, .reasoningDelta(let text)):
                received += text
            default: break
            }
        }
        return received == text ?? self.text
    }

    /// Bedrock's gpt-oss counts the parts of the item before; vLLM counts up with each delta and each closing event; the
    /// others are their neighbours.
    static let all: [PartCount] = Kind.allCases.flatMap { kind in
        [
            ([1, 1, 1], 1, 1), ([0, 1, 2], 3, 3), ([0, 1, 2], 3, 4), ([1, 2, 3], 0, 0), ([0, 0, 0], 1, 1),
            ([0, 0, 0], 1, 2), ([1, 1, 1], 0, 0), ([0, 1, 2], 0, 0), ([0, 1, 2], 2, 1), ([2, 1, 0], 0, 3),
        ].map {
            PartCount(kind: kind, deltas: ["Hel", "lo, ", "you"], deltaIndices: $0.0, textIndex: $0.1, partIndex: $0.2)
        }
    }
}

@Suite struct PartIndexTests {
    @Test(arguments: PartCount.all)
    private func textUnderWrongPartIndicesComesOnce(_ count: PartCount) async {
        for closings in 0..<16 {
            for order in [[0, 1, 2], [2, 0, 1]] where closings & 4 != 0 || order[0] == 0 {
                let events = count.events(closings: closings, order: order)
                let outcome = await TurnFixture([[.opened(101), .request] + events.map { .text($0) }]) {
                    $0.rawEvents = .none
                }.run()
                #expect(outcome.error == nil, "\(events)")
                #expect(count.isDelivered(in: outcome), "\(outcome.events) of \(events)")
            }
        }
    }

    /// Every closing event that comes has the variant, under a right or a wrong index.
    @Test(arguments: PartCount.Kind.allCases, PartCount.Closing.allCases)
    private func closingTextsUnderAnyPartIndexFollowTheRule(
        kind: PartCount.Kind, closing: PartCount.Closing
    ) async {
        for (deltas, text, part) in [
            ([0, 0, 0], 0, 0), ([1, 1, 1], 1, 1), ([1, 1, 1], 0, 0), ([0, 0, 0], 1, 1), ([0, 0, 0], 1, 2),
            ([0, 1, 2], 3, 4),
        ] {
            var count = PartCount(
                kind: kind, deltas: ["Hel", "lo, ", "you"], deltaIndices: deltas, textIndex: text, partIndex: part)
            count.closing = closing
            for closings in 0..<16 {
                let events = count.events(closings: closings, order: [0, 1, 2])
                for isHTTP in [false, true] {
                    let outcome = await TurnFixture([isHTTP ? .http(events) : .socket(events)]) {
                        $0.rawEvents = .none
                        if isHTTP { $0.policy = .httpSSEOnly }
                    }.run()
                    let value = count.value(closings: closings)
                    let place = "\(deltas), \(text), \(part), closing events \(closings)"
                    #expect((outcome.transportFailure?.code == .contradictoryEvents) == (value == nil), "\(place)")
                    guard let value else { continue }
                    #expect(count.isDelivered(in: outcome, as: value), "\(place)")
                }
            }
        }
    }

    /// The same with a cut behind each event, and over HTTP.
    @Test(arguments: PartCount.all)
    private func cutTextUnderWrongPartIndicesComesOnce(_ count: PartCount) async {
        let events = count.events(closings: 15, order: [0, 1, 2])
        // The second answer is cut into other deltas, and a server that counts them has other indices.
        let again = PartCount(
            kind: count.kind, deltas: ["Hello", ", you"], deltaIndices: Array(count.deltaIndices.prefix(2)),
            textIndex: count.textIndex, partIndex: count.partIndex
        ).events(closings: 15, order: [0, 1, 2])
        for cut in 1..<events.count {
            let begun = Array(events.prefix(cut))
            let scripts: [[[ScriptStep]]] = [
                [.socket(begun, isBroken: true), .socket(again)], [.http(begun), .http(again)],
            ]
            for (index, script) in scripts.enumerated() {
                let outcome = await TurnFixture(script) {
                    $0.rawEvents = .none
                    if index == 1 { $0.policy = .httpSSEOnly }
                }.run()
                #expect(outcome.error == nil, "cut behind \(cut) of \(events)")
                #expect(count.isDelivered(in: outcome), "\(outcome.events), cut behind \(cut) of \(events)")
            }
        }
    }

    /// Two parts whose indices count up with the deltas, cut behind each event and sent again as they were.
    @Test(arguments: 1..<9) func cutPartsThatAreCountedByDeltasComeOnce(cut: Int) async {
        let event = { (type: String, index: Int, member: String) in
            let place = #""item_id":"m","output_index":0,"content_index":\#(index)"#
            return #"{"type":"response.output_text.\#(type)",\#(place),\#(member)}"#
        }
        let parts = ["First part. ", "Second part."].map { #"{"type":"output_text","text":"\#($0)"}"# }
        let item = #"{"id":"m","type":"message","role":"assistant","content":[\#(parts.joined(separator: ","))]}"#
        let events = [
            Event.created, event("delta", 0, #""delta":"First ""#), event("delta", 1, #""delta":"part. ""#),
            event("done", 2, #""text":"First part. ""#), event("delta", 2, #""delta":"Second""#),
            event("delta", 3, #""delta":" part.""#), event("done", 4, #""text":"Second part.""#), Event.done(item),
            Event.completed("r", #","output":[\#(item)]"#),
        ]
        let begun = Array(events.prefix(cut))
        let outcome = await TurnFixture([
            .socket(begun, isBroken: true), .socket(events), .socket(events), .socket(events),
        ]) {
            $0.rawEvents = .none
            $0.policy = ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
        }.run()
        #expect(
            outcome.error == nil,
            "cut behind \(cut): \(outcome.report.attempts.map(\.outcome)) \(String(describing: outcome.error))")
        #expect(outcome.text == "First part. Second part.", "cut behind \(cut)")
    }

    /// A second part's text that equals the first one is new where the item has two parts.
    @Test func equalTextsOfTwoPartsAreBothDelivered() async {
        let part = #"{"type":"output_text","text":"Yes"}"#
        let outcome = await TurnFixture([
            .socket([
                Event.created, Event.text("Yes"),
                Event.done(#"{"id":"m","type":"message","role":"assistant","content":[\#(part),\#(part)]}"#),
                Event.completed,
            ])
        ]) { $0.rawEvents = .none }.run()
        #expect(outcome.error == nil)
        #expect(outcome.text == "YesYes")
    }

    /// A closing text that equals what the item has, or what was closed last, closes that, until the item's end has a second
    /// part.
    @Test(arguments: [("Yes", ""), ("Yes", "Ye"), ("Yes ", "")])
    func theItemsEndTellsASecondPartFromAnEqualClosingText(_ first: String, _ second: String) async {
        let done = #"{"type":"response.output_text.done","output_index":0,"content_index""#
        let delta = #"{"type":"response.output_text.delta","output_index":0,"content_index":1,"delta":"\#(second)"}"#
        let parts = [first, "Yes"].map { #"{"type":"output_text","text":"\#($0)"}"# }.joined(separator: ",")
        let beginning = [Event.created, Event.text(first), #"\#(done):0,"text":"\#(first)"}"#]
        let closed = beginning + (second.isEmpty ? [] : [delta]) + [#"\#(done):1,"text":"Yes"}"#]
        let item = Event.done(#"{"id":"m","type":"message","role":"assistant","content":[\#(parts)]}"#)
        let outcome = await TurnFixture([.socket(closed + [item, Event.completed])]) { $0.rawEvents = .none }.run()
        #expect(outcome.error == nil)
        #expect(outcome.text == first + "Yes")
        let shorter = await TurnFixture([.socket(closed + [Event.completed])]) { $0.rawEvents = .none }.run()
        #expect(shorter.error == nil)
        #expect(shorter.text == first + second)
    }

    /// White space that a server trims or adds at the beginning is no other text.
    @Test(arguments: [(" Hello", "Hello"), ("Hello", " Hello"), ("\\n\\nHello", "Hello")])
    func whiteSpaceAtTheBeginningIsRewrittenText(_ streamed: String, _ closing: String) async {
        let item = #"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"\#(closing)"}]}"#
        let outcome = await TurnFixture([
            .socket([
                Event.created, Event.text(streamed), Event.done(item),
                Event.completed("r", #","output":[\#(item)]"#),
            ])
        ]) { $0.rawEvents = .none }.run()
        #expect(outcome.error == nil)
        #expect(outcome.text == streamed.replacing("\\n", with: "\n"))
    }
}
