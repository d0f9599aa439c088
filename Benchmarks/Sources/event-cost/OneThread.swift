// One task on the calling thread, which owns it.
import Foundation

/// Runs a task, and every job that it starts, on the calling thread.
///
/// The concurrency runtime passes each job to a hook, which queues it here. The system's thread pool is not started,
/// and the task runs on the generic executor, as it would there. Instruments that count instructions follow a single
/// thread best.
enum OneThread {
    private typealias Original = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

    /// - Safety: it is used by the calling thread alone.
    private final class State: @unchecked Sendable {
        var jobs: [UnownedJob] = []
        var result: Result<Void, any Error>?
    }

    private static let state = State()

    /// Runs `body` to its end.
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
