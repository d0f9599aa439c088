// The events of a response in batches: the same events, order and ends.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct BatchTests {
    private static let request = ChappieTransportRequest(prompt: "hi", model: "m")

    /// One attempt on one WebSocket, whose response has begun.
    private static func fixture(
        _ steps: [ScriptStep], _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) -> TurnFixture {
        TurnFixture([[.opened(101), .request, .text(Event.created), .text(Event.text("0"))] + steps]) {
            $0.policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
            $0.rawEvents = .none
            configure(&$0)
        }
    }

    /// The batches that a consumer has received.
    private struct Reading {
        var batches: [[ChappieStreamEvent]] = []
        var error: (any Error)?

        var events: [ChappieStreamEvent] { self.batches.flatMap { $0 } }

        init(
            _ stream: AsyncThrowingStream<[ChappieStreamEvent], any Error>, after each: () -> Void = {}
        ) async {
            do {
                for try await batch in stream {
                    self.batches.append(batch)
                    each()
                }
            } catch {
                self.error = error
            }
        }
    }

    // MARK: The same events

    @Test(arguments: [1, 2, 63, 64, 65, 1_000, 2_000])
    func batchesHoldTheSameEventsInTheSameOrder(count: Int) async {
        let steps = TurnFixture.texts(count) + [.text(Event.completed)]
        let reading = await Reading(Self.fixture(steps).instance.batches(Self.request))
        let single = await Self.fixture(steps).run()
        #expect(reading.events == single.events)
        #expect(reading.events.count == count + 2)
        #expect(!reading.batches.contains([]))
        #expect(reading.error == nil)
    }

    @Test func availableEventsFormOneBatch() async {
        let fixture = Self.fixture(
            TurnFixture.texts(50) + [.pause(.seconds(1))] + TurnFixture.texts(3) + [.text(Event.completed)])
        let batches = await Reading(fixture.instance.batches(Self.request)).batches
        #expect(batches.map(\.count) == [1, 50, 3, 1])
        #expect(batches.last == [.completed])
    }

    @Test func otherEventsKeepTheirPlace() async {
        let steps: [ScriptStep] = [
            .text(Event.text("a")), .text(Event.limits(primary: 3)), .text(Event.text("b")), .text(Event.text("c")),
            .text(Event.call("{}")), .text(Event.text("d")), .text(#"{"type":"new"}"#), .text(Event.text("e")),
            .text(Event.completed),
        ]
        for rawEvents in ChappieRawEvents.allCases {
            for reportsDiagnostics in [false, true] {
                func fixture() -> TurnFixture {
                    Self.fixture(steps) {
                        $0.rawEvents = rawEvents
                        $0.reportsDiagnostics = reportsDiagnostics
                    }
                }
                let reading = await Reading(fixture().instance.batches(Self.request))
                #expect(await reading.events == fixture().run().events)
                #expect(!reading.batches.contains([]))
            }
        }
    }

    @Test func aRetryIsComparedAndWithheldToo() async {
        let scripts: [[ScriptStep]] = [
            .broken(Event.created, Event.text("a"), Event.text("b"), Event.text("c")),
            .webSocket(
                Event.created, Event.text("ab"), Event.text("c"), Event.text("d"), Event.text("e"), Event.completed),
        ]
        let reading = await Reading(TurnFixture(scripts) { $0.rawEvents = .none }.instance.batches(Self.request))
        #expect(reading.events == ["a", "b", "c", "d", "e"].map { .textDelta($0) } + [.completed])
    }

    @Test func anEventStreamComesInBatchesToo() async {
        let body = (0..<40).map { Event.sse(Event.text(String($0))) }.joined()
        let fixture = TurnFixture([
            [
                .opened(200, fields: ["content-type": "text/event-stream"]), .body(Event.sse(Event.created) + body),
                .body(Event.sse(Event.completed)), .ended(.complete),
            ]
        ]) {
            $0.policy = .httpSSEOnly
            $0.rawEvents = .none
        }
        let batches = await Reading(fixture.instance.batches(Self.request)).batches
        #expect(batches.map(\.count) == [40, 1])
        #expect(batches[0] == (0..<40).map { .textDelta(String($0)) })
    }

    // MARK: The ends

    @Test func anErrorComesAfterTheEventsBeforeIt() async {
        let fixture = Self.fixture(TurnFixture.texts(3) + [.ended(.closed(code: 1011, reason: ""))])
        let reading = await Reading(fixture.instance.batches(Self.request))
        #expect(reading.events == (0...3).map { .textDelta(String($0)) })
        #expect(reading.error is ChappieClientError)
    }

    @Test func noBatchFollowsTheEnd() async throws {
        let turn = Self.fixture([.text(Event.completed)]).instance.turn(Self.request)
        #expect(try await turn.next(for: .batches) == [.textDelta("0")])
        #expect(try await turn.next(for: .batches) == [.completed])
        for _ in 0..<2 { #expect(try await turn.next(for: .batches) == nil) }
    }

    @Test func anErrorIsThrownOnce() async throws {
        let turn = Self.fixture([.text("nonsense")]).instance.turn(Self.request)
        #expect(try await turn.next(for: .batches) == [.textDelta("0")])
        await #expect(throws: ChappieClientError.self) { try await turn.next(for: .batches) }
        #expect(try await turn.next(for: .batches) == nil)
    }

    // MARK: One consumer, two ways

    @Test func eventsLeftBySingleReadsFormTheNextBatch() async throws {
        let handle = Self.fixture([.pause(.seconds(1))] + TurnFixture.texts(5) + [.text(Event.completed)])
            .instance.streamHandle(Self.request)
        let batches = handle.batches()
        #expect(try await handle.events.next() == .textDelta("0"))
        #expect(try await handle.events.next() == .textDelta("1"))
        #expect(try await handle.events.next() == .textDelta("2"))
        #expect(try await batches.next() == ["3", "4", "5"].map { .textDelta($0) })
        #expect(try await handle.events.next() == .completed)
        #expect(try await batches.next() == nil)
    }

    @Test func batchesOfAHandleHaveAllEvents() async {
        let fixture = Self.fixture(TurnFixture.texts(9) + [.text(Event.completed)])
        let handle = fixture.instance.streamHandle(Self.request)
        #expect(await Reading(handle.batches()).events.count == 11)
        #expect(handle.report.attempts.map(\.outcome) == ["completed"])
    }

    @Test func batchesOutliveTheirHandle() async {
        let fixture = Self.fixture(TurnFixture.texts(9) + [.text(Event.completed)])
        let stream = fixture.instance.streamHandle(Self.request).batches()
        let reading = await Reading(stream)
        #expect(reading.error == nil)
        #expect(reading.events.last == .completed)
    }

    // MARK: Time

    @Test func consumerTimeDoesNotCountTowardsIdle() async {
        let steps = TurnFixture.texts(6) + [.pause(.seconds(250)), .text(Event.completed)]
        let fixture = Self.fixture(steps) {
            $0.timeouts.idle = .seconds(300)
            $0.timeouts.progress = .seconds(300)
        }
        let reading = await Reading(fixture.instance.batches(Self.request)) { fixture.clock.advance(by: .seconds(200)) }
        #expect(reading.error == nil)
        #expect(reading.events.count == 8)
    }

    @Test func theServersSilenceCountsFromTheNextCall() async throws {
        let fixture = Self.fixture(TurnFixture.texts(6)) {
            $0.timeouts.idle = .seconds(300)
            $0.timeouts.progress = nil
        }
        let turn = fixture.instance.turn(Self.request)
        #expect(try await turn.next(for: .batches)?.count == 1)
        #expect(try await turn.next(for: .batches)?.count == 6)
        fixture.clock.advance(by: .seconds(200))
        let called = fixture.clock.now
        await #expect(throws: ChappieClientError.self) { try await turn.next(for: .batches) }
        #expect(fixture.clock.now - called == .seconds(300))
    }

    // MARK: Cancellation

    @Test(arguments: DriverCancellationTests.Canceller.allCases)
    func aWaitingConsumerGetsACancellationError(by canceller: DriverCancellationTests.Canceller) async {
        let signal = Signal()
        let fixture = Self.fixture([.hang(signal)])
        let handle = fixture.instance.streamHandle(Self.request)
        let reading = Task { await Reading(handle.batches()) }
        await signal.wait()
        switch canceller {
        case .handle: handle.cancel()
        case .task: reading.cancel()
        }
        #expect(await reading.value.error is CancellationError)
        #expect(await reading.value.events == [.textDelta("0")])
        #expect(fixture.transport.connections[0].calls.contains(.cancel))
    }

    @Test func aBatchThatWasReadAndNotTakenIsDroppedByACancellation() async throws {
        let handle = Self.fixture([.pause(.seconds(1))] + TurnFixture.texts(5) + [.text(Event.completed)])
            .instance.streamHandle(Self.request)
        let batches = handle.batches()
        #expect(try await handle.events.next() == .textDelta("0"))
        #expect(try await handle.events.next() == .textDelta("1"))
        handle.cancel()
        await #expect(throws: CancellationError.self) { try await batches.next() }
        #expect(try await batches.next() == nil)
    }

    @Test(arguments: [false, true])
    func aStreamThatIsDroppedClosesItsConnection(throughAHandle: Bool) async throws {
        let fixture = Self.fixture([.text(Event.completed)])
        let handle = fixture.instance.streamHandle(Self.request)
        do {
            var batches: AsyncThrowingStream<[ChappieStreamEvent], any Error>.AsyncIterator? =
                (throughAHandle ? handle.batches() : fixture.instance.batches(Self.request)).makeAsyncIterator()
            #expect(try await batches?.next() == [.textDelta("0")])
            batches = nil
        }
        #expect(fixture.transport.connections[0].calls.last == .cancel)
        _ = handle.report
    }
}
