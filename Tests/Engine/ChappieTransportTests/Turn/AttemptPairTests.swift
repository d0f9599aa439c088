// The attempts of a turn and their connections, which a cancellation closes.

import StreamSession
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct AttemptPairTests {
    private let shared = LockedValue(SharedTurnState())
    private let upgrade = ScriptedConnection([], clock: ManualClock())
    private let hedge = ScriptedConnection([], clock: ManualClock())

    private func attempt(
        _ number: Int, _ transport: ChappieTransportKind, _ connection: ScriptedConnection,
        _ step: TurnStateMachine.Opening.RecoveryStep = .first
    ) -> Attempt {
        let opening = TurnStateMachine.Opening(attempt: number, transport: transport, reason: .first, step: step)
        return Attempt(of: opening, on: connection, at: .zero)
    }

    private func race() -> AttemptPair {
        var pair = AttemptPair(self.shared)
        pair.begin(self.attempt(1, .webSocket, self.upgrade, .again()))
        pair.race(self.attempt(2, .httpSSE, self.hedge))
        return pair
    }

    private var known: [ObjectIdentifier] { self.shared.withLock { $0.connections.map { ObjectIdentifier($0) } } }

    @Test func connectionsOfBothAttemptsAreKnown() {
        var pair = self.race()
        #expect(pair.isRace)
        #expect(self.known == [ObjectIdentifier(self.upgrade), ObjectIdentifier(self.hedge)])
        #expect(pair.takeOther()?.number == 2)
        #expect(!pair.isRace)
        #expect(self.known == [ObjectIdentifier(self.upgrade)])
        #expect(pair.takeCurrent()?.number == 1)
        #expect(self.known.isEmpty)
        #expect(pair.takeCurrent() == nil)
        #expect(self.upgrade.calls.isEmpty && self.hedge.calls.isEmpty)
    }

    @Test func connectionOfACancelledTurnIsClosed() {
        self.shared.withLock { $0.isCancelled = true }
        var pair = AttemptPair(self.shared)
        pair.begin(self.attempt(1, .webSocket, self.upgrade))
        #expect(self.upgrade.calls == [.cancel])
    }

    @Test func hedgeRequestsTheSameAsTheUpgrade() {
        let opening = TurnStateMachine.Opening(attempt: 2, transport: .httpSSE, reason: .hedge)
        #expect(self.race().hedge(opening).step == .again())
        #expect(AttemptPair(self.shared).hedge(opening).step == .first)
    }

    @Test func hedgeIsReadOnceItsRequestIsReleased() {
        var pair = self.race()
        #expect(pair.readHedge()?.number == 2)
        #expect(pair.current?.number == 2)
        #expect(pair.other?.number == 1)
        #expect(self.known == [ObjectIdentifier(self.hedge), ObjectIdentifier(self.upgrade)])
        // The other attempt is the upgrade from then on.
        #expect(pair.readHedge() == nil)
        #expect(pair.current?.number == 2)
    }

    @Test func otherAttemptContinuesTheTurn() {
        var pair = self.race()
        #expect(pair.continueWithOther()?.number == 2)
        #expect(pair.current?.number == 2)
        #expect(!pair.isRace)
        #expect(pair.continueWithOther() == nil)
        #expect(self.known == [ObjectIdentifier(self.hedge)])
    }

    @Test(arguments: [
        (ScriptStep.ready, ChappieTransportKind.httpSSE, "ready"), (.opened(101), .webSocket, "opened"),
        (.opened(403), .webSocket, "failed"), (.opened(200), .httpSSE, "failed"), (.text("{}"), .webSocket, "failed"),
        (.ended(.complete), .httpSSE, "failed"),
    ])
    func racingAttemptIsReadyOpenedOrFailed(step: ScriptStep, transport: ChappieTransportKind, expected: String) {
        let connection = ScriptedConnection([step], clock: ManualClock())
        let found =
            switch self.attempt(2, transport, connection).nextInRace() {
            case .ready: "ready"
            case .opened: "opened"
            case .failed: "failed"
            case nil: "nothing"
            }
        #expect(found == expected)
    }
}
