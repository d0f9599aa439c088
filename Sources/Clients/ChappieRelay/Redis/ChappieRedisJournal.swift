import ChappieTransport
import PlatformFoundation
public import StreamTransport
import TransportSurface

/// A journal in a Redis server, for replicas on many machines.
///
/// Every change is one script on the server, which checks the writer and writes in one step, and time is the server's.
/// A stream's keys vanish by themselves when its retention is over. What the end of the server takes with it is the
/// choice of its operator (`appendonly`, `appendfsync`), and so is the policy of a full memory: `noeviction`, since any
/// other lets the server forget parts of streams.
///
/// It has two connections and a thread, whatever the number of streams: one connection for commands, which are
/// pipelined and sent again when it breaks, and one that listens for the records of other processes. The server is
/// Redis 6 or newer, or one that speaks its protocol (RESP2) and has streams and scripts.
///
/// The user needs `~PREFIX:* &PREFIX:* +@read +@write +@scripting +@pubsub +@connection +time`.
public final class ChappieRedisJournal: ChappieJournal {
    /// The use of a server.
    public struct Configuration: Sendable, Hashable {
        /// The security of `rediss` addresses; default: the system's authorities.
        public var tls = ChappieTLSPolicy()
        /// The first part of every key and channel; without braces, at most 100 bytes.
        ///
        /// Default `chappie`.
        public var keyPrefix = "chappie"
        /// The time for a connection: name, TCP, TLS and login.
        ///
        /// Default 5 s.
        public var connectTimeout = Duration.seconds(5)
        /// The time for a command, from its call to its answer.
        ///
        /// Default 5 s.
        public var commandTimeout = Duration.seconds(5)

        /// Creates the default configuration.
        public init() {}
    }

    /// The members that are looked at in one step of a search.
    private static let pageSize = 128

    private let loop: RedisLoop
    private let keys: RedisKeys
    private let changes: StreamChanges
    private let isShutDown = LockedValue(false)

    /// Creates a journal, which connects with its first use.
    ///
    /// - Parameters:
    ///   - url: `redis://[user[:password]@]host[:port][/database]`, the same with `rediss` for TLS, or
    ///     `redis+sentinel://[user[:password]@]host[:port],…/master[/database]` for a master that Sentinels name, with
    ///     `rediss+sentinel` for TLS. User and password are percent-encoded, and in no description and no error.
    ///   - configuration: default `Configuration()`.
    /// - Throws: `ChappieArgumentError` for a URL or prefix that cannot be used, and `ChappieJournalError.unavailable`
    ///   where the process can have no other thread.
    public init(url: String, configuration: Configuration = Configuration()) throws {
        let address = try RedisAddress(url)
        let prefix = configuration.keyPrefix
        guard (1...100).contains(prefix.utf8.count), !prefix.utf8.contains(where: { $0 == 0x7b || $0 == 0x7d }) else {
            throw ChappieArgumentError("keyPrefix", "is empty, longer than 100 bytes, or has braces")
        }
        var settings = RedisLink.Settings()
        settings.connectTimeout = configuration.connectTimeout
        settings.requestTimeout = configuration.commandTimeout
        settings.greeting = Self.greeting(for: address)
        let changes = StreamChanges()
        let keys = RedisKeys(prefix: prefix)
        self.changes = changes
        self.keys = keys
        self.loop = try RedisLoop(
            address: address, tls: address.isSecure ? configuration.tls : nil, settings: settings
        ) { channel in
            if let id = keys.stream(ofChannel: channel) { changes.notify(id) }
        }
    }

    deinit { self.loop.stop() }

    private static func greeting(for address: RedisAddress) -> [RESPCommand] {
        var commands: [RESPCommand] = []
        if let credential = address.credential {
            commands.append(RESPCommand(["AUTH"] + [credential.user, credential.password].compactMap { $0 }, []))
        }
        if address.database != 0 { commands.append(RESPCommand("SELECT", String(address.database))) }
        return commands
    }

    // MARK: Streams

    /// Creates a stream, or returns the one that has the key; see ``ChappieJournal``.
    public func create(
        _ stream: ChappieNewStream, owner: String, lease: Duration
    ) async throws -> ChappieJournaledStream {
        // Names are listed before they exist, so that what a crash leaves behind is found by `deleteExpired`; and the
        // stream exists before its name leads to it, so that a name that leads to nothing is one of the past. A stream
        // without its place among the open ones is not taken by anybody, and vanishes with its retention.
        var known = try await self.stream(named: stream.key)
        if let found = known.stream { return found }
        try await self.make(stream, owner: owner, lease: lease)
        if let key = stream.key {
            while try await !self.claim(key, from: known.id, for: stream.id) {
                known = try await self.stream(named: key)
                guard let found = known.stream else { continue }
                try await self.delete(stream.id)
                return found
            }
        }
        try await self.schedule(stream.id.description, in: self.keys.open, after: lease, "CH")
        return ChappieJournaledStream(
            id: stream.id, key: stream.key, header: stream.header, epoch: 1, owner: owner, lastPosition: 0,
            isClosed: false, isCancellationRequested: false)
    }

    /// Returns the identifier that a name leads to, and its stream; no stream where the name is one of the past.
    private func stream(
        named key: String?
    ) async throws -> (id: ChappieStreamID?, stream: ChappieJournaledStream?) {
        guard let key, let id = try await self.identifier(named: key) else { return (nil, nil) }
        guard let stream = try await self.stream(id) else { return (id, nil) }
        // The process that created it may have ended before it did this.
        if !stream.isClosed { try await self.schedule(id.description, in: self.keys.open, after: .zero, "NX") }
        return (id, stream)
    }

    private func identifier(named key: String) async throws -> ChappieStreamID? {
        switch try await self.answer(to: RESPCommand("GET", self.keys.name(key))) {
        case .null: return nil
        case .bulk(let bytes):
            guard let id = ChappieStreamID(String(decoding: bytes, as: UTF8.self)) else { throw self.damaged }
            return id
        case .simple, .error, .integer, .array: throw self.damaged
        }
    }

    private func make(_ stream: ChappieNewStream, owner: String, lease: Duration) async throws {
        let retention = String(stream.retention.milliseconds)
        let member = self.keys.member(stream.id, key: stream.key)
        try await self.schedule(member, in: self.keys.expiries, after: max(stream.retention, lease), "CH")
        let (outcome, _) = try await self.run(
            .create, of: stream.id, [owner, String(lease.milliseconds), retention, Self.mark()],
            [stream.header] + (stream.key.map { [Array($0.utf8)] } ?? []))
        guard outcome == .done else { throw ChappieJournalError.unavailable("the identifier is taken") }
    }

    private func claim(_ key: String, from old: ChappieStreamID?, for new: ChappieStreamID?) async throws -> Bool {
        let (outcome, _) = try await self.run(
            .claim, keys: [self.keys.name(key)], [old?.description ?? "", new?.description ?? ""])
        return outcome == .done
    }

    /// A text by which a command that reaches the server twice is known.
    private static func mark() -> String { ChappieStreamID().description }

    /// Returns what is known of a stream; nil for one that is unknown or expired.
    public func stream(_ id: ChappieStreamID) async throws -> ChappieJournaledStream? {
        let (outcome, values) = try await self.run(.describe, of: id)
        if outcome == .unknownStream { return nil }
        try self.check(outcome, values)
        guard values.count == 7, case .integer(let epoch) = values[0], case .integer(let last) = values[2],
            case .integer(let isClosed) = values[3], case .integer(let isCancelled) = values[4],
            case .bulk(let header) = values[6]
        else { throw self.damaged }
        return ChappieJournaledStream(
            id: id, key: values[5].text, header: header, epoch: epoch, owner: values[1].text, lastPosition: last,
            isClosed: isClosed != 0, isCancellationRequested: isCancelled != 0)
    }

    /// Returns what is known of the stream that has a key; see ``ChappieJournal``.
    public func stream(key: String) async throws -> ChappieJournaledStream? {
        try await self.stream(named: key).stream
    }

    /// Deletes a stream with its records and its key.
    public func delete(_ id: ChappieStreamID) async throws {
        let (outcome, values) = try await self.run(.delete, of: id, [self.keys.channel(id)])
        if outcome != .unknownStream {
            try self.check(outcome, values)
            _ = try await self.forget(id, key: values.first?.text)
        }
        self.changes.notify(id)
    }

    /// Removes a stream that is gone from the lists and its name; returns whether it was in them.
    private func forget(_ id: ChappieStreamID, key: String?) async throws -> Bool {
        if let key { _ = try await self.claim(key, from: id, for: nil) }
        _ = try await self.answer(to: RESPCommand("ZREM", self.keys.open, id.description))
        let removed = try await self.answer(
            to: RESPCommand("ZREM", self.keys.expiries, self.keys.member(id, key: key)))
        return removed == .integer(1)
    }

    // MARK: Records

    /// Appends records and renews the lease, in one step of the server; see ``ChappieJournal``.
    @discardableResult
    public func append(
        _ batch: ChappieJournalBatch, to id: ChappieStreamID, by writer: ChappieJournalWriter, lease: Duration
    ) async throws -> ChappieWriterStanding {
        let (outcome, values) = try await self.run(
            .append, of: id,
            [
                self.keys.channel(id), String(writer.epoch), writer.owner, String(batch.firstPosition),
                batch.closes ? "1" : "0", String(lease.milliseconds),
            ], batch.records)
        try self.check(outcome, values)
        self.changes.notify(id)
        if batch.closes {
            // Of no consequence where it fails: a closed stream is left out of the list when it is read.
            _ = try? await self.answer(to: RESPCommand("ZREM", self.keys.open, id.description))
        }
        return try self.standing(values)
    }

    private func standing(_ values: [RESPValue]) throws -> ChappieWriterStanding {
        guard values.count > 1, case .integer(let isCancelled) = values[0], case .integer(let hasReader) = values[1]
        else {
            throw self.damaged
        }
        return ChappieWriterStanding(isCancellationRequested: isCancelled != 0, hasReader: hasReader != 0)
    }

    /// Returns the records behind a position; see ``ChappieJournal``.
    public func records(
        of id: ChappieStreamID, after position: Int, byteCount: Int
    ) async throws -> [ChappieJournalRecord] {
        let first = max(0, position)
        let (outcome, values) = try await self.run(.records, of: id, [String(first), String(max(0, byteCount))])
        try self.check(outcome, values)
        guard case .array(let contents)? = values.first else { throw self.damaged }
        return try contents.enumerated().map { offset, value in
            guard case .bulk(let content) = value else { throw self.damaged }
            return ChappieJournalRecord(position: first + 1 + offset, content: content)
        }
    }

    /// Waits until the stream has a record behind the position, is closed or deleted, or the time is over.
    public func waitForRecords(of id: ChappieStreamID, after position: Int, atMost duration: Duration) async throws {
        let channel = self.keys.channel(id)
        var isListening = false
        defer { if isListening { self.loop.endListening(to: channel) } }
        try await self.changes.wait(for: id, atMost: duration) {
            guard !self.isShutDown.withLock({ $0 }) else { throw ChappieJournalError.unavailable("it was shut down") }
            if try await self.hasRecords(of: id, after: position) { return true }
            guard !isListening else { return false }
            try await self.loop.listen(to: channel)
            isListening = true
            // Messages in between were lost.
            return try await self.hasRecords(of: id, after: position)
        }
    }

    /// Returns whether there is nothing to wait for.
    private func hasRecords(of id: ChappieStreamID, after position: Int) async throws -> Bool {
        let fields = try await self.answer(to: RESPCommand("HMGET", self.keys.header(id), "last", "closed"))
        guard case .array(let values) = fields, values.count == 2 else { throw self.damaged }
        guard let last = values[0].text.flatMap({ Int($0) }) else { return true }
        return last > position || values[1].text == "1"
    }

    // MARK: Writers

    /// Takes a stream whose lease is over, by the server's clock.
    public func take(_ id: ChappieStreamID, owner: String, lease: Duration) async throws -> ChappieJournalWriter? {
        let (outcome, values) = try await self.run(
            .take, of: id, [owner, String(lease.milliseconds), Self.mark()])
        if outcome == .held || outcome == .unknownStream { return nil }
        try self.check(outcome, values)
        guard case .integer(let epoch)? = values.first else { throw self.damaged }
        return ChappieJournalWriter(owner: owner, epoch: epoch)
    }

    /// Renews the lease, by the server's clock.
    public func renew(
        _ id: ChappieStreamID, by writer: ChappieJournalWriter, lease: Duration
    ) async throws -> ChappieWriterStanding {
        let (outcome, values) = try await self.run(
            .renew, of: id, [String(writer.epoch), writer.owner, String(lease.milliseconds)])
        try self.check(outcome, values)
        return try self.standing(values)
    }

    /// Ends the lease at once.
    public func release(_ id: ChappieStreamID, by writer: ChappieJournalWriter) async throws {
        let (outcome, values) = try await self.run(.release, of: id, [String(writer.epoch)])
        guard outcome != .fenced, outcome != .unknownStream else { return }
        try self.check(outcome, values)
        try await self.schedule(id.description, in: self.keys.open, after: .zero, "XX")
        self.changes.notify(id)
    }

    /// Asks the writer to end the stream.
    public func requestCancellation(of id: ChappieStreamID) async throws {
        let (outcome, values) = try await self.run(.cancel, of: id)
        try self.check(outcome, values)
    }

    /// Says that the stream has a reader, by the server's clock.
    public func noteReader(of id: ChappieStreamID, for duration: Duration) async throws {
        let (outcome, values) = try await self.run(.note, of: id, [String(duration.milliseconds)])
        if outcome != .unknownStream { try self.check(outcome, values) }
    }

    // MARK: Searches

    /// Returns streams that are not closed and whose lease is over; of several hundreds, those that are over longest.
    public func abandonedStreams(limit: Int) async throws -> [ChappieStreamID] {
        var found: [(id: ChappieStreamID, created: Int)] = []
        // The time of a stream in the list may lie before the end of its lease, which every append moves: such a stream
        // is moved on when it is found, once for each lease, and the search is made again.
        for _ in 0..<10 {
            let ids = try await self.due(self.keys.open, limit: max(limit, Self.pageSize)).compactMap {
                ChappieStreamID($0)
            }
            found = []
            var movedCount = 0
            for (id, created) in try await self.inspections(of: ids) {
                if let created { found.append((id, created)) } else { movedCount += 1 }
            }
            if movedCount == 0 || found.count >= limit { break }
        }
        return found.sorted { $0.created < $1.created }.prefix(max(0, limit)).map(\.id)
    }

    /// Returns when each stream was created, in microseconds; nil for one that cannot be taken, after its time in the
    /// list is corrected.
    private func inspections(of ids: [ChappieStreamID]) async throws -> [(ChappieStreamID, Int?)] {
        try await withThrowingTaskGroup(of: (ChappieStreamID, Int?).self) { group in
            for id in ids { group.addTask { (id, try await self.inspect(id)) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func inspect(_ id: ChappieStreamID) async throws -> Int? {
        let (outcome, values) = try await self.run(.inspect, of: id)
        switch outcome {
        case .done:
            guard let created = values.first?.text.flatMap({ Double($0) }).flatMap({ Int(exactly: $0.rounded()) })
            else {
                throw self.damaged
            }
            return created
        case .held:
            guard case .integer(let rest)? = values.first else { throw self.damaged }
            try await self.schedule(id.description, in: self.keys.open, after: .milliseconds(rest), "XX")
        case .damaged:
            // Perhaps one of a newer version, which its processes take.
            try await self.schedule(id.description, in: self.keys.open, after: .seconds(60), "XX")
        case .closed, .unknownStream, .fenced, .gap:
            _ = try await self.answer(to: RESPCommand("ZREM", self.keys.open, id.description))
        }
        return nil
    }

    /// Removes the keys and list entries of streams that the server has deleted.
    @discardableResult
    public func deleteExpired() async throws -> Int {
        // The server deletes streams by itself; what is left are names and places in lists.
        var count = 0
        while true {
            let members = try await self.due(self.keys.expiries, limit: Self.pageSize)
            for member in members where try await self.deleteExpired(member) { count += 1 }
            if members.count < Self.pageSize { return count }
        }
    }

    private func deleteExpired(_ member: String) async throws -> Bool {
        guard let (id, key) = self.keys.stream(ofMember: member) else {
            _ = try await self.answer(to: RESPCommand("ZREM", self.keys.expiries, member))
            return false
        }
        guard case .integer(let rest) = try await self.answer(to: RESPCommand("PTTL", self.keys.header(id))) else {
            throw self.damaged
        }
        // -2 for none; -1 for one without an end, which no stream is.
        guard rest != -2 else {
            let isFirst = try await self.forget(id, key: key)
            self.changes.notify(id)
            return isFirst
        }
        try await self.schedule(member, in: self.keys.expiries, after: .milliseconds(max(1000, rest)), "XX")
        return false
    }

    private func due(_ list: String, limit: Int) async throws -> [String] {
        let (outcome, values) = try await self.run(.due, keys: [list], [String(limit)])
        guard outcome == .done, case .array(let members)? = values.first else { throw self.damaged }
        return members.compactMap(\.text)
    }

    /// Puts a member into a list, or moves it to a time.
    private func schedule(_ member: String, in list: String, after delay: Duration, _ option: String) async throws {
        _ = try await self.run(.schedule, keys: [list], [member, String(delay.milliseconds), option])
    }

    // MARK: The end

    /// Closes the connections and ends the thread; what waits ends with `unavailable`.
    public func shutdown() async {
        self.isShutDown.withLock { $0 = true }
        await self.loop.shutdown()
        self.changes.notifyAll()
    }

    // MARK: Commands

    private var damaged: ChappieJournalError {
        .damaged("\(self.loop.place): a stream's keys are another program's or version's")
    }

    /// Runs a script on a stream.
    private func run(
        _ script: RedisScript, of id: ChappieStreamID, _ texts: [String] = [], _ contents: [[UInt8]] = []
    ) async throws -> (RedisScript.Outcome, [RESPValue]) {
        try await self.run(script, keys: [self.keys.header(id), self.keys.records(id)], texts, contents)
    }

    /// Runs a script; the server learns it when it does not know it.
    private func run(
        _ script: RedisScript, keys: [String], _ texts: [String] = [], _ contents: [[UInt8]] = []
    ) async throws -> (RedisScript.Outcome, [RESPValue]) {
        let arguments = [String(keys.count)] + keys + texts
        var value = try await self.loop.answer(to: RESPCommand(["EVALSHA", script.digest] + arguments, contents))
        if case .error(let error) = value, error.hasPrefix("NOSCRIPT") {
            value = try await self.loop.answer(to: RESPCommand(["EVAL", script.text] + arguments, contents))
        }
        if case .error(let error) = value { throw RedisRefusal.failure(error, at: self.loop.place) }
        guard case .array(let values) = value, case .integer(let code)? = values.first,
            let outcome = RedisScript.Outcome(rawValue: code)
        else { throw self.damaged }
        return (outcome, Array(values.dropFirst()))
    }

    private func answer(to command: RESPCommand) async throws -> RESPValue {
        let value = try await self.loop.answer(to: command)
        if case .error(let error) = value { throw RedisRefusal.failure(error, at: self.loop.place) }
        return value
    }

    /// Throws the error of a script that has changed nothing.
    private func check(_ outcome: RedisScript.Outcome, _ values: [RESPValue]) throws {
        switch outcome {
        case .done: break
        case .unknownStream: throw ChappieJournalError.unknownStream
        case .fenced: throw ChappieJournalError.fenced
        case .closed: throw ChappieJournalError.closed
        case .gap:
            guard case .integer(let last)? = values.first else { throw self.damaged }
            throw ChappieJournalError.gap(lastPosition: last)
        case .damaged, .held: throw self.damaged
        }
    }
}

extension ChappieRedisJournal: CustomReflectable {
    /// No children, since one of them has the password.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Duration {
    /// The whole milliseconds.
    fileprivate var milliseconds: Int { Int(self / .milliseconds(1)) }
}

extension RESPValue {
    /// The text; nil for another value.
    fileprivate var text: String? {
        if case .bulk(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
}
