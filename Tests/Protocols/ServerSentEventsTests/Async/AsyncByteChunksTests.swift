// Single bytes to chunks: no byte is lost, and none waits behind a line terminator.

import ServerSentEvents
import Testing

@Suite struct AsyncByteChunksTests {
    @Test func aLongLineIsReadInPieces() async throws {
        for byteCount in [1_000, 1_023, 1_024, 1_025, 5_000] {
            let data = String(repeating: "x", count: byteCount)
            let events = ScriptedBytes(Array("data: \(data)\n\n: \(data)\ndata: a\r\n\r\n".utf8)).serverSentEvents()
            #expect(try await events.all().map(\.data) == [data, "a"])
        }
    }

    @Test func anEndlessLineMeetsTheLimit() async throws {
        let bytes = ScriptedBytes(Array("data: ".utf8) + Array(repeating: UInt8(ascii: "x"), count: 10_000))
        var events = bytes.serverSentEvents(maximumEventByteCount: 2_000).makeAsyncIterator()
        await #expect(throws: EventStreamError.eventTooLarge(maximumByteCount: 2_000, byteOffset: 2_006)) {
            try await events.next()
        }
        // Noticed with the piece in which it is, not at the end.
        #expect(bytes.log.requestCount == 2_048)
    }

    @Test func theBaseIsNotAskedAgainAfterItsEnd() async throws {
        let bytes = ScriptedBytes(Array("data: a".utf8))
        var events = bytes.serverSentEvents().makeAsyncIterator()
        #expect(try await events.next() == nil)
        #expect(events.end == .insideLine(pendingByteCount: 1))
        #expect(try await events.next() == nil)
        #expect(bytes.log.requestCount == 8)
    }
}
