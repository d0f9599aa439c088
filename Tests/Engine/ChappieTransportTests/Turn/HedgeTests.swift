// A slow upgrade, and an HTTP connection beside it: the choice of the one that carries the request, and the other's
// end.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct HedgeTests {
    private static let held: [ScriptStep] = .held(Event.created, Event.text("a"), Event.completed)

    private static func fixture(_ scripts: [[ScriptStep]]) -> TurnFixture {
        TurnFixture(scripts) { $0.reportsDiagnostics = true }
    }

    // MARK: The conditions of a hedge

    @Test(arguments: [0, 1_999, 2_000])
    func upgradeAnsweredInTimeIsNotHedged(milliseconds: Int) async {
        let upgrade: [ScriptStep] = .webSocket(Event.text("a"), Event.completed)
        let fixture = Self.fixture([upgrade.after(.milliseconds(milliseconds))])
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(fixture.transport.requests.count == 1)
        #expect(outcome.report.attempts.map(\.isHedge) == [false])
        #expect(outcome.report.fallbackReason == nil)
    }

    @Test func unansweredUpgradeIsHedgedAtExactlyTheDelay() async {
        let fixture = Self.fixture([[], Self.held])
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(fixture.connectionStarts == [.zero, .seconds(2)])
        #expect(fixture.transport.requests.map(\.isHeld) == [false, true])
        #expect(fixture.transport.requests.map(\.isWebSocket) == [true, false])
        #expect(fixture.transport.requests[1].body?.contains(#""stream":true"#) == true)
        #expect(fixture.transport.requests[1].endpoint.target == "/v1/responses")
        #expect(fixture.calls(0) == [])
        #expect(fixture.calls(1) == [.release, .cancel])
        #expect(fixture.sentRequestCount == 1)
        #expect(outcome.outcomes == ["parked", "completed"])
        #expect(outcome.report.attempts.map(\.isHedge) == [false, true])
        #expect(outcome.report.attempts.map(\.number) == [1, 2])
        #expect(outcome.report.attempts.map(\.transport) == [.webSocket, .httpSSE])
        #expect(outcome.report.attempts.map(\.rung) == [nil, nil])
        #expect(outcome.report.fallbackReason == "upgrade.slow")
        #expect(outcome.report.reconnects == 0)
        #expect(outcome.report.replaySafety == .completed)
        #expect(
            outcome.diagnostics == [
                .init(kind: .fellBack, transport: .httpSSE, reason: "upgrade.slow"),
                .init(kind: .connected, transport: .httpSSE),
            ])
    }

    @Test(arguments: [Duration.zero, .seconds(-1)])
    func withoutADelayBothBeginAtOnce(_ delay: Duration) async {
        let fixture = TurnFixture([[], Self.held]) { $0.policy.hedgeDelay = delay }
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(fixture.connectionStarts == [.zero, .zero])
    }

    @Test(arguments: [true, false])
    func aTurnThatMayNotHedgeWaitsForItsUpgrade(mayFallBack: Bool) async {
        let upgrade: [ScriptStep] = .webSocket(Event.text("a"), Event.completed)
        let fixture = TurnFixture([upgrade.after(.seconds(60))]) {
            $0.policy = ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: mayFallBack)
            if mayFallBack { $0.policy.hedgeDelay = nil }
        }
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func aReconnectionIsHedgedToo() async {
        let fixture = TurnFixture([
            .broken(Event.created, Event.text("He")), [], .held(Event.text("Hel"), Event.text("lo"), Event.completed),
        ]) { $0.reportsDiagnostics = true }
        let outcome = await fixture.run()
        #expect(outcome.text == "Hello")
        #expect(fixture.connectionStarts == [.zero, .milliseconds(200), .milliseconds(2_200)])
        #expect(outcome.outcomes == ["ws.close.1006", "parked", "completed"])
        #expect(outcome.report.attempts.map(\.isHedge) == [false, false, true])
        #expect(outcome.report.attempts.map(\.rung) == [nil, .verifiedReplay, .verifiedReplay])
        #expect(outcome.diagnostics.filter { $0.kind == .fellBack }.map(\.rung) == [.verifiedReplay])
        #expect(fixture.sentRequestCount == 2)
    }

    // MARK: The sending attempt

    @Test func anUpgradeThatOpensFirstCarriesTheRequest() async {
        let upgrade: [ScriptStep] = .webSocket(Event.text("a"), Event.completed)
        let hedge: [ScriptStep] = .held(readyAfter: .seconds(1), Event.text("b"), Event.completed)
        let fixture = Self.fixture([upgrade.after(.milliseconds(2_500)), hedge])
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(fixture.transport.connections[0].messages.count == 1)
        #expect(fixture.calls(1) == [.cancel])
        #expect(fixture.sentRequestCount == 1)
        #expect(outcome.outcomes == ["completed", "lost-race"])
        #expect(outcome.report.fallbackReason == nil)
        #expect(outcome.diagnostics == [.init(kind: .connected, transport: .webSocket)])
        // The WebSocket is kept as after any other turn.
        fixture.transport.connections[0].append([.request, .text(Event.text("c")), .text(Event.completed)])
        #expect(await fixture.run().text == "c")
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func onlyOneRequestIsSentWhenUpgradeAndHedgeOpenTogether() async {
        let upgrade: [ScriptStep] = .webSocket(Event.text("b"), Event.completed)
        let hedge: [ScriptStep] = .held(readyAfter: .seconds(1), Event.text("a"), Event.completed)
        let fixture = Self.fixture([upgrade.after(.seconds(3)), hedge])
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(fixture.sentRequestCount == 1)
        #expect(fixture.calls(0) == [])
        #expect(outcome.outcomes == ["kept", "completed"])
    }

    @Test(arguments: [2_001, 3_000, 9_000])
    func losingAttemptDoesNotSend(milliseconds: Int) async {
        for hedgeDelay in [1, 999, 1_000, 1_001, 6_999, 7_000, 7_001] {
            let upgrade: [ScriptStep] = .webSocket(Event.text("a"), Event.completed)
            let hedge: [ScriptStep] = .held(
                readyAfter: .milliseconds(hedgeDelay), answerAfter: .seconds(1), Event.text("a"), Event.completed)
            let fixture = Self.fixture([upgrade.after(.milliseconds(milliseconds)), hedge])
            let outcome = await fixture.run()
            #expect(outcome.text == "a")
            #expect(outcome.error == nil)
            #expect(fixture.sentRequestCount == 1)
            let upgradeIsFirst = milliseconds < 2_000 + hedgeDelay
            #expect(fixture.transport.connections[0].messages.count == (upgradeIsFirst ? 1 : 0))
        }
    }

    // MARK: Later turns

    @Test func aParkedUpgradeThatOpensCarriesTheNextTurn() async {
        let fixture = Self.fixture([[], Self.held])
        _ = await fixture.run()
        fixture.transport.connections[0].append(.webSocket(Event.text("b"), Event.completed))
        let second = await fixture.run()
        #expect(second.text == "b")
        #expect(second.report.attempts.map(\.reusedConnection) == [true])
        #expect(second.report.fallbackReason == nil)
        #expect(fixture.transport.requests.count == 2)
        #expect(fixture.sentRequestCount == 2)
    }

    @Test func anUpgradeThatOpensDuringTheTurnIsKept() async {
        let hedge: [ScriptStep] = .held(answerAfter: .seconds(2), Event.text("a"), Event.completed)
        let fixture = Self.fixture([[.pause(.seconds(3)), .opened(101)], hedge])
        let first = await fixture.run()
        #expect(first.text == "a")
        #expect(first.outcomes == ["kept", "completed"])
        #expect(fixture.calls(0) == [])
        fixture.transport.connections[0].append([.request, .text(Event.text("b")), .text(Event.completed)])
        let second = await fixture.run()
        #expect(second.text == "b")
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func parkedUpgradeThatHasClosedIsNotUsed() async {
        let fixture = Self.fixture([[], Self.held, .webSocket(Event.text("b"), Event.completed)])
        _ = await fixture.run()
        fixture.transport.connections[0].append([.opened(101), .ended(.closed(code: 1001, reason: ""))])
        let second = await fixture.run()
        #expect(second.text == "b")
        #expect(second.report.attempts.map(\.reusedConnection) == [false])
        #expect(second.report.reconnects == 0)
    }

    @Test func whileAnUpgradeIsPendingTheNextTurnTriesAgain() async {
        let fixture = Self.fixture([[], Self.held, [], Self.held])
        _ = await fixture.run()
        let second = await fixture.run()
        #expect(second.outcomes == ["parked", "completed"])
        // Of two pending upgrades the newer one is awaited.
        #expect(fixture.calls(0) == [.cancel])
        #expect(fixture.calls(2) == [])
        fixture.transport.connections[2].append(.webSocket(Event.text("c"), Event.completed))
        #expect(await fixture.run().text == "c")
        #expect(fixture.transport.requests.count == 4)
    }

    @Test func aPendingUpgradeMayOpenAfterATurnThatHadItsOwn() async {
        let fixture = Self.fixture([[], Self.held, .webSocket(Event.text("b"), Event.completed)])
        _ = await fixture.run()
        #expect(await fixture.run().text == "b")
        fixture.transport.connections[0].append(.webSocket(Event.text("c"), Event.completed))
        #expect(await fixture.run().text == "c")
        #expect(fixture.calls(2).last == .close)
        #expect(fixture.transport.requests.count == 3)
    }

    @Test func twoProbableFailuresInARowCondemnTheWebSocket() async {
        let timedOut: [ScriptStep] = .failure(.upgrade, .timedOut)
        let fixture = Self.fixture([
            [], Self.held, [], Self.held, .eventStream(Event.text("c"), Event.completed),
        ])
        _ = await fixture.run()
        fixture.transport.connections[0].append(timedOut)
        let second = await fixture.run()
        #expect(second.report.attempts.map(\.transport) == [.webSocket, .httpSSE])
        fixture.transport.connections[2].append(timedOut)
        let third = await fixture.run()
        #expect(third.text == "c")
        #expect(third.report.attempts.map(\.transport) == [.httpSSE])
        #expect(third.report.attempts.map(\.isHedge) == [false])
    }

    @Test func anUpgradeThatSucceedsBeginsTheCountAnew() async {
        let timedOut: [ScriptStep] = .failure(.upgrade, .timedOut)
        let fixture = Self.fixture([
            [], Self.held, [.opened(101), .request, .text(Event.completed), .ended(.closed(code: 1000, reason: ""))],
            [],
            Self.held, .webSocket(Event.text("d"), Event.completed),
        ])
        _ = await fixture.run()
        fixture.transport.connections[0].append(timedOut)
        #expect(await fixture.run().outcomes == ["completed"])
        #expect(await fixture.run().outcomes == ["parked", "completed"])
        fixture.transport.connections[3].append(timedOut)
        #expect(await fixture.run().text == "d")
    }

    @Test func aDefiniteAnswerInBackgroundCondemnsTheWebSocket() async {
        let fixture = Self.fixture([[], Self.held, .eventStream(Event.text("b"), Event.completed)])
        _ = await fixture.run()
        fixture.transport.connections[0].append(.refusal(426))
        let second = await fixture.run()
        #expect(second.text == "b")
        #expect(second.report.attempts.map(\.transport) == [.httpSSE])
        #expect(fixture.calls(0) == [.cancel])
    }

    @Test func aParkedUpgradeSpeaksForItsCredentialOnly() async {
        let tokens = LockedValue(["one", "two"])
        let fixture = TurnFixture([[], Self.held, .webSocket(Event.text("b"), Event.completed)]) {
            $0.credential = { _ in ChappieCredential(bearerToken: tokens.withLock { $0.removeFirst() }) }
        }
        _ = await fixture.run()
        fixture.transport.connections[0].append(.webSocket(Event.text("c"), Event.completed))
        let second = await fixture.run()
        #expect(second.text == "b")
        #expect(fixture.calls(0) == [.close])
    }

    @Test func anInstanceThatGoesGivesItsPendingUpgradeUp() async {
        let transport: ScriptedTransport
        do {
            let fixture = Self.fixture([[], Self.held])
            transport = fixture.transport
            _ = await fixture.run()
        }
        #expect(transport.connections[0].calls == [.cancel])
    }
}
