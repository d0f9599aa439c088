import EventSource
import Foundation
import StreamTransport
import Testing

/// The rules of WHATWG HTML section 9.2 over real sockets, each with a test.
@Suite(.timeLimit(.minutes(10))) struct EventSourceRuleTests {
    // MARK: Connecting

    @Test func requestIsThatOfAnEventSource() async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL).reading()
        let request = try await server.request()
        #expect(request.line == "GET /events?x=1")
        #expect(request.value(of: "Host") == "127.0.0.1:\(server.port)")
        #expect(request.value(of: "Accept") == "text/event-stream")
        #expect(request.value(of: "Cache-Control") == "no-cache")
        #expect(request.value(of: "Last-Event-ID") == nil)
        #expect(request.value(of: "Content-Length") == nil)
        request.answer("204 No Content")
        #expect(await outcome.value.error == nil)
    }

    @Test(arguments: ["POST", "REPORT"])
    func methodFieldsAndContentAreSent(_ method: String) async throws {
        let server = try RawServer()
        var wish = EventSourceRequest(url: try server.eventsURL)
        wish.method = method
        wish.fields = [("Content-Type", "application/json"), ("X-A", "1")]
        wish.body = Array("{\"a\":1}".utf8)
        let outcome = EventSource.loopback(wish) { $0.reconnection = .never }.reading()
        let request = try await server.request()
        #expect(request.line == "\(method) /events?x=1")
        #expect(request.value(of: "Content-Length") == "7")
        #expect(request.value(of: "Content-Type") == "application/json")
        #expect(request.value(of: "X-A") == "1")
        #expect(await request.peer.read(count: 7) == Array("{\"a\":1}".utf8))
        request.stream("data: a\n\n")
        let result = await outcome.value
        #expect(result.data == ["a"])
        #expect(result.error == nil)
    }

    @Test func eventsAreDeliveredAsTheyArrive() async throws {
        let server = try RawServer()
        let source = EventSource.loopback(try server.eventsURL)
        let first = Task {
            var iterator = source.makeAsyncIterator()
            let event = try await iterator.next()
            return (event, source.readyState)
        }
        let request = try await server.request()
        request.openStream("id: 1\nevent: x\ndata: a\n\n")
        let (event, state) = try await first.value
        #expect(event == ServerSentEvent(type: "x", data: "a", lastEventID: "1"))
        #expect(state == .open)
        #expect(source.response?.value(of: "content-type") == "text/event-stream")
        source.close()
        #expect(await request.peer.receive() == .end)
    }

    @Test func streamMayBeCutAnywhere() async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL).reading()
        let request = try await server.request()
        request.openStream()
        for byte in "\u{FEFF}id: ☃\r\ndata: a\r\ndata: ü\r\n\r\n:\r\ndata: b\r\r".utf8 { request.peer.write([byte]) }
        request.peer.close()
        let next = try await server.request()
        #expect(next.value(of: "Last-Event-ID") == "☃")
        next.answer("204 No Content")
        #expect(await outcome.value.data == ["a\nü", "b"])
    }

    // MARK: Answers

    @Test func statusCode204EndsIt() async throws {
        let server = try RawServer()
        let source = EventSource.loopback(try server.eventsURL)
        let outcome = source.reading()
        try await server.request().answer("204 No Content")
        #expect(await outcome.value.error == nil)
        #expect(source.readyState == .closed)
        #expect(!server.hasConnection)
    }

    @Test(arguments: ["text/plain", "application/json", "text/event-streams"])
    func otherContentTypeEndsIt(_ type: String) async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL).reading()
        try await server.request().answer("200 OK", ["Content-Type: \(type)"], body: "data: a\n\n")
        let result = await outcome.value
        #expect(result.tag == "http.content-type")
        #expect((result.error as? EventSourceError)?.unsafeMessage == "data: a\n\n")
        #expect(result.events.isEmpty)
        #expect(!server.hasConnection)
    }

    @Test func contentTypeMayHaveParameters() async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL) { $0.reconnection = .never }.reading()
        try await server.request().answer(
            "200 OK", ["content-type: Text/Event-Stream;charset=utf-8"], body: "data: a\n\n")
        #expect(await outcome.value.data == ["a"])
    }

    @Test(arguments: [400, 401, 404, 429, 500, 503])
    func otherStatusCodeEndsItWithTheAnswer(_ statusCode: Int) async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL).reading()
        try await server.request().answer("\(statusCode) No", ["X-A: b", "Retry-After: 7"], body: "because")
        guard case .refused(let refusal)? = await outcome.value.error as? EventSourceError else {
            Issue.record("no refusal")
            return
        }
        #expect(refusal.statusCode == statusCode)
        #expect(refusal.response.value(of: "x-a") == "b")
        #expect(refusal.retryAfter == .seconds(7))
        #expect(refusal.body == "because")
        #expect(!server.hasConnection)
    }

    @Test func statusCodeOfTheProgramsChoiceIsRetried() async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL) {
            $0.reconnection.retriedStatusCodes = [503]
        }.reading()
        try await server.request().answer("503 Unavailable", ["Retry-After: 0"])
        try await server.request().stream("data: a\n\n")
        try await server.request().answer("204 No Content")
        #expect(await outcome.value.data == ["a"])
    }

    // MARK: Reestablishing the connection

    /// The ways in which a server ends a stream.
    enum StreamEnd: CaseIterable, Sendable {
        case closed, reset, completeLength, completeChunks, cutChunks

        func write(_ text: String, to request: ReceivedRequest) {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            let chunk = "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n"
            switch self {
            case .closed: request.stream(text)
            case .reset: request.openStream(text)
            case .completeLength: request.peer.write("\(head)Content-Length: \(text.utf8.count)\r\n\r\n\(text)")
            case .completeChunks: request.peer.write("\(head)Transfer-Encoding: chunked\r\n\r\n\(chunk)0\r\n\r\n")
            case .cutChunks:
                request.peer.write("\(head)Transfer-Encoding: chunked\r\n\r\n\(chunk)")
                request.peer.close()
            }
        }
    }

    @Test(arguments: StreamEnd.allCases)
    func streamIsReestablishedHoweverItEnds(_ end: StreamEnd) async throws {
        let server = try RawServer()
        let source = EventSource.loopback(try server.eventsURL)
        let (events, continuation) = AsyncStream.makeStream(of: ServerSentEvent.self)
        let reading = Task {
            for try await event in source { continuation.yield(event) }
            continuation.finish()
        }
        let first = try await server.request()
        end.write("id: 1\ndata: a\n\n", to: first)
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next()?.data == "a")
        // A reset discards what the client has not read.
        if end == .reset { first.peer.reset() }
        let second = try await server.request()
        #expect(second.line == "GET /events?x=1")
        #expect(second.value(of: "Last-Event-ID") == "1")
        second.stream("data: b\n\n")
        #expect(await iterator.next() == ServerSentEvent(data: "b", lastEventID: "1"))
        try await server.request().answer("204 No Content")
        try await reading.value
        #expect(source.report.attemptCount == 3)
        #expect(source.report.attempts.map(\.eventCount) == [1, 1, 0])
    }

    @Test func connectionThatBreaksBeforeAnAnswerIsReestablished() async throws {
        let server = try RawServer()
        let source = EventSource.loopback(try server.eventsURL)
        let outcome = source.reading()
        try await server.request().peer.close()
        try await server.request().answer("204 No Content")
        #expect(await outcome.value.error == nil)
        #expect(source.report.attempts.map(\.outcome) == ["connection.lost", "ended"])
    }

    @Test func serverThatIsUnreachableIsTriedAgain() async throws {
        let port = try UnreachableServerTests.ClosedPort()
        let source = EventSource.loopback(try #require(URL(string: port.baseURL))) {
            $0.reconnection.maximumAttempts = 3
        }
        let result = await source.reading().value
        withExtendedLifetime(port) {}
        #expect(result.tag == "connect.failed")
        #expect(source.report.attempts.map(\.outcome) == Array(repeating: "connect.failed", count: 4))
    }

    @Test func eventThatIsCutIsDiscarded() async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL).reading()
        try await server.request().stream("id: 1\ndata: a\n\nid: 2\ndata: cut\n")
        let second = try await server.request()
        #expect(second.value(of: "Last-Event-ID") == "1")
        second.stream("\ndata: b\n\n")
        try await server.request().answer("204 No Content")
        #expect(await outcome.value.data == ["a", "b"])
    }

    @Test func streamSetsTheReconnectionTime() async throws {
        let server = try RawServer()
        let source = EventSource.loopback(try server.eventsURL) { $0.reconnection.reconnectionTime = .seconds(3_600) }
        let outcome = source.reading()
        try await server.request().stream("retry: 1\n")
        try await server.request().answer("204 No Content")
        #expect(await outcome.value.error == nil)
        #expect(source.reconnectionTime == .milliseconds(1))
    }

    // MARK: The last event ID

    @Test(
        arguments: [
            ("id: 1\ndata: a\n\nid: 2\ndata: b\n\n", "2"), ("id: 1\ndata: a\n\ndata: b\n\n", "1"), ("id: 1\n\n", "1"),
            ("id: 1\ndata: a\n\nid\ndata: b\n\n", nil), ("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", "1"),
            ("id: \u{1F600}ü\ndata: a\n\n", "\u{1F600}ü"), ("id: a\u{1}b\ndata: a\n\n", nil), ("data: a\n\n", "0"),
        ] as [(String, String?)])
    func lastEventIDIsSent(_ stream: String, _ id: String?) async throws {
        let server = try RawServer()
        var wish = EventSourceRequest(url: try server.eventsURL)
        wish.lastEventID = "0"
        let outcome = EventSource.loopback(wish).reading()
        let first = try await server.request()
        #expect(first.value(of: "Last-Event-ID") == "0")
        first.stream(stream)
        let second = try await server.request()
        #expect(second.value(of: "Last-Event-ID") == id)
        second.answer("204 No Content")
        _ = await outcome.value
    }

    // MARK: Requests with an effect

    @Test func postIsNotRepeated() async throws {
        let server = try RawServer()
        var wish = EventSourceRequest(url: try server.eventsURL)
        wish.method = "POST"
        let outcome = EventSource.loopback(wish).reading()
        let request = try await server.request()
        #expect(request.value(of: "Content-Length") == "0")
        request.stream("data: a\n\ndata: cut")
        let result = await outcome.value
        #expect(result.data == ["a"])
        #expect(result.tag == "stream.ended-early")
        #expect(!server.hasConnection)
    }

    @Test func postContinuesAsAGet() async throws {
        let server = try RawServer()
        var wish = EventSourceRequest(url: try server.eventsURL)
        wish.method = "POST"
        wish.body = Array("{}".utf8)
        let outcome = EventSource.loopback(wish) { $0.reconnection.resending = .asGet }.reading()
        try await server.request().stream("id: 1\ndata: a\n\n")
        let second = try await server.request()
        #expect(second.line == "GET /events?x=1")
        #expect(second.value(of: "Last-Event-ID") == "1")
        second.answer("204 No Content")
        #expect(await outcome.value.error == nil)
    }

    // MARK: Ends at the program's wish

    @Test func cancelledTaskClosesTheConnection() async throws {
        let server = try RawServer()
        let source = EventSource.loopback(try server.eventsURL)
        let (events, continuation) = AsyncStream.makeStream(of: ServerSentEvent.self)
        let reading = Task { for try await event in source { continuation.yield(event) } }
        let request = try await server.request()
        request.openStream("data: a\n\n")
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next()?.data == "a")
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        #expect(await request.peer.receive() == .end)
    }

    @Test func closingEndsADelay() async throws {
        let server = try RawServer()
        let (lines, continuation) = AsyncStream.makeStream(of: Void.self)
        let source = EventSource.loopback(try server.eventsURL) {
            $0.reconnection.reconnectionTime = .seconds(3_600)
            $0.log = { entry in if entry.delay != nil { continuation.yield() } }
        }
        let outcome = source.reading()
        try await server.request().stream("data: a\n\n")
        var iterator = lines.makeAsyncIterator()
        await iterator.next()
        source.close()
        let result = await outcome.value
        #expect(result.data == ["a"])
        #expect(result.error == nil)
    }
}
