// The event source over scripted connections: what is sent, what comes out, and how it ends.

import EventSource
import Foundation
import StreamTransport
import Synchronization
import Testing
import TransportSurface

@Suite(.timeLimit(.minutes(10))) struct EventSourceTests {
    private static func field(_ name: String, of request: TransportRequest?) -> String? {
        request?.fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    // MARK: Requests

    @Test func requestHasTheFieldsOfAnEventSource() async throws {
        let server = ScriptedServer([.head(204)])
        let source = EventSource(server)
        #expect(server.requests.isEmpty)
        #expect(source.readyState == .connecting)
        #expect(await source.all().events.isEmpty)
        let request = try #require(server.requests.first)
        #expect(request.endpoint == TransportEndpoint(isSecure: false, host: "a.test", port: 81, target: "/events?x=1"))
        #expect(request.method == "GET")
        #expect(Self.field("accept", of: request) == "text/event-stream")
        #expect(Self.field("cache-control", of: request) == "no-cache")
        #expect(Self.field("accept-encoding", of: request) == "gzip, deflate")
        #expect(Self.field("user-agent", of: request)?.hasPrefix("chappie-transport/") == true)
        #expect(Self.field("last-event-id", of: request) == nil)
        #expect(source.readyState == .closed)
    }

    @Test func fieldsOfTheProgramReplaceThose() async {
        let server = ScriptedServer([.head(204)])
        var request = EventSourceRequest.test
        request.fields = [
            ("accept", "text/event-stream, application/json"), ("USER-AGENT", "x"), ("A", "1"), ("A", "2"),
        ]
        request.lastEventID = "☃"
        _ = await EventSource(server, request) { $0.offersCompression = false }.all()
        #expect(
            server.requests.first?.fields.map { "\($0.name): \($0.value)" } == [
                "Cache-Control: no-cache", "accept: text/event-stream, application/json", "USER-AGENT: x", "A: 1",
                "A: 2", "Last-Event-ID: ☃",
            ])
    }

    @Test(arguments: [
        ("POST", [1] as [UInt8]?, true), ("POST", nil, true), ("REPORT", [1], true), ("REPORT", nil, false),
    ])
    func methodAndContentAreSent(_ method: String, _ body: [UInt8]?, _ hasContent: Bool) async throws {
        let server = ScriptedServer([.head(204)])
        var request = EventSourceRequest.test
        request.method = method
        request.body = body
        _ = await EventSource(server, request).all()
        let sent = try #require(server.requests.first)
        #expect(sent.method == method)
        switch sent.exchange {
        case .post(let content): #expect(hasContent && content == body ?? [])
        case .get: #expect(!hasContent)
        case .webSocket: Issue.record("no WebSocket was asked for")
        }
    }

    @Test(arguments: [
        "ftp://a.test/", "ws://a.test/", "http:///x", "http://a.test:0/", "http://u:p@a.test/", "http://u@a.test/",
        "relative",
    ])
    func impossibleAddressIsReportedByTheFirstRead(_ url: String) async throws {
        let server = ScriptedServer()
        let source = EventSource(server, EventSourceRequest(url: try #require(URL(string: url))))
        let error = try #require(await source.all().error as? EventSourceError)
        #expect(error.tag == "request.invalid")
        #expect(error.category == .validation)
        #expect(server.requests.isEmpty)
        #expect(source.readyState == .closed)
        #expect(!"\(error)".contains("u:p"))
    }

    static let faults: [@Sendable (inout EventSourceRequest) -> Void] = [
        { $0.method = "" }, { $0.method = "A B" }, { $0.method = "CONNECT" }, { $0.fields = [("A\r\nB", "x")] },
        { $0.fields = [("", "x")] }, { $0.fields = [("A", "secret\r\nB: x")] }, { $0.fields = [("Host", "x")] },
        { $0.fields = [("Content-Length", "1")] }, { $0.fields = [("last-event-id", "1")] },
        { $0.lastEventID = "secret\n" }, { $0.lastEventID = "a\0" },
        { $0.lastEventID = String(repeating: "x", count: 4_097) },
    ]

    @Test(arguments: Self.faults.indices)
    func impossibleRequestIsReportedByTheFirstRead(_ index: Int) async throws {
        let server = ScriptedServer()
        var request = EventSourceRequest.test
        Self.faults[index](&request)
        let error = try #require(await EventSource(server, request).all().error as? EventSourceError)
        #expect(error.tag == "request.invalid")
        #expect(!error.safeDescription.contains("secret"))
        #expect(server.requests.isEmpty)
    }

    // MARK: Events and reconnections

    @Test func eventsOfAllStreamsAreOneSequence() async {
        let server = ScriptedServer(
            [.events, .body("retry: 10\nid: 1\ndata: a\n\nda"), .body("ta: b\n\ndata: cut"), .end()],
            [.events, .body("event: x\nid: 2\ndata: c\n\n"), .end(.lost)], [.head(204)])
        let source = EventSource(server)
        let (events, error) = await source.all()
        #expect(error == nil)
        #expect(
            events == [
                ServerSentEvent(data: "a", lastEventID: "1"), ServerSentEvent(data: "b", lastEventID: "1"),
                ServerSentEvent(type: "x", data: "c", lastEventID: "2"),
            ])
        #expect(server.requests.map { Self.field("last-event-id", of: $0) } == [nil, "1", "2"])
        #expect(server.delays == [.milliseconds(10), .milliseconds(10)])
        #expect(source.lastEventID == "2")
        #expect(source.reconnectionTime == .milliseconds(10))
        #expect(server.connections.allSatisfy { $0.isCancelled })
    }

    @Test func eventsBeforeAnErrorAreDelivered() async {
        let server = ScriptedServer([.events, .body("data: a\n\ndata: too large\n\n"), .hang])
        let (events, error) = await EventSource(server) { $0.limits.eventByteCount = 4 }.all()
        #expect(events.map(\.data) == ["a"])
        #expect((error as? EventSourceError)?.tag == "event.too-large")
    }

    @Test func redirectIsFollowedOnAConnectionOfItsOwn() async {
        let server = ScriptedServer(
            [.head(307, [("Location", "https://b.test/x")]), .hang], [.events, .body("data: a\n\n"), .end()],
            [.head(204)])
        var request = EventSourceRequest.test
        request.fields = [("X-API-Key", "secret-key")]
        let source = EventSource(server, request)
        #expect(await source.all().events.map(\.data) == ["a"])
        #expect(server.requests.map(\.endpoint.host) == ["a.test", "b.test", "a.test"])
        #expect(server.requests.map { Self.field("x-api-key", of: $0) } == ["secret-key", nil, "secret-key"])
        #expect(server.connections[0].isCancelled)
        #expect(source.report.attempts.map(\.redirectCount) == [1, 0])
    }

    @Test func endedSequenceStaysEnded() async throws {
        let source = EventSource(ScriptedServer([.head(500), .end()]))
        var iterator = source.makeAsyncIterator()
        await #expect(throws: EventSourceError.self) { try await iterator.next() }
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func secondConsumerIsAnError() async throws {
        let server = ScriptedServer([.events, .body("data: a\n\n"), .hang])
        let source = EventSource(server)
        var first = source.makeAsyncIterator()
        var second = source.makeAsyncIterator()
        #expect(try await first.next()?.data == "a")
        await #expect(throws: EventSourceError.alreadyRead) { try await second.next() }
    }

    // MARK: Refusals

    @Test func refusalHasItsStatusFieldsAndContent() async throws {
        let server = ScriptedServer(
            [
                .head(404, [("content-type", "text/plain"), ("X-A", "1"), ("x-a", "2")]), .body("no "), .body("such"),
                .end(),
            ])
        let source = EventSource(server)
        let error = try #require(await source.all().error as? EventSourceError)
        guard case .refused(let refusal) = error else {
            Issue.record("another error: \(error)")
            return
        }
        let response = refusal.response
        #expect(response.statusCode == 404)
        #expect(response.fields.map(\.value) == ["text/plain", "1", "2"])
        #expect(response.value(of: "X-a") == "1")
        #expect(refusal.body == "no such")
        #expect(source.response == response)
        #expect(error.tag == "http.404")
        #expect(error.unsafeMessage == "no such")
        #expect(!"\(error)\(error.localizedDescription)".contains("no such"))
    }

    @Test(arguments: [0, 1, 4, 5])
    func contentOfARefusalIsBounded(_ limit: Int) async throws {
        let server = ScriptedServer([.head(400), .body("ab"), .body("cd"), .body("ef"), .hang])
        let source = EventSource(server) { $0.limits.errorBodyByteCount = limit }
        let error = try #require(await source.all().error as? EventSourceError)
        #expect(error.unsafeMessage ?? "" == String("abcdef".prefix(limit)))
    }

    @Test func refusalThatDoesNotEndHasATimeLimit() async throws {
        let server = ScriptedServer([.head(400), .body("ab"), .hang])
        let error = try #require(await EventSource(server).all().error as? EventSourceError)
        #expect(error.tag == "http.400")
        #expect(error.unsafeMessage == "ab")
    }

    @Test func credentialThatTheServerRepeatsIsRedacted() async throws {
        let server = ScriptedServer([.head(401, [("X-Echo", "Bearer hunter2-token")]), .body("hunter2-token?"), .end()])
        var request = EventSourceRequest.test
        request.fields = [("Authorization", "Bearer hunter2-token")]
        let error = try #require(await EventSource(server, request).all().error as? EventSourceError)
        #expect(error.unsafeMessage == "[redacted]?")
        #expect(error.retryGuidance == .refreshAuthThenRetry)
        guard case .refused(let refusal) = error else { return }
        #expect(refusal.response.value(of: "x-echo")?.contains("hunter2") == false)
    }

    @Test(arguments: ["hunter2%2Dtoken", "hunter2-cookie", "hunter2-password", "user:hunter2-password"])
    func partOfACredentialThatTheServerRepeatsIsRedacted(part: String) async throws {
        let server = ScriptedServer([.head(400), .body("\(part)?"), .end()])
        var request = EventSourceRequest.test
        request.fields = [
            ("X-Token", "hunter2-token"), ("Cookie", "a=1; b=hunter2-cookie"),
            ("Authorization", "Basic dXNlcjpodW50ZXIyLXBhc3N3b3Jk"),
        ]
        let error = try #require(await EventSource(server, request).all().error as? EventSourceError)
        #expect(error.unsafeMessage == "[redacted]?")
    }

    @Test func acceptanceWithoutAStreamHasWordsOfItsOwn() async throws {
        let server = ScriptedServer([.head(202), .end()])
        var request = EventSourceRequest.test
        request.method = "POST"
        let error = try #require(await EventSource(server, request).all().error as? EventSourceError)
        #expect(error.tag == "http.202" && error.category == .server)
        #expect(!error.isRetryable && !error.shouldReport)
        #expect(error.safeDescription.contains("accepted the request, and sends no event stream"))
    }

    @Test func otherContentIsAnErrorWithItsBeginning() async throws {
        let server = ScriptedServer([.head(200, [("content-type", "application/json")]), .body("{\"a\":1}"), .end()])
        let error = try #require(await EventSource(server).all().error as? EventSourceError)
        #expect(error.tag == "http.content-type")
        #expect(error.statusCode == 200)
        #expect(error.unsafeMessage == "{\"a\":1}")
    }

    @Test func pageInPlaceOfAStreamIsNamed() async throws {
        let server = ScriptedServer([.head(200, [("content-type", "text/html")]), .body("<!doctype html>"), .end()])
        guard case .transport(let failure) = await EventSource(server).all().error as? EventSourceError else {
            Issue.record("no failure")
            return
        }
        #expect(failure.details.detail == "web-page")
        #expect(failure.attempts == 1)
    }

    @Test func retryAfterIsReadFromTheAnswer() async {
        let server = ScriptedServer(
            [.head(503, [("Retry-After", "7")]), .end()],
            [.head(429, [("retry-after", "Sun, 06 Nov 1994 08:49:40 GMT")]), .end()], [.head(204)])
        _ = await EventSource(server) {
            $0.reconnection.retriedStatusCodes = [429, 503]
            $0.reconnection.reconnectionTime = .zero
        }.all()
        #expect(server.delays == [.seconds(7), .seconds(3)])
    }

    @Test func failureBelowHTTPHasTheEnginesTagAndAttempts() async throws {
        let server = ScriptedServer()
        guard
            case .transport(let failure) = await EventSource(
                server, .test, { $0.reconnection.maximumAttempts = 2 }
            ).all().error as? EventSourceError
        else {
            Issue.record("no failure")
            return
        }
        #expect(failure.tag == "connect.failed")
        #expect(failure.attempts == 3)
        #expect(failure.phase == .connect)
        #expect(failure.details.systemCode == 111)
    }

    // MARK: Time

    @Test func answerHasATimeLimit() async {
        let server = ScriptedServer([.hang], [.head(204)])
        let source = EventSource(server)
        #expect(await source.all().error == nil)
        #expect(source.report.attempts.map(\.outcome) == ["timeout.firstEvent", "ended"])
        #expect(source.report.attempts[0].duration == 60)
    }

    @Test func silentStreamIsReconnectedWhereThatIsAskedFor() async {
        let server = ScriptedServer(
            [
                .events, .pause(.seconds(4)), .body(":\n"), .pause(.seconds(4)), .body("data: a\n\n"),
                .pause(.seconds(6)), .hang,
            ],
            [.head(204)])
        let source = EventSource(server) { $0.timeouts.idle = .seconds(5) }
        #expect(await source.all().events.map(\.data) == ["a"])
        #expect(source.report.attempts.map(\.outcome) == ["timeout.idle", "ended"])
        #expect(source.report.attempts[0].firstEvent == 8)
    }

    @Test func totalTimeEndsIt() async throws {
        let server = ScriptedServer([.events, .body("data: a\n\n"), .pause(.seconds(4)), .hang])
        let (events, error) = await EventSource(server) { $0.timeouts.total = .seconds(9) }.all()
        #expect(events.map(\.data) == ["a"])
        #expect((error as? EventSourceError)?.tag == "timeout.stream")
    }

    @Test func delayBeyondTheTotalTimeIsNotBegun() async throws {
        let server = ScriptedServer([.events, .body("retry: 9001\ndata: a\n\n"), .end()])
        let (_, error) = await EventSource(server) { $0.timeouts.total = .seconds(9) }.all()
        #expect((error as? EventSourceError)?.tag == "timeout.stream")
        #expect(server.delays.isEmpty)
    }

    // MARK: Ends at the program's wish

    @Test func cancelledTaskThrowsCancellationError() async throws {
        let server = ScriptedServer([.events, .body("data: a\n\n"), .hang])
        let source = EventSource(server)
        let task = Task { await source.all() }
        await server.hung()
        task.cancel()
        let (events, error) = await task.value
        #expect(events.map(\.data) == ["a"])
        #expect(error is CancellationError)
        #expect(server.connections.first?.isCancelled == true)
        #expect(source.readyState == .closed)
        #expect(source.report.attempts.map(\.outcome) == ["cancelled"])
    }

    @Test func cancelledTaskDoesNotWaitForTheNextAttempt() async throws {
        let server = ScriptedServer([.events, .end()], sleepsForEver: true)
        let source = EventSource(server)
        let task = Task { await source.all() }
        await server.hung()
        task.cancel()
        #expect(await task.value.error is CancellationError)
    }

    @Test(arguments: [true, false])
    func closedEventSourceEndsWithoutAnError(_ isConnected: Bool) async throws {
        let server = ScriptedServer([.events] + (isConnected ? [.hang] : [.end()]), sleepsForEver: true)
        let source = EventSource(server)
        let task = Task { await source.all() }
        await server.hung()
        source.close()
        source.close()
        #expect(await task.value.error == nil)
        #expect(source.readyState == .closed)
        #expect(server.requests.count == 1)
        #expect(server.connections.allSatisfy { $0.isCancelled })
    }

    @Test func droppedEventSourceClosesItsConnection() async throws {
        let server = ScriptedServer([.events, .body("data: a\n\n"), .hang])
        do {
            var iterator = EventSource(server).makeAsyncIterator()
            #expect(try await iterator.next()?.data == "a")
            withExtendedLifetime(iterator) { #expect(server.connections.first?.isCancelled == false) }
        }
        #expect(server.connections.first?.isCancelled == true)
    }

    @Test(arguments: [true, false])
    func programCanReconnectAtOnce(_ isConnected: Bool) async throws {
        let server = ScriptedServer(
            [.events, .body("id: 1\nretry: 10\ndata: a\n\n")] + (isConnected ? [.hang] : [.end()]),
            [.events, .body("data: b\n\n"), .hang], sleepsForEver: true)
        let source = EventSource(server)
        let task = Task { await source.all() }
        await server.hung()
        source.reconnect()
        await server.hung()
        #expect(Self.field("last-event-id", of: server.requests.last) == "1")
        #expect(source.reconnectionTime == .milliseconds(10))
        #expect(server.requests.count == 2)
        source.close()
        #expect(await task.value.events.map(\.data) == ["a", "b"])
    }

    @Test func programCannotReconnectAPost() async throws {
        let server = ScriptedServer([.events, .body("data: a\n\n"), .hang])
        var request = EventSourceRequest.test
        request.method = "POST"
        let source = EventSource(server, request)
        let task = Task { await source.all() }
        await server.hung()
        source.reconnect()
        #expect(server.connections.first?.isCancelled == false)
        source.close()
        #expect(await task.value.error == nil)
        #expect(server.requests.count == 1)
    }

    // MARK: What is told

    @Test func logAndMetricsHaveEachAttemptAndNoContent() async {
        let lines = Mutex<[ChappieLogEntry]>([])
        let metrics = Mutex<[ChappieMetric]>([])
        let server = ScriptedServer(
            [.events, .body("id: canary\ndata: canary\n\n"), .end(.lost)], [.head(500), .body("canary"), .end()])
        var request = EventSourceRequest.test
        request.requestID = "r1"
        let source = EventSource(server, request) { configuration in
            configuration.log = { line in lines.withLock { $0.append(line) } }
            configuration.metrics = { metric in metrics.withLock { $0.append(metric) } }
        }
        _ = await source.all()
        let entries = lines.withLock { $0 }
        #expect(entries.allSatisfy { $0.requestID == "r1" && $0.transport == .httpSSE })
        #expect(entries.map(\.context) == ["connection", "attempt", "event-source"])
        #expect(entries.map(\.tag) == [nil, "connection.lost", "http.500"])
        #expect(entries.last?.level == .error)
        #expect(entries.last?.privateMessage == "canary")
        #expect(entries.allSatisfy { !$0.message.contains("canary") })
        #expect(
            metrics.withLock { $0 }.map { "\($0.operation) \($0.outcome)" } == [
                "attempt connection.lost", "attempt http.500", "event-source http.500",
            ])
        #expect(metrics.withLock { $0 }.map(\.category) == [.network, .server, .server])
        #expect(source.report.requestID == "r1")
        #expect(source.report.eventCount == 1)
        #expect(source.report.attemptCount == 2)
        #expect(source.report.attempts.map(\.statusCode) == [200, 500])
    }

    @Test func lastEventIDThatCannotBeSentIsReported() async {
        let lines = Mutex<[ChappieLogEntry]>([])
        let server = ScriptedServer(
            [.events, .body("id: canary\u{1}\ndata: a\n\n"), .end()], [.events, .body("id: 2\ndata: b\n\n"), .end()],
            [.head(204)])
        let source = EventSource(server) { $0.log = { line in lines.withLock { $0.append(line) } } }
        #expect(await source.all().events.map(\.data) == ["a", "b"])
        #expect(server.requests.map { Self.field("last-event-id", of: $0) } == [nil, nil, "2"])
        let warnings = lines.withLock { $0 }.filter { $0.level == .warning }
        #expect(warnings.map(\.attempt) == [2])
        #expect(warnings.first?.message == "The last event ID cannot be sent: the request is without it.")
        #expect(source.report.hadUnsendableLastEventID)
    }

    @Test(arguments: [false, true])
    func emptyAnswersThatUseUpTheReconnectionsAreReported(hasNoLimit: Bool) async {
        let server = ScriptedServer(
            [.events, .body(":\n"), .end()], [.events, .end()], [.events, .end()], [.head(204)])
        let source = EventSource(server) { $0.reconnection.maximumAttempts = hasNoLimit ? nil : 1 }
        #expect(await source.all().error == nil)
        #expect(source.report.hasGivenUp == !hasNoLimit)
    }

    @Test func reportKeepsTheNewestAttempts() async {
        let source = EventSource(ScriptedServer()) { $0.reconnection.maximumAttempts = 149 }
        _ = await source.all()
        #expect(source.report.attemptCount == 150)
        #expect(source.report.attempts.map(\.number) == Array(51...150))
    }

    @Test func descriptionOfARequestHasNoSecret() {
        var request = EventSourceRequest(url: URL(string: "http://a.test/?key=canary")!)
        request.fields = [("Authorization", "canary")]
        request.body = Array("canary".utf8)
        var text = "\(request)\(String(reflecting: request))"
        dump(request, to: &text)
        #expect(!text.contains("canary"))
    }
}
