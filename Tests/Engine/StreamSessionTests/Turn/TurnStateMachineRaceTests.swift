// A slow upgrade and an HTTP connection beside it: in every case one of them sends the request, once.
import StreamSession
import StreamTransport
import Testing

@Suite struct TurnStateMachineRaceTests {
    private static let policy: ChappieStreamingTransportPolicy = {
        var policy = ChappieStreamingTransportPolicy()
        policy.hedgeDelay = .seconds(2)
        return policy
    }()

    private static let lost = AttemptFailure.transport(TransportFailure(phase: .upgrade, cause: .connectionLost))
    private static let slow = AttemptFailure.transport(TransportFailure(phase: .upgrade, cause: .timedOut))
    private static let refused = AttemptFailure.transport(
        TransportFailure(phase: .connect, cause: .unreachable(code: 111)))

    /// A turn in which attempt 1 is a WebSocket's and attempt 2 HTTP's.
    private static func race() -> TurnStateMachine {
        var machine = TurnStateMachine(policy: RetryPolicy(streaming: Self.policy))
        #expect(machine.started() == .open(.first(.webSocket)))
        #expect(machine.hedgeDelay() == .seconds(2))
        let hedge = TurnStateMachine.Opening(attempt: 2, transport: .httpSSE, reason: .hedge)
        #expect(machine.hedgeDue(attempt: 1) == .openHedge(hedge))
        #expect(machine.hedgeDelay() == nil)
        #expect(machine.replaySafety() == .notSent)
        return machine
    }

    @Test func onlyAnUpgradeThatIsUnderWayIsHedged() {
        var machine = TurnStateMachine(policy: RetryPolicy(streaming: Self.policy))
        #expect(machine.hedgeDelay() == nil)
        _ = machine.started()
        #expect(machine.hedgeDue(attempt: 2) == .ignore)
        #expect(machine.opened(attempt: 1) == .send)
        #expect(machine.hedgeDelay() == nil)
        #expect(machine.hedgeDue(attempt: 1) == .ignore)
    }

    @Test func withoutAFallbackOrADelayThereIsNoHedge() {
        var alone = ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
        alone.hedgeDelay = .seconds(2)
        var http = ChappieStreamingTransportPolicy(prefersWebSocket: false)
        http.hedgeDelay = .seconds(2)
        var undelayed = Self.policy
        undelayed.hedgeDelay = nil
        for policy in [alone, http, undelayed] {
            var machine = TurnStateMachine(policy: RetryPolicy(streaming: policy))
            _ = machine.started()
            #expect(machine.hedgeDelay() == nil)
            #expect(machine.hedgeDue(attempt: 1) == .ignore)
        }
    }

    @Test func upgradeThatOpensFirstWins() {
        var machine = Self.race()
        #expect(machine.opened(attempt: 1) == .send)
        #expect(machine.ready(attempt: 2) == .ignore)
        #expect(machine.opened(attempt: 2) == .ignore)
        #expect(machine.failed(.endedEarly, attempt: 2, jitter: 0) == .ignore)
        #expect(machine.deltaReceived("a", attempt: 2) == .ignore)
        #expect(machine.deltaReceived("a", attempt: 1) == .deliver(from: 0))
        #expect(machine.completed(attempt: 1) == .finish)
    }

    @Test func theHedgeMayWinAndTheUpgradeIsKept() {
        var machine = Self.race()
        #expect(machine.ready(attempt: 2) == .release)
        #expect(machine.replaySafety() == .sentNoOutput)
        #expect(machine.ready(attempt: 2) == .ignore)
        #expect(machine.opened(attempt: 1) == .park)
        #expect(machine.opened(attempt: 1) == .ignore)
        #expect(machine.failed(Self.lost, attempt: 1, jitter: 0) == .ignore)
        #expect(machine.opened(attempt: 2) == .receive)
        #expect(machine.completed(attempt: 2) == .finish)
        #expect(machine.condemnsWebSocket == false)
        #expect(machine.failedRace == nil)
    }

    @Test(arguments: [
        (AttemptFailure.upgradeStatus(RefusalFacts(statusCode: 426)), true, FailureClass?.none),
        (Self.slow, false, .probable), (Self.lost, false, .transient),
    ])
    func aFailedUpgradeLeavesTheHedgeAlone(failure: AttemptFailure, condemns: Bool, lostRace: FailureClass?) {
        for isReleased in [false, true] {
            var machine = Self.race()
            if isReleased { #expect(machine.ready(attempt: 2) == .release) }
            #expect(machine.failed(failure, attempt: 1, jitter: 0) == .ignore)
            #expect(machine.failed(failure, attempt: 1, jitter: 0) == .ignore)
            #expect(machine.opened(attempt: 1) == .ignore)
            if !isReleased { #expect(machine.ready(attempt: 2) == .release) }
            #expect(machine.condemnsWebSocket == condemns)
            #expect(machine.failedRace == lostRace)
            #expect(machine.fallbackReason == failure)
            #expect(machine.opened(attempt: 2) == .receive)
            #expect(machine.completed(attempt: 2) == .finish)
            #expect(machine.reconnectCount == 0)
        }
    }

    @Test func anUpgradeRefusedForTheCredentialEndsTheRace() {
        var machine = Self.race()
        let failure = AttemptFailure.upgradeStatus(RefusalFacts(statusCode: 401))
        let next = TurnStateMachine.Opening(attempt: 3, transport: .webSocket, reason: .credential)
        #expect(machine.failed(failure, attempt: 1, jitter: 0) == .refreshCredential(then: next))
        #expect(machine.ready(attempt: 2) == .ignore)
        #expect(machine.opened(attempt: 2) == .ignore)
        #expect(machine.credentialRefreshed(attempt: 3, changed: true) == .open(next))
    }

    @Test func aFailedHedgeLeavesTheUpgradeAloneAndIsNotRepeated() {
        var machine = Self.race()
        #expect(machine.failed(Self.refused, attempt: 2, jitter: 0) == .ignore)
        #expect(machine.replaySafety() == .notSent)
        #expect(machine.hedgeDelay() == nil)
        #expect(machine.hedgeDue(attempt: 1) == .ignore)
        #expect(machine.ready(attempt: 2) == .ignore)
        #expect(machine.opened(attempt: 1) == .send)
    }

    @Test func anAnswerToAHeldRequestIsNotASending() {
        var machine = Self.race()
        let early = AttemptFailure.httpStatus(RefusalFacts(statusCode: 413))
        #expect(machine.failed(early, attempt: 2, jitter: 0) == .ignore)
        #expect(machine.replaySafety() == .notSent)
        #expect(machine.opened(attempt: 1) == .send)
    }

    @Test func httpIsRetriedAfterBothAttemptsHaveFailed() {
        var machine = Self.race()
        #expect(machine.failed(Self.slow, attempt: 1, jitter: 0) == .ignore)
        let action = machine.failed(Self.refused, attempt: 2, jitter: 0.5)
        let next = TurnStateMachine.Opening(
            attempt: 3, transport: .httpSSE, reason: .reconnect(retry: 1, limit: 5, Self.refused))
        #expect(action == .wait(.milliseconds(200), then: next))
    }

    @Test func aReleasedHedgeThatFailsIsTriedAgainOverHTTP() {
        var machine = Self.race()
        #expect(machine.ready(attempt: 2) == .release)
        let action = machine.failed(.endedEarly, attempt: 2, jitter: 0.5)
        let next = TurnStateMachine.Opening(
            attempt: 3, transport: .httpSSE, reason: .reconnect(retry: 1, limit: 5, .endedEarly), step: .again())
        #expect(action == .wait(.milliseconds(200), then: next))
        // An answer of the upgrade is stale then.
        #expect(machine.opened(attempt: 1) == .ignore)
    }

    @Test(arguments: [1, 2], [false, true])
    func theTotalTimeEndsARace(attempt: Int, isReleased: Bool) {
        var machine = Self.race()
        if isReleased { _ = machine.ready(attempt: 2) }
        #expect(
            machine.failed(.timeout(.total), attempt: attempt, jitter: 0)
                == .fail(.failed(.timeout(.total))))
        #expect(machine.opened(attempt: 1) == .ignore)
        #expect(machine.ready(attempt: 2) == .ignore)
        #expect(machine.opened(attempt: 2) == .ignore)
    }

    @Test func aCancelledRaceSendsNothing() {
        var machine = Self.race()
        #expect(machine.cancelled() == .fail(.cancelled))
        #expect(machine.opened(attempt: 1) == .ignore)
        #expect(machine.ready(attempt: 2) == .ignore)
        #expect(machine.replaySafety() == .notSent)
    }
}
