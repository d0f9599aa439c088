// The result of a complete response: its items as input, the calls that need an output, and its tokens.

import ResponseEvents
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct CompletedResponseTests {
    private static let request = conversation([WireItem.question])

    private static func complete(
        _ events: [String], isHTTP: Bool = false, runsCalls: Bool = false, answered: [FinishedCall] = [],
        _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async -> (outcome: TurnOutcome, response: CompletedResponse?) {
        let fixture = TurnFixture([isHTTP ? .http(events) : .socket(events)]) {
            if isHTTP { $0.policy = .httpSSEOnly }
            configure(&$0)
        }
        let request = conversation([WireItem.question]) {
            $0.runsCalls = runsCalls
            $0.answeredCalls = answered
        }
        return await fixture.complete(request)
    }

    // MARK: Items

    @Test(arguments: [false, true])
    func itemsComeBackAsInputInTheOrderOfTheirPositions(isHTTP: Bool) async {
        let (outcome, response) = await Self.complete(
            [
                Event.created("r1"), Event.done(WireItem.sentCall("b"), at: 2),
                Event.done(WireItem.sentCall("a"), at: 1),
                Event.text("Hello", at: 0), Event.done(WireItem.sentMessage("Hello"), at: 0),
                Event.completed("r1", #","model":"m-1","end_turn":false,"usage":{"input_tokens":5,"total_tokens":9}"#),
            ], isHTTP: isHTTP)
        #expect(outcome.error == nil)
        #expect(response?.itemTexts == [WireItem.message("Hello"), WireItem.call("a"), WireItem.call("b")])
        #expect(response?.calls.map(\.callID) == ["a", "b"])
        #expect(response?.id == "r1")
        #expect(response?.model == "m-1")
        #expect(response?.usage == ChappieTokenUsage(inputTokens: 5, totalTokens: 9))
        #expect(response?.endsTurn == false)
    }

    /// The end lists the call of one item twice, with another `call_id` than its own end has, or with its own.
    @Test(arguments: ["a", "b"], [true, false])
    func aCallThatTheListRepeatsUnderTheIdentifierOfItsItemRunsOnce(callID: String, hasEnd: Bool) async {
        let call = { (callID: String, id: String) in
            #"{"type":"function_call","id":"\#(id)","call_id":"\#(callID)","name":"f","arguments":"{}"}"#
        }
        let begun = [Event.created("r1")] + (hasEnd ? [Event.done(call("a", "i"), at: 0)] : [])
        let twice = "\(call(callID, "i")),\(call(callID, "i"))"
        let (outcome, response) = await Self.complete(begun + [Event.completed("r1", #","output":[\#(twice)]"#)])
        #expect(outcome.error == nil)
        #expect(response?.calls.map(\.callID) == [hasEnd ? "a" : callID])
        let two = "\(call("a", "i")),\(call("c", "i"))"
        let (_, others) = await Self.complete(begun + [Event.completed("r1", #","output":[\#(two)]"#)])
        #expect(others?.calls.map(\.callID) == ["a", "c"])
    }

    @Test func completedResponseWithoutMembersHasDefaultValues() async {
        let (_, response) = await Self.complete([#"{"type":"response.completed","response":{}}"#])
        var expected = CompletedResponse()
        expected.endsTurn = true
        #expect(response == expected)
    }

    @Test func theIdentifierOfTheBeginningServesWhereTheEndHasNone() async {
        let (_, response) = await Self.complete([Event.created("r1"), #"{"type":"response.completed","response":{}}"#])
        #expect(response?.id == "r1")
    }

    @Test func completedResponseHasTheServersRequestID() async {
        let fixture = TurnFixture([
            [.opened(101, fields: ["x-request-id": "req_1"]), .request, .text(Event.completed("r1"))]
        ])
        #expect(await fixture.complete(Self.request).response?.requestID == "req_1")
    }

    @Test func completedResponseIsNilBeforeTheEnd() async throws {
        let fixture = TurnFixture([
            .webSocket(Event.created("r1"), Event.done(WireItem.sentCall("a")), Event.incomplete)
        ])
        let turn = fixture.instance.turn(Self.request)
        #expect(turn.completedResponse == nil)
        await #expect(throws: ChappieClientError.self) { while try await turn.next(for: .events) != nil {} }
        #expect(turn.completedResponse == nil)
    }

    @Test func reasoningGoesBackOnlyIfItIsEncrypted() async {
        let encrypted = #"{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}"#
        let (_, response) = await Self.complete([
            Event.done(#"{"id":"rs_1","type":"reasoning","summary":[]}"#, at: 0),
            Event.done(#"{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"gAAA"}"#, at: 1),
            Event.done(WireItem.sentMessage("x"), at: 2), Event.completed("r1"),
        ])
        #expect(response?.itemTexts == [encrypted, WireItem.message("x")])
    }

    @Test func terminalEventsListIsUsedWithoutFinishedItems() async {
        let output = #","output":[\#(WireItem.sentMessage("x")),\#(WireItem.sentCall("a"))]"#
        let (_, response) = await Self.complete([Event.created("r1"), Event.completed("r1", output)])
        #expect(response?.itemTexts == [WireItem.message("x"), WireItem.call("a")])
        #expect(response?.calls.map(\.callID) == ["a"])
    }

    @Test(arguments: ["", #","output":[]"#, #","output":null"#, #","output":7"#, #","output":{"a":1}"#])
    func endWithoutOutputKeepsFinishedItems(output: String) async {
        let (_, response) = await Self.complete([Event.done(WireItem.sentCall("a")), Event.completed("r1", output)])
        #expect(response?.itemTexts == [WireItem.call("a")])
        let (_, empty) = await Self.complete([Event.completed("r1", output)])
        #expect(empty?.items == [])
    }

    @Test func finishedItemsTakePrecedenceOverTheTerminalEventsList() async {
        let (_, response) = await Self.complete([
            Event.done(WireItem.sentCall("a")), Event.completed("r1", #","output":[\#(WireItem.sentCall("b"))]"#),
        ])
        #expect(response?.itemTexts == [WireItem.call("a")])
    }

    @Test func itemSentTwiceIsKeptOnce() async {
        let (_, response) = await Self.complete([
            Event.done(WireItem.sentMessage("x"), at: 0), Event.done(WireItem.sentMessage("x"), at: 0),
            Event.completed("r1"),
        ])
        #expect(response?.itemTexts == [WireItem.message("x")])
    }

    @Test func itemRepeatedAtAnotherPositionIsKeptOnce() async {
        let items = [
            Event.done(WireItem.sentMessage("x"), at: 0), Event.done(WireItem.sentCall("a"), at: 1),
            Event.done(WireItem.sentMessage("x"), at: 1),
        ]
        let (_, response) = await Self.complete(items + [Event.completed("r1")])
        #expect(response?.itemTexts == [WireItem.message("x"), WireItem.call("a")])
    }

    @Test func equalItemsWithoutIdentifiersAreKeptByPosition() async {
        let item = #"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}"#
        let (_, response) = await Self.complete([
            Event.done(item, at: 0), Event.done(item, at: 1), Event.done(item, at: 1), Event.completed("r1"),
        ])
        #expect(response?.itemTexts == [item, item])
    }

    @Test func terminalEventsListExcludesEmptyItems() async {
        let empty = #"{"id":"msg_0","type":"message","role":"assistant","content":[]}"#
        let (_, response) = await Self.complete([
            Event.done(empty, at: 0), Event.done(WireItem.sentCall("a"), at: 1), Event.done(empty, at: 1),
            Event.completed("r1", #","output":[\#(WireItem.sentCall("a"))]"#),
        ])
        #expect(response?.itemTexts == [WireItem.call("a")])
        #expect(response?.calls.map(\.callID) == ["a"])
    }

    @Test func terminalEventsListDeterminesTheOrderOfCalls() async {
        let output = #","output":[\#(WireItem.sentMessage("x")),\#(WireItem.sentCall("a")),\#(WireItem.sentCall("b"))]"#
        let (_, response) = await Self.complete([
            Event.done(WireItem.sentCall("b"), at: 0), Event.done(WireItem.sentCall("a"), at: 1),
            Event.text("x", at: 2), Event.completed("r1", output),
        ])
        #expect(response?.itemTexts == [WireItem.message("x"), WireItem.call("a"), WireItem.call("b")])
        #expect(response?.calls.map(\.callID) == ["a", "b"])
    }

    @Test func callMissingInTheTerminalEventsListIsKept() async {
        let (_, response) = await Self.complete([
            Event.done(WireItem.sentMessage("x"), at: 0), Event.done(WireItem.sentCall("a"), at: 1),
            Event.completed("r1", #","output":[\#(WireItem.sentMessage("x"))]"#),
        ])
        #expect(response?.itemTexts == [WireItem.message("x"), WireItem.call("a")])
    }

    /// The list of the end may omit reasoning: its positions are others then.
    @Test func callListedOnlyAtTheEndRunsBesideReasoningWithItsIndex() async {
        let (outcome, response) = await Self.complete(
            [
                Event.done(#"{"id":"rs_0","type":"reasoning","summary":[]}"#, at: 0),
                Event.completed("r1", #","output":[\#(WireItem.sentCall("a"))]"#),
            ], runsCalls: true)
        #expect(outcome.error == nil)
        #expect(response?.calls.map(\.callID) == ["a"])
    }

    @Test func aMessageThatTheEndOmitsContradicts() async {
        let (outcome, _) = await Self.complete(
            [
                Event.done(WireItem.sentMessage("x"), at: 0),
                Event.completed("r1", #","output":[\#(WireItem.sentCall("a"))]"#),
            ], runsCalls: true)
        #expect(outcome.transportFailure?.code == .contradictoryEvents)
    }

    /// The list omits reasoning, which shifts the positions: a call that came under the same `call_id`, or that is the
    /// same call under another one, runs once.
    @Test(
        arguments: [
            ([("a", "{}")], [("a", "{}"), ("b", "{}")], ["a", "b"]),
            ([("a", "{}")], [("b", "{}")], ["a"]),
            ([("a", "{}")], [("b", "{ }"), ("c", "{}")], ["a", "c"]),
            ([("a", "{}")], [("a", "{}"), ("b", "[]"), ("c", "{}")], ["a", "b", "c"]),
            ([("a", "{}"), ("b", "[]")], [("x", "{}"), ("y", "[]")], ["a", "b"]),
            ([("a", "{}"), ("b", "[]")], [("x", "[]"), ("y", "{}"), ("z", "1")], ["a", "b", "z"]),
            ([("a", "{}")], [("x", "[]"), ("y", "{}")], ["a", "x"]),
        ] as [([(String, String)], [(String, String)], [String])])
    func listedCallsRunOnceBehindAnOmittedItem(
        finished: [(String, String)], listed: [(String, String)], run: [String]
    ) async {
        let reasoning = #"{"id":"rs_0","type":"reasoning","summary":[]}"#
        let calls = finished.enumerated().map { index, call in
            Event.done(WireItem.sentCall(call.0, call.1), at: index + 1)
        }
        let list = listed.map { WireItem.sentCall($0.0, $0.1) }.joined(separator: ",")
        let (outcome, response) = await Self.complete(
            [Event.done(reasoning, at: 0)] + calls + [Event.completed("r1", #","output":[\#(list)]"#)], runsCalls: true)
        #expect(outcome.error == nil)
        #expect(response?.calls.map(\.callID).sorted() == run)
    }

    /// Calls with equal content are paired in their order: a status in the list is that of the right one.
    @Test func equalCallsListedUnderOtherIdentifiersKeepTheirOrder() async {
        let cut = WireItem.sentCall("y").replacing("completed", with: "incomplete")
        let (outcome, response) = await Self.complete(
            [
                Event.done(WireItem.sentCall("a"), at: 0), Event.done(WireItem.sentCall("b"), at: 1),
                Event.completed("r1", #","output":[\#(WireItem.sentCall("x")),\#(cut)]"#),
            ], runsCalls: true)
        #expect(outcome.error == nil)
        #expect(response?.calls.map(\.isIncomplete) == [false, true])
        #expect(response?.calls.first?.callID == "a")
    }

    /// It is the same call: it keeps its own `call_id`, and gets the position of the list.
    @Test func callListedUnderAnotherIdentifierGetsThePositionOfTheList() async {
        let list = [WireItem.sentCall("x"), WireItem.sentMessage("Hello")].joined(separator: ",")
        let (outcome, response) = await Self.complete(
            [
                Event.done(WireItem.sentMessage("Hello"), at: 1), Event.done(WireItem.sentCall("a"), at: 2),
                Event.completed("r1", #","output":[\#(list)]"#),
            ], runsCalls: true)
        #expect(outcome.error == nil)
        #expect(response?.itemTexts == [WireItem.call("a"), WireItem.message("Hello")])
    }

    @Test func differentItemsAtOnePositionAreAllKept() async {
        let (_, response) = await Self.complete([
            Event.done(WireItem.sentMessage("x"), at: 0), Event.done(WireItem.sentCall("a"), at: 0),
            Event.done(WireItem.sentCall("b"), at: 0), Event.completed("r1"),
        ])
        #expect(response?.itemTexts == [WireItem.message("x"), WireItem.call("a"), WireItem.call("b")])
    }

    // MARK: Attempts

    @Test func brokenAttemptLeavesNoItems() async {
        let first = [Event.created("r1"), Event.text("x", at: 0), Event.done(WireItem.sentMessage("x"), at: 0)]
        let second = [
            Event.created("r2"), Event.text("x", at: 0), Event.done(WireItem.sentMessage("x"), at: 0),
            Event.done(WireItem.sentCall("a"), at: 1), Event.completed("r2"),
        ]
        let fixture = TurnFixture([.socket(first, isBroken: true), .socket(second)])
        let (outcome, response) = await fixture.complete(Self.request)
        #expect(outcome.error == nil)
        #expect(response?.id == "r2")
        #expect(response?.itemTexts == [WireItem.message("x"), WireItem.call("a")])
    }

    @Test func carriedItemsAndTheirOutputsComeFirst() async {
        let first = [
            Event.created("r1"), Event.done(WireItem.sentCall("a"), at: 0), Event.text("x", at: 1),
        ]
        let second = [
            Event.created("r2"), Event.text("xy", at: 0), Event.done(WireItem.sentMessage("xy"), at: 0),
            Event.done(WireItem.sentCall("b"), at: 1), Event.completed("r2"),
        ]
        let fixture = TurnFixture([.socket(first, isBroken: true), .socket(second)]) {
            $0.policy.carriesFinishedItems = true
            $0.toolOutput = { _ in
                Issue.record("the request has a source of its own")
                return []
            }
        }
        let (outcome, response) = await fixture.complete(
            conversation([WireItem.question]) { $0.toolOutput = { _ in Array(WireItem.output("a").utf8) } })
        #expect(outcome.text == "xy")
        #expect(
            response?.itemTexts == [
                WireItem.call("a"), WireItem.output("a"), WireItem.message("xy"), WireItem.call("b"),
            ])
        // The call with an output is not open any more.
        #expect(response?.calls.map(\.callID) == ["b"])
    }

    @Test func aResumedResponseKeepsWhatCameBeforeTheCut() async {
        func numbered(_ event: String, _ number: Int) -> String {
            event.dropLast() + #","sequence_number":\#(number)}"#
        }
        let first = [
            numbered(Event.created("r1"), 0), numbered(Event.done(WireItem.sentMessage("x"), at: 0), 1),
        ]
        let second = [
            // An item from before the cut comes again.
            numbered(Event.done(WireItem.sentMessage("x"), at: 0), 1),
            numbered(Event.done(WireItem.sentCall("a"), at: 1), 2), numbered(Event.completed("r1"), 3),
        ]
        let fixture = TurnFixture([.http(first), .http(second)])
        let (outcome, response) = await fixture.complete(
            conversation([WireItem.question], #""model":"m","background":true,"store":true"#))
        #expect(outcome.error == nil)
        #expect(outcome.report.attempts.map(\.rung) == [nil, .resumed])
        #expect(response?.itemTexts == [WireItem.message("x"), WireItem.call("a")])
    }

    // MARK: Calls

    @Test func callsHaveTheirNameNamespaceAndPayload() async {
        let function = #"{"type":"function_call","call_id":"a","name":"f","namespace":"s","arguments":"{\"x\":1}"}"#
        let custom = #"{"type":"custom_tool_call","call_id":"b","name":"g","input":"any\ntext"}"#
        let (_, response) = await Self.complete([
            Event.done(function, at: 0), Event.done(custom, at: 1), Event.completed,
        ])
        #expect(
            response?.calls == [
                .init(callID: "a", name: "f", namespace: "s", payload: #"{"x":1}"#),
                .init(.custom, callID: "b", name: "g", payload: "any\ntext"),
            ])
    }

    @Test(arguments: ["not JSON", "null"])
    func argumentsAreHandedOverAsTheyAre(arguments: String) async {
        let (outcome, response) = await Self.complete(
            [Event.done(WireItem.sentCall("a", arguments)), Event.completed], runsCalls: true)
        #expect(outcome.error == nil)
        #expect(response?.calls.map(\.payload) == [arguments])
    }

    @Test func callWithARepeatedCallIDIsKeptOnce() async {
        let again = WireItem.sentCall("a").replacing("fc_a", with: "fc_other")
        for runsCalls in [false, true] {
            let (outcome, response) = await Self.complete(
                [Event.done(WireItem.sentCall("a"), at: 0), Event.done(again, at: 1), Event.completed],
                runsCalls: runsCalls)
            #expect(outcome.error == nil)
            #expect(response?.itemTexts == [WireItem.call("a")])
            #expect(response?.calls.count == 1)
            #expect(response?.hasAmbiguousCalls == false)
        }
    }

    @Test func callRepeatedInAnotherSpellingIsKeptOnce() async {
        let again = WireItem.sentCall("a", #"{ \"y\" : 2.0, \"x\":1}"#)
        let (outcome, response) = await Self.complete(
            [Event.done(WireItem.sentCall("a", #"{\"x\":1,\"y\":2}"#)), Event.done(again, at: 1), Event.completed],
            runsCalls: true)
        #expect(outcome.error == nil)
        #expect(response?.calls.map(\.payload) == [#"{"x":1,"y":2}"#])
    }

    @Test func callWithIncompleteStatusIsIncomplete() async {
        let cut = WireItem.sentCall("b").replacing("completed", with: "incomplete")
        let (_, response) = await Self.complete([
            Event.done(WireItem.sentCall("a"), at: 0), Event.done(cut, at: 1), Event.completed,
        ])
        #expect(response?.calls.map(\.isIncomplete) == [false, true])
    }

    /// A tool does not run then.
    @Test func terminalEventCanMarkACallIncomplete() async {
        let call = WireItem.sentCall("a")
        let cut = call.replacing("completed", with: "incomplete")
        let (_, response) = await Self.complete(
            [Event.done(call, at: 0), Event.completed("r", #","output":[\#(cut)]"#)], runsCalls: true)
        #expect(response?.calls.map(\.isIncomplete) == [true])
    }

    private static let answered = FinishedCall(
        callID: "a", name: "f", payload: "{}")

    @Test(arguments: [false, true])
    func answeredCallThatTheEndLeavesOutIsLeftOverFromAnEarlierResponse(isHTTP: Bool) async {
        let message = WireItem.sentMessage("x")
        let (outcome, response) = await Self.complete(
            [
                Event.created("r2"), Event.done(WireItem.sentCall("a"), at: 1), Event.text("x", at: 0),
                Event.done(message, at: 0), Event.completed("r2", #","output":[\#(message)]"#),
            ], isHTTP: isHTTP, runsCalls: true, answered: [Self.answered])
        #expect(outcome.error == nil)
        #expect(response?.itemTexts == [WireItem.message("x")])
        #expect(response?.calls == [])
    }

    @Test(arguments: [false, true])
    func endWithoutAnIdentifierThatListsAnAnsweredCallIsThatOfAnEarlierResponse(isHTTP: Bool) async {
        let earlier = #"{"type":"response.completed","response":{"output":[\#(WireItem.sentCall("a"))]}}"#
        let (outcome, response) = await Self.complete(
            [
                earlier, Event.created("r2"), earlier, Event.text("x", at: 0),
                Event.done(WireItem.sentMessage("x"), at: 0), Event.completed("r2"),
            ], isHTTP: isHTTP, runsCalls: true, answered: [Self.answered])
        #expect(outcome.error == nil)
        #expect(response?.id == "r2")
        #expect(response?.itemTexts == [WireItem.message("x")])
    }

    @Test(arguments: [false, true])
    func callThatComesAgainInAResponseIsListedByItsEnd(hasIdentifier: Bool) async {
        let end = #"{"type":"response.completed","response":{"output":[\#(WireItem.sentCall("a"))]}}"#
        let (outcome, response) = await Self.complete(
            hasIdentifier
                ? [Event.created("r2"), Event.completed("r2", #","output":[\#(WireItem.sentCall("a"))]"#)]
                : [Event.created("r2"), Event.done(WireItem.sentCall("a"), at: 0), end],
            runsCalls: true, answered: [Self.answered])
        #expect(outcome.error == nil)
        #expect(response?.calls == [Self.answered])
    }

    @Test(arguments: [
        // The end lists it too, or has no list.
        (WireItem.sentCall("a"), #","output":[\#(WireItem.sentMessage("x")),\#(WireItem.sentCall("a"))]"#),
        (WireItem.sentCall("a"), #","output":[]"#), (WireItem.sentCall("a"), ""),
        // The end lists a call without an identifier, which may be this one.
        (
            WireItem.sentCall("a"),
            #","output":[\#(WireItem.sentMessage("x")),{"type":"function_call","name":"f","arguments":"{}"}]"#
        ),
        // It is another call.
        (WireItem.sentCall("b"), #","output":[\#(WireItem.sentMessage("x"))]"#),
        (WireItem.sentCall("a", #"{\"y\":1}"#), #","output":[\#(WireItem.sentMessage("x"))]"#),
        (WireItem.sentCall("a", name: "g"), #","output":[\#(WireItem.sentMessage("x"))]"#),
    ])
    func unlistedOrChangedCallBelongsToTheResponse(call: String, output: String) async {
        let (outcome, response) = await Self.complete(
            [
                Event.created("r2"), Event.text("x", at: 0), Event.done(WireItem.sentMessage("x"), at: 0),
                Event.done(call, at: 1), Event.completed("r2", output),
            ], runsCalls: true, answered: [Self.answered])
        #expect(outcome.error == nil)
        #expect(response?.calls.count == 1)
        #expect(response?.items.count == 2)
    }

    private static let ambiguous = [
        [WireItem.sentCall("a"), WireItem.sentCall("a", #"{\"x\":1}"#)],
        [WireItem.sentCall("a"), WireItem.sentCall("a", name: "g")],
        [#"{"type":"function_call","name":"f","arguments":"{}"}"#],
        [#"{"type":"function_call","call_id":"","name":"f","arguments":"{}"}"#],
        [#"{"type":"custom_tool_call","call_id":null,"name":"f","input":""}"#],
    ]

    @Test(arguments: Self.ambiguous)
    func ambiguousCallsFailATurnThatRunsTools(items: [String]) async {
        let events = items.enumerated().map { Event.done($1, at: $0) } + [Event.completed]
        let (outcome, response) = await Self.complete(events, runsCalls: true)
        #expect(outcome.clientError == .invalidResponse)
        #expect(!outcome.events.contains(.completed))
        #expect(outcome.outcomes == ["response.invalid"])
        #expect(response == nil)
        // The calls were not delivered to the consumer.
        #expect(outcome.report.replaySafety == .sentNoOutput)
        // A caller that does not run them gets them unchanged.
        let (other, kept) = await Self.complete(events)
        #expect(other.error == nil)
        #expect(kept?.hasAmbiguousCalls == true)
    }

    /// A call that only the list has, behind a message that has come: no tool's output could answer it.
    @Test func aListedCallWithoutAnIdentifierIsNotLeftOut() async {
        let call = #"{"type":"function_call","id":"fc","name":"f","arguments":"{}"}"#
        let message = WireItem.sentMessage("x")
        let (outcome, response) = await Self.complete(
            [
                Event.text("x", at: 0), Event.done(message, at: 0),
                Event.completed("r", #","output":[\#(message),\#(call)]"#),
            ], runsCalls: true)
        #expect(outcome.clientError == .invalidResponse)
        #expect(outcome.text == "x" && response == nil)
    }

    // MARK: Limits

    @Test(arguments: [0, 1])
    func itemsAreKeptUpToTheLimitOfAnEvent(excess: Int) async {
        let items = (0..<8).map { WireItem.sentMessage("\($0)") }
        let size = items.reduce(0) { $0 + $1.utf8.count }
        let events = items.enumerated().map { Event.done($1, at: $0) } + [Event.completed("r1")]
        let (outcome, response) = await Self.complete(events) { $0.limits.eventByteCount = size - excess }
        #expect(outcome.error == nil)
        #expect(response?.items.count == (excess == 0 ? 8 : nil))
        let (other, none) = await Self.complete(events, runsCalls: true) { $0.limits.eventByteCount = size - excess }
        #expect(other.transportFailure?.code == (excess == 0 ? nil : .eventTooLarge))
        #expect((none == nil) == (excess == 1))
    }

    // MARK: Failures

    /// Some servers end every response with the same event.
    @Test(arguments: [
        ("incomplete", #","incomplete_details":{"reason":"max_output_tokens"}"#, "response.incomplete"),
        ("failed", #","error":{"code":"invalid_prompt","message":"m"}"#, "response.failed"),
        ("cancelled", "", "response.cancelled"),
    ])
    func statusInTheCompletedEventDeterminesTheOutcome(status: String, members: String, tag: String) async {
        let end = #"{"type":"response.completed","response":{"id":"r1","status":"\#(status)"\#(members)}}"#
        for runsCalls in [false, true] {
            let (outcome, response) = await Self.complete(
                [Event.created("r1"), Event.text("x"), Event.done(WireItem.sentCall("a"), at: 1), end],
                runsCalls: runsCalls)
            #expect(outcome.text == "x")
            #expect(outcome.clientError?.tag == tag)
            #expect(!outcome.events.contains(.completed))
            #expect(outcome.report.attempts.count == 1)
            #expect(response == nil)
        }
    }

    @Test(arguments: ["completed", "in_progress", "queued", "anything"])
    func otherStatusOfACompletedResponseIsIgnored(status: String) async {
        let end = #"{"type":"response.completed","response":{"id":"r1","status":"\#(status)"}}"#
        let (outcome, response) = await Self.complete([Event.created("r1"), Event.text("x"), end])
        #expect(outcome.error == nil)
        #expect(response?.id == "r1")
    }

    @Test func failureCarriesTheServersError() async {
        let error = #"{"code":"invalid_prompt","message":"no","misalignment":{"a":[1]}}"#
        let event =
            #"{"type":"response.failed","response":{"id":"r","status":"failed","model":"m-1","error":\#(error),"#
            + #""usage":{"output_tokens":3}}}"#
        let fixture = TurnFixture([
            [.opened(101, fields: ["x-request-id": "req_1"]), .request, .text(event)]
        ])
        let outcome = await fixture.run()
        guard case .responseTerminalFailure(let response)? = outcome.clientError else {
            Issue.record("\(String(describing: outcome.error))")
            return
        }
        #expect(response.errorPayload == error)
        #expect(response.model == "m-1")
        #expect(response.usage == ChappieTokenUsage(outputTokens: 3))
        #expect(response.requestID == "req_1")
        #expect(response.errorCode == "invalid_prompt")
    }

    @Test(arguments: [
        (
            #"{"type":"error","code":"invalid_prompt","message":"no"}"#,
            #"{"type":"error","code":"invalid_prompt","message":"no"}"#
        ),
        (#"{"type":"error","error":{"code":"invalid_prompt"}}"#, #"{"code":"invalid_prompt"}"#),
    ])
    func anErrorEventIsKeptAsItWasSent(event: String, payload: String) async {
        let outcome = await TurnFixture([.webSocket(event)]).run()
        guard case .responseTerminalFailure(let response)? = outcome.clientError else {
            Issue.record("\(String(describing: outcome.error))")
            return
        }
        #expect(response.errorPayload == payload)
    }

    @Test(arguments: [65_535, 65_536, 65_537])
    func errorPayloadIsCutTo65536Bytes(byteCount: Int) async {
        let frame = #"{"code":"invalid_prompt","message":""}"#.utf8.count
        let error = #"{"code":"invalid_prompt","message":"\#(String(repeating: "x", count: byteCount - frame))"}"#
        let outcome = await TurnFixture([
            .webSocket(#"{"type":"response.failed","response":{"error":\#(error)}}"#)
        ]).run()
        guard case .responseTerminalFailure(let response)? = outcome.clientError else {
            Issue.record("\(String(describing: outcome.error))")
            return
        }
        #expect(response.errorPayload?.utf8.count == min(byteCount, 65_536))
        #expect(error.hasPrefix(response.errorPayload ?? "-"))
    }
}
