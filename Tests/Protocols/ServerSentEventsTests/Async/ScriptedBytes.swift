// A base for the asynchronous sequences that does what a test tells it to, and counts how often it was asked.

import Synchronization

/// The calls on a scripted base.
final class ScriptLog: Sendable {
    private let count = Mutex(0)

    /// The number of requests for elements, errors and ends.
    var requestCount: Int { self.count.withLock { $0 } }

    func noteRequest() {
        self.count.withLock { $0 += 1 }
    }
}

/// The failure of a scripted base.
struct ScriptedFailure: Error, Equatable {
    let code: Int
}

/// Delivers elements and then fails, or ends.
struct ScriptedBytes<Element: Sendable>: AsyncSequence, Sendable {
    let elements: [Element]
    var failure: ScriptedFailure?
    /// Indicates whether it looks at the cancellation of its task, as sockets do.
    var checksCancellation = false
    let log = ScriptLog()

    init(_ elements: [Element], failure: ScriptedFailure? = nil, checksCancellation: Bool = false) {
        self.elements = elements
        self.failure = failure
        self.checksCancellation = checksCancellation
    }

    func makeAsyncIterator() -> Iterator { Iterator(script: self) }

    struct Iterator: AsyncIteratorProtocol {
        private let script: ScriptedBytes
        private var position = 0

        init(script: ScriptedBytes) { self.script = script }

        mutating func next() async throws -> Element? {
            self.script.log.noteRequest()
            await Task.yield()
            if self.script.checksCancellation { try Task.checkCancellation() }
            if self.position < self.script.elements.count {
                self.position += 1
                return self.script.elements[self.position - 1]
            }
            // An iterator that is asked again after an error must not fail a second time unnoticed.
            if let failure = self.script.failure { throw failure }
            return nil
        }
    }
}
