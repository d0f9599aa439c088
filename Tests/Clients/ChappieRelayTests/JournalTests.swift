import ChappieRelay
import Foundation
import Synchronization
import Testing

/// A journal that is tested, and the passing of its time.
struct JournalSubject: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Opens an empty journal; the second value lets leases and retentions pass by this much time.
    let open: @Sendable () throws -> (journal: any ChappieJournal, pass: @Sendable (Duration) async throws -> Void)

    static let all = [memory, sqlite, sealed] + (RedisServer.isInstalled ? [redis] : [])

    static let memory = JournalSubject(testDescription: "memory") {
        let time = JournalTime()
        return (ChappieMemoryJournal { time.instant }, { time.pass($0) })
    }

    static let sqlite = JournalSubject(testDescription: "SQLite") {
        let time = JournalTime()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("journal-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let journal = try ChappieSQLiteJournal(
            path: folder.appendingPathComponent("streams.sqlite").path, synchronous: .off
        ) { time.milliseconds }
        return (journal, { time.pass($0) })
    }
}

/// A clock that a test moves.
final class JournalTime: Sendable {
    private let start = ContinuousClock.now
    private let passed = Mutex(Duration.zero)

    var instant: ContinuousClock.Instant { self.start + self.passed.withLock { $0 } }
    var milliseconds: Int { 1_700_000_000_000 + Int(self.passed.withLock { $0 } / .milliseconds(1)) }

    func pass(_ duration: Duration) { self.passed.withLock { $0 += duration } }
}

/// The behaviour that all journals have in common.
@Suite struct JournalTests {
    /// Long, as the time of a server of Redis is real: a busy machine must not use it up.
    static let lease = Duration.seconds(600)

    private func batch(_ first: Int, _ texts: String..., closes: Bool = false) -> ChappieJournalBatch {
        ChappieJournalBatch(firstPosition: first, records: texts.map { Array($0.utf8) }, closes: closes)
    }

    private func texts(
        _ journal: any ChappieJournal, _ id: ChappieStreamID, after position: Int = 0, byteCount: Int = 1 << 20
    ) async throws -> [String] {
        let records = try await journal.records(of: id, after: position, byteCount: byteCount)
        for (offset, record) in records.enumerated() { #expect(record.position == position + offset + 1) }
        return records.map { String(decoding: $0.content, as: UTF8.self) }
    }

    private func create(
        _ journal: any ChappieJournal, key: String? = nil, retention: Duration = .seconds(6000), owner: String = "a"
    ) async throws -> (ChappieStreamID, ChappieJournalWriter) {
        let new = ChappieNewStream(key: key, header: Array("header".utf8), retention: retention)
        let stream = try await journal.create(new, owner: owner, lease: Self.lease)
        return (stream.id, ChappieJournalWriter(owner: owner, epoch: stream.epoch))
    }

    @Test(arguments: JournalSubject.all)
    func aNewStreamIsHeldByItsCreatorAndHasNoRecords(_ subject: JournalSubject) async throws {
        let (journal, _) = try subject.open()
        let new = ChappieNewStream(key: "chat 7", header: [0, 1, 255])
        let created = try await journal.create(new, owner: "a", lease: Self.lease)
        #expect(
            created
                == ChappieJournaledStream(
                    id: new.id, key: "chat 7", header: [0, 1, 255], epoch: 1, owner: "a", lastPosition: 0,
                    isClosed: false, isCancellationRequested: false))
        #expect(try await journal.stream(new.id) == created)
        #expect(try await journal.records(of: new.id, after: 0, byteCount: 100).isEmpty)
        #expect(try await journal.stream(ChappieStreamID()) == nil)
        await journal.shutdown()
    }

    @Test(arguments: JournalSubject.all)
    func aKeyLeadsToOneStream(_ subject: JournalSubject) async throws {
        let (journal, _) = try subject.open()
        let (id, _) = try await self.create(journal, key: "chat 7")
        let second = try await journal.create(
            ChappieNewStream(key: "chat 7", header: [9]), owner: "b", lease: Self.lease)
        #expect(second.id == id && second.owner == "a" && second.header == Array("header".utf8))
        #expect(try await journal.stream(key: "chat 7") == journal.stream(id))
        #expect(try await journal.stream(key: "chat 8") == nil)
        try await journal.delete(id)
        #expect(try await journal.stream(key: "chat 7") == nil)
        let (third, _) = try await self.create(journal, key: "chat 7", owner: "b")
        #expect(third != id)
        let (other, _) = try await self.create(journal, key: "chat 8")
        #expect(other != third)
        await journal.shutdown()
    }

    @Test(arguments: JournalSubject.all)
    func recordsAreReadInOrderFromAnyPosition(_ subject: JournalSubject) async throws {
        let (journal, _) = try subject.open()
        let (id, writer) = try await self.create(journal)
        try await journal.append(self.batch(1, "one", "two"), to: id, by: writer, lease: Self.lease)
        try await journal.append(self.batch(3, "three", "", "\u{0}"), to: id, by: writer, lease: Self.lease)
        #expect(try await self.texts(journal, id) == ["one", "two", "three", "", "\u{0}"])
        #expect(try await self.texts(journal, id, after: 2) == ["three", "", "\u{0}"])
        #expect(try await self.texts(journal, id, after: 5) == [])
        #expect(try await self.texts(journal, id, after: 50) == [])
        // At least one, however large, and then what fits.
        #expect(try await self.texts(journal, id, byteCount: 0) == ["one"])
        #expect(try await self.texts(journal, id, byteCount: 6) == ["one", "two"])
        #expect(try await journal.stream(id)?.lastPosition == 5)
        await #expect(throws: ChappieJournalError.unknownStream) {
            try await journal.records(of: ChappieStreamID(), after: 0, byteCount: 1)
        }
        await journal.shutdown()
    }

    @Test(arguments: JournalSubject.all)
    func aBatchThatIsAppendedAgainIsThereOnce(_ subject: JournalSubject) async throws {
        let (journal, _) = try subject.open()
        let (id, writer) = try await self.create(journal)
        let first = self.batch(1, "one", "two")
        try await journal.append(first, to: id, by: writer, lease: Self.lease)
        try await journal.append(first, to: id, by: writer, lease: Self.lease)
        // A batch of which a part is there.
        try await journal.append(self.batch(2, "two", "three"), to: id, by: writer, lease: Self.lease)
        #expect(try await self.texts(journal, id) == ["one", "two", "three"])
        await #expect(throws: ChappieJournalError.gap(lastPosition: 3)) {
            try await journal.append(self.batch(5, "five"), to: id, by: writer, lease: Self.lease)
        }
        let end = self.batch(4, "end", closes: true)
        try await journal.append(end, to: id, by: writer, lease: Self.lease)
        try await journal.append(end, to: id, by: writer, lease: Self.lease)
        #expect(try await journal.stream(id)?.isClosed == true)
        await #expect(throws: ChappieJournalError.closed) {
            try await journal.append(self.batch(5, "five"), to: id, by: writer, lease: Self.lease)
        }
        #expect(try await self.texts(journal, id) == ["one", "two", "three", "end"])
        await journal.shutdown()
    }

    @Test(arguments: JournalSubject.all)
    func aStreamIsTakenWhenItsLeaseIsOverAndItsOldWriterIsFenced(_ subject: JournalSubject) async throws {
        let (journal, pass) = try subject.open()
        let (id, old) = try await self.create(journal)
        #expect(try await journal.take(id, owner: "b", lease: Self.lease) == nil)
        // Appending and renewing hold the stream.
        try await pass(.seconds(400))
        try await journal.append(self.batch(1, "one"), to: id, by: old, lease: Self.lease)
        try await pass(.seconds(400))
        _ = try await journal.renew(id, by: old, lease: Self.lease)
        try await pass(.seconds(400))
        #expect(try await journal.take(id, owner: "b", lease: Self.lease) == nil)
        #expect(try await journal.abandonedStreams(limit: 9) == [])
        try await pass(.seconds(300))
        #expect(try await journal.abandonedStreams(limit: 9) == [id])
        #expect(try await journal.stream(id)?.owner == nil)
        let new = try #require(try await journal.take(id, owner: "b", lease: Self.lease))
        #expect(new == ChappieJournalWriter(owner: "b", epoch: 2))
        #expect(try await journal.take(id, owner: "c", lease: Self.lease) == nil)
        #expect(try await journal.abandonedStreams(limit: 9) == [])
        // The old writer can change nothing, in no way.
        await #expect(throws: ChappieJournalError.fenced) {
            try await journal.append(self.batch(2, "zombie"), to: id, by: old, lease: Self.lease)
        }
        await #expect(throws: ChappieJournalError.fenced) {
            try await journal.append(self.batch(2, "end", closes: true), to: id, by: old, lease: Self.lease)
        }
        await #expect(throws: ChappieJournalError.fenced) {
            _ = try await journal.renew(id, by: old, lease: Self.lease)
        }
        try await journal.release(id, by: old)
        #expect(try await journal.stream(id)?.owner == "b")
        try await journal.append(self.batch(2, "two"), to: id, by: new, lease: Self.lease)
        #expect(try await self.texts(journal, id) == ["one", "two"])
        await journal.shutdown()
    }

    @Test(arguments: JournalSubject.all)
    func aLeaseThatIsOverIsStillRenewedWhileNobodyHasTakenTheStream(_ subject: JournalSubject) async throws {
        let (journal, pass) = try subject.open()
        let (id, writer) = try await self.create(journal)
        try await pass(.seconds(2000))
        _ = try await journal.renew(id, by: writer, lease: Self.lease)
        #expect(try await journal.take(id, owner: "b", lease: Self.lease) == nil)
        await journal.shutdown()
    }

    @Test(arguments: JournalSubject.all)
    func aReleasedStreamIsFreeAtOnceAndAClosedOneNeverIs(_ subject: JournalSubject) async throws {
        let (journal, pass) = try subject.open()
        let (id, writer) = try await self.create(journal)
        try await journal.release(id, by: writer)
        #expect(try await journal.abandonedStreams(limit: 9) == [id])
        let next = try #require(try await journal.take(id, owner: "b", lease: Self.lease))
        try await journal.append(self.batch(1, "end", closes: true), to: id, by: next, lease: Self.lease)
        try await pass(.seconds(3000))
        #expect(try await journal.take(id, owner: "c", lease: Self.lease) == nil)
        #expect(try await journal.abandonedStreams(limit: 9) == [])
        #expect(try await journal.take(ChappieStreamID(), owner: "c", lease: Self.lease) == nil)
        await journal.shutdown()
    }

    @Test(arguments: JournalSubject.all)
    func abandonedStreamsAreListedFromTheOldest(_ subject: JournalSubject) async throws {
        let (journal, pass) = try subject.open()
        var ids: [ChappieStreamID] = []
        for _ in 0..<4 {
            ids.append(try await self.create(journal).0)
            try await pass(.milliseconds(5))
        }
        try await pass(.seconds(1000))
        #expect(try await journal.abandonedStreams(limit: 3) == Array(ids.prefix(3)))
        await journal.shutdown()
    }

    @Test(arguments: JournalSubject.all)
    func theWriterLearnsThatSomebodyAskedForTheEnd(_ subject: JournalSubject) async throws {
        let (journal, _) = try subject.open()
        let (id, writer) = try await self.create(journal)
        var standing = try await journal.renew(id, by: writer, lease: Self.lease)
        #expect(!standing.isCancellationRequested)
        try await journal.requestCancellation(of: id)
        standing = try await journal.renew(id, by: writer, lease: Self.lease)
        #expect(standing.isCancellationRequested)
        standing = try await journal.append(self.batch(1, "one"), to: id, by: writer, lease: Self.lease)
        #expect(standing.isCancellationRequested)
        #expect(try await journal.stream(id)?.isCancellationRequested == true)
        await #expect(throws: ChappieJournalError.unknownStream) {
            try await journal.requestCancellation(of: ChappieStreamID())
        }
        await journal.shutdown()
    }

    @Test(arguments: JournalSubject.all)
    func theWriterLearnsOfReadersUntilTheirTimeIsOver(_ subject: JournalSubject) async throws {
        let (journal, pass) = try subject.open()
        let (id, writer) = try await self.create(journal)
        var standing = try await journal.renew(id, by: writer, lease: Self.lease)
        #expect(!standing.hasReader)
        try await journal.noteReader(of: id, for: .seconds(500))
        standing = try await journal.renew(id, by: writer, lease: Self.lease)
        #expect(standing.hasReader && !standing.isCancellationRequested)
        try await pass(.seconds(400))
        standing = try await journal.append(self.batch(1, "one"), to: id, by: writer, lease: Self.lease)
        #expect(standing.hasReader)
        try await pass(.seconds(200))
        standing = try await journal.append(self.batch(1, "one"), to: id, by: writer, lease: Self.lease)
        #expect(!standing.hasReader)
        // Of no effect, and no error: the stream may have expired a moment ago.
        try await journal.noteReader(of: ChappieStreamID(), for: .seconds(500))
        await journal.shutdown()
    }

    @Test(arguments: JournalSubject.all)
    func aWaitEndsWithARecordWithTheEndAndWithTheTime(_ subject: JournalSubject) async throws {
        let (journal, _) = try subject.open()
        let (id, writer) = try await self.create(journal)
        try await journal.append(self.batch(1, "one"), to: id, by: writer, lease: Self.lease)
        // At once, since there is a record.
        try await journal.waitForRecords(of: id, after: 0, atMost: .seconds(3600))
        // With the time.
        try await journal.waitForRecords(of: id, after: 1, atMost: .milliseconds(1))
        async let woken: Void = journal.waitForRecords(of: id, after: 1, atMost: .seconds(3600))
        try await journal.append(self.batch(2, "two"), to: id, by: writer, lease: Self.lease)
        try await woken
        // Behind the end there is nothing to wait for, nor for a stream that is gone.
        try await journal.append(self.batch(3, "end", closes: true), to: id, by: writer, lease: Self.lease)
        try await journal.waitForRecords(of: id, after: 3, atMost: .seconds(3600))
        try await journal.delete(id)
        try await journal.waitForRecords(of: id, after: 3, atMost: .seconds(3600))
        await journal.shutdown()
    }

    @Test(arguments: JournalSubject.all)
    func aCancelledTaskWaitsNoLonger(_ subject: JournalSubject) async throws {
        let (journal, _) = try subject.open()
        let (id, _) = try await self.create(journal)
        let waiting = Task { try await journal.waitForRecords(of: id, after: 0, atMost: .seconds(3600)) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await journal.shutdown()
    }

    @Test(arguments: JournalSubject.all)
    func aStreamIsKeptForItsRetentionBehindItsLastRecord(_ subject: JournalSubject) async throws {
        let (journal, pass) = try subject.open()
        let (short, writer) = try await self.create(journal, key: "short", retention: .seconds(6000))
        let (long, _) = try await self.create(journal, retention: .seconds(360_000))
        try await pass(.seconds(5000))
        try await journal.append(self.batch(1, "end", closes: true), to: short, by: writer, lease: Self.lease)
        try await pass(.seconds(5000))
        #expect(try await journal.deleteExpired() == 0)
        try await pass(.seconds(1100))
        #expect(try await journal.deleteExpired() == 1)
        #expect(try await journal.stream(short) == nil)
        #expect(try await journal.stream(long) != nil)
        await #expect(throws: ChappieJournalError.unknownStream) {
            try await journal.append(self.batch(2, "late"), to: short, by: writer, lease: Self.lease)
        }
        // The key is free again.
        let (next, _) = try await self.create(journal, key: "short")
        #expect(next != short)
        await journal.shutdown()
    }

    @Test(arguments: JournalSubject.all)
    func aJournalThatIsShutDownThrows(_ subject: JournalSubject) async throws {
        let (journal, _) = try subject.open()
        let (id, writer) = try await self.create(journal)
        async let waiting: Void = journal.waitForRecords(of: id, after: 0, atMost: .seconds(3600))
        await journal.shutdown()
        _ = try? await waiting
        await #expect(throws: ChappieJournalError.self) {
            try await journal.append(self.batch(1, "one"), to: id, by: writer, lease: Self.lease)
        }
        await journal.shutdown()
    }

    @Test(arguments: JournalSubject.all)
    func manyWritersAndReadersAtOnceLoseNothing(_ subject: JournalSubject) async throws {
        let (journal, _) = try subject.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                let (id, writer) = try await self.create(journal)
                group.addTask {
                    for position in 1...50 {
                        try await journal.append(
                            self.batch(position, "record \(position)", closes: position == 50), to: id, by: writer,
                            lease: Self.lease)
                    }
                }
                for _ in 0..<3 {
                    group.addTask {
                        var seen: [String] = []
                        while seen.count < 50 {
                            try await journal.waitForRecords(of: id, after: seen.count, atMost: .seconds(3600))
                            seen += try await self.texts(journal, id, after: seen.count, byteCount: 100)
                        }
                        #expect(seen == (1...50).map { "record \($0)" })
                    }
                }
            }
            try await group.waitForAll()
        }
        await journal.shutdown()
    }

    @Test func theTextOfAnIdentifierHas32Digits() throws {
        let id = ChappieStreamID()
        #expect(id.description.utf8.count == 32)
        #expect(ChappieStreamID(id.description) == id)
        #expect(ChappieStreamID("000000000000000000000000000000ff")?.description.hasPrefix("0000") == true)
        for text in [
            "", "0", id.description + "0", id.description.uppercased() + "A", "+" + id.description.dropFirst(),
        ] {
            #expect(ChappieStreamID(text) == nil)
        }
        #expect(try JSONDecoder().decode([ChappieStreamID].self, from: JSONEncoder().encode([id])) == [id])
    }
}
