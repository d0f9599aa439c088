// The events of a response as a sequence over batches: the same events, order and ends as those of `stream(_:)`.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct EventSequenceTests {
    private static let request = ChappieTransportRequest(prompt: "hi", model: "m")

    /// The events that a consumer has received, and the end.
    private static func read(
        _ sequence: ChappieEventSequence, isolation: isolated (any Actor)? = #isolation,
        after each: (ChappieStreamEvent) -> Void = { _ in }
    ) async -> (events: [ChappieStreamEvent], error: (any Error)?) {
        var events: [ChappieStreamEvent] = []
        do {
            for try await event in sequence {
                events.append(event)
                each(event)
            }
        } catch {
            return (events, error)
        }
        return (events, nil)
    }

    // MARK: The same events

    @Test(arguments: [1, 2, 64, 1_000])
    func sequenceHasTheEventsOfTheStream(count: Int) async {
        let steps =
            TurnFixture.texts(count / 2 + 1) + [.pause(.seconds(1))] + TurnFixture.texts(count) + [
                .text(Event.completed)
            ]
        let (events, error) = await Self.read(TurnFixture.begun(steps).instance.events(Self.request))
        #expect(error == nil)
        #expect(await events == TurnFixture.begun(steps).run().events)
    }

    @Test @MainActor func sequenceIsReadOnTheMainActor() async {
        let steps = TurnFixture.texts(9) + [.pause(.seconds(1))] + TurnFixture.texts(9) + [.text(Event.completed)]
        let (events, error) = await Self.read(TurnFixture.begun(steps).instance.events(Self.request)) { _ in
            MainActor.assertIsolated()
        }
        #expect(error == nil)
        #expect(events.count == 20)
    }

    /// The events of a sequence are in one memory at a time, in the iterator or in the turn.
    @Test func memoryOfTakenEventsIsUsedForTheNextOnes() async throws {
        let pause = ScriptStep.pause(.seconds(1))
        let steps = (0..<4).flatMap { _ in [pause] + TurnFixture.texts(1) } + [.text(Event.completed)]
        var iterator = TurnFixture.begun(steps).instance.events(Self.request).makeAsyncIterator()
        // The first event comes with the beginning of the turn, and has memory of its own.
        _ = try await iterator.next()
        var addresses: Set<UnsafeRawPointer?> = []
        for _ in 0..<4 {
            _ = try await iterator.next()
            iterator.batch.events.withUnsafeBytes { _ = addresses.insert($0.baseAddress) }
        }
        #expect(addresses.count == 1)
    }

    @Test func sequenceContinuesWhereTheHandleWasReadBefore() async throws {
        let steps = TurnFixture.texts(4) + [.pause(.seconds(1))] + TurnFixture.texts(1) + [.text(Event.completed)]
        let handle = TurnFixture.begun(steps).instance.streamHandle(Self.request)
        var stream = handle.events.makeAsyncIterator()
        #expect(try await stream.next() == .textDelta("0"))
        let (events, error) = await Self.read(handle.sequence())
        #expect(error == nil)
        #expect(events == ["1", "2", "3", "4", "1"].map { .textDelta($0) } + [.completed])
    }

    @Test func errorComesOnceAfterTheEventsBeforeIt() async throws {
        let fixture = TurnFixture.begun(TurnFixture.texts(3) + [.ended(.closed(code: 1011, reason: ""))])
        var iterator = fixture.instance.events(Self.request).makeAsyncIterator()
        for number in 0...3 { #expect(try await iterator.next() == .textDelta(String(number))) }
        await #expect(throws: ChappieClientError.self) { try await iterator.next(isolation: nil) }
        #expect(try await iterator.next() == nil)
    }

    @Test func noEventFollowsTheEnd() async throws {
        var iterator = TurnFixture.begun([.text(Event.completed)]).instance.events(Self.request).makeAsyncIterator()
        #expect(try await iterator.next() == .textDelta("0"))
        #expect(try await iterator.next() == .completed)
        for _ in 0..<2 { #expect(try await iterator.next() == nil) }
    }

    // MARK: Cancellation

    @Test(arguments: DriverCancellationTests.Canceller.allCases)
    func waitingConsumerGetsACancellationError(by canceller: DriverCancellationTests.Canceller) async {
        let signal = Signal()
        let fixture = TurnFixture.begun([.hang(signal)])
        let handle = fixture.instance.streamHandle(Self.request)
        let reading = Task { await Self.read(handle.sequence()) }
        await signal.wait()
        switch canceller {
        case .handle: handle.cancel()
        case .task: reading.cancel()
        }
        let (events, error) = await reading.value
        #expect(error is CancellationError)
        #expect(events == [.textDelta("0")])
        #expect(fixture.transport.connections[0].calls.contains(.cancel))
    }

    @Test(arguments: DriverCancellationTests.Canceller.allCases)
    func cancellationDropsEventsThatWereNotTaken(by canceller: DriverCancellationTests.Canceller) async {
        let fixture = TurnFixture.begun(TurnFixture.texts(9) + [.hang(Signal())])
        let handle = fixture.instance.streamHandle(Self.request)
        let reading = Task {
            await Self.read(handle.sequence()) { event in
                guard event == .textDelta("3") else { return }
                switch canceller {
                case .handle: handle.cancel()
                case .task: withUnsafeCurrentTask { $0?.cancel() }
                }
            }
        }
        let (events, error) = await reading.value
        #expect(error is CancellationError)
        #expect(events == (0...3).map { .textDelta(String($0)) })
    }

    @Test func noEventFollowsACancellation() async throws {
        let handle = TurnFixture.begun(TurnFixture.texts(9) + [.hang(Signal())]).instance.streamHandle(Self.request)
        var iterator = handle.sequence().makeAsyncIterator()
        for number in 0...3 { #expect(try await iterator.next() == .textDelta(String(number))) }
        handle.cancel()
        await #expect(throws: CancellationError.self) { try await iterator.next(isolation: nil) }
        for _ in 0..<2 { #expect(try await iterator.next() == nil) }
    }

    @Test func completeTurnIsReadToItsEndDespiteACancellation() async {
        let handle = ChappieStreamHandle(turn: ShortTurn())
        let (events, error) = await Self.read(handle.sequence()) { _ in handle.cancel() }
        #expect(events == [.textDelta("a"), .completed])
        #expect(error == nil)
    }

    @Test(arguments: [false, true])
    func sequenceThatIsDroppedClosesItsConnection(throughAHandle: Bool) async throws {
        let fixture = TurnFixture.begun([.text(Event.completed)])
        let handle = fixture.instance.streamHandle(Self.request)
        do {
            var iterator: ChappieEventSequence.AsyncIterator? =
                (throughAHandle ? handle.sequence() : fixture.instance.events(Self.request)).makeAsyncIterator()
            #expect(try await iterator?.next() == .textDelta("0"))
            iterator = nil
        }
        #expect(fixture.transport.connections[0].calls.last == .cancel)
        _ = handle.report
    }
}
