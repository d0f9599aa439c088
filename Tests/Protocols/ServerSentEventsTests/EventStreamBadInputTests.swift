// Streams of malicious servers: without an end, with only terminators, and broken at every place.

import ServerSentEvents
import Testing

/// The number of bytes for which an endless stream is read: a gigabyte, or less without optimisation.
#if DEBUG
    private let endlessByteCount = 1 << 19
#else
    private let endlessByteCount = 1 << 30
#endif

@Suite struct EventStreamBadInputTests {
    /// The repeated bytes, and the bytes before them.
    struct Endless: CustomStringConvertible, Sendable {
        let description: String
        let start: String
        let repeated: String
        /// The number of events for each repetition.
        var eventCount = 0
        /// The end of the stream when it breaks off.
        var end = EventStreamEnd.clean

        init(
            _ description: String, start: String = "", _ repeated: String, eventCount: Int = 0,
            end: EventStreamEnd = .clean
        ) {
            self.description = description
            self.start = start
            self.repeated = repeated
            self.eventCount = eventCount
            self.end = end
        }
    }

    @Test(arguments: [
        Endless("CR", "\r"),
        Endless("LF", "\n"),
        Endless("CRLF", "\r\n"),
        Endless("LFCR", "\n\r"),
        Endless("CR behind data", start: "data\n\n", "\r"),
        Endless("comments", ":\r"),
        Endless("a comment", start: ":", "\u{0} : data: x", end: .insideLine(pendingByteCount: 0)),
        Endless("an unknown field", start: "datum: ", "x:", end: .insideLine(pendingByteCount: 0)),
        Endless("an unknown field without a value", "x", end: .insideLine(pendingByteCount: 0)),
        Endless("unknown fields", "dat\nx: y\nretry:\nretry: z\n"),
        Endless("a NUL", "\u{0}", end: .insideLine(pendingByteCount: 0)),
        Endless("an ID that a NUL voids", start: "id: \u{0}", "x", end: .insideLine(pendingByteCount: 0)),
        Endless("IDs that a NUL voids", "id: 123\u{0}45\n"),
        Endless("a reconnection time that is too long", start: "retry: ", "9", end: .insideLine(pendingByteCount: 0)),
        Endless("types, each in place of the one before", "event: 123\n", end: .insideEvent(pendingByteCount: 3)),
        Endless("IDs, each in place of the one before", "id: 123\n", end: .insideEvent(pendingByteCount: 3)),
        Endless("blocks without data", "event: 1\nid: 2\n\n"),
        Endless("the smallest events", "data\n\n", eventCount: 1),
        Endless("byte order marks", start: "\u{FEFF}", "\u{FEFF}", end: .insideLine(pendingByteCount: 0)),
        Endless("byte order marks on lines", start: "\n", "\u{FEFF}data: x\n"),
    ])
    func endlessInputThatBuffersNoEventStaysWithinTheLimit(_ stream: Endless) throws {
        var parser = EventStreamParser(maximumEventByteCount: 16)
        var counter = EventCounter()
        try counter.feed(Array(stream.start.utf8), to: &parser)
        let unit = Array(stream.repeated.utf8)
        let count = 65_536 / unit.count
        let chunk = Array(repeatElement(unit, count: count).joined())
        let startEventCount = counter.eventCount
        let chunkCount = endlessByteCount / chunk.count
        for _ in 0..<chunkCount { try counter.feed(chunk, to: &parser) }
        #expect(counter.eventCount == startEventCount + stream.eventCount * count * chunkCount)
        #expect(parser.finish() == stream.end)
        try Self.expectUsable(&parser)
    }

    /// The bytes that are repeated until the limit of 64 KiB, the bytes before them, and the place of the error.
    struct Refused: CustomStringConvertible, Sendable {
        let description: String
        let start: String
        let repeated: String
        let byteOffset: Int

        init(_ description: String, start: String = "", _ repeated: String, byteOffset: Int) {
            self.description = description
            self.start = start
            self.repeated = repeated
            self.byteOffset = byteOffset
        }
    }

    @Test(arguments: [
        Refused("a data line", start: "data:", "x", byteOffset: 5 + (1 << 16)),
        Refused("a data line of spaces", start: "data:", " ", byteOffset: 6 + (1 << 16)),
        Refused("a type", start: "event:", "\u{0}", byteOffset: 6 + (1 << 16)),
        Refused("an ID", start: "id:", "x", byteOffset: 3 + (1 << 16)),
        // The first line adds no byte, and each later one the LF between two values.
        Refused("data lines without a value", "data\n", byteOffset: 5 * ((1 << 16) + 1) + 4),
        Refused("data lines without a colon that end in CR", "data\r", byteOffset: 5 * ((1 << 16) + 1) + 4),
        // Each line after the first adds its LF, which is charged to the colon, and its value.
        Refused("short data lines", "data:x\n", byteOffset: 7 * (1 << 15) + 5),
        Refused("short data lines that end in CRLF", "data: x\r\n", byteOffset: 9 * (1 << 15) + 6),
    ])
    func bufferedDataTypeAndIDFailAtTheEventLimit(_ stream: Refused) throws {
        let error = EventStreamError.eventTooLarge(maximumByteCount: 1 << 16, byteOffset: stream.byteOffset)
        let repeatCount = stream.byteOffset / stream.repeated.utf8.count + 10
        let input = Array((stream.start + String(repeating: stream.repeated, count: repeatCount)).utf8)
        for byteCount in [37, 1_460, 65_536, input.count] {
            var parser = EventStreamParser(maximumEventByteCount: 1 << 16)
            var counter = EventCounter()
            #expect(throws: error) {
                for chunk in Chunking.pieces(of: input, byteCount: byteCount) {
                    try counter.feed(Array(chunk), to: &parser)
                }
            }
            #expect(counter.eventCount == 0)
            #expect(parser.finish() == .insideLine(pendingByteCount: 1 << 16))
            try Self.expectUsable(&parser)
        }
    }

    @Test(arguments: ["\n", "\r", "\r\n"])
    func oneGiantChunkIsLikeManySmallOnes(_ terminator: String) throws {
        let unit = Array("event: t\(terminator)data: 0123456789\(terminator)\(terminator)".utf8)
        let count = endlessByteCount / 8 / unit.count
        let stream = Array(repeatElement(unit, count: count).joined())
        for last in ["", "\r", "\n", ":", "data"] {
            var parser = EventStreamParser()
            var counter = EventCounter()
            try counter.feed(stream + Array(last.utf8), to: &parser)
            #expect(counter.eventCount == count)
            #expect(counter.dataByteCount == 10 * count)
        }
    }

    @Test func giantEventInOneChunkIsReadUpToTheLimit() throws {
        let lineCount = endlessByteCount / 64 / 8
        let line = Array("data: x\n".utf8)
        var stream = Array(repeatElement(line, count: lineCount).joined())
        stream.append(0x0A)
        var parser = EventStreamParser(maximumEventByteCount: 2 * lineCount - 1)
        var counter = EventCounter()
        try counter.feed(stream, to: &parser)
        #expect(counter.eventCount == 1)
        #expect(counter.dataByteCount == 2 * lineCount - 1)
        var smaller = EventStreamParser(maximumEventByteCount: 2 * lineCount - 2)
        #expect(
            throws: EventStreamError.eventTooLarge(
                maximumByteCount: 2 * lineCount - 2, byteOffset: 8 * lineCount - 2)
        ) { try counter.feed(stream, to: &smaller) }
    }

    @Test(
        arguments: [
            [0x00], [0x00, 0xCC, 0x81], [0xEF, 0xBB, 0xBF], [0xEF, 0xBB, 0xBF, 0xEF, 0xBB, 0xBF], [0xEF, 0xBB], [0xEF],
            [0xFF], [0x80], [0xC0, 0x80], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x98],
            [0xF4, 0x90, 0x80, 0x80],
            [0xF8, 0x88, 0x80, 0x80, 0x80], [0xC2, 0x85], [0xE2, 0x80, 0xA8], [0x0B], [0x0D], [0x0A], [0x0D, 0x0A],
            [0x3A],
            [0x20],
        ] as [[UInt8]])
    func bytesInsertedAnywhereAreParsedAsBySpecification(_ bytes: [UInt8]) {
        let stream = Array("\u{FEFF}id: 1\r\nevent: t\ndata: a\u{E9}\ndata\n\n:c\rretry: 25\rdata:\u{1F642}\r\r".utf8)
        for place in 0...stream.count {
            let input = ArraySlice(Array(stream[..<place]) + bytes + Array(stream[place...]))
            let expected = SpecificationParser.parse(Array(input))
            let cuts = [place, place + 1, place + bytes.count].filter { $0 <= input.count }
            let halves = cuts.map { [input[..<$0], [], input[$0...]] }
            for chunks in [[input], Chunking.pieces(of: Array(input), byteCount: 1)] + halves {
                let recording = Recording(chunks)
                #expect(recording.items == expected.items, "\(bytes) at \(place), cut into \(chunks.map(\.count))")
                #expect(recording.lastEventID == expected.lastEventID)
                #expect(recording.end.withoutCount == expected.end)
            }
        }
    }

    @Test func anyLeadingBytesAreParsedAsBySpecification() {
        for first in UInt8.min...UInt8.max {
            for second in [0x00, 0x0A, 0x0D, 0x20, 0x3A, 0x61, 0xBB, 0xFF] as [UInt8] {
                let stream = [first, second, first, 0x0A] + Array("data: x\n\n".utf8)
                let expected = SpecificationParser.parse(stream)
                #expect(Recording([stream]).items == expected.items)
                #expect(Recording(Chunking.pieces(of: stream, byteCount: 1)).items == expected.items)
            }
        }
    }

    /// Expects that no state of a bad stream is left when the next one begins.
    private static func expectUsable(
        _ parser: inout EventStreamParser, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        parser.reset(lastEventID: "7")
        let events = try parser.events(in: Array("\u{FEFF}data: 123456789012345\n\n".utf8))
        let expected = ServerSentEvent(data: "123456789012345", lastEventID: "7")
        #expect(events == [expected], sourceLocation: sourceLocation)
        #expect(parser.finish() == .clean, sourceLocation: sourceLocation)
    }
}

/// Counts the items of a parser, without copying them.
private struct EventCounter {
    private(set) var eventCount = 0
    private(set) var dataByteCount = 0

    mutating func feed(_ chunk: [UInt8], to parser: inout EventStreamParser) throws(EventStreamError) {
        try parser.parse(chunk.span) { item in
            guard case .event(_, let data, _) = item else { return }
            self.eventCount += 1
            self.dataByteCount += data.count
        }
    }
}
