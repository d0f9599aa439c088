// One task on the thread that asks for it. Owned by that thread.
import Foundation

/// Runs a task on the calling thread, and everything that it calls, to its end.
///
/// The concurrency runtime asks a hook where to put a job; this one keeps it here. Nothing of the system's thread pool
/// is started, and the task runs on the executor that it would have there: instruments that count instructions follow
/// one thread best.
enum OneThread {
    private typealias Original = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

    /// - Safety: touched by the one thread only.
    private final class State: @unchecked Sendable {
        var jobs: [UnownedJob] = []
        var result: Result<Void, any Error>?
    }

    private static let state = State()

    /// Runs `body` and returns when it has.
    static func run(_ body: @escaping @Sendable () async throws -> Void) throws {
        guard let symbol = dlsym(dlopen(nil, RTLD_LAZY), "swift_task_enqueueGlobal_hook") else {
            preconditionFailure("this runtime has no hook for its executor")
        }
        symbol.assumingMemoryBound(to: Hook?.self).pointee = { job, _ in OneThread.state.jobs.append(job) }
        let state = self.state
        Task.detached {
            do {
                state.result = .success(try await body())
            } catch {
                state.result = .failure(error)
            }
        }
        while let job = state.jobs.popLast() {
            // The generic executor is two words of zero.
            job.runSynchronously(on: unsafeBitCast((0, 0), to: UnownedSerialExecutor.self))
        }
        guard let result = state.result else { preconditionFailure("the task waits for another thread") }
        try result.get()
    }
}
