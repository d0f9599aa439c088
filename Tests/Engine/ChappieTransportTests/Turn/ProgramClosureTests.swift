// Closures of the program that are slow, or never end: a cancelled or late turn does not wait for them.
import Foundation
import StreamTransport
import Testing

@testable import ChappieTransport

/// A closure that ignores its cancellation.
private final class Stubborn: Sendable {
    let asked = Signal()
    private let waiting = LockedValue<[CheckedContinuation<Void, Never>]>([])

    func wait() async {
        await withCheckedContinuation { continuation in
            self.waiting.withLock { $0.append(continuation) }
            self.asked.send()
        }
    }

    func release() {
        let waiting = self.waiting.withLock { waiting in
            defer { waiting.removeAll() }
            return waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

/// The closure that is called.
private enum Closure: CaseIterable, Sendable {
    case credential, freshCredential, willSendOverWebSocket, willSendOverHTTP, willSendOfHedge, toolOutput

    /// A turn that calls the closure.
    func fixture(
        clock: ManualClock = ManualClock(), total: Duration? = nil, _ body: @escaping @Sendable () async -> Void
    ) -> TurnFixture {
        let item = WireItem.sentCall("a")
        let scripts: [[ScriptStep]] =
            switch self {
            case .freshCredential: [.refusal(401)]
            case .toolOutput: [.socket([Event.created("r1"), Event.done(item)], isBroken: true)]
            case .willSendOfHedge: [[], .held(Event.completed("r"))]
            case .credential, .willSendOverWebSocket, .willSendOverHTTP: [[.opened(101)]]
            }
        return TurnFixture(scripts, clock: clock) { configuration in
            configuration.timeouts.total = total
            configuration.circuitBreaker = ChappieCircuitBreakerPolicy(failureThreshold: 1)
            switch self {
            case .credential, .freshCredential:
                configuration.credential = { request in
                    if self == .freshCredential, request == .connecting { return ChappieCredential(bearerToken: "old") }
                    await body()
                    return ChappieCredential(bearerToken: "late")
                }
            case .willSendOverWebSocket, .willSendOfHedge:
                configuration.willSend = { _ in await body() }
            case .willSendOverHTTP:
                configuration.policy = .httpSSEOnly
                configuration.willSend = { _ in await body() }
            case .toolOutput:
                configuration.policy.carriesFinishedItems = true
                configuration.toolOutput = { _ in
                    await body()
                    return Array(WireItem.output("a").utf8)
                }
            }
        }
    }

    /// The number of connections at that time.
    var connectionCount: Int {
        switch self {
        case .credential, .willSendOverHTTP: 0
        case .freshCredential, .willSendOverWebSocket, .willSendOfHedge, .toolOutput: 1
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct ProgramClosureTests {
    @Test(arguments: Closure.allCases, DriverCancellationTests.Canceller.allCases)
    fileprivate func cancelledTurnDoesNotWait(for closure: Closure, by canceller: DriverCancellationTests.Canceller)
        async
    {
        let stubborn = Stubborn()
        let fixture = closure.fixture { await stubborn.wait() }
        let handle = fixture.instance.streamHandle(conversation([WireItem.question]))
        let reading = Task { await TurnFixture.read(handle) }
        await stubborn.asked.wait()
        switch canceller {
        case .handle: handle.cancel()
        case .task: reading.cancel()
        }
        let outcome = await reading.value
        #expect(outcome.error is CancellationError)
        stubborn.release()
        #expect(fixture.transport.connections.count == closure.connectionCount)
        #expect(fixture.sentRequestCount == (closure == .toolOutput ? 1 : 0))
    }

    @Test(arguments: Closure.allCases)
    fileprivate func totalTimeRunsWhileTheProgramIsAsked(closure: Closure) async {
        let stubborn = Stubborn()
        let clock = ManualClock()
        let fixture = closure.fixture(clock: clock, total: .seconds(10)) {
            clock.advance(by: .seconds(10))
            await stubborn.wait()
        }
        let outcome = await fixture.run(conversation([WireItem.question]))
        stubborn.release()
        #expect(outcome.transportFailure?.code == .timedOut)
        #expect(outcome.clientError?.tag.hasPrefix("timeout.") == true)
        #expect(outcome.report.replaySafety == (closure == .toolOutput ? .outputDelivered : .notSent))
        #expect(fixture.transport.connections.count == closure.connectionCount)
        // The program was slow, rather than the server: the next turn is permitted.
        #expect(await fixture.run(conversation([WireItem.question])).transportFailure?.code != .circuitOpen)
    }

    /// An answer that arrives at the end of the time limit is late as well.
    @Test(arguments: Closure.allCases)
    fileprivate func answerBehindTheTotalTimeIsNotUsed(closure: Closure) async {
        let clock = ManualClock()
        let fixture = closure.fixture(clock: clock, total: .seconds(10)) { clock.advance(by: .seconds(11)) }
        let outcome = await fixture.run(conversation([WireItem.question]))
        #expect(outcome.transportFailure?.code == .timedOut)
        #expect(fixture.transport.connections.count == closure.connectionCount)
    }

    /// The documents beside a response use the same closures.
    @Test(arguments: [false, true]) func cancelledFetchDoesNotWait(asksCredential: Bool) async {
        let stubborn = Stubborn()
        let fixture = TurnFixture([]) { configuration in
            if asksCredential {
                configuration.credential = { _ in
                    await stubborn.wait()
                    return nil
                }
            } else {
                configuration.willSend = { _ in await stubborn.wait() }
            }
        }
        let fetch = Task { try await fixture.instance.fetch(path: "/models") }
        await stubborn.asked.wait()
        fetch.cancel()
        await #expect(throws: CancellationError.self) { try await fetch.value }
        stubborn.release()
        #expect(fixture.transport.connections.isEmpty)
    }
}

@Suite(.timeLimit(.minutes(10))) struct ProgramTaskTests {
    @Test func resultIsTheClosures() async throws {
        let results = LockedValue<[Int]>([])
        let passedOn = Signal()
        let task = ProgramTask<Int> {
            1
        } then: { result in
            if let value = try? result.get() { results.withLock { $0.append(value) } }
            passedOn.send()
        }
        #expect(try await task.result().get() == 1)
        #expect(try await task.result().get() == 1)
        task.giveUp()
        #expect(try await task.result().get() == 1)
        // The waiting task may be resumed before the other closure is called.
        await passedOn.wait()
        #expect(results.withLock { $0 } == [1])
    }

    @Test func lateResultOfAnAbandonedTaskIsDropped() async {
        let stubborn = Stubborn()
        let ended = Signal()
        let count = LockedValue(0)
        let task = ProgramTask {
            await stubborn.wait()
            #expect(Task.isCancelled)
            ended.send()
        } then: { _ in
            count.withLock { $0 += 1 }
        }
        await stubborn.asked.wait()
        task.giveUp(CancellationError())
        await #expect(throws: CancellationError.self) { try await task.result().get() }
        stubborn.release()
        await ended.wait()
        #expect(count.withLock { $0 } == 1)
    }
}
