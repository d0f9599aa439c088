import StreamTransport

/// A result that is settled once, and that any number of tasks wait for.
///
/// Its state is behind a lock.
final class SharedOutcome<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiters: [Int: CheckedContinuation<Value, any Error>] = [:]
        var waiterCount = 0
    }

    private let state = LockedValue(State())

    /// Creates an outcome that is not settled.
    init() {}

    /// Settles the result; returns false when it was settled before.
    @discardableResult
    func settle(_ result: Result<Value, any Error>) -> Bool {
        let waiters = self.state.withLock { state -> [CheckedContinuation<Value, any Error>]? in
            guard state.result == nil else { return nil }
            state.result = result
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters ?? [] { waiter.resume(with: result) }
        return waiters != nil
    }

    /// The result; nil until it is settled.
    var result: Result<Value, any Error>? { self.state.withLock { $0.result } }

    /// Waits until it is settled.
    ///
    /// Throws the failure, and `CancellationError` when the task is cancelled first, which does not affect other tasks.
    func value() async throws -> Value {
        let number = self.state.withLock { state in
            state.waiterCount += 1
            return state.waiterCount
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { self.add($0, number: number) }
        } onCancel: {
            let waiter = self.state.withLock { $0.waiters.removeValue(forKey: number) }
            waiter?.resume(throwing: CancellationError())
        }
    }

    private func add(_ waiter: CheckedContinuation<Value, any Error>, number: Int) {
        let result = self.state.withLock { state -> Result<Value, any Error>? in
            if let result = state.result { return result }
            // The cancellation handler runs before this, or after it.
            if Task.isCancelled { return .failure(CancellationError()) }
            state.waiters[number] = waiter
            return nil
        }
        if let result { waiter.resume(with: result) }
    }
}
