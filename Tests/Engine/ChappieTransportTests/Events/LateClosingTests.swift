// Closing events of an item that come late, or again, behind a later item whose index is the same. Neighbours of reports:
// lemonade-sdk/lemonade issue 3607, decolua/9router issue 2611, BerriAI/litellm pull request 36375.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct LateClosingTests {
    /// An item with a name, whose events have a common index, or none.
    private struct Item {
        let id: String
        let index: String
        let text: String

        private func event(_ type: String, _ members: String) -> String {
            #"{"type":"response.\#(type)",\#(self.index)"item_id":"\#(self.id)",\#(members)}"#
        }

        func item(isWhole: Bool) -> String {
            let text = isWhole ? self.text : ""
            let members =
                switch self.id.first {
                case "t": #""type":"reasoning","summary":[{"type":"summary_text","text":"\#(text)"}]"#
                case "f": #""type":"function_call","call_id":"c","name":"f","arguments":"\#(isWhole ? "{}" : "")""#
                default: #""type":"message","role":"assistant","content":[{"type":"output_text","text":"\#(text)"}]"#
                }
            return #"{"id":"\#(self.id)",\#(members)}"#
        }

        private func itemEvent(_ type: String, isWhole: Bool) -> String {
            #"{"type":"response.output_item.\#(type)",\#(self.index)"item":\#(self.item(isWhole: isWhole))}"#
        }

        private var isText: Bool { self.id.first == "m" }

        var begin: [String] {
            let delta = self.isText ? "output_text.delta" : "reasoning_summary_text.delta"
            let added = self.itemEvent("added", isWhole: false)
            return self.id.first == "f" ? [added] : [added, self.event(delta, #""delta":"\#(self.text)""#)]
        }

        /// The events that close the text, the part and the item.
        var closings: [String] {
            let part = #"{"type":"\#(self.isText ? "output_text" : "summary_text")","text":"\#(self.text)"}"#
            let types =
                self.isText
                ? ["output_text.done", "content_part.done"]
                : ["reasoning_summary_text.done", "reasoning_summary_part.done"]
            let texts = [
                self.event(types[0], #""text":"\#(self.text)""#), self.event(types[1], #""part":\#(part)"#),
            ]
            return (self.id.first == "f" ? [] : texts) + [self.itemEvent("done", isWhole: true)]
        }

        /// The item with the closing events whose numbers are given.
        func events(_ chosen: [Int]) -> [String] { self.begin + chosen.map { self.closings[$0] } }
    }

    /// Items without identifiers, whose texts are closed with the index of the next item: the same answer comes again.
    @Test func closingTextsWithTheNextIndexAreRepeatedAfterACut() async {
        let items = ["Hello", "AB"].enumerated().flatMap { index, text in
            [#"{"type":"response.output_item.added","output_index":\#(index),"item":{"type":"message","content":[]}}"#]
                + text.map { #"{"type":"response.output_text.delta","output_index":\#(index),"delta":"\#($0)"}"# }
                + [#"{"type":"response.output_text.done","output_index":\#(index + 1),"text":"\#(text)"}"#]
        }
        let events = [Event.created] + items + [Event.completed]
        for cut in 2..<events.count {
            let outcome = await TurnFixture([.socket(Array(events.prefix(cut)), isBroken: true), .socket(events)]) {
                $0.rawEvents = .none
            }.run()
            #expect(outcome.error == nil && outcome.text == "HelloAB", "\(outcome.text), cut \(cut)")
        }
    }

    private static func run(_ events: [String], cut: Int?) async -> (outcome: TurnOutcome, calls: Int?) {
        let begun = cut.map { [[ScriptStep].socket(Array(events.prefix($0)), isBroken: true)] } ?? []
        let (outcome, response) = await TurnFixture(begun + [.socket(events), .socket([Event.completed])]) {
            $0.rawEvents = .none
        }.complete(conversation([WireItem.question]))
        return (outcome, response?.calls.count)
    }

    /// The closing events that come in time, and those that come behind the later item; a number may be in both.
    private static let choices: [(inTime: [Int], late: [Int])] = [
        ([0, 1, 2], [2]), ([0, 1, 2], [0]), ([0, 1, 2], [1]), ([0, 1, 2], [0, 1, 2]), ([1, 2], [0]), ([2], [0, 1]),
        ([0, 1], [2]), ([], [0, 1, 2]),
    ]

    @Test(
        arguments: [["t", "m"], ["m", "f"], ["m1", "m2"], ["t", "m", "f"], ["t1", "t2", "m"]],
        [#""output_index":0,"#, "", #""output_index":null,"#])
    func lateClosingEventsOfANamedItemAddNothing(ids: [String], index: String) async {
        let items = ids.map { Item(id: $0, index: index, text: $0.first == "m" ? "Hello \($0)" : "Hm \($0)") }
        let list = items.map { $0.item(isWhole: true) }.joined(separator: ",")
        for (choice, isLate) in Self.choices.flatMap({ [($0, true), ($0, false)] }) {
            for hasList in [true, false] {
                // Behind the later items, or within the first of them.
                let late = choice.late.map { items[0].closings[$0] }
                let others = items.dropFirst().map { $0.events($0.id.first == "f" ? [0] : [0, 1, 2]) }
                let next = others[0].prefix(1) + (isLate ? [] : late) + others[0].dropFirst()
                let events =
                    [Event.created] + items[0].events(choice.inTime) + next + others.dropFirst().flatMap { $0 }
                    + (isLate ? late : []) + [Event.completed("r", hasList ? #","output":[\#(list)]"# : "")]
                for cut in [nil, events.count / 2, events.count - 1] {
                    let (outcome, calls) = await Self.run(events, cut: cut)
                    #expect(outcome.error == nil, "\(events)")
                    #expect(outcome.text == items.filter { $0.id.first == "m" }.map(\.text).joined(), "\(events)")
                    #expect(outcome.reasoning == items.filter { $0.id.first == "t" }.map(\.text).joined(), "\(events)")
                    #expect(calls == ids.count { $0 == "f" }, "\(events)")
                }
            }
        }
    }

    /// An item of another agent comes between the root's, in one of two equal answers, or in both.
    @Test(arguments: [(true, false), (false, true), (true, true)], [0, 21])
    func itemsOfOtherAgentsDoNotChangeThePlacesOfTheRoots(hasAside: (first: Bool, second: Bool), index: Int) async {
        let items = ["t1", "m1", "m2"].map { Item(id: $0, index: #""output_index":0,"#, text: "Hm \($0)") }
        let aside =
            #"{"type":"response.output_item.added","output_index":\#(index),"item":{"id":"a","type":"message","#
            + #""role":"assistant","agent":{"agent_name":"/root/other"},"content":[]}}"#
        let list = items.map { $0.item(isWhole: true) }.joined(separator: ",")
        func events(_ hasAside: Bool) -> [String] {
            [Event.created] + items[0].events([0, 1, 2]) + (hasAside ? [aside] : [])
                + items.dropFirst().flatMap { $0.events([0, 1, 2]) } + [items[1].closings[0]]
                + [Event.completed("r", #","output":[\#(list)]"#)]
        }
        let first = events(hasAside.first)
        for cut in 1..<first.count {
            let scripts: [[ScriptStep]] = [
                .socket(Array(first.prefix(cut)), isBroken: true), .socket(events(hasAside.second)),
            ]
            let (outcome, _) = await TurnFixture(scripts) { $0.rawEvents = .none }
                .complete(conversation([WireItem.question]))
            #expect(outcome.error == nil, "\(cut)")
            #expect(outcome.text == "Hm m1Hm m2")
            #expect(outcome.reasoning == "Hm t1")
        }
    }

    /// Deltas have the message's identifier and no index, and its end has an index behind that of reasoning.
    @Test(arguments: [[], ["added"], ["done"], ["added", "done"]], [[], [0], [1], [0, 1]])
    func anEndAtAnotherIndexIsThatOfTheItemThatItNames(reasoning: [String], closings: [Int]) async {
        let thought = #"{"type":"reasoning","id":"t","summary":[]}"#
        let message = Item(id: "m", index: "", text: "Hello")
        let begun = reasoning.map { #"{"type":"response.output_item.\#($0)","output_index":0,"item":\#(thought)}"# }
        let end = #"{"type":"response.output_item.done","output_index":1,"item":\#(message.item(isWhole: true))}"#
        for hasList in [true, false] {
            let list = hasList ? #","output":[\#(thought),\#(message.item(isWhole: true))]"# : ""
            let events =
                [Event.created] + begun + message.begin.dropFirst() + closings.map { message.closings[$0] }
                + [end, Event.completed("r", list)]
            for cut in [nil, events.count - 2] {
                let (outcome, _) = await Self.run(events, cut: cut)
                #expect(outcome.error == nil, "\(events)")
                #expect(outcome.text == "Hello", "\(events)")
            }
        }
    }

    /// A text that was closed is closed once more, by an event that is of no announced item: it has no identifier, the
    /// response's or an unknown one, and another index, or those of an item that can have no text.
    @Test(
        arguments: [
            #""output_index":1,"#, #""output_index":7,"item_id":"","#, #""output_index":1,"item_id":"r","#,
            #""output_index":1,"item_id":"z","#, #""output_index":0,"item_id":"f","#,
            #""output_index":1,"item_id":"f","#,
        ], ["output_text.done", "content_part.done"])
    func aTextThatIsClosedAgainOutsideOfAnItemAddsNothing(place: String, type: String) async {
        let message = Item(id: "m", index: #""output_index":0,"#, text: "Hello")
        let call = Item(id: "f", index: #""output_index":1,"#, text: "")
        let text = type == "output_text.done" ? #""text":"Hello""# : #""part":{"type":"output_text","text":"Hello"}"#
        let again = #"{"type":"response.\#(type)",\#(place)\#(text)}"#
        let list = #","output":[\#(message.item(isWhole: true)),\#(call.item(isWhole: true))]"#
        for hasList in [true, false] {
            let end = Event.completed("r", hasList ? list : "")
            let behindAll = [Event.created] + message.events([0, 1, 2]) + call.events([0]) + [again, end]
            let behindText =
                [Event.created] + message.events([0]) + [again] + message.closings.dropFirst() + call.events([0])
            for events in [behindAll, behindText + [end]] {
                for cut in [nil, events.count - 2] {
                    let (outcome, calls) = await Self.run(events, cut: cut)
                    #expect(outcome.error == nil, "\(events)")
                    #expect(outcome.text == "Hello", "\(events)")
                    #expect(calls == 1, "\(events)")
                }
            }
        }
    }

    /// The message was announced without an identifier, or under another one than its events have, and its closing events
    /// come behind an item of another kind at the same index.
    @Test(arguments: [nil, "a"], [("t", #""output_index":0,"#), ("t", ""), ("f", #""output_index":0,"#), ("f", "")])
    func lateClosingEventsOfAMessageWithAnotherIdentifierAddNothing(
        announced: String?, following: (id: String, index: String)
    ) async {
        let (next, index) = following
        let message = Item(id: "m", index: index, text: "Hello")
        let other = Item(id: next, index: index, text: "Hm")
        let identifier = announced.map { #""id":"\#($0)","# } ?? ""
        let added =
            #"{"type":"response.output_item.added",\#(index)"item":{\#(identifier)"type":"message","role":"assistant","#
            + #""content":[]}}"#
        let list = #","output":[\#(message.item(isWhole: true)),\#(other.item(isWhole: true))]"#
        for (choice, hasList) in Self.choices.flatMap({ [($0, true), ($0, false)] }) {
            let events =
                [Event.created, added] + message.begin.dropFirst() + choice.inTime.map { message.closings[$0] }
                + other.events(next == "f" ? [0] : [0, 1, 2]) + choice.late.map { message.closings[$0] }
                + [Event.completed("r", hasList ? list : "")]
            for cut in [nil, events.count - 2] {
                let (outcome, calls) = await Self.run(events, cut: cut)
                #expect(outcome.error == nil, "\(events)")
                #expect(outcome.text == "Hello", "\(events)")
                #expect(calls == (next == "f" ? 1 : 0), "\(events)")
            }
        }
    }

    /// Messages that come in their ends alone, some of them announced; one text may begin with the other, or be the same,
    /// where the server announces both messages or none.
    @Test(arguments: [[], [0], [1], [0, 1]], [["One", "One two"], ["One two", "One"], ["One", "One"]])
    func messagesWithoutDeltasAreAllDelivered(announced: [Int], texts: [String]) async {
        guard announced.count != 1 || texts[0] != texts[1] else { return }
        let items = texts.enumerated().map {
            Item(id: "m\($0.offset)", index: #""output_index":\#($0.offset),"#, text: $0.element)
        }
        let events = items.enumerated().flatMap { place, item in
            (announced.contains(place) ? [item.begin[0]] : []) + [item.closings[2]]
        }
        for list in ["", #","output":[\#(items.map { $0.item(isWhole: true) }.joined(separator: ","))]"#] {
            let whole = [Event.created] + events + [Event.completed("r", list)]
            for cut in [nil, whole.count - 2, whole.count - 1] {
                let (outcome, _) = await Self.run(whole, cut: cut)
                #expect(outcome.error == nil, "\(whole)")
                #expect(outcome.text == texts.joined(), "\(whole)")
            }
        }
    }
}
