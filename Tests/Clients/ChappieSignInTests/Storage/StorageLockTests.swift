import Foundation
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieSignIn

/// Locks of accounts: one at a time, in a process and across storages.
@Suite(.timeLimit(.minutes(10))) struct StorageLockTests {
    private let directory = StorageDirectory()

    /// Two storages that share their accounts, of each kind.
    private func pairs(clock: ClientClock) -> [[any ChappieCredentialStorage]] {
        let memory = ChappieMemoryCredentialStorage(clock: clock)
        let files = (1...2).map { _ in
            ChappieFileCredentialStorage(directory: self.directory.path, calls: .system, clock: clock)
        }
        return [files, [memory, memory]]
    }

    /// Holds a lock until the test releases it.
    private func holding(
        _ storage: any ChappieCredentialStorage, until end: StorageEvent, account: String = "a"
    ) async -> Task<Void, any Error> {
        let begun = StorageEvent()
        let task = Task {
            try await storage.withLock(of: account, timeout: .zero) {
                begun.happened()
                await end.wait()
            }
        }
        await begun.wait()
        return task
    }

    @Test func aLockGivesTheResultAndPassesTheErrorOn() async throws {
        struct Own: Error {}
        for storage in self.pairs(clock: .system).flatMap(\.self) {
            #expect(try await storage.withLock(of: "a", timeout: .zero) { 7 } == 7)
            await #expect(throws: Own.self) { try await storage.withLock(of: "a", timeout: .zero) { throw Own() } }
            #expect(try await storage.withLock(of: "a", timeout: .zero) { 8 } == 8)
        }
    }

    @Test func theOtherOneWaitsForAsLongAsItMay() async throws {
        let clock = StorageClock()
        for pair in self.pairs(clock: clock.clock) {
            let end = StorageEvent()
            let holder = await self.holding(pair[0], until: end)
            let error = await #expect(throws: ChappieCredentialStorageError.self) {
                try await pair[1].withLock(of: "a", timeout: .seconds(60)) { Issue.record("Both have it.") }
            }
            #expect(error?.tag == "credentials.locked")
            // Other accounts are not affected.
            #expect(try await pair[1].withLock(of: "b", timeout: .zero) { true })
            end.happened()
            try await holder.value
            #expect(try await pair[1].withLock(of: "a", timeout: .zero) { true })
        }
        // Memory waits once; files are looked at ever less often, and ten to twenty times a second in the end.
        // The clock counts whole nanoseconds.
        #expect((.seconds(120) - .microseconds(2)...Duration.seconds(120)).contains(clock.sleeps.reduce(.zero, +)))
        #expect((600...1_250).contains(clock.sleeps.count))
        #expect(clock.sleeps[0] <= .milliseconds(2) && clock.sleeps.dropLast().allSatisfy { $0 <= .milliseconds(100) })
    }

    @Test func cancelledWaiterLeavesTheLock() async throws {
        for pair in self.pairs(clock: StorageClock.standing) {
            let end = StorageEvent()
            let holder = await self.holding(pair[0], until: end)
            let waiter = Task {
                try await pair[1].withLock(of: "a", timeout: .seconds(60)) { Issue.record("Both have it.") }
            }
            waiter.cancel()
            await #expect(throws: CancellationError.self) { try await waiter.value }
            end.happened()
            try await holder.value
            #expect(try await pair[1].withLock(of: "a", timeout: .zero) { true })
        }
    }

    @Test func manyTasksChangeACredentialOneAfterAnother() async throws {
        for pair in self.pairs(clock: .system) {
            try pair[0].store(.sample(""), of: "a")
            try await withThrowingTaskGroup { group in
                for index in 0..<40 {
                    group.addTask {
                        let storage = pair[index % 2]
                        // The last one waits for 39 others; the suite's time limit ends a wait without end.
                        try await storage.withLock(of: "a", timeout: .seconds(3_600)) {
                            var credential = try #require(try storage.credential(of: "a"))
                            await Task.yield()
                            credential.accessToken += "x"
                            try storage.store(credential, of: "a")
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try pair[1].credential(of: "a")?.accessToken == "access-" + String(repeating: "x", count: 40))
        }
    }

    @Test func tasksGetALockOfMemoryInTheOrderInWhichTheyAsked() async throws {
        // A waiting caller reads the clock, and is in the queue by then.
        let (waiting, continuation) = AsyncStream<Void>.makeStream()
        let standing = StorageClock.standing
        let clock = ClientClock(moment: standing.moment, date: standing.date) { duration in
            continuation.yield()
            try await standing.sleep(duration)
        }
        var waits = waiting.makeAsyncIterator()
        let lock = FairLock(clock: clock)
        let order = LockedValue<[Int]>([])
        try await lock.lock(timeout: .zero, expired: .locked(path: ""))
        var tasks: [Task<Void, any Error>] = []
        for number in 1...10 {
            tasks.append(
                Task {
                    try await lock.lock(timeout: .seconds(60), expired: .locked(path: ""))
                    order.withLock { $0.append(number) }
                    lock.unlock()
                })
            await waits.next()
        }
        tasks[4].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[4].value }
        lock.unlock()
        for (index, task) in tasks.enumerated() where index != 4 { try await task.value }
        #expect(order.withLock { $0 } == [1, 2, 3, 4, 6, 7, 8, 9, 10])
    }

    @Test func aLockWhoseFileWasRemovedIsTakenAgain() async throws {
        let storage = self.directory.storage
        let path = self.directory.path(of: "a.lock")
        let count = LockedValue(0)
        let meddled = self.directory.storage { call, body in
            // The file is removed after it was opened, once.
            if call == .lock,
                count.withLock({
                    $0 += 1; return $0
                }) == 1
            {
                unlink(path)
            }
            return body()
        }
        let other = try await meddled.withLock(of: "a", timeout: .zero) {
            await #expect(throws: ChappieCredentialStorageError.locked(path: path)) {
                try await storage.withLock(of: "a", timeout: .zero) {}
            }
            return FileManager.default.fileExists(atPath: path)
        }
        #expect(other)
        #expect(count.withLock { $0 } == 3)
    }

    @Test func noDescriptorIsHandedToPrograms() async throws {
        let storage = self.directory.storage
        let path = self.directory.path
        try storage.store(.sample(), of: "a")
        try await storage.withLock(of: "a", timeout: .zero) {
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { CInt($0) }
            let own = open.filter { descriptor in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
                return target?.hasPrefix(path) == true
            }
            #expect(own.count == 1)
            #expect(own.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
        }
    }
}
