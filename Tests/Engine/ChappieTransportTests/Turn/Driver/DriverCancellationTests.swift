// Cancellation in each state of a turn.

import StreamTransport
import Testing

@testable import ChappieTransport

extension TurnFixture {
    /// Reads a turn that is cancelled when `signal` is sent, and returns its outcome.
    func outcome(cancelledBy canceller: DriverCancellationTests.Canceller, at signal: Signal) async -> TurnOutcome {
        let handle = self.instance.streamHandle(ChappieTransportRequest(prompt: "hi"))
        let reading = Task { await TurnFixture.read(handle) }
        await signal.wait()
        switch canceller {
        case .handle: handle.cancel()
        case .task: reading.cancel()
        }
        return await reading.value
    }
}

@Suite struct DriverCancellationTests {
    /// The origin of the cancellation.
    enum Canceller: CaseIterable {
        case handle
        case task
    }

    /// The state of the turn.
    enum Place: CaseIterable {
        case connecting
        case waitingForTheFirstEvent
        case streaming
        case collectingARefusal

        func script(_ signal: Signal) -> [ScriptStep] {
            switch self {
            case .connecting: [.hang(signal)]
            case .waitingForTheFirstEvent: [.opened(101), .request, .hang(signal)]
            case .streaming: [.opened(101), .request, .text(Event.text("a")), .hang(signal)]
            case .collectingARefusal: [.opened(403), .body("no"), .hang(signal)]
            }
        }
    }

    @Test(arguments: Place.allCases, Canceller.allCases)
    func aWaitingConsumerGetsACancellationError(at place: Place, by canceller: Canceller) async {
        let signal = Signal()
        let fixture = TurnFixture([place.script(signal)])
        let outcome = await fixture.outcome(cancelledBy: canceller, at: signal)
        #expect(outcome.error is CancellationError)
        #expect(outcome.text == (place == .streaming ? "a" : ""))
        #expect(outcome.outcomes == ["cancelled"])
        #expect(fixture.transport.connections.count == 1)
        #expect(fixture.transport.connections[0].calls.contains(.cancel))
    }

    @Test(arguments: Canceller.allCases)
    func aDelayIsCutShort(by canceller: Canceller) async {
        let fixture = TurnFixture([.broken()])
        let signal = Signal()
        fixture.clock.hangInNextSleep(signal)
        let outcome = await fixture.outcome(cancelledBy: canceller, at: signal)
        #expect(outcome.error is CancellationError)
        #expect(fixture.transport.connections.count == 1)
    }

    /// A refresh may take half a minute.
    @Test(.timeLimit(.minutes(10)), arguments: Canceller.allCases, [false, true])
    func aCredentialThatIsWaitedForIsGivenUp(by canceller: Canceller, isRejected: Bool) async {
        let signal = Signal()
        let fixture = TurnFixture([.refusal(401)]) {
            $0.credential = { request in
                if isRejected, request == .connecting { return ChappieCredential(bearerToken: "old") }
                let (stream, continuation) = AsyncStream<Void>.makeStream()
                signal.send()
                for await _ in stream {}
                continuation.finish()
                try Task.checkCancellation()
                return nil
            }
        }
        let outcome = await fixture.outcome(cancelledBy: canceller, at: signal)
        #expect(outcome.error is CancellationError)
        #expect(fixture.transport.requests.count == (isRejected ? 1 : 0))
    }

    @Test func streamCancelledBeforeItIsReadOpensNoConnection() async {
        let fixture = TurnFixture([])
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi"))
        handle.cancel()
        handle.cancel()
        let outcome = await TurnFixture.read(handle)
        #expect(outcome.error is CancellationError)
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func cancellationInTheCredentialSourceOpensNoConnection() async {
        let handles = LockedValue<ChappieStreamHandle?>(nil)
        let fixture = TurnFixture([]) {
            $0.credential = { _ in
                handles.withLock { $0 }?.cancel()
                return nil
            }
        }
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi"))
        handles.withLock { $0 = handle }
        let outcome = await TurnFixture.read(handle)
        handles.withLock { $0 = nil }
        #expect(outcome.error is CancellationError)
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func aCancellationAfterTheEndLeavesTheConnectionAlone() async {
        let fixture = TurnFixture([.webSocket(Event.completed)])
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi"))
        let outcome = await TurnFixture.read(handle)
        handle.cancel()
        #expect(outcome.error == nil)
        #expect(handle.report.attempts.map(\.outcome) == ["completed"])
        #expect(!fixture.transport.connections[0].calls.contains(.cancel))
    }

    @Test func aStreamThatIsDroppedClosesItsConnection() async throws {
        let fixture = TurnFixture([.webSocket(Event.text("a"), Event.text("b"))])
        do {
            var events: AsyncThrowingStream<ChappieStreamEvent, any Error>.AsyncIterator? =
                fixture.instance.stream(ChappieTransportRequest(prompt: "hi")).makeAsyncIterator()
            #expect(try await events?.next() == .textDelta("a"))
            events = nil
        }
        #expect(fixture.transport.connections[0].calls.last == .cancel)
    }
}
