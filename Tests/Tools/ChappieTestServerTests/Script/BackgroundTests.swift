// Responses that go on without their connection, and what is asked about them by id.
import Testing

@testable import ChappieTestServer

@Suite struct BackgroundTests {
    private static let request =
        #"{"model":"m","input":"hi","stream":true,"background":true,"store":true}"#

    private static let model: ChappieTestServer.ScriptedModel = {
        var model = ChappieTestServer.ScriptedModel(seed: 4, textByteCount: 200)
        model.includesReasoning = false
        return model
    }()

    private func withServer<Result>(
        _ faults: [ChappieTestServer.Fault] = [], _ change: (inout ChappieTestServer.Configuration) -> Void = { _ in },
        _ body: (ChappieTestServer, RawClient) throws -> Result
    ) throws -> Result {
        var configuration = ChappieTestServer.Configuration(model: .scripted(Self.model), faults: faults)
        change(&configuration)
        let server = try ChappieTestServer(configuration: configuration)
        defer { server.stop() }
        return try body(server, RawClient(port: server.port))
    }

    private func post(_ client: RawClient, _ request: String = Self.request) throws -> [JSONValue] {
        try client.post(request)
        return try self.stream(client).events
    }

    private func get(_ client: RawClient, _ target: String) throws -> (head: AnswerHead, events: [JSONValue]) {
        try client.send("GET /v1/responses/\(target) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return try self.stream(client)
    }

    private func stream(_ client: RawClient) throws -> (head: AnswerHead, events: [JSONValue]) {
        let head = try client.readHead()
        let body = try String(decoding: client.readBody(head), as: UTF8.self)
        guard head.status == 200, head.fields["content-type"]?.hasPrefix("text/event-stream") == true else {
            return (head, [JSONValue(Array(body.utf8)) ?? .null])
        }
        return (head, events(inStream: body))
    }

    private func id(_ events: [JSONValue]) throws -> String {
        try #require(events.first?["response"]?["id"]?.string)
    }

    @Test func theRestIsTheSameEventsAfterAnyNumber() throws {
        try self.withServer { server, client in
            let all = try self.post(client)
            let id = try self.id(all)
            for number in -1..<all.count {
                let rest = try self.get(client, "\(id)?stream=true&starting_after=\(number)")
                #expect(rest.events == Array(all.dropFirst(number + 1)))
            }
            #expect(try self.get(client, "\(id)?stream=true").events == all)
            #expect(server.log.first?.method == "POST" && server.log.last?.method == "GET")
            #expect(server.log.last?.query == "stream=true")
        }
    }

    @Test func backgroundResponseContinuesWithoutItsConnection() throws {
        try self.withServer([.init(.cutAfterEvent(event: 6), attempts: 1...1)]) { server, client in
            try client.post(Self.request)
            let begun = String(decoding: client.readToEnd().bytes, as: UTF8.self)
            let first = events(inStream: begun)
            #expect(first.count == 6)
            let other = try RawClient(port: server.port)
            let rest = try self.get(other, "\(self.id(first))?stream=true&starting_after=5")
            #expect(text(of: first + rest.events) == Self.model.fullText)
        }
    }

    /// The response takes an hour.
    @Test func runningResponseIsInProgress() throws {
        try self.withServer([.init(.cutAfterEvent(event: 1), attempts: 1...1)], { $0.eventsPerSecond = 0.01 }) {
            server, client in
            try client.post(Self.request)
            let first = events(inStream: String(decoding: client.readToEnd().bytes, as: UTF8.self))
            let id = try self.id(first)
            let other = try RawClient(port: server.port)
            #expect(try self.get(other, id).events.first?["status"]?.string == "in_progress")
        }
    }

    @Test func restOfARunningResponseStreamsAtItsRate() throws {
        let clock = ContinuousClock()
        try self.withServer([.init(.cutAfterEvent(event: 2), attempts: 1...1)], { $0.eventsPerSecond = 200 }) {
            server, client in
            let start = clock.now
            try client.post(Self.request)
            let first = events(inStream: String(decoding: client.readToEnd().bytes, as: UTF8.self))
            let id = try self.id(first)
            let other = try RawClient(port: server.port)
            let rest = try self.get(other, "\(id)?stream=true&starting_after=1")
            let elapsed = clock.now - start
            // Each wait of the server is rounded down to milliseconds.
            let intervalCount = first.count + rest.events.count - 1
            let earliest: Duration = .milliseconds(5 * intervalCount - 2)
            #expect(elapsed >= earliest)
            #expect(text(of: first + rest.events) == Self.model.fullText)
            #expect(try self.get(other, id).events.first?["status"]?.string == "completed")
        }
    }

    @Test func aCancelledResponseEndsWhereItIs() throws {
        try self.withServer([.init(.cutAfterEvent(event: 2), attempts: 1...1)], { $0.eventsPerSecond = 1 }) {
            server, client in
            try client.post(Self.request)
            let first = events(inStream: String(decoding: client.readToEnd().bytes, as: UTF8.self))
            let id = try self.id(first)
            let other = try RawClient(port: server.port)
            try other.post("", path: "/v1/responses/\(id)/cancel")
            #expect(try self.stream(other).events.first?["status"]?.string == "cancelled")
            let rest = try self.get(other, "\(id)?stream=true&starting_after=1").events
            #expect(rest.last?["response"]?["status"]?.string == "cancelled")
            #expect(text(of: first + rest) != Self.model.fullText)
        }
    }

    @Test func aCompleteResponseIsNotCancelled() throws {
        try self.withServer { _, client in
            let all = try self.post(client)
            try client.post("", path: "/v1/responses/\(self.id(all))/cancel")
            #expect(try self.stream(client).events.first?["status"]?.string == "completed")
        }
    }

    @Test(arguments: ["resp_unknown?stream=true&starting_after=1", "resp_unknown"])
    func anUnknownResponseIsNotFound(target: String) throws {
        try self.withServer { _, client in
            let answer = try self.get(client, target)
            #expect(answer.head.status == 404)
            #expect(answer.events.first?["error"]?["message"]?.string == "Response with id 'resp_unknown' not found.")
        }
    }

    @Test func aPlainResponseCannotBeResumed() throws {
        try self.withServer { _, client in
            let all = try self.post(client, #"{"model":"m","input":"hi","stream":true,"store":true}"#)
            #expect(try self.get(client, "\(self.id(all))?stream=true").head.status == 404)
        }
    }

    @Test func anOldResponseCannotBeStreamedAndIsForgottenLater() throws {
        try self.withServer([], { $0.resumeLifetime = .zero }) { _, client in
            let id = try self.id(self.post(client))
            let answer = try self.get(client, "\(id)?stream=true&starting_after=1")
            #expect(answer.head.status == 400)
            let message = "This response can no longer be streamed because it is more than 5 minutes old"
            #expect(answer.events.first?["error"]?["message"]?.string == message)
            #expect(try self.get(client, id).events.first?["status"]?.string == "completed")
        }
        try self.withServer([], { $0.responseLifetime = .zero }) { _, client in
            let id = try self.id(self.post(client))
            #expect(try self.get(client, id).head.status == 404)
            #expect(try self.get(client, "\(id)?stream=true").head.status == 404)
        }
    }

    @Test func invalidRequestsAreRefused() throws {
        try self.withServer { _, client in
            let answer = try self.post(client, #"{"model":"m","stream":true,"background":true}"#)
            #expect(answer.first?["error"]?["message"]?.string == "background needs store.")
            let id = try self.id(self.post(client))
            #expect(try self.get(client, "\(id)?stream=true&starting_after=x").head.status == 400)
            try client.send("GET /backend-api/codex/responses/\(id) HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try self.stream(client).head.status == 404)
        }
    }

    @Test func aWebSocketTakesNoBackgroundRequest() throws {
        try self.withServer { _, client in
            try client.upgrade()
            _ = try client.readHead()
            try client.sendText(#"{"type":"response.create","model":"m","background":true,"store":true}"#)
            #expect(try client.readEvents().last?["status"] == .number("400"))
        }
    }

    @Test(arguments: [-3, 2, Int.min])
    func resumptionFaultShiftsTheFirstEvent(offset: Int) throws {
        try self.withServer([.init(action: .resumeElsewhere(offset: offset), from: 2)]) { _, client in
            let all = try self.post(client)
            let rest = try self.get(client, "\(self.id(all))?stream=true&starting_after=9").events
            #expect(rest == Array(all.dropFirst(max(0, 10 &+ max(-10, offset)))))
        }
    }

    @Test func faultsStrikeAResumedStream() throws {
        let faults: [ChappieTestServer.Fault] = [
            .init(action: .repeatEvent(event: 1), attempts: 2...2), .init(.cutAfterEvent(event: 4), attempts: 3...3),
        ]
        try self.withServer(faults) { server, client in
            let all = try self.post(client)
            let id = try self.id(all)
            let rest = try self.get(client, "\(id)?stream=true&starting_after=3").events
            #expect(rest == [all[4]] + all[4...])
            let other = try RawClient(port: server.port)
            try other.send("GET /v1/responses/\(id)?stream=true&starting_after=3 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let cut = events(inStream: String(decoding: other.readToEnd().bytes, as: UTF8.self))
            #expect(cut == Array(all[4..<8]))
        }
    }
}
