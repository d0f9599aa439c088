// The cases that LaunchDarkly's test harness for clients of event streams has (github.com/launchdarkly/
// sse-contract-tests), over real sockets: streams as tables, each with the events that it makes, and a test for each
// case about requests. Comments are expected to make no event: an event source does not report them.

import EventSource
import Foundation
import StreamTransport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ContractHarnessTests {
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

    private static let markBytes: [UInt8] = [0xEF, 0xBB, 0xBF]

    static let parsing: [Stream] = [
        Stream("one-line message in one chunk", ["data: Hello\n\n"], [message("Hello")]),
        Stream(
            "two messages spanning 3 chunks with shared chunk", ["data: Hel", "lo\n\ndata: Wor", "ld\n\n"],
            [message("Hello"), message("World")]),
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
        Stream("field with no colon", ["data\n\ndata\ndata\n\n"], [message(""), message("\n")]),
        Stream("fields with and without a colon", ["data\ndata: a\nevent\n\n"], [message("\na")]),
        Stream("multi-byte characters", ["data: €豆腐🚀\n\n"], [message("€豆腐🚀")]),
        Stream(
            "multi-byte characters sent in single-byte pieces", bytes: Array("data: €豆腐🚀\n\n".utf8).map { [$0] },
            [message("€豆腐🚀")]),
        Stream(
            "many messages in rapid succession", [(0..<500).map { "data: \($0)\n\n" }.joined()],
            (0..<500).map { message("\($0)") }),
    ]

    static let marks: [Stream] = [
        Stream("no BOM", ["event: a\nid: 1\ndata: b\n\n"], [ServerSentEvent(type: "a", data: "b", lastEventID: "1")]),
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
        Stream("only first BOM at start is stripped", ["\u{FEFF}data: \u{FEFF}a\n\n"], [message("\u{FEFF}a")]),
        // The second mark is the beginning of an unknown field's name.
        Stream("two BOMs at start", ["\u{FEFF}\u{FEFF}data: a\n\ndata: b\n\n"], [message("b")]),
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

    /// Sends a stream in pieces, each of which the client receives by itself, and returns the events.
    private static func events(of pieces: [[UInt8]]) async throws -> [ServerSentEvent] {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL).reading()
        let request = try await server.request()
        request.openStream()
        for piece in pieces {
            if pieces.count > 1 { try await RawServer.fence() }
            await DispatchQueue.global().blocking { request.peer.write(piece) }
        }
        request.peer.close()
        try await server.request().answer("204 No Content")
        let result = await outcome.value
        #expect(result.error == nil)
        return result.events
    }

    @Test(arguments: Self.parsing + Self.marks + Self.comments)
    func streamMakesTheEvents(_ stream: Stream) async throws {
        #expect(try await Self.events(of: stream.pieces) == stream.events)
    }

    /// The data is 5 MiB or more for each piece, as in the harness.
    @Test(arguments: [1, 2])
    func largeMessageIsDelivered(pieceCount: Int) async throws {
        let part = (0..<800_000).map { String($0) }.joined(separator: ",")
        try #require(part.utf8.count >= 5 << 20)
        let pieces = [Array("data: \(part)".utf8)] + Array(repeating: Array(part.utf8), count: pieceCount - 1)
        let events = try await Self.events(of: pieces.dropLast() + [pieces[pieceCount - 1] + Array("\n\n".utf8)])
        // A comparison in the expectation would print both texts.
        let isWhole = events.map(\.data) == [String(repeating: part, count: pieceCount)]
        #expect(isWhole)
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
    func everyLineTerminatorMakesTheSameEvents(_ index: Int, _ terminator: String) async throws {
        let line = Self.lines[index]
        let bytes = Array(line.text.replacing("\n", with: terminator).utf8)
        for size in [bytes.count, 1, 2] {
            let pieces = stride(from: 0, to: bytes.count, by: size).map {
                Array(bytes[$0..<min($0 + size, bytes.count)])
            }
            #expect(try await Self.events(of: pieces).map(\.data) == line.data, "\(line.name)")
        }
    }

    @Test func carriageReturnAtTheEndOfAChunkBelongsToTheLineFeedBehindIt() async throws {
        let pieces = ["data: a\r", "\ndata: b\r", "\n\r\ndata: c\r", "\n", "\r", "\n"].map { Array($0.utf8) }
        #expect(try await Self.events(of: pieces).map(\.data) == ["a\nb", "c"])
    }

    // MARK: HTTP

    @Test func methodAndFieldsHaveDefaults() async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL).reading()
        let request = try await server.request()
        #expect(request.line == "GET /events?x=1")
        #expect(request.value(of: "Accept") == "text/event-stream")
        #expect(request.value(of: "Cache-Control") == "no-cache")
        #expect(request.value(of: "Last-Event-ID") == nil)
        request.answer("204 No Content")
        #expect(await outcome.value.error == nil)
    }

    @Test func statusCode204HaltsReconnections() async throws {
        let server = try RawServer()
        let source = EventSource.loopback(try server.eventsURL)
        let outcome = source.reading()
        try await server.request().answer("204 No Content")
        let result = await outcome.value
        #expect(result.error == nil && result.events.isEmpty)
        #expect(source.report.attemptCount == 1)
        #expect(!server.hasConnection)
    }

    @Test(arguments: [301, 307])
    func redirectsAreFollowed(_ statusCode: Int) async throws {
        let (server, other) = (try RawServer(), try RawServer())
        let outcome = EventSource.loopback(try server.eventsURL) { $0.reconnection = .never }.reading()
        try await server.request().answer(
            "\(statusCode) Moved", ["Location: http://127.0.0.1:\(other.port)/other"])
        let request = try await other.request()
        #expect(request.line == "GET /other")
        request.stream("data: hello\n\n")
        #expect(await outcome.value.data == ["hello"])
    }

    @Test(arguments: [301, 307], [[], ["Location: "]])
    func redirectWithoutALocationIsAnError(_ statusCode: Int, _ fields: [String]) async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL).reading()
        try await server.request().answer("\(statusCode) Moved", fields)
        #expect(
            await outcome.value.error as? EventSourceError == .redirect(.locationMissing, statusCode: statusCode))
        #expect(!server.hasConnection)
    }

    @Test func fieldsOfTheProgramAreSent() async throws {
        let server = try RawServer()
        var wish = EventSourceRequest(url: try server.eventsURL)
        wish.fields = [("header-name-1", "value-1"), ("header-name-2", "value-2")]
        let outcome = EventSource.loopback(wish).reading()
        let request = try await server.request()
        #expect(request.value(of: "Header-Name-1") == "value-1")
        #expect(request.value(of: "Header-Name-2") == "value-2")
        #expect(request.value(of: "Accept") == "text/event-stream")
        request.answer("204 No Content")
        #expect(await outcome.value.error == nil)
    }

    /// Returns a request with content.
    private static func request(_ method: String, to server: RawServer) throws -> EventSourceRequest {
        var request = EventSourceRequest(url: try server.eventsURL)
        request.method = method
        request.fields = [("content-type", "application/json; charset=utf-8")]
        request.body = Array(#"{"hello": "world"}"#.utf8)
        return request
    }

    /// Expects a request with content as the server received it.
    private static func expectContent(_ request: ReceivedRequest, _ method: String) async {
        #expect(request.line == "\(method) /events?x=1")
        #expect(request.value(of: "Content-Type") == "application/json; charset=utf-8")
        #expect(request.value(of: "Content-Length") == "18")
        #expect(String(decoding: await request.peer.read(count: 18), as: UTF8.self) == #"{"hello": "world"}"#)
    }

    @Test(arguments: ["POST", "REPORT"])
    func methodAndContentAreSent(_ method: String) async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try Self.request(method, to: server)).reading()
        let request = try await server.request()
        await Self.expectContent(request, method)
        request.answer("204 No Content")
        #expect(await outcome.value.error == nil)
    }

    @Test func lastEventIDOfTheProgramIsInTheFirstRequest() async throws {
        let server = try RawServer()
        var wish = EventSourceRequest(url: try server.eventsURL)
        wish.lastEventID = "abc"
        let outcome = EventSource.loopback(wish).reading()
        let request = try await server.request()
        #expect(request.value(of: "Last-Event-ID") == "abc")
        request.answer("204 No Content")
        #expect(await outcome.value.error == nil)
    }

    // MARK: Reconnections

    /// Without the delay that a stream which ends is followed by.
    @Test func programCanTriggerARestart() async throws {
        let server = try RawServer()
        let source = EventSource.loopback(try server.eventsURL) { $0.reconnection.reconnectionTime = .seconds(3_600) }
        let (events, continuation) = AsyncStream.makeStream(of: String.self)
        let reading = Task { for try await event in source { continuation.yield(event.data) } }
        var data = events.makeAsyncIterator()
        let first = try await server.request()
        first.openStream("data: Hello\n\n")
        #expect(await data.next() == "Hello")
        source.reconnect()
        let second = try await server.request()
        #expect(await first.peer.receive() == .end)
        second.openStream("data: Thanks\n\n")
        #expect(await data.next() == "Thanks")
        source.close()
        try await reading.value
        #expect(source.report.attempts.map(\.outcome) == ["restarted", "cancelled"])
    }

    /// The harness's cases about the last event ID: streams, and the ID that the next request has.
    static let lastEventIDs: [(name: String, stream: String, id: String?)] = [
        ("sends ID of last received event", "id: abc\ndata: a\n\n", "abc"),
        (
            "sends ID of last received event that had an ID if later events did not",
            "id: abc\ndata: a\n\ndata: b\n\n", "abc"
        ),
        (
            "last event ID can be explicitly overridden with an empty value", "id: abc\ndata: a\n\nid: \ndata: b\n\n",
            nil
        ),
        ("discards partial messages on retry", "id: abc\ndata: a\n\nid: def\ndata: b", "abc"),
    ]

    @Test(arguments: Self.lastEventIDs.indices)
    func reconnectionSendsTheLastEventID(_ index: Int) async throws {
        let (name, stream, id) = Self.lastEventIDs[index]
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL).reading()
        let first = try await server.request()
        #expect(first.value(of: "Last-Event-ID") == nil)
        first.stream(stream)
        let second = try await server.request()
        #expect(second.value(of: "Last-Event-ID") == id, "\(name)")
        second.answer("204 No Content")
        #expect(await outcome.value.error == nil)
    }

    @Test func contentIsSentAgainWhereThatIsAllowed() async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try Self.request("POST", to: server)) {
            $0.reconnection.resending = .always
        }.reading()
        let first = try await server.request()
        await Self.expectContent(first, "POST")
        first.stream("data: a\n\n")
        let second = try await server.request()
        await Self.expectContent(second, "POST")
        second.answer("204 No Content")
        #expect(await outcome.value.data == ["a"])
    }

    @Test func silentStreamIsReconnectedAfterItsTime() async throws {
        let server = try RawServer()
        let source = EventSource.loopback(try server.eventsURL) { $0.timeouts.idle = .seconds(2) }
        let outcome = source.reading()
        let first = try await server.request()
        first.openStream("data: Hello\n\n")
        let second = try await server.request()
        #expect(await first.peer.receive() == .end)
        second.answer("204 No Content")
        let result = await outcome.value
        #expect(result.data == ["Hello"])
        #expect(result.error == nil)
        #expect(source.report.attempts.map(\.outcome) == ["timeout.idle", "ended"])
        #expect(try #require(source.report.attempts.first?.duration) >= 2)
    }

    /// A message that is cut is discarded, and the next stream works.
    @Test func cutMessageIsDiscardedAndTheNextStreamIsRead() async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL).reading()
        try await server.request().stream("id: abc\ndata: Hello\n\nid: def\ndata: Goodbye")
        try await server.request().stream("data: We meet again\n\nid: ghi\ndata: World\n\n")
        try await server.request().answer("204 No Content")
        #expect(
            await outcome.value.events == [
                Self.message("Hello", id: "abc"), Self.message("We meet again", id: "abc"),
                Self.message("World", id: "ghi"),
            ])
    }
}
