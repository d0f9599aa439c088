import CSQLite
import PlatformC
import PlatformFoundation
import StreamTransport

/// A journal in one file, for the processes of one machine: SQLite with a write-ahead log.
///
/// Streams survive the end of every process that uses the file, `kill -9` included. What the end of the machine takes
/// with it is the choice of `Synchronous`. The file is not for a network's file system, on which SQLite's locks and
/// shared memory do not work. Appends that wait together are committed together.
public final class ChappieSQLiteJournal: ChappieJournal {
    /// When the system is told to write a commit to the disk (SQLite's `synchronous`).
    public enum Synchronous: String, Sendable, CaseIterable {
        /// Never: a power failure may lose the newest commits, or damage the file.
        case off
        /// With each checkpoint: a power failure may lose the newest commits, and damages nothing. The default.
        case normal
        /// With each commit: a power failure loses nothing that was appended.
        case full
    }

    /// The number in the file's header by which it is known, `CHPR`.
    private static let applicationID = 0x4348_5052
    /// The version of the tables.
    private static let version = 2
    /// The interval at which other processes' commits are looked for while a task waits.
    private static let pollInterval = Duration.milliseconds(20)

    private let writing: SQLiteQueue
    /// A connection of its own: readers do not wait for a lock that another process has.
    private let reading: SQLiteQueue
    private let changes = StreamChanges()
    private let now: @Sendable () -> Int
    /// Indicates whether a task looks for other processes' commits.
    private let isPolling = LockedValue(false)
    private let isShutDown = LockedValue(false)

    /// Opens a file, or creates it with the mode 0600.
    ///
    /// - Parameters:
    ///   - path: the file's; beside it are two more, with `-wal` and `-shm` behind the name.
    ///   - synchronous: default `normal`.
    /// - Throws: `ChappieJournalError`: `unavailable` where the file cannot be used, `damaged` for one of another
    ///   program, or of a newer version.
    public convenience init(path: String, synchronous: Synchronous = .normal) throws {
        try self.init(path: path, synchronous: synchronous) { Int(Date().timeIntervalSince1970 * 1000) }
    }

    /// Opens a file with a clock of the caller's, in milliseconds, which is read when an operation has the lock.
    ///
    /// `lockWait` is the time for which a write waits while another process has the file's lock.
    package init(
        path: String, synchronous: Synchronous, lockWait: Duration = .seconds(5), now: @escaping @Sendable () -> Int
    ) throws {
        self.now = now
        do throws(SQLiteDatabase.Failure) {
            // Names of streams and their content are for the file's owner alone. A file that is there is not opened:
            // closing a descriptor of it would release the locks that this process has on it
            // (sqlite.org/howtocorrupt.html, 2.2).
            let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            if descriptor >= 0 { close(descriptor) }
            let database = try SQLiteDatabase(path: path)
            database.waitsForLocks(atMost: lockWait)
            try Self.prepare(database, synchronous)
            self.writing = SQLiteQueue(database, writes: true)
            let second = try SQLiteDatabase(path: path)
            second.waitsForLocks(atMost: lockWait)
            try second.run("PRAGMA query_only=1")
            self.reading = SQLiteQueue(second, writes: false)
        } catch {
            if case .unavailable(let reason) = ChappieJournalError(error) {
                throw ChappieJournalError.unavailable("\(path): \(reason)")
            }
            throw ChappieJournalError.damaged("\(path): \(error.message)")
        }
    }

    private static func prepare(_ database: SQLiteDatabase, _ synchronous: Synchronous) throws(SQLiteDatabase.Failure) {
        let application = try database.row("PRAGMA application_id")?.first?.number ?? 0
        let tables = try database.row("SELECT count(*) FROM sqlite_schema")?.first?.number ?? 0
        guard application == self.applicationID || (application == 0 && tables == 0) else {
            throw SQLiteDatabase.Failure(code: SQLITE_NOTADB, message: "it is the database of another program")
        }
        let isCurrent = try self.hasCurrentTables(database)
        if tables == 0 { _ = try database.row("PRAGMA auto_vacuum=INCREMENTAL") }
        _ = try database.row("PRAGMA journal_mode=WAL")
        try database.run("PRAGMA synchronous=\(synchronous.rawValue)")
        // Each checkpoint waits for the disk. With SQLite's own 1,000 pages of 4 KiB, 50 streams appended 71,000 to
        // 94,000 records of 60 bytes a second, in batches of 20, and with 8,000 pages 115,000 to 129,000.
        try database.run("PRAGMA wal_autocheckpoint=8000")
        // A file that is there needs no lock to be opened.
        guard !isCurrent else { return }
        try database.run("BEGIN IMMEDIATE")
        try self.makeTables(database)
        try database.run("COMMIT")
    }

    /// Returns whether a file has the tables of this version; fails where it has those of a newer one.
    private static func hasCurrentTables(_ database: SQLiteDatabase) throws(SQLiteDatabase.Failure) -> Bool {
        let version = try database.row("PRAGMA user_version")?.first?.number ?? 0
        guard version <= self.version else {
            throw SQLiteDatabase.Failure(
                code: SQLITE_NOTADB, message: "its version \(version) is newer than \(self.version)")
        }
        return version == self.version
    }

    /// Makes the tables of a file whose lock the caller has, unless another process has made them before.
    static func makeTables(_ database: SQLiteDatabase) throws(SQLiteDatabase.Failure) {
        guard try !self.hasCurrentTables(database) else { return }
        for statement in self.schema { try database.run(statement) }
        // Some files of the first version have the time until which a stream is read.
        let columns = "SELECT count(*) FROM pragma_table_info('streams') WHERE name='reader_end'"
        if try database.row(columns)?.first?.number == 0 {
            try database.run("ALTER TABLE streams ADD COLUMN reader_end INTEGER NOT NULL DEFAULT 0")
        }
    }

    private static let schema = [
        """
        CREATE TABLE IF NOT EXISTS streams (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, key TEXT UNIQUE, header BLOB NOT NULL,
            retention INTEGER NOT NULL, epoch INTEGER NOT NULL, owner TEXT, lease_end INTEGER NOT NULL,
            last_change INTEGER NOT NULL, last_position INTEGER NOT NULL, is_closed INTEGER NOT NULL,
            is_cancellation_requested INTEGER NOT NULL, reader_end INTEGER NOT NULL DEFAULT 0)
        """,
        """
        CREATE TABLE IF NOT EXISTS records (
            stream INTEGER NOT NULL, position INTEGER NOT NULL, content BLOB NOT NULL,
            PRIMARY KEY (stream, position)) WITHOUT ROWID
        """,
        "CREATE INDEX IF NOT EXISTS open_streams ON streams (lease_end) WHERE NOT is_closed",
        "CREATE INDEX IF NOT EXISTS ages ON streams (last_change + retention)",
        "PRAGMA application_id=\(applicationID)",
        "PRAGMA user_version=\(version)",
    ]

    /// Creates a stream, or returns the one that has the key; see ``ChappieJournal``.
    public func create(
        _ stream: ChappieNewStream, owner: String, lease: Duration
    ) async throws -> ChappieJournaledStream {
        let clock = self.now
        return try await self.writing.perform { database in
            let now = clock()
            if let key = stream.key, let row = try Row.find(key: key, in: database) {
                return try row.stream(at: now, in: database)
            }
            try database.run(
                """
                INSERT INTO streams (id, key, header, retention, epoch, owner, lease_end, last_change, last_position,
                    is_closed, is_cancellation_requested) VALUES (?, ?, ?, ?, 1, ?, ?, ?, 0, 0, 0)
                """,
                .text(stream.id.description), .optional(stream.key), .bytes(stream.header),
                .integer(stream.retention.milliseconds), .text(owner), .integer(now + lease.milliseconds), .integer(now)
            )
            return ChappieJournaledStream(
                id: stream.id, key: stream.key, header: stream.header, epoch: 1, owner: owner, lastPosition: 0,
                isClosed: false, isCancellationRequested: false)
        }
    }

    /// Returns what is known of a stream; see ``ChappieJournal``.
    public func stream(_ id: ChappieStreamID) async throws -> ChappieJournaledStream? {
        let clock = self.now
        return try await self.reading.perform { database in
            let now = clock()
            return try Row.find(id, in: database)?.stream(at: now, in: database)
        }
    }

    /// Returns what is known of the stream that has a key; see ``ChappieJournal``.
    public func stream(key: String) async throws -> ChappieJournaledStream? {
        let clock = self.now
        return try await self.reading.perform { database in
            let now = clock()
            return try Row.find(key: key, in: database)?.stream(at: now, in: database)
        }
    }

    /// Appends records and renews the lease; see ``ChappieJournal``.
    @discardableResult
    public func append(
        _ batch: ChappieJournalBatch, to id: ChappieStreamID, by writer: ChappieJournalWriter, lease: Duration
    ) async throws -> ChappieWriterStanding {
        let clock = self.now
        let standing = try await self.writing.perform { database in
            let now = clock()
            let row = try Row.find(id, heldBy: writer, in: database)
            let known = row.lastPosition - batch.firstPosition + 1
            guard known >= 0 else { throw ChappieJournalError.gap(lastPosition: row.lastPosition) }
            let new = batch.records.dropFirst(known)
            guard !new.isEmpty else { return row.standing(at: now) }
            guard !row.isClosed else { throw ChappieJournalError.closed }
            for (offset, content) in new.enumerated() {
                try database.run(
                    "INSERT INTO records (stream, position, content) VALUES (?, ?, ?)", .integer(row.number),
                    .integer(row.lastPosition + 1 + offset), .bytes(content))
            }
            try database.run(
                "UPDATE streams SET last_position = ?, is_closed = ?, lease_end = ?, last_change = ? WHERE number = ?",
                .integer(row.lastPosition + new.count), .integer(batch.closes ? 1 : 0),
                .integer(now + lease.milliseconds), .integer(now), .integer(row.number))
            return row.standing(at: now)
        }
        self.changes.notify(id)
        return standing
    }

    /// Returns records behind a position; see ``ChappieJournal``.
    public func records(
        of id: ChappieStreamID, after position: Int, byteCount: Int
    ) async throws -> [ChappieJournalRecord] {
        try await self.reading.perform { database in
            guard let row = try Row.find(id, in: database) else { throw ChappieJournalError.unknownStream }
            var size = 0
            var records: [ChappieJournalRecord] = []
            try database.rows(
                "SELECT position, content FROM records WHERE stream = ? AND position > ? ORDER BY position",
                [.integer(row.number), .integer(position)]
            ) { columns in
                let content = columns[1].content
                size += content.count
                guard records.isEmpty || size <= byteCount else { return false }
                records.append(ChappieJournalRecord(position: columns[0].number, content: content))
                return true
            }
            return records
        }
    }

    /// Waits for records behind a position; see ``ChappieJournal``.
    public func waitForRecords(of id: ChappieStreamID, after position: Int, atMost duration: Duration) async throws {
        try await self.changes.wait(for: id, atMost: duration) {
            guard !self.isShutDown.withLock({ $0 }) else { throw ChappieJournalError.unavailable("it was shut down") }
            self.poll()
            return try await self.reading.perform { database in
                guard let row = try Row.find(id, in: database) else { return true }
                return row.isClosed || row.owner == nil || row.lastPosition > position
            }
        }
    }

    /// Takes a stream whose lease is over; see ``ChappieJournal``.
    public func take(_ id: ChappieStreamID, owner: String, lease: Duration) async throws -> ChappieJournalWriter? {
        let clock = self.now
        return try await self.writing.perform { database in
            let now = clock()
            guard let row = try Row.find(id, in: database), !row.isClosed, !row.isHeld(at: now) else { return nil }
            try database.run(
                "UPDATE streams SET epoch = ?, owner = ?, lease_end = ? WHERE number = ?", .integer(row.epoch + 1),
                .text(owner), .integer(now + lease.milliseconds), .integer(row.number))
            return ChappieJournalWriter(owner: owner, epoch: row.epoch + 1)
        }
    }

    /// Renews the lease; see ``ChappieJournal``.
    public func renew(
        _ id: ChappieStreamID, by writer: ChappieJournalWriter, lease: Duration
    ) async throws -> ChappieWriterStanding {
        let clock = self.now
        return try await self.writing.perform { database in
            let now = clock()
            let row = try Row.find(id, heldBy: writer, in: database)
            try database.run(
                "UPDATE streams SET lease_end = ? WHERE number = ?", .integer(now + lease.milliseconds),
                .integer(row.number))
            return row.standing(at: now)
        }
    }

    /// Ends the lease; see ``ChappieJournal``.
    public func release(_ id: ChappieStreamID, by writer: ChappieJournalWriter) async throws {
        try await self.writing.perform { database in
            try database.run(
                "UPDATE streams SET owner = NULL WHERE id = ? AND epoch = ?", .text(id.description),
                .integer(writer.epoch))
        }
        self.changes.notify(id)
    }

    /// Asks for a stream's end; see ``ChappieJournal``.
    public func requestCancellation(of id: ChappieStreamID) async throws {
        try await self.writing.perform { database in
            try database.run(
                "UPDATE streams SET is_cancellation_requested = 1 WHERE id = ?", .text(id.description))
            guard database.changeCount > 0 else { throw ChappieJournalError.unknownStream }
        }
    }

    /// Says that the stream has a reader; see ``ChappieJournal``.
    public func noteReader(of id: ChappieStreamID, for duration: Duration) async throws {
        let clock = self.now
        try await self.writing.perform { database in
            try database.run(
                "UPDATE streams SET reader_end = ? WHERE id = ?", .integer(clock() + duration.milliseconds),
                .text(id.description))
        }
    }

    /// Returns streams whose lease is over; see ``ChappieJournal``.
    public func abandonedStreams(limit: Int) async throws -> [ChappieStreamID] {
        let clock = self.now
        return try await self.reading.perform { database in
            let now = clock()
            var ids: [ChappieStreamID] = []
            try database.rows(
                """
                SELECT id FROM streams WHERE NOT is_closed AND (owner IS NULL OR lease_end <= ?)
                ORDER BY number LIMIT ?
                """, [.integer(now), .integer(limit)]
            ) { row in
                if let id = row.first?.string.flatMap({ ChappieStreamID($0) }) { ids.append(id) }
                return true
            }
            return ids
        }
    }

    /// Deletes a stream; see ``ChappieJournal``.
    public func delete(_ id: ChappieStreamID) async throws {
        try await self.writing.perform { database in
            guard let row = try Row.find(id, in: database) else { return }
            try Self.delete(row.number, in: database)
        }
        self.changes.notify(id)
    }

    /// Deletes streams whose retention is over; see ``ChappieJournal``.
    @discardableResult
    public func deleteExpired() async throws -> Int {
        let clock = self.now
        var count = 0
        // In steps, between which appends are committed.
        while true {
            let expired = try await self.writing.perform { database in
                let now = clock()
                var expired: [(number: Int, id: ChappieStreamID?)] = []
                try database.rows(
                    """
                    SELECT number, id FROM streams WHERE last_change + retention <= ?
                    AND (owner IS NULL OR is_closed OR lease_end <= ?) LIMIT 50
                    """, [.integer(now), .integer(now)]
                ) { row in
                    expired.append((row[0].number, row[1].string.flatMap { ChappieStreamID($0) }))
                    return true
                }
                for stream in expired { try Self.delete(stream.number, in: database) }
                return expired.compactMap(\.id)
            }
            for id in expired { self.changes.notify(id) }
            count += expired.count
            if expired.isEmpty { break }
        }
        if count > 0 {
            _ = try await self.writing.perform {
                try $0.rows("PRAGMA incremental_vacuum", []) { _ in true }
            }
        }
        return count
    }

    /// Ends the use of the journal; see ``ChappieJournal``.
    public func shutdown() async {
        self.isShutDown.withLock { $0 = true }
        self.changes.notifyAll()
        await self.writing.shutdown()
        await self.reading.shutdown()
    }

    private static func delete(_ number: Int, in database: SQLiteDatabase) throws {
        try database.run("DELETE FROM records WHERE stream = ?", .integer(number))
        try database.run("DELETE FROM streams WHERE number = ?", .integer(number))
    }

    /// Looks for commits of other processes for as long as a task waits for one.
    private func poll() {
        let begins = self.isPolling.withLock { isPolling in
            defer { isPolling = true }
            return !isPolling
        }
        guard begins else { return }
        Task {
            var known: Int?
            while self.changes.hasWaiters, !self.isShutDown.withLock({ $0 }) {
                try? await Task.sleep(for: Self.pollInterval)
                let version = try? await self.reading.perform { database in
                    try database.row("PRAGMA data_version")?.first?.number
                }
                // SQLite's number does not tell this process's own commits apart, of which the tasks that wait for them
                // were told before: they look once more, and wait again.
                if let version, version != known { self.changes.notifyAll() }
                known = version ?? known
            }
            self.isPolling.withLock { $0 = false }
            // One that began to wait in between found this task still there.
            if self.changes.hasWaiters { self.changes.notifyAll() }
        }
    }
}

/// A row of the table of streams.
private struct Row {
    /// Without the header, which may be long and is needed seldom.
    static let columns = """
        number, id, epoch, owner, lease_end, last_position, is_closed, is_cancellation_requested,
        reader_end
        """

    let number: Int
    let id: ChappieStreamID
    let epoch: Int
    let owner: String?
    let leaseEnd: Int
    let lastPosition: Int
    let isClosed: Bool
    let isCancellationRequested: Bool
    let readerEnd: Int

    init(_ values: [SQLiteDatabase.Value]) throws {
        guard values.count == 9, let id = values[1].string.flatMap({ ChappieStreamID($0) }) else {
            throw ChappieJournalError.damaged("a stream has no identifier")
        }
        self.number = values[0].number
        self.id = id
        self.epoch = values[2].number
        self.owner = values[3].string
        self.leaseEnd = values[4].number
        self.lastPosition = values[5].number
        self.isClosed = values[6].number != 0
        self.isCancellationRequested = values[7].number != 0
        self.readerEnd = values[8].number
    }

    static func find(_ id: ChappieStreamID, in database: SQLiteDatabase) throws -> Row? {
        try database.row("SELECT \(self.columns) FROM streams WHERE id = ?", .text(id.description)).map { try Row($0) }
    }

    static func find(key: String, in database: SQLiteDatabase) throws -> Row? {
        try database.row("SELECT \(self.columns) FROM streams WHERE key = ?", .text(key)).map { try Row($0) }
    }

    /// Finds a stream that the writer holds.
    static func find(
        _ id: ChappieStreamID, heldBy writer: ChappieJournalWriter, in database: SQLiteDatabase
    ) throws -> Row {
        guard let row = try self.find(id, in: database) else { throw ChappieJournalError.unknownStream }
        guard row.epoch == writer.epoch, row.owner == writer.owner else { throw ChappieJournalError.fenced }
        return row
    }

    func standing(at now: Int) -> ChappieWriterStanding {
        ChappieWriterStanding(
            isCancellationRequested: self.isCancellationRequested, hasReader: now < self.readerEnd)
    }

    func isHeld(at now: Int) -> Bool { self.owner != nil && now < self.leaseEnd }

    /// Returns the stream with its key and header, which are read for that.
    func stream(at now: Int, in database: SQLiteDatabase) throws -> ChappieJournaledStream {
        let row = try database.row("SELECT key, header FROM streams WHERE number = ?", .integer(self.number)) ?? []
        return ChappieJournaledStream(
            id: self.id, key: row.first?.string, header: row.last?.content ?? [], epoch: self.epoch,
            owner: self.isHeld(at: now) ? self.owner : nil, lastPosition: self.lastPosition, isClosed: self.isClosed,
            isCancellationRequested: self.isCancellationRequested)
    }
}

extension Duration {
    /// The whole milliseconds.
    fileprivate var milliseconds: Int { Int(self / .milliseconds(1)) }
}
