// An endpoint that keeps failing gets no requests for a while.
import Foundation
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

    // The contract: "opens after 5 consecutive failures of category `server` or `network`, for 60 s"
    @Test func defaultPolicyIsThatOfTheContract() {
        #expect(ChappieCircuitBreakerPolicy.default == ChappieCircuitBreakerPolicy(failureThreshold: 5))
        #expect(ChappieCircuitBreakerPolicy.default.openDuration == .seconds(60))
        #expect(ChappieTransportConfiguration(baseURL: .init(filePath: "/")).circuitBreaker == .default)
    }

    // "other categories never count"
    @Test(arguments: [
        (400, false), (401, false), (403, false), (404, false), (429, false), (451, false), (500, true), (503, true),
        (529, true), (408, true),
    ])
    func onlyServerAndNetworkFailuresOpenTheCircuit(status: Int, isCounted: Bool) async {
        let fixture = Self.fixture([.refusal(status), .refusal(status), Self.whole])
        for _ in 0..<2 { _ = await fixture.run() }
        let third = await fixture.run()
        #expect(third.transportFailure?.code == (isCounted ? .circuitOpen : nil))
        #expect((third.error == nil) != isCounted)
    }

    /// Turns that began while the circuit was closed all count, and only one trial runs.
    @Test func concurrentTurnsAllCountAndOneTrialRuns() async throws {
        let signals = (0..<4).map { _ in Signal() }
        let trialWaits = Signal()
        let fixture = Self.fixture(signals.map { [.hang($0)] } + [[.hang(trialWaits)], Self.whole])
        let handles = signals.map { _ in
            fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
        }
        await withTaskGroup(of: TurnOutcome.self) { group in
            for (handle, signal) in zip(handles, signals) {
                group.addTask { await TurnFixture.read(handle) }
                await signal.wait()
            }
            // All four wait. Each connection fails when its turn checks again.
            for connection in fixture.transport.connections { connection.breakNow() }
            for await outcome in group { #expect(outcome.transportFailure?.code == .connectionLost) }
        }
        #expect(await fixture.run().transportFailure?.code == .circuitOpen)
        #expect(fixture.transport.requests.count == 4)
        fixture.clock.advance(by: .seconds(60))
        let trial = fixture.instance.turn(ChappieTransportRequest(prompt: "hi", model: "m"))
        async let trying = trial.next(for: .events)
        await trialWaits.wait()
        #expect(await fixture.run().transportFailure?.code == .circuitOpen)
        trial.cancel()
        _ = try? await trying
        #expect(await fixture.run().error == nil)
    }

    @Test func oneTurnMayTryAfterTheTimeAndItsSuccessClosesTheCircuit() async {
        let fixture = Self.fixture([Self.broken, Self.broken, Self.whole, Self.broken, Self.whole])
        for _ in 0..<2 { _ = await fixture.run() }
        fixture.clock.advance(by: .seconds(59))
        #expect(await fixture.run().transportFailure?.code == .circuitOpen)
        fixture.clock.advance(by: .seconds(1))
        #expect(await fixture.run().error == nil)
        // The count begins anew.
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

    /// Other turns need not wait until the trial has ended: its first output shows that the server works.
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

    /// A circuit that has opened and lets a trial through, which receives one event.
    private static func fixtureWithTrial() async -> TurnFixture {
        let event = #"{"type":"codex.rate_limits","rate_limits":{"primary":{"used_percent":1}}}"#
        let fixture = Self.fixture([
            Self.broken, Self.broken, [.opened(200), .body(Event.sse(event))], Self.whole,
        ])
        for _ in 0..<2 { _ = await fixture.run() }
        fixture.clock.advance(by: .seconds(60))
        return fixture
    }

    /// The handle is kept, but its stream is not read to the end.
    @Test func trialThatIsCancelledBetweenTwoEventsLetsTheNextTurnTry() async throws {
        let fixture = await Self.fixtureWithTrial()
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi"))
        var iterator = handle.events.makeAsyncIterator()
        _ = try await iterator.next()
        handle.cancel()
        #expect(await fixture.run().error == nil)
    }

    @Test func trialWhoseStreamIsDroppedLetsTheNextTurnTry() async throws {
        let fixture = await Self.fixtureWithTrial()
        do {
            var events: AsyncThrowingStream<ChappieStreamEvent, any Error>.AsyncIterator? =
                fixture.instance.stream(ChappieTransportRequest(prompt: "hi")).makeAsyncIterator()
            _ = try await events?.next()
            events = nil
        }
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
