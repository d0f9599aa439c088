// Tasks that prefer a service thread as their executor.

import PlatformC
import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite(.timeLimit(.minutes(10))) struct ServiceJobTests {
    /// Hands jobs to a service that has no thread.
    private final class Refusing: TaskExecutor {
        let mailbox = ServiceMailbox()

        init() { self.mailbox.refuse(.environmentUnusable(.thread)) }

        func enqueue(_ job: consuming ExecutorJob) { self.mailbox.post(.run(UnownedJob(job))) }
    }

    @Test func aTaskRunsOnTheThreadItPrefers() async {
        let service = ServicePool().service(among: 1)
        #expect(!service.isCurrent)
        let places = await withTaskExecutorPreference(service) {
            let first = service.isCurrent
            await Task.yield()
            let second = service.isCurrent
            // Resumed by another thread.
            await withCheckedContinuation { continuation in
                _ = SystemThread.startDetached { continuation.resume() }
            }
            return [first, second, service.isCurrent]
        }
        #expect(places == [true, true, true])
        #expect(!service.isCurrent)
    }

    @Test func connectionsOfATaskAreOnItsThread() async {
        let pool = ServicePool()
        for _ in 0..<4 {
            let service = pool.service(among: 3)
            let dealt = await withTaskExecutorPreference(service) {
                (0..<5).map { _ in ObjectIdentifier(pool.service(among: 3)) }
            }
            #expect(Set(dealt) == [ObjectIdentifier(service)])
        }
        // Of another number of threads only those count.
        let last = (0..<3).map { _ in pool.service(among: 3) }[2]
        let first = pool.service(among: 1)
        let dealt = await withTaskExecutorPreference(last) { ObjectIdentifier(pool.service(among: 1)) }
        #expect(last === first || dealt == ObjectIdentifier(first))
    }

    @Test func jobsResumeEachOther() async {
        let service = ServicePool().service(among: 1)
        let sum = await withTaskExecutorPreference(service) {
            await withTaskGroup(of: Int.self) { group in
                for number in 0..<1_000 {
                    group.addTask {
                        await Task.yield()
                        return service.isCurrent ? number : -1_000_000
                    }
                }
                return await group.reduce(0, +)
            }
        }
        #expect(sum == 499_500)
    }

    /// The time for jobs in a round ends between two turns of a task that is always ready.
    @Test func commandsArePerformedBetweenTheTurnsOfAReadyTask() async {
        let service = ServicePool().service(among: 1)
        let turnLimit = 100
        let turns = await withTaskExecutorPreference(service) {
            let isHeard = LockedValue(false)
            // The job is posted when the thread has ended, and performed as a command.
            let poster = SystemThread.start {
                Task(executorPreference: service) { isHeard.withLock { $0 = true } }
            }
            poster?.join()
            for turn in 0..<turnLimit {
                if isHeard.withLock({ $0 }) { return turn }
                Self.holdThread(forNanoseconds: Service.jobNanoseconds)
                await Task.yield()
            }
            return turnLimit
        }
        #expect(turns < turnLimit)
    }

    /// Keeps the current thread from anything else.
    private static func holdThread(forNanoseconds nanoseconds: Int64) {
        let end = Moment.now.advanced(byNanoseconds: nanoseconds)
        while Moment.now < end {}
    }

    #if DEBUG
        @Test func warningIsGivenForTheFirstLongJobOfEachKind() {
            let limit = LongJobWarning.limit
            var warning = LongJobWarning()
            #expect(warning.text(after: .init(elapsed: limit - 1, processor: limit - 1)) == nil)
            // The time of a job that waits, or that is stopped, is not its work.
            let blocked = warning.text(after: .init(elapsed: limit, processor: limit - 1))
            #expect(blocked?.contains("blocked a service thread for 100 ms, unless") == true)
            #expect(warning.text(after: .init(elapsed: limit, processor: limit - 1)) == nil)
            let computed = warning.text(after: .init(elapsed: limit, processor: limit))
            #expect(computed?.contains("computed on a service thread for 100 ms.") == true)
            #expect(warning.text(after: .init(elapsed: limit, processor: limit)) == nil)
        }

        @Test func tasksThatHoldTheThreadAreReportedOnceInADebugBuild() async throws {
            let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                await withTaskExecutorPreference(ServicePool().service(among: 1)) {
                    for _ in 0..<2 {
                        ServiceJobTests.compute(forNanoseconds: LongJobWarning.limit)
                        // The end of a job.
                        await Task.yield()
                        ServiceJobTests.block(forNanoseconds: LongJobWarning.limit)
                        await Task.yield()
                    }
                }
            }
            let output = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
            for fact in ["a task computed on a service thread for ", "a task blocked a service thread for "] {
                #expect(output.split(separator: "\n").count { $0.contains(fact) } == 1, "\(output)")
            }
        }

        /// Uses that much time of a processor.
        private static func compute(forNanoseconds nanoseconds: Int64) {
            let start = LongJobWarning.Time.now
            while (LongJobWarning.Time.now - start).processor < nanoseconds {}
        }

        /// Waits for another thread, which takes that long.
        private static func block(forNanoseconds nanoseconds: Int64) {
            SystemThread.start { Self.holdThread(forNanoseconds: nanoseconds) }?.join()
        }
    #endif

    @Test func aTaskOnTheThreadMayWaitForItsConnectionsToClose() async {
        let pool = ServicePool()
        await withTaskExecutorPreference(pool.service(among: 1)) {
            await pool.finishClosing(within: .seconds(1))
        }
    }

    @Test func jobsOfAServiceWithoutAThreadRunElsewhere() async {
        let answer = await withTaskExecutorPreference(Refusing()) {
            await Task.yield()
            return 42
        }
        #expect(answer == 42)
    }
}
