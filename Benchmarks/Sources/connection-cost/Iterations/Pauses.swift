// The pauses of the server, at which all data is read and callgrind starts a new profile.
import CMachine
import ChappieTransport
import Synchronization

/// The pauses of all streams' responses.
///
/// Each stream's task reports when it has read all messages before a pause; the report of the last one is passed on.
final class Pauses: Sendable {
    /// The number of messages of a stream before the first pause.
    let first: Int
    private let last: Int
    private let streamCount: Int
    private let arrivedCount = Atomic<Int>(0)
    private let (words, word) = AsyncStream<Void>.makeStream()

    init(streamCount: Int, first: Int, last: Int) {
        (self.streamCount, self.first, self.last) = (streamCount, first, last)
    }

    /// Reports that a stream has read all messages before a pause; returns their number at its next pause.
    func arrive(at pause: Int) -> Int {
        let (_, count) = self.arrivedCount.add(1, ordering: .relaxed)
        if count.isMultiple(of: self.streamCount) { self.word.yield() }
        return pause == self.first ? self.last : .max
    }

    /// Reports that a stream has failed, which ends the wait for the others.
    func giveUp() { self.word.finish() }

    /// Ends both pauses of the server, each once all tasks are asleep.
    func end(of server: StreamServer) async throws {
        var words = self.words.makeAsyncIterator()
        for _ in 0..<2 {
            guard await words.next() != nil else { return }
            // Tasks that have read everything go to sleep, in no more than this time, also under valgrind.
            try await Task.sleep(for: .milliseconds(50))
            cmachine_note_pause()
            try server.goOn()
        }
    }
}

extension Consumer {
    /// Reads `count` responses of one transport at once, each in a task of its own and with pauses, and checks each.
    func read(
        _ count: Int, _ expected: ExpectedResponse, with pauses: Pauses, isThorough: Bool = false
    ) async throws {
        let (instance, kind) = (try self.instance(), self.kind)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask {
                    do {
                        let tally = try await Self.tally(of: instance, by: kind, with: pauses, isThorough: isThorough)
                        try tally.check(against: expected)
                    } catch {
                        pauses.giveUp()
                        throw error
                    }
                }
            }
            try await pauses.end(of: self.server)
            // The first failure is thrown without waiting for the others, which may wait for the failed one forever.
            while try await group.next() != nil {}
        }
    }

    private static func tally(
        of instance: ChappieStreamingTransport, by kind: Kind, with pauses: Pauses, isThorough: Bool
    ) async throws -> Tally {
        var tally = Tally(isThorough: isThorough)
        var pause = pauses.first
        switch kind {
        case .batches:
            for try await batch in instance.batches(Self.request) {
                for event in batch { tally.take(event) }
                if tally.deltaCount > pause { throw WrongResultError("the server did not pause") }
                if tally.deltaCount == pause { pause = pauses.arrive(at: pause) }
            }
        case .sequence, .sequenceOnMainActor, .sequenceOnExecutor:
            for try await event in instance.events(Self.request) {
                tally.take(event)
                if tally.deltaCount == pause { pause = pauses.arrive(at: pause) }
            }
        case .scope:
            try await instance.withEvents(of: Self.request) { event in
                tally.take(event)
                if tally.deltaCount == pause { pause = pauses.arrive(at: pause) }
            }
        case .events, .eventsOnMainActor:
            for try await event in instance.stream(Self.request) {
                tally.take(event)
                if tally.deltaCount == pause { pause = pauses.arrive(at: pause) }
            }
        }
        return tally
    }
}
