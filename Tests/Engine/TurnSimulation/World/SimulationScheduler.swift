// Tasks on one thread, and time that passes only when all of them wait.

import Foundation

/// Runs all tasks on one thread, one after another, and advances the clock when none can continue.
///
/// The concurrency runtime asks a hook where to put a job. The hook passes jobs of a simulation's thread to that
/// thread's scheduler, and does not affect those of other threads.
/// - Safety: it belongs to its thread, and is used by no other.
package final class SimulationScheduler: @unchecked Sendable {
    private struct Sleeper {
        let id: Int
        /// The time at which it continues; nil for not by itself.
        let wake: Duration?
        let continuation: UnsafeContinuation<Void, Never>
    }

    /// The virtual time.
    package internal(set) var now: Duration = .seconds(1_000)
    /// The seed of the series that runs.
    package internal(set) var seed: UInt64 = 0
    /// The scheduler of the thread that runs; nil outside of a simulation.
    package static var current: SimulationScheduler? { ThreadHook.current }

    private var jobs: [UnownedJob] = []
    private var nextJob = 0
    private var sleepers: [Sleeper] = []
    private var nextSleeper = 0

    /// Called when every task waits for an event that will never occur.
    var deadlocked: () -> Void = { preconditionFailure("every task of the simulation waits for ever") }

    init() {}

    // MARK: The thread

    /// Runs a task and everything that it begins, to its end, on a thread of its own.
    package static func runOnThread(_ body: @escaping @Sendable (SimulationScheduler) async -> Void) async {
        await withUnsafeContinuation { continuation in
            let thread = Thread {
                self.run(body)
                continuation.resume()
            }
            // What a release build needs, and more than the smallest default.
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    /// Runs a task and all tasks that it begins, to their end, on this thread.
    ///
    /// The thread has no other work meanwhile. A job that waits for an external event would block it.
    private static func run(_ body: @escaping @Sendable (SimulationScheduler) async -> Void) {
        ThreadHook.install()
        let scheduler = SimulationScheduler()
        let completion = Completion()
        ThreadHook.current = scheduler
        Task {
            await body(scheduler)
            completion.isDone = true
        }
        while !completion.isDone || scheduler.hasJobs {
            if let job = scheduler.takeJob() {
                ThreadHook.run(job)
            } else if !scheduler.wakeNextSleeper() {
                scheduler.deadlocked()
                scheduler.wakeAll()
            }
        }
        ThreadHook.current = nil
    }

    /// - Safety: touched on one thread.
    private final class Completion: @unchecked Sendable {
        var isDone = false
    }

    fileprivate func enqueue(_ job: UnownedJob) { self.jobs.append(job) }

    private var hasJobs: Bool { self.nextJob < self.jobs.count }

    private func takeJob() -> UnownedJob? {
        guard self.hasJobs else { return nil }
        defer {
            self.nextJob += 1
            if self.nextJob == self.jobs.count {
                self.jobs.removeAll(keepingCapacity: true)
                self.nextJob = 0
            }
        }
        return self.jobs[self.nextJob]
    }

    // MARK: Waiting

    /// True when the task that runs is the only one: then it may move the clock itself.
    private var isAlone: Bool { !self.hasJobs && self.sleepers.isEmpty }

    /// Lets time pass up to a moment at the latest; another task may end the wait early.
    func pass(until moment: Duration?) async {
        if self.isAlone, let moment {
            self.now = max(self.now, moment)
            return
        }
        self.nextSleeper += 1
        let id = self.nextSleeper
        await withUnsafeContinuation { continuation in
            self.sleepers.append(Sleeper(id: id, wake: moment, continuation: continuation))
        }
    }

    /// Lets every task that waits look again.
    func wakeAll() {
        let woken = self.sleepers
        self.sleepers = []
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Advances the clock to the next moment that a task waits for; returns false when there is none.
    private func wakeNextSleeper() -> Bool {
        guard let wake = self.sleepers.compactMap(\.wake).min() else { return false }
        self.now = max(self.now, wake)
        let woken = self.sleepers.filter { $0.wake.map { $0 <= self.now } ?? false }
        self.sleepers.removeAll { sleeper in woken.contains { $0.id == sleeper.id } }
        for sleeper in woken { sleeper.continuation.resume() }
        return true
    }
}

/// The runtime's hook, and the scheduler of each thread.
enum ThreadHook {
    private typealias Original = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    private static let isInstalled: Bool = {
        guard let symbol = dlsym(dlopen(nil, RTLD_LAZY), "swift_task_enqueueGlobal_hook") else {
            preconditionFailure("this runtime has no hook for its executor")
        }
        _ = ThreadHook.key
        symbol.assumingMemoryBound(to: Hook?.self).pointee = { job, original in
            guard let scheduler = ThreadHook.current else { return original(job) }
            scheduler.enqueue(job)
        }
        return true
    }()

    /// Takes the runtime's hook, once in the process.
    static func install() { precondition(self.isInstalled) }

    /// The scheduler of the current thread; its setter keeps it alive.
    static var current: SimulationScheduler? {
        get {
            pthread_getspecific(self.key).map { Unmanaged<SimulationScheduler>.fromOpaque($0).takeUnretainedValue() }
        }
        set {
            pthread_setspecific(self.key, newValue.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) })
        }
    }

    /// Runs a job as the global executor would.
    static func run(_ job: UnownedJob) {
        // The generic executor is two words of zero; the runtime then sees no change of executors.
        job.runSynchronously(on: unsafeBitCast((0, 0), to: UnownedSerialExecutor.self))
    }
}
