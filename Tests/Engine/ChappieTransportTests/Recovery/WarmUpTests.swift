// Preparing a server: the next turn uses the socket, and a failure has no consequences.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct WarmUpTests {
    private static let request = conversation([WireItem.question])
    private static let answer = [Event.created("w1"), Event.completed("w1", #","output":[]"#)]

    @Test func warmedTurnSendsOnlyItsNewInput() async {
        let fixture = TurnFixture([.socket(Self.answer)])
        await fixture.instance.prewarm(Self.request)
        let warmUp = SentMessage(fixture.messages[0].first)
        #expect(warmUp?.isWarmUp == true)
        #expect(warmUp?.inputCount == 1)
        #expect(warmUp?.previousResponseID == nil)
        fixture.transport.connections[0].append(.again(Event.created("r1"), Event.text("a"), Event.completed("r1")))
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "a")
        #expect(outcome.report.attempts.map(\.reusedConnection) == [true])
        let message = SentMessage(fixture.messages[0].last)
        #expect(message?.isWarmUp == false)
        #expect(message?.members["generate"] == nil)
        #expect(message?.inputCount == 0)
        #expect(message?.previousResponseID == "w1")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func turnAfterAWarmUpSendsItsAddedInput() async {
        let fixture = TurnFixture([.socket(Self.answer)])
        await fixture.instance.prewarm(conversation([WireItem.user("instructions")]))
        fixture.transport.connections[0].append(.again(Event.created("r1"), Event.completed("r1")))
        _ = await fixture.run(conversation([WireItem.user("instructions"), WireItem.question]))
        #expect(SentMessage(fixture.messages[0].last)?.inputCount == 1)
        #expect(SentMessage(fixture.messages[0].last)?.previousResponseID == "w1")
    }

    @Test func anotherTurnIsSentWhole() async {
        let fixture = TurnFixture([.socket(Self.answer)])
        await fixture.instance.prewarm(Self.request)
        fixture.transport.connections[0].append(.again(Event.created("r1"), Event.completed("r1")))
        _ = await fixture.run(conversation([WireItem.user("else")]))
        #expect(SentMessage(fixture.messages[0].last)?.previousResponseID == nil)
        #expect(SentMessage(fixture.messages[0].last)?.inputCount == 1)
    }

    @Test func aWarmSocketIsForItsLane() async {
        let fixture = TurnFixture([.socket(Self.answer), .socket([Event.completed("r1")])]) { $0.usesLanes = true }
        await fixture.instance.prewarm(conversation([WireItem.question]) { $0.lane = "a" })
        #expect(SentMessage(fixture.messages[0].first)?.streamID == "a")
        _ = await fixture.run(Self.request)
        #expect(fixture.transport.requests.count == 2)
    }

    // MARK: Skipped warm-ups

    @Test func warmUpNeedsAPreferenceForWebSockets() async {
        let fixture = TurnFixture([.socket(Self.answer)]) {
            $0.policy = .httpSSEOnly
            $0.credential = { _ in
                Issue.record("asked")
                return nil
            }
        }
        await fixture.instance.prewarm(Self.request)
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func warmUpIsSkippedWhenWebSocketsAreCondemned() async {
        let fixture = TurnFixture([.refusal(426), .http([Event.completed("r1")]), .socket(Self.answer)])
        #expect(await fixture.run(Self.request).report.fallbackReason == "http.426")
        await fixture.instance.prewarm(Self.request)
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func requestForHTTPOnlyIsNotPrepared() async {
        let fixture = TurnFixture([.socket(Self.answer)])
        await fixture.instance.prewarm(conversation([WireItem.question], #""model":"m","background":true"#))
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func tooLargeRequestIsNotPrepared() async {
        let fixture = TurnFixture([.socket(Self.answer)])
        await fixture.instance.prewarm(conversation([WireItem.user(String(repeating: "x", count: 16_700_000))]))
        #expect(fixture.transport.requests.isEmpty)
    }

    // MARK: Failures

    private static let failures: [[ScriptStep]] = [
        .refusal(426), .refusal(503), .refusal(429, fields: ["retry-after": "1"]),
        .failure(.connect, .unreachable(code: 111)), .failure(.upgrade, .timedOut), .broken(),
        .broken(Event.created("w1")), .webSocket(Event.failed(code: "server_error")),
        .webSocket(#"{"type":"error","status":400,"error":{"code":"unsupported"}}"#), .webSocket("{"),
    ]

    @Test(arguments: Self.failures)
    func failedWarmUpDoesNotAffectLaterTurns(script: [ScriptStep]) async {
        let fixture = TurnFixture([script, script, .socket([Event.text("a"), Event.completed("r1")])]) {
            $0.circuitBreaker = ChappieCircuitBreakerPolicy(failureThreshold: 1, openDuration: .seconds(60))
            $0.policy.hedgeDelay = .zero
        }
        let start = fixture.clock.now
        await fixture.instance.prewarm(Self.request)
        // One attempt, over a WebSocket, without waiting for another.
        #expect(fixture.transport.requests.map(\.isWebSocket) == [true])
        #expect(fixture.clock.now == start)
        await fixture.instance.prewarm(Self.request)
        // The WebSocket is not condemned, and the circuit is closed.
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "a")
        #expect(!fixture.transport.requests.map(\.isWebSocket).contains(false))
        #expect(SentMessage(fixture.messages[2].first)?.previousResponseID == nil)
    }

    @Test func warmUpIgnoresAMissingCredential() async {
        struct NoCredential: Error {}
        let fixture = TurnFixture([]) { $0.credential = { _ in throw NoCredential() } }
        await fixture.instance.prewarm(Self.request)
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func aCancelledWarmUpReturnsAndClosesItsSocket() async {
        let signal = Signal()
        let fixture = TurnFixture([[.opened(101), .request, .hang(signal)]])
        let warmUp = Task { await fixture.instance.prewarm(Self.request) }
        await signal.wait()
        warmUp.cancel()
        await warmUp.value
        #expect(fixture.calls(0).last == .cancel)
    }

    @Test func openCircuitDoesNotPreventAWarmUp() async {
        let fixture = TurnFixture([.failure(.connect, .unreachable(code: 111)), .socket(Self.answer)]) {
            $0.policy = ChappieStreamingTransportPolicy(
                maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
            $0.circuitBreaker = ChappieCircuitBreakerPolicy(failureThreshold: 1, openDuration: .seconds(60))
        }
        _ = await fixture.run(Self.request)
        #expect(await fixture.run(Self.request).transportFailure?.code == .circuitOpen)
        await fixture.instance.prewarm(Self.request)
        #expect(fixture.messages.last?.count == 1)
        // Its success does not close the circuit either.
        #expect(await fixture.run(Self.request).transportFailure?.code == .circuitOpen)
    }
}
