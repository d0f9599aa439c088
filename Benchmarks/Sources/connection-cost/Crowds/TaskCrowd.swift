/// Tasks that read a stream or a connection each, and report when their first deltas have come.
///
/// It belongs to the task that measures.
final class TaskCrowd<Result: Sendable> {
    /// The tasks, in the order of their beginnings.
    private(set) var tasks: [Task<Result, any Error>] = []
    private let (arrivals, arrival) = AsyncStream.makeStream(of: Bool.self)

    /// Begins tasks, a few at a time, until `count` of them have reported a beginning.
    ///
    /// Each gets the continuation for its report: true once its first delta has come, and false when it fails.
    func grow(
        to count: Int, _ begin: (AsyncStream<Bool>.Continuation) -> Task<Result, any Error>
    ) async throws {
        while self.tasks.count < count {
            let more = min(100, count - self.tasks.count)
            for _ in 0..<more { self.tasks.append(begin(self.arrival)) }
            var arrived = 0
            for await isThere in self.arrivals {
                guard isThere else { throw WrongResultError("a stream failed after \(self.tasks.count)") }
                arrived += 1
                if arrived == more { break }
            }
        }
    }

    func cancel() {
        for task in self.tasks { task.cancel() }
    }
}
