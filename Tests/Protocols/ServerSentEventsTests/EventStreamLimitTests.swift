// The limit: at it, below it, above it, by every field, and the same byte offset however the stream is cut.

import ServerSentEvents
import Testing

@Suite struct EventStreamLimitTests {
    /// A stream, and the number of bytes that its first event needs.
    struct Case: CustomStringConvertible, Sendable {
        let description: String
        let stream: String
        let byteCount: Int

        init(_ stream: String, byteCount: Int) {
            self.description = stream.debugDescription
            self.stream = stream
            self.byteCount = byteCount
        }
    }

    @Test(arguments: [
        Case("data: 0123456789\n\n", byteCount: 10),
        Case("data:0123456789\r\r", byteCount: 10),
        Case("data: 012345678\n\n", byteCount: 9),
        Case("data: 0123\ndata: 56789\n\n", byteCount: 10),
        Case("data: 01234\r\ndata: 6789\r\n\r\n", byteCount: 10),
        Case("data\ndata\ndata\ndata\n\n", byteCount: 3),
        Case("event: 01234\ndata: 56789\n\n", byteCount: 10),
        Case("event: 012345678\nevent: 01234\ndata: 56789\n\n", byteCount: 10),
        Case("id: 0\nevent: 1234\ndata: 56789\n\n", byteCount: 10),
        Case("id: 0\nid: 12345\ndata: 67890\n\n", byteCount: 10),
        Case("id: 0123456\u{0}7\ndata: 0123456789\n\n", byteCount: 10),
        Case(": 0123456789abcdef\nunknown: 0123456789abcdef\nretry: 000000000001\ndata: 0\n\n", byteCount: 1),
        Case("data:\n\n", byteCount: 0),
    ])
    func admitsAnEventAtTheLimitAndBelow(_ example: Case) {
        let stream = Array(example.stream.utf8)
        for chunks in Chunking.all(of: stream) {
            for limit in [10, 11, .max] {
                let recording = Recording(chunks, parser: EventStreamParser(maximumEventByteCount: limit))
                #expect(recording.error == nil)
                #expect(recording.events.count == 1)
            }
            if example.byteCount == 10 {
                let recording = Recording(chunks, parser: EventStreamParser(maximumEventByteCount: 9))
                #expect(recording.error != nil)
                #expect(recording.events.isEmpty)
            }
        }
    }

    @Test(arguments: [
        ("data: 0123456789a\n\n", 16),
        ("data:0123456789a", 15),
        ("data: 0123\ndata: 56789a\n\n", 22),
        ("data: 012345678\ndata: a\n\n", 22),
        ("data: 0123456789\ndata\n\n", 21),
        ("data: 0123456789\ndata: x\n\n", 21),
        ("data: 0123456789\r\ndata:\r\n\r\n", 22),
        ("event: 01234\ndata: 56789a\n\n", 24),
        ("event: 0123456789a\n\n", 17),
        ("id: 0123456789a\n\n", 14),
        ("id: 0123456789a\u{0}\n\n", 14),
        ("id: 01234\nid: 0123456789\n\n", 19),
        ("data: 01234\nid: 567\nevent: 89a\n\n", 29),
    ])
    func refusesAnEventAboveTheLimitAtTheFirstByteThatDoesNotFit(stream: String, offset: Int) {
        let kept = Array("data: kept\n\n: kept\n".utf8)
        let bytes = kept + Array(stream.utf8)
        for chunks in Chunking.all(of: bytes) {
            let recording = Recording(chunks, parser: EventStreamParser(maximumEventByteCount: 10))
            #expect(
                recording.error == .eventTooLarge(maximumByteCount: 10, byteOffset: kept.count + offset),
                "cut into \(chunks.map(\.count))")
            #expect(recording.events.map(\.data) == [Array("kept".utf8)])
            #expect(recording.items.count == 2)
            #expect(recording.end == .insideLine(pendingByteCount: 10))
        }
    }

    @Test(arguments: [
        ("data: 0123456789\nevent: 0123456789\nid: 0123456789\ndata: 0123456789\n\n", nil),
        ("data:0123456789\ndata:0123456789a\n\n", 31),
        ("data: 0123456789a\n\n", 16),
        ("event: t\ndata: 0123456789a\n\n", 25),
        ("event: 0123456789a\ndata: x\n\n", 17),
        ("event: 1\nevent: 0123456789a\n\n", 26),
        ("id: 0123456789a\n\n", 14),
        (": 0123456789abcdef\nother: 0123456789abcdef\nretry: 00000000000001\ndata: 1\n\n", nil),
    ])
    func aLineHasALimitOfItsOwn(stream: String, offset: Int?) {
        let kept = Array("data: kept\n\n".utf8)
        let bytes = kept + Array(stream.utf8)
        for chunks in Chunking.all(of: bytes) {
            let parser = EventStreamParser(maximumEventByteCount: 1_000, maximumLineByteCount: 10)
            let recording = Recording(chunks, parser: parser)
            let error = offset.map {
                EventStreamError.lineTooLong(maximumByteCount: 10, byteOffset: kept.count + $0)
            }
            #expect(recording.error == error, "cut into \(chunks.map(\.count))")
            #expect(recording.events.count == (error == nil ? 2 : 1))
        }
    }

    /// The error names the limit that a caller would have to raise.
    @Test(arguments: [(9, 10, true), (10, 10, true), (11, 10, false), (1_000, -1, false)])
    func theSmallerLimitIsNamed(event: Int, line: Int, isEvent: Bool) {
        let stream = Array("data: 0123456789ab\n\n".utf8)
        for chunks in Chunking.all(of: stream) {
            let parser = EventStreamParser(maximumEventByteCount: event, maximumLineByteCount: line)
            let limit = max(0, min(event, line))
            #expect(
                Recording(chunks, parser: parser).error
                    == (isEvent
                        ? .eventTooLarge(maximumByteCount: limit, byteOffset: 6 + limit)
                        : .lineTooLong(maximumByteCount: limit, byteOffset: 6 + limit)))
        }
    }

    @Test func aLimitIsForOneEvent() {
        let stream = Array(String(repeating: "event: 12\nid: 3\ndata: 4567890\n\n", count: 100).utf8)
        let recording = Recording([stream], parser: EventStreamParser(maximumEventByteCount: 10))
        #expect(recording.error == nil)
        #expect(recording.events.count == 100)
    }

    @Test func aNegativeLimitIsZero() {
        var parser = EventStreamParser(maximumEventByteCount: -1)
        #expect(throws: Never.self) { try parser.events(in: Array("data:\n\n".utf8)) }
        #expect(throws: EventStreamError.eventTooLarge(maximumByteCount: 0, byteOffset: 12)) {
            try parser.events(in: Array("data:x".utf8))
        }
    }

    @Test func anErrorStaysUntilTheParserIsReset() throws {
        var parser = EventStreamParser(maximumEventByteCount: 4)
        _ = try parser.events(in: Array("id: 7\ndata: a\n\n".utf8))
        let error = EventStreamError.eventTooLarge(maximumByteCount: 4, byteOffset: 25)
        #expect(throws: error) { try parser.events(in: Array("data: bcdef\n\n".utf8)) }
        #expect(throws: error) { try parser.events(in: Array("data: a\n\n".utf8)) }
        #expect(parser.lastEventID == "7")
        parser.reset()
        let events = try parser.events(in: Array("\u{FEFF}data: gh\n\n".utf8))
        #expect(events == [ServerSentEvent(data: "gh", lastEventID: "7")])
    }

    @Test func theEventsBeforeAnErrorAreKept() {
        var parser = EventStreamParser(maximumEventByteCount: 4)
        var events: [ServerSentEvent] = []
        #expect(throws: EventStreamError.self) {
            try parser.parse(Array("data: a\n\ndata: bcdef\n\n".utf8), appendingTo: &events)
        }
        #expect(events == [ServerSentEvent(data: "a")])
    }

    @Test func errorDescriptionNamesLimitAndByteOffset() {
        let error = EventStreamError.eventTooLarge(maximumByteCount: 10, byteOffset: 35)
        #expect("\(error)" == "an event is larger than the limit of 10 bytes (at byte 35 of the stream)")
        let line = EventStreamError.lineTooLong(maximumByteCount: 10, byteOffset: 35)
        #expect("\(line)" == "a line is longer than the limit of 10 bytes (at byte 35 of the stream)")
    }
}
