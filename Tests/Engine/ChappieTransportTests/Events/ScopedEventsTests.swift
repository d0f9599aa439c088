// The events of a response by `withEvents(of:)`: the same events and ends, and a turn that ends with the call.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct ScopedEventsTests {
    private static let request = ChappieTransportRequest(prompt: "hi", model: "m")

    /// An error of the program's own.
    private struct Stop: Error, Equatable {}

    /// The events that a closure has received, and the end.
    private static func read(
        _ fixture: TurnFixture, after each: (ChappieStreamEvent) throws -> Void = { _ in }
    ) async -> (events: [ChappieStreamEvent], error: (any Error)?) {
        var events: [ChappieStreamEvent] = []
        do {
            try await fixture.instance.withEvents(of: Self.request) { event in
                events.append(event)
                try each(event)
            }
        } catch {
            return (events, error)
        }
        return (events, nil)
    }

    // MARK: The same events

    @Test(arguments: [1, 2, 64, 1_000])
    func closureGetsTheEventsOfTheStream(count: Int) async {
        let steps =
            TurnFixture.texts(count / 2 + 1) + [.pause(.seconds(1))] + TurnFixture.texts(count) + [
                .text(Event.completed)
            ]
        let (events, error) = await Self.read(TurnFixture.begun(steps))
        #expect(error == nil)
        #expect(await events == TurnFixture.begun(steps).run().events)
    }

    @Test @MainActor func closureRunsOnTheCallersActor() async throws {
        let steps = TurnFixture.texts(9) + [.pause(.seconds(1))] + TurnFixture.texts(9) + [.text(Event.completed)]
        var count = 0
        try await TurnFixture.begun(steps).instance.withEvents(of: Self.request) { _ in
            MainActor.assertIsolated()
            count += 1
        }
        #expect(count == 20)
    }

    @Test func closureMaySuspend() async throws {
        var text = ""
        let steps = TurnFixture.texts(3) + [.text(Event.completed)]
        try await TurnFixture.begun(steps).instance.withEvents(of: Self.request) { event in
            await Task.yield()
            if case .textDelta(let delta) = event { text += delta }
        }
        #expect(text == "0123")
    }

    @Test func errorOfTheTurnComesAfterTheEventsBeforeIt() async throws {
        let fixture = TurnFixture.begun(TurnFixture.texts(3) + [.ended(.closed(code: 1011, reason: ""))])
        let (events, error) = await Self.read(fixture)
        #expect(events == (0...3).map { .textDelta(String($0)) })
        guard case .transport(let failure)? = error as? ChappieClientError else {
            Issue.record("the error is \(String(describing: error))")
            return
        }
        #expect(failure.tag == "ws.close.1011")
    }

    // MARK: The end by the program

    @Test func closureThatThrowsCancelsTheTurn() async {
        let fixture = TurnFixture.begun(TurnFixture.texts(9) + [.hang(Signal())])
        let (events, error) = await Self.read(fixture) { event in
            if event == .textDelta("3") { throw Stop() }
        }
        #expect(error as? Stop == Stop())
        #expect(events == (0...3).map { .textDelta(String($0)) })
        #expect(fixture.transport.connections[0].calls.last == .cancel)
    }

    @Test func closureThatThrowsAtTheEndChangesNothing() async {
        let fixture = TurnFixture.begun([.text(Event.completed)])
        let (events, error) = await Self.read(fixture) { event in
            if event == .completed { throw Stop() }
        }
        #expect(error as? Stop == Stop())
        #expect(events == [.textDelta("0"), .completed])
        #expect(!fixture.transport.connections[0].calls.contains(.cancel))
    }

    @Test func waitThatIsCancelledThrows() async {
        let signal = Signal()
        let fixture = TurnFixture.begun([.hang(signal)])
        let reading = Task { await Self.read(fixture) }
        await signal.wait()
        reading.cancel()
        let (events, error) = await reading.value
        #expect(error is CancellationError)
        #expect(events == [.textDelta("0")])
        #expect(fixture.transport.connections[0].calls.contains(.cancel))
    }

    @Test func cancellationDropsEventsThatWereNotPassedOn() async {
        let fixture = TurnFixture.begun(TurnFixture.texts(9) + [.hang(Signal())])
        let reading = Task {
            await Self.read(fixture) { event in
                if event == .textDelta("3") { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        let (events, error) = await reading.value
        #expect(error is CancellationError)
        #expect(events == (0...3).map { .textDelta(String($0)) })
        #expect(fixture.transport.connections[0].calls.contains(.cancel))
    }

    @Test func taskThatIsCancelledBeforeSendsNoRequest() async {
        let fixture = TurnFixture.begun([.text(Event.completed)])
        let reading = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await Self.read(fixture)
        }
        let (events, error) = await reading.value
        #expect(error is CancellationError)
        #expect(events.isEmpty)
        #expect(fixture.transport.connections.isEmpty)
    }

    @Test func completeTurnIsPassedOnToItsEndDespiteACancellation() async throws {
        let reading = Task {
            var events: [ChappieStreamEvent] = []
            try await TurnReader(ShortTurn()).withEvents(isolation: nil) { event in
                events.append(event)
                withUnsafeCurrentTask { $0?.cancel() }
            }
            return events
        }
        #expect(try await reading.value == [.textDelta("a"), .completed])
    }

    // MARK: One consumer

    @Test func secondReaderGetsAnErrorAndTheFirstReadsOn() async throws {
        let signal = Signal()
        let fixture = TurnFixture.begun([.hang(signal)])
        let turn = fixture.instance.turn(Self.request)
        let first = Task { try await TurnReader(turn).withEvents(isolation: nil) { _ in } }
        await signal.wait()
        await #expect(throws: ChappieClientError.alreadyRead) {
            try await TurnReader(turn).withEvents(isolation: nil) { _ in }
        }
        #expect(!fixture.transport.connections[0].calls.contains(.cancel))
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
    }
}
