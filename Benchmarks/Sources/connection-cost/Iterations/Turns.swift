// Events of many streams that come one at a time, for programs that count instructions and cache misses.
import Foundation
import Synchronization

/// The order by which the server sends an event only when the one before it has been read.
///
/// Each stream's task reports its events, and asks the server for the next one, which belongs to another stream.
final class Turns: Sendable {
    private let server: CInt
    /// The number of events that were read.
    private let count = Atomic<Int>(0)
    /// The number of events at which no more are asked for.
    private let last = Atomic<Int>(0)
    private let (words, word) = AsyncStream<Void>.makeStream()

    /// Creates turns of a server with the descriptor of its standard input.
    init(of server: CInt) { self.server = server }

    /// Reports that an event was read.
    func take() {
        let (_, count) = self.count.add(1, ordering: .relaxed)
        let last = self.last.load(ordering: .relaxed)
        if count < last {
            self.ask()
        } else if count == last {
            self.word.yield()
        }
    }

    /// Asks for events, one after the other, and returns when all were read and every task sleeps.
    func read(_ eventCount: Int) async throws {
        self.last.store(self.count.load(ordering: .relaxed) + eventCount, ordering: .relaxed)
        self.ask()
        var words = self.words.makeAsyncIterator()
        _ = await words.next()
        // The last task goes to sleep, in no more than this time, also under valgrind.
        try await Task.sleep(for: .milliseconds(50))
    }

    private func ask() {
        var byte: UInt8 = 0
        _ = write(self.server, &byte, 1)
    }
}
