// Responses that are continued, refused, steered and followed, and requests that wait for permission.
import StreamSession
import StreamTransport
import Testing

@Suite struct TurnStateMachineSteeringTests {
    private static let lost = AttemptFailure.closed(code: 1006, beforeFirstEvent: false)
    private static let forgotten = AttemptFailure.errorEvent(
        RefusalFacts(statusCode: 400, errorCode: "previous_response_not_found"))

    private static func exchanging(
        recovery: ChappieRecoveryPolicy = .verify, isLent: Bool = false
    ) -> TurnStateMachine {
        var streaming = ChappieStreamingTransportPolicy()
        streaming.recovery = recovery
        var machine = TurnStateMachine(policy: RetryPolicy(streaming: streaming))
        _ = machine.started()
        #expect((isLent ? machine.lent(attempt: 1) : machine.opened(attempt: 1)) == .send)
        return machine
    }

    private static let replacement = TurnStateMachine.Action.open(
        .init(attempt: 1, transport: .webSocket, reason: .replacement))

    // MARK: Continuations

    @Test(arguments: ChappieRecoveryPolicy.allCases, [false, true])
    func aForgottenResponseCostsNoRetry(recovery: ChappieRecoveryPolicy, isLent: Bool) {
        var machine = Self.exchanging(recovery: recovery, isLent: isLent)
        machine.continued(attempt: 1)
        machine.eventReceived(attempt: 1)
        machine.contentReceived(attempt: 1)
        #expect(machine.failed(Self.forgotten, attempt: 1, jitter: 0.5) == Self.replacement)
        #expect(machine.reconnectCount == 0)
        #expect(machine.attemptCount == 1)
        // Its replacement holds all of the input: a response that is unknown now was named by the caller.
        #expect(machine.opened(attempt: 1) == .send)
        #expect(machine.failed(Self.forgotten, attempt: 1, jitter: 0.5) == .fail(.failed(Self.forgotten)))
    }

    /// A refusal without OpenAI's code, by the parameter that it is about.
    @Test(
        arguments: [
            (.init(statusCode: 404, errorCode: "404", parameter: "response_id"), true),
            (.init(errorCode: "404", parameter: "response_id"), true),
            (.init(statusCode: 400, errorType: "invalid_request_error", parameter: "previous_response_id"), true),
            (.init(statusCode: 404, parameter: "previous_response_id"), true),
            (.init(statusCode: 429, parameter: "previous_response_id"), false),
            (.init(statusCode: 500, errorCode: "500", parameter: "response_id"), false),
            (.init(parameter: "previous_response_id"), false), (.init(statusCode: 400, parameter: "input"), false),
            (.init(statusCode: 400), false),
        ] as [(RefusalFacts, Bool)])
    func refusedReferenceIsAForgottenResponse(row: (refusal: RefusalFacts, isForgotten: Bool)) {
        var machine = Self.exchanging()
        machine.continued(attempt: 1)
        let action = machine.failed(.errorEvent(row.refusal), attempt: 1, jitter: 0.5)
        #expect((action == Self.replacement) == row.isForgotten)
    }

    @Test func forgottenResponseOfTheCallerEndsTheTurn() {
        for isLent in [false, true] {
            var machine = Self.exchanging(isLent: isLent)
            machine.eventReceived(attempt: 1)
            #expect(
                machine.failed(Self.forgotten, attempt: 1, jitter: 0.5) == .fail(.failed(Self.forgotten)))
        }
    }

    @Test func anotherFailureOfAContinuationIsRetried() {
        var machine = Self.exchanging()
        machine.continued(attempt: 1)
        guard case .wait = machine.failed(Self.lost, attempt: 1, jitter: 0.5) else {
            Issue.record("no retry")
            return
        }
    }

    @Test func continuationErrorAfterOutputIsAnOrdinaryFailure() {
        var machine = Self.exchanging(recovery: .resumeOnly)
        machine.continued(attempt: 1)
        #expect(machine.deltaReceived("a", attempt: 1) == .deliver(from: 0))
        #expect(machine.failed(Self.forgotten, attempt: 1, jitter: 0.5) == .fail(.failed(Self.forgotten)))
    }

    @Test func staleContinuationErrorIsIgnored() {
        var machine = Self.exchanging()
        machine.continued(attempt: 7)
        #expect(machine.failed(Self.forgotten, attempt: 1, jitter: 0.5) == .fail(.failed(Self.forgotten)))
        var other = Self.exchanging()
        other.continued(attempt: 7)
        guard case .wait = other.failed(Self.lost, attempt: 1, jitter: 0.5) else {
            Issue.record("no retry")
            return
        }
        other.continued(attempt: 2)
        #expect(other.timerFired(attempt: 2) != .ignore)
    }

    // MARK: Contradictory answers

    @Test func aRejectedResponseIsTheEnd() {
        var machine = Self.exchanging()
        #expect(machine.rejected(attempt: 0) == .ignore)
        #expect(machine.rejected(attempt: 1) == .fail(.rejected))
        #expect(machine.rejected(attempt: 1) == .ignore)
        #expect(machine.completed(attempt: 1) == .ignore)
        #expect(machine.replaySafety() == .sentNoOutput)
    }

    // MARK: Steering

    @Test(arguments: [
        Self.lost, .endedEarly, .timeout(.idle), .errorEvent(RefusalFacts(statusCode: 503)),
        .errorEvent(RefusalFacts(statusCode: 401)), .errorEvent(RefusalFacts(statusCode: 429)),
        .errorEvent(RefusalFacts(errorCode: "previous_response_not_found")), .undecodableEvent,
        .closed(code: 1009, beforeFirstEvent: false), .responseFailed(RefusalFacts(errorCode: "server_error")),
    ])
    func aSteeredRequestIsNeverSentAgain(failure: AttemptFailure) {
        for isLent in [false, true] {
            var machine = Self.exchanging(isLent: isLent)
            machine.continued(attempt: 1)
            machine.steered()
            guard case .fail = machine.failed(failure, attempt: 1, jitter: 0.5) else {
                Issue.record("\(failure)")
                return
            }
        }
    }

    @Test func outputOfASuccessorIsAllNew() {
        var machine = Self.exchanging()
        machine.steered()
        let slot = ReplaySlot(.text, outputIndex: 0)
        let call = SimulatedCall.weather(1)
        #expect(machine.deltaReceived("one", in: slot, attempt: 1) == .deliver(from: 0))
        #expect(machine.toolCallReceived(call, attempt: 1) == .deliver(from: 0))
        #expect(machine.toolCallReceived(call, attempt: 1) == .deliver(from: 0))
        #expect(machine.rawReceived(type: "x", outputIndex: 1, attempt: 1) == .deliver(from: 0))
        for _ in 0..<3 {
            #expect(machine.steeredResponseEnded(attempt: 1, isComplete: false) == .ignore)
            machine.successorBegan(attempt: 1)
            #expect(machine.deltaReceived("one", in: slot, attempt: 1) == .deliver(from: 0))
            #expect(machine.toolCallReceived(call, attempt: 1) == .deliver(from: 0))
            #expect(machine.rawReceived(type: "x", outputIndex: 1, attempt: 1) == .deliver(from: 0))
            #expect(machine.rawReceived(type: "y", attempt: 1) == .deliver(from: 0))
        }
        #expect(machine.delivery.deliveredText == "oneoneoneone")
        #expect(machine.completed(attempt: 1) == .finish)
        #expect(machine.delivery.verifiedByteCount == 0)
    }

    @Test func aSuccessorOfAnUnfinishedReplayDiverges() {
        var machine = Self.exchanging()
        #expect(machine.deltaReceived("one two", attempt: 1) == .deliver(from: 0))
        _ = machine.failed(Self.lost, attempt: 1, jitter: 0.5)
        _ = machine.timerFired(attempt: 2)
        _ = machine.opened(attempt: 2)
        #expect(machine.deltaReceived("one", attempt: 2) == .ignore)
        #expect(machine.steeredResponseEnded(attempt: 2, isComplete: true) == .fail(.diverged))
        #expect(machine.steeredResponseEnded(attempt: 2, isComplete: true) == .ignore)
    }

    @Test func aLateSuccessorIsIgnored() {
        var machine = Self.exchanging()
        _ = machine.completed(attempt: 1)
        #expect(machine.steeredResponseEnded(attempt: 1, isComplete: true) == .ignore)
        machine.successorBegan(attempt: 1)
        #expect(machine.replaySafety() == .completed)
    }

    /// What fails behind a complete response concerns only a successor, which has not begun.
    @Test(arguments: [
        Self.lost, .timeout(.firstEvent), .timeout(.total), .errorEvent(RefusalFacts(statusCode: 503)),
        .closed(code: 1006, beforeFirstEvent: false), .undecodableEvent,
    ])
    func failureBehindACompleteSteeredResponseEndsTheTurnAsComplete(failure: AttemptFailure) {
        for (isComplete, hasBegun) in [(true, false), (true, true), (false, false), (false, true)] {
            var machine = Self.exchanging()
            #expect(machine.deltaReceived("one", attempt: 1) == .deliver(from: 0))
            machine.steered()
            #expect(machine.steeredResponseEnded(attempt: 1, isComplete: isComplete, after: "r") == .ignore)
            if hasBegun { machine.successorBegan(attempt: 1) }
            let action = machine.failed(failure, attempt: 1, jitter: 0.5)
            if isComplete, !hasBegun {
                #expect(action == .finish)
                #expect(machine.replaySafety() == .completed)
            } else {
                guard case .fail = action else {
                    Issue.record("\(action)")
                    return
                }
            }
            #expect(machine.failed(failure, attempt: 1, jitter: 0.5) == .ignore)
        }
    }

    @Test func completeSteeredResponseEndsTheTurnWithoutASuccessor() {
        var machine = Self.exchanging()
        #expect(machine.deltaReceived("one", attempt: 1) == .deliver(from: 0))
        machine.steered()
        #expect(machine.steeredResponseEnded(attempt: 1, isComplete: true, after: "r") == .ignore)
        #expect(machine.isReading(1) == true)
        #expect(machine.completed(attempt: 1) == .finish)
        #expect(machine.delivery.deliveredText == "one")
    }

    // MARK: Permission to send

    private static func asking(_ transport: ChappieTransportKind) -> TurnStateMachine {
        var machine = TurnStateMachine(
            policy: RetryPolicy(), webSocket: transport == .httpSSE ? .condemned : .available, asksBeforeSending: true)
        _ = machine.started()
        return machine
    }

    @Test func webSocketRequestIsUnsentUntilPermitted() {
        var machine = Self.asking(.webSocket)
        #expect(machine.opened(attempt: 1) == .send)
        #expect(machine.replaySafety() == .notSent)
        machine.requestSent(attempt: 7)
        #expect(machine.replaySafety() == .notSent)
        machine.requestSent(attempt: 1)
        #expect(machine.replaySafety() == .sentNoOutput)
    }

    @Test func openedWebSocketCountsAsSentWithoutWillSend() {
        var machine = TurnStateMachine(policy: RetryPolicy())
        _ = machine.started()
        #expect(machine.opened(attempt: 1) == .send)
        #expect(machine.replaySafety() == .sentNoOutput)
    }

    @Test func postCancelledDuringWillSendWasNotSent() {
        var machine = Self.asking(.httpSSE)
        #expect(machine.cancelled() == .fail(.cancelled))
        #expect(machine.replaySafety() == .notSent)
        var other = Self.asking(.httpSSE)
        other.requestSent(attempt: 1)
        #expect(other.replaySafety() == .notSent)
        #expect(other.cancelled() == .fail(.cancelled))
        #expect(other.replaySafety() == .sentNoOutput)
    }

    @Test func permissionAppliesToOneAttempt() {
        var machine = Self.asking(.httpSSE)
        machine.requestSent(attempt: 1)
        let unreachable = AttemptFailure.transport(
            TransportFailure(phase: .connect, cause: .unreachable(code: 111)))
        _ = machine.failed(unreachable, attempt: 1, jitter: 0.5)
        _ = machine.timerFired(attempt: 2)
        #expect(machine.cancelled() == .fail(.cancelled))
        #expect(machine.replaySafety() == .notSent)
    }
}
