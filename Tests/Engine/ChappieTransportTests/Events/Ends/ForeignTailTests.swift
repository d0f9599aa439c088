// The last events of another response, at each place of a response, over HTTP.

import StreamTransport
import Testing

@testable import ChappieTransport

/// A response of items with one part each, and its events.
private struct WholeResponse {
    enum Kind: String, CaseIterable {
        case text, refusal, reasoning
    }

    let id: String
    let items: [Kind]

    private func name(_ index: Int) -> String { "\(self.id)_\(index)" }

    /// The text of an item, which no other item of another response has.
    private func text(_ index: Int) -> String { "\(self.id) says \(index). " }

    /// The concatenated output of a kind.
    func output(_ kind: Kind) -> String {
        self.items.indices.filter { self.items[$0] == kind }.map(self.text).joined()
    }

    var events: [String] {
        let list = self.items.indices.map { self.item($0, isDone: true) }.joined(separator: ",")
        return [#"{"type":"response.created","response":{"id":"\#(self.id)","output":[]}}"#]
            + self.items.indices.flatMap(self.events)
            + [#"{"type":"response.completed","response":{"id":"\#(self.id)","output":[\#(list)]}}"#]
    }

    private func part(_ index: Int) -> String {
        switch self.items[index] {
        case .text: #"{"type":"output_text","text":"\#(self.text(index))"}"#
        case .refusal: #"{"type":"refusal","refusal":"\#(self.text(index))"}"#
        case .reasoning: #"{"type":"summary_text","text":"\#(self.text(index))"}"#
        }
    }

    private func item(_ index: Int, isDone: Bool) -> String {
        let part = isDone ? self.part(index) : ""
        return self.items[index] == .reasoning
            ? #"{"type":"reasoning","id":"\#(self.name(index))","summary":[\#(part)]}"#
            : #"{"type":"message","role":"assistant","id":"\#(self.name(index))","content":[\#(part)]}"#
    }

    private func events(of index: Int) -> [String] {
        let isReasoning = self.items[index] == .reasoning
        let place =
            #""item_id":"\#(self.name(index))","output_index":\#(index),"#
            + #""\#(isReasoning ? "summary_index" : "content_index")":0"#
        let (type, member) =
            switch self.items[index] {
            case .text: ("output_text", "text")
            case .refusal: ("refusal", "refusal")
            case .reasoning: ("reasoning_summary_text", "text")
            }
        let part = isReasoning ? "reasoning_summary_part" : "content_part"
        let text = self.text(index)
        let deltas = [text.prefix(4), text.dropFirst(4)]
        return [
            #"{"type":"response.output_item.added","output_index":\#(index),"item":\#(self.item(index, isDone: false))}"#
        ]
            + deltas.map { #"{"type":"response.\#(type).delta",\#(place),"delta":"\#($0)"}"# }
            + [
                #"{"type":"response.\#(type).done",\#(place),"\#(member)":"\#(text)"}"#,
                #"{"type":"response.\#(part).done",\#(place),"part":\#(self.part(index))}"#,
                #"{"type":"response.output_item.done","output_index":\#(index),"item":\#(self.item(index, isDone: true))}"#,
            ]
    }
}

@Suite struct ForeignTailTests {
    private static let shapes: [[WholeResponse.Kind]] = [
        [.text], [.refusal], [.reasoning], [.reasoning, .text], [.text, .text],
    ]

    private static func run(_ events: [String]) async -> TurnOutcome {
        let answer: [ScriptStep] =
            [.opened(200, fields: ["content-type": "text/event-stream"])]
            + events.map { .body(Event.sse($0)) } + [.ended(.complete)]
        let fixture = TurnFixture([answer]) {
            $0.policy = .httpSSEOnly
            $0.maxHTTPRetries = 0
            $0.rawEvents = .none
        }
        return await fixture.run()
    }

    @Test(arguments: shapes, shapes)
    fileprivate func outputOfAnotherResponseIsInNoCompleteTurn(
        _ own: [WholeResponse.Kind], _ other: [WholeResponse.Kind]
    ) async {
        let response = WholeResponse(id: "own", items: own)
        let events = response.events
        let tails = WholeResponse(id: "other", items: other).events
        for place in 2..<events.count {
            for start in tails.indices {
                var mixed = events
                mixed.insert(contentsOf: tails[start...], at: place)
                let outcome = await Self.run(mixed)
                guard outcome.error == nil else { continue }
                let comment: Comment = "event \(place), then \(tails.count - start) of the other response"
                var (reasoning, refusal) = ("", "")
                for event in outcome.events {
                    switch event {
                    case .reasoningDelta(let delta): reasoning += delta
                    case .refusalDelta(let delta): refusal += delta
                    default: break
                    }
                }
                // Another server may have answered, whose output is all of it; and an end may omit reasoning.
                let isAnnounced = tails[start...].contains { $0.contains("output_item.added") }
                let own = outcome.text + refusal + (isAnnounced ? "" : reasoning)
                guard own.contains("own") else { continue }
                #expect(outcome.text == response.output(.text), comment)
                #expect(reasoning == response.output(.reasoning), comment)
                #expect(refusal == response.output(.refusal), comment)
            }
        }
    }
}
