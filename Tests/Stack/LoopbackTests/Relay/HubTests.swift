import Chappie
import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

@testable import ChappieRelay

/// Streams that are read by many, and made by one process after the other.
@Suite struct HubTests {
    static let text = "Air scatters blue light more than red. The sun's light comes from all of the sky. 🌤️ Çà et là."
    static let request = ChappieTransportRequest(prompt: "Why is the sky blue?", model: "m")

    private func configuration(
        _ faults: [ChappieTestServer.Fault] = []
    ) -> ChappieTestServer.Configuration {
        ChappieTestServer.Configuration(model: .text(Self.text), faults: faults)
    }

    /// An answer that stops in its middle, in the first attempt alone.
    private static let hang = ChappieTestServer.Fault(.hang(afterEvent: 8), attempts: 1...1)

    @Test(arguments: Wire.allCases)
    func everyReaderGetsTheWholeStreamWheneverItComes(wire: Wire) async throws {
        try await withServer(self.configuration()) { server in
            let hub = ChappieHub.loopback(server, ChappieMemoryJournal(), over: wire)
            let id = try await hub.start(Self.request)
            let readings = await withTaskGroup(of: HubReading.self) { group in
                for _ in 0..<20 { group.addTask { await HubReading.read(hub.events(of: id)) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let late = await HubReading.read(hub.events(of: id))
            for reading in readings + [late] {
                #expect(reading.text == Self.text && reading.isComplete)
                #expect(reading.events == late.events)
                reading.expectOrder()
            }
            // From every position, the rest.
            for (index, element) in late.events.enumerated() {
                let rest = await HubReading.read(hub.events(of: id, after: element.position))
                #expect(rest.events == Array(late.events[(index + 1)...]) && rest.error == nil)
            }
            #expect(server.log.count == 1)
            let state = try await hub.state(of: id)
            #expect(state.status == .completed && state.responseID != nil && !state.hasProducer)
            #expect(state.lastPosition == late.events.last?.position)
            await hub.shutdown()
        }
    }

    @Test func aReaderThatLeavesChangesNothing() async throws {
        try await withServer(self.configuration()) { server in
            let hub = ChappieHub.loopback(server, ChappieMemoryJournal())
            let id = try await hub.start(Self.request)
            for try await _ in hub.events(of: id) { break }
            let cancelled = Task { await HubReading.read(hub.events(of: id, after: .max)) }
            cancelled.cancel()
            #expect(await cancelled.value.events.isEmpty)
            #expect(await HubReading.read(hub.events(of: id)).text == Self.text)
            await hub.shutdown()
        }
    }

    @Test func aKeyStartsOneStream() async throws {
        try await withServer(self.configuration()) { server in
            let hub = ChappieHub.loopback(server, ChappieMemoryJournal())
            let ids = try await withThrowingTaskGroup(of: ChappieStreamID.self) { group in
                for _ in 0..<10 { group.addTask { try await hub.start(Self.request, key: "chat 7") } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(ids.count == 1)
            for id in ids { #expect(await HubReading.read(hub.events(of: id)).isComplete) }
            #expect(server.log.count == 1)
            await hub.shutdown()
        }
    }

    @Test func aKeyLeadsToItsStreamWhereNoMoreStreamsAreMade() async throws {
        try await withServer(self.configuration([Self.hang])) { server in
            let hub = ChappieHub.loopback(server, ChappieMemoryJournal(), streamLimit: 1)
            let id = try await hub.start(Self.request, key: "chat 7")
            #expect(try await hub.start(Self.request, key: "chat 7") == id)
            let client = Chappie.client(configuration: .loopback(server))
            #expect(try await hub.publish(client.streamHandle("Why?"), key: "chat 7") == id)
            for key in ["chat 8", nil] {
                await #expect(throws: ChappieHubError.tooManyStreams(limit: 1)) {
                    try await hub.start(Self.request, key: key)
                }
            }
            await hub.shutdown(gracePeriod: .zero)
        }
    }

    @Test func unknownStreamsAndHubsThatAreShutDownThrow() async throws {
        try await withServer(self.configuration()) { server in
            let hub = ChappieHub.loopback(server, ChappieMemoryJournal())
            let reading = await HubReading.read(hub.events(of: ChappieStreamID()))
            #expect(reading.hubError == .unknownStream && reading.events.isEmpty)
            await #expect(throws: ChappieHubError.unknownStream) { try await hub.cancel(ChappieStreamID()) }
            await #expect(throws: ChappieHubError.unknownStream) { try await hub.state(of: ChappieStreamID()) }
            await #expect(throws: ChappieArgumentError.self) {
                try await hub.start(Self.request, key: String(repeating: "k", count: 513))
            }
            await hub.shutdown()
            await #expect(throws: ChappieHubError.shutDown) { try await hub.start(Self.request) }
            #expect(await HubReading.read(hub.events(of: ChappieStreamID())).hubError == .shutDown)
        }
    }

    @Test func aFailureIsKeptForEveryReader() async throws {
        let refused = ChappieTestServer.Fault(.answer(status: 400, body: "{}"))
        try await withServer(self.configuration([refused])) { server in
            let hub = ChappieHub.loopback(server, ChappieMemoryJournal(), over: .httpSSE)
            let id = try await hub.start(Self.request)
            for _ in 0..<2 {
                let error = await HubReading.read(hub.events(of: id)).hubError
                guard case .failed(let failure) = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                #expect(failure.tag == "http.400" && !failure.isRetryable)
            }
            let state = try await hub.state(of: id)
            #expect(state.status == .failed && state.failure?.tag == "http.400")
            await hub.shutdown()
        }
    }

    @Test func aStreamIsCancelledFromAnotherProcess() async throws {
        try await withServer(self.configuration([ChappieTestServer.Fault(.hang(afterEvent: 8))])) { server in
            let journal = ChappieMemoryJournal()
            // The maker learns it with its next renewal.
            let maker = ChappieHub.loopback(server, journal, lease: .milliseconds(600))
            let other = ChappieHub.loopback(server, journal)
            let id = try await maker.start(Self.request)
            var events = other.events(of: id).makeAsyncIterator()
            #expect(try await events.next() != nil)
            try await other.cancel(id)
            let reading = await HubReading.read(other.events(of: id))
            #expect(reading.hubError == .cancelled && Self.text.hasPrefix(reading.text))
            #expect(try await maker.state(of: id).status == .cancelled)
            #expect(await server.reached(.finishedAttempts(1)))
            await maker.shutdown()
            await other.shutdown()
        }
    }

    @Test func aStreamThatHasLostItsReadersIsCancelled() async throws {
        try await withServer(self.configuration([ChappieTestServer.Fault(.hang(afterEvent: 8))])) { server in
            let hub = ChappieHub.loopback(
                server, ChappieMemoryJournal(), lease: .milliseconds(300),
                stopsWithoutReadersAfter: .milliseconds(300))
            let id = try await hub.start(Self.request)
            _ = try await hub.firstText(of: id)
            #expect(await server.reached(.finishedAttempts(1)))
            let reading = await HubReading.read(hub.events(of: id))
            #expect(reading.hubError == .cancelled && Self.text.hasPrefix(reading.text) && !reading.text.isEmpty)
            await hub.shutdown()
        }
    }

    @Test func aStreamWhoseEngineWasShutDownKeepsItsLease() async throws {
        try await withServer(self.configuration([ChappieTestServer.Fault(.hang(afterEvent: 8))])) { server in
            let journal = ChappieMemoryJournal()
            var configuration = ChappieHubConfiguration()
            configuration.lease = .seconds(60)
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL) { _ in })
            let hub = ChappieHub(configuration: configuration, transport: transport, journal: journal)
            let id = try await hub.start(Self.request)
            _ = try await hub.firstText(of: id)
            await transport.shutdown(gracePeriod: .zero)
            // Returns when the producer has ended by itself.
            await hub.shutdown(gracePeriod: .seconds(60))
            let stream = try #require(try await journal.stream(id))
            #expect(stream.owner == configuration.owner && !stream.isClosed)
        }
    }

    @Test func aReaderInAnotherProcessKeepsAStream() async throws {
        // Several times as long as a stream goes on without readers.
        let slow = ChappieTestServer.Fault(.throttle(bytesPerSecond: 1000))
        try await withServer(self.configuration([slow])) { server in
            let journal = ChappieMemoryJournal()
            let (maker, other) = (
                ChappieHub.loopback(
                    server, journal, lease: .seconds(1), stopsWithoutReadersAfter: .seconds(1)),
                ChappieHub.loopback(
                    server, journal, lease: .seconds(1), stopsWithoutReadersAfter: .seconds(1))
            )
            let id = try await maker.start(Self.request)
            let began = ContinuousClock.now
            let reading = await HubReading.read(other.events(of: id))
            #expect(reading.text == Self.text && reading.isComplete)
            #expect(began.duration(to: .now) > .seconds(2), "the answer was too quick for this test")
            await maker.shutdown()
            await other.shutdown()
        }
    }

    @Test func anErrorOfTheProgramEndsTheStream() async throws {
        struct NoKey: Error {}
        try await withServer(self.configuration()) { server in
            let hub = ChappieHub.loopback(server, ChappieMemoryJournal()) { $0.credential = { _ in throw NoKey() } }
            let id = try await hub.start(Self.request)
            guard case .failed(let failure) = await HubReading.read(hub.events(of: id)).hubError else {
                Issue.record("no failure")
                return
            }
            #expect(failure.tag == "relay.program-error" && failure.message == "the program threw NoKey")
            #expect(server.log.isEmpty)
            await hub.shutdown()
        }
    }

    @Test func positionsBehindTheEndOfAFailedStreamGiveItsError() async throws {
        let refused = ChappieTestServer.Fault(.answer(status: 400, body: "{}"))
        try await withServer(self.configuration([refused])) { server in
            let hub = ChappieHub.loopback(server, ChappieMemoryJournal(), over: .httpSSE)
            let id = try await hub.start(Self.request)
            let whole = await HubReading.read(hub.events(of: id))
            let behind = await HubReading.read(hub.events(of: id, after: 1_000_000))
            #expect(behind.hubError == whole.hubError && behind.hubError != nil && behind.events.isEmpty)
            await hub.shutdown()
        }
    }

    // MARK: Another process goes on

    @Test func readersOfAProcessThatTakesAStreamGetWhatItHadNotRead() async throws {
        let hang = ChappieTestServer.Fault(.hang(afterEvent: 8))
        try await withServer(self.configuration([hang])) { server in
            let journal = ChappieMemoryJournal()
            let path = PartitionedJournal(journal)
            let maker = ChappieHub.loopback(server, journal, lease: .milliseconds(600))
            let heir = ChappieHub.loopback(server, path, lease: .milliseconds(600))
            let id = try await maker.start(Self.request)
            var reader = heir.events(of: id).makeAsyncIterator()
            let first = try #require(try await reader.next())
            // Readers of the heir do not see the next records before it makes the stream, whose upstream is silent.
            path.isCut = true
            let known = try await maker.firstText(of: id)
            await maker.shutdown(gracePeriod: .zero)
            path.isCut = false
            var position = first.position
            var text = ""
            while text.isEmpty, let next = try await reader.next() {
                #expect(next.position > position)
                position = next.position
                if case .textDelta(let delta) = next.event { text = delta }
            }
            #expect(text == known)
            await heir.shutdown(gracePeriod: .zero)
        }
    }

    @Test(arguments: Wire.allCases)
    func aProcessThatShutsDownHandsItsStreamsOver(wire: Wire) async throws {
        try await withServer(self.configuration([Self.hang])) { server in
            let journal = ChappieMemoryJournal()
            let maker = ChappieHub.loopback(server, journal, over: wire)
            let heir = ChappieHub.loopback(server, journal, over: wire)
            let id = try await maker.start(Self.request)
            let reader = Task { await HubReading.read(heir.events(of: id)) }
            var events = maker.events(of: id).makeAsyncIterator()
            #expect(try await events.next() != nil)
            _ = try await maker.firstText(of: id)
            await maker.shutdown(gracePeriod: .zero)
            let reading = await reader.value
            #expect(reading.text == Self.text && reading.isComplete)
            reading.expectOrder()
            #expect(server.log.count == 2)
            // A reader of the first process is sent away, not left waiting.
            var error: (any Error)?
            do { while try await events.next() != nil {} } catch let thrown { error = thrown }
            #expect(error as? ChappieHubError == .shutDown)
            await heir.shutdown()
        }
    }

    @Test func aProcessThatIsCutOffIsReplacedAndWritesNothingMore() async throws {
        try await withServer(self.configuration([Self.hang])) { server in
            let journal = ChappieMemoryJournal()
            let path = PartitionedJournal(journal)
            let maker = ChappieHub.loopback(server, path, lease: .milliseconds(600))
            let heir = ChappieHub.loopback(server, journal, lease: .milliseconds(600))
            let id = try await maker.start(Self.request)
            _ = try await heir.firstText(of: id)
            path.isCut = true
            let reading = await HubReading.read(heir.events(of: id))
            #expect(reading.text == Self.text && reading.isComplete)
            path.isCut = false
            await maker.shutdown(gracePeriod: .zero)
            #expect(await HubReading.read(heir.events(of: id)).events == reading.events)
            #expect(server.log.count >= 2)
            await heir.shutdown()
        }
    }

    /// The journal loses the second record, and its producer makes another one while the reader's process is cut off.
    @Test func readerOfRecordsThatWereLostIsTold() async throws {
        try await withServer(self.configuration()) { server in
            let journal = ChappieMemoryJournal()
            let path = PartitionedJournal(journal)
            let hub = ChappieHub.loopback(server, path, lease: .milliseconds(600))
            let id = ChappieStreamID()
            let writer = ChappieJournalWriter(owner: "other", epoch: 1)
            func make(_ texts: [String]) async throws {
                let new = ChappieNewStream(id: id, header: JournaledRequest(createdAt: 1).bytes)
                _ = try await journal.create(new, owner: writer.owner, lease: .seconds(60))
                let records = texts.compactMap { JournaledRecord.record(of: .textDelta($0)) }
                let batch = ChappieJournalBatch(firstPosition: 1, records: records)
                try await journal.append(batch, to: id, by: writer, lease: .seconds(60))
            }
            try await make(["a", "b"])
            var events = hub.events(of: id).makeAsyncIterator()
            #expect(try await events.next()?.event == .textDelta("a"))
            #expect(try await events.next()?.event == .textDelta("b"))
            path.isCut = true
            try await journal.delete(id)
            for await _ in path.missedReads { break }
            try await make(["a", "another", "c"])
            path.isCut = false
            await #expect(throws: ChappieHubError.failed(.recordsLost)) { try await events.next() }
            await hub.shutdown(gracePeriod: .zero)
        }
    }

    @Test func theResponseIsResumedWhereTheServerKeepsIt() async throws {
        let request = ChappieTransportRequest(
            body: Array(#"{"background":true,"store":true,"input":"hi","model":"m"}"#.utf8))
        try await withServer(self.configuration([Self.hang])) { server in
            let journal = ChappieMemoryJournal()
            let maker = ChappieHub.loopback(server, journal, over: .httpSSE)
            let heir = ChappieHub.loopback(server, journal, over: .httpSSE)
            let id = try await maker.start(request)
            _ = try await maker.firstText(of: id)
            await maker.shutdown(gracePeriod: .zero)
            let reading = await HubReading.read(heir.events(of: id))
            #expect(reading.text == Self.text && reading.isComplete)
            #expect(server.log.count == 2)
            #expect(server.log.map(\.method) == ["POST", "GET"])
            await heir.shutdown()
        }
    }

    @Test(arguments: [false, true])
    func anotherAnswerIsAnErrorOrBeginsAnew(restarts: Bool) async throws {
        let other = ChappieTestServer.Fault(.divergeText(fromScalar: 2), attempts: 2...2)
        try await withServer(self.configuration([Self.hang, other])) { server in
            let journal = ChappieMemoryJournal()
            let hubs = (0..<2).map { _ in
                ChappieHub.loopback(server, journal) { configuration in
                    if restarts { configuration.policy.divergence = .restarts }
                }
            }
            let id = try await hubs[0].start(Self.request)
            let shown = try await hubs[0].firstText(of: id)
            await hubs[0].shutdown(gracePeriod: .zero)
            let reading = await HubReading.read(hubs[1].events(of: id))
            let restarted = reading.events.compactMap { element in
                if case .restarted(let text) = element.event { text } else { nil }
            }
            if restarts {
                #expect(reading.isComplete && reading.text != Self.text && reading.text.hasPrefix("Ai"))
                #expect(
                    restarted.count == 1 && restarted[0].hasPrefix(shown ?? "?") && Self.text.hasPrefix(restarted[0]))
            } else {
                #expect(restarted.isEmpty && Self.text.hasPrefix(reading.text))
                guard case .failed(let failure) = reading.hubError else {
                    Issue.record("no failure")
                    return
                }
                #expect(failure.tag == "replay.diverged")
            }
            await hubs[1].shutdown()
        }
    }

    // MARK: Conversations

    @Test func aClientsTurnGoesIntoItsConversationWhoeverReads() async throws {
        try await withServer(self.configuration()) { server in
            let hub = ChappieHub.loopback(server, ChappieMemoryJournal())
            let client = Chappie.client(configuration: .loopback(server))
            let id = try await hub.publish(client.streamHandle("Why?"), key: "turn 1")
            #expect(await HubReading.read(hub.events(of: id)).text == Self.text)
            let again = client.streamHandle("Why?")
            #expect(try await hub.publish(again, key: "turn 1") == id)
            #expect(client.context.items.count == 2)
            #expect(server.log.count == 1)
            await hub.shutdown()
        }
    }

    @Test func aClientsTurnEndsWithItsProcess() async throws {
        try await withServer(self.configuration([Self.hang])) { server in
            let journal = ChappieMemoryJournal()
            let (maker, heir) = (ChappieHub.loopback(server, journal), ChappieHub.loopback(server, journal))
            let client = Chappie.client(configuration: .loopback(server))
            let id = try await maker.publish(client.streamHandle("Why?"))
            _ = try await maker.firstText(of: id)
            await maker.shutdown(gracePeriod: .zero)
            guard case .failed(let failure) = await HubReading.read(heir.events(of: id)).hubError else {
                Issue.record("no failure")
                return
            }
            #expect(failure.tag == "relay.producer-lost")
            #expect(server.log.count == 1)
            await heir.shutdown()
        }
    }

    // MARK: SQLite

    @Test func aFileServesTheNextProcess() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path(of: "streams.sqlite")
        try await withServer(self.configuration([Self.hang])) { server in
            let first = try ChappieSQLiteJournal(path: path)
            let maker = ChappieHub.loopback(server, first)
            var request = Self.request
            request.fields = [("OpenAI-Organization", "org"), ("X-Api-Key", "canary-in-a-field")]
            let id = try await maker.start(request)
            var events = maker.events(of: id).makeAsyncIterator()
            #expect(try await events.next() != nil)
            // Two processes at one file: a reader of the second sees what the first one writes.
            let second = try ChappieSQLiteJournal(path: path)
            let heir = ChappieHub.loopback(server, second)
            var others = heir.events(of: id).makeAsyncIterator()
            #expect(try await others.next() != nil)
            await maker.shutdown(gracePeriod: .zero)
            await first.shutdown()
            let reading = await HubReading.read(heir.events(of: id))
            #expect(reading.text == Self.text && reading.isComplete)
            await heir.shutdown()
            await second.shutdown()
        }
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.url.path) {
            let content = try Data(contentsOf: folder.url.appendingPathComponent(file))
            #expect(content.range(of: Data("canary-in-a-field".utf8)) == nil, "\(file)")
        }
    }
}
