import Testing

@testable import ChappieRelay
@testable import ChappieTransport

/// The writer of a stream's records.
@Suite struct RecordWriterTests {
    private static let lease = Duration.seconds(60)
    private let meter = HubMeter()

    /// Appends text behind a position that the writer takes for the last one; returns the outcome.
    private func append(
        _ texts: [String], after position: Int, to id: ChappieStreamID, in journal: ChappieMemoryJournal
    ) async -> RecordWriter.Outcome {
        let records = RecordWriter(
            id, by: ChappieJournalWriter(owner: "a", epoch: 1), in: journal, tail: StreamTail(),
            configuration: ChappieHubConfiguration(), meter: self.meter
        ) {}
        _ = await records.add(texts.compactMap { JournaledRecord.record(of: .textDelta($0)) })
        records.drain()
        #expect(records.lag > .zero)
        let outcome = await records.run(after: position)
        if outcome == .drained { #expect(records.lag == .zero) }
        return outcome
    }

    private func content(of id: ChappieStreamID, in journal: ChappieMemoryJournal) async throws -> [JournaledRecord] {
        try await journal.records(of: id, after: 0, byteCount: 1 << 20).map { JournaledRecord.read($0.content).record }
    }

    private func journal(_ id: ChappieStreamID) async throws -> ChappieMemoryJournal {
        let journal = ChappieMemoryJournal()
        _ = try await journal.create(ChappieNewStream(id: id, header: []), owner: "a", lease: Self.lease)
        return journal
    }

    @Test func recordsFollowTheLastPosition() async throws {
        let id = ChappieStreamID()
        let journal = try await self.journal(id)
        #expect(await self.append(["a"], after: 0, to: id, in: journal) == .drained)
        #expect(await self.append(["b"], after: 1, to: id, in: journal) == .drained)
        #expect(try await self.content(of: id, in: journal) == [.event(.textDelta("a")), .event(.textDelta("b"))])
    }

    @Test func streamOfAJournalThatLostRecordsFails() async throws {
        let id = ChappieStreamID()
        let journal = try await self.journal(id)
        #expect(await self.append(["a"], after: 0, to: id, in: journal) == .drained)
        // Three records were appended by the writer's account.
        let outcome = await self.append(["d"], after: 3, to: id, in: journal)
        #expect(outcome == .failed(.gap(lastPosition: 1)))
        let end = JournaledEnd(status: .failed, failure: .recordsLost)
        #expect(try await self.content(of: id, in: journal) == [.event(.textDelta("a")), .end(end)])
        #expect(try await journal.stream(id)?.isClosed == true)
    }
}
