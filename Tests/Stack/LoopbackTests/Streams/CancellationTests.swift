import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// A consumer that stops reading, in every way and at every moment: its connection is closed, and it is told so.
@Suite(.timeLimit(.minutes(10))) struct CancellationTests {
    private static let request = ChappieTransportRequest(prompt: "hi", model: "m")

    /// A server whose response takes much longer than any test.
    private static func slowServer(_ faults: [ChappieTestServer.Fault] = []) -> ChappieTestServer.Configuration {
        var configuration = ChappieTestServer.Configuration(
            model: .scripted(ChappieTestServer.ScriptedModel(seed: 4, textByteCount: 60_000)), faults: faults)
        configuration.eventsPerSecond = 200
        return configuration
    }

    private static func transport(
        _ server: ChappieTestServer, _ wire: Wire, _ change: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) -> ChappieStreamingTransport {
        ChappieStreamingTransport(
            configuration: .loopback(server.baseURL) {
                $0.policy = wire.policy
                change(&$0)
            })
    }

    /// Reads a stream in a task of its own; `progress` receives every delta.
    private static func consume(
        _ handle: ChappieStreamHandle, progress: AsyncStream<Void>.Continuation? = nil
    ) -> Task<StreamOutcome, Never> {
        Task {
            var outcome = StreamOutcome()
            do {
                for try await event in handle.events {
                    outcome.add(event)
                    if case .textDelta = event { progress?.yield() }
                }
            } catch {
                outcome.error = error
            }
            progress?.finish()
            return outcome
        }
    }

    // MARK: The handle

    @Test(arguments: Wire.allCases)
    func cancellingWhileTheAnswerIsAwaitedEndsTheWait(over wire: Wire) async throws {
        try await withServer(Self.slowServer([.init(.stall(afterByte: 0))])) { server in
            let handle = Self.transport(server, wire).streamHandle(Self.request)
            let consumer = Self.consume(handle)
            #expect(await server.reached(.attempts(1)))
            handle.cancel()
            let outcome = await consumer.value
            #expect(outcome.error is CancellationError)
            #expect(outcome.text.isEmpty)
            #expect(handle.report.attempts.map(\.outcome) == ["cancelled"])
        }
    }

    @Test(arguments: Wire.allCases)
    func cancellingInMidTextClosesTheConnection(over wire: Wire) async throws {
        try await withServer(Self.slowServer()) { server in
            let handle = Self.transport(server, wire).streamHandle(Self.request)
            let (deltas, progress) = AsyncStream<Void>.makeStream()
            let consumer = Self.consume(handle, progress: progress)
            for await _ in deltas.prefix(3) {}
            handle.cancel()
            handle.cancel()
            let outcome = await consumer.value
            #expect(outcome.error is CancellationError)
            #expect(outcome.completions == 0)
            #expect(await server.reached(.finishedAttempts(1)))
            #expect(server.log.map(\.completedResponseCount) == [0])
            #expect(server.log.map(\.closeCode) == [wire == .webSocket ? 1001 : nil])
        }
    }

    @Test(arguments: Wire.allCases)
    func cancellingDuringADelayEndsTheDelay(over wire: Wire) async throws {
        let faults = [ChappieTestServer.Fault(.cutAfterEvent(event: 2))]
        try await withServer(.init(model: .scripted(LoopbackTurn.model), faults: faults)) { server in
            let handle = Self.transport(server, wire) { $0.reconnectDelay = .seconds(3_600) }.streamHandle(Self.request)
            let consumer = Self.consume(handle)
            #expect(await server.reached(.finishedAttempts(1)))
            handle.cancel()
            let outcome = await consumer.value
            #expect(outcome.error is CancellationError)
            #expect(server.log.count == 1)
        }
    }

    @Test func cancellingBeforeTheStreamIsReadSendsNoRequest() async throws {
        try await withServer(Self.slowServer()) { server in
            let handle = Self.transport(server, .webSocket).streamHandle(Self.request)
            handle.cancel()
            let outcome = await Self.consume(handle).value
            #expect(outcome.error is CancellationError)
            #expect(server.log.isEmpty)
        }
    }

    @Test(arguments: Wire.allCases)
    func cancellingAfterTheEndHasNoEffect(over wire: Wire) async throws {
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let transport = Self.transport(server, wire)
            let handle = transport.streamHandle(Self.request)
            let outcome = await Self.consume(handle).value
            #expect(outcome.error == nil)
            handle.cancel()
            #expect(handle.report.attempts.map(\.outcome) == ["completed"])
            // The kept socket is not the handle's any more.
            await transport.outcome().expectWhole()
            #expect(server.log.count == (wire == .webSocket ? 1 : 2))
        }
    }

    @Test(arguments: Wire.allCases)
    func turnThatExceedsItsTotalTimeClosesTheConnection(over wire: Wire) async throws {
        try await withServer(Self.slowServer()) { server in
            let handle = Self.transport(server, wire) { $0.timeouts.total = .seconds(3) }
                .streamHandle(Self.request)
            let outcome = await Self.consume(handle).value
            #expect(outcome.transportFailure?.code == .timedOut)
            #expect(await server.reached(.finishedAttempts(1)))
            #expect(server.log.map(\.closeCode) == [wire == .webSocket ? 1001 : nil])
        }
    }

    // MARK: The task

    @Test(arguments: Wire.allCases)
    func cancellingTheTaskInMidTextClosesTheConnection(over wire: Wire) async throws {
        try await withServer(Self.slowServer()) { server in
            let handle = Self.transport(server, wire).streamHandle(Self.request)
            let (deltas, progress) = AsyncStream<Void>.makeStream()
            let consumer = Self.consume(handle, progress: progress)
            for await _ in deltas.prefix(3) {}
            consumer.cancel()
            let outcome = await consumer.value
            // Between two elements the standard library ends the stream without an error.
            #expect(outcome.error == nil || outcome.error is CancellationError)
            #expect(outcome.completions == 0)
            #expect(await server.reached(.finishedAttempts(1)))
            #expect(server.log.map(\.closeCode) == [wire == .webSocket ? 1001 : nil])
        }
    }

    @Test(arguments: Wire.allCases)
    func cancellingTheTaskWhileItWaitsThrows(over wire: Wire) async throws {
        try await withServer(Self.slowServer([.init(.stall(afterByte: 0))])) { server in
            let consumer = Self.consume(Self.transport(server, wire).streamHandle(Self.request))
            #expect(await server.reached(.attempts(1)))
            consumer.cancel()
            let outcome = await consumer.value
            #expect(outcome.error is CancellationError)
        }
    }

    // MARK: The scope

    /// An error of the program's own.
    private struct Stop: Error, Equatable {}

    @Test(arguments: Wire.allCases)
    func closureThatThrowsInMidTextClosesTheConnection(over wire: Wire) async throws {
        try await withServer(Self.slowServer()) { server in
            var deltaCount = 0
            await #expect(throws: Stop()) {
                try await Self.transport(server, wire).withEvents(of: Self.request) { event in
                    if case .textDelta = event { deltaCount += 1 }
                    if deltaCount == 3 { throw Stop() }
                }
            }
            #expect(deltaCount == 3)
            #expect(await server.reached(.finishedAttempts(1)))
            #expect(server.log.map(\.completedResponseCount) == [0])
            #expect(server.log.map(\.closeCode) == [wire == .webSocket ? 1001 : nil])
        }
    }

    @Test(arguments: Wire.allCases)
    func cancellingTheTaskOfAScopeWhileItWaitsThrows(over wire: Wire) async throws {
        try await withServer(Self.slowServer([.init(.stall(afterByte: 0))])) { server in
            let transport = Self.transport(server, wire)
            let reading = Task { try await transport.withEvents(of: Self.request) { _ in } }
            #expect(await server.reached(.attempts(1)))
            reading.cancel()
            await #expect(throws: CancellationError.self) { try await reading.value }
        }
    }

    @Test(arguments: Wire.allCases)
    func cancellingTheTaskOfAScopeInMidTextClosesTheConnection(over wire: Wire) async throws {
        try await withServer(Self.slowServer()) { server in
            let transport = Self.transport(server, wire)
            let (deltas, progress) = AsyncStream<Void>.makeStream()
            let reading = Task {
                try await transport.withEvents(of: Self.request) { event in
                    if case .textDelta = event { progress.yield() }
                }
            }
            for await _ in deltas.prefix(3) {}
            reading.cancel()
            await #expect(throws: CancellationError.self) { try await reading.value }
            #expect(await server.reached(.finishedAttempts(1)))
            #expect(server.log.map(\.closeCode) == [wire == .webSocket ? 1001 : nil])
        }
    }

    // MARK: The stream

    @Test func unreadDroppedStreamSendsNoRequest() async throws {
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let transport = Self.transport(server, .webSocket)
            _ = transport.stream(Self.request)
            await transport.outcome().expectWhole()
            #expect(server.log.map(\.bodies.count) == [1])
        }
    }

    @Test(arguments: Wire.allCases)
    func aStreamThatIsDroppedHalfReadClosesTheConnection(over wire: Wire) async throws {
        try await withServer(Self.slowServer()) { server in
            let transport = Self.transport(server, wire)
            func readABit() async throws {
                for try await event in transport.stream(Self.request) {
                    if case .textDelta = event { return }
                }
            }
            try await readABit()
            #expect(await server.reached(.finishedAttempts(1)))
            #expect(server.log.map(\.completedResponseCount) == [0])
            #expect(server.log.map(\.closeCode) == [wire == .webSocket ? 1001 : nil])
        }
    }

    // MARK: Chance

    private enum Leaving: CaseIterable { case handle, task, drop }

    @Test(arguments: Wire.allCases)
    func turnsThatAreCancelledAnywhereLeaveNoConnectionOpen(over wire: Wire) async throws {
        var random = SeededGenerator(seed: 42)
        let plans = (0..<(EveryByteCutTests.stride == 1 ? 40 : 10)).map { _ in
            (Leaving.allCases.randomElement(using: &random) ?? .drop, Int.random(in: 0..<30, using: &random))
        }
        try await withServer(Self.slowServer()) { server in
            let transport = Self.transport(server, wire)
            await withTaskGroup(of: Void.self) { group in
                for (leaving, eventCount) in plans {
                    group.addTask { await Self.leave(transport, after: eventCount, by: leaving) }
                }
            }
            // An upgrade may still be on its way when its turn is over.
            var attemptCount = -1
            while attemptCount != server.log.count {
                attemptCount = server.log.count
                #expect(await server.reached(.finishedAttempts(attemptCount)))
            }
            #expect(server.log.allSatisfy { $0.isFinished && $0.completedResponseCount == 0 })
        }
    }

    private static func leave(_ transport: ChappieStreamingTransport, after eventCount: Int, by leaving: Leaving) async
    {
        let handle = transport.streamHandle(Self.request)
        let task = Task {
            var count = 0
            for try await _ in handle.events {
                count += 1
                guard count > eventCount else { continue }
                switch leaving {
                case .handle: handle.cancel()
                case .task: withUnsafeCurrentTask { $0?.cancel() }
                case .drop: return
                }
            }
        }
        switch await task.result {
        case .success: break
        case .failure(let error): #expect(error is CancellationError)
        }
    }
}

/// The same numbers for the same seed: SplitMix64.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
