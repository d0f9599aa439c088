import Foundation
import StreamTransport
import Testing

@testable import ChappieRelay

/// Operations that wait together.
@Suite struct SQLiteQueueTests {
    /// Result codes of SQLite: another process has the lock, and the disk is full.
    private static let (busy, full): (Int32, Int32) = (5, 13)

    /// Runs operations together, each of which fails with a code or runs whole; returns the codes that they end with,
    /// and the operations that were run, in order.
    private func run(_ codes: [Int32?]) throws -> (ends: [Int32?], runs: [Int]) {
        let (ends, runs) = (LockedValue<[Int32?]>([]), LockedValue<[Int]>([]))
        let operations = codes.enumerated().map { index, code in
            SQLiteQueue.Operation(
                body: { _ in
                    runs.withLock { $0.append(index) }
                    if let code { throw SQLiteDatabase.Failure(code: code, message: "") }
                },
                finish: { failure in ends.withLock { $0.append(failure?.code) } })
        }
        SQLiteQueue.run(operations, beginning: "BEGIN", on: try SQLiteDatabase(path: ":memory:"))
        return (ends.withLock { $0 }, runs.withLock { $0 })
    }

    @Test func aFailureIsThatOfItsOperationAlone() throws {
        let together = try self.run([nil, nil])
        #expect(together.ends == [nil, nil] && together.runs == [0, 1])
        let one = try self.run([nil, Self.full, nil])
        #expect(one.ends == [nil, Self.full, nil] && one.runs == [0, 1, 0, 1, 2])
    }

    @Test func aLockIsWaitedForOnce() throws {
        let atFirst = try self.run([Self.busy, nil, nil])
        #expect(atFirst.ends == [Self.busy, Self.busy, Self.busy] && atFirst.runs == [0])
        // Behind a failure of another kind, with which the operations are run one by one.
        let later = try self.run([Self.full, nil, Self.busy, nil])
        #expect(later.ends == [Self.full, nil, Self.busy, Self.busy] && later.runs == [0, 0, 1, 2])
    }
}

/// The file of streams.
@Suite struct SQLiteJournalTests {
    private static let lease = Duration.seconds(6)

    private func path() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("journal-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder.appendingPathComponent("streams.sqlite").path
    }

    @Test(arguments: ChappieSQLiteJournal.Synchronous.allCases)
    func aFileIsReadAgain(_ synchronous: ChappieSQLiteJournal.Synchronous) async throws {
        let path = try self.path()
        let first = try ChappieSQLiteJournal(path: path, synchronous: synchronous)
        let new = ChappieNewStream(key: "k", header: [1])
        let stream = try await first.create(new, owner: "a", lease: Self.lease)
        try await first.append(
            ChappieJournalBatch(firstPosition: 1, records: [[1], [2, 3]], closes: true), to: new.id,
            by: ChappieJournalWriter(owner: "a", epoch: stream.epoch), lease: Self.lease)
        await first.shutdown()
        let second = try ChappieSQLiteJournal(path: path, synchronous: synchronous)
        #expect(try await second.records(of: new.id, after: 0, byteCount: 99).map(\.content) == [[1], [2, 3]])
        #expect(try await second.stream(new.id)?.isClosed == true)
        await second.shutdown()
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
    }

    @Test(arguments: [true, false])
    func aFileOfTheFirstVersionIsReadOn(hasColumn: Bool) async throws {
        let path = try self.path()
        let first = try ChappieSQLiteJournal(path: path)
        let new = ChappieNewStream(header: [1])
        _ = try await first.create(new, owner: "a", lease: Self.lease)
        await first.shutdown()
        let database = try SQLiteDatabase(path: path)
        if !hasColumn { try database.run("ALTER TABLE streams DROP COLUMN reader_end") }
        try database.run("PRAGMA user_version=1")
        let second = try ChappieSQLiteJournal(path: path)
        try await second.noteReader(of: new.id, for: Self.lease)
        #expect(try await second.stream(new.id)?.owner == "a")
        await second.shutdown()
        // It is of the second version now.
        let third = try ChappieSQLiteJournal(path: path)
        #expect(try await third.stream(new.id)?.header == [1])
        await third.shutdown()
    }

    /// Another process may have had the lock before, and may be of a newer version.
    @Test func tablesAreMadeOnceAndNeverTakenBack() async throws {
        let path = try self.path()
        let journal = try ChappieSQLiteJournal(path: path)
        await journal.shutdown()
        let database = try SQLiteDatabase(path: path)
        try ChappieSQLiteJournal.makeTables(database)
        #expect(try database.row("PRAGMA user_version")?.first?.number == 2)
        try database.run("PRAGMA user_version=3")
        #expect(throws: SQLiteDatabase.Failure.self) { try ChappieSQLiteJournal.makeTables(database) }
        #expect(try database.row("PRAGMA user_version")?.first?.number == 3)
        #expect(throws: ChappieJournalError.self) { try ChappieSQLiteJournal(path: path) }
    }

    @Test func aWaitInOneProcessEndsWithAnAppendInAnother() async throws {
        let path = try self.path()
        let (writing, reading) = (try ChappieSQLiteJournal(path: path), try ChappieSQLiteJournal(path: path))
        let new = ChappieNewStream(header: [])
        let stream = try await writing.create(new, owner: "a", lease: Self.lease)
        async let woken: Void = reading.waitForRecords(of: new.id, after: 0, atMost: .seconds(3600))
        try await writing.append(
            ChappieJournalBatch(firstPosition: 1, records: [[7]]), to: new.id,
            by: ChappieJournalWriter(owner: "a", epoch: stream.epoch), lease: Self.lease)
        try await woken
        #expect(try await reading.records(of: new.id, after: 0, byteCount: 9).map(\.content) == [[7]])
        await writing.shutdown()
        await reading.shutdown()
    }

    @Test func aForeignFileIsRefusedAndLeftAlone() throws {
        let path = try self.path()
        let content = Data(repeating: 0x41, count: 5000)
        try content.write(to: URL(fileURLWithPath: path))
        #expect(throws: ChappieJournalError.self) { try ChappieSQLiteJournal(path: path) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == content)
        #expect(throws: ChappieJournalError.self) { try ChappieSQLiteJournal(path: "/nonexistent/x.sqlite") }
        #expect(throws: ChappieJournalError.self) { try ChappieSQLiteJournal(path: "/") }
    }

    @Test func aDamagedFileEndsInAnErrorAndNotInOtherRecords() async throws {
        let path = try self.path()
        let journal = try ChappieSQLiteJournal(path: path, synchronous: .full)
        let new = ChappieNewStream(header: Array(repeating: 1, count: 20_000))
        let stream = try await journal.create(new, owner: "a", lease: Self.lease)
        try await journal.append(
            ChappieJournalBatch(firstPosition: 1, records: (0..<200).map { _ in Array(repeating: 2, count: 500) }),
            to: new.id, by: ChappieJournalWriter(owner: "a", epoch: stream.epoch), lease: Self.lease)
        await journal.shutdown()
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        try #require(bytes.count > 8192)
        for index in 4096..<bytes.count { bytes[index] ^= 0x5a }
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        do {
            let damaged = try ChappieSQLiteJournal(path: path)
            _ = try await damaged.records(of: new.id, after: 0, byteCount: 1 << 20)
            Issue.record("damage was not noticed")
        } catch let error as ChappieJournalError {
            guard case .damaged = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test func aLockedFileIsReadAndOpenedAndWritesFailUntilItIsFree() async throws {
        let path = try self.path()
        let journal = try ChappieSQLiteJournal(path: path, synchronous: .off, lockWait: .zero) { 0 }
        let new = ChappieNewStream(header: [])
        let stream = try await journal.create(new, owner: "a", lease: Self.lease)
        let writer = ChappieJournalWriter(owner: "a", epoch: stream.epoch)
        let first = ChappieJournalBatch(firstPosition: 1, records: [[1]])
        try await journal.append(first, to: new.id, by: writer, lease: Self.lease)

        let other = try SQLiteDatabase(path: path)
        try other.run("BEGIN IMMEDIATE")
        let second = ChappieJournalBatch(firstPosition: 2, records: [[2]])
        await #expect(throws: ChappieJournalError.unavailable("database is locked")) {
            try await journal.append(second, to: new.id, by: writer, lease: Self.lease)
        }
        #expect(try await journal.records(of: new.id, after: 0, byteCount: 9).map(\.content) == [[1]])
        let opened = try ChappieSQLiteJournal(path: path, synchronous: .off, lockWait: .zero) { 0 }
        #expect(try await opened.stream(new.id)?.lastPosition == 1)
        try other.run("ROLLBACK")
        try await journal.append(second, to: new.id, by: writer, lease: Self.lease)
        #expect(try await opened.records(of: new.id, after: 1, byteCount: 9).map(\.content) == [[2]])
        await journal.shutdown()
        await opened.shutdown()
    }
}
