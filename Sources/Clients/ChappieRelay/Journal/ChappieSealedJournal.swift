import TransportSurface

/// Keeps the headers and records of another journal encrypted: who reads its file, its server or a copy of them reads no
/// content without the key.
///
/// Headers, records and the names of streams are encrypted with AES-256-GCM, each for its place in its stream, so that
/// what is changed, moved or taken from another stream is `ChappieJournalError.damaged`. Names that programs give streams
/// are found by a digest with the key (HMAC-SHA-256). What can still be seen: the identifiers, the number, the sizes and
/// the times of records, the owners, and which streams have ended. A journal that is cut off at its end is not noticed here.
///
/// All processes of a journal need the key. A stream that was made without it, or with another one, is damaged to them.
/// It may be used from any task.
public struct ChappieSealedJournal: ChappieJournal {
    private let journal: any ChappieJournal
    private let cipher: JournalCipher

    /// Creates a journal that encrypts what it keeps in another one.
    ///
    /// To change the key, first give every process both, the old one first; then the new one first; and leave the old one
    /// out when the streams that were made with it have expired.
    ///
    /// - Parameters:
    ///   - journal: keeps what is encrypted; shutting this one down shuts it down.
    ///   - keys: secret keys of 32 random bytes each. The first one encrypts, and all of them decrypt.
    /// - Throws: `ChappieArgumentError` without a key, and for one of another size.
    public init(_ journal: any ChappieJournal, keys: [[UInt8]]) throws {
        guard let cipher = JournalCipher(secrets: keys) else {
            throw ChappieArgumentError("keys", keys.isEmpty ? "is empty" : "has a key that is not 32 bytes long")
        }
        self.journal = journal
        self.cipher = cipher
    }

    /// Reads keys of 64 hexadecimal digits each, separated by commas; nil for any other text.
    package static func keys(of text: String) -> [[UInt8]]? {
        var keys: [[UInt8]] = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            let digits = word.utf8.filter { $0 != UInt8(ascii: " ") }.compactMap { Character(.init($0)).hexDigitValue }
            guard digits.count == 64, digits.count == word.utf8.count(where: { $0 != UInt8(ascii: " ") }) else {
                return nil
            }
            keys.append(stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
        }
        return keys
    }

    /// Creates a stream, whose name, header and records are encrypted, like `ChappieJournal`.
    public func create(
        _ stream: ChappieNewStream, owner: String, lease: Duration
    ) async throws -> ChappieJournaledStream {
        var sealed = stream
        if let key = stream.key {
            let names = try self.names(of: key)
            sealed.key = names[0]
            for older in names.dropFirst() {
                if let known = try await self.journal.stream(key: older) { return try self.opened(known) }
            }
        }
        sealed.header = try self.compute { cipher throws(JournalCipher.Failure) in
            try cipher.seal(SealedHeader.bytes(key: stream.key, stream.header), of: stream.id, at: 0)
        }
        return try self.opened(try await self.journal.create(sealed, owner: owner, lease: lease))
    }

    /// Returns what is known of a stream, its header decrypted, like `ChappieJournal`; throws `damaged` without its key.
    public func stream(_ id: ChappieStreamID) async throws -> ChappieJournaledStream? {
        try await self.journal.stream(id).map(self.opened)
    }

    /// Returns what is known of the stream that has a key, like `ChappieJournal`; throws `damaged` without its key.
    public func stream(key: String) async throws -> ChappieJournaledStream? {
        for name in try self.names(of: key) {
            if let known = try await self.journal.stream(key: name) { return try self.opened(known) }
        }
        return nil
    }

    /// Appends records, like `ChappieJournal`.
    @discardableResult
    public func append(
        _ batch: ChappieJournalBatch, to id: ChappieStreamID, by writer: ChappieJournalWriter, lease: Duration
    ) async throws -> ChappieWriterStanding {
        var sealed = batch
        sealed.records = try self.compute { cipher throws(JournalCipher.Failure) in
            var records: [[UInt8]] = []
            for (offset, record) in batch.records.enumerated() {
                records.append(try cipher.seal(record, of: id, at: batch.firstPosition + offset))
            }
            return records
        }
        return try await self.journal.append(sealed, to: id, by: writer, lease: lease)
    }

    /// Returns the records behind a position, like `ChappieJournal`; throws `damaged` for one that cannot be decrypted.
    public func records(
        of id: ChappieStreamID, after position: Int, byteCount: Int
    ) async throws -> [ChappieJournalRecord] {
        // What is small has more beside it than it has itself: it is read as well, and counted without.
        let limit = byteCount.addingReportingOverflow(byteCount / 4 + 2 * JournalCipher.overhead)
        let sealed = try await self.journal.records(
            of: id, after: position, byteCount: limit.overflow ? .max : limit.partialValue)
        var records: [ChappieJournalRecord] = []
        var size = 0
        for record in sealed {
            size += record.content.count - JournalCipher.overhead
            guard records.isEmpty || size <= byteCount else { break }
            let content = try self.compute { cipher throws(JournalCipher.Failure) in
                try cipher.open(record.content, of: id, at: record.position)
            }
            guard let content else {
                throw ChappieJournalError.damaged("record \(record.position) of \(id) \(Self.isForeign)")
            }
            records.append(ChappieJournalRecord(position: record.position, content: content))
        }
        return records
    }

    /// Waits like `ChappieJournal`.
    public func waitForRecords(
        of id: ChappieStreamID, after position: Int, atMost duration: Duration
    ) async throws {
        try await self.journal.waitForRecords(of: id, after: position, atMost: duration)
    }

    /// Takes a stream, like `ChappieJournal`; throws `damaged`, and takes nothing, without its key.
    public func take(_ id: ChappieStreamID, owner: String, lease: Duration) async throws -> ChappieJournalWriter? {
        // A process with another key leaves a stream that it could not go on with to others.
        guard try await self.stream(id) != nil else { return nil }
        return try await self.journal.take(id, owner: owner, lease: lease)
    }

    /// Renews the lease, like `ChappieJournal`.
    public func renew(
        _ id: ChappieStreamID, by writer: ChappieJournalWriter, lease: Duration
    ) async throws -> ChappieWriterStanding {
        try await self.journal.renew(id, by: writer, lease: lease)
    }

    /// Ends the lease at once, like `ChappieJournal`.
    public func release(_ id: ChappieStreamID, by writer: ChappieJournalWriter) async throws {
        try await self.journal.release(id, by: writer)
    }

    /// Asks the writer to end the stream, like `ChappieJournal`.
    public func requestCancellation(of id: ChappieStreamID) async throws {
        try await self.journal.requestCancellation(of: id)
    }

    /// Says that the stream has a reader, like `ChappieJournal`.
    public func noteReader(of id: ChappieStreamID, for duration: Duration) async throws {
        try await self.journal.noteReader(of: id, for: duration)
    }

    /// Returns streams whose lease is over, like `ChappieJournal`.
    public func abandonedStreams(limit: Int) async throws -> [ChappieStreamID] {
        try await self.journal.abandonedStreams(limit: limit)
    }

    /// Deletes a stream with its records, like `ChappieJournal`.
    public func delete(_ id: ChappieStreamID) async throws { try await self.journal.delete(id) }

    /// Deletes the streams whose retention is over, like `ChappieJournal`.
    @discardableResult
    public func deleteExpired() async throws -> Int { try await self.journal.deleteExpired() }

    /// Shuts the other journal down.
    public func shutdown() async { await self.journal.shutdown() }

    // MARK: Opening

    private static let isForeign = "is not encrypted with a key of this process"

    private func opened(_ stream: ChappieJournaledStream) throws -> ChappieJournaledStream {
        let header = try self.compute { cipher throws(JournalCipher.Failure) in
            try cipher.open(stream.header, of: stream.id, at: 0)
        }
        guard let header = header.flatMap(SealedHeader.init) else {
            throw ChappieJournalError.damaged("the header of \(stream.id) \(Self.isForeign)")
        }
        var opened = stream
        (opened.key, opened.header) = (header.key, header.header)
        return opened
    }

    private func names(of key: String) throws(ChappieJournalError) -> [String] {
        try self.compute { cipher throws(JournalCipher.Failure) in try cipher.names(of: key) }
    }

    private func compute<Value>(
        _ body: (JournalCipher) throws(JournalCipher.Failure) -> Value
    ) throws(ChappieJournalError) -> Value {
        do {
            return try body(self.cipher)
        } catch {
            throw .unavailable("the system's library cannot encrypt")
        }
    }
}

/// A stream's header with its name, which the journal has as a digest only.
private struct SealedHeader {
    let key: String?
    let header: [UInt8]

    /// Returns the name's length in four bytes, of which the first is 255 for none, the name and the header.
    static func bytes(key: String?, _ header: [UInt8]) -> [UInt8] {
        guard let name = key.map({ Array($0.utf8) }) else { return [255, 0, 0, 0] + header }
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: name.count >> $0) } + name + header
    }

    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 4 else { return nil }
        let rest = bytes.dropFirst(4)
        guard bytes[0] != 255 else {
            (self.key, self.header) = (nil, Array(rest))
            return
        }
        let count = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard count <= rest.count else { return nil }
        self.key = String(decoding: rest.prefix(count), as: UTF8.self)
        self.header = Array(rest.dropFirst(count))
    }
}
