// A response states its calls several times: a call is run only if all statements agree.

import StreamTransport
import Testing

@testable import ChappieTransport

/// The statements about one call.
private enum Statement {
    static func item(
        _ arguments: String?, name: String = "f", callID: String = "c", id: String? = "fc", isCustom: Bool = false
    ) -> String {
        let payload = arguments.map { #","\#(isCustom ? "input" : "arguments")":"\#($0)""# } ?? ""
        let member = id.map { #""id":"\#($0)","# } ?? ""
        return
            #"{\#(member)"type":"\#(isCustom ? "custom_tool_call" : "function_call")","call_id":"\#(callID)","name":"\#(name)"\#(payload)}"#
    }

    static func added(_ item: String, at index: Int = 0) -> String {
        #"{"type":"response.output_item.added","output_index":\#(index),"item":\#(item)}"#
    }

    static func delta(_ text: String, at index: Int = 0, id: String = "fc") -> String {
        #"{"type":"response.function_call_arguments.delta","output_index":\#(index),"item_id":"\#(id)","delta":"\#(text)"}"#
    }

    static func argumentsDone(_ text: String, at index: Int = 0) -> String {
        #"{"type":"response.function_call_arguments.done","output_index":\#(index),"item_id":"fc","arguments":"\#(text)"}"#
    }

    static func inputDone(_ text: String) -> String {
        #"{"type":"response.custom_tool_call_input.done","output_index":0,"item_id":"fc","input":"\#(text)"}"#
    }

    /// Marks an item as unfinished.
    static func incomplete(_ item: String) -> String { item.dropLast() + #","status":"incomplete"}"# }

    static func end(_ items: String...) -> String {
        Event.completed("r", #","output":[\#(items.joined(separator: ","))]"#)
    }
}

@Suite struct CallStatementTests {
    private static let one = #"{\"a\":1}"#
    private static let two = #"{\"a\":2}"#

    private static func complete(
        _ events: [String], _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async -> (outcome: TurnOutcome, response: CompletedResponse?) {
        await TurnFixture([.socket([Event.created("r")] + events)], configure)
            .complete(conversation([WireItem.question]) { $0.runsCalls = true })
    }

    private static func expectContradiction(_ events: [String], at index: Int = 0) async {
        let (outcome, response) = await Self.complete(events)
        #expect(outcome.transportFailure?.code == .contradictoryEvents, "\(events)")
        #expect(outcome.transportFailure?.details.detail == "closing-differs at output \(index), part 0")
        #expect(outcome.outcomes == ["event.contradictory"])
        #expect(response == nil)
    }

    private static func expectCalls(_ payloads: [String], _ events: [String]) async {
        let (outcome, response) = await Self.complete(events)
        #expect(outcome.error == nil, "\(events)")
        #expect(response?.calls.map(\.payload) == payloads, "\(events)")
    }

    // MARK: Arguments without an item

    /// The arguments are the call's if they have its item's identifier.
    @Test(arguments: [false, true])
    func argumentsOfACallThatIsNotAnnounced(areClosed: Bool) async {
        let written = areClosed ? Statement.argumentsDone(Self.one) : Statement.delta(Self.one)
        for id in ["fc", "other", nil] {
            let item = Statement.item("", id: id)
            for end in [[Event.done(item), Event.completed("r")], [Statement.end(item)]] {
                if id == "fc" {
                    await Self.expectCalls([#"{"a":1}"#], [written] + end)
                } else {
                    await Self.expectContradiction([written] + end)
                }
            }
        }
    }

    /// The deltas have an identifier each, and no closing event has the arguments.
    @Test func argumentsUnderSeveralIdentifiersAreNotOmitted() async {
        let item = Statement.item("")
        let written = [
            Statement.added(item), Statement.delta(#"{\"a\":"#, id: "x"), Statement.delta("1}", id: "y"),
            Statement.argumentsDone(""),
        ]
        await Self.expectContradiction(written + [Event.completed("r")])
        await Self.expectContradiction(written + [Event.done(item), Event.completed("r")])
        await Self.expectContradiction(written + [Statement.end(item)])
        await Self.expectCalls([#"{"a":1}"#], written + [Event.done(Statement.item(Self.one)), Event.completed("r")])
    }

    /// Two calls have one index and no identifiers of items.
    @Test func callsAtOneIndexHaveTheirOwnArguments() async {
        let (first, second) = (Statement.item("", callID: "c", id: nil), Statement.item("", callID: "d", id: nil))
        await Self.expectCalls(
            [#"{"a":1}"#, #"{"a":2}"#],
            [
                Statement.added(first), Statement.argumentsDone(Self.one), Statement.added(second),
                Statement.argumentsDone(Self.two), Event.completed("r"),
            ])
        let announced = [Statement.added(first), Statement.added(second)]
        await Self.expectContradiction(announced + [Statement.argumentsDone(Self.one), Event.completed("r")])
        await Self.expectContradiction(
            announced + [
                Statement.argumentsDone(Self.one), Statement.argumentsDone(Self.two), Event.done(first),
                Event.done(second), Event.completed("r"),
            ])
    }

    // MARK: Calls that are cut

    @Test(arguments: [[], [Statement.delta(#"{\"a\""#)], [Statement.delta(Self.one)]])
    func callWithoutAnEndIsNotLostInACompleteResponse(_ deltas: [String]) async {
        let begun = [Statement.added(Statement.item("", callID: "cut"), at: 0)] + deltas
        await Self.expectContradiction(begun + [Event.completed("r")])
        await Self.expectContradiction(begun + [Statement.end()])
        // Beside other items as well.
        let other = Statement.item(Self.two, callID: "other", id: "fc_2")
        await Self.expectContradiction(begun + [Event.done(other, at: 1), Statement.end(other)])
    }

    @Test func callThatTheEndListsWasNotCut() async {
        let item = Statement.item(Self.one)
        await Self.expectCalls([Self.one.replacing("\\", with: "")], [Statement.added(item), Statement.end(item)])
    }

    // MARK: Calls that are finished again

    @Test(arguments: ChappieRawEvents.allCases.filter { $0 != .none }, [0, 1, 2])
    func callFinishedAgainIsHandedOverOnce(_ rawEvents: ChappieRawEvents, place: Int) async {
        let again = Statement.item(#"{ \"a\" :1.0}"#, id: nil)
        let fixture = TurnFixture([
            .socket([
                Event.created("r"), Event.done(Statement.item(Self.one, id: nil), at: 0), Event.done(again, at: place),
                Event.completed,
            ])
        ]) { $0.rawEvents = rawEvents }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(outcome.rawTypes.count { $0 == "response.output_item.done" } == 1)
    }

    @Test func callFinishedAgainWithOtherContentAtItsPositionIsAContradiction() async {
        for (first, second) in [
            (Statement.item(Self.one, id: nil), Statement.item(Self.two, id: nil)),
            (Statement.item(Self.one, id: nil), Statement.item(Self.one, name: "g", id: nil)),
            (Statement.item(Self.one, id: nil), Statement.incomplete(Statement.item(Self.one, id: nil))),
        ] {
            await Self.expectContradiction([Event.done(first), Event.done(second), Event.completed])
        }
    }

    /// A program may roll two dice at once, through a server that gives every item the same position.
    @Test(arguments: ChappieRawEvents.allCases.filter { $0 != .none }, [0, 1])
    func equalCallsOfOnePositionAreHandedOverEach(_ rawEvents: ChappieRawEvents, place: Int) async {
        for ids in [(nil, nil), ("fc", "fd")] as [(String?, String?)] {
            let items = [
                Statement.item(Self.one, callID: "c", id: ids.0), Statement.item(Self.one, callID: "d", id: ids.1),
            ]
            let done = [Event.done(items[0], at: 0), Event.done(items[1], at: place)]
            let announced = [Statement.added(items[0], at: 0), done[0], Statement.added(items[1], at: place), done[1]]
            for events in [done, announced, done + done, announced + done] {
                let ends = [Event.completed, Statement.end(items[0], items[1])]
                for end in ends {
                    let outcome = await TurnFixture([.socket([Event.created("r")] + events + [end])]) {
                        $0.rawEvents = rawEvents
                    }.run()
                    #expect(outcome.error == nil, "\(events)")
                    #expect(outcome.rawTypes.count { $0 == "response.output_item.done" } == 2, "\(events)")
                    await Self.expectCalls([#"{"a":1}"#, #"{"a":1}"#], events + [end])
                }
            }
        }
    }

    /// The same, when the first answer breaks between the two.
    @Test func equalCallsOfOnePositionAreHandedOverOnceInAReplay() async {
        let items = ["c", "d"].map { Event.done(Statement.item(Self.one, callID: $0, id: nil), at: 0) }
        let again = ["e", "f"].map { Event.done(Statement.item(Self.one, callID: $0, id: nil), at: 0) }
        for count in [1, 2] {
            let outcome = await TurnFixture([
                .socket([Event.created("r")] + items.prefix(count)),
                .socket([Event.created("s")] + again + [Event.completed]),
            ]) { $0.rawEvents = .all }.run()
            #expect(outcome.error == nil)
            #expect(outcome.rawTypes.count { $0 == "response.output_item.done" } == 2)
        }
    }

    @Test func callWithoutCallIDFinishedAgainIsHandedOverOnce() async {
        let calls = ["f", "g"].enumerated().map { place, name in
            Event.done(#"{"type":"function_call","name":"\#(name)","arguments":"{}"}"#, at: place)
        }
        let outcome = await TurnFixture([
            .socket([Event.created("r")] + calls + calls + [Event.completed])
        ]) { $0.rawEvents = .all }.run()
        #expect(outcome.error == nil)
        #expect(outcome.rawTypes.count { $0 == "response.output_item.done" } == 2)
        for id in ["", #""id":"fc","#] {
            await Self.expectContradiction(
                ["f", "g"].map { name in
                    Event.done(#"{\#(id)"type":"function_call","name":"\#(name)","arguments":"{}"}"#)
                } + [Event.completed])
        }
    }

    /// A server may give several calls one `call_id`: an engine hands each over, and a client runs none.
    @Test func repeatedCallAfterAnotherWithItsCallIDIsHandedOverOnce() async {
        let (first, other) = (Statement.item(Self.one, id: nil), Statement.item(Self.two, id: nil))
        let events = [Event.done(first, at: 0), Event.done(other, at: 1)]
        let (outcome, _) = await Self.complete(events + [Event.done(first, at: 2), Event.completed]) {
            $0.rawEvents = .all
        }
        #expect(outcome.rawTypes.count { $0 == "response.output_item.done" } == 2)
        #expect(outcome.clientError == .invalidResponse)
        await Self.expectContradiction(
            events + [Event.done(Statement.item("{}", id: nil), at: 0), Event.completed])
    }

    @Test func callFinishedAtThePositionOfAnotherIsAContradiction() async {
        let first = Event.done(Statement.item(Self.one, id: nil), at: 0)
        for callID in ["c", "d"] {
            let added = Statement.added(Statement.item("", callID: callID, id: nil), at: 1)
            let closed = [added, Statement.delta(Self.two, at: 1), Statement.argumentsDone(Self.two, at: 1)]
            await Self.expectContradiction(
                [first] + closed + [Event.done(Statement.item(Self.one, id: nil), at: 1), Event.completed], at: 1)
        }
    }

    // MARK: Contradictions

    @Test func argumentsThatTheDeltasDoNotHaveAreAContradiction() async {
        let start = [Statement.added(Statement.item("")), Statement.delta(Self.one)]
        await Self.expectContradiction(start + [Statement.argumentsDone(Self.two)])
        await Self.expectContradiction(start + [Event.done(Statement.item(Self.two)), Event.completed])
    }

    @Test(arguments: [
        Statement.item(two), Statement.item(one, name: "g"), Statement.item(one, isCustom: true),
        Statement.item(two, callID: "d"), Statement.item(one, name: "g", callID: "d"),
    ])
    func anEndOfTheResponseWithAnotherCallIsAContradiction(_ item: String) async {
        await Self.expectContradiction([Event.done(Statement.item(Self.one)), Statement.end(item)])
    }

    @Test func anotherNameThanWasAnnouncedIsAContradiction() async {
        let added = Statement.added(Statement.item("", name: "g"))
        await Self.expectContradiction([added, Event.done(Statement.item(Self.one)), Event.completed])
        await Self.expectContradiction([added, Statement.end(Statement.item(Self.one))])
    }

    @Test func anotherInputOfACustomToolIsAContradiction() async {
        let item = Statement.item("a", isCustom: true)
        await Self.expectContradiction([Statement.inputDone("a "), Event.done(item), Event.completed])
        await Self.expectContradiction([Event.done(item), Statement.end(Statement.item("a ", isCustom: true))])
    }

    @Test func argumentsThatAreClosedBehindTheItemAreComparedToo() async {
        let done = Event.done(Statement.item(Self.one))
        await Self.expectContradiction([done, Statement.argumentsDone(Self.two), Event.completed])
        await Self.expectCalls([#"{"a":1}"#], [done, Statement.argumentsDone(Self.one), Event.completed])
        // The arguments of another item at the same place.
        await Self.expectCalls(
            [#"{"a":1}"#, #"{"a":2}"#],
            [
                Event.done(Statement.item(Self.one, id: "fd")), Statement.argumentsDone(Self.two),
                Event.done(Statement.item(Self.two, callID: "d")), Event.completed,
            ])
    }

    /// The terminal event does not identify which of the two it means after an item was finished twice.
    @Test func callsAtOnePlaceOfWhichTheEndLeavesOneOutAreAContradiction() async {
        let calls = ["c", "d"].map { Statement.item(Self.one, callID: $0) }
        await Self.expectContradiction(calls.map { Event.done($0) } + [Statement.end(calls[0])])
        await Self.expectContradiction(calls.map { Event.done($0) } + [Statement.end(calls[1])])
    }

    @Test func anItemThatIsFinishedUnderTwoCallIDsIsTwoCalls() async {
        let items = ["c", "d"].map { Statement.item("{}", callID: $0) }
        let done = items.map { Event.done($0) }
        for events in [[Statement.added(items[0])] + done, [done[0], Statement.added(items[1]), done[1]]] {
            await Self.expectCalls(["{}", "{}"], events + [Event.completed])
        }
    }

    @Test func aCallThatIsWrittenAndThatTheListLeavesOutIsAContradiction() async {
        await Self.expectContradiction([
            Statement.added(Statement.item("")), Statement.argumentsDone(Self.one),
            Statement.end(WireItem.sentMessage("x")),
        ])
    }

    // MARK: No contradictions

    @Test func theSameCallInAnotherSpellingIsTheSame() async {
        await Self.expectCalls(
            [#"{"b":2,"a":1}"#],
            [
                Statement.added(Statement.item("")), Statement.delta(#"{\"a\":1,"#), Statement.delta(#" \"b\":2}"#),
                Statement.argumentsDone(#"{\"a\":1.0,\"b\":2}"#), Event.done(Statement.item(#"{\"b\":2,\"a\":1}"#)),
                Statement.end(Statement.item(#"{ \"a\" : 1, \"\\u0062\":2}"#)),
            ])
    }

    @Test func omittedMembersOfACallDoNotContradictIt() async {
        let done = Event.done(Statement.item(Self.one))
        for events in [
            [done, Event.completed], [Statement.added(Statement.item("", name: "")), done, Event.completed],
            [Statement.argumentsDone(Self.one), done, Event.completed], [done, Statement.end()],
            [Statement.end(Statement.item(Self.one))], [done, Statement.end(WireItem.sentMessage("x"))],
            [done, Statement.end(Statement.item(Self.one, callID: "other"))],
            [done, Statement.end(Statement.item(Self.one, id: nil))],
        ] {
            await Self.expectCalls([#"{"a":1}"#], events)
        }
    }

    /// Their item is unknown: a server that names no position, or gives several items one.
    @Test func deltasOfSeveralCallsAtOnePlaceAreNotCompared() async {
        await Self.expectCalls(
            [#"{"a":1}"#, #"{"a":2}"#],
            [
                Statement.delta(#"{\"a\""#), Statement.delta(#"{\"a\":2}"#, id: "fd"), Statement.delta(":1}"),
                Event.done(Statement.item(Self.one)), Event.done(Statement.item(Self.two, callID: "d", id: "fd")),
                Event.completed,
            ])
        await Self.expectCalls(
            [#"{"a":1}"#, #"{"a":2}"#],
            [
                Statement.added(Statement.item("")), Statement.added(Statement.item("", callID: "d", id: "fd")),
                Statement.argumentsDone(Self.one), Statement.argumentsDone(Self.two),
                Event.done(Statement.item(Self.one)), Event.done(Statement.item(Self.two, callID: "d", id: "fd")),
                Statement.end(Statement.item(Self.one), Statement.item(Self.two, callID: "d", id: "fd")),
            ])
    }

    @Test func deltasThatCutACharacterAreNotCompared() async {
        await Self.expectCalls(
            [#"{"a":"😀"}"#],
            [
                Statement.delta(#"{\"a\":\"\ud83d"#), Statement.delta(#"\ude00\"}"#),
                Event.done(Statement.item(#"{\"a\":\"😀\"}"#)), Event.completed,
            ])
    }

    /// Servers that close only the arguments.
    @Test func aCallThatWasWrittenToItsEndIsThereWithoutTheEndOfItsItem() async {
        let events = [
            Statement.added(Statement.item("")), Statement.delta(Self.one), Statement.argumentsDone(Self.one),
            Event.completed,
        ]
        await Self.expectCalls([#"{"a":1}"#], events)
        let outcome = await TurnFixture([.socket([Event.created("r")] + events)]).run()
        guard case .raw("response.output_item.done", let payload)? = outcome.events.dropLast().last else {
            Issue.record("\(outcome.events)")
            return
        }
        #expect(payload.contains(#""output_index":0,"item":{"id":"fc","type":"function_call""#))
        #expect(payload.contains(#""arguments":"{\"a\":1}""#))
        // Text that is not closed may have been cut.
        await Self.expectContradiction(Array(events.prefix(2)) + [Event.completed])
    }

    @Test func aCallThatIsFinishedAtAnotherPlaceIsThereOnce() async {
        let events = [
            Event.created("r"), Statement.added(Statement.item("")), Statement.argumentsDone(Self.one),
            Event.done(Statement.item(Self.one), at: 1), Event.completed,
        ]
        let outcome = await TurnFixture([.socket(events)]).run()
        #expect(outcome.error == nil)
        #expect(outcome.rawTypes.count { $0 == "response.output_item.done" } == 1)
        await Self.expectCalls([#"{"a":1}"#], Array(events.dropFirst()))
    }

    // MARK: Limits

    @Test(arguments: [0, 1])
    func unfinishedCallArgumentsAreKeptUpToALimit(excess: Int) async {
        let events = [Statement.delta("0123456789"), Event.done(Statement.item("0123456789")), Event.completed]
        let (outcome, _) = await Self.complete(events) { $0.limits.outputByteCount = 10 - excess }
        #expect(outcome.transportFailure?.code == (excess == 0 ? nil : .outputTooLarge))
    }
}
