import Chappie
import ChappieRelay
import ChappieTestServer
import ChappieTransport
import EventSource
import Foundation
import RelayService
import Testing
import WebSocketClient

/// A relay in front of a test server, as its clients see it.
@Suite struct RelayServerTests {
    private static let (anna, ben) = ("anna-0123456789abcdef", "ben-0123456789abcdef")

    /// Runs a relay in front of a server of a dialect, and stops it.
    private func withRelay(
        _ server: ChappieTestServer, journal: any ChappieJournal = ChappieMemoryJournal(),
        dialect: ChappieDialect = .responses, keys: RelayKeys? = nil,
        limitsPerKey: (streams: Int, requests: Int)? = nil, showsStatus: Bool = false,
        _ body: (URL) async throws -> Void
    ) async throws {
        let hub = ChappieHub.loopback(server, journal, over: .httpSSE) { configuration in
            configuration.dialect = dialect
            configuration.rawEvents = .none
        }
        var configuration = RelayConfiguration()
        configuration.keys = keys
        configuration.showsStatus = showsStatus
        if let limitsPerKey {
            configuration.streamsPerKey = limitsPerKey.streams
            configuration.requestsPerKey = limitsPerKey.requests
        }
        let relay = Relay(hub, configuration)
        let port = try await relay.start()
        do {
            try await body(try #require(URL(string: "http://127.0.0.1:\(port)/v1")))
        } catch {
            await relay.stop(gracePeriod: .zero)
            throw error
        }
        await relay.stop(gracePeriod: .zero)
    }

    private func configuration(_ url: URL, over wire: Wire, key: String = "key") -> ChappieConfiguration {
        var configuration = ChappieConfiguration(apiKey: key, model: "m")
        configuration.endpoint = .other(url)
        configuration.harness = .none
        configuration.streamingTransportPolicy = wire.policy
        configuration.reconnectDelay = .zero
        configuration.proxy = .none
        return configuration
    }

    private static func server(_ faults: [ChappieTestServer.Fault] = []) -> ChappieTestServer.Configuration {
        ChappieTestServer.Configuration(model: .text(HubTests.text), faults: faults)
    }

    @Test(arguments: Wire.allCases, [ChappieDialect.responses, .chatCompletions, .messages])
    func aClientOfTheResponsesAPIReadsAnyUpstream(wire: Wire, dialect: ChappieDialect) async throws {
        try await withServer(Self.server()) { server in
            try await self.withRelay(server, dialect: dialect) { url in
                let client = Chappie.client(configuration: self.configuration(url, over: wire))
                let first = try await client.send("Why?")
                // The conversation goes on: the relay knows what the upstream has said.
                let second = try await client.send("And then?")
                #expect(first == HubTests.text && second == HubTests.text)
                #expect(server.log.count == 2)
                #expect(server.log.last?.bodies.last?.contains("Why?") == true)
            }
        }
    }

    @Test(arguments: Wire.allCases, [ChappieDialect.responses, .chatCompletions, .messages])
    func toolsRunOnceBehindARelay(wire: Wire, dialect: ChappieDialect) async throws {
        var model = ChappieTestServer.ScriptedModel(seed: 3, textByteCount: 200)
        model.callsTools = true
        try await withServer(.init(model: .scripted(model))) { server in
            try await self.withRelay(server, dialect: dialect) { url in
                let calls = Locked(0)
                var configuration = self.configuration(url, over: wire)
                configuration.tools = [
                    ChappieHostTool(name: "weather", description: "The weather.") { _ in
                        calls.update { $0 += 1 }
                        return ChappieToolResult(output: "sunny")
                    }
                ]
                let client = Chappie.client(configuration: configuration)
                let text = try await client.send("The weather?")
                #expect(!text.isEmpty)
                #expect(calls.value == 1 && server.log.count == 2)
            }
        }
    }

    @Test func aKeptResponseIsReadFromAnyNumber() async throws {
        try await withServer(Self.server()) { server in
            try await self.withRelay(server) { url in
                let transport = ChappieStreamingTransport(
                    configuration: .loopback(url.absoluteString) { $0.rawEvents = .all })
                var request = ChappieTransportRequest(prompt: "Why?", model: "m")
                request.body = Array(#"{"background":true,"store":true}"#.utf8)
                let handle = transport.streamHandle(request)
                for try await _ in handle.events {}
                let id = try #require(handle.response?.id)
                #expect(try await transport.retrieve(id).outputText == HubTests.text)
                let whole = try await self.answer(url, "/v1/responses/\(id)?stream=true").body
                let rest = try await self.answer(url, "/v1/responses/\(id)?stream=true&starting_after=4").body
                let numbers = String(decoding: rest, as: UTF8.self).split(separator: "\n")
                    .compactMap { ChappieJSONValue(jsonText: String($0.dropFirst(6)))?["sequence_number"]?.int }
                #expect(numbers.first == 5 && numbers == Array(5..<(5 + numbers.count)))
                // The same bytes for every reader.
                #expect(whole.suffix(rest.count) == rest[...])
                #expect(server.log.count == 1)
            }
        }
    }

    @Test func thePageOfStreamsIsOffUnlessAskedForAndNeedsAKey() async throws {
        try await withServer(Self.server()) { server in
            try await self.withRelay(server) { url in
                let refused = try await self.answer(url, "/")
                #expect(refused.statusCode == 404)
            }
            let keys = try RelayKeys("anna \(Self.anna)")
            try await self.withRelay(server, keys: keys, showsStatus: true) { url in
                _ = try await self.startStream(url, key: Self.anna)
                #expect(try await self.answer(url, "/").statusCode == 401)
                let pair = Data("anyone:\(Self.anna)".utf8).base64EncodedString()
                let page = try await self.answer(url, "/", fields: [("Authorization", "Basic \(pair)")])
                let text = String(decoding: page.body, as: UTF8.self)
                #expect(page.statusCode == 200 && text.contains("<h1>chappie relay</h1>"))
                #expect(!text.contains("anna") && !text.contains("Why?"))
                // A password is for the page alone.
                let refused = try await self.answer(
                    url, "/metrics", fields: [("Authorization", "Basic \(pair)")])
                #expect(refused.statusCode == 401)
            }
        }
    }

    @Test func theUpstreamCompactsWhatContinuesAResponse() async throws {
        try await withServer(Self.server()) { server in
            try await self.withRelay(server) { url in
                let created = try self.object(
                    try await self.answer(url, "/v1/responses", #"{"input":"Why?","model":"m"}"#))
                let id = try #require(created["id"]?.string)
                let body = #"{"model":"m","previous_response_id":"\#(id)","input":"And then?"}"#
                let compacted = try self.object(try await self.answer(url, "/v1/responses/compact", body))
                #expect(compacted["object"]?.string == "response.compaction")
                let items = try #require(compacted["output"]?.array)
                let texts = items.map { $0["content"]?.array?.first?["text"]?.string }
                #expect(texts == ["Why?", "And then?", nil] && items.last?["type"]?.string == "compaction")
                let sent = try #require(server.log.last?.bodies.last)
                #expect(sent.contains(HubTests.text) && !sent.contains("previous_response_id"))
                // The answer is an input as it is.
                let input = "[" + items.map(\.jsonText).joined(separator: ",") + "]"
                let next = try await self.answer(url, "/v1/responses", #"{"model":"m","input":\#(input)}"#)
                #expect(try self.object(next)["status"]?.string == "completed")
            }
        }
    }

    /// What the client can mend is its error; the upstream's word about the relay's own credential is not.
    @Test(arguments: [
        (400, 400, "http.400"), (401, 502, "auth.reauthentication-required"), (404, 404, "http.404"),
        (429, 429, "http.429"), (500, 502, "http.500"),
    ])
    func aRefusalToCompactIsPassedOnWhereTheClientCanMendIt(
        upstream: Int, expected: Int, code: String
    ) async throws {
        let fields = [ChappieTestServer.Field(name: "Retry-After", value: "7")]
        try await withServer(Self.server([.answer(status: upstream, fields: fields)])) { server in
            try await self.withRelay(server) { url in
                let answer = try await self.answer(url, "/v1/responses/compact", #"{"model":"m","input":"Why?"}"#)
                #expect(answer.statusCode == expected)
                #expect(try self.object(answer)["error"]?["code"]?.string == code)
                let delay = answer.fields.first { $0.isNamed("retry-after") }?.value
                if upstream == 429 { #expect(delay == "7") }
                #expect(server.log.count == 1)
            }
        }
    }

    @Test func aRequestThatCannotBeCompactedIsRefused() async throws {
        try await withServer(Self.server()) { server in
            try await self.withRelay(server) { url in
                for (body, code) in [
                    ("[]", "invalid_request"), (#"{"input":"Why?"}"#, "http.400"),
                    (#"{"model":"m","previous_response_id":"resp_x"}"#, "previous_response_not_found"),
                ] {
                    let answer = try await self.answer(url, "/v1/responses/compact", body)
                    #expect(answer.statusCode == 400)
                    #expect(try self.object(answer)["error"]?["code"]?.string == code)
                }
            }
            try await self.withRelay(server, dialect: .messages) { url in
                let answer = try await self.answer(url, "/v1/responses/compact", #"{"model":"m","input":"Why?"}"#)
                #expect(answer.statusCode == 400)
                #expect(try self.object(answer)["error"]?["code"]?.string == "request.invalid")
            }
        }
    }

    @Test(arguments: [true, false])
    func aResponseRepeatsWhetherItIsInTheBackground(isBackground: Bool) async throws {
        try await withServer(Self.server()) { server in
            try await self.withRelay(server) { url in
                let body = #"{"input":"Why?","model":"m","background":\#(isBackground)}"#
                let created = try self.object(try await self.answer(url, "/v1/responses", body))
                #expect(created["background"]?.bool == isBackground)
                let id = try #require(created["id"]?.string)
                let read = try self.object(try await self.answer(url, "/v1/responses/\(id)"))
                #expect(read["background"]?.bool == isBackground)
            }
        }
    }

    @Test func aResponseThatIsNotStoredIsContinuedOnItsWebSocketAlone() async throws {
        try await withServer(Self.server()) { server in
            try await self.withRelay(server) { url in
                let (own, other) = (try await self.webSocket(url), try await self.webSocket(url))
                let request = #""type":"response.create","model":"m","store":false,"input":"Why?""#
                let first = try await self.turn("{\(request)}", on: own)
                let id = try #require(first["response"]?["id"]?.string)
                let next = #"{\#(request),"previous_response_id":"\#(id)"}"#
                let refused = try await self.turn(next, on: other)
                #expect(refused["error"]?["code"]?.string == "previous_response_not_found")
                let second = try await self.turn(next, on: own)
                #expect(second["response"]?["previous_response_id"]?.string == id)
                #expect(server.log.count == 2)
                try await own.close()
                try await other.close()
            }
        }
    }

    @Test func anEventSourceSurvivesTheRelay() async throws {
        let hang = ChappieTestServer.Fault(.hang(afterEvent: 8), attempts: 1...1)
        try await withServer(Self.server([hang])) { server in
            let journal = ChappieMemoryJournal()
            var (texts, last, id) = ("", "", "")
            try await self.withRelay(server, journal: journal) { url in
                id = try await self.startStream(url)
                for try await event in self.source(url, id) where event.type == "text" {
                    texts += try self.text(event.data)
                    last = event.lastEventID
                    break
                }
            }
            try await self.withRelay(server, journal: journal) { url in
                for try await event in self.source(url, id, last) where event.type == "text" {
                    texts += try self.text(event.data)
                }
                // Behind the end there is nothing: 204, with which a browser stops.
                #expect(
                    try await self.answer(url, "/streams/\(id)", fields: [("Last-Event-ID", "9999")]).statusCode == 204)
            }
            #expect(texts == HubTests.text)
            #expect(server.log.count == 2)
        }
    }

    @Test func aStreamBelongsToTheKeyThatMadeIt() async throws {
        let (anna, ben) = ("0123456789abcdef", "fedcba9876543210")
        let keys = try RelayKeys("anna \(anna)\nben \(ben)\n")
        try await withServer(Self.server()) { server in
            try await self.withRelay(server, keys: keys) { url in
                let id = try await self.startStream(url, key: anna)
                for (key, status) in [(anna, 200), (ben, 404), ("0123456789abcdeX", 401)] {
                    let fields = [("Authorization", "Bearer \(key)")]
                    for path in ["/streams/\(id)", "/v1/responses/resp_\(id)"] {
                        #expect(try await self.answer(url, path, fields: fields).statusCode == status, "\(key) \(path)")
                    }
                    let path = "/v1/responses/resp_\(id)/cancel"
                    #expect(try await self.answer(url, path, "{}", fields: fields).statusCode == status, "\(key)")
                }
                #expect(try await self.answer(url, "/healthz").statusCode == 200)
                #expect(try await self.answer(url, "/metrics").statusCode == 401)
            }
        }
    }

    @Test func idempotencyKeysOfOneUserAreNotThoseOfAnother() async throws {
        // The names and keys are one text without what separates them.
        let (anna, other) = ("0123456789abcdef", "fedcba9876543210")
        let keys = try RelayKeys("a \(anna)\nab \(other)\n")
        try await withServer(Self.server()) { server in
            try await self.withRelay(server, keys: keys) { url in
                let first = try await self.startStream(url, key: anna, idempotencyKey: "bc")
                let again = try await self.startStream(url, key: anna, idempotencyKey: "bc")
                let second = try await self.startStream(url, key: other, idempotencyKey: "c")
                #expect(first == again && first != second)
                let long = [
                    ("Authorization", "Bearer \(anna)"), ("Idempotency-Key", String(repeating: "k", count: 256)),
                ]
                let answer = try await self.answer(url, "/streams", "{}", fields: long)
                #expect(answer.statusCode == 400)
            }
        }
    }

    @Test func aKeyHasALimitOfStreams() async throws {
        let keys = try RelayKeys("anna \(Self.anna)\nben \(Self.ben)\n")
        try await withServer(Self.server([ChappieTestServer.Fault(.hang(afterEvent: 8))])) { server in
            try await self.withRelay(server, keys: keys, limitsPerKey: (streams: 2, requests: 100)) { url in
                let first = try await self.startStream(url, key: Self.anna, idempotencyKey: "1")
                _ = try await self.startStream(url, key: Self.anna, idempotencyKey: "2")
                let fields = [("Authorization", "Bearer \(Self.anna)")]
                let third = try await self.answer(url, "/streams", "{}", fields: fields)
                #expect(third.statusCode == 429)
                #expect(String(decoding: third.body, as: UTF8.self).contains("too_many_streams"))
                // A request that is repeated makes no stream.
                #expect(try await self.startStream(url, key: Self.anna, idempotencyKey: "1") == first)
                _ = try await self.startStream(url, key: Self.ben, idempotencyKey: "1")
            }
        }
    }

    @Test func aKeyHasALimitOfRequests() async throws {
        let keys = try RelayKeys("anna \(Self.anna)\nben \(Self.ben)\n")
        try await withServer(Self.server([ChappieTestServer.Fault(.hang(afterEvent: 8))])) { server in
            try await self.withRelay(server, keys: keys, limitsPerKey: (streams: 100, requests: 1)) { url in
                let id = try await self.startStream(url, key: Self.anna)
                var events = self.source(url, id, key: Self.anna).makeAsyncIterator()
                #expect(try await events.next() != nil)
                let fields = { (key: String) in [("Authorization", "Bearer \(key)")] }
                let second = try await self.answer(url, "/streams/\(id)", fields: fields(Self.anna))
                #expect(second.statusCode == 429)
                #expect(String(decoding: second.body, as: UTF8.self).contains("too_many_requests"))
                #expect(try await self.answer(url, "/streams/\(id)", fields: fields(Self.ben)).statusCode == 404)
                #expect(try await self.answer(url, "/healthz").statusCode == 200)
            }
        }
    }

    @Test func aClientThatWaitsForEachAnswerHasOneRequestAtATime() async throws {
        let keys = try RelayKeys("anna \(Self.anna)\n")
        let fields = [("Authorization", "Bearer \(Self.anna)")]
        try await withServer(Self.server()) { server in
            try await self.withRelay(server, keys: keys, limitsPerKey: (streams: 100, requests: 1)) { url in
                for _ in 0..<20 {
                    let id = try await self.startStream(url, key: Self.anna)
                    // The client does not wait for the end of the content behind the last event.
                    var types: [String] = []
                    for try await event in self.source(url, id, key: Self.anna) {
                        types.append(event.type)
                        if event.type == "completed" { break }
                    }
                    #expect(types.last == "completed")
                    for path in ["resp_\(id)", "resp_\(id)?stream=true", "resp_\(ChappieStreamID())"] {
                        let answer = try await self.answer(url, "/v1/responses/\(path)", fields: fields)
                        #expect(answer.statusCode != 429, "\(path)")
                    }
                    let socket = try await self.webSocket(url, key: Self.anna)
                    try await socket.send(#"{"type":"response.create","input":"Why?","model":"m"}"#)
                    #expect(try await socket.receive() != nil)
                    try await socket.close()
                }
            }
        }
    }

    @Test func pagesOfOtherOriginsAreRefused() async throws {
        try await withServer(Self.server()) { server in
            try await self.withRelay(server) { url in
                let host = "127.0.0.1:\(url.port ?? 0)"
                for (origin, status) in [
                    ("http://\(host)", 200), ("https://evil.example", 403), ("null", 403),
                    ("http://evil.example:80", 403),
                ] {
                    let answer = try await self.answer(url, "/healthz", fields: [("Origin", origin)])
                    #expect(answer.statusCode == status, "\(origin)")
                }
            }
        }
    }

    @Test func unreadableRequestsAreRefused() async throws {
        try await withServer(Self.server()) { server in
            try await self.withRelay(server) { url in
                let requests: [(String, String?, Int)] = [
                    ("/v1/responses", "[", 400), ("/v1/responses", "", 400), ("/v1/responses", nil, 405),
                    ("/healthz", "{}", 405), ("/nothing", nil, 404), ("/v1/responses/resp_x", nil, 404),
                    ("/v1/responses", #"{"previous_response_id":"resp_1"}"#, 400), ("/readyz", nil, 200),
                    ("/streams/\(ChappieStreamID())", nil, 404), ("/metrics", nil, 200),
                ]
                for (path, body, status) in requests {
                    let answer = try await self.answer(url, path, body)
                    #expect(answer.statusCode == status, "\(path) \(body ?? "")")
                }
                #expect(server.log.isEmpty)
            }
        }
    }

    // MARK: Requests

    private func answer(
        _ url: URL, _ path: String, _ body: String? = nil, fields: [(String, String)] = []
    ) async throws -> FetchedDocument {
        let target = try #require(URL(string: "http://127.0.0.1:\(url.port ?? 0)\(path)"))
        var request = DocumentRequest(url: target, content: body.map { ("application/json", Array($0.utf8)) })
        request.fields = fields.map { ($0.0, $0.1) }
        return try await ChappieStreamingTransport(configuration: .loopback(url.absoluteString)).exchange(request)
    }

    private func startStream(_ url: URL, key: String? = nil, idempotencyKey: String? = nil) async throws -> String {
        let fields =
            (key.map { [("Authorization", "Bearer \($0)")] } ?? [])
            + (idempotencyKey.map { [("Idempotency-Key", $0)] } ?? [])
        let answer = try await self.answer(url, "/streams", #"{"input":"Why?","model":"m"}"#, fields: fields)
        return try #require(try self.object(answer)["id"]?.string)
    }

    private func object(_ answer: FetchedDocument) throws -> ChappieJSONValue {
        try #require(ChappieJSONValue(jsonText: String(decoding: answer.body, as: UTF8.self)))
    }

    private func source(_ url: URL, _ id: String, _ last: String? = nil, key: String? = nil) -> EventSource {
        let origin = "http://127.0.0.1:\(url.port ?? 0)"
        var request = EventSourceRequest(url: URL(string: "\(origin)/streams/\(id)") ?? url)
        if let last { request.lastEventID = last }
        if let key { request.fields = [("Authorization", "Bearer \(key)")] }
        var configuration = EventSourceConfiguration()
        configuration.proxy = .none
        configuration.reconnection = .never
        return EventSource(request, configuration: configuration)
    }

    /// Sends a request over a WebSocket, and returns the last event of its answer.
    private func turn(_ request: String, on socket: WebSocketConnection) async throws -> ChappieJSONValue {
        try await socket.send(request)
        while true {
            guard case .text(let text)? = try await socket.receive() else { throw WebSocketError.notOpen }
            let event = try #require(ChappieJSONValue(jsonText: text))
            if ["response.completed", "response.failed", "error"].contains(event["type"]?.string) { return event }
        }
    }

    private func webSocket(_ url: URL, key: String? = nil) async throws -> WebSocketConnection {
        let target = try #require(URL(string: "ws://127.0.0.1:\(url.port ?? 0)/v1/responses"))
        var configuration = WebSocketConfiguration(url: target)
        if let key { configuration.additionalFields = [("Authorization", "Bearer \(key)")] }
        configuration.proxy = .none
        return try await WebSocketConnection.open(configuration)
    }

    private func text(_ json: String) throws -> String { try #require(ChappieJSONValue(jsonText: json)?.string) }
}
