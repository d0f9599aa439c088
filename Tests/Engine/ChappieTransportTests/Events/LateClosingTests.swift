// Closing events of an item that come late, or again, behind a later item whose index is the same. Neighbours of reports:
// lemonade-sdk/lemonade issue 3607, decolua/9router issue 2611, BerriAI/litellm pull request 36375.

import StreamTransport
import Testing

@testable import ChappieTransport

/// Two items of a server that gives each event another identifier, and repeats closing events of the first one.
private struct RenamedItems {
    enum Kind: CaseIterable {
        case message, reasoning, call, tool

        var isCall: Bool { self == .call || self == .tool }
    }

    /// The place of the repeated events: behind the second item's announcement, or behind its deltas.
    enum Place: CaseIterable {
        case announcement, deltas
    }

    let kind: Kind
    /// The text, the arguments or the input of each item.
    let contents: [String]
    /// The numbers of the closing events that the first item has, and of those that are repeated; the last one is the
    /// item's end.
    var inTime = [0, 1, 2]
    var again: [Int] = []
    var place = Place.announcement
    var hasDeltas = true
    /// Indicates whether the ends of the items repeat their contents.
    var areEndsWhole = true
    var hasList = false

    /// The events, each of which has an identifier of its own.
    var events: [String] {
        let second = self.begin(1)
        let repeated = self.again.map { self.closings(0)[$0] }
        let items =
            self.begin(0) + self.inTime.map { self.closings(0)[$0] } + second.prefix(1)
            + (self.place == .announcement ? repeated : []) + second.dropFirst()
            + (self.place == .deltas ? repeated : []) + self.closings(1)
        let list = [0, 1].map { self.item($0, isWhole: true) }.joined(separator: ",")
        let all = items + [Event.completed("r", self.hasList ? #","output":[\#(list)]"# : "")]
        return [Event.created] + all.enumerated().map { $1.replacing("ID", with: "e\($0)") }
    }

    /// What a consumer gets.
    var isDelivered: (TurnOutcome, CompletedResponse?) -> Bool {
        { outcome, response in
            let text = self.contents.joined()
            let calls = response?.calls.map { "\($0.callID) \($0.name) \($0.payload)" }
            let expected = self.contents.enumerated().map { place, content in
                "c\(place) f\(place) \(content.isEmpty && self.kind == .call ? "{}" : content.replacing("\\", with: ""))"
            }
            return outcome.error == nil && outcome.text == (self.kind == .message ? text : "")
                && outcome.reasoning == (self.kind == .reasoning ? text : "")
                && calls == (self.kind.isCall ? expected : [])
                && (self.kind == .reasoning || response?.items.count == 2)
        }
    }

    private func item(_ place: Int, isWhole: Bool) -> String {
        let content = isWhole ? self.contents[place] : ""
        let part = content.isEmpty ? "" : #"{"type":"\#(self.partType)","text":"\#(content)"}"#
        let members =
            switch self.kind {
            case .message: #""type":"message","role":"assistant","content":[\#(part)]"#
            case .reasoning: #""type":"reasoning","summary":[\#(part)]"#
            case .call: #""type":"function_call","call_id":"c\#(place)","name":"f\#(place)","arguments":"\#(content)""#
            case .tool: #""type":"custom_tool_call","call_id":"c\#(place)","name":"f\#(place)","input":"\#(content)""#
            }
        return #"{"id":"ID-\#(place)",\#(members)}"#
    }

    private var partType: String { self.kind == .message ? "output_text" : "summary_text" }

    private var textType: String {
        switch self.kind {
        case .message: "output_text"
        case .reasoning: "reasoning_summary_text"
        case .call: "function_call_arguments"
        case .tool: "custom_tool_call_input"
        }
    }

    private func event(_ type: String, _ place: Int, _ members: String) -> String {
        #"{"type":"response.\#(type)","output_index":\#(place),\#(members)}"#
    }

    private func begin(_ place: Int) -> [String] {
        let added = self.event("output_item.added", place, #""item":\#(self.item(place, isWhole: false))"#)
        let content = self.contents[place]
        guard self.hasDeltas, !content.isEmpty else { return [added] }
        return [added, self.event("\(self.textType).delta", place, #""item_id":"ID","delta":"\#(content)""#)]
    }

    private func closings(_ place: Int) -> [String] {
        let content = self.contents[place]
        let member = self.kind == .call ? "arguments" : self.kind == .tool ? "input" : "text"
        let text = self.event("\(self.textType).done", place, #""item_id":"ID","\#(member)":"\#(content)""#)
        let part = self.event(
            self.kind == .message ? "content_part.done" : "reasoning_summary_part.done", place,
            #""item_id":"ID","part":{"type":"\#(self.partType)","text":"\#(content)"}"#)
        let end = #""item":\#(self.item(place, isWhole: self.areEndsWhole))"#
        return [text, self.kind.isCall ? text : part, self.event("output_item.done", place, end)]
    }
}

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

    // MARK: Events that have an identifier each

    private static let contents: [RenamedItems.Kind: [[String]]] = [
        .message: [["One.", "Two."], ["One.", "One."], ["One.", "One. Two."], ["One.", ""]],
        .reasoning: [["One.", "Two."], ["One.", "One."], ["One.", "One. Two."], ["One.", ""]],
        .call: [
            [#"{\"a\":1}"#, #"{\"b\":2}"#], [#"{\"a\":1}"#, #"{\"a\":1}"#], [#"{\"a\":1}"#, ""], ["", #"{\"b\":2}"#],
            ["", ""],
        ],
        .tool: [["x", "y"], ["x", "x"], ["x", "xy"], ["x", ""]],
    ]

    private static func complete(_ events: [String], cut: Int? = nil) async -> (TurnOutcome, CompletedResponse?) {
        let begun = cut.map { [[ScriptStep].socket(Array(events.prefix($0)), isBroken: true)] } ?? []
        return await TurnFixture(begun + [.socket(events), .socket([Event.completed])]) { $0.rawEvents = .none }
            .complete(conversation([WireItem.question]) { $0.runsCalls = true })
    }

    /// Neither the identifier of such an event nor the open item decides, but the index of the item that has its content.
    @Test(arguments: RenamedItems.Kind.allCases, RenamedItems.Place.allCases)
    private func closingEventsRepeatedUnderOtherIdentifiersAddNothing(
        kind: RenamedItems.Kind, place: RenamedItems.Place
    ) async {
        for contents in Self.contents[kind, default: []] {
            for (inTime, again) in [[2], [0, 1, 2]].flatMap({ inTime in
                [[], [0], [1], [2], [0, 1, 2]].map { (inTime, $0) }
            }) {
                for (hasDeltas, hasList) in [(true, true), (true, false), (false, true), (false, false)] {
                    let items = RenamedItems(
                        kind: kind, contents: contents, inTime: inTime, again: again, place: place,
                        hasDeltas: hasDeltas, hasList: hasList)
                    let cuts = again.count == 3 ? [items.events.count / 2, items.events.count - 1] : []
                    for cut in [nil] + cuts {
                        let (outcome, response) = await Self.complete(items.events, cut: cut)
                        #expect(items.isDelivered(outcome, response), "\(outcome), cut \(cut ?? 0): \(items.events)")
                    }
                }
            }
        }
    }

    /// The ends of the items leave their contents out.
    @Test(arguments: RenamedItems.Kind.allCases, RenamedItems.Place.allCases)
    private func closingEventsRepeatedBehindAnEndWithoutContentAddNothing(
        kind: RenamedItems.Kind, place: RenamedItems.Place
    ) async {
        for contents in Self.contents[kind, default: []] where !contents[0].isEmpty {
            for again in [[0], [1], [0, 1], [2]] where kind.isCall || again != [2] {
                let items = RenamedItems(
                    kind: kind, contents: contents, inTime: [0, 2], again: again, place: place, areEndsWhole: false)
                let (outcome, response) = await Self.complete(items.events)
                #expect(items.isDelivered(outcome, response), "\(outcome): \(items.events)")
            }
        }
    }

    /// A message of two texts, each of which is closed again, and so is the item.
    @Test func partsThatAreClosedAgainUnderOtherIdentifiersAddNothing() async {
        func event(_ type: String, _ part: Int, _ member: String) -> String {
            #"{"type":"response.output_text.\#(type)","output_index":0,"content_index":\#(part),"item_id":"ID","#
                + #""\#(member)":"\#(["One.", "Two."][part])"}"#
        }
        func added(at index: Int) -> String {
            #"{"type":"response.output_item.added","output_index":\#(index),"item":{"id":"ID","type":"message"}}"#
        }
        let parts = ["One.", "Two."].map { #"{"type":"output_text","text":"\#($0)"}"# }.joined(separator: ",")
        let closings =
            [0, 1].map { event("done", $0, "text") }
            + [Event.done(#"{"id":"ID","type":"message","role":"assistant","content":[\#(parts)]}"#)]
        for again in [[0], [1], [2], [1, 0], [0, 1, 2]] {
            let items =
                [added(at: 0)] + [0, 1].map { event("delta", $0, "delta") } + closings + [added(at: 1)]
                + again.map { closings[$0] } + [Event.completed]
            let events = [Event.created] + items.enumerated().map { $1.replacing("ID", with: "e\($0)") }
            let (outcome, _) = await Self.complete(events)
            #expect(outcome.error == nil && outcome.text == "One.Two.", "\(outcome.text): \(events)")
        }
    }

    /// Another content than that of the finished item, or the name of another function, is that of the open one.
    @Test func otherContentUnderTheIndexOfAFinishedItemIsTheOpenItems() async {
        let messages = RenamedItems(kind: .message, contents: ["One.", ""], areEndsWhole: false).events
        let text = #"{"type":"response.output_text.done","output_index":0,"item_id":"x","text":"Two."}"#
        let (outcome, _) = await Self.complete(messages.dropLast(4) + [text, Event.completed])
        #expect(outcome.error == nil && outcome.text == "One.Two.")
        let calls = RenamedItems(kind: .call, contents: [#"{\"a\":1}"#, ""]).events
        for (members, payload) in [
            (#""arguments":"{\"b\":2}""#, #"{"b":2}"#), (#""name":"f1","arguments":"{\"a\":1}""#, #"{"a":1}"#),
        ] {
            let closing =
                #"{"type":"response.function_call_arguments.done","output_index":0,"item_id":"x",\#(members)}"#
            let (outcome, response) = await Self.complete(calls.dropLast(4) + [closing] + calls.suffix(2))
            #expect(outcome.error == nil, "\(members)")
            #expect(response?.calls.map(\.payload) == [#"{"a":1}"#, payload], "\(members)")
        }
    }

    /// A gateway gives the events of all items the response's identifier and one index (databricks/unity-gateway issue 99).
    @Test func argumentsUnderTheResponsesIdentifierAreTheOpenCalls() async {
        func event(_ type: String, _ index: Int, _ members: String) -> String {
            #"{"type":"response.\#(type)","output_index":\#(index),\#(members)}"#
        }
        func item(_ number: Int, _ arguments: String) -> String {
            let call = #""call_id":"c\#(number)","name":"f\#(number)","arguments":"\#(arguments)""#
            return #""item":{"id":"i\#(number)","type":"function_call",\#(call)}"#
        }
        let arguments = #"{\"a\":1}"#
        let events = [0, 1].flatMap { number in
            [
                event("output_item.added", number, item(number, "")),
                event("function_call_arguments.done", 0, #""item_id":"r","arguments":"\#(arguments)""#),
                event("output_item.done", number, item(number, number == 0 ? arguments : "")),
            ]
        }
        let (outcome, response) = await Self.complete([Event.created] + events + [Event.completed])
        #expect(outcome.error == nil)
        #expect(response?.calls.map(\.payload) == [#"{"a":1}"#, #"{"a":1}"#])
    }

    /// The first end of a call leaves its arguments out, whose deltas stop early, and the second one has them.
    @Test func anEndWithMoreArgumentsIsNoRepetition() async {
        let cut = RenamedItems(kind: .call, contents: [#"{\"a\":"#, ""], inTime: [2], areEndsWhole: false).events
        let end = RenamedItems(kind: .call, contents: [#"{\"a\":1}"#, ""], inTime: [2]).events[3]
        let events = cut.dropLast(4) + [end.replacing("e2", with: "x")] + cut.suffix(2)
        let (outcome, response) = await Self.complete(Array(events))
        #expect(outcome.transportFailure?.code == .contradictoryEvents && response == nil, "\(events)")
    }
}
