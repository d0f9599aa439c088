// Calls without the ends of their items: those that the end of the response states, and those that are lost.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct CallWithoutEndTests {
    private static let one = #"{\"a\":1}"#
    private static let two = #"{\"a\":2}"#
    private static let reasoning = #"{"type":"reasoning","id":"rs","summary":[]}"#

    private static func item(
        _ arguments: String? = nil, id: String? = "fc", callID: String? = "c", name: String? = "f",
        status: String? = nil, type: String = "function_call"
    ) -> String {
        let members = [
            ("type", type), ("id", id), ("call_id", callID), ("name", name),
            (type == "custom_tool_call" ? "input" : "arguments", arguments), ("status", status),
        ]
        return "{" + members.compactMap { name, value in value.map { #""\#(name)":"\#($0)""# } }.joined(separator: ",")
            + "}"
    }

    private static func added(_ item: String, at index: Int = 0) -> String {
        #"{"type":"response.output_item.added","output_index":\#(index),"item":\#(item)}"#
    }

    private static func delta(_ text: String, at index: Int = 0, id: String = "fc") -> String {
        #"{"type":"response.function_call_arguments.delta","output_index":\#(index),"item_id":"\#(id)","delta":"\#(text)"}"#
    }

    private static func closed(_ text: String, at index: Int = 0, id: String = "fc") -> String {
        #"{"type":"response.function_call_arguments.done","output_index":\#(index),"item_id":"\#(id)","name":"f","arguments":"\#(text)"}"#
    }

    private static func end(_ items: [String]) -> String {
        Event.completed("r", #","output":[\#(items.joined(separator: ","))]"#)
    }

    private static func complete(_ events: [String]) async -> (outcome: TurnOutcome, response: CompletedResponse?) {
        await TurnFixture([.socket([Event.created("r")] + events)])
            .complete(conversation([WireItem.question]) { $0.runsCalls = true })
    }

    private static func expectCalls(_ calls: [String], _ events: [String]) async {
        let (outcome, response) = await Self.complete(events)
        #expect(outcome.error == nil, "\(events)")
        #expect(response?.calls.map { "\($0.callID) \($0.payload)" } == calls, "\(events)")
    }

    private static func expectContradiction(_ events: [String], at index: Int = 0) async {
        let (outcome, response) = await Self.complete(events)
        #expect(outcome.outcomes == ["event.contradictory"], "\(events)")
        #expect(outcome.transportFailure?.details.detail == "closing-differs at output \(index), part 0")
        #expect(response == nil)
    }

    // MARK: Calls at one position

    /// The first call has no `call_id`, so that no tool can run with its arguments; the second one is announced in its
    /// place.
    @Test(arguments: [nil, ""])
    func aCallWithoutACallIDIsNotLostBehindAnother(callID: String?) async {
        let calls = [
            Self.added(Self.item("", id: nil, callID: callID)), Self.closed(Self.one),
            Self.added(Self.item("", id: nil)), Self.closed(Self.two),
        ]
        await Self.expectContradiction(calls + [Event.completed("r")])
        await Self.expectContradiction(calls + [Self.end([Self.item(Self.two, id: nil)])])
        await Self.expectContradiction(calls + [Event.done(Self.item(Self.two, id: nil)), Event.completed("r")])
        // It is the same call, which is announced again.
        let again = [
            Self.added(Self.item("", callID: callID)), Self.closed(Self.one), Self.added(Self.item("")),
            Event.done(Self.item(Self.one)), Event.completed("r"),
        ]
        await Self.expectCalls(["c {\"a\":1}"], again)
    }

    @Test func aCallThatAListOmitsIsNotLostBehindAnother() async {
        for listed in [("c0", Self.one), ("c1", Self.two)] {
            let calls = [
                Self.added(Self.item("", id: nil, callID: "c0")), Self.closed(Self.one),
                Self.added(Self.item("", id: nil, callID: "c1")), Self.closed(Self.two),
            ]
            await Self.expectContradiction(calls + [Self.end([Self.item(listed.1, id: nil, callID: listed.0)])])
        }
    }

    /// The text that closes the deltas has the rest of them.
    @Test func deltasBehindTheClosedArgumentsAddNothing() async {
        let begin = [Self.added(Self.item("")), Self.delta(#"{\"a\":"#), Self.closed(Self.one)]
        for rest in [["1}"], ["1", "}"]] {
            await Self.expectCalls(
                ["c {\"a\":1}"], begin + rest.map { Self.delta($0) } + [Event.done(Self.item()), Event.completed("r")])
        }
        await Self.expectContradiction(begin + [Self.delta("2}"), Event.done(Self.item()), Event.completed("r")])
    }

    // MARK: The list of the end

    /// A call that is listed; the members that a row leaves out are nil.
    private static func listed(_ row: (hasID: Bool, hasCallID: Bool, hasArguments: Bool)) -> [String] {
        [("a", Self.one), ("b", Self.two)].map { (name: String, arguments: String) in
            Self.item(
                row.hasArguments ? arguments : "", id: row.hasID ? "fc_\(name)" : nil,
                callID: row.hasCallID ? name : nil)
        }
    }

    /// A call that is announced, and written to its end.
    private static func written(_ name: String, _ arguments: String, at index: Int) -> [String] {
        [
            Self.added(Self.item("", id: "fc_\(name)", callID: name), at: index),
            Self.delta(arguments, at: index, id: "fc_\(name)"), Self.closed(arguments, at: index, id: "fc_\(name)"),
        ]
    }

    /// A list that omits the reasoning, or begins to count elsewhere: an identifier says which call is meant.
    @Test(
        arguments: [
            (true, true, true), (true, true, false), (false, true, true), (false, true, false), (true, false, true),
        ],
        [1, 3])
    func identifiersPrecedePositionsInTheList(
        row: (hasID: Bool, hasCallID: Bool, hasArguments: Bool), index: Int
    ) async {
        let (first, second) = (Self.written("a", Self.one, at: index), Self.written("b", Self.two, at: index + 1))
        let calls = Self.listed(row)
        for events in [first + second, [first[0], second[0]] + first[1...] + second[1...]] {
            for list in [calls, [Self.reasoning] + calls] {
                await Self.expectCalls([#"a {"a":1}"#, #"b {"a":2}"#], events + [Self.end(list)])
            }
            await Self.expectCalls([#"b {"a":2}"#, #"a {"a":1}"#], events + [Self.end(calls.reversed())])
        }
    }

    /// A finished call that the list omits has the position of another one in the list.
    @Test func listedCallIsNotTheFinishedOneAtItsPosition() async {
        let finished = Event.done(Self.item(Self.one, id: "fc_a", callID: "a"), at: 0)
        let events = [finished] + Self.written("b", Self.two, at: 1)
        await Self.expectCalls(
            [#"b {"a":2}"#, #"a {"a":1}"#], events + [Self.end([Self.item(Self.two, id: "fc_b", callID: "b")])])
    }

    @Test(arguments: [
        [item(one, id: "fc_a", callID: "a")], [item(one, id: "fc_a", callID: "a"), item(two, id: "fc_c", callID: "c")],
    ])
    func callThatTheListOmitsIsAContradiction(list: [String]) async {
        let events = Self.written("a", Self.one, at: 1) + Self.written("b", Self.two, at: 2)
        await Self.expectContradiction(events + [Self.end(list)], at: 2)
    }

    // MARK: Lost calls

    /// No output can refer to a call without a `call_id`, and none runs without a name.
    @Test(arguments: [
        [delta(one), closed(one)], [delta(one)], [closed(one)], [delta(#"{\"a\""#)],
        [added(item("", callID: nil)), closed(one)], [added(item("", callID: "")), delta(one), closed(one)],
        [
            added(item("", name: nil)),
            #"{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc","arguments":"{}"}"#,
        ],
        [added(item("", callID: nil))],
    ])
    func callThatNoStatementNamesIsAContradiction(events: [String]) async {
        await Self.expectContradiction(events + [Event.completed("r")])
        await Self.expectContradiction(events + [Self.end([])])
        await Self.expectContradiction(events + [Self.end([WireItem.sentMessage("x")])])
    }

    /// The call is there under another position, or another identifier.
    @Test(arguments: [0, 1], ["fc", "fd", nil])
    func argumentsOfACallThatIsFinishedElsewhereAreNotLost(place: Int, id: String?) async {
        for events in [[Self.delta(Self.one), Self.closed(Self.one)], [Self.delta(Self.one)]] {
            let done = Event.done(Self.item(Self.one, id: id), at: place)
            await Self.expectCalls([#"c {"a":1}"#], events + [done, Event.completed("r")])
        }
    }

    /// Arguments of a tool that the server runs itself, in events of the wrong name.
    @Test func argumentsOfAnotherItemAreNotLost() async {
        let item = #"{"type":"mcp_call","id":"fc"}"#
        let written = [Self.delta(Self.one), Self.closed(Self.one)]
        for events in [
            [Self.added(item)] + written + [Event.completed("r")],
            written + [Event.done(item), Event.completed("r")], written + [Self.end([item])],
        ] {
            await Self.expectCalls([], events)
        }
    }

    // MARK: Calls that are announced whole

    @Test(arguments: ["function_call", "custom_tool_call"])
    func callThatIsAnnouncedWholeIsFinished(type: String) async {
        let whole = Self.added(Self.item(Self.one, status: "completed", type: type))
        await Self.expectCalls([#"c {"a":1}"#], [whole, Event.completed("r")])
        await Self.expectCalls([#"c {"a":1}"#], [whole, Self.end([Self.item(Self.one, type: type)])])
        await Self.expectContradiction([whole, Self.end([WireItem.sentMessage("x")])])
        let begun = [("in_progress", Self.one), (nil, Self.one), ("completed", "")] as [(String?, String)]
        for (status, arguments) in begun {
            await Self.expectContradiction([
                Self.added(Self.item(arguments, status: status, type: type)), Event.completed("r"),
            ])
        }
    }

    @Test(arguments: [added(item(#"{\"a\""#, status: "completed")), added(item("1", status: "completed"))])
    func announcedArgumentsThatAreNoObjectAreNotWhole(event: String) async {
        await Self.expectContradiction([event, Event.completed("r")])
    }

    /// Only deltas may have the end of these arguments.
    @Test func deltasBehindAWholeAnnouncementAreNotItsEnd() async {
        let whole = Self.added(Self.item(Self.one, status: "completed"))
        await Self.expectContradiction([whole, Self.delta(Self.one), Event.completed("r")])
        await Self.expectCalls(
            [#"c {"a":1}"#], [whole, Self.delta(Self.one), Self.closed(Self.one), Event.completed("r")])
    }
}
