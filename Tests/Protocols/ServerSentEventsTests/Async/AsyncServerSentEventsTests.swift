// The asynchronous face: when events come, what comes before an error, and what the iterator tells afterwards.

import ServerSentEvents
import Testing

@Suite struct AsyncServerSentEventsTests {
    @Test(arguments: EventStreamVector.own)
    func givesTheEventsOfChunksHoweverTheStreamIsCut(_ vector: EventStreamVector) async throws {
        for chunks in Chunking.all(of: vector.input) {
            var iterator = ScriptedBytes(chunks).serverSentEvents().makeAsyncIterator()
            #expect(try await iterator.all().map(\.utf8) == vector.events.map(\.utf8))
            #expect(Array(iterator.lastEventID.utf8) == Array(vector.lastEventID.utf8))
            #expect(iterator.end == Recording(chunks).end)
            let milliseconds = Recording(chunks).reconnectionTimes.last
            #expect(iterator.reconnectionTime == milliseconds.map { .milliseconds($0) })
        }
    }

    @Test(arguments: EventStreamVector.own)
    func givesTheEventsOfSingleBytes(_ vector: EventStreamVector) async throws {
        var iterator = ScriptedBytes(vector.input).serverSentEvents().makeAsyncIterator()
        #expect(try await iterator.all().map(\.utf8) == vector.events.map(\.utf8))
        #expect(Array(iterator.lastEventID.utf8) == Array(vector.lastEventID.utf8))
        #expect(iterator.end == Recording([vector.input]).end)
    }

    @Test(arguments: EventStreamVector.own)
    func givesAnEventWithTheByteThatCompletesIt(_ vector: EventStreamVector) async throws {
        let recording = Recording(Chunking.pieces(of: vector.input, byteCount: 1))
        let bytes = ScriptedBytes(vector.input)
        var events = bytes.serverSentEvents().makeAsyncIterator()
        for offset in recording.eventOffsets {
            _ = try await events.next()
            #expect(bytes.log.requestCount == offset)
        }
        let others = ScriptedBytes(vector.input)
        var elements = others.serverSentEvents().elements.makeAsyncIterator()
        for offset in recording.offsets {
            _ = try await elements.next()
            #expect(others.log.requestCount == offset)
        }
    }

    @Test func asksForAChunkWhenTheOneBeforeIsSpent() async throws {
        let chunks = ScriptedBytes(["data: a\n\ndata: b\n\ndata: c", "", ": d\n", "\n\n"].map { Array($0.utf8) })
        var events = chunks.serverSentEvents().makeAsyncIterator()
        var requestCounts: [Int] = []
        while try await events.next() != nil { requestCounts.append(chunks.log.requestCount) }
        #expect(requestCounts == [1, 1, 4])
        #expect(chunks.log.requestCount == 5)
        #expect(try await events.next() == nil)
        #expect(chunks.log.requestCount == 5)
    }

    @Test func throwsTheErrorOfTheBaseUnchangedAfterTheEventsBeforeIt() async throws {
        let stream = Array("data: a\n\nid: 9\ndata: b\n\nid: 10\ndata: c".utf8)
        let chunks = ScriptedBytes([stream], failure: ScriptedFailure(code: 7))
        var fromChunks = chunks.serverSentEvents().makeAsyncIterator()
        try await Self.expectAAndBThenFailure(&fromChunks)
        #expect(chunks.log.requestCount == 2)
        let bytes = ScriptedBytes(stream, failure: ScriptedFailure(code: 7))
        var fromBytes = bytes.serverSentEvents().makeAsyncIterator()
        try await Self.expectAAndBThenFailure(&fromBytes)
        #expect(bytes.log.requestCount == stream.count + 1)
    }

    private static func expectAAndBThenFailure<Base>(
        _ events: inout AsyncServerSentEvents<Base>.Iterator, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        var data: [String] = []
        let failure = await #expect(throws: ScriptedFailure.self, sourceLocation: sourceLocation) {
            while let event = try await events.next() { data.append(event.data) }
        }
        #expect(failure == ScriptedFailure(code: 7), sourceLocation: sourceLocation)
        #expect(data == ["a", "b"], sourceLocation: sourceLocation)
        #expect(events.lastEventID == "9", sourceLocation: sourceLocation)
        #expect(events.end == nil, sourceLocation: sourceLocation)
        // An error is the end: the base is not asked again.
        #expect(try await events.next() == nil, sourceLocation: sourceLocation)
        #expect(events.end == nil, sourceLocation: sourceLocation)
    }

    @Test func throwsALimitAfterTheEventsBeforeIt() async throws {
        let stream = Array("id: 1\ndata: a\n\ndata: 12345\n\ndata: b\n\n".utf8)
        let error = EventStreamError.eventTooLarge(maximumByteCount: 4, byteOffset: 25)
        for chunks in Chunking.all(of: stream) {
            var events = ScriptedBytes(chunks).serverSentEvents(maximumEventByteCount: 4).makeAsyncIterator()
            #expect(try await events.next() == ServerSentEvent(data: "a", lastEventID: "1"))
            await #expect(throws: error) { try await events.next() }
            #expect(events.lastEventID == "1")
            #expect(events.end == nil)
            #expect(try await events.next() == nil)
        }
        var events = ScriptedBytes(stream).serverSentEvents(maximumEventByteCount: 4).makeAsyncIterator()
        #expect(try await events.next()?.data == "a")
        await #expect(throws: error) { try await events.next() }
        #expect(try await events.next() == nil)
    }

    @Test func aLimitBesideAnErrorOfTheBaseComesFirst() async throws {
        let bytes = ScriptedBytes(Array("data: 12345".utf8), failure: ScriptedFailure(code: 1))
        var events = bytes.serverSentEvents(maximumEventByteCount: 4).makeAsyncIterator()
        await #expect(throws: EventStreamError.eventTooLarge(maximumByteCount: 4, byteOffset: 10)) {
            try await events.next()
        }
    }

    @Test func theLastEventIDIsNeverAheadOfTheEventsThatWereTaken() async throws {
        let stream = "data: a\n\nid: 1\ndata: b\n\nid: 2\n\ndata: c\n\nid: 3\n\n"
        let chunks = ScriptedBytes([Array(stream.utf8)])
        var events = chunks.serverSentEvents(lastEventID: "0").makeAsyncIterator()
        #expect(events.lastEventID == "0")
        var taken: [String] = []
        while let event = try await events.next() { taken += [event.lastEventID, events.lastEventID] }
        // After the last event of the chunk everything in it has been seen, the ID behind it included.
        #expect(taken == ["0", "0", "1", "1", "2", "3"])
    }

    @Test func theLastEventIDFollowsAChunkWithoutEvents() async throws {
        let chunks = ScriptedBytes(["id: 5\n\n", "id: 6\n"].map { Array($0.utf8) }, failure: ScriptedFailure(code: 2))
        var events = chunks.serverSentEvents().makeAsyncIterator()
        await #expect(throws: ScriptedFailure.self) { try await events.next() }
        #expect(events.lastEventID == "5")
    }

    @Test(
        arguments: [
            ("data: a\n\n", .clean), ("", .clean), (": c\n", .clean), ("data: a\n", .insideEvent(pendingByteCount: 1)),
            ("data: ab", .insideLine(pendingByteCount: 2)),
        ] as [(String, EventStreamEnd)])
    func iteratorReportsWhereTheStreamEnded(stream: String, end: EventStreamEnd) async throws {
        var events = ScriptedBytes([Array(stream.utf8)]).serverSentEvents().makeAsyncIterator()
        #expect(events.end == nil)
        _ = try await events.all()
        #expect(events.end == end)
        #expect(try await events.next() == nil)
        #expect(events.end == end)
    }

    @Test func readsChunksOfAnyKind() async throws {
        let stream = Array("data: a\n\ndata: b\n\n".utf8)
        let halves = [stream[..<12], stream[12...]]
        let data = ["a", "b"]
        #expect(try await ScriptedBytes(halves).serverSentEvents().all().map(\.data) == data)
        #expect(try await ScriptedBytes(halves.map { Array($0) }).serverSentEvents().all().map(\.data) == data)
        let strings = halves.map { String(decoding: $0, as: UTF8.self) }
        #expect(try await ScriptedBytes(strings).map(\.utf8).serverSentEvents().all().map(\.data) == data)
        let sequences = ScriptedBytes(halves).map { AnySequence($0) }
        #expect(try await sequences.serverSentEvents().all().map(\.data) == data)
        let (chunks, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        for half in halves { continuation.yield(Array(half)) }
        continuation.finish()
        #expect(try await chunks.serverSentEvents().all().map(\.data) == data)
    }

    @Test func aSequenceCanBeReadByAnotherTask() async throws {
        let events = ScriptedBytes(Array("data: a\n\n".utf8)).serverSentEvents()
        #expect(try await Task { try await events.all().map(\.data) }.value == ["a"])
        #expect(try await Task { try await events.elements.all().count }.value == 2)
    }
}

extension AsyncServerSentEvents.Iterator {
    /// Every event until the end.
    mutating func all() async throws -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        while let event = try await self.next() { events.append(event) }
        return events
    }
}

extension AsyncSequence {
    /// Every element until the end.
    func all() async throws -> [Element] {
        try await self.reduce(into: []) { $0.append($1) }
    }
}
