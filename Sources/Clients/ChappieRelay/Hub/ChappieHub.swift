public import ChappieTransport
import PlatformFoundation
import StreamSession
import StreamTransport

/// Makes streams that outlive their readers, and with a journal on disk or in Redis the process that makes them.
///
/// One response of an upstream is a stream: it is journaled as it is delivered, and read by any number of readers, in
/// any process that has the same journal, from any position. What a reader has seen can always be read again. When the
/// process that makes a stream is gone, another one takes it: it resumes the response where the server keeps it, and
/// otherwise repeats the request and withholds what readers have. To them time passes, and nothing else.
///
/// ```swift
/// let hub = ChappieHub(
///     configuration: .init(), transport: ChappieStreamingTransport(configuration: transport),
///     journal: try ChappieSQLiteJournal(path: "/var/lib/chat/streams.sqlite"))
/// let id = try await hub.start(ChappieTransportRequest(prompt: "Hello", model: "gpt-5"))
/// for try await element in hub.events(of: id) {
///     if case .textDelta(let text) = element.event { send(text, element.position) }
/// }
/// ```
///
/// A reader that leaves changes nothing. May be used from any task.
public final class ChappieHub: Sendable {
    /// The values that the parts of a hub have in common.
    struct Parts: Sendable {
        let configuration: ChappieHubConfiguration
        let transport: ChappieStreamingTransport
        let journal: any ChappieJournal
        let meter = HubMeter()

        /// Indicates whether another answer begins anew for the readers.
        var restarts: Bool { self.transport.configuration.policy.divergence == .restarts }
    }

    struct State {
        var producers: [ChappieStreamID: Producer] = [:]
        /// The streams that are being created or taken.
        var reservationCount = 0
        /// The same, of each user that a server names.
        var reservations: [String: Int] = [:]
        var tails: [ChappieStreamID: StreamTail] = [:]
        var isShutDown = false
        var housekeeping: Task<Void, Never>?
        var idle: [CheckedContinuation<Void, Never>] = []
    }

    let parts: Parts
    let state = LockedValue(State())

    /// Creates a hub, which looks for streams without a producer from now on.
    ///
    /// - Parameters:
    ///   - configuration: default `ChappieHubConfiguration()`.
    ///   - transport: the upstream, with its credential; its recovery is the streams'.
    ///   - journal: belongs to the caller, who shuts it down behind the hub.
    public init(
        configuration: ChappieHubConfiguration = ChappieHubConfiguration(), transport: ChappieStreamingTransport,
        journal: any ChappieJournal
    ) {
        self.parts = Parts(configuration: configuration.bounded, transport: transport, journal: journal)
        let task = Task { [weak self, interval = self.parts.configuration.lease / 3] in
            while (try? await Task.sleep(for: interval)) != nil {
                guard let self else { return }
                await self.keepHouse()
            }
        }
        self.state.withLock { $0.housekeeping = task }
    }

    deinit { self.state.withLock { $0.housekeeping?.cancel() } }

    // MARK: Starting

    private static let keyByteCountLimit = 512

    /// Starts a stream of one response.
    ///
    /// It is in the journal when this returns, and any process finds it. The request is kept without its credentials:
    /// header fields whose names suggest one do not go to a successor, which has its own transport's.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - key: the program's name for the stream, of at most 512 bytes: while the stream that has it is kept,
    ///     no second one is made, and its identifier is returned, also where too many streams are made.
    /// - Returns: the stream's identifier.
    /// - Throws: `ChappieHubError`: `shutDown`, `tooManyStreams`, `journal`; `ChappieArgumentError` for a longer key.
    public func start(_ request: ChappieTransportRequest, key: String? = nil) async throws -> ChappieStreamID {
        try await self.start(request, key: key, for: Client())
    }

    /// Starts a stream like `start(_:key:)`, for the client of a server.
    ///
    /// Throws `tooManyStreams` as well when this process makes as many streams of the client's user as it may.
    package func start(
        _ request: ChappieTransportRequest, key: String?, for client: Client
    ) async throws -> ChappieStreamID {
        let header = JournaledRequest(request, createdAt: Self.seconds(), for: client)
        return try await self.start(.request(request, nil), header: header, key: key, readerLimit: client.streamLimit)
    }

    /// The time, in seconds since 1970.
    static func seconds() -> Int { Int(Date().timeIntervalSince1970) }

    /// Starts a stream of the events of a handle, such as a client's, with its tools and its conversation.
    ///
    /// Its turn goes on without readers as well, and its response goes into its conversation. No other process can take
    /// it, as tools may have run: when this one is gone, readers get `ChappieHubError.failed` with the tag
    /// `relay.producer-lost`.
    ///
    /// - Parameters:
    ///   - handle: is read by the hub alone; where the key is taken it is cancelled.
    ///   - key: the program's name for the stream, as for `start(_:key:)`.
    /// - Returns: the stream's identifier.
    /// - Throws: like `start(_:key:)`; the handle is then cancelled.
    public func publish(_ handle: ChappieStreamHandle, key: String? = nil) async throws -> ChappieStreamID {
        do {
            let header = JournaledRequest(createdAt: Self.seconds())
            return try await self.start(.handle(handle), header: header, key: key)
        } catch {
            handle.cancel()
            throw error
        }
    }

    private func start(
        _ source: Producer.Source, header: JournaledRequest, key: String?, readerLimit: Int = .max
    ) async throws -> ChappieStreamID {
        if let key, key.utf8.count > Self.keyByteCountLimit {
            throw ChappieArgumentError("key", "has more than \(Self.keyByteCountLimit) bytes")
        }
        do {
            try self.reserve(for: header.reader, limit: readerLimit)
        } catch let error as ChappieHubError {
            // The limits are for streams that are made, and not for one that exists.
            guard case .tooManyStreams = error, let key,
                let known = try await self.journaled({ try await $0.stream(key: key) })
            else { throw error }
            return Self.take(known, inPlaceOf: source)
        }
        defer { self.returnReservation(for: header.reader) }
        let new = ChappieNewStream(key: key, header: header.bytes, retention: self.parts.configuration.retention)
        let stream: ChappieJournaledStream
        do {
            stream = try await self.parts.journal.create(
                new, owner: self.parts.configuration.owner, lease: self.parts.configuration.lease)
        } catch let error as ChappieJournalError {
            throw ChappieHubError.journal(error)
        }
        guard stream.id == new.id else { return Self.take(stream, inPlaceOf: source) }
        self.produce(
            new.id, of: header.reader,
            writer: ChappieJournalWriter(owner: self.parts.configuration.owner, epoch: stream.epoch), source)
        return new.id
    }

    /// Ends what would have made a stream whose key another one has, and returns that one.
    private static func take(_ known: ChappieJournaledStream, inPlaceOf source: Producer.Source) -> ChappieStreamID {
        if case .handle(let handle) = source { handle.cancel() }
        return known.id
    }

    private func reserve(for reader: String?, limit readerLimit: Int = .max) throws {
        try self.state.withLock { state in
            guard !state.isShutDown else { throw ChappieHubError.shutDown }
            let limit = self.parts.configuration.streamLimit
            guard state.producers.count + state.reservationCount < limit else {
                throw ChappieHubError.tooManyStreams(limit: limit)
            }
            if let reader {
                let reserved = state.reservations[reader, default: 0]
                let running = readerLimit == .max ? 0 : state.producers.count { $0.value.reader == reader }
                guard running + reserved < readerLimit else {
                    throw ChappieHubError.tooManyStreams(limit: readerLimit)
                }
                state.reservations[reader] = reserved + 1
            }
            state.reservationCount += 1
        }
    }

    private func returnReservation(for reader: String?) {
        self.wakeIfIdle { state in
            state.reservationCount -= 1
            guard let reader, let reserved = state.reservations[reader] else { return }
            state.reservations[reader] = reserved > 1 ? reserved - 1 : nil
        }
    }

    /// Starts the producer of a stream that this process holds.
    private func produce(
        _ id: ChappieStreamID, of reader: String?, writer: ChappieJournalWriter, _ source: Producer.Source
    ) {
        let tail = self.state.withLock { state in
            let tail = Self.tail(of: id, in: &state)
            _ = tail.setFed(true)
            return tail
        }
        if case .request(_, let predecessor) = source { tail.begin(behind: predecessor?.lastPosition ?? 0) }
        let producer = Producer(id, of: reader, writer: writer, hub: self.parts, tail: tail)
        let leaves = self.state.withLock { state in
            state.producers[id] = producer
            return state.isShutDown
        }
        if leaves { producer.leave() }
        Task {
            await producer.run(source)
            // In one step: a producer that takes the stream in between feeds the same tail.
            let follows = self.wakeIfIdle { state in
                state.producers[id] = nil
                return tail.setFed(false)
            }
            if follows { self.follow(id, tail) }
            self.forgetUnused(id)
        }
    }

    // MARK: Reading

    /// Returns the events of a stream behind a position, now and as they come.
    ///
    /// The journal is not asked before the sequence is read. It ends behind `completed`, and throws `ChappieHubError`:
    /// for a stream that failed or was cancelled behind its last event. Each iterator reads by itself.
    ///
    /// - Parameters:
    ///   - id: the stream.
    ///   - position: that of the last event that the reader has; default 0, the beginning.
    /// - Returns: the events, with their positions.
    public func events(of id: ChappieStreamID, after position: Int = 0) -> ChappieHubEvents {
        ChappieHubEvents(hub: self, id: id, position: max(0, position))
    }

    /// Enters a reader of a stream.
    func enter(_ signal: Signal, of id: ChappieStreamID) throws -> StreamTail {
        let (tail, startsFollower) = try self.state.withLock { state in
            guard !state.isShutDown else { throw ChappieHubError.shutDown }
            let tail = Self.tail(of: id, in: &state)
            return (tail, tail.enter(signal))
        }
        if startsFollower { self.follow(id, tail) }
        return tail
    }

    /// Takes a reader of a stream out.
    func leave(_ signal: Signal, of id: ChappieStreamID, _ tail: StreamTail) {
        tail.leave(signal)
        self.forgetUnused(id)
    }

    /// Returns records from the journal.
    func records(of id: ChappieStreamID, after position: Int) async throws -> [ChappieJournalRecord] {
        try await self.parts.journal.records(of: id, after: position, byteCount: 64 << 10)
    }

    private static func tail(of id: ChappieStreamID, in state: inout State) -> StreamTail {
        if let known = state.tails[id] { return known }
        let tail = StreamTail()
        state.tails[id] = tail
        return tail
    }

    private func forgetUnused(_ id: ChappieStreamID) {
        self.state.withLock { state in
            if state.tails[id]?.isUsed == false { state.tails[id] = nil }
        }
    }

    /// Reads the journal for the readers of a stream that another process makes.
    private func follow(_ id: ChappieStreamID, _ tail: StreamTail) {
        Task {
            var patience: ContinuousClock.Instant?
            var nextNote = ContinuousClock.now
            // Behind a producer of this process, or a journal that could not be used, it may have lost records.
            var isInDoubt = true
            while tail.continuesFollowing() {
                do {
                    if .now >= nextNote {
                        nextNote = .now + self.parts.configuration.lease / 3
                        try await self.noteReader(of: id)
                    }
                    if isInDoubt {
                        try await self.compareNewest(of: id, tail)
                        isInDoubt = false
                        continue
                    }
                    try await self.followStep(id, tail)
                    patience = nil
                } catch {
                    isInDoubt = true
                    let end = patience ?? .now + self.parts.configuration.journalPatience
                    patience = end
                    let failure = error as? ChappieJournalError ?? .unavailable("\(type(of: error))")
                    guard case .unavailable = failure, .now < end else {
                        tail.endFollowing(.failure(failure == .unknownStream ? .unknownStream : .journal(failure)))
                        continue
                    }
                    try? await Task.sleep(for: .milliseconds(200))
                }
            }
            self.forgetUnused(id)
        }
    }

    /// Tells the producer of a stream, in whichever process it is, that the stream is read.
    package func noteReader(of id: ChappieStreamID) async throws {
        self.state.withLock { $0.tails[id] }?.noteReader()
        guard self.parts.configuration.stopsWithoutReadersAfter != nil else { return }
        try await self.parts.journal.noteReader(of: id, for: self.parts.configuration.lease)
    }

    /// Ends a tail whose newest record is another one in the journal, which was lost there and is made again.
    private func compareNewest(of id: ChappieStreamID, _ tail: StreamTail) async throws {
        guard let newest = tail.newest else { return }
        let records = try await self.parts.journal.records(of: id, after: newest.position - 1, byteCount: 1)
        guard let record = records.first, JournaledRecord.read(record.content).record != newest.record else { return }
        tail.endFollowing(.failure(.failed(.recordsLost)))
    }

    private func followStep(_ id: ChappieStreamID, _ tail: StreamTail) async throws {
        guard let last = tail.last else {
            guard let stream = try await self.parts.journal.stream(id) else { throw ChappieJournalError.unknownStream }
            // The last record is read into the tail: by it a loss of the journal is noticed.
            return tail.begin(behind: max(0, stream.lastPosition - 1))
        }
        let records = try await self.records(of: id, after: last)
        guard records.isEmpty else {
            return tail.append(
                records.map { record in
                    StreamTail.Entry(
                        position: record.position, record: JournaledRecord.read(record.content).record,
                        byteCount: record.content.count)
                })
        }
        try await self.parts.journal.waitForRecords(
            of: id, after: last, atMost: self.parts.configuration.lease / 6)
        guard let stream = try await self.parts.journal.stream(id) else { throw ChappieJournalError.unknownStream }
        if stream.lastPosition > last { return }
        if let end = try await self.end(of: stream) {
            // For readers that name the position of the end, or one behind it.
            tail.endFollowing(end.error.map { .failure($0) } ?? .success(()))
        } else if stream.lastPosition < last, stream.owner != nil {
            // The journal has lost records, and another process makes the stream behind what is left.
            tail.endFollowing(.failure(.failed(.recordsLost)))
        } else if stream.owner == nil {
            await self.takeOver(id)
            // If it was not taken, another process may take it, or the journal has it in a moment.
            if !tail.isFed { try? await Task.sleep(for: self.parts.configuration.lease / 60) }
        }
    }

    // MARK: Housekeeping

    /// Takes streams without a producer, and deletes those whose retention is over.
    private func keepHouse() async {
        if self.parts.configuration.takesOver,
            let ids = try? await self.parts.journal.abandonedStreams(limit: 32)
        {
            for id in ids { await self.takeOver(id) }
        }
        _ = try? await self.parts.journal.deleteExpired()
    }

    /// Takes a stream whose producer is silent, unless another process does.
    private func takeOver(_ id: ChappieStreamID) async {
        guard self.parts.configuration.takesOver, !self.state.withLock({ $0.producers[id] != nil }),
            (try? self.reserve(for: nil)) != nil
        else { return }
        defer { self.returnReservation(for: nil) }
        let (owner, lease) = (self.parts.configuration.owner, self.parts.configuration.lease)
        // A header of a newer version is for a newer process.
        guard let stream = try? await self.parts.journal.stream(id), let header = JournaledRequest(stream.header),
            let writer = try? await self.parts.journal.take(id, owner: owner, lease: lease)
        else { return }
        self.parts.meter.tookOver()
        do {
            let predecessor = try await self.predecessor(of: id)
            let request = header.transportRequest
            let known = self.state.withLock { $0.tails[id] }?.last ?? 0
            if known > predecessor.lastPosition {
                // Readers of this process have more than the journal, which has lost it.
                let end = JournaledEnd(status: .failed, failure: .recordsLost)
                try await self.close(id, end, behind: predecessor, by: writer)
            } else if stream.isCancellationRequested {
                try await self.close(id, JournaledEnd(status: .cancelled), behind: predecessor, by: writer)
            } else if let request {
                self.produce(id, of: header.reader, writer: writer, .request(request, predecessor))
            } else {
                let end = JournaledEnd(status: .failed, failure: .producerLost)
                try await self.close(id, end, behind: predecessor, by: writer)
            }
        } catch {
            // The journal cannot be used: the lease ends, and the next look finds the stream again.
        }
    }

    private func close(
        _ id: ChappieStreamID, _ end: JournaledEnd, behind predecessor: Producer.Predecessor,
        by writer: ChappieJournalWriter
    ) async throws {
        let batch = ChappieJournalBatch(
            firstPosition: predecessor.lastPosition + 1, records: [JournaledRecord.record(of: end)], closes: true)
        try await self.parts.journal.append(batch, to: id, by: writer, lease: self.parts.configuration.lease)
    }

    /// Reads what a stream's producers have left.
    private func predecessor(of id: ChappieStreamID) async throws -> Producer.Predecessor {
        var predecessor = Producer.Predecessor()
        while true {
            let records = try await self.records(of: id, after: predecessor.lastPosition)
            if records.isEmpty { return predecessor }
            for record in records {
                let (content, point) = JournaledRecord.read(record.content)
                if case .event(let event) = content { predecessor.events.append(event) }
                predecessor.point = point
                predecessor.lastPosition = record.position
            }
        }
    }

    // MARK: Compacting

    /// Has the upstream compact a conversation, and returns its answer, a JSON object; nothing is journaled.
    ///
    /// Throws `ChappieHubError.shutDown` and the errors of the upstream's transport.
    package func compact(_ body: [UInt8]) async throws -> [UInt8] {
        guard !self.state.withLock({ $0.isShutDown }) else { throw ChappieHubError.shutDown }
        return try await self.parts.transport.compact(body)
    }

    // MARK: Ending

    /// Ends a stream for everybody, whichever process makes it; of no effect for one that has ended.
    ///
    /// A producer in another process learns it with its next append or renewal.
    ///
    /// - Throws: `ChappieHubError`: `unknownStream`, `journal`.
    public func cancel(_ id: ChappieStreamID) async throws {
        try await self.journaled { try await $0.requestCancellation(of: id) }
        self.state.withLock { $0.producers[id] }?.cancel()
    }

    /// Deletes a stream and ends it for everybody; of no effect for an unknown one.
    ///
    /// - Throws: `ChappieHubError`: `journal`.
    public func delete(_ id: ChappieStreamID) async throws {
        try await self.journaled { try await $0.delete(id) }
        self.state.withLock { $0.producers[id] }?.cancel()
    }

    /// Asks the journal, and puts its errors into the hub's terms.
    func journaled<Value>(_ body: (any ChappieJournal) async throws -> Value) async throws -> Value {
        do {
            return try await body(self.parts.journal)
        } catch ChappieJournalError.unknownStream {
            throw ChappieHubError.unknownStream
        } catch let error as ChappieJournalError {
            throw ChappieHubError.journal(error)
        }
    }

    /// Returns what is known of a stream.
    ///
    /// - Throws: `ChappieHubError`: `unknownStream`, `journal`.
    public func state(of id: ChappieStreamID) async throws -> ChappieStreamState {
        let stream = try await self.stream(id)
        return ChappieStreamState(stream, try await self.end(of: stream))
    }

    /// Returns a stream as the journal has it.
    func stream(_ id: ChappieStreamID) async throws -> ChappieJournaledStream {
        guard let stream = try await self.journaled({ try await $0.stream(id) }) else {
            throw ChappieHubError.unknownStream
        }
        return stream
    }

    /// Returns the end of a stream; nil while it runs.
    func end(of stream: ChappieJournaledStream) async throws -> JournaledEnd? {
        guard stream.isClosed else { return nil }
        let last = try await self.journaled {
            try await $0.records(of: stream.id, after: stream.lastPosition - 1, byteCount: 0).last
        }
        guard let last, case .end(let end) = JournaledRecord.read(last.content).record else {
            throw ChappieHubError.journal(.damaged("the last record of \(stream.id) is not an end"))
        }
        return end
    }

    /// Ends the hub: starts no more streams, lets running ones end, and hands the rest over to other processes.
    ///
    /// Streams that still run after the grace period are left as they are in the journal, free for the next process at
    /// once. Readers get what is journaled, and then `ChappieHubError.shutDown`. When the task is cancelled, the grace
    /// period is over at once. May be called more than once.
    ///
    /// - Parameter gracePeriod: the time for running streams; default 5 s, and not below zero.
    public func shutdown(gracePeriod: Duration = .seconds(5)) async {
        self.state.withLock { state in
            state.isShutDown = true
            state.housekeeping?.cancel()
        }
        let end = Task {
            try? await Task.sleep(for: max(.zero, gracePeriod))
            for producer in self.state.withLock({ Array($0.producers.values) }) { producer.leave() }
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.wakeIfIdle { $0.idle.append(continuation) }
            }
        } onCancel: {
            end.cancel()
        }
        end.cancel()
        for tail in self.state.withLock({ Array($0.tails.values) }) { tail.end(.failure(.shutDown)) }
    }

    /// Makes a change, and ends the waits of `shutdown` when no stream is made here any more.
    private func wakeIfIdle<Value: Sendable>(behind change: (inout State) -> Value) -> Value {
        let (value, idle) = self.state.withLock { state -> (Value, [CheckedContinuation<Void, Never>]) in
            let value = change(&state)
            guard state.isShutDown, state.producers.isEmpty, state.reservationCount == 0 else { return (value, []) }
            defer { state.idle = [] }
            return (value, state.idle)
        }
        for continuation in idle { continuation.resume() }
        return value
    }
}
