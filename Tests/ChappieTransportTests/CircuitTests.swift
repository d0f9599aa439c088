// An endpoint that keeps failing is left alone for a while.
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct CircuitTests {
    /// One attempt a turn over HTTP, and a circuit that opens after two failures for a minute.
    private static func fixture(_ scripts: [[ScriptStep]]) -> TurnFixture {
        TurnFixture(scripts) {
            $0.policy = .httpSSEOnly
            $0.maxHTTPRetries = 0
            $0.rateLimitBackoff = .disabled
            $0.circuitBreaker = ChappieCircuitBreakerPolicy(failureThreshold: 2, openDuration: .seconds(60))
        }
    }

    private static let broken: [ScriptStep] = .failure(.connect, .unreachable(code: 111))
    private static let whole: [ScriptStep] = .eventStream(Event.created, Event.text("a"), Event.completed)

    private static func codes(_ outcomes: [TurnOutcome]) -> [ChappieTransportFailure.Code?] {
        outcomes.map { $0.transportFailure?.code }
    }

    @Test func afterTheThresholdTurnsFailWithoutAnAttempt() async {
        let fixture = Self.fixture([Self.broken, Self.broken, Self.whole])
        var outcomes: [TurnOutcome] = []
        for _ in 0..<4 { outcomes.append(await fixture.run()) }
        #expect(Self.codes(outcomes) == [.unreachable, .unreachable, .circuitOpen, .circuitOpen])
        #expect(fixture.transport.requests.count == 2)
        let error = outcomes[3].clientError
        #expect(error?.tag == "circuit.open")
        #expect(error?.category == .network)
        #expect(error?.retryGuidance == .retryWithBackoff(afterSeconds: 60))
        #expect(error?.replaySafety == .notSent)
        #expect(outcomes[3].report.attempts.isEmpty)
        #expect(outcomes[3].report.replaySafety == .notSent)
    }

    @Test func oneTurnMayTryAfterTheTimeAndItsSuccessClosesTheCircuit() async {
        let fixture = Self.fixture([Self.broken, Self.broken, Self.whole, Self.broken, Self.whole])
        for _ in 0..<2 { _ = await fixture.run() }
        fixture.clock.advance(by: .seconds(59))
        #expect(await fixture.run().transportFailure?.code == .circuitOpen)
        fixture.clock.advance(by: .seconds(1))
        #expect(await fixture.run().error == nil)
        // It begins to count anew.
        #expect(await fixture.run().transportFailure?.code == .unreachable)
        #expect(await fixture.run().error == nil)
    }

    @Test func aFailedTrialOpensItAgain() async {
        let fixture = Self.fixture([Self.broken, Self.broken, Self.broken, Self.whole])
        for _ in 0..<2 { _ = await fixture.run() }
        fixture.clock.advance(by: .seconds(60))
        #expect(await fixture.run().transportFailure?.code == .unreachable)
        #expect(await fixture.run().transportFailure?.code == .circuitOpen)
        fixture.clock.advance(by: .seconds(60))
        #expect(await fixture.run().error == nil)
    }

    @Test func otherFailuresDoNotCount() async {
        let fixture = Self.fixture([
            Self.broken, .refusal(400), .refusal(403), .refusal(429), .refusal(404), Self.broken, Self.whole,
        ])
        var outcomes: [TurnOutcome] = []
        for _ in 0..<7 { outcomes.append(await fixture.run()) }
        #expect(fixture.transport.requests.count == 6)
        #expect(Self.codes(outcomes).last == .circuitOpen)
    }

    @Test func aCompleteResponseBeginsTheCountAgain() async {
        let fixture = Self.fixture([Self.broken, Self.whole, Self.broken, Self.whole])
        var outcomes: [TurnOutcome] = []
        for _ in 0..<4 { outcomes.append(await fixture.run()) }
        #expect(Self.codes(outcomes) == [.unreachable, nil, .unreachable, nil])
    }

    /// Others need not wait until a turn that was let through has ended: its first output says that the server works.
    @Test func theFirstOutputOfATrialClosesTheCircuit() async throws {
        let hang = Signal()
        let fixture = Self.fixture([
            Self.broken, Self.broken,
            [.opened(200), .body(Event.sse(Event.created)), .body(Event.sse(Event.text("a"))), .hang(hang)], Self.whole,
        ])
        for _ in 0..<2 { _ = await fixture.run() }
        fixture.clock.advance(by: .seconds(60))
        var trial = fixture.instance.stream(ChappieTransportRequest(prompt: "hi")).makeAsyncIterator()
        while let event = try await trial.next(), event != .textDelta("a") {}
        #expect(await fixture.run().error == nil)
    }

    @Test func aCancelledTrialLetsTheNextTurnTry() async throws {
        let hang = Signal()
        let fixture = Self.fixture([Self.broken, Self.broken, [.hang(hang)], Self.whole])
        for _ in 0..<2 { _ = await fixture.run() }
        fixture.clock.advance(by: .seconds(60))
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi"))
        let trial = Task { await TurnFixture.read(handle) }
        await hang.wait()
        #expect(await fixture.run().transportFailure?.code == .circuitOpen)
        handle.cancel()
        #expect(await trial.value.error is CancellationError)
        #expect(await fixture.run().error == nil)
    }

    @Test func withoutAThresholdEveryTurnIsTried() async {
        let fixture = TurnFixture(Array(repeating: Self.broken, count: 20)) {
            $0.policy = .httpSSEOnly
            $0.maxHTTPRetries = 0
            $0.circuitBreaker = .disabled
        }
        for _ in 0..<20 { #expect(await fixture.run().transportFailure?.code == .unreachable) }
    }
}
