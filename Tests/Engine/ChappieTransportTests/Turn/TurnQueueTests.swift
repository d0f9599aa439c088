// Turns of one instance that wait for their place, or for the pause that the server asked for.
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct TurnQueueTests {
    private static func fixture(
        _ scripts: [[ScriptStep]], _ policy: ChappieConcurrencyPolicy,
        _ change: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) -> TurnFixture {
        TurnFixture(scripts) {
            $0.policy = .httpSSEOnly
            $0.concurrency = policy
            change(&$0)
        }
    }

    @Test func turnBeginsWhenAnotherHasEnded() async throws {
        let isWaiting = Signal()
        let fixture = Self.fixture(
            [
                [.opened(200), .body(Event.sse(Event.text("a"))), .hang(isWaiting)],
                .eventStream(Event.text("b"), Event.completed),
            ], ChappieConcurrencyPolicy(maximumTurnCount: 1))
        let first = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "1", model: "m"))
        let reading = Task { await TurnFixture.read(first) }
        await isWaiting.wait()
        let second = Task { await fixture.run() }
        // The second turn has no connection while the first one runs.
        #expect(fixture.transport.requests.count == 1)
        first.cancel()
        #expect(await reading.value.error is CancellationError)
        #expect(await second.value.text == "b")
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func streamThatIsDroppedGivesItsPlaceBack() async throws {
        let fixture = Self.fixture(
            [
                [.opened(200), .body(Event.sse(Event.text("a"))), .body(Event.sse(Event.text("b")))],
                .eventStream(Event.text("c"), Event.completed),
            ], ChappieConcurrencyPolicy(maximumTurnCount: 1))
        for try await event in fixture.instance.stream(ChappieTransportRequest(prompt: "1", model: "m")) {
            #expect(event == .textDelta("a"))
            break
        }
        #expect(await fixture.run().text == "c")
    }

    @Test func turnThatWaitsCanBeCancelled() async {
        let isWaiting = Signal()
        let fixture = Self.fixture(
            [[.opened(200), .hang(isWaiting)], .eventStream(Event.completed)],
            ChappieConcurrencyPolicy(maximumTurnCount: 1))
        let first = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "1", model: "m"))
        let reading = Task { await TurnFixture.read(first) }
        await isWaiting.wait()
        let second = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "2", model: "m"))
        let waiting = Task { await TurnFixture.read(second) }
        second.cancel()
        #expect(await waiting.value.error is CancellationError)
        first.cancel()
        _ = await reading.value
        #expect(await fixture.run().error == nil)
        #expect(fixture.transport.requests.count == 2)
    }

    /// The second turn, which begins later, is not sent before the delay of the first one is over.
    @Test(arguments: [true, false]) func pauseOfARateLimitIsShared(isShared: Bool) async {
        let refusal: [ScriptStep] = .refusal(429, body: "", fields: ["retry-after": "20"])
        let fixture = Self.fixture(
            [refusal, .eventStream(Event.completed)], ChappieConcurrencyPolicy(sharesRateLimitWaits: isShared)
        ) { $0.rateLimitBackoff = .disabled }
        let first = await fixture.run()
        #expect(first.clientError?.tag == "http.429")
        #expect(await fixture.run().error == nil)
        #expect(fixture.clock.sleeps == (isShared ? [.seconds(20)] : []))
    }

    @Test func pauseIsNoLongerThanTheLongestBackoff() async {
        let refusal: [ScriptStep] = .refusal(429, body: "", fields: ["retry-after": "3600"])
        let fixture = Self.fixture([refusal, .eventStream(Event.completed)], ChappieConcurrencyPolicy()) {
            $0.rateLimitBackoff = ChappieRateLimitBackoffPolicy(maxRetries: 0, maximumDelay: .seconds(30))
        }
        _ = await fixture.run()
        #expect(await fixture.run().error == nil)
        #expect(fixture.clock.sleeps == [.seconds(30)])
    }
}
