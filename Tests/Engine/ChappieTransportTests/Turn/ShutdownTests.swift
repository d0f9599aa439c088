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
    func turnThatOutlastsTheGracePeriodEndsWithAnErrorOfItsOwn(seconds: Int) async throws {
        let waiting = Signal()
        let fixture = TurnFixture([[.opened(101), .request, .text(Event.text("a")), .hang(waiting)]])
        let turn = Task { await fixture.run(Self.request) }
        await waiting.wait()
        await fixture.instance.shutdown(gracePeriod: .seconds(seconds))
        let outcome = await turn.value
        #expect(outcome.text == "a")
        let error = try #require(outcome.clientError)
        #expect(error.tag == "engine.shut-down")
        #expect(error.category == .validation)
        #expect(error.retryGuidance == .none)
        #expect(error.replaySafety == .outputDelivered)
        #expect(!error.shouldReport)
        let failure = try #require(outcome.transportFailure)
        #expect(failure.details.deliveredText == "a")
        #expect(failure.details.clientRequestID == outcome.report.requestID)
        #expect(failure.phase == .stream)
        #expect(failure.attempts == 1)
        #expect("\(failure) \(failure.details)".contains("\"a\"") == false)
        #expect(outcome.outcomes == ["engine.shut-down"])
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
        let outcome = await turn.value
        #expect(outcome.clientError?.tag == "engine.shut-down")
        #expect(outcome.transportFailure?.details.deliveredText == "")
        #expect(outcome.clientError?.replaySafety == .sentNoOutput)
    }

    /// The consumer's task has not taken what came before the shutdown, and gets it before the error.
    @Test func eventsBeforeTheShutdownAreDeliveredBeforeItsError() async throws {
        let fixture = TurnFixture([.webSocket(Event.text("a"), Event.text("b"))]) { $0.rawEvents = .none }
        let handle = fixture.instance.streamHandle(Self.request)
        var events = handle.events.makeAsyncIterator()
        #expect(try await events.next() == .textDelta("a"))
        await fixture.instance.shutdown(gracePeriod: .zero)
        let rest = await TurnFixture.read(handle)
        let text = "a" + rest.text
        #expect(rest.transportFailure?.details.deliveredText == text)
    }

    @Test(arguments: [false, true]) func programThatCancelsGetsACancellation(behindTheShutdown isLate: Bool) async {
        let waiting = Signal()
        let fixture = TurnFixture([[.opened(101), .request, .hang(waiting)]])
        let handle = fixture.instance.streamHandle(Self.request)
        let turn = Task { await TurnFixture.read(handle) }
        await waiting.wait()
        if !isLate { handle.cancel() }
        await fixture.instance.shutdown(gracePeriod: .zero)
        if isLate { handle.cancel() }
        // The first of both decides.
        let error = await turn.value.error
        #expect(error is CancellationError == !isLate)
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
