// The floor of Swift: a task for each stream, which is resumed for each read of one epoll loop, and nothing else.
//
// usage: tasks pool|loop TASK
//
// TASK is one of ../../typical.py, paced and without TLS. The tasks run on the pool or on the thread of the loop.
// It is built on one's own, beside loop.cpp:
//
//     c++ -std=c++20 -O2 -DNDEBUG -c loop.cpp
//     swiftc -O -parse-as-library tasks.swift loop.o -o tasks -lsimdjson -lssl -lcrypto -lz -lstdc++
//     taskset --cpu-list 1 ./tasks pool TASK
import Glibc
import Synchronization

@_silgen_name("tasks_open") private func tasksOpen(_ task: UnsafePointer<CChar>) -> Int
@_silgen_name("tasks_request") private func tasksRequest()
@_silgen_name("tasks_wait") private func tasksWait(_ ready: UnsafeMutablePointer<Int32>) -> Int
@_silgen_name("tasks_take") private func tasksTake(_ index: Int) -> Bool
@_silgen_name("tasks_are_over") private func tasksAreOver() -> Bool
@_silgen_name("tasks_print") private func tasksPrint()

/// The waiting task of a stream, in one atomic word: 0, 1 after a read that no task has seen, or a continuation.
final class Waiter: Sendable {
    private let word = Atomic<UInt>(0)

    /// Waits for a read.
    func wait() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let bits = unsafeBitCast(continuation, to: UInt.self)
            if !self.word.compareExchange(expected: 0, desired: bits, ordering: .acquiringAndReleasing).exchanged {
                self.word.store(0, ordering: .releasing)
                continuation.resume()
            }
        }
    }

    /// Resumes the task, or notes the read for its next wait.
    func resume() {
        let bits = self.word.exchange(1, ordering: .acquiringAndReleasing)
        guard bits > 1 else { return }
        self.word.store(0, ordering: .releasing)
        unsafeBitCast(bits, to: UnsafeContinuation<Void, Never>.self).resume()
    }
}

/// The tasks that are ready, for the thread of the loop.
///
/// - Safety: a mutex guards the jobs.
final class Loop: TaskExecutor, @unchecked Sendable {
    @exclusivity(unchecked) private var mutex = pthread_mutex_t()
    @exclusivity(unchecked) private var jobs: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        pthread_mutex_lock(&self.mutex)
        self.jobs.append(job)
        pthread_mutex_unlock(&self.mutex)
    }

    /// Runs jobs until there are none.
    func run() {
        while true {
            pthread_mutex_lock(&self.mutex)
            let taken = self.jobs
            self.jobs.removeAll(keepingCapacity: true)
            pthread_mutex_unlock(&self.mutex)
            if taken.isEmpty { return }
            for job in taken { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}

/// The program.
@main
enum Tasks {
    static func main() {
        let isOnLoop = CommandLine.arguments[1] == "loop"
        let loop = Loop()
        let waiters = (0..<tasksOpen(CommandLine.arguments[2])).map { _ in Waiter() }
        for (index, waiter) in waiters.enumerated() {
            if isOnLoop {
                Task.detached(executorPreference: loop) { await Self.read(index, waiter) }
            } else {
                Task.detached { await Self.read(index, waiter) }
            }
        }
        loop.run()
        tasksRequest()
        let ready = UnsafeMutablePointer<Int32>.allocate(capacity: 512)
        while !tasksAreOver() {
            for place in 0..<tasksWait(ready) { waiters[Int(ready[place])].resume() }
            if isOnLoop { loop.run() }
        }
        tasksPrint()
    }

    private static func read(_ index: Int, _ waiter: Waiter) async {
        repeat { await waiter.wait() } while !tasksTake(index)
    }
}
