// Turns that a server refuses: too soon, too much, or without a good credential.
import StreamSession
import Testing

@Suite struct TurnStateMachineRefusalTests {
    static func throttled(after: Duration? = nil, resetsAfter: Duration? = nil) -> AttemptFailure {
        .httpStatus(
            RefusalFacts(
                statusCode: 429, retryAfter: after, usageLimit: resetsAfter.map { UsageLimitFacts(resetsAfter: $0) }))
    }

    @Test func aThrottledRequestHasItsOwnBudgetAndDelays() {
        var turn = ScriptedTurn(ChappieStreamingTransportPolicy(prefersWebSocket: false))
        turn.fail(Self.throttled())
        #expect(
            turn.last
                == .open(
                    .init(
                        attempt: 2, transport: .httpSSE,
                        reason: .rateLimit(retry: 1, limit: 2, Self.throttled()), step: .again()))
        )
        turn.fail(.endedEarly)
        turn.fail(Self.throttled())
        #expect(
            turn.last
                == .open(
                    .init(
                        attempt: 4, transport: .httpSSE,
                        reason: .rateLimit(retry: 2, limit: 2, Self.throttled()), step: .again()))
        )
        turn.fail(Self.throttled())
        #expect(turn.last == .fail(.failed(Self.throttled())))
        #expect(turn.waits == [.seconds(1), .milliseconds(200), .seconds(2)])
        #expect(turn.machine.reconnectCount == 3)
    }

    @Test func retryAfterIsRespectedAndCapped() {
        var turn = ScriptedTurn(ChappieStreamingTransportPolicy(prefersWebSocket: false))
        turn.fail(Self.throttled(after: .seconds(7)))
        turn.fail(Self.throttled(after: .seconds(3_600)))
        #expect(turn.waits == [.seconds(7), .seconds(30)])
    }

    @Test func throttlingIsNoReasonToLeaveTheWebSocket() {
        let inBand = AttemptFailure.errorEvent(RefusalFacts(statusCode: 429, errorCode: "rate_limit_exceeded"))
        var turn = ScriptedTurn()
        for _ in 1...3 {
            turn.open()
            turn.fail(inBand)
        }
        #expect(turn.openings.map(\.transport) == [.webSocket, .webSocket, .webSocket])
        #expect(turn.last == .fail(.failed(inBand)))
    }

    @Test func withoutRateLimitRetriesTheFirstThrottlingIsTheEnd() {
        var turn = ScriptedTurn(
            ChappieStreamingTransportPolicy(prefersWebSocket: false),
            rateLimit: ChappieRateLimitBackoffPolicy(maxRetries: 0))
        turn.fail(Self.throttled())
        #expect(turn.last == .fail(.failed(Self.throttled())))
    }

    @Test func aSpentUsageLimitIsNotTriedAgain() {
        for failure in [
            Self.throttled(resetsAfter: .seconds(31)),
            .errorEvent(RefusalFacts(statusCode: 429, errorCode: "usage_limit_reached")),
            .responseFailed(RefusalFacts(errorCode: "insufficient_quota")),
        ] {
            var turn = ScriptedTurn()
            turn.fail(failure)
            #expect(turn.last == .fail(.failed(failure)))
            #expect(turn.waits.isEmpty)
        }
    }

    @Test func aUsageLimitThatEndsSoonIsWaitedFor() {
        let failure = Self.throttled(resetsAfter: .seconds(30))
        var turn = ScriptedTurn()
        turn.fail(failure)
        turn.fail(failure)
        #expect(turn.waits == [.seconds(30), .seconds(30)])
        turn.fail(failure)
        #expect(turn.last == .fail(.failed(failure)))
    }

    @Test func aRefusedCredentialIsReplacedOnce() {
        let refusal = AttemptFailure.upgradeStatus(RefusalFacts(statusCode: 401))
        let opening = TurnStateMachine.Opening(attempt: 2, transport: .webSocket, reason: .credential)
        var turn = ScriptedTurn()
        turn.fail(refusal)
        #expect(turn.last == .refreshCredential(then: opening))
        turn.refresh(changed: true)
        #expect(turn.last == .open(opening))
        turn.open()
        turn.fail(.unauthorized)
        #expect(turn.last == .fail(.failed(.unauthorized)))
        #expect(turn.machine.reconnectCount == 1)
    }

    @Test func withoutAnotherCredentialTheTurnFailsWithTheRefusal() {
        let refusal = AttemptFailure.httpStatus(RefusalFacts(statusCode: 401, errorCode: "token_expired"))
        var turn = ScriptedTurn(ChappieStreamingTransportPolicy(prefersWebSocket: false))
        turn.fail(refusal)
        turn.refresh(changed: false)
        #expect(turn.last == .fail(.failed(refusal)))
        #expect(turn.machine.attemptCount == 1)
    }

    @Test func aCredentialThatIsRefusedInTheMiddleOfATurnIsReplacedAndTheReplayVerified() {
        var turn = ScriptedTurn()
        turn.open()
        turn.receive("Hello")
        turn.fail(.unauthorized)
        turn.refresh(changed: true)
        turn.open()
        turn.receive("Hello!")
        turn.complete()
        #expect(turn.consumed == ["Hello", "!"])
        #expect(turn.last == .finish)
    }

    @Test func replaySafetyGrowsWithATurn() {
        var turn = ScriptedTurn()
        #expect(turn.machine.replaySafety() == .notSent)
        turn.open()
        #expect(turn.machine.replaySafety() == .sentNoOutput)
        _ = turn.machine.rawReceived(type: "response.created", attempt: 1)
        #expect(turn.machine.replaySafety() == .sentNoOutput)
        turn.receive("a")
        #expect(turn.machine.replaySafety() == .outputDelivered)
        turn.complete()
        #expect(turn.machine.replaySafety() == .completed)
    }

    @Test func rawEventsAreWithheldInAReplay() {
        var turn = ScriptedTurn()
        turn.open()
        #expect(turn.machine.rawReceived(type: "response.created", attempt: 1) == .deliver(from: 0))
        turn.fail(.endedEarly)
        turn.open()
        #expect(turn.machine.rawReceived(type: "response.created", attempt: 2) == .ignore)
        #expect(turn.machine.rawReceived(type: "response.in_progress", attempt: 2) == .deliver(from: 0))
    }
}
