import StreamTransport

/// A closure of the program, such as a tool or a source of credentials, in a task of its own that can be given up.
///
/// Programs may ignore a cancellation. So the waiting task is resumed at once when the closure is given up, and a later
/// result is dropped. Shared by the closure's task and the tasks that wait or give up, behind a lock.
package final class ProgramTask<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiter: CheckedContinuation<Result<Value, any Error>, Never>?
        var task: Task<Void, Never>?
    }

    private let state = LockedValue(State())
    private let then: (@Sendable (Result<Value, any Error>) -> Void)?

    /// Starts a closure.
    ///
    /// - Parameters:
    ///   - body: the program's closure.
    ///   - then: a closure that gets the result, once, on any task: the closure's own, or the error of `giveUp`.
    package init(
        _ body: @escaping @Sendable () async throws -> Value,
        then: (@Sendable (Result<Value, any Error>) -> Void)? = nil
    ) {
        self.then = then
        let task = Task {
            do {
                self.settle(.success(try await body()))
            } catch {
                self.settle(.failure(error))
            }
        }
        let isSettled = self.state.withLock { state in
            guard state.result == nil else { return true }
            state.task = task
            return false
        }
        if isSettled { task.cancel() }
    }

    /// Cancels the closure's task, and waits for it no longer; does nothing when it is over.
    ///
    /// The error becomes the task's result. May be called from any task, with no lock held.
    package func giveUp(_ error: any Error = CancellationError()) { self.settle(.failure(error)) }

    /// Returns the result; a cancellation of the waiting task gives the closure up.
    ///
    /// For one task.
    package func result() async -> Result<Value, any Error> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result = self.state.withLock { state in
                    if state.result == nil { state.waiter = continuation }
                    return state.result
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            self.giveUp()
        }
    }

    /// The continuation and the task that the first result settles.
    private typealias Settlement = (
        waiter: CheckedContinuation<Result<Value, any Error>, Never>?, task: Task<Void, Never>?
    )

    /// Stores a result; the first one counts.
    private func settle(_ result: Result<Value, any Error>) {
        let settlement: Settlement? = self.state.withLock { state in
            guard state.result == nil else { return nil }
            state.result = result
            return (state.waiter.take(), state.task.take())
        }
        guard let settlement else { return }
        settlement.task?.cancel()
        settlement.waiter?.resume(returning: result)
        self.then?(result)
    }
}
