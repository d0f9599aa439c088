// An engine that is shut down refuses turns, lets running ones end for a while, and keeps no connection.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct ShutdownTests {
    private static let request = ChappieTransportRequest(prompt: "hi", model: "m")

    @Test func aTurnThatBeginsAfterTheShutdownIsRefused() async {
        let fixture = TurnFixture([.webSocket(Event.completed)])
        // It was made before, and is read afterwards.
        let handle = fixture.instance.streamHandle(Self.request)
        await fixture.instance.shutdown()
        for outcome in [await TurnFixture.read(handle), await fixture.run(Self.request)] {
            #expect(outcome.clientError?.tag == "engine.shut-down")
            #expect(outcome.clientError?.isRetryable == false)
            #expect(outcome.clientError?.replaySafety == .notSent)
            #expect(outcome.report.attempts.isEmpty)
        }
        await fixture.instance.prewarm(Self.request)
        await #expect(throws: ChappieClientError.self) { try await fixture.instance.fetch(path: "/models") }
        #expect(fixture.transport.requests.isEmpty)
        let overHTTP = TurnFixture([]) { $0.policy = .httpSSEOnly }
        await overHTTP.instance.shutdown()
        do throws(ChappieClientError) {
            _ = try overHTTP.instance.admit(nil, of: "q") {}
            Issue.record("it was admitted")
        } catch {
            let failure = if case .transport(let failure) = error { failure } else { nil as ChappieTransportFailure? }
            #expect(failure?.transport == .httpSSE)
            #expect(failure?.details.clientRequestID == "q")
        }
    }

    @Test func aKeptWebSocketIsClosed() async {
        let fixture = TurnFixture([.webSocket(Event.completed)])
        #expect(await fixture.run(Self.request).error == nil)
        #expect(!fixture.transport.connections[0].calls.contains(.close))
        for _ in 0..<2 { await fixture.instance.shutdown() }
        #expect(fixture.transport.connections[0].calls.filter { $0 == .close || $0 == .cancel } == [.close])
    }

    @Test func aRunningTurnEndsWithinTheGracePeriod() async throws {
        let fixture = TurnFixture([.webSocket(Event.text("a"), Event.text("b"), Event.completed)])
        var events = fixture.instance.events(Self.request).makeAsyncIterator()
        #expect(try await events.next() == .textDelta("a"))
        let waiting = Signal()
        fixture.clock.hangInNextSleep(waiting)
        let shutdown = Task { await fixture.instance.shutdown(gracePeriod: .seconds(7)) }
        await waiting.wait()
        var rest: [ChappieStreamEvent] = []
        while let event = try await events.next() { rest.append(event) }
        #expect(rest == [.textDelta("b"), .completed])
        await shutdown.value
        #expect(fixture.clock.sleeps == [.seconds(7)])
        #expect(fixture.transport.connections[0].calls.last == .close)
    }

    @Test(arguments: [-1, 0, 7])
    func aTurnThatOutlastsTheGracePeriodIsCancelled(seconds: Int) async {
        let waiting = Signal()
        let fixture = TurnFixture([[.opened(101), .request, .text(Event.text("a")), .hang(waiting)]])
        let turn = Task { await fixture.run(Self.request) }
        await waiting.wait()
        await fixture.instance.shutdown(gracePeriod: .seconds(seconds))
        let outcome = await turn.value
        #expect(outcome.error is CancellationError)
        #expect(outcome.text == "a")
        #expect(fixture.clock.sleeps == [.seconds(max(0, seconds))])
        #expect(fixture.transport.connections[0].calls.last == .cancel)
    }

    @Test func aShutdownWhoseTaskIsCancelledWaitsNoLonger() async {
        let (waiting, sleeping) = (Signal(), Signal())
        let fixture = TurnFixture([[.opened(101), .request, .hang(waiting)]])
        let turn = Task { await fixture.run(Self.request) }
        await waiting.wait()
        fixture.clock.hangInNextSleep(sleeping)
        let shutdown = Task { await fixture.instance.shutdown(gracePeriod: .seconds(7)) }
        await sleeping.wait()
        shutdown.cancel()
        await shutdown.value
        #expect(await turn.value.error is CancellationError)
    }

    /// Its consumer reads no more, and so the turn itself does not end.
    @Test func aStreamThatIsCancelledDoesNotDelayTheShutdown() async throws {
        let fixture = TurnFixture([.webSocket(Event.text("a"))])
        let handle = fixture.instance.streamHandle(Self.request)
        var events = handle.events.makeAsyncIterator()
        _ = try await events.next()
        handle.cancel()
        fixture.clock.hangInNextSleep(Signal())
        await fixture.instance.shutdown()
        #expect(fixture.transport.connections[0].calls.last == .cancel)
        _ = handle.report
    }

    @Test func aStreamThatIsDroppedDoesNotDelayTheShutdown() async throws {
        let fixture = TurnFixture([.webSocket(Event.text("a"))])
        do {
            var events = fixture.instance.events(Self.request).makeAsyncIterator()
            _ = try await events.next()
        }
        let sleeping = Signal()
        fixture.clock.hangInNextSleep(sleeping)
        await fixture.instance.shutdown()
        #expect(fixture.transport.connections[0].calls.last == .cancel)
    }
}
