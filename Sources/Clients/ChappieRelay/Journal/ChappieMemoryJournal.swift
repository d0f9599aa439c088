import PlatformFoundation
import StreamTransport

/// A journal in the memory of this process, for tests and for programs whose streams may end with them.
///
/// Its content is bounded by what the streams' retention and `byteCountLimit` let it keep.
public final class ChappieMemoryJournal: ChappieJournal {
    private struct Entry {
        var key: String?
        var header: [UInt8]
        var retention: Duration
        var epoch = 1
        var owner: String?
        var leaseEnd: ContinuousClock.Instant
        var lastChange: ContinuousClock.Instant
        var records: [[UInt8]] = []
        var isClosed = false
        var isCancellationRequested = false
        var readerEnd: ContinuousClock.Instant?
    }

    private struct State {
        var entries: [ChappieStreamID: Entry] = [:]
        var order: [ChappieStreamID] = []
        var keys: [String: ChappieStreamID] = [:]
        var byteCount = 0
        var isShutDown = false
    }

    private let state = LockedValue(State())
    private let changes = StreamChanges()
    private let byteCountLimit: Int
    private let now: @Sendable () -> ContinuousClock.Instant

    /// Creates an empty journal.
    ///
    /// - Parameter byteCountLimit: the size of all headers and records together, in bytes, above which `create` and
    ///   `append` throw `unavailable`; default 1 GiB.
    public convenience init(byteCountLimit: Int = 1 << 30) {
        self.init(byteCountLimit: byteCountLimit) { .now }
    }

    /// Creates an empty journal with a clock of the caller's.
    package init(byteCountLimit: Int = 1 << 30, now: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.byteCountLimit = byteCountLimit
        self.now = now
    }

    /// Creates a stream, or returns the one that has the key; see ``ChappieJournal``.
    public func create(
        _ stream: ChappieNewStream, owner: String, lease: Duration
    ) async throws -> ChappieJournaledStream {
        let now = self.now()
        return try self.state.withLock { state in
            guard !state.isShutDown else { throw ChappieJournalError.unavailable("it was shut down") }
            if let key = stream.key, let known = Self.stream(key: key, in: state, at: now) { return known }
            guard state.entries[stream.id] == nil else {
                throw ChappieJournalError.unavailable("the identifier is taken")
            }
            let entry = Entry(
                key: stream.key, header: stream.header, retention: stream.retention, owner: owner,
                leaseEnd: now + lease, lastChange: now)
            guard state.byteCount + stream.header.count <= self.byteCountLimit else { throw self.isFull }
            state.byteCount += stream.header.count
            state.entries[stream.id] = entry
            state.order.append(stream.id)
            if let key = stream.key { state.keys[key] = stream.id }
            return Self.description(of: entry, stream.id, at: now)
        }
    }

    /// Returns what is known of a stream; see ``ChappieJournal``.
    public func stream(_ id: ChappieStreamID) async throws -> ChappieJournaledStream? {
        let now = self.now()
        return self.state.withLock { state in state.entries[id].map { Self.description(of: $0, id, at: now) } }
    }

    /// Returns what is known of the stream that has a key; see ``ChappieJournal``.
    public func stream(key: String) async throws -> ChappieJournaledStream? {
        let now = self.now()
        return self.state.withLock { Self.stream(key: key, in: $0, at: now) }
    }

    /// Appends records and renews the lease; see ``ChappieJournal``.
    @discardableResult
    public func append(
        _ batch: ChappieJournalBatch, to id: ChappieStreamID, by writer: ChappieJournalWriter, lease: Duration
    ) async throws -> ChappieWriterStanding {
        let now = self.now()
        let standing = try self.change(id, by: writer, at: now) { entry, state in
            let known = entry.records.count - batch.firstPosition + 1
            guard known >= 0 else { throw ChappieJournalError.gap(lastPosition: entry.records.count) }
            let new = batch.records.dropFirst(known)
            guard !new.isEmpty else { return }
            guard !entry.isClosed else { throw ChappieJournalError.closed }
            let size = new.reduce(0) { $0 + $1.count }
            guard state.byteCount + size <= self.byteCountLimit else { throw self.isFull }
            state.byteCount += size
            entry.records += new
            entry.isClosed = batch.closes
            entry.leaseEnd = now + lease
            entry.lastChange = now
        }
        self.changes.notify(id)
        return standing
    }

    /// Returns records behind a position; see ``ChappieJournal``.
    public func records(
        of id: ChappieStreamID, after position: Int, byteCount: Int
    ) async throws -> [ChappieJournalRecord] {
        try self.state.withLock { state in
            guard let entry = state.entries[id] else { throw ChappieJournalError.unknownStream }
            var size = 0
            var records: [ChappieJournalRecord] = []
            for index in max(0, position)..<max(0, position, entry.records.count) {
                size += entry.records[index].count
                guard records.isEmpty || size <= byteCount else { break }
                records.append(ChappieJournalRecord(position: index + 1, content: entry.records[index]))
            }
            return records
        }
    }

    /// Waits for records behind a position; see ``ChappieJournal``.
    public func waitForRecords(of id: ChappieStreamID, after position: Int, atMost duration: Duration) async throws {
        try await self.changes.wait(for: id, atMost: duration) {
            try self.state.withLock { state in
                guard !state.isShutDown else { throw ChappieJournalError.unavailable("it was shut down") }
                guard let entry = state.entries[id] else { return true }
                return entry.isClosed || entry.owner == nil || entry.records.count > position
            }
        }
    }

    /// Takes a stream whose lease is over; see ``ChappieJournal``.
    public func take(_ id: ChappieStreamID, owner: String, lease: Duration) async throws -> ChappieJournalWriter? {
        let now = self.now()
        return self.state.withLock { state in
            guard let entry = state.entries[id], !entry.isClosed, !Self.isHeld(entry, at: now) else { return nil }
            state.entries[id]?.epoch += 1
            state.entries[id]?.owner = owner
            state.entries[id]?.leaseEnd = now + lease
            return ChappieJournalWriter(owner: owner, epoch: entry.epoch + 1)
        }
    }

    /// Renews the lease; see ``ChappieJournal``.
    public func renew(
        _ id: ChappieStreamID, by writer: ChappieJournalWriter, lease: Duration
    ) async throws -> ChappieWriterStanding {
        let now = self.now()
        return try self.change(id, by: writer, at: now) { entry, _ in entry.leaseEnd = now + lease }
    }

    /// Ends the lease; see ``ChappieJournal``.
    public func release(_ id: ChappieStreamID, by writer: ChappieJournalWriter) async throws {
        self.state.withLock { state in
            guard state.entries[id]?.epoch == writer.epoch else { return }
            state.entries[id]?.owner = nil
        }
        self.changes.notify(id)
    }

    /// Asks for a stream's end; see ``ChappieJournal``.
    public func requestCancellation(of id: ChappieStreamID) async throws {
        try self.state.withLock { state in
            guard state.entries[id] != nil else { throw ChappieJournalError.unknownStream }
            state.entries[id]?.isCancellationRequested = true
        }
    }

    /// Says that the stream has a reader; see ``ChappieJournal``.
    public func noteReader(of id: ChappieStreamID, for duration: Duration) async throws {
        let now = self.now()
        self.state.withLock { $0.entries[id]?.readerEnd = now + duration }
    }

    /// Returns streams whose lease is over; see ``ChappieJournal``.
    public func abandonedStreams(limit: Int) async throws -> [ChappieStreamID] {
        let now = self.now()
        return self.state.withLock { state in
            let abandoned = state.order.filter { id in
                state.entries[id].map { !$0.isClosed && !Self.isHeld($0, at: now) } ?? false
            }
            return Array(abandoned.prefix(limit))
        }
    }

    /// Deletes a stream; see ``ChappieJournal``.
    public func delete(_ id: ChappieStreamID) async throws {
        self.state.withLock { Self.remove([id], from: &$0) }
        self.changes.notify(id)
    }

    /// Deletes streams whose retention is over; see ``ChappieJournal``.
    @discardableResult
    public func deleteExpired() async throws -> Int {
        let now = self.now()
        let expired = self.state.withLock { state in
            let expired = state.entries.filter { _, entry in
                entry.lastChange + entry.retention <= now && !Self.isHeld(entry, at: now)
            }
            Self.remove(Set(expired.keys), from: &state)
            return expired.keys
        }
        for id in expired { self.changes.notify(id) }
        return expired.count
    }

    /// Ends the use of the journal; see ``ChappieJournal``.
    public func shutdown() async {
        self.state.withLock { $0.isShutDown = true }
        self.changes.notifyAll()
    }

    private var isFull: ChappieJournalError {
        .unavailable("its limit of \(self.byteCountLimit) bytes is reached")
    }

    /// Changes a stream that the writer holds.
    private func change(
        _ id: ChappieStreamID, by writer: ChappieJournalWriter, at now: ContinuousClock.Instant,
        _ body: (inout Entry, inout State) throws -> Void
    ) throws -> ChappieWriterStanding {
        try self.state.withLock { state in
            guard !state.isShutDown else { throw ChappieJournalError.unavailable("it was shut down") }
            guard var entry = state.entries.removeValue(forKey: id) else { throw ChappieJournalError.unknownStream }
            defer { state.entries[id] = entry }
            guard entry.epoch == writer.epoch, entry.owner == writer.owner else { throw ChappieJournalError.fenced }
            try body(&entry, &state)
            return ChappieWriterStanding(
                isCancellationRequested: entry.isCancellationRequested,
                hasReader: entry.readerEnd.map { now < $0 } ?? false)
        }
    }

    private static func remove(_ ids: Set<ChappieStreamID>, from state: inout State) {
        for id in ids {
            guard let entry = state.entries.removeValue(forKey: id) else { continue }
            state.byteCount -= entry.records.reduce(entry.header.count) { $0 + $1.count }
            if let key = entry.key { state.keys[key] = nil }
        }
        state.order.removeAll { ids.contains($0) }
    }

    private static func isHeld(_ entry: Entry, at now: ContinuousClock.Instant) -> Bool {
        entry.owner != nil && now < entry.leaseEnd
    }

    private static func stream(
        key: String, in state: State, at now: ContinuousClock.Instant
    ) -> ChappieJournaledStream? {
        guard let id = state.keys[key], let entry = state.entries[id] else { return nil }
        return self.description(of: entry, id, at: now)
    }

    private static func description(
        of entry: Entry, _ id: ChappieStreamID, at now: ContinuousClock.Instant
    ) -> ChappieJournaledStream {
        ChappieJournaledStream(
            id: id, key: entry.key, header: entry.header, epoch: entry.epoch,
            owner: self.isHeld(entry, at: now) ? entry.owner : nil, lastPosition: entry.records.count,
            isClosed: entry.isClosed, isCancellationRequested: entry.isCancellationRequested)
    }
}
