// What happens while the server pauses: everything that came is read, and whoever counts begins anew.
import CMachine
import ChappieTransport
import Synchronization

/// The pauses of all streams' responses.
///
/// Each stream's task says when it has read all that comes before a pause; the last one's word is passed on.
final class Pauses: Sendable {
    /// Behind how many messages of a stream the first one is.
    let first: Int
    private let last: Int
    private let streamCount: Int
    private let arrivedCount = Atomic<Int>(0)
    private let (words, word) = AsyncStream<Void>.makeStream()

    init(streamCount: Int, first: Int, last: Int) {
        (self.streamCount, self.first, self.last) = (streamCount, first, last)
    }

    /// A stream has read all that comes before a pause; behind how many messages its next one is.
    func arrive(at pause: Int) -> Int {
        let (_, count) = self.arrivedCount.add(1, ordering: .relaxed)
        if count.isMultiple(of: self.streamCount) { self.word.yield() }
        return pause == self.first ? self.last : .max
    }

    /// A stream has failed: nobody waits for the others.
    func giveUp() { self.word.finish() }

    /// Lets the server go on from both pauses, each once nobody has anything left to do.
    func end(of server: StreamServer) async throws {
        var words = self.words.makeAsyncIterator()
        for _ in 0..<2 {
            guard await words.next() != nil else { return }
            // Those who have read everything go to sleep; that takes no more than this, also where programs are slow.
            try await Task.sleep(for: .milliseconds(50))
            cmachine_note_pause()
            try server.goOn()
        }
    }
}

extension Consumer {
    /// Reads so many responses of one transport at once, each in a task of its own and with pauses, and checks each.
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
            // Not until all have ended: those that wait for one that has failed never do.
            while try await group.next() != nil {}
        }
    }

    private static func tally(
        of instance: ChappieStreamingTransport, by kind: Kind, with pauses: Pauses, isThorough: Bool
    ) async throws -> Tally {
        var tally = Tally(isThorough: isThorough)
        var pause = pauses.first
        if kind == .batches {
            for try await batch in instance.batches(Self.request) {
                for event in batch { tally.take(event) }
                if tally.deltaCount > pause { throw WrongResultError("the server did not pause") }
                if tally.deltaCount == pause { pause = pauses.arrive(at: pause) }
            }
        } else {
            for try await event in instance.stream(Self.request) {
                tally.take(event)
                if tally.deltaCount == pause { pause = pauses.arrive(at: pause) }
            }
        }
        return tally
    }
}
