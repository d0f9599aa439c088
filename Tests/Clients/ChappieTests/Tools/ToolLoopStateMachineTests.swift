import ChappieTransport
import ResponseEvents
import Testing

@testable import Chappie

/// Every input of the tool loop, in every state in which it can occur.
@Suite struct ToolLoopStateMachineTests {
    typealias Machine = ToolLoopStateMachine
    typealias Call = FinishedCall

    private static func machine(_ change: (inout Machine.Rules) -> Void = { _ in }) -> Machine {
        var rules = Machine.Rules(
            policies: ["auto": .automatic, "ask": .ask, "deny": .deny], canAsk: true, limits: .default)
        change(&rules)
        return Machine(rules: rules)
    }

    private static func call(_ id: String, _ name: String = "auto", payload: String = "{}", isCustom: Bool = false)
        -> Call
    {
        Call(isCustom ? .custom : .function, callID: id, name: name, payload: payload)
    }

    private static func requested(_ call: Call, _ policy: ChappieToolPolicy = .automatic) -> Machine.Action {
        .deliver(
            .toolCallRequested(
                ChappieToolExecutionRequest(
                    callID: call.callID, name: call.name, arguments: call.payload, policy: policy)))
    }

    private static func approval(_ call: Call) -> Machine.Action {
        .deliver(
            .approvalRequested(
                ChappieApprovalRequest(callID: call.callID, name: call.name, arguments: call.payload)))
    }

    private static func result(
        _ call: Call, _ status: ChappieToolStatus, _ output: String, after duration: Duration = .zero
    ) -> Machine.Action {
        .deliver(
            .toolCallCompleted(
                ChappieToolExecutionResult(
                    callID: call.callID, name: call.name, status: status, output: output, duration: duration)))
    }

    private static func output(_ call: Call, _ text: String, _ status: ChappieToolStatus = .completed) -> ToolOutput {
        ToolOutput(status: status, text: text, of: call)
    }

    // MARK: Responses

    @Test func aResponseWithoutCallsEndsTheTurn() {
        var machine = Self.machine()
        #expect(machine.responseCompleted(calls: [], endsTurn: true, now: .zero) == [.finish])
        #expect(machine.timeLimitPassed(now: .zero) == [])
    }

    @Test func responseWithEndTurnFalseIsFollowedByAnotherRequest() {
        var machine = Self.machine()
        #expect(machine.responseCompleted(calls: [], endsTurn: false, now: .zero) == [.askModel])
        #expect(machine.responseCompleted(calls: [], endsTurn: true, now: .zero) == [.finish])
    }

    @Test func callsRunAndTheModelIsAskedOnceAllHaveEnded() {
        var machine = Self.machine()
        let (first, second) = (Self.call("1"), Self.call("2"))
        #expect(
            machine.responseCompleted(calls: [first, second], endsTurn: true, now: .seconds(1)) == [
                Self.requested(first), Self.requested(second), .run(0), .run(1),
            ])
        let (one, two) = (Self.output(first, "one"), Self.output(second, "two"))
        #expect(
            machine.ended(1, .returned(two), now: .seconds(3)) == [
                .record(1, two), Self.result(second, .completed, "two", after: .seconds(2)),
            ])
        #expect(
            machine.ended(0, .returned(one), now: .seconds(4)) == [
                .record(0, one), Self.result(first, .completed, "one", after: .seconds(3)), .askModel,
            ])
        #expect(machine.responseCompleted(calls: [], endsTurn: true, now: .zero) == [.finish])
    }

    @Test func callsBeyondTheLimitWaitForTheirTurn() {
        var machine = Self.machine { $0.limits.concurrentTools = 2 }
        let calls = (0..<4).map { Self.call("\($0)") }
        #expect(
            machine.responseCompleted(calls: calls, endsTurn: true, now: .zero)
                == calls.map { Self.requested($0) } + [.run(0), .run(1)])
        #expect(machine.ended(1, .returned(Self.output(calls[1], "")), now: .zero).last == .run(2))
        #expect(machine.ended(0, .returned(Self.output(calls[0], "")), now: .zero).last == .run(3))
    }

    @Test func aCallThatWaitsForAnApprovalTakesNoPlace() {
        var machine = Self.machine { $0.limits.concurrentTools = 1 }
        let (ask, auto) = (Self.call("1", "ask"), Self.call("2"))
        #expect(
            machine.responseCompleted(calls: [ask, auto], endsTurn: true, now: .zero) == [
                Self.requested(ask, .ask), Self.approval(ask), .ask(0), Self.requested(auto), .run(1),
            ])
        // Approved, it waits until the other is over.
        #expect(machine.answered(0, .approved, now: .zero) == [])
        #expect(machine.ended(1, .returned(Self.output(auto, "")), now: .zero).last == .run(0))
    }

    // MARK: Policies

    @Test func aDeniedToolDoesNotRunAndTheModelReadsWhy() {
        var machine = Self.machine()
        let call = Self.call("1", "deny")
        let output = Self.output(call, "This tool may not be used.", .denied)
        #expect(
            machine.responseCompleted(calls: [call], endsTurn: true, now: .zero) == [
                Self.requested(call, .deny), .record(0, output), Self.result(call, .denied, output.text), .askModel,
            ])
    }

    @Test(arguments: ["auto", "ask"])
    func functionWithInvalidArgumentsNeitherRunsNorAsksForApproval(name: String) throws {
        let schema: ChappieJSONValue = ["type": "object", "properties": [:], "required": ["zone"]]
        var machine = Self.machine { $0.schemas = ["auto": schema, "ask": schema] }
        let call = Self.call("1", name)
        let output = Self.output(call, try #require(ToolArguments("{}", schema: schema).fault), .failed)
        #expect(
            machine.responseCompleted(calls: [call], endsTurn: true, now: .zero) == [
                Self.requested(call, name == "ask" ? .ask : .automatic), .record(0, output),
                Self.result(call, .failed, output.text), .askModel,
            ])
    }

    @Test func theInputOfACustomToolIsNotHeldAgainstASchema() {
        var machine = Self.machine { $0.textTools = ["auto"] }
        let call = Self.call("1", payload: "no JSON", isCustom: true)
        #expect(machine.responseCompleted(calls: [call], endsTurn: true, now: .zero).last == .run(0))
    }

    /// Expects that a call does not run: the model is told why, and no approval is asked for.
    private static func expectNoRun(
        _ call: Call, _ words: String, _ change: (inout Machine.Rules) -> Void = { $0.schemas = ["auto": .anyObject] }
    ) {
        var machine = Self.machine(change)
        let output = Self.output(call, words, .failed)
        #expect(
            machine.responseCompleted(calls: [call], endsTurn: true, now: .zero) == [
                Self.requested(call), .record(0, output), Self.result(call, .failed, output.text), .askModel,
            ])
    }

    @Test func aFunctionThatIsCalledWithTextDoesNotRun() {
        for payload in ["hello", "{}"] {
            Self.expectNoRun(
                Self.call("1", payload: payload, isCustom: true),
                "The tool was not run: it is a function, and takes a JSON object.")
        }
    }

    @Test func aCustomToolThatIsCalledAsAFunctionDoesNotRun() {
        Self.expectNoRun(Self.call("1"), "The tool was not run: it is a custom tool, and takes text.") {
            $0.textTools = ["auto"]
        }
    }

    @Test(arguments: [false, true])
    func aCallThatIsIncompleteDoesNotRun(isCustom: Bool) {
        let call = Call(
            isCustom ? .custom : .function, callID: "1", name: "auto", payload: "{}", isIncomplete: true)
        Self.expectNoRun(call, "The tool was not run: the call is incomplete.") {
            if isCustom { $0.textTools = ["auto"] } else { $0.schemas = ["auto": .anyObject] }
        }
    }

    @Test(arguments: ["", " \n", "{ }", "{}"])
    func functionCalledWithEmptyArgumentsGetsAnEmptyObject(payload: String) {
        var machine = Self.machine { $0.schemas = ["auto": .anyObject] }
        let actions = machine.responseCompleted(
            calls: [Self.call("1", payload: payload)], endsTurn: true, now: .zero)
        #expect(actions == [Self.requested(Self.call("1", payload: "{}")), .run(0)])
        #expect(machine.call(0).payload == "{}")
    }

    @Test func absentArgumentsAreNotAnObject() {
        Self.expectNoRun(
            Self.call("1", payload: "null"),
            "The tool was not run: its arguments are not one JSON object. At offset 0 begins another JSON value.")
    }

    @Test(arguments: [("too late", "too late"), ("", "The call was not approved.")])
    func aDenialIsAnOutcome(reason: String, words: String) {
        var machine = Self.machine()
        let call = Self.call("1", "ask")
        _ = machine.responseCompleted(calls: [call], endsTurn: true, now: .zero)
        #expect(
            machine.answered(0, .denied(reason), now: .seconds(9)) == [
                .record(0, Self.output(call, words, .denied)),
                Self.result(call, .denied, words, after: .seconds(9)), .askModel,
            ])
    }

    @Test func anApprovalHandlerThatThrowsEndsTheTurn() {
        var machine = Self.machine()
        let (ask, auto) = (Self.call("1", "ask"), Self.call("2"))
        _ = machine.responseCompleted(calls: [ask, auto], endsTurn: true, now: .zero)
        #expect(
            machine.answered(0, .threw("away"), now: .zero) == [
                .record(0, Self.output(ask, "away", .denied)), Self.result(ask, .denied, "away"),
                Self.result(auto, .cancelled, ""), .fail(.toolApprovalDenied("ask", "away")),
            ])
    }

    // MARK: Refusals

    @Test func callWithoutAHandlerEndsTheTurnBeforeAnyRuns() {
        var machine = Self.machine()
        #expect(
            machine.responseCompleted(calls: [Self.call("1"), Self.call("2", "x")], endsTurn: true, now: .zero)
                == [.fail(.missingToolHandler("x"))])
    }

    /// Some servers name the namespace of a function after it.
    @Test(arguments: [("other", "other.auto"), ("", nil), ("auto", nil), (nil, nil)])
    func aToolOfAnotherNamespaceIsAnotherTool(namespace: String?, missing: String?) {
        var machine = Self.machine { $0.schemas = ["auto": .anyObject] }
        let call = Call(callID: "1", name: "auto", namespace: namespace ?? "", payload: "{}")
        let actions = machine.responseCompleted(calls: [call], endsTurn: true, now: .zero)
        #expect(actions.last == missing.map { .fail(.missingToolHandler($0)) } ?? .run(0))
        #expect(actions.count == (missing == nil ? 2 : 1))
    }

    @Test func missingApprovalHandlerEndsTheTurn() {
        var machine = Self.machine { $0.canAsk = false }
        #expect(
            machine.responseCompleted(calls: [Self.call("1", "ask")], endsTurn: true, now: .zero)
                == [.fail(.toolApprovalDenied("ask", "there is no approval handler"))])
    }

    @Test(arguments: [(2, false), (3, true), (4, true)])
    func theNumberOfCallsHasALimit(limit: Int, isAllowed: Bool) {
        var machine = Self.machine { $0.limits.toolCalls = limit }
        let calls = (0..<3).map { Self.call("\($0)") }
        let actions = machine.responseCompleted(calls: calls, endsTurn: true, now: .zero)
        #expect((actions == [.fail(.toolLoopLimitExceeded(limit))]) == !isAllowed)
    }

    @Test(arguments: [true, false])
    func theNumberOfResponsesHasALimit(hasCalls: Bool) {
        var machine = Self.machine { $0.limits.roundTrips = 2 }
        #expect(machine.responseCompleted(calls: [], endsTurn: false, now: .zero) == [.askModel])
        let calls = hasCalls ? [Self.call("1")] : []
        #expect(
            machine.responseCompleted(calls: calls, endsTurn: false, now: .zero)
                == [.fail(.toolLoopLimitExceeded(2))])
    }

    @Test func theLastResponseMayBeTheLimit() {
        var machine = Self.machine { $0.limits.roundTrips = 2 }
        _ = machine.responseCompleted(calls: [], endsTurn: false, now: .zero)
        #expect(machine.responseCompleted(calls: [], endsTurn: true, now: .zero) == [.finish])
    }

    // MARK: One call, one run

    @Test func aCallThatStandsTwiceRunsOnce() {
        var machine = Self.machine()
        let call = Self.call("1")
        #expect(
            machine.responseCompleted(calls: [call, call], endsTurn: true, now: .zero) == [
                Self.requested(call), .run(0),
            ])
        #expect(machine.ended(0, .returned(Self.output(call, "x")), now: .zero).last == .askModel)
    }

    @Test func twoDifferentCallsOfOneNameCannotBeAnswered() {
        var machine = Self.machine()
        let calls = [Self.call("1", payload: "{}"), Self.call("1", payload: "[]")]
        #expect(machine.responseCompleted(calls: calls, endsTurn: true, now: .zero) == [.fail(.invalidResponse)])
    }

    @Test func canonicallyEquivalentIdentifiersBelongToTwoCalls() {
        var machine = Self.machine()
        let calls = [Self.call("\u{E9}", payload: "{}"), Self.call("e\u{301}", payload: "[]")]
        let actions = machine.responseCompleted(calls: calls, endsTurn: true, now: .zero)
        #expect(actions.contains(.run(0)) && actions.contains(.run(1)))
    }

    /// Order, white space, escapes and the spelling of numbers are ignored; a custom tool's input is any text.
    @Test(arguments: [
        (#"{"a":1,"b":"é"}"#, #"{ "b" : "\u00e9", "a" : 1.0 }"#, false, true), ("", "{}", false, true),
        (#"{"a":1}"#, #"{"a":2}"#, false, false), (#"{"a":"é"}"#, #"{"a":"e\u0301"}"#, false, false),
        ("{}", "{ }", true, false), ("é", "e\u{301}", true, false),
    ])
    func aCallIsTheSameInAnySpelling(first: String, second: String, isCustom: Bool, isSame: Bool) {
        var machine = Self.machine()
        let calls = [first, second].map { Self.call("1", payload: $0, isCustom: isCustom) }
        let output = Self.output(calls[0], "x")
        _ = machine.callCarried(calls[0], now: .zero)
        _ = machine.ended(0, .returned(output), now: .zero)
        let actions = machine.responseCompleted(calls: [calls[1]], endsTurn: true, now: .zero)
        #expect((actions == [.record(0, output), .askModel]) == isSame)
        #expect((actions.last == .run(1)) == !isSame)
        var other = Self.machine()
        let atOnce = other.responseCompleted(calls: calls, endsTurn: true, now: .zero)
        #expect((atOnce.last == .run(0)) == isSame)
        #expect((atOnce == [.fail(.invalidResponse)]) == !isSame)
    }

    /// Servers number calls by response, and a model that asks for the state of a job asks in the same words.
    @Test func aCallThatALaterResponseMakesInTheSameWordsRunsAgain() {
        var machine = Self.machine()
        let call = Self.call("call_0")
        for number in 0..<3 {
            #expect(
                machine.responseCompleted(calls: [call], endsTurn: true, now: .zero)
                    == [Self.requested(call), .run(number)])
            let output = Self.output(call, "\(number)")
            #expect(
                machine.ended(number, .returned(output), now: .zero)
                    == [.record(number, output), Self.result(call, .completed, "\(number)"), .askModel])
        }
        #expect(machine.responseCompleted(calls: [], endsTurn: true, now: .zero) == [.finish])
    }

    @Test func aNameThatComesAgainForAnotherCallIsAnotherCall() {
        var machine = Self.machine()
        let (first, second) = (Self.call("1", payload: "1"), Self.call("1", payload: "2"))
        _ = machine.responseCompleted(calls: [first], endsTurn: true, now: .zero)
        _ = machine.ended(0, .returned(Self.output(first, "x")), now: .zero)
        #expect(
            machine.responseCompleted(calls: [second], endsTurn: true, now: .zero)
                == [Self.requested(second), .run(1)])
    }

    // MARK: Carried calls

    @Test func aCarriedCallRunsOnceAndIsNotRunAgainWhenItComesWithTheResponse() {
        var machine = Self.machine()
        let call = Self.call("1")
        let (number, actions) = machine.callCarried(call, now: .zero)
        #expect(number == 0)
        #expect(actions == [Self.requested(call), .run(0)])
        #expect(machine.output(of: 0) == nil)
        // A second break asks again while it runs.
        #expect(machine.callCarried(call, now: .zero) == (0, []))
        let output = Self.output(call, "x")
        #expect(
            machine.ended(0, .returned(output), now: .zero) == [.record(0, output), Self.result(call, .completed, "x")])
        #expect(machine.output(of: 0) == output)
        #expect(
            machine.responseCompleted(calls: [call], endsTurn: true, now: .zero) == [.record(0, output), .askModel])
    }

    @Test func aCarriedCallThatStillRunsIsWaitedFor() {
        var machine = Self.machine()
        let call = Self.call("1")
        _ = machine.callCarried(call, now: .zero)
        #expect(machine.responseCompleted(calls: [call], endsTurn: true, now: .zero) == [])
        let output = Self.output(call, "x")
        #expect(
            machine.ended(0, .returned(output), now: .zero) == [
                .record(0, output), Self.result(call, .completed, "x"), .askModel,
            ])
    }

    @Test func aCarriedCallIsRefusedLikeAnyOther() {
        var machine = Self.machine()
        #expect(machine.callCarried(Self.call("1", "x"), now: .zero) == (nil, [.fail(.missingToolHandler("x"))]))
        // The turn is over.
        #expect(machine.callCarried(Self.call("2"), now: .zero) == (nil, []))
    }

    // MARK: Late and repeated inputs

    @Test func inputsAfterTheEndAreIgnored() {
        var machine = Self.machine()
        let calls = [Self.call("1"), Self.call("2"), Self.call("3", "ask")]
        _ = machine.responseCompleted(calls: calls, endsTurn: true, now: .zero)
        let actions = machine.ended(0, .threw("gone"), now: .zero)
        #expect(
            actions == [
                .record(0, Self.output(calls[0], "gone", .failed)), Self.result(calls[0], .failed, "gone"),
                Self.result(calls[1], .cancelled, ""), Self.result(calls[2], .cancelled, ""),
                .fail(.toolExecutionFailed("auto", "gone")),
            ])
        #expect(machine.ended(1, .returned(Self.output(calls[1], "")), now: .zero) == [])
        #expect(machine.ended(1, .threw("gone too"), now: .zero) == [])
        #expect(machine.answered(2, .approved, now: .zero) == [])
        #expect(machine.timeLimitPassed(now: .zero) == [])
    }

    @Test func anAnswerCountsOnce() {
        var machine = Self.machine()
        let call = Self.call("1", "ask")
        _ = machine.responseCompleted(calls: [call], endsTurn: true, now: .zero)
        #expect(machine.answered(0, .approved, now: .zero) == [.run(0)])
        #expect(machine.answered(0, .approved, now: .zero) == [])
        #expect(machine.answered(0, .denied("no"), now: .zero) == [])
        #expect(machine.ended(0, .returned(Self.output(call, "x")), now: .zero).last == .askModel)
        #expect(machine.ended(0, .returned(Self.output(call, "y")), now: .zero) == [])
    }

    @Test func timeLimitEndsRunningTools() {
        var machine = Self.machine { $0.limits.duration = .seconds(5) }
        let call = Self.call("1")
        _ = machine.responseCompleted(calls: [call], endsTurn: true, now: .zero)
        #expect(
            machine.timeLimitPassed(now: .seconds(5)) == [
                Self.result(call, .cancelled, "", after: .seconds(5)), .fail(.runTimeLimitExceeded(.seconds(5))),
            ])
    }

    @Test func theTimeLimitEndsAResponse() {
        var machine = Self.machine { $0.limits.duration = .seconds(5) }
        #expect(machine.timeLimitPassed(now: .seconds(5)) == [.fail(.runTimeLimitExceeded(.seconds(5)))])
    }
}
