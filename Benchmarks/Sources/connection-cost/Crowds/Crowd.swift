// Many streams at the same time, each read by a task of its own.
import ChappieTransport
import Synchronization

/// Streams of one instance that are read by a task each.
///
/// It belongs to the task that measures.
final class Crowd {
    private let instance: ChappieStreamingTransport
    private let server: StreamServer
    private let kind: Consumer.Kind
    /// The executor that the streams' tasks prefer; nil for the global one.
    private let executor: (any TaskExecutor)?
    private let crowd = TaskCrowd<Int>()
    private let deltas = DeltaCount()
    private let turns: Turns?

    /// Creates a crowd without streams, which are read by an interface that needs no actor.
    init(
        _ server: StreamServer, by kind: Consumer.Kind = .events, onServiceThread: Bool = false,
        isPatient: Bool = false, turns: Turns? = nil
    ) throws {
        self.server = server
        self.kind = kind
        self.turns = turns
        self.instance = try Consumer(kind: kind, server: server, isPatient: isPatient).instance()
        self.executor = onServiceThread ? self.instance.executor : nil
    }

    /// The number of streams.
    var count: Int { self.crowd.tasks.count }

    /// The number of deltas of all streams.
    var deltaCount: Int { self.deltas.value }

    /// Opens streams, a few at a time, until `count` of them have had their first delta.
    func grow(to count: Int) async throws { try await self.crowd.grow(to: count) { self.read($0) } }

    private func read(_ arrival: AsyncStream<Bool>.Continuation) -> Task<Int, any Error> {
        let (instance, kind, deltas, turns) = (self.instance, self.kind, self.deltas, self.turns)
        let read = { @Sendable () async throws -> Int in
            var count = 0
            func take(_ event: ChappieStreamEvent) {
                guard case .textDelta = event else { return }
                count += 1
                deltas.add()
                turns?.take()
                if count == 1 { arrival.yield(true) }
            }
            do {
                switch kind {
                case .events, .eventsOnMainActor:
                    for try await event in instance.stream(Consumer.request) { take(event) }
                case .sequence, .sequenceOnMainActor, .sequenceOnExecutor:
                    for try await event in instance.events(Consumer.request) { take(event) }
                case .batches:
                    for try await batch in instance.batches(Consumer.request) { batch.forEach(take) }
                }
            } catch {
                arrival.yield(false)
                throw error
            }
            return count
        }
        // Even an absent preference makes each change of executors search for one.
        return self.executor.map { Task.detached(executorPreference: $0, operation: read) }
            ?? Task.detached(operation: read)
    }

    /// Reads all streams to their ends, and throws unless each has had `messageCount` deltas.
    func finish(messageCount: Int) async throws {
        for task in self.crowd.tasks {
            let count = try await task.value
            guard count == messageCount else { throw WrongResultError("\(count) messages came on a stream") }
        }
    }

    func cancel() { self.crowd.cancel() }
}

/// Deltas of all streams, counted by their tasks.
private final class DeltaCount: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { self.count.load(ordering: .relaxed) }

    func add() { self.count.wrappingAdd(1, ordering: .relaxed) }
}
