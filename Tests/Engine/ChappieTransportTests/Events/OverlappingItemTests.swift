// Items that are open at one time are told apart by their names where their indices do not, and by their content where
// neither do. Reported of servers: theopenco/llmgateway pull request 2908, decolua/9router issue 2611.

import ResponseEvents
import StreamTransport
import Testing

@testable import ChappieTransport

/// The `output_index` of an event, as a server sends it.
private enum Index: CaseIterable {
    case own, absent, null, zero

    func json(_ place: Int) -> String {
        switch self {
        case .own: #""output_index":\#(place),"#
        case .absent: ""
        case .null: #""output_index":null,"#
        case .zero: #""output_index":0,"#
        }
    }
}

/// A response whose items are all announced before the first of them is written.
private struct OverlappingItems {
    enum Item: Character {
        case reasoning = "r"
        case message = "m"
        case call = "c"
    }

    /// The items in the order of their announcements.
    let items: [Item]
    let index: Index
    /// Indicates whether the items are written piece by piece in turn, and not one behind the other.
    var isInTurn = false

    static let text = "Hello you"
    static let thought = "Think twice"

    private func arguments(_ place: Int) -> String { #"{\"n\":\#(place)}"# }

    /// The item at a place, with its content or before it.
    private func item(_ place: Int, isWhole: Bool) -> String {
        let id = #"{"id":"i\#(place)","#
        switch self.items[place] {
        case .reasoning:
            let part = isWhole ? #"{"type":"summary_text","text":"\#(Self.thought)"}"# : ""
            return id + #""type":"reasoning","summary":[\#(part)]}"#
        case .message:
            let part = isWhole ? #"{"type":"output_text","text":"\#(Self.text)"}"# : ""
            return id + #""type":"message","role":"assistant","content":[\#(part)]}"#
        case .call:
            let arguments = isWhole ? self.arguments(place) : ""
            return id + #""type":"function_call","call_id":"c\#(place)","name":"f","arguments":"\#(arguments)"}"#
        }
    }

    private func event(_ type: String, _ place: Int, _ members: String) -> String {
        #"{"type":"response.\#(type)",\#(self.index.json(place))\#(members)}"#
    }

    /// The deltas of the item at a place, and the event that closes them.
    private func writing(_ place: Int) -> (deltas: [String], end: String) {
        let id = #""item_id":"i\#(place)","#
        switch self.items[place] {
        case .reasoning:
            return (
                ["Think ", "twi", "ce"].map {
                    self.event("reasoning_summary_text.delta", place, id + #""summary_index":0,"delta":"\#($0)""#)
                },
                self.event(
                    "reasoning_summary_text.done", place, id + #""summary_index":0,"text":"\#(Self.thought)""#)
            )
        case .message:
            return (
                ["Hel", "lo", " you"].map {
                    self.event("output_text.delta", place, id + #""content_index":0,"delta":"\#($0)""#)
                },
                self.event("output_text.done", place, id + #""content_index":0,"text":"\#(Self.text)""#)
            )
        case .call:
            return (
                [#"{\"n\":"#, "\(place)", "}"].map {
                    self.event("function_call_arguments.delta", place, id + #""delta":"\#($0)""#)
                },
                self.event("function_call_arguments.done", place, id + #""arguments":"\#(self.arguments(place))""#)
            )
        }
    }

    /// The events, with the closing events that are chosen by a bit each: of the deltas, of the item, of the response.
    func events(closings: Int) -> [String] {
        let places = self.items.indices
        let written = places.map { self.writing($0) }
        let deltas =
            self.isInTurn
            ? (0..<3).flatMap { piece in written.map { $0.deltas[piece] } } : written.flatMap(\.deltas)
        let ends = written.map(\.end)
        let itemEnds = places.map { self.event("output_item.done", $0, #""item":\#(self.item($0, isWhole: true))"#) }
        let list = places.map { self.item($0, isWhole: true) }.joined(separator: ",")
        return [Event.created]
            + places.map { self.event("output_item.added", $0, #""item":\#(self.item($0, isWhole: false))"#) }
            + deltas + (closings & 1 != 0 ? ends : []) + (closings & 2 != 0 ? itemEnds : [])
            + [Event.completed("r", closings & 4 != 0 ? #","output":[\#(list)]"# : "")]
    }

    /// Returns whether a consumer has received each content once.
    func isDelivered(in outcome: TurnOutcome, calls: [FinishedCall]?) -> Bool {
        var thought = ""
        for case .reasoningDelta(let piece) in outcome.events { thought += piece }
        let callPlaces = self.items.indices.filter { self.items[$0] == .call }
        return outcome.text == (self.items.contains(.message) ? Self.text : "")
            && thought == (self.items.contains(.reasoning) ? Self.thought : "")
            && calls?.map(\.callID) == callPlaces.map { "c\($0)" }
            && calls?.map(\.payload) == callPlaces.map { #"{"n":\#($0)}"# }
    }

    static let all: [OverlappingItems] = ["rm", "mr", "mc", "cm", "cc", "rmcc", "ccmr"].flatMap { kinds in
        Index.allCases.flatMap { index in
            [false, true].map {
                OverlappingItems(items: kinds.compactMap(Item.init), index: index, isInTurn: $0)
            }
        }
    }
}

/// A message whose text is closed behind the announcement of another item, with nothing that tells the two apart.
private struct NamelessMessage {
    enum Names: CaseIterable {
        case none, empty, inAnnouncements
    }

    let next: String
    let names: Names
    /// The members for the position of an event, but for the item's identifier.
    let place: String
    let delta: String

    private static func named(_ item: String, _ id: String) -> String {
        item.replacing("{", with: "{\(id)", maxReplacements: 1)
    }

    private func message(_ text: String, isAnnounced: Bool = false) -> String {
        let part = text.isEmpty ? "" : #"{"type":"output_text","text":"\#(text)"}"#
        return self.item(#"{"type":"message","role":"assistant","content":[\#(part)]}"#, "m", isAnnounced: isAnnounced)
    }

    private func item(_ json: String, _ id: String, isAnnounced: Bool) -> String {
        switch self.names {
        case .none: json
        case .empty: Self.named(json, #""id":"","#)
        case .inAnnouncements: isAnnounced ? Self.named(json, #""id":"\#(id)","#) : json
        }
    }

    private func event(_ type: String, _ members: String) -> String {
        let id = self.names == .empty && !type.hasPrefix("output_item") ? #""item_id":"","# : ""
        return #"{"type":"response.\#(type)",\#(self.place)\#(id)\#(members)}"#
    }

    /// The events, with those that close the message chosen by a bit each: of the text, the part, the item; the last bit
    /// chooses the list at the end of the response.
    func events(closings: Int) -> [String] {
        let text = OverlappingItems.text
        let closing = [
            self.event("output_text.done", #""text":"\#(text)""#),
            self.event("content_part.done", #""part":{"type":"output_text","text":"\#(text)"}"#),
            self.event("output_item.done", #""item":\#(self.message(text))"#),
        ]
        let isCall = self.next.contains("function_call")
        let whole = self.item(
            self.next.replacing(#""arguments":"""#, with: #""arguments":"{}""#), "n", isAnnounced: false)
        return [
            Event.created, self.event("output_item.added", #""item":\#(self.message("", isAnnounced: true))"#),
            self.event("output_text.delta", #""delta":"\#(self.delta)""#),
            self.event("output_item.added", #""item":\#(self.item(self.next, "n", isAnnounced: true))"#),
        ] + closing.indices.filter { closings & (1 << $0) != 0 }.map { closing[$0] }
            + (isCall ? [self.event("output_item.done", #""item":\#(whole)"#)] : [])
            + [Event.completed("r", closings & 8 != 0 ? #","output":[\#(self.message(text)),\#(whole)]"# : "")]
    }

    static let all: [NamelessMessage] = [
        #"{"type":"reasoning","summary":[]}"#, #"{"type":"message","role":"assistant","content":[]}"#,
        #"{"type":"web_search_call","status":"completed"}"#,
        #"{"type":"function_call","call_id":"c","name":"f","arguments":""}"#,
    ].flatMap { next in
        Names.allCases.flatMap { names in
            ["", #""output_index":0,"content_index":0,"#, #""output_index":null,"#].flatMap { place in
                [OverlappingItems.text, "Hello "].map {
                    NamelessMessage(next: next, names: names, place: place, delta: $0)
                }
            }
        }
    }
}

@Suite struct OverlappingItemTests {
    private static func added(_ item: String, at index: Int) -> String {
        #"{"type":"response.output_item.added","output_index":\#(index),"item":\#(item)}"#
    }

    private static func run(_ script: [[ScriptStep]]) async -> (outcome: TurnOutcome, response: CompletedResponse?) {
        await TurnFixture(script) { $0.rawEvents = .none }
            .complete(conversation([WireItem.question]) { $0.runsCalls = true })
    }

    @Test(arguments: OverlappingItems.all)
    private func itemsOfOneIndexAreToldApartByTheirNames(_ items: OverlappingItems) async {
        for closings in 0..<8 where closings != 0 || !items.items.contains(.call) {
            let events = items.events(closings: closings)
            let (outcome, response) = await Self.run([.socket(events)])
            #expect(outcome.error == nil, "\(events)")
            #expect(items.isDelivered(in: outcome, calls: response?.calls), "\(outcome.events) of \(events)")
        }
    }

    @Test(arguments: OverlappingItems.all)
    private func cutItemsOfOneIndexComeOnce(_ items: OverlappingItems) async {
        let events = items.events(closings: 7)
        for cut in 1..<events.count {
            let (outcome, response) = await Self.run([
                .socket(Array(events.prefix(cut)), isBroken: true), .socket(events),
            ])
            #expect(outcome.error == nil, "cut behind \(cut) of \(events)")
            #expect(
                items.isDelivered(in: outcome, calls: response?.calls),
                "\(outcome.events), cut behind \(cut) of \(events)")
        }
    }

    @Test(arguments: NamelessMessage.all)
    private func textThatIsClosedBehindTheNextItemComesOnce(_ message: NamelessMessage) async {
        for closings in 1..<16 {
            let events = message.events(closings: closings)
            let (outcome, response) = await Self.run([.socket(events)])
            #expect(outcome.error == nil, "\(events)")
            #expect(outcome.text == OverlappingItems.text, "\(events)")
            #expect(response?.calls.count == (message.next.contains("function_call") ? 1 : 0))
        }
    }

    /// The closing event has the index of the next item, which has a name and a right announcement.
    @Test(arguments: [0, 1], [nil, "", #""item_id":"z","#])
    func closingTextUnderTheNextItemsIndexClosesTheOpenText(indexOfNext: Int, idOfText: String?) async {
        let part = #"{"type":"output_text","text":"Hello"}"#
        let item = #"{"id":"z","type":"message","role":"assistant","content":[\#(part)]}"#
        // Without a text, the item's end alone.
        let closing =
            idOfText.map {
                #"{"type":"response.output_text.done","output_index":1,"content_index":0,\#($0)"text":"Hello"}"#
            } ?? Event.done(item, at: 1)
        let (outcome, _) = await Self.run([
            .socket([
                Event.created,
                Self.added(#"{"id":"m","type":"message"}"#, at: 0),
                #"{"type":"response.output_text.delta","output_index":0,"item_id":"m","delta":"Hello"}"#,
                Self.added(#"{"id":"n","type":"reasoning"}"#, at: indexOfNext),
                closing, Event.completed("r"),
            ])
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
    }

    /// Gateways give the deltas of all items the response's identifier, or none, and the index 0 or none; the closing
    /// events have the item's own.
    @Test(arguments: [nil, "resp", "x"], [nil, 0, 1])
    func textOfDeltasThatNameAnotherItemComesOnce(id: String?, index: Int?) async {
        let part = #"{"type":"output_text","text":"Hello you"}"#
        let item = #"{"id":"m","type":"message","role":"assistant","content":[\#(part)]}"#
        let name = id.map { #""item_id":"\#($0)","# } ?? ""
        let place = index.map { #""output_index":\#($0),"# } ?? ""
        let closings = [
            [#"{"type":"response.output_text.done","output_index":1,"item_id":"m","text":"Hello you"}"#],
            [#"{"type":"response.content_part.done","output_index":1,"item_id":"m","part":\#(part)}"#],
            [Event.done(item, at: 1)],
            // The deltas' identifier and index, and then the item's own.
            [
                #"{"type":"response.output_text.done",\#(place)\#(name)"text":"Hello you"}"#,
                #"{"type":"response.content_part.done",\#(place)\#(name)"part":\#(part)}"#, Event.done(item, at: 1),
            ],
        ]
        let thought = #"{"id":"n","type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}]}"#
        let delta = { (text: String) in
            #"{"type":"response.output_text.delta",\#(place)\#(name)"delta":"\#(text)"}"#
        }
        let reasoning = #"{"type":"response.reasoning_summary_text.delta",\#(name)"output_index":0,"delta":"Hm"}"#
        for closing in closings {
            for announced in 0..<4 {
                let events =
                    [Event.created] + (announced & 1 != 0 ? [Self.added(#"{"id":"n","type":"reasoning"}"#, at: 0)] : [])
                    + [reasoning]
                    + (announced & 2 != 0 ? [Self.added(#"{"id":"m","type":"message"}"#, at: 1)] : [])
                for deltas in [["Hello", " you"], ["Hello"]] {
                    let (outcome, _) = await Self.run([
                        .socket(
                            events + deltas.map(delta) + closing + [Event.done(thought, at: 0), Event.completed("r")]),
                        .socket([Event.completed]),
                    ])
                    #expect(outcome.error == nil, "\(events) \(closing)")
                    #expect(outcome.text == "Hello you", "\(events) \(closing)")
                    #expect(outcome.reasoning == "Hm", "\(events) \(closing)")
                }
            }
        }
    }

    /// All deltas have one name, which does not identify an item; their indices do.
    @Test(arguments: [false, true], [false, true])
    func itemsOfDeltasWithOneNameAreToldApartByTheirIndices(isAnnounced: Bool, hasList: Bool) async {
        let id = { (name: String) in isAnnounced ? "" : #""id":"\#(name)","# }
        let thought = #"{\#(id("n"))"type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}]}"#
        let part = #"{"type":"output_text","text":"Hello you"}"#
        let message = #"{\#(id("m"))"type":"message","role":"assistant","content":[\#(part)]}"#
        let added = [
            Self.added(#"{"type":"reasoning","summary":[]}"#, at: 0), Self.added(#"{"type":"message"}"#, at: 1),
        ]
        let (outcome, _) = await Self.run([
            .socket(
                [Event.created] + (isAnnounced ? [added[0]] : []) + [
                    #"{"type":"response.reasoning_summary_text.delta","item_id":"r","output_index":0,"delta":"Hm"}"#,
                    Event.done(thought, at: 0),
                ] + (isAnnounced ? [added[1]] : []) + [
                    #"{"type":"response.output_text.delta","item_id":"r","output_index":1,"delta":"Hello "}"#,
                    #"{"type":"response.output_text.delta","item_id":"r","output_index":1,"delta":"you"}"#,
                    Event.done(message, at: 1),
                    Event.completed("r", hasList ? #","output":[\#(thought),\#(message)]"# : ""),
                ]), .socket([Event.completed]),
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello you")
        #expect(outcome.reasoning == "Hm")
    }

    /// The item is not announced, and its end has the deltas' name under the next index.
    @Test(arguments: [nil, 0], [0, 1, nil]) func textOfAnItemThatEndsUnderAnotherIndexComesOnce(index: Int?, end: Int?)
        async
    {
        let place = { (index: Int?) in index.map { #""output_index":\#($0),"# } ?? "" }
        let part = #"{"type":"output_text","text":"Hello"}"#
        let item = #"{"id":"m","type":"message","role":"assistant","content":[\#(part)]}"#
        for closings in 0..<4 {
            var events = [
                Event.created,
                #"{"type":"response.output_text.delta",\#(place(index))"item_id":"m","delta":"Hello"}"#,
            ]
            if closings & 1 != 0 {
                events.append(#"{"type":"response.output_text.done",\#(place(index))"item_id":"m","text":"Hello"}"#)
            }
            events.append(#"{"type":"response.output_item.done",\#(place(end))"item":\#(item)}"#)
            events.append(Event.completed("r", closings & 2 != 0 ? #","output":[\#(item)]"# : ""))
            let (outcome, _) = await Self.run([.socket(events), .socket([Event.completed])])
            #expect(outcome.error == nil, "\(events)")
            #expect(outcome.text == "Hello", "\(events)")
        }
    }

    /// Some of the events of a message behind announced reasoning have the index of the reasoning, or none, and no name or
    /// the response's.
    @Test(arguments: [true, false], ["", #""item_id":"r","#])
    func textOfAMessageUnderTheIndexOfReasoningComesOnce(isAnnounced: Bool, name: String) async {
        let thought = #"{"id":"t","type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}]}"#
        let part = #"{"type":"output_text","text":"Hello you"}"#
        let item = { (id: String) in #"{\#(id)"type":"message","role":"assistant","content":[\#(part)]}"# }
        for (events, index) in (1..<16).flatMap({ set in ["", #""output_index":0,"#].map { (set, $0) } }) {
            let place = { (number: Int) in
                events & 1 << number == 0 ? #""output_index":1,"item_id":"m","# : index + name
            }
            let id = events & 4 == 0 || !isAnnounced ? #""id":"m","# : ""
            let script =
                [
                    Event.created, Self.added(#"{"id":"t","type":"reasoning","summary":[]}"#, at: 0),
                    #"{"type":"response.reasoning_summary_text.delta","item_id":"t","output_index":0,"delta":"Hm"}"#,
                    Event.done(thought, at: 0),
                ] + (isAnnounced ? [Self.added(#"{"id":"m","type":"message"}"#, at: 1)] : []) + [
                    #"{"type":"response.output_text.delta",\#(place(0))"delta":"Hello "}"#,
                    #"{"type":"response.output_text.delta",\#(place(0))"delta":"you"}"#,
                    #"{"type":"response.output_text.done",\#(place(1))"text":"Hello you"}"#,
                    #"{"type":"response.output_item.done",\#(place(2))"item":\#(item(id))}"#,
                    Event.completed("r", events & 8 == 0 ? "" : #","output":[\#(thought),\#(item(#""id":"m","#))]"#),
                ]
            let (outcome, _) = await Self.run([.socket(script), .socket([Event.completed])])
            #expect(outcome.error == nil, "\(script)")
            #expect(outcome.text == "Hello you", "\(script)")
            #expect(outcome.reasoning == "Hm", "\(script)")
        }
    }

    /// Nothing is announced; all deltas have one name, or none, and one index, and the closing events the item's own.
    @Test(arguments: ["", #""item_id":"x","#], ["", #""output_index":0,"#])
    func textOfItemsWhoseDeltasAreNotToldApartComesOnce(name: String, index: String) async {
        let texts = ["One.", "Two.", "Three."]
        for closings in 1..<8 where closings & 2 != 0 {
            var events = [Event.created]
            var items: [String] = []
            for (place, text) in texts.enumerated() {
                let part = #"{"type":"output_text","text":"\#(text)"}"#
                items.append(#"{"id":"m\#(place)","type":"message","role":"assistant","content":[\#(part)]}"#)
                events.append(#"{"type":"response.output_text.delta",\#(index)\#(name)"delta":"\#(text)"}"#)
                if closings & 1 != 0 {
                    let own = #""output_index":\#(place),"item_id":"m\#(place)""#
                    events.append(#"{"type":"response.output_text.done",\#(own),"text":"\#(text)"}"#)
                }
                events.append(Event.done(items[place], at: place))
            }
            events.append(
                Event.completed("r", closings & 4 != 0 ? #","output":[\#(items.joined(separator: ","))]"# : ""))
            let (outcome, _) = await Self.run([.socket(events), .socket([Event.completed])])
            #expect(outcome.error == nil, "\(events)")
            #expect(outcome.text == "One.Two.Three.", "\(events)")
        }
    }

    /// Each item has a name of its own and is finished before the next; nothing is announced.
    @Test(arguments: ["", #""output_index":0,"#], [false, true])
    func unannouncedItemsOfOneIndexAreToldApartByTheirNames(index: String, hasList: Bool) async {
        let item = { (id: String, text: String) in
            #"{"id":"\#(id)","type":"message","role":"assistant","content":[{"type":"output_text","text":"\#(text)"}]}"#
        }
        let events = [("a", "One."), ("b", "Two."), ("c", "Two. Three.")].flatMap { id, text in
            [
                #"{"type":"response.output_text.delta",\#(index)"item_id":"\#(id)","delta":"\#(text)"}"#,
                #"{"type":"response.output_item.done",\#(index)"item":\#(item(id, text))}"#,
            ]
        }
        let list = [item("a", "One."), item("b", "Two."), item("c", "Two. Three.")].joined(separator: ",")
        let (outcome, _) = await Self.run([
            .socket([Event.created] + events + [Event.completed("r", hasList ? #","output":[\#(list)]"# : "")])
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "One.Two.Two. Three.")
    }

    /// A gateway streams reasoning as a summary, and its closing events or its item have it as content, or the other way
    /// round.
    @Test(arguments: [false, true], 1..<32) func reasoningInTheOtherMemberOfItsItemComesOnce(
        isSummary: Bool, places: Int
    ) async {
        let kinds =
            isSummary ? ["reasoning_summary_text", "reasoning_text"] : ["reasoning_text", "reasoning_summary_text"]
        let part = { (text: String) in
            #"{"type":"\#(isSummary ? "reasoning_text" : "summary_text")","text":"\#(text)"}"#
        }
        let event = { (type: String, members: String) in
            #"{"type":"response.\#(type)","item_id":"n","output_index":0,\#(members)}"#
        }
        var events = [Event.created, Self.added(#"{"id":"n","type":"reasoning","summary":[]}"#, at: 0)]
        for text in ["Hm", "So"] {
            let index = #""\#(isSummary ? "summary" : "content")_index":\#(text == "Hm" ? 0 : 1)"#
            let other = #""\#(isSummary ? "content" : "summary")_index":\#(text == "Hm" ? 0 : 1)"#
            events.append(event("\(kinds[0]).delta", #"\#(index),"delta":"\#(text)""#))
            if places & 1 != 0 { events.append(event("\(kinds[0]).done", #"\#(index),"text":"\#(text)""#)) }
            if places & 2 != 0 { events.append(event("\(kinds[1]).done", #"\#(other),"text":"\#(text)""#)) }
            if places & 4 != 0 {
                let type = isSummary ? "content_part.done" : "reasoning_summary_part.done"
                events.append(event(type, #"\#(other),"part":\#(part(text))"#))
            }
        }
        let parts = "[\(part("Hm")),\(part("So"))]"
        let members = isSummary ? #""summary":[],"content":\#(parts)"# : #""summary":\#(parts)"#
        let item = #"{"id":"n","type":"reasoning",\#(members)}"#
        if places & 8 != 0 { events.append(Event.done(item, at: 0)) }
        events.append(Event.completed("r", places & 16 != 0 ? #","output":[\#(item)]"# : ""))
        let (outcome, _) = await Self.run([.socket(events), .socket([Event.completed])])
        #expect(outcome.error == nil, "\(events)")
        #expect(outcome.reasoning == "HmSo", "\(events)")
    }

    /// The second item has the same text, under its own name.
    @Test func closingTextWithAnItemsNameBelongsToThatItem() async {
        let (outcome, _) = await Self.run([
            .socket([
                Event.created,
                Self.added(#"{"id":"m","type":"message"}"#, at: 0),
                #"{"type":"response.output_text.delta","output_index":0,"item_id":"m","delta":"Hello"}"#,
                Self.added(#"{"id":"n","type":"message"}"#, at: 1),
                #"{"type":"response.output_text.done","output_index":1,"item_id":"n","text":"Hello"}"#,
                Event.completed("r"),
            ])
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "HelloHello")
    }

    /// The end lists the announced item alone.
    @Test(arguments: 1..<5, [nil, "z", "m"])
    func textThatTheEndOmitsIsAContradiction(place: Int, id: String?) async {
        let text = { (index: Int, id: String?, text: String) in
            let name = id.map { #""item_id":"\#($0)","# } ?? ""
            return #"{"type":"response.output_text.delta","output_index":\#(index),\#(name)"delta":"\#(text)"}"#
        }
        let item = #"{"id":"m","type":"message","content":[{"type":"output_text","text":"Hello you"}]}"#
        var events = [
            Event.created, Self.added(#"{"id":"m","type":"message"}"#, at: 0), text(0, "m", "Hello "),
            text(0, "m", "you"), Event.done(item, at: 0), Event.completed("r", #","output":[\#(item)]"#),
        ]
        events.insert(text(1, id, "FOREIGN"), at: place)
        let (outcome, _) = await Self.run([.socket(events), .socket([Event.completed])])
        #expect(outcome.outcomes.first == "event.contradictory", "\(events)")
    }

    /// Messages without text say nothing; beside another one's text, the list lacks some.
    @Test(
        arguments: [
            "", #","content":null"#, #","content":[]"#, #","content":[{"type":"output_text"}]"#,
            #","content":[{"type":"output_text","text":null}]"#, #","content":[{"type":"output_text","text":""}]"#,
        ], [nil, "", "you", "you two"])
    func listOfEmptyMessagesAloneIsNoContradiction(content: String, next: String?) async {
        let item = { (id: String, content: String) in
            #"{"id":"\#(id)","type":"message","role":"assistant"\#(content)}"#
        }
        let text = { (text: String) in #","content":[{"type":"output_text","text":"\#(text)"}]"# }
        var events = [Event.created, Event.text("Hello", at: 0), Event.done(item("m", text("Hello")), at: 0)]
        var list = [item("m", content)]
        if let next {
            if !next.isEmpty { events += [Event.text("you", at: 1)] }
            list.append(item("n", text(next)))
        }
        events.append(Event.completed("r", #","output":[\#(list.joined(separator: ","))]"#))
        let (outcome, _) = await Self.run([.socket(events)])
        #expect(outcome.text == (next?.isEmpty == false ? "Helloyou" : "Hello"))
        #expect(outcome.outcomes == [next?.isEmpty == false ? "event.contradictory" : "completed"], "\(events)")
    }

    /// A message that is not announced, behind a finished item whose index it has.
    @Test(arguments: ["reasoning", "message"], [false, true])
    func unannouncedMessageBehindADoneItemOfItsIndexIsRead(kind: String, hasList: Bool) async {
        let first =
            kind == "message"
            ? #"{"id":"a","type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes"}]}"#
            : #"{"id":"a","type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}]}"#
        let second =
            #"{"id":"b","type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes, it is"}]}"#
        let text = { (text: String) in
            #"{"type":"response.output_text.delta","output_index":0,"item_id":"b","delta":"\#(text)"}"#
        }
        let (outcome, _) = await Self.run([
            .socket([
                Event.created, Self.added(#"{"id":"a","type":"\#(kind)"}"#, at: 0), Event.done(first, at: 0),
                text("Yes"), text(", it is"), Event.done(second, at: 0),
                Event.completed("r", hasList ? #","output":[\#(first),\#(second)]"# : ""),
            ])
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == (kind == "message" ? "YesYes, it is" : "Yes, it is"))
    }

    /// Two answers that are written at once: the second one is announced when the first has announced an item.
    @Test func responseCreatedAgainBehindAnItemIsAContradiction() async {
        let (outcome, _) = await Self.run([
            .socket([
                Event.created("r1"),
                Self.added(#"{"id":"m","type":"message"}"#, at: 1),
                Event.created("r2"),
                Self.added(#"{"id":"q","type":"message"}"#, at: 0),
                #"{"type":"response.output_text.delta","output_index":0,"item_id":"q","delta":"AA"}"#,
                #"{"type":"response.output_text.delta","output_index":1,"item_id":"m","delta":"XX"}"#,
                Event.completed("r2"),
            ]),
            .socket([Event.created, Event.text("Hello"), Event.completed]),
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
        #expect(outcome.outcomes == ["event.contradictory", "completed"])
    }

    /// A server that changes names from event to event counts one up for the end of an item.
    @Test(arguments: [0, 1], [true, false])
    func anEndAtAnIndexWithoutAnItemRepeatsTheNewestItem(textIndex: Int, hasTextEnd: Bool) async {
        func message(_ id: String, _ text: String) -> String {
            let part = text.isEmpty ? "" : #"{"type":"output_text","text":"\#(text)"}"#
            return #"{"id":"\#(id)","type":"message","role":"assistant","content":[\#(part)]}"#
        }
        func event(_ type: String, _ index: Int, _ id: String, _ member: String) -> String {
            #"{"type":"response.output_text.\#(type)","output_index":\#(index),"content_index":0,"item_id":"\#(id)","#
                + #"\#(member)}"#
        }
        let end = hasTextEnd ? [event("done", textIndex, "d", #""text":"Hello""#)] : []
        let (outcome, _) = await Self.run([
            .socket(
                [
                    Event.created,
                    #"{"type":"response.output_item.added","output_index":0,"item":\#(message("a", ""))}"#,
                    event("delta", 0, "b", #""delta":"Hel""#), event("delta", 0, "c", #""delta":"lo""#),
                ] + end + [
                    Event.done(message("e", "Hello"), at: 1),
                    Event.completed("r", #","output":[\#(message("f", "Hello"))]"#),
                ])
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
    }

    /// An end that names another response and lists nothing says nothing of this one.
    @Test func anEmptyEndOfAnotherResponseIsNoEmptyAnswer() async {
        let other = #"{"type":"response.completed","response":{"id":"r0","status":"completed","output":[]}}"#
        let (outcome, _) = await Self.run([
            .socket([Event.created, other]), .socket([Event.created, Event.text("Hello"), Event.completed]),
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
        #expect(outcome.outcomes == ["event.contradictory", "completed"])
        let (named, response) = await Self.run([.socket([Event.created, Event.completed])])
        #expect(named.error == nil)
        #expect(response?.id == "r")
    }
}
