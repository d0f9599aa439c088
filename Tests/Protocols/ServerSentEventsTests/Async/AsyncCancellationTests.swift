// The asynchronous interface in a cancelled task, and the actor it runs on.

import ServerSentEvents
import Testing

@Suite struct AsyncCancellationTests {
    @Test func eventsThatWereCompleteComeBeforeACancellation() async throws {
        let chunks = ScriptedBytes(
            ["data: a\n\ndata: b\n\ndata: c\n\n", "data: d\n\n"].map { Array($0.utf8) }, checksCancellation: true)
        let task = Task {
            var data: [String] = []
            await #expect(throws: CancellationError.self) {
                for try await event in chunks.serverSentEvents() {
                    data.append(event.data)
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }
            return data
        }
        #expect(await task.value == ["a", "b", "c"])
        #expect(chunks.log.requestCount == 2)
    }

    @Test func eventsOfSingleBytesComeBeforeACancellation() async throws {
        let bytes = ScriptedBytes(Array("data: a\n\ndata: b\n\n".utf8), checksCancellation: true)
        let task = Task {
            var data: [String] = []
            await #expect(throws: CancellationError.self) {
                for try await event in bytes.serverSentEvents() {
                    data.append(event.data)
                    withUnsafeCurrentTask { $0?.cancel() }
                }
            }
            return data
        }
        #expect(await task.value == ["a"])
        #expect(bytes.log.requestCount == 10)
    }

    @Test func aReaderThatWaitsIsWokenByItsCancellation() async throws {
        let (chunks, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        let (seen, seenContinuation) = AsyncStream.makeStream(of: String.self)
        let task = Task {
            // A base that ends when it is cancelled ends the events.
            var events = chunks.serverSentEvents().makeAsyncIterator()
            while let event = try await events.next() { seenContinuation.yield(event.data) }
            return events.end
        }
        continuation.yield(Array("data: a\n\ndata: b".utf8))
        #expect(await seen.first { _ in true } == "a")
        task.cancel()
        #expect(try await task.value == .insideLine(pendingByteCount: 1))
    }

    @Test func theBaseRunsWhereTheReaderRuns() async throws {
        let reader = Reader()
        try await reader.readsOnItsOwn()
    }

    /// An actor that reads a base of its own, which is not sendable.
    private actor Reader {
        func readsOnItsOwn() async throws {
            for try await event in IsolationReportingBytes().serverSentEvents() {
                #expect(event.data == "\(ObjectIdentifier(self))")
            }
            for try await element in IsolationReportingBytes().serverSentEvents().elements.prefix(1) {
                #expect(element == .event(ServerSentEvent(data: "\(ObjectIdentifier(self))")))
            }
        }
    }
}

/// One event, whose data names the actor that its reader runs on.
private final class IsolationReportingBytes: AsyncSequence, AsyncIteratorProtocol {
    private var bytes: [UInt8] = []
    private var hasBegun = false

    func makeAsyncIterator() -> IsolationReportingBytes { self }

    func next(isolation actor: isolated (any Actor)?) async -> UInt8? {
        if !self.hasBegun {
            self.hasBegun = true
            let name = actor.map { "\(ObjectIdentifier($0))" } ?? "no actor"
            self.bytes = Array("data: \(name)\n\n".utf8).reversed()
        }
        return self.bytes.popLast()
    }
}
