// Items without identifiers that have one index: their ends, which may come late, are matched by content and by the order
// of the announcements.

import StreamTransport
import Testing

@testable import ChappieTransport

/// Two messages, or two items of reasoning, without identifiers.
private struct NamelessItems {
    enum Index: CaseIterable {
        case absent, null, zero, own

        func json(_ place: Int) -> String {
            switch self {
            case .absent: ""
            case .null: #""output_index":null,"#
            case .zero: #""output_index":0,"#
            case .own: #""output_index":\#(place),"#
            }
        }
    }

    let texts: [String]
    let isReasoning: Bool
    let index: Index
    /// The closing texts of an item that come behind its deltas, and those that come behind both items: a bit each for the
    /// text's, the part's and the item's end.
    let inTime: Int
    let late: Int
    let hasList: Bool

    static func all(_ texts: [String], isReasoning: Bool) -> [Self] {
        Index.allCases.flatMap { index in
            [0, 1, 3].flatMap { inTime in
                [4, 5, 7].flatMap { late in
                    [true, false].map {
                        Self(
                            texts: texts, isReasoning: isReasoning, index: index, inTime: inTime, late: late,
                            hasList: $0)
                    }
                }
            }
        }
    }

    private func item(_ text: String) -> String {
        let part =
            text.isEmpty ? "" : #"{"type":"\#(self.isReasoning ? "summary_text" : "output_text")","text":"\#(text)"}"#
        return self.isReasoning
            ? #"{"type":"reasoning","summary":[\#(part)]}"#
            : #"{"type":"message","role":"assistant","content":[\#(part)]}"#
    }

    private func event(_ type: String, _ place: Int, _ members: String) -> String {
        #"{"type":"response.\#(type)",\#(self.index.json(place))\#(members)}"#
    }

    private func closings(_ place: Int, _ chosen: Int) -> [String] {
        let text = self.texts[place]
        let part = #"{"type":"\#(self.isReasoning ? "summary_text" : "output_text")","text":"\#(text)"}"#
        let events = [
            self.event(
                self.isReasoning ? "reasoning_summary_text.done" : "output_text.done", place, #""text":"\#(text)""#),
            self.event(
                self.isReasoning ? "reasoning_summary_part.done" : "content_part.done", place, #""part":\#(part)"#),
            self.event("output_item.done", place, #""item":\#(self.item(text))"#),
        ]
        return events.enumerated().compactMap { chosen & (1 << $0) != 0 ? $1 : nil }
    }

    var events: [String] {
        let delta = self.isReasoning ? "reasoning_summary_text.delta" : "output_text.delta"
        let begun = self.texts.indices.flatMap { place in
            [self.event("output_item.added", place, #""item":\#(self.item(""))"#)]
                + self.texts[place].map { self.event(delta, place, #""delta":"\#($0)""#) }
                + self.closings(place, self.inTime)
        }
        let list = self.hasList ? #","output":[\#(self.texts.map(self.item).joined(separator: ","))]"# : ""
        return [Event.created] + begun + self.texts.indices.flatMap { self.closings($0, self.late) }
            + [Event.completed("r", list)]
    }
}

@Suite struct NamelessItemTests {
    private static func item(_ text: String, _ member: String) -> String {
        let type = member == "summary" ? "summary_text" : "reasoning_text"
        let parts = text.isEmpty ? "" : #"{"type":"\#(type)","text":"\#(text)"}"#
        return #"{"type":"reasoning","\#(member)":[\#(parts)]}"#
    }

    /// An item of reasoning in one member.
    private static func begin(_ text: String, _ member: String) -> [String] {
        let type = member == "summary" ? "reasoning_summary_text" : "reasoning_text"
        return [
            #"{"type":"response.output_item.added","output_index":0,"item":\#(Self.item("", member))}"#,
            #"{"type":"response.\#(type).delta","output_index":0,"delta":"\#(text)"}"#,
        ]
    }

    private static func end(_ text: String, _ member: String) -> String {
        #"{"type":"response.output_item.done","output_index":0,"item":\#(Self.item(text, member))}"#
    }

    /// The first item ends in the member that its deltas are not of; the second one's end has more than its deltas.
    @Test func anItemThatEndsInItsOtherMemberHasEnded() async {
        let events =
            [Event.created] + Self.begin("AB", "content") + [Self.end("AB", "summary")] + Self.begin("A", "content")
            + [Self.end("AB", "content"), Event.completed]
        let outcome = await TurnFixture([.socket(events)]) { $0.rawEvents = .none }.run()
        #expect(outcome.error == nil && outcome.reasoning == "ABAB", "\(outcome.reasoning)")
    }

    @Test func lateEndsOfReasoningInDifferentMembersAddNothing() async {
        for (first, second) in [("summary", "content"), ("content", "summary"), ("content", "content")] {
            let events =
                [Event.created] + Self.begin("AB", first) + Self.begin("Hi", second)
                + [Self.end("AB", first), Self.end("Hi", second), Event.completed]
            let outcome = await TurnFixture([.socket(events)]) { $0.rawEvents = .none }.run()
            #expect(outcome.error == nil && outcome.reasoning == "ABHi", "\(outcome.reasoning): \(events)")
        }
    }

    /// The newest item has ended with a text that begins the one before, or in the other member.
    @Test func aRepeatedEndOfAnEarlierItemAddsNothing() async {
        for (first, second) in [("summary", "summary"), ("content", "content"), ("summary", "content")] {
            let end = Self.end("Hello world.", first)
            let events =
                [Event.created] + Self.begin("Hello world.", first) + [end] + Self.begin("Hello", second)
                + [Self.end("Hello", second), end, Event.completed]
            let outcome = await TurnFixture([.socket(events)]) { $0.rawEvents = .none }.run()
            #expect(outcome.transportFailure?.code == .contradictoryEvents, "\(events)")
            #expect(outcome.reasoning == "Hello world.Hello", "\(events)")
        }
    }

    @Test(
        arguments: [["Yes", "Ye"], ["Ye", "Yes"], ["Yes", "Yes"], ["Yes", "No"], ["Yes", "Ye", "Y"]],
        [true, false])
    func lateEndsOfItemsWithoutNamesAddNothing(texts: [String], isReasoning: Bool) async {
        for items in NamelessItems.all(texts, isReasoning: isReasoning) {
            let events = items.events
            for cut in [nil, 4] {
                let begun = cut.map { [[ScriptStep].socket(Array(events.prefix($0)), isBroken: true)] } ?? []
                let outcome = await TurnFixture(begun + [.socket(events), .socket(events), .socket(events)]) {
                    $0.rawEvents = .none
                }.run()
                let text = isReasoning ? outcome.reasoning : outcome.text
                #expect(outcome.error == nil && text == texts.joined(), "\(text), cut \(cut ?? 0): \(events)")
            }
        }
    }
}
