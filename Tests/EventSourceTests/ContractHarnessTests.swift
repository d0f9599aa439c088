// The cases that LaunchDarkly's test harness for clients of event streams has (github.com/launchdarkly/
// sse-contract-tests), as a table: the pieces of a stream, and the events that they make.

import ServerSentEvents
import StreamTransport
import Testing

@testable import EventSource

@Suite struct ContractHarnessTests {
    /// One case: the name that the harness gives it, the stream in pieces, and its events.
    struct Stream: CustomTestStringConvertible, Sendable {
        let name: String
        let pieces: [[UInt8]]
        let events: [ServerSentEvent]

        init(_ name: String, _ pieces: [String], _ events: [ServerSentEvent]) {
            self.init(name, bytes: pieces.map { Array($0.utf8) }, events)
        }

        init(_ name: String, bytes pieces: [[UInt8]], _ events: [ServerSentEvent]) {
            self.name = name
            self.pieces = pieces
            self.events = events
        }

        var testDescription: String { self.name }
    }

    private static func message(_ data: String, id: String = "") -> ServerSentEvent {
        ServerSentEvent(data: data, lastEventID: id)
    }

    private static let large = String(repeating: "0123456789", count: 10_000)
    private static let markBytes: [UInt8] = [0xEF, 0xBB, 0xBF]

    static let parsing: [Stream] = [
        Stream("one-line message in one chunk", ["data: Hello\n\n"], [message("Hello")]),
        Stream(
            "two messages spanning 3 chunks with shared chunk", ["data: Hel", "lo\n\ndata: Wor", "ld\n\n"],
            [message("Hello"), message("World")]),
        Stream("large message in one chunk", ["data: \(large)\n\n"], [message(large)]),
        Stream(
            "large message in two chunks", ["data: \(large.prefix(50_000))", "\(large.suffix(50_000))\n\n"],
            [message(large)]),
        Stream("one-line message in two chunks", ["data: Hel", "lo\n\n"], [message("Hello")]),
        Stream(
            "two one-line messages in one chunk", ["data: Hello\n\ndata: World\n\n"],
            [message("Hello"), message("World")]),
        Stream("one two-line message in one chunk", ["data: Hello\ndata: World\n\n"], [message("Hello\nWorld")]),
        Stream("empty data", ["data:\n\n", "data\n\n"], [message(""), message("")]),
        Stream("event with specific type", ["event: a\ndata: b\n\n"], [ServerSentEvent(type: "a", data: "b")]),
        Stream("default event type", ["data: b\n\n"], [ServerSentEvent(type: "message", data: "b")]),
        Stream("event with ID", ["id: 1\ndata: b\n\n"], [message("b", id: "1")]),
        Stream(
            "event with type and ID", ["event: a\nid: 1\ndata: b\n\n"],
            [ServerSentEvent(type: "a", data: "b", lastEventID: "1")]),
        Stream("ID field is ignored if it contains a null", ["id: a\0b\ndata: c\n\n"], [message("c")]),
        Stream(
            "last ID persists if not overridden by later event", ["id: 1\ndata: a\n\n", "data: b\n\n"],
            [message("a", id: "1"), message("b", id: "1")]),
        Stream(
            "last ID can be overridden by an empty value", ["id: 1\ndata: a\n\n", "id:\ndata: b\n\n"],
            [message("a", id: "1"), message("b")]),
        Stream(
            "fields in reverse order", ["data: b\nid: 1\nevent: a\n\n"],
            [ServerSentEvent(type: "a", data: "b", lastEventID: "1")]),
        Stream("unknown field is ignored", ["color: blue\ndata: a\n\n"], [message("a")]),
        Stream(
            "fields without leading space", ["event:a\nid:1\ndata:b\n\n"],
            [ServerSentEvent(type: "a", data: "b", lastEventID: "1")]),
        Stream(
            "fields with extra leading space", ["event:  a\nid:  1\ndata:  b\n\n"],
            [ServerSentEvent(type: " a", data: " b", lastEventID: " 1")]),
        Stream("field with no colon", ["data\ndata: a\nevent\n\n"], [message("\na")]),
        Stream("multi-byte characters", ["data: €豆腐🚀\n\n"], [message("€豆腐🚀")]),
        Stream(
            "multi-byte characters sent in single-byte pieces", bytes: Array("data: €豆腐🚀\n\n".utf8).map { [$0] },
            [message("€豆腐🚀")]),
        Stream(
            "many messages in rapid succession", (0..<500).map { "data: \($0)\n\n" },
            (0..<500).map { message("\($0)") }),
    ]

    static let marks: [Stream] = [
        Stream("BOM at start of stream is stripped", ["\u{FEFF}data: a\n\n"], [message("a")]),
        Stream(
            "BOM stripped before first event with type and ID", ["\u{FEFF}event: a\nid: 1\ndata: b\n\n"],
            [ServerSentEvent(type: "a", data: "b", lastEventID: "1")]),
        Stream(
            "BOM stripped with multiple messages", ["\u{FEFF}data: a\n\ndata: b\n\n"], [message("a"), message("b")]),
        Stream(
            "BOM only stripped at stream start, not from later data", ["data: a\n\n", "data: \u{FEFF}b\n\n"],
            [message("a"), message("\u{FEFF}b")]),
        Stream(
            "BOM split across first two chunks", bytes: [[0xEF, 0xBB], [0xBF] + Array("data: a\n\n".utf8)],
            [message("a")]),
        Stream(
            "BOM split byte by byte across chunks", bytes: markBytes.map { [$0] } + [Array("data: a\n\n".utf8)],
            [message("a")]),
        // The rest of the second mark is the beginning of an unknown field's name.
        Stream("only first BOM at start is stripped", ["\u{FEFF}\u{FEFF}data: a\n\ndata: b\n\n"], [message("b")]),
        Stream("BOM with multi-line data", ["\u{FEFF}data: a\ndata: b\n\n"], [message("a\nb")]),
        Stream("BOM with comment at start", ["\u{FEFF}: c\ndata: a\n\n"], [message("a")]),
        Stream("BOM does not affect empty data field", ["\u{FEFF}data:\n\n"], [message("")]),
    ]

    static let comments: [Stream] = [
        Stream("single comment", [": hello\n"], []),
        Stream("two comments in a row", [": hello\n: world\n"], []),
        Stream("comment before event", [": hello\ndata: a\n\n"], [message("a")]),
        Stream("comment after event", ["data: a\n\n", ": hello\n"], [message("a")]),
    ]

    @Test(arguments: Self.parsing + Self.marks + Self.comments)
    func streamMakesTheEvents(_ stream: Stream) {
        var fixture = SessionFixture.open()
        for piece in stream.pieces { fixture.receive(piece) }
        #expect(fixture.events == stream.events)
    }

    // MARK: Line ends

    static let lines: [(name: String, text: String, data: [String])] = [
        ("one-line event", "data: a\n\n", ["a"]),
        ("one-line event + two-line event", "data: a\n\ndata: b\ndata: c\n\n", ["a", "b\nc"]),
        ("3-line event with empty line at beginning", "data:\ndata: a\ndata: b\n\n", ["\na\nb"]),
        ("3-line event with empty line in middle", "data: a\ndata:\ndata: b\n\n", ["a\n\nb"]),
        ("ignores 1 extra empty line", "data: a\n\n\ndata: b\n\n", ["a", "b"]),
        ("ignores 2 extra empty lines", "data: a\n\n\n\ndata: b\n\n", ["a", "b"]),
    ]

    @Test(arguments: Self.lines.indices, ["\n", "\r\n", "\r"])
    func lineEndsAreAlike(_ index: Int, _ terminator: String) {
        let line = Self.lines[index]
        let bytes = Array(line.text.replacing("\n", with: terminator).utf8)
        for size in [bytes.count, 1, 2] {
            var fixture = SessionFixture.open()
            for start in stride(from: 0, to: bytes.count, by: size) {
                fixture.receive(Array(bytes[start..<min(start + size, bytes.count)]))
            }
            #expect(fixture.events.map(\.data) == line.data, "\(line.name)")
        }
    }

    @Test func carriageReturnAtTheEndOfAChunkBelongsToTheLineFeedBehindIt() {
        var fixture = SessionFixture.open()
        for piece in ["data: a\r", "\ndata: b\r", "\n\r", "\ndata: c\r\n\r\n"] { fixture.receive(piece) }
        #expect(fixture.events.map(\.data) == ["a\nb", "c"])
    }

    // MARK: HTTP

    @Test(arguments: [301, 307])
    func redirectsAreFollowed(_ statusCode: Int) {
        var fixture = SessionFixture()
        _ = fixture.session.start()
        let next = fixture.session.head(.answer(statusCode, "Location", "http://b.test:81/other"))
        #expect(
            next.exchange?.endpoint == TransportEndpoint(isSecure: false, host: "b.test", port: 81, target: "/other"))
        #expect(fixture.session.head(.events) == .readEvents)
    }

    @Test(arguments: [301, 307], [nil, ""])
    func redirectsToNowhereAreErrors(_ statusCode: Int, _ location: String?) {
        var fixture = SessionFixture()
        _ = fixture.session.start()
        #expect(
            fixture.session.head(.answer(statusCode, "Location", location))
                == .fail(.redirect(.locationMissing, statusCode: statusCode)))
    }

    @Test(arguments: ["POST", "REPORT"])
    func methodAndContentAreSent(_ method: String) {
        let request = EventSourceSession.Exchange(
            method: method, endpoint: SessionFixture.endpoint, fields: [HTTPField("Content-Type", "application/json")],
            body: Array("{\"hello\": \"world\"}".utf8))
        var fixture = SessionFixture(request)
        #expect(fixture.session.start() == .connect(request))
    }

    // MARK: Reconnections

    @Test func lastIDOfAnEventWithOneIsSent() {
        var fixture = SessionFixture.open()
        fixture.receive("id: abc\ndata: a\n\ndata: b\n\n")
        #expect(fixture.reconnect()?.value(of: "Last-Event-ID") == "abc")
    }

    @Test func contentIsSentAgainWhereThatIsAllowed() {
        let request = EventSourceSession.Exchange(
            method: "POST", endpoint: SessionFixture.endpoint, body: Array("{}".utf8))
        var fixture = SessionFixture.open(request) { $0.reconnection.resending = .always }
        #expect(fixture.reconnect() == request)
    }

    @Test func newConnectionWorks() {
        var fixture = SessionFixture.open()
        fixture.receive("id: abc\ndata: a\n\nid: def\ndata: cut")
        #expect(fixture.reconnect() != nil)
        _ = fixture.session.head(.events)
        fixture.receive("data: b\n\nid: ghi\ndata: c\n\n")
        #expect(fixture.events.map(\.data) == ["a", "b", "c"])
        #expect(fixture.events.map(\.lastEventID) == ["abc", "abc", "ghi"])
    }
}
