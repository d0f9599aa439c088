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
        let (instance, tally) = (self.instance, StreamTally(deltas: self.deltas, turns: self.turns, arrival: arrival))
        // A function for each form: the frame of one for all would be the memory of each stream.
        let form: @Sendable () async throws -> Int =
            switch self.kind {
            case .events, .eventsOnMainActor:
                {
                    var tally = tally
                    for try await event in instance.stream(Consumer.request) { tally.take(event) }
                    return tally.count
                }
            case .sequence, .sequenceOnMainActor, .sequenceOnExecutor:
                {
                    var tally = tally
                    for try await event in instance.events(Consumer.request) { tally.take(event) }
                    return tally.count
                }
            case .scope:
                {
                    var tally = tally
                    try await instance.withEvents(of: Consumer.request) { tally.take($0) }
                    return tally.count
                }
            case .batches:
                {
                    var tally = tally
                    for try await batch in instance.batches(Consumer.request) {
                        for event in batch { tally.take(event) }
                    }
                    return tally.count
                }
            }
        let read = { @Sendable () async throws -> Int in
            do { return try await form() } catch {
                arrival.yield(false)
                throw error
            }
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

/// The deltas of one stream, counted by its task.
private struct StreamTally: Sendable {
    let deltas: DeltaCount
    let turns: Turns?
    let arrival: AsyncStream<Bool>.Continuation
    var count = 0

    @inline(__always)
    mutating func take(_ event: ChappieStreamEvent) {
        guard case .textDelta = event else { return }
        self.count += 1
        self.deltas.add()
        self.turns?.take()
        if self.count == 1 { self.arrival.yield(true) }
    }
}

/// Deltas of all streams, counted by their tasks.
private final class DeltaCount: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { self.count.load(ordering: .relaxed) }

    func add() { self.count.wrappingAdd(1, ordering: .relaxed) }
}
