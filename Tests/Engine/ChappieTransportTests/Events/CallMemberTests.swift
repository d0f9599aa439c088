// The members of a call stand in up to four places, and each may leave them out, repeat them, or contradict.

import StreamTransport
import Testing

@testable import ChappieTransport

/// The places of a call's members, in the order of the events.
private enum Place: CaseIterable {
    case announcement, endOfArguments, endOfItem, endOfResponse
}

/// The statement about a member in one place, beside the value that stands in another one.
private enum Variant: CaseIterable {
    case absent, null, empty, equal, longer, other
}

/// A call with one member under test, as the four places state it.
private struct Statements {
    enum Member: String, CaseIterable {
        case name, namespace, arguments
        case callID = "call_id"
    }

    let member: Member
    /// The text in each place; nil stands for an absent member.
    var texts: [Place: Text] = [:]
    var delta: String?
    /// Indicates whether the end of the arguments has them, where they are not under test.
    var endOfArgumentsHasThem = true

    enum Text {
        case null
        case text(String)
    }

    /// A JSON member in front of others; empty for an absent one.
    private func json(_ member: Member, _ place: Place, otherwise: String?) -> String {
        let text = member == self.member ? self.texts[place] : otherwise.map { .text($0) }
        switch text {
        case nil: return ""
        case .null: return #""\#(member.rawValue)":null,"#
        case .text(let text): return #""\#(member.rawValue)":"\#(text.replacing("\"", with: "\\\""))","#
        }
    }

    private func item(_ place: Place) -> String {
        "{" + self.json(.name, place, otherwise: "f") + self.json(.namespace, place, otherwise: nil)
            + self.json(.arguments, place, otherwise: place == .announcement ? "" : "{}")
            + self.json(.callID, place, otherwise: "c") + #""id":"fc","type":"function_call"}"#
    }

    private func event(_ place: Place) -> String {
        switch place {
        case .announcement:
            return #"{"type":"response.output_item.added","output_index":0,"item":\#(self.item(place))}"#
        case .endOfArguments:
            let name = self.member == .name ? self.json(.name, place, otherwise: nil) : ""
            return "{" + name + self.json(.arguments, place, otherwise: self.endOfArgumentsHasThem ? "{}" : nil)
                + #""type":"response.function_call_arguments.done","output_index":0,"item_id":"fc"}"#
        case .endOfItem:
            return Event.done(self.item(place))
        case .endOfResponse:
            return Event.completed("r", #","output":[\#(self.item(place))]"#)
        }
    }

    /// The events of the response; some servers end the item before its arguments.
    func events(itemEndsFirst: Bool) -> [String] {
        var events = [Event.created("r")] + Place.allCases.map { self.event($0) }
        if itemEndsFirst { events.swapAt(2, 3) }
        if let delta = self.delta {
            let text = delta.replacing("\"", with: "\\\"")
            let place = #""output_index":0,"item_id":"fc","delta":"\#(text)""#
            events.insert(#"{"type":"response.function_call_arguments.delta",\#(place)}"#, at: 2)
        }
        return events
    }

    /// The value by the rule: what says nothing contradicts nothing, and arguments that are no object yet are completed
    /// by a later text that begins with them, unless the item has ended with them.
    ///
    /// - Returns: nil for a contradiction.
    var value: String? {
        var said = Place.allCases.map { ($0, self.texts[$0]) }.compactMap { place, text in
            if case .text(let text)? = text, !text.isEmpty { return (place: Optional(place), text: text) }
            return nil
        }
        if let delta { said.insert((nil, delta), at: said.first?.place == .announcement ? 1 : 0) }
        for (index, earlier) in said.enumerated() {
            for later in said[(index + 1)...] where later.text != earlier.text {
                let isBeginning =
                    self.member == .arguments && !earlier.text.hasSuffix("}") && earlier.place != .endOfItem
                guard isBeginning, later.text.hasPrefix(earlier.text) else { return nil }
            }
        }
        return said.last?.text ?? ""
    }
}

/// The place of an event that was lost, as the numbers show.
private enum Loss: CaseIterable {
    case none, elsewhere, inArguments
}

@Suite struct CallMemberTests {
    private static func expect(_ statements: Statements, itemEndsFirst: Bool = false) async {
        let events = statements.events(itemEndsFirst: itemEndsFirst)
        let (outcome, response) = await TurnFixture([.socket(events)])
            .complete(conversation([WireItem.question]) { $0.runsCalls = true })
        guard let value = statements.value else {
            #expect(outcome.transportFailure?.code == .contradictoryEvents, "\(events)")
            return
        }
        #expect(outcome.error == nil, "\(events)")
        guard let call = response?.calls.first, response?.calls.count == 1 else {
            Issue.record("no call: \(events)")
            return
        }
        #expect(call.callID == "c", "\(events)")
        switch statements.member {
        case .name: #expect(call.name == value, "\(events)")
        case .namespace: #expect(call.namespace == value, "\(events)")
        case .arguments: #expect(call.payload == (value.isEmpty ? "{}" : value), "\(events)")
        case .callID: break
        }
    }

    /// The value stands in one place, and each other place in turn has each variant of it.
    private static func table(
        _ member: Statements.Member, value: String, longer: String, other: String,
        _ body: (Statements) async -> Void
    ) async {
        let places = Place.allCases.filter { $0 != .endOfArguments || member == .name || member == .arguments }
        for place in places {
            for second in places where second != place {
                for variant in Variant.allCases {
                    var statements = Statements(member: member)
                    statements.texts[place] = .text(value)
                    switch variant {
                    case .absent: break
                    case .null: statements.texts[second] = .null
                    case .empty: statements.texts[second] = .text("")
                    case .equal: statements.texts[second] = .text(value)
                    case .longer: statements.texts[second] = .text(longer)
                    case .other: statements.texts[second] = .text(other)
                    }
                    await body(statements)
                }
            }
        }
    }

    @Test(arguments: [false, true], [false, true])
    func nameInOnePlaceIsThatOfTheCall(itemEndsFirst: Bool, endOfArgumentsHasThem: Bool) async {
        await Self.table(.name, value: "roll", longer: "rolling", other: "flip") {
            var statements = $0
            statements.endOfArgumentsHasThem = endOfArgumentsHasThem
            await Self.expect(statements, itemEndsFirst: itemEndsFirst)
        }
    }

    /// An identifier that is missing, null or empty is none, wherever another place has it.
    @Test(arguments: [false, true])
    func callIDInOnePlaceIsThatOfTheCall(itemEndsFirst: Bool) async {
        let places: [Place] = [.announcement, .endOfItem, .endOfResponse]
        let variants: [Statements.Text?] = [nil, .null, .text(""), .text("c")]
        for place in places {
            for first in variants {
                for second in variants {
                    var statements = Statements(member: .callID)
                    statements.texts[place] = .text("c")
                    for (other, variant) in zip(places.filter { $0 != place }, [first, second]) {
                        statements.texts[other] = variant
                    }
                    await Self.expect(statements, itemEndsFirst: itemEndsFirst)
                }
            }
        }
    }

    /// The same of the response's identifier, of the items' and of the events': the text comes once.
    @Test(
        arguments: ["", #","ID":null"#, #","ID":"""#, #","ID":"x""#], ["", #","ID":null"#, #","ID":"""#, #","ID":"x""#])
    func identifiersThatSayNothingAreNone(first: String, second: String) async {
        func id(_ member: String, _ text: String) -> String { text.replacing("ID", with: member) }
        let part = #"{"type":"output_text","text":"Hi"}"#
        func message(_ content: String, _ id: String) -> String {
            #"{"type":"message","role":"assistant","content":[\#(content)]\#(id)}"#
        }
        let events = [
            #"{"type":"response.created","response":{"status":"in_progress"\#(id("id", first))}\#(id("response_id", first))}"#,
            #"{"type":"response.output_item.added","output_index":0,"item":\#(message("", id("id", second)))}"#,
            #"{"type":"response.output_text.delta","output_index":0,"delta":"Hi"\#(id("item_id", first))\#(id("response_id", second))}"#,
            #"{"type":"response.output_text.done","output_index":0,"text":"Hi"\#(id("item_id", second))}"#,
            #"{"type":"response.output_item.done","output_index":0,"item":\#(message(part, id("id", first)))}"#,
            #"{"type":"response.completed","response":{"status":"completed","output":[\#(message(part, id("id", second)))]\#(id("id", second))}}"#,
        ]
        let outcome = await TurnFixture([.socket(events)]).run()
        #expect(outcome.error == nil && outcome.text == "Hi", "\(events)")
    }

    /// The list states each call by its item's identifier or its `call_id`, at another position than its events.
    @Test(arguments: [#""output_index":0,"#, #""output_index":1,"#, ""], [["id"], ["call_id"], ["id", "name"]])
    func argumentsThatOnlyTheListHasAreThoseOfTheCallThatItNames(index: String, members: [String]) async {
        for names in [["a"], ["a", "b"]] {
            func item(_ name: String, _ members: [String], _ arguments: String) -> String {
                let values = ["id": "fc_\(name)", "call_id": "c_\(name)", "name": "f"]
                let stated = members.map { #""\#($0)":"\#(values[$0] ?? "")","# }.joined()
                return #"{\#(stated)"type":"function_call","arguments":"\#(arguments)"}"#
            }
            let events = names.flatMap { name in
                let whole = item(name, ["id", "call_id", "name"], "")
                return ["added", "done"].map { #"{"type":"response.output_item.\#($0)",\#(index)"item":\#(whole)}"# }
            }
            // In the order of the events, and in the other one.
            for listed in [names, names.reversed()] {
                let list = listed.map { item($0, members, #"{\"n\":\"\#($0)\"}"#) }.joined(separator: ",")
                let end = Event.completed("r", #","output":[{"type":"reasoning","summary":[]},\#(list)]"#)
                let (outcome, response) = await TurnFixture([.socket([Event.created("r")] + events + [end])])
                    .complete(conversation([WireItem.question]) { $0.runsCalls = true })
                #expect(outcome.error == nil, "\(end)")
                let calls = response?.calls.map { "\($0.callID) \($0.payload)" }.sorted()
                #expect(calls == names.map { #"c_\#($0) {"n":"\#($0)"}"# }, "\(end)")
            }
        }
    }

    /// The list has no identifiers, or others, and may leave the reasoning out, which shifts its positions.
    @Test(
        arguments: [[0, 1, 2], [0, 0, 0], []],
        [(hasReasoning: true, hasIDs: false), (true, true), (false, false), (false, true)])
    func argumentsOfAListWithoutTheIdentifiersAreThoseInItsOrder(
        indices: [Int], listing: (hasReasoning: Bool, hasIDs: Bool)
    ) async {
        func index(_ place: Int) -> String { indices.isEmpty ? "" : #""output_index":\#(indices[place]),"# }
        func event(_ type: String, _ place: Int, _ item: String) -> String {
            #"{"type":"response.output_item.\#(type)",\#(index(place))"item":\#(item)}"#
        }
        let reasoning = #"{"id":"rs","type":"reasoning","summary":[]}"#
        let call = { (place: Int) in
            #"{"id":"fc_\#(place)","type":"function_call","call_id":"c_\#(place)","name":"f","arguments":""}"#
        }
        let events =
            ["added", "done"].map { event($0, 0, reasoning) }
            + [1, 2].flatMap { place in ["added", "done"].map { event($0, place, call(place)) } }
        let listed = [1, 2].map { place in
            let identifiers = listing.hasIDs ? #""id":"l\#(place)","call_id":"lc\#(place)","# : ""
            return #"{"type":"function_call",\#(identifiers)"name":"f","arguments":"{\"n\":\#(place)}"}"#
        }
        let list = ((listing.hasReasoning ? [reasoning] : []) + listed).joined(separator: ",")
        let end = Event.completed("r", #","output":[\#(list)]"#)
        let (outcome, response) = await TurnFixture([.socket([Event.created("r")] + events + [end])])
            .complete(conversation([WireItem.question]) { $0.runsCalls = true })
        #expect(outcome.error == nil)
        #expect(response?.calls.map { "\($0.callID) \($0.payload)" } == [#"c_1 {"n":1}"#, #"c_2 {"n":2}"#])
    }

    /// Calls that are not announced, at one index or none, whose arguments are closed under the identifiers of their items.
    @Test(arguments: [#""output_index":0,"#, ""], [true, false])
    func argumentsUnderTheIdentifierOfAnItemAtASharedIndexAreItsOwn(index: String, hasList: Bool) async {
        func item(_ place: Int) -> String {
            #"{"id":"fc_\#(place)","type":"function_call","call_id":"c_\#(place)","name":"f","arguments":""}"#
        }
        func closing(_ place: Int) -> String {
            #"{"type":"response.function_call_arguments.done","item_id":"fc_\#(place)",\#(index)"#
                + #""arguments":"{\"n\":\#(place)}"}"#
        }
        let places = [1, 2, 3]
        let events = places.flatMap { place in
            [closing(place), #"{"type":"response.output_item.done",\#(index)"item":\#(item(place))}"#]
        }
        let end = Event.completed("r", hasList ? #","output":[\#(places.map(item).joined(separator: ","))]"# : "")
        for again in [[], [closing(2), closing(3)]] {
            let (outcome, response) = await TurnFixture([.socket([Event.created("r")] + events + again + [end])])
                .complete(conversation([WireItem.question]) { $0.runsCalls = true })
            #expect(outcome.error == nil)
            #expect(response?.calls.map { "\($0.callID) \($0.payload)" } == places.map { #"c_\#($0) {"n":\#($0)}"# })
        }
    }

    /// Arguments under a foreign identifier come behind the end of the call: the list says that they are its own, or no tool
    /// runs.
    @Test(arguments: ["", "{}"], [nil, "", #"{\"n\":1}"#])
    func argumentsUnderAForeignIdentifierAreNotLeftOut(atEnd: String, listed: String?) async {
        func item(_ arguments: String) -> String {
            #"{"id":"fc","type":"function_call","call_id":"c","name":"f","arguments":"\#(arguments)"}"#
        }
        let events = [
            Event.created("r"), #"{"type":"response.output_item.added","output_index":0,"item":\#(item(""))}"#,
            #"{"type":"response.output_item.done","output_index":0,"item":\#(item(atEnd))}"#,
            #"{"type":"response.function_call_arguments.done","item_id":"c","output_index":0,"arguments":"{\"n\":1}"}"#,
            Event.completed("r", listed.map { #","output":[\#(item($0))]"# } ?? ""),
        ]
        let (outcome, response) = await TurnFixture([.socket(events)])
            .complete(conversation([WireItem.question]) { $0.runsCalls = true })
        if atEnd.isEmpty, listed?.isEmpty == false {
            #expect(response?.calls.map(\.payload) == [#"{"n":1}"#])
        } else {
            #expect(outcome.transportFailure?.code == .contradictoryEvents)
            #expect(response == nil)
        }
    }

    /// The call has no arguments of its own, and no tool runs without the arguments that were sent.
    @Test(arguments: [true, false]) func argumentsWithoutAnItemAreNotLeftOut(areAnnounced: Bool) async {
        let whole = #""call_id":"c","name":"f","arguments":"""#
        let events =
            areAnnounced
            ? [
                #"{"type":"response.output_item.added","item":{"type":"reasoning","summary":[]}}"#,
                #"{"type":"response.output_item.added","item":{"type":"function_call","arguments":"{\"n\":1}"}}"#,
                #"{"type":"response.output_item.done","item":{"type":"function_call",\#(whole)}}"#,
            ]
            : [
                #"{"type":"response.output_item.done","item":{"id":"fc","type":"function_call",\#(whole)}}"#,
                #"{"type":"response.function_call_arguments.done","arguments":"{\"n\":1}"}"#,
            ]
        let (outcome, response) = await TurnFixture([.socket([Event.created("r")] + events + [Event.completed("r")])])
            .complete(conversation([WireItem.question]) { $0.runsCalls = true })
        #expect(outcome.transportFailure?.code == .contradictoryEvents)
        #expect(response == nil)
    }

    /// Arguments without an identifier behind the end of their item repeat those of the item, also before another call at
    /// its index that has none.
    @Test(arguments: [("function_call", "arguments", #"{\"n\":1}"#), ("custom_tool_call", "input", "abc")])
    func repeatedArgumentsWithoutAnItemAddNothing(type: String, member: String, payload: String) async {
        let stem = type == "function_call" ? "function_call_arguments" : "custom_tool_call_input"
        func done(_ id: String, _ payload: String) -> String {
            Event.done(#"{"type":"\#(type)","call_id":"\#(id)","name":"f","\#(member)":"\#(payload)"}"#)
        }
        let events = [
            Event.created("r"), done("c", payload),
            #"{"type":"response.\#(stem).done","output_index":0,"\#(member)":"\#(payload)"}"#, done("d", ""),
            Event.completed("r"),
        ]
        let (outcome, response) = await TurnFixture([.socket(events)])
            .complete(conversation([WireItem.question]) { $0.runsCalls = true })
        #expect(outcome.error == nil)
        #expect(response?.calls.map(\.callID) == ["c", "d"])
    }

    @Test(arguments: [false, true])
    func namespaceInOnePlaceIsThatOfTheCall(itemEndsFirst: Bool) async {
        await Self.table(.namespace, value: "dice", longer: "dices", other: "coins") {
            await Self.expect($0, itemEndsFirst: itemEndsFirst)
        }
    }

    /// LM Studio sends arguments at the end of the arguments alone, and transformers in the announcement as well.
    @Test func argumentsInOnePlaceAreThoseOfTheCall() async {
        await Self.table(
            .arguments, value: #"{"city":"Paris"}"#, longer: #"{"city":"Paris"}{}"#, other: #"{"city":"Rome"}"#
        ) { await Self.expect($0) }
    }

    @Test(arguments: [#"{"city":"Par"#, #"{"city":"Paris"}"#, #"{"city":"Rom"#])
    func argumentsThatStopEarlyAreCompletedByClosingEvents(_ delta: String) async {
        await Self.table(
            .arguments, value: #"{"city":"Paris"}"#, longer: #"{"city":"Paris"}{}"#, other: #"{"city":"Rome"}"#
        ) { statements in
            var statements = statements
            statements.delta = delta
            // An announcement has no more than the deltas.
            guard statements.texts[.announcement] == nil else { return }
            await Self.expect(statements)
        }
    }

    @Test func inputThatStopsEarlyIsCompletedByClosingEvents() async {
        func item(_ input: String) -> String {
            #"{"id":"ct","type":"custom_tool_call","call_id":"c","name":"f","input":"\#(input)"}"#
        }
        let begun = [
            Event.created("r"), #"{"type":"response.output_item.added","output_index":0,"item":\#(item(""))}"#,
            #"{"type":"response.custom_tool_call_input.delta","output_index":0,"item_id":"ct","delta":"ab"}"#,
        ]
        let done = #"{"type":"response.custom_tool_call_input.done","output_index":0,"item_id":"ct","input":"abc"}"#
        func end(_ input: String) -> String { Event.completed("r", #","output":[\#(item(input))]"#) }
        for events in [
            [done, Event.done(item("abc")), end("abc")], [done, Event.done(item("")), Event.completed("r")],
            [Event.done(item("abc")), Event.completed("r")], [Event.done(item("")), end("abc")], [end("abc")],
            [done, end("")],
        ] {
            let (outcome, response) = await TurnFixture([.socket(begun + events)])
                .complete(conversation([WireItem.question]) { $0.runsCalls = true })
            #expect(outcome.error == nil, "\(events)")
            #expect(response?.calls.map(\.payload) == ["abc"], "\(events)")
        }
        for events in [
            [done, Event.done(item("abcd")), Event.completed("r")], [Event.done(item("b")), Event.completed("r")],
            [Event.done(item("ab")), end("abc")],
        ] {
            let (outcome, _) = await TurnFixture([.socket(begun + events)])
                .complete(conversation([WireItem.question]) { $0.runsCalls = true })
            #expect(outcome.transportFailure?.code == .contradictoryEvents, "\(events)")
        }
    }

    /// Behind missing numbers the deltas may lack a piece: `{"n":1` and `}` without the `000` between them.
    @Test(arguments: Loss.allCases, [nil, 0, 1, 2])
    fileprivate func deltasAloneAreNoArgumentsBehindMissingNumbers(loss: Loss, placeOfArguments: Int?) async {
        let whole = loss == .inArguments ? #"{\"n\":1000}"# : #"{\"n\":1}"#
        func item(_ text: String) -> String {
            #"{"id":"fc","type":"function_call","call_id":"c","name":"f","arguments":"\#(text)"}"#
        }
        func stated(_ place: Int) -> String { place == placeOfArguments ? whole : "" }
        func delta(_ text: String, _ number: Int) -> String {
            #"{"type":"response.function_call_arguments.delta","sequence_number":\#(number),"output_index":0,"#
                + #""item_id":"fc","delta":"\#(text)"}"#
        }
        let first = #"{\"n\":1"#
        let events = [
            Event.created("r"), #"{"type":"response.output_item.added","output_index":0,"item":\#(item(""))}"#,
            delta(first, 2), delta("}", loss == .none ? 3 : 4),
            #"{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc","#
                + #""arguments":"\#(stated(0))"}"#,
            Event.done(item(stated(1))),
            Event.completed("r", placeOfArguments == 2 ? #","output":[\#(item(whole))]"# : ""),
        ]
        let (outcome, response) = await TurnFixture([.socket(events)])
            .complete(conversation([WireItem.question]) { $0.runsCalls = true })
        if loss == .none || loss == .elsewhere && placeOfArguments != nil {
            #expect(outcome.error == nil)
            #expect(response?.calls.map(\.payload) == [#"{"n":1}"#])
        } else {
            #expect(outcome.transportFailure?.code == .contradictoryEvents)
            #expect(response == nil)
        }
    }

    /// A program that reads the events gets the whole call.
    @Test func handedOverCallHasWhatItsEndLeavesOut() async {
        let events = [
            Event.created("r"),
            #"{"type":"response.output_item.added","output_index":0,"item":{"id":"fc","type":"function_call","call_id":"c","name":"f"}}"#,
            #"{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"fc","delta":"{}"}"#,
            Event.done(#"{"id":"fc","type":"function_call","call_id":"","name":null,"arguments":""}"#),
            Event.completed("r"),
        ]
        let outcome = await TurnFixture([.socket(events)]) { $0.rawEvents = .unsurfaced }.run()
        #expect(outcome.error == nil)
        let calls = outcome.events.compactMap { event in
            if case .raw("response.output_item.done", let payload) = event { return payload }
            return nil
        }
        #expect(
            calls == [
                Event.done(#"{"id":"fc","type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#)
            ])
    }

    /// Some servers send empty identifiers in place of none.
    @Test(arguments: [#""id":"","#, #""id":null,"#, ""], [#""item_id":"","#, #""item_id":null,"#, ""])
    func callsWithEmptyIdentifiersAreTwo(id: String, itemID: String) async {
        func item(_ index: Int, _ arguments: String) -> String {
            #"{\#(id)"type":"function_call","call_id":"c\#(index)","name":"f","arguments":"\#(arguments)"}"#
        }
        let arguments = [#"{\"n\":0}"#, #"{\"n\":1}"#]
        let items = [item(0, arguments[0]), item(1, arguments[1])]
        var events = [Event.created("")]
        for index in 0...1 {
            events.append(
                #"{"type":"response.output_item.added","output_index":\#(index),"item":\#(item(index, ""))}"#)
        }
        for (index, text) in arguments.enumerated() {
            let place = #"\#(itemID)"output_index":\#(index)"#
            events.append(#"{"type":"response.function_call_arguments.delta",\#(place),"delta":"\#(text)"}"#)
            events.append(#"{"type":"response.function_call_arguments.done",\#(place),"arguments":"\#(text)"}"#)
        }
        for (index, item) in items.enumerated() { events.append(Event.done(item, at: index)) }
        let list = #","output":[\#(items.joined(separator: ","))]"#
        for end in [Event.completed(""), Event.completed("r", list)] {
            let (outcome, response) = await TurnFixture([.socket(events + [end])])
                .complete(conversation([WireItem.question]) { $0.runsCalls = true })
            #expect(outcome.error == nil)
            #expect(response?.calls.map(\.payload) == [#"{"n":0}"#, #"{"n":1}"#])
            #expect(response?.calls.map(\.callID) == ["c0", "c1"])
        }
    }
}
