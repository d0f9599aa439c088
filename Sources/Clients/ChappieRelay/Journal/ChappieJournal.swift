/// A store of streams that outlives the connections, and with SQLite or Redis the processes, that make them.
///
/// A stream is a header, which says how to make it, and records at the positions 1, 2, 3 and so on. One writer at a
/// time holds it: by a lease, which ends unless it is renewed, and an epoch, which grows with each holder. Every change
/// is made with the writer's epoch and is refused when a later one exists, so that a writer that was stopped for longer
/// than its lease cannot write behind its successor. Readers need no lease.
///
/// A journal knows nothing of what it keeps: headers and records are bytes. It may be used from any task, and by
/// several processes at a time where its documentation says so. All methods throw `ChappieJournalError`, and
/// `CancellationError` where a task that waits is cancelled.
public protocol ChappieJournal: Sendable {
    /// Creates a stream, which its writer holds with the epoch 1; or returns the one that has the key.
    ///
    /// - Parameters:
    ///   - stream: the identifier, key and header.
    ///   - owner: the name of the process that writes.
    ///   - lease: the time after which the stream is free unless the lease is renewed.
    /// - Returns: the stream. Its identifier is another one when the key was taken; then nothing was created.
    /// - Throws: `unavailable` also for an identifier that another stream has.
    func create(
        _ stream: ChappieNewStream, owner: String, lease: Duration
    ) async throws -> ChappieJournaledStream

    /// Returns what is known of a stream; nil for one that is unknown or expired.
    func stream(_ id: ChappieStreamID) async throws -> ChappieJournaledStream?

    /// Returns what is known of the stream that has a key; nil where none has it.
    func stream(key: String) async throws -> ChappieJournaledStream?

    /// Appends records and renews the lease.
    ///
    /// The same batch may be appended again, as after a connection that broke before the answer: what is there already
    /// is not written twice.
    ///
    /// - Parameters:
    ///   - batch: the records; with `closes` the last of them is the end of the stream.
    ///   - id: the stream.
    ///   - writer: the holder, as `create` or `take` have made it.
    ///   - lease: the time after which the stream is free unless the lease is renewed.
    /// - Returns: what the writer has to know.
    /// - Throws: `fenced` for an old epoch, `closed` behind the end, `gap` where the first position does not follow.
    @discardableResult
    func append(
        _ batch: ChappieJournalBatch, to id: ChappieStreamID, by writer: ChappieJournalWriter, lease: Duration
    ) async throws -> ChappieWriterStanding

    /// Returns the records behind a position in order, at least one if there is one, and then as many as fit in
    /// `byteCount`.
    func records(of id: ChappieStreamID, after position: Int, byteCount: Int) async throws -> [ChappieJournalRecord]

    /// Waits until the stream has a record behind the position, is closed, released or deleted, or the time is over.
    ///
    /// It may return before that. A caller that finds nothing behind it waits for a while before the next call.
    func waitForRecords(of id: ChappieStreamID, after position: Int, atMost duration: Duration) async throws

    /// Takes a stream whose lease is over, with the next epoch.
    ///
    /// - Returns: nil when another owner's lease runs, and when the stream is closed or unknown.
    func take(_ id: ChappieStreamID, owner: String, lease: Duration) async throws -> ChappieJournalWriter?

    /// Renews the lease; throws `fenced` when another writer has taken the stream.
    func renew(
        _ id: ChappieStreamID, by writer: ChappieJournalWriter, lease: Duration
    ) async throws -> ChappieWriterStanding

    /// Ends the lease at once, so that another process can take the stream; of no effect for an old epoch.
    func release(_ id: ChappieStreamID, by writer: ChappieJournalWriter) async throws

    /// Asks the writer, whichever process it is in, to end the stream: it learns it with its next append or renewal.
    func requestCancellation(of id: ChappieStreamID) async throws

    /// Says that the stream has a reader for a duration from now: its writer learns it with its next append or renewal.
    func noteReader(of id: ChappieStreamID, for duration: Duration) async throws

    /// Returns streams that are not closed and whose lease is over, the oldest first, at most `limit`.
    func abandonedStreams(limit: Int) async throws -> [ChappieStreamID]

    /// Deletes a stream with its records; of no effect for an unknown one.
    func delete(_ id: ChappieStreamID) async throws

    /// Deletes the streams whose retention is over; a process of the hub calls it from time to time.
    ///
    /// - Returns: the number of them.
    @discardableResult
    func deleteExpired() async throws -> Int

    /// Closes files and connections; what waits ends with `unavailable`.
    func shutdown() async
}

/// A stream that is about to be created.
public struct ChappieNewStream: Sendable, Hashable {
    /// The identifier.
    public var id: ChappieStreamID
    /// The program's name for the stream; a second stream with the same name is not created.
    ///
    /// At most 512 bytes.
    public var key: String?
    /// The description of the stream from which a successor of its writer makes it.
    public var header: [UInt8]
    /// The time for which the stream is kept behind its last record.
    public var retention: Duration

    /// Creates a description; the retention is an hour unless it says otherwise.
    public init(
        id: ChappieStreamID = ChappieStreamID(), key: String? = nil, header: [UInt8],
        retention: Duration = .seconds(3600)
    ) {
        self.id = id
        self.key = key
        self.header = header
        self.retention = retention
    }
}

/// The state of a stream in a journal.
public struct ChappieJournaledStream: Sendable, Hashable {
    /// The identifier.
    public var id: ChappieStreamID
    /// The program's name for the stream.
    public var key: String?
    /// The description of the stream from which a successor of its writer makes it.
    public var header: [UInt8]
    /// The number of the present or last writer; the first is 1.
    public var epoch: Int
    /// The owner whose lease runs; nil when none does.
    public var owner: String?
    /// The position of the last record; 0 without one.
    public var lastPosition: Int
    /// Indicates whether the last record is the end.
    public var isClosed: Bool
    /// Indicates whether the end was requested.
    public var isCancellationRequested: Bool

    /// Creates a value, for a journal of the program's own.
    public init(
        id: ChappieStreamID, key: String?, header: [UInt8], epoch: Int, owner: String?, lastPosition: Int,
        isClosed: Bool, isCancellationRequested: Bool
    ) {
        self.id = id
        self.key = key
        self.header = header
        self.epoch = epoch
        self.owner = owner
        self.lastPosition = lastPosition
        self.isClosed = isClosed
        self.isCancellationRequested = isCancellationRequested
    }
}

/// A holder of a stream.
public struct ChappieJournalWriter: Sendable, Hashable {
    /// The name of the process.
    public var owner: String
    /// The number of the holder among all that the stream has had.
    public var epoch: Int

    /// Creates a value, for a journal of the program's own.
    public init(owner: String, epoch: Int) {
        self.owner = owner
        self.epoch = epoch
    }
}

/// The answer of a journal to each change of a writer.
public struct ChappieWriterStanding: Sendable, Hashable {
    /// Indicates whether the end of the stream was requested.
    public var isCancellationRequested: Bool
    /// Indicates whether the time that `noteReader(of:for:)` gave is not over.
    public var hasReader: Bool

    /// Creates a value, for a journal of the program's own.
    public init(isCancellationRequested: Bool, hasReader: Bool) {
        self.isCancellationRequested = isCancellationRequested
        self.hasReader = hasReader
    }
}

/// Records that are appended together: all of them are kept, or none.
public struct ChappieJournalBatch: Sendable, Hashable {
    /// The position of the first record, at least 1.
    public var firstPosition: Int
    /// The records in order.
    public var records: [[UInt8]]
    /// Indicates whether the last record is the end of the stream.
    public var closes: Bool

    /// Creates a batch.
    public init(firstPosition: Int, records: [[UInt8]], closes: Bool = false) {
        self.firstPosition = firstPosition
        self.records = records
        self.closes = closes
    }
}

/// A record and its position.
public struct ChappieJournalRecord: Sendable, Hashable {
    /// The position in the stream; the first is 1.
    public var position: Int
    /// The content.
    public var content: [UInt8]

    /// Creates a record.
    public init(position: Int, content: [UInt8]) {
        self.position = position
        self.content = content
    }
}

/// A failure of a journal.
///
/// A minor version may add cases.
public enum ChappieJournalError: Error, Sendable, Hashable {
    /// The store cannot be reached, is full, or does not answer in time: where and why. Another attempt may succeed.
    case unavailable(String)
    /// Another writer has taken the stream; nothing was changed.
    case fenced
    /// The stream has ended; nothing was changed.
    case closed
    /// The stream is unknown, expired or deleted.
    case unknownStream
    /// The batch does not begin behind the last record; `lastPosition` is that record's.
    case gap(lastPosition: Int)
    /// The store's content cannot be read, or another program's or version's: what is wrong with it.
    case damaged(String)
}

extension ChappieJournalError: CustomStringConvertible {
    /// One line for a log, without content of streams.
    public var description: String {
        switch self {
        case .unavailable(let reason): "the journal cannot be used: \(reason)"
        case .fenced: "another process has taken the stream"
        case .closed: "the stream has ended"
        case .unknownStream: "the stream is unknown or expired"
        case .gap(let last): "the records do not follow position \(last)"
        case .damaged(let what): "the journal cannot be read: \(what)"
        }
    }
}
