// The return to WebSockets: a handshake in the background, never a request as a test.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct AdaptiveFallbackTests {
    private static let http: [ScriptStep] = .eventStream(Event.text("h"), Event.completed)
    private static let webSocket: [ScriptStep] = [.request, .text(Event.text("w")), .text(Event.completed)]

    /// An instance that has fallen back because of a definite refusal: connections 0 and 1.
    private static func fallenBack(
        _ scripts: [[ScriptStep]], _ policy: ChappieStreamingTransportPolicy = .adaptive(cooldown: .seconds(300)),
        _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async -> TurnFixture {
        let fixture = TurnFixture([.refusal(404), self.http] + scripts) {
            $0.policy = policy
            configure(&$0)
        }
        let first = await fixture.run()
        #expect(first.report.attempts.map(\.transport) == [.webSocket, .httpSSE])
        return fixture
    }

    private static func kinds(_ fixture: TurnFixture) -> [Bool] { fixture.transport.requests.map(\.isWebSocket) }

    @Test(arguments: [(299_999, false), (300_000, true), (900_000, true)])
    func theFirstTurnAfterTheCooldownProbesInBackground(milliseconds: Int, isDue: Bool) async {
        let fixture = await Self.fallenBack(isDue ? [[], Self.http] : [Self.http])
        fixture.clock.advance(by: .milliseconds(milliseconds))
        let outcome = await fixture.run()
        #expect(outcome.text == "h")
        #expect(outcome.report.attempts.map(\.transport) == [.httpSSE])
        #expect(outcome.report.attempts.map(\.isHedge) == [false])
        #expect(outcome.report.fallbackReason == nil)
        #expect(Self.kinds(fixture) == [true, false] + (isDue ? [true, false] : [false]))
        if isDue { #expect(fixture.calls(2) == []) }
    }

    @Test func afterAGoodHandshakeTheNextTurnUsesTheWebSocket() async {
        let fixture = await Self.fallenBack([[.opened(101)] + Self.webSocket, Self.http])
        fixture.clock.advance(by: .seconds(300))
        #expect(await fixture.run().text == "h")
        let third = await fixture.run()
        #expect(third.text == "w")
        #expect(third.report.attempts.map(\.reusedConnection) == [true])
        #expect(fixture.transport.requests.count == 4)
        #expect(fixture.transport.connections[2].messages.count == 1)
        // It is trusted as before.
        fixture.transport.connections[2].append(Self.webSocket)
        #expect(await fixture.run().text == "w")
    }

    @Test(arguments: [
        [ScriptStep].refusal(404), .refusal(200), .failure(.upgrade, .timedOut), .refusal(503),
        .failure(.connect, .unreachable(code: 111)),
    ])
    func failedProbeStartsAnotherCooldown(_ probe: [ScriptStep]) async {
        let fixture = await Self.fallenBack([
            probe, Self.http, Self.http, Self.http, [.opened(101)] + Self.webSocket, Self.http,
        ])
        fixture.clock.advance(by: .seconds(300))
        #expect(await fixture.run().text == "h")
        // Its end is noticed here, and the cooldown counts from here.
        #expect(await fixture.run().text == "h")
        fixture.clock.advance(by: .milliseconds(299_999))
        #expect(await fixture.run().text == "h")
        #expect(Self.kinds(fixture) == [true, false, true, false, false, false])
        fixture.clock.advance(by: .milliseconds(1))
        #expect(await fixture.run().text == "h")
        #expect(Self.kinds(fixture) == [true, false, true, false, false, false, true, false])
        #expect(await fixture.run().text == "w")
    }

    @Test func slowProbeDelaysNoTurn() async {
        let fixture = await Self.fallenBack([[], Self.http, Self.http, Self.http])
        fixture.clock.advance(by: .seconds(300))
        #expect(await fixture.run().text == "h")
        fixture.clock.advance(by: .seconds(1_000))
        #expect(await fixture.run().text == "h")
        #expect(await fixture.run().text == "h")
        #expect(Self.kinds(fixture) == [true, false, true, false, false, false])
        // It was silent for long, and is pinged before its use.
        fixture.transport.connections[2].append([.opened(101), .pong] + Self.webSocket)
        #expect(await fixture.run().text == "w")
    }

    @Test func theProbeCarriesTheCredential() async {
        let fixture = await Self.fallenBack([[], Self.http]) {
            $0.credential = { _ in ChappieCredential(bearerToken: "t") }
        }
        fixture.clock.advance(by: .seconds(300))
        _ = await fixture.run()
        #expect(fixture.transport.requests[2].value(of: "Authorization") == "Bearer t")
        #expect(!fixture.transport.requests[2].isHeld)
    }

    @Test func aConnectionThatDiesAfterTheHandshakeIsReplaced() async {
        let fixture = await Self.fallenBack([
            [.opened(101), .ended(.closed(code: 1000, reason: ""))], Self.http,
            .webSocket(Event.text("w"), Event.completed),
        ])
        fixture.clock.advance(by: .seconds(300))
        _ = await fixture.run()
        let third = await fixture.run()
        #expect(third.text == "w")
        #expect(third.report.attempts.map(\.reusedConnection) == [false])
    }

    @Test func aWebSocketThatFailsAgainIsCondemnedAgain() async {
        let fixture = await Self.fallenBack([
            [.opened(101), .request, .ended(.closed(code: 1008, reason: ""))], Self.http, .refusal(404), Self.http, [],
            Self.http,
        ])
        fixture.clock.advance(by: .seconds(300))
        _ = await fixture.run()
        let third = await fixture.run()
        #expect(third.outcomes == ["replaced", "http.404", "completed"])
        fixture.clock.advance(by: .seconds(300))
        #expect(await fixture.run().text == "h")
        #expect(Self.kinds(fixture) == [true, false, true, false, true, false, true, false])
    }

    @Test func defaultFallbackNeverReturnsToWebSockets() async {
        let fixture = await Self.fallenBack([Self.http, Self.http], .default)
        for _ in 0..<2 {
            fixture.clock.advance(by: .seconds(1_000_000))
            #expect(await fixture.run().text == "h")
        }
        #expect(Self.kinds(fixture) == [true, false, false, false])
    }

    @Test func noProbeRunsWithoutAFallback() async {
        let fixture = TurnFixture([Self.http, Self.http]) {
            $0.policy = .httpSSEOnly
            $0.policy.fallback = .adaptive(cooldown: .zero)
        }
        for _ in 0..<2 {
            #expect(await fixture.run().text == "h")
            fixture.clock.advance(by: .seconds(1_000))
        }
        #expect(Self.kinds(fixture) == [false, false])
    }

    @Test func releasedInstanceCancelsItsProbe() async {
        let transport: ScriptedTransport
        do {
            let fixture = await Self.fallenBack([[], Self.http])
            transport = fixture.transport
            fixture.clock.advance(by: .seconds(300))
            _ = await fixture.run()
        }
        #expect(transport.connections[2].calls == [.cancel])
    }

    /// A turn that began before the WebSocket was condemned parks its upgrade during the probe.
    @Test func aProbeIsNotGivenUpForAnUpgradeThatLostARace() async throws {
        let fixture = TurnFixture([
            [], .held(Event.text("a"), Event.completed), .refusal(404), Self.http, [], Self.http,
        ]) {
            $0.policy = .adaptive(cooldown: .seconds(1))
            $0.rawEvents = .none
            $0.reportsDiagnostics = true
        }
        var early = fixture.instance.stream(ChappieTransportRequest(prompt: "hi")).makeAsyncIterator()
        #expect(
            try await early.next() == .diagnostic(.init(kind: .fellBack, transport: .httpSSE, reason: "upgrade.slow")))
        #expect(await fixture.run().outcomes == ["http.404", "completed"])
        fixture.clock.advance(by: .seconds(1))
        #expect(await fixture.run().text == "h")
        var text = ""
        while let event = try await early.next() {
            if case .textDelta(let delta) = event { text += delta }
        }
        #expect(text == "a")
        #expect(fixture.calls(0) == [.cancel])
        #expect(fixture.calls(4) == [])
        fixture.transport.connections[4].append([.opened(101)] + Self.webSocket)
        #expect(await fixture.run().text == "w")
    }
}
