// Comments, reconnection times and the end as elements.

import ServerSentEvents
import Testing

@Suite struct AsyncEventStreamElementsTests {
    @Test(arguments: EventStreamVector.own)
    func elementsEqualTheParsersItems(_ vector: EventStreamVector) async throws {
        for chunks in Chunking.all(of: vector.input) {
            let recording = Recording(chunks)
            var elements = ScriptedBytes(chunks).serverSentEvents().elements.makeAsyncIterator()
            for item in recording.items { #expect(try await elements.next()?.recorded == item) }
            #expect(try await elements.next() == .end(recording.end))
            #expect(try await elements.next() == nil)
            #expect(Array(elements.lastEventID.utf8) == recording.lastEventID)
        }
    }

    @Test func comesInTheOrderOfTheStream() async throws {
        let stream = ": a\nretry: 250\ndata: x\n: b\n\nretry: 1\n"
        let elements = try await ScriptedBytes(Array(stream.utf8)).serverSentEvents().elements.all()
        #expect(
            elements == [
                .comment, .reconnectionTime(.milliseconds(250)), .comment, .event(ServerSentEvent(data: "x")),
                .reconnectionTime(.milliseconds(1)), .end(.clean),
            ])
    }

    @Test func aStreamThatFailsHasNoEnd() async throws {
        let chunks = ScriptedBytes([Array(": a\ndata: b\n".utf8)], failure: ScriptedFailure(code: 3))
        var elements = chunks.serverSentEvents().elements.makeAsyncIterator()
        #expect(try await elements.next() == .comment)
        await #expect(throws: ScriptedFailure(code: 3)) { try await elements.next() }
        #expect(try await elements.next() == nil)
        #expect(chunks.log.requestCount == 2)
    }

    @Test func aStreamThatBreaksTheLimitHasNoEnd() async throws {
        let chunks = ScriptedBytes([Array(": a\nretry: 4\ndata: bc\n\n".utf8)])
        var elements = chunks.serverSentEvents(maximumEventByteCount: 1).elements.makeAsyncIterator()
        #expect(try await elements.next() == .comment)
        #expect(try await elements.next() == .reconnectionTime(.milliseconds(4)))
        await #expect(throws: EventStreamError.eventTooLarge(maximumByteCount: 1, byteOffset: 20)) {
            try await elements.next()
        }
        #expect(try await elements.next() == nil)
    }

    @Test func theLastEventIDIsNeverAheadOfTheElementsThatWereTaken() async throws {
        let chunks = ScriptedBytes(["id: 1\n\n", ": a\nid: 2\ndata: b\n\n: c\nid: 3\n\n: d\n"].map { Array($0.utf8) })
        var elements = chunks.serverSentEvents(lastEventID: "0").elements.makeAsyncIterator()
        var identifiers = [elements.lastEventID]
        while try await elements.next() != nil { identifiers.append(elements.lastEventID) }
        // A comment does not carry the ID before it, until it is the last element.
        #expect(identifiers == ["0", "1", "2", "2", "3", "3"])
    }
}

extension EventStreamElement {
    /// The element as the recordings of the parser have it; nil for the end.
    fileprivate var recorded: RecordedItem? {
        switch self {
        case .event(let event): .event(event.utf8)
        case .reconnectionTime(let time):
            .reconnectionTime(
                Int(time.components.seconds) * 1_000 + Int(time.components.attoseconds / 1_000_000_000_000_000))
        case .comment: .comment
        case .end: nil
        }
    }
}
