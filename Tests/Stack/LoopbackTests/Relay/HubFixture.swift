import ChappieRelay
import ChappieTestServer
import ChappieTransport
import Foundation
import StreamTransport
import Testing

/// The events that one reader of a stream was given, and the error that it ended with.
struct HubReading: Sendable {
    var events: [ChappieHubEvent] = []
    var error: (any Error)?

    var hubError: ChappieHubError? { self.error as? ChappieHubError }

    /// The text behind the last restart.
    var text: String {
        self.events.reduce(into: "") { text, element in
            switch element.event {
            case .textDelta(let delta): text += delta
            case .restarted: text = ""
            default: break
            }
        }
    }

    var isComplete: Bool { self.error == nil && self.events.last?.event == .completed }

    /// Reads a stream to its end.
    static func read(_ events: ChappieHubEvents) async -> Self {
        var reading = Self()
        do {
            for try await element in events { reading.events.append(element) }
        } catch {
            reading.error = error
        }
        return reading
    }

    /// Fails the test where positions do not grow.
    func expectOrder(_ location: SourceLocation = #_sourceLocation) {
        for (earlier, later) in zip(self.events, self.events.dropFirst()) {
            #expect(earlier.position < later.position, sourceLocation: location)
        }
    }
}

extension ChappieHub {
    /// Creates a hub for a server on loopback, whose streams are not lost by a busy machine unless the lease is short.
    static func loopback(
        _ server: ChappieTestServer, _ journal: any ChappieJournal, over wire: Wire = .webSocket,
        lease: Duration = .seconds(60), stopsWithoutReadersAfter: Duration? = nil, streamLimit: Int = 1000,
        _ change: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) -> ChappieHub {
        var configuration = ChappieHubConfiguration()
        configuration.lease = lease
        configuration.stopsWithoutReadersAfter = stopsWithoutReadersAfter
        configuration.streamLimit = streamLimit
        let transport = ChappieTransportConfiguration.loopback(server.baseURL) { configuration in
            configuration.policy = wire.policy
            change(&configuration)
        }
        return ChappieHub(
            configuration: configuration, transport: ChappieStreamingTransport(configuration: transport),
            journal: journal)
    }
}

extension ChappieHub {
    /// Waits for the first text of a stream and returns it.
    func firstText(of id: ChappieStreamID) async throws -> String? {
        for try await element in self.events(of: id) {
            if case .textDelta(let text) = element.event { return text }
        }
        return nil
    }
}

/// A journal that a process reaches over a path which can be cut.
final class PartitionedJournal: ChappieJournal {
    private let journal: any ChappieJournal
    private let cut = LockedValue(false)
    /// The reads of a stream that did not reach the journal.
    let missedReads: AsyncStream<Void>
    private let miss: AsyncStream<Void>.Continuation

    init(_ journal: any ChappieJournal) {
        self.journal = journal
        (self.missedReads, self.miss) = AsyncStream.makeStream()
    }

    var isCut: Bool {
        get { self.cut.withLock { $0 } }
        set { self.cut.withLock { $0 = newValue } }
    }

    private func reached() throws -> any ChappieJournal {
        guard !self.isCut else { throw ChappieJournalError.unavailable("cut") }
        return self.journal
    }

    func create(_ stream: ChappieNewStream, owner: String, lease: Duration) async throws -> ChappieJournaledStream {
        try await self.reached().create(stream, owner: owner, lease: lease)
    }

    func stream(_ id: ChappieStreamID) async throws -> ChappieJournaledStream? {
        if self.isCut { self.miss.yield() }
        return try await self.reached().stream(id)
    }

    func stream(key: String) async throws -> ChappieJournaledStream? { try await self.reached().stream(key: key) }

    func append(
        _ batch: ChappieJournalBatch, to id: ChappieStreamID, by writer: ChappieJournalWriter, lease: Duration
    ) async throws -> ChappieWriterStanding {
        try await self.reached().append(batch, to: id, by: writer, lease: lease)
    }

    func records(of id: ChappieStreamID, after position: Int, byteCount: Int) async throws -> [ChappieJournalRecord] {
        try await self.reached().records(of: id, after: position, byteCount: byteCount)
    }

    func waitForRecords(of id: ChappieStreamID, after position: Int, atMost duration: Duration) async throws {
        if self.isCut { self.miss.yield() }
        try await self.reached().waitForRecords(of: id, after: position, atMost: duration)
    }

    func take(_ id: ChappieStreamID, owner: String, lease: Duration) async throws -> ChappieJournalWriter? {
        try await self.reached().take(id, owner: owner, lease: lease)
    }

    func renew(
        _ id: ChappieStreamID, by writer: ChappieJournalWriter, lease: Duration
    ) async throws -> ChappieWriterStanding {
        try await self.reached().renew(id, by: writer, lease: lease)
    }

    func release(_ id: ChappieStreamID, by writer: ChappieJournalWriter) async throws {
        try await self.reached().release(id, by: writer)
    }

    func requestCancellation(of id: ChappieStreamID) async throws {
        try await self.reached().requestCancellation(of: id)
    }

    func noteReader(of id: ChappieStreamID, for duration: Duration) async throws {
        try await self.reached().noteReader(of: id, for: duration)
    }

    func abandonedStreams(limit: Int) async throws -> [ChappieStreamID] {
        try await self.reached().abandonedStreams(limit: limit)
    }

    func delete(_ id: ChappieStreamID) async throws { try await self.reached().delete(id) }

    func deleteExpired() async throws -> Int { try await self.reached().deleteExpired() }

    func shutdown() async {}
}
