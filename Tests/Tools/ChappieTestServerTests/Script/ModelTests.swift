// The pieces without sockets: the scripted model, recordings, scenarios, digests, JSON, milestones.
import Testing

@testable import ChappieTestServer

@Suite struct ModelTests {
    private func script(_ model: ChappieTestServer.ScriptedModel, attempt: Int, response: Int) -> ResponseScript {
        let request = ScriptedRequest(
            body: .object([]), bodyByteCount: 10, attempt: attempt, response: response)
        return model.script(for: request)
    }

    @Test func theSameSeedGivesTheSameTextInOtherPieces() {
        let model = ChappieTestServer.ScriptedModel(seed: 9)
        let first = self.script(model, attempt: 1, response: 1).events
        let second = self.script(model, attempt: 2, response: 2).events
        let values = [first, second].map { $0.compactMap { JSONValue(Array($0.text.utf8)) } }
        #expect(text(of: values[0]) == text(of: values[1]))
        #expect(text(of: values[0]).utf8.count >= 3000)
        #expect(values[0].map { $0["delta"] } != values[1].map { $0["delta"] })
        #expect(values[0][0]["response"]?["id"] != values[1][0]["response"]?["id"])
        #expect(first.map(\.text) == self.script(model, attempt: 1, response: 1).events.map(\.text))
        #expect(model.fullText != ChappieTestServer.ScriptedModel(seed: 10).fullText)
    }

    @Test func escapedTextIsASCIIAndMeansTheSame() {
        var model = ChappieTestServer.ScriptedModel(seed: 9)
        model.escapesNonASCII = true
        let events = self.script(model, attempt: 1, response: 1).events
        #expect(events.allSatisfy { $0.text.utf8.allSatisfy { $0 < 0x80 } })
        #expect(text(of: events.compactMap { JSONValue(Array($0.text.utf8)) }) == model.fullText)
    }

    @Test func nextRecordingIsServedOnlyAfterACompleteDelivery() throws {
        let recordings = ["a", "b"].map { name in
            [#"{"type":"response.output_text.delta","delta":"\#(name)"}"#, #"{"type":"response.completed"}"#]
        }
        var configuration = ChappieTestServer.Configuration(model: .recordings(recordings))
        configuration.faults = [.init(.cutAfterEvent(event: 1), attempts: 2...2)]
        let server = try ChappieTestServer(configuration: configuration)
        defer { server.stop() }
        let texts = try (1...4).map { attempt in
            let client = try RawClient(port: server.port)
            try client.post(plainRequest, fields: ["Connection: close"])
            let received = client.readToEnd()
            server.waitBlocking(for: .finishedAttempts(attempt))
            return text(of: events(inStream: String(decoding: received.bytes, as: UTF8.self)))
        }
        #expect(texts == ["a", "b", "b", "a"])
    }

    @Test func customModelClosureMakesTheEvents() throws {
        let configuration = ChappieTestServer.Configuration(
            model: .custom { request in
                [#"{"type":"response.completed","n":\#(request.response),"body":\#(request.bodyText)}"#]
            })
        let server = try ChappieTestServer(configuration: configuration)
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.upgrade()
        _ = try client.readHead()
        try client.sendText(plainRequest)
        let event = try client.readEvents().last
        #expect(event?["n"] == .number("1"))
        #expect(event?["body"]?["model"]?.string == "gpt-5.5")
    }

    @Test(arguments: [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"), ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        ),
    ])
    func digestsAreThoseOfTheStandard(_ text: String, _ digest: String) {
        let bytes = HandshakeDigest.sha1(Array(text.utf8))
        #expect(bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() == digest)
    }

    @Test(arguments: [
        "null", #"{"a":[1,-2.5e3,true,false,null,"x\"\\/\n\u00e9\ud83d\ude00"],"b":{}}"#, " [ ] ", #""""#,
    ])
    func validJSONIsRead(_ text: String) {
        let value = JSONValue(Array(text.utf8))
        #expect(value != nil)
        #expect(value.flatMap { JSONValue(Array($0.text.utf8)) } == value)
    }

    @Test(arguments: [
        "", "{", "[1,]", #"{"a"}"#, #"{"a":1,}"#, "tru", "01x", #""\x""#, #""\u12""#, "\"\u{1}\"", "1 2", #""open"#,
    ])
    func invalidJSONIsRejected(_ text: String) { #expect(JSONValue(Array(text.utf8)) == nil) }

    @Test(arguments: [(63, true), (64, true), (65, false), (100_000, false)])
    func nestingIsLimited(_ depth: Int, _ isRead: Bool) {
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        #expect((JSONValue(Array(text.utf8)) != nil) == isRead)
    }

    @Test func logKeepsTheNewestRecords() throws {
        try withServer({ $0.maximumRecordCount = 2 }) { server -> Void in
            for _ in 1...3 {
                let client = try RawClient(port: server.port)
                try client.post(plainRequest, fields: ["Connection: close"])
                _ = client.readToEnd()
            }
            #expect(server.log.map(\.attempt) == [2, 3])
            server.clearLog()
            #expect(server.log.isEmpty)
        }
    }

    @Test func waitingEndsWithTheEventTheTaskOrTheServer() async throws {
        let server = try ChappieTestServer()
        async let reached = server.reached(.attempts(1))
        let client = try RawClient(port: server.port)
        try client.post(plainRequest)
        #expect(await reached)
        let cancelled = Task { await server.reached(.attempts(100)) }
        cancelled.cancel()
        #expect(await cancelled.value == false)
        let stopped = Task { await server.reached(.attempts(100)) }
        server.stop()
        #expect(await stopped.value == false)
        #expect(server.waitBlocking(for: .attempts(100)) == false)
    }

    @Test func linesAreLoggedWithoutSecrets() throws {
        let lines = Monitor<[String]>([])
        var configuration = ChappieTestServer.Configuration()
        configuration.logLine = { line in lines.withLock { $0.append(line) } }
        let server = try ChappieTestServer(configuration: configuration)
        let client = try RawClient(port: server.port)
        let secrets = ["Authorization: Bearer canary", "Cookie: canary", "X-Api-Key: canary", "X-Access-Token: canary"]
        try client.post(plainRequest, fields: secrets + ["Connection: close", "Session-Id: s1"])
        _ = client.readToEnd()
        server.stop()
        let events = lines.withLock { $0 }.map { JSONValue(Array($0.utf8))?["event"]?.string }
        #expect(events == ["attempt", "body", "status", "completed", "finished"])
        #expect(server.log.first?.value(of: "session-id") == "s1")
        #expect(!"\(server.log) \(lines.withLock { $0 })".contains("canary"))
    }

    @Test func aTakenPortIsReported() throws {
        let server = try ChappieTestServer()
        defer { server.stop() }
        var configuration = ChappieTestServer.Configuration()
        configuration.port = UInt16(server.port)
        #expect(throws: ChappieTestServer.StartError.self) {
            _ = try ChappieTestServer(configuration: configuration)
        }
    }
}
