// The end of a stream, and the state kept for the next.

import ServerSentEvents
import Testing

@Suite struct EventStreamEndTests {
    @Test(
        arguments: [
            ("", .clean),
            ("\u{FEFF}", .clean),
            ("data: a\n\n", .clean),
            ("data: a\r\r", .clean),
            ("data: a\r\n\r\n", .clean),
            ("data: a\n\n: comment\nunknown: b\nretry: 5\n", .clean),
            ("data: a\n\n: comm", .insideLine(pendingByteCount: 0)),
            ("data: a\n\nda", .insideLine(pendingByteCount: 0)),
            ("data: a\n\ndata: bc", .insideLine(pendingByteCount: 2)),
            ("event: e\nid: 12\ndata: bc\ndata: d", .insideLine(pendingByteCount: 7)),
            ("data: bc\n", .insideEvent(pendingByteCount: 2)),
            ("data: bc\r", .insideEvent(pendingByteCount: 2)),
            ("data\n", .insideEvent(pendingByteCount: 0)),
            ("event: e\n", .insideEvent(pendingByteCount: 1)),
            ("id: 12\n: c\n", .insideEvent(pendingByteCount: 2)),
            ("id: 12\u{0}\n", .clean),
        ] as [(String, EventStreamEnd)])
    func parserReportsWhereTheStreamEnded(stream: String, end: EventStreamEnd) {
        for chunks in Chunking.all(of: Array(stream.utf8)) { #expect(Recording(chunks).end == end) }
    }

    @Test func aByteOrderMarkThatBreaksOffIsALine() {
        #expect(Recording([[0xEF]]).end == .insideLine(pendingByteCount: 0))
        #expect(Recording([[0xEF], [0xBB]]).end == .insideLine(pendingByteCount: 0))
        #expect(Recording([[0xEF], [0xBB], [0xBF]]).end == .clean)
    }

    @Test(arguments: [
        "", "d", "data", "data:", "data: x", "data: x\n", "data: x\r", "event: t\n", "id: 9\n", "id: 9", ": c",
        "retry: 4",
        "unknown: x",
    ])
    func unfinishedEventOfAnEndedStreamIsDiscarded(remainder: String) throws {
        var parser = EventStreamParser()
        _ = try parser.events(in: Array("id: 7\ndata: a\n\n\(remainder)".utf8))
        _ = parser.finish()
        let events = try parser.events(in: Array("\u{FEFF}\ndata: b\n\n".utf8))
        #expect(events == [ServerSentEvent(data: "b", lastEventID: "7")])
    }

    @Test func aResetMayGiveTheLastEventID() throws {
        var parser = EventStreamParser(lastEventID: "first")
        #expect(parser.lastEventID == "first")
        #expect(try parser.events(in: Array("data: a\n\n".utf8)).first?.lastEventID == "first")
        parser.reset(lastEventID: "second")
        #expect(try parser.events(in: Array("data: a\n\n".utf8)).first?.lastEventID == "second")
        parser.reset(lastEventID: "")
        #expect(try parser.events(in: Array("data: a\n\n".utf8)).first?.lastEventID == "")
    }

    @Test func theReconnectionTimeOutlivesTheStream() throws {
        var parser = EventStreamParser()
        #expect(parser.reconnectionTime == nil)
        _ = try parser.events(in: Array("retry: 2500\nretry: x\n".utf8))
        #expect(parser.reconnectionTime == .milliseconds(2500))
        _ = parser.finish()
        #expect(parser.reconnectionTime == .milliseconds(2500))
    }

    @Test func commentsAndReconnectionTimesComeInOrder() {
        let recording = Recording(Chunking.pieces(of: Array(":a\nretry: 1\n:\ndata: x\n\n".utf8), byteCount: 1))
        let event = ServerSentEvent(data: "x")
        #expect(recording.items == [.comment, .reconnectionTime(1), .comment, .event(event.utf8)])
        #expect(recording.offsets == [3, 12, 14, 23])
    }

    @Test func aCopyIsACheckpoint() throws {
        var parser = EventStreamParser()
        _ = try parser.events(in: Array("data: a\ndata: b".utf8))
        var copy = parser
        #expect(try copy.events(in: Array("c\n\n".utf8)) == [ServerSentEvent(data: "a\nbc")])
        #expect(try parser.events(in: Array("d\n\n".utf8)) == [ServerSentEvent(data: "a\nbd")])
    }

    @Test func anySequenceOfBytesCanBeParsed() throws {
        var parser = EventStreamParser()
        let text = "data: a\n\ndata: b\n\n"
        #expect(try parser.events(in: text.utf8).map(\.data) == ["a", "b"])
        #expect(try parser.events(in: Array(text.utf8)[9...]).map(\.data) == ["b"])
        #expect(try parser.events(in: AnySequence(text.utf8)).map(\.data) == ["a", "b"])
        #expect(try parser.events(in: text.utf8.lazy.map { $0 }).map(\.data) == ["a", "b"])
    }
}
