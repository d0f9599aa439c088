// The HTTP transport, byte by byte.
import Testing

@testable import ChappieTestServer

@Suite struct EventStreamTests {
    private func stream(
        fields: [String] = [], _ configure: (inout ChappieTestServer.Configuration) -> Void = { _ in }
    ) throws -> (head: AnswerHead, body: [UInt8]) {
        try withServer(configure) { server in
            let client = try RawClient(port: server.port)
            try client.post(plainRequest, fields: fields)
            let head = try client.readHead()
            return (head, try client.readBody(head))
        }
    }

    @Test func theStreamCarriesTheScriptedText() throws {
        let (head, body) = try self.stream()
        let received = events(inStream: String(decoding: body, as: UTF8.self))
        #expect(head.status == 200)
        #expect(head.fields["content-type"] == "text/event-stream; charset=utf-8")
        #expect(head.fields["x-codex-primary-used-percent"] == "42")
        #expect(text(of: received) == ChappieTestServer.ScriptedModel().fullText)
        #expect(received.map { $0["sequence_number"] } == received.indices.map { .number(String($0)) })
        #expect(received.last?["response"]?["model"]?.string == "gpt-5.5")
    }

    @Test(arguments: [
        ChappieTestServer.WriteMode.batched, .perEvent, .events(7), .bytes(1), .bytes(13),
    ])
    func theWriteModeDoesNotChangeTheBody(_ mode: ChappieTestServer.WriteMode) throws {
        let expected = try self.stream().body
        #expect(try self.stream { $0.writeMode = mode }.body == expected)
    }

    @Test(arguments: ChappieTestServer.LineEnding.allCases)
    func lineEndsAreAsConfigured(_ ending: ChappieTestServer.LineEnding) throws {
        let body = try self.stream { $0.lineEnding = ending }.body
        let suffix = Array((ending.text + ending.text).utf8)
        #expect(Array(body.suffix(suffix.count)) == suffix)
        let otherEnds = Set(body).intersection([0x0A, 0x0D])
        #expect(otherEnds == Set(suffix))
    }

    @Test(arguments: [ChappieTestServer.ContentCoding.gzip, .deflate])
    func contentIsCompressedForClientsThatAcceptIt(_ coding: ChappieTestServer.ContentCoding) throws {
        let expected = try self.stream().body
        let (head, body) = try self.stream(fields: ["Accept-Encoding: \(coding.rawValue), br;q=0.5"]) {
            $0.contentCoding = coding
        }
        #expect(head.fields["content-encoding"] == coding.rawValue)
        let decompressor = Decompressor(coding == .gzip ? .gzip : .zlib)
        #expect(decompressor.decompress(body, limit: 10_000_000) == expected)
        #expect(body.count < expected.count / 2)
    }

    @Test func contentIsNotCompressedForClientsThatRefuseIt() throws {
        let (head, _) = try self.stream(fields: ["Accept-Encoding: gzip;q=0"]) { $0.contentCoding = .gzip }
        #expect(head.fields["content-encoding"] == nil)
    }

    @Test func truncatedContentLacksItsTrailer() throws {
        let fields = ["Accept-Encoding: gzip"]
        let whole = try self.stream(fields: fields) { $0.contentCoding = .gzip }.body
        let truncated = try self.stream(fields: fields) {
            $0.contentCoding = .gzip
            $0.faults = [.init(action: .truncateContent)]
        }.body
        #expect(truncated.count < whole.count)
        #expect(whole.starts(with: truncated))
    }

    @Test func textInTheMiddleOfABodyStandsOutsideOfTheChunks() throws {
        try withServer({ $0.faults = [.init(action: .interruptWithText(text: "<b>", afterEvent: 1))] }) { server in
            let client = try RawClient(port: server.port)
            try client.post(plainRequest)
            #expect(try client.readHead().status == 200)
            let (bytes, _) = client.readToEnd()
            #expect(String(decoding: bytes, as: UTF8.self).hasSuffix("\n\n\r\n<b>"))
            #expect(server.log.first?.completedResponseCount == 0)
        }
    }

    @Test func textInTheMiddleOfABodyStandsInAChunkOfItsOwn() throws {
        let fault = ChappieTestServer.Fault.Action.interruptWithText(afterEvent: 1, inChunk: true)
        let (_, body) = try self.stream { $0.faults = [.init(action: fault)] }
        let text = String(decoding: body, as: UTF8.self)
        #expect(text.ranges(of: "data: ").count == 1)
        #expect(text.contains("\n\nHTTP/1.0 502 Bad Gateway\r\n"))
        #expect(text.hasSuffix("}"))
    }

    @Test func aToolIsCalledAndItsOutputIsAnsweredWithText() throws {
        try withServer { server in
            let client = try RawClient(port: server.port)
            try client.post(toolRequest)
            let first = try events(inStream: String(decoding: client.readBody(client.readHead()), as: UTF8.self))
            let done = first.first { $0["type"]?.string == "response.function_call_arguments.done" }
            #expect(done?["arguments"]?.string == #"{"city":"Oslo"}"#)
            #expect(text(of: first).isEmpty)

            let output = #"},{"type":"function_call_output","call_id":"call_1","output":"21"}],"tools""#
            try client.post(toolRequest.replacing(#"}],"tools""#, with: output))
            let second = try events(inStream: String(decoding: client.readBody(client.readHead()), as: UTF8.self))
            #expect(text(of: second) == ChappieTestServer.ScriptedModel().fullText)
        }
    }

    @Test(arguments: [
        ("/v1/responses", "nonsense", "", 400), ("/v1/responses", plainRequest, "Content-Encoding: zstd", 415),
        ("/backend-api/codex/responses", plainRequest, "", 400), ("/elsewhere", plainRequest, "", 404),
    ])
    func badRequestsAreRefused(_ path: String, _ body: String, _ field: String, _ status: Int) throws {
        try withServer { server in
            let client = try RawClient(port: server.port)
            try client.post(body, path: path, fields: field.isEmpty ? [] : [field])
            let head = try client.readHead()
            #expect(head.status == status)
            #expect(try JSONValue(client.readBody(head)) != nil)
        }
    }

    @Test func aTokenIsRequiredWhenConfigured() throws {
        try withServer({ $0.requiresAuthorization = true }) { server in
            let client = try RawClient(port: server.port)
            try client.post(plainRequest)
            let head = try client.readHead()
            #expect(head.status == 401)
            _ = try client.readBody(head)
            try client.post(plainRequest, fields: ["Authorization: Bearer canary"])
            #expect(try client.readHead().status == 200)
            #expect(!"\(server.log)".contains("canary"))
            #expect(server.log.map(\.hasAuthorization) == [false, true])
        }
    }

    @Test func aClientThatDoesNotStreamGetsTheResponseAsOneObject() throws {
        try withServer { server in
            let client = try RawClient(port: server.port)
            try client.post(#"{"model":"m","input":"hi"}"#)
            let object = try JSONValue(client.readBody(client.readHead()))
            #expect(object?["status"]?.string == "completed")
        }
    }

    @Test func aChunkedRequestBodyIsRead() throws {
        try withServer { server in
            let client = try RawClient(port: server.port)
            let head = "POST /v1/responses HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            let size = String(plainRequest.utf8.count - 3, radix: 16)
            try client.send(
                head + "3;x=y\r\n\(plainRequest.prefix(3))\r\n\(size)\r\n\(plainRequest.dropFirst(3))\r\n0\r\n\r\n")
            #expect(try client.readHead().status == 200)
            #expect(server.log.first?.bodies == [plainRequest])
        }
    }

    @Test func theModelsAreListed() throws {
        try withServer { server in
            let client = try RawClient(port: server.port)
            try client.send("GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n")
            let object = try JSONValue(client.readBody(client.readHead()))
            #expect(object?["data"]?.elements.first?["id"]?.string == "scripted")
        }
    }

    @Test func healthCheckNeedsNoCredentialAndIsNotCounted() throws {
        try withServer({ $0.acceptedTokens = ["right"] }) { server in
            let client = try RawClient(port: server.port)
            try client.send("GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            let head = try client.readHead()
            #expect(head.status == 200)
            #expect(try client.readBody(head) == Array("{}".utf8))
            #expect(server.log.isEmpty)
            try client.send("POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
            #expect(try client.readHead().status == 404)
        }
    }

    @Test(arguments: [
        ("/v1/models", "wrong", 401), ("/v1/models", "right", 200), ("/backend-api/codex/models", "right", 200),
    ])
    func modelListRequiresACredential(_ path: String, _ token: String, _ status: Int) throws {
        try withServer({
            $0.acceptedTokens = ["right"]
            $0.modelNames = ["one", "two"]
        }) { server in
            let client = try RawClient(port: server.port)
            try client.send("GET \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n")
            let head = try client.readHead()
            #expect(head.status == status)
            let object = try JSONValue(client.readBody(head))
            #expect(object?["object"]?.string == (status == 200 ? "list" : nil))
            #expect(
                object?["data"]?.elements.compactMap { $0["id"]?.string } ?? []
                    == (status == 200 ? ["one", "two"] : []))
        }
    }

    @Test(arguments: [
        "GET /\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ])
    func malformedRequestsAreAnswered400(_ request: String) throws {
        try withServer { server in
            let client = try RawClient(port: server.port)
            try client.send(request)
            #expect(try client.readHead().status == 400)
        }
    }
}
