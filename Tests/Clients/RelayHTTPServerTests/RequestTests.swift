// Requests and whole responses: methods, persistence, bodies, half-closed connections.

import HTTPProtocol
import PlatformC
import RelayHTTPServer
import Testing

@Suite struct RequestTests {
    @Test func handlerGetsTheRequestAndAnswers() async throws {
        try await withCalls { server, calls in
            let client = try RawClient(port: server.port)
            try await client.send(
                "PUT /a%20b?c=d&e HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 2\r\n\r\nhi")
            let call = try #require(await calls.next())
            #expect(call.request.method == "PUT")
            #expect(call.request.path == "/a%20b")
            #expect(call.request.query == "c=d&e")
            #expect(call.request.fields.value(of: "x-a") == "1, 2")
            #expect(call.request.body == Array("hi".utf8))
            #expect(call.request.remoteAddress == "127.0.0.1")
            #expect(!call.request.isWebSocketUpgrade)
            try call.exchange.respond(
                HTTPServerResponse(statusCode: 201, fields: [("X-B", "c")], body: Array("made".utf8)))
            let response = try await client.response()
            #expect(response.statusCode == 201)
            #expect(response.fields["x-b"] == "c")
            #expect(response.fields["connection"] == nil)
            #expect(response.fields["date"]?.hasSuffix(" GMT") == true)
            #expect(response.body == "made")
            #expect(await call.end == .completed)
            #expect(call.exchange.offer([1]) == .ended)
            #expect(throws: HTTPExchange.Failure.ended) {
                try call.exchange.respond(HTTPServerResponse(statusCode: 200))
            }
        }
    }

    @Test func connectionsServeOneRequestAfterAnother() async throws {
        try await withServer(handler: echo) { server in
            let client = try RawClient(port: server.port)
            for number in 0..<3 {
                try await client.send("POST /\(number) HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n\(number)")
                #expect(try await client.response().body == "POST /\(number) \(number)")
            }
            try await client.send("GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            let response = try await client.response()
            #expect(response.fields["connection"] == "close")
            #expect(try await client.end() == (.endOfStream, ""))
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        try await withServer(handler: echo) { server in
            let client = try RawClient(port: server.port)
            let requests = (0..<200).map { number in
                number.isMultiple(of: 2)
                    ? "GET /\(number) HTTP/1.1\r\nHost: h\r\n\r\n"
                    : "POST /\(number) HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"
            }
            try await client.send(requests.joined())
            // Behind the last request the client may end its side, and still gets every answer.
            client.endOutput()
            for number in 0..<200 {
                let isGet = number.isMultiple(of: 2)
                #expect(try await client.response().body == (isGet ? "GET /\(number) " : "POST /\(number) x"))
            }
            #expect(try await client.end() == (.endOfStream, ""))
        }
    }

    @Test func pipelinedRequestWaitsForTheAnswerBefore() async throws {
        try await withCalls { server, calls in
            let client = try RawClient(port: server.port)
            try await client.send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n")
            let first = try #require(await calls.next())
            #expect(first.request.path == "/1")
            try first.exchange.begin()
            #expect(first.exchange.offer(Array("one".utf8)) == .accepted)
            first.exchange.finish()
            let second = try #require(await calls.next())
            #expect(second.request.path == "/2")
            #expect(first.exchange.end == .completed)
            try second.exchange.respond(HTTPServerResponse(statusCode: 200, text: "two"))
            #expect(try await client.response().body == "one")
            #expect(try await client.response().body == "two")
        }
    }

    @Test func headOfTheAnswerIsTheAnswerToHEAD() async throws {
        try await withServer(handler: echo) { server in
            let client = try RawClient(port: server.port)
            try await client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
            let head = try await client.response(toHEAD: true)
            #expect(head.fields["content-length"] == "7")
            #expect(try await client.response().body == "GET / ")
        }
    }

    @Test func chunksAreDroppedInAnswerToHEAD() async throws {
        try await withCalls { server, calls in
            let client = try RawClient(port: server.port)
            try await client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
            let call = try #require(await calls.next())
            try call.exchange.begin()
            for _ in 0..<100 { try await call.exchange.write([UInt8](repeating: 0x61, count: 65_536)) }
            call.exchange.finish()
            #expect(try await client.response(toHEAD: true).fields["transfer-encoding"] == "chunked")
            #expect(await call.end == .completed)
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            try #require(await calls.next()).exchange.respond(HTTPServerResponse(statusCode: 200, text: "next"))
            #expect(try await client.response().body == "next")
        }
    }

    @Test(arguments: [204, 304])
    func responsesWithoutContentHaveNoLength(statusCode: Int) async throws {
        try await withServer(handler: { request, exchange in
            if request.path == "/whole" {
                try? exchange.respond(HTTPServerResponse(statusCode: statusCode, body: [1, 2]))
            } else {
                try? exchange.begin(statusCode: statusCode)
                _ = exchange.offer([1, 2])
                exchange.finish()
            }
        }) { server in
            let client = try RawClient(port: server.port)
            try await client.send("GET /whole HTTP/1.1\r\nHost: h\r\n\r\nGET /s HTTP/1.1\r\nHost: h\r\n\r\n")
            for _ in 0..<2 {
                let response = try await client.response()
                #expect(response.statusCode == statusCode)
                #expect(response.fields["content-length"] == nil)
                #expect(response.fields["transfer-encoding"] == nil)
            }
        }
    }

    @Test func preflightReachesTheHandler() async throws {
        try await withServer(handler: { request, exchange in
            let method = request.fields.value(of: "access-control-request-method") ?? ""
            let fields = [("Access-Control-Allow-Origin", "*"), ("Access-Control-Allow-Methods", method)]
            try? exchange.respond(HTTPServerResponse(statusCode: 204, fields: fields))
        }) { server in
            let client = try RawClient(port: server.port)
            try await client.send(
                "OPTIONS /v HTTP/1.1\r\nHost: h\r\nOrigin: http://a\r\nAccess-Control-Request-Method: POST\r\n\r\n")
            let response = try await client.response()
            #expect(response.statusCode == 204)
            #expect(response.fields["access-control-allow-methods"] == "POST")
        }
    }

    @Test func clientThatExpectsAnInterimResponseGetsOne() async throws {
        try await withServer(handler: echo) { server in
            let client = try RawClient(port: server.port)
            let head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
            try await client.send(head)
            #expect(try await client.response().statusCode == 100)
            try await client.send("body")
            #expect(try await client.response().body == "POST / body")
            // A client that sends the body at once is not waiting.
            try await client.send(head + "body")
            #expect(try await client.response().body == "POST / body")
        }
    }

    @Test func bodyTooLargeIsRefusedInPlaceOfTheInterimResponse() async throws {
        try await withServer({ $0.limits.request.bodyByteCount = 3 }, handler: echo) { server in
            let client = try RawClient(port: server.port)
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
            #expect(try await client.response().statusCode == 413)
            #expect(try await client.end().end == .endOfStream)
        }
    }

    @Test func halfClosedClientGetsItsAnswer() async throws {
        try await withCalls { server, calls in
            let client = try RawClient(port: server.port)
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            client.endOutput()
            let call = try #require(await calls.next())
            try call.exchange.begin()
            for number in 0..<3 { try await call.exchange.write(Array("\(number)".utf8)) }
            call.exchange.finish()
            #expect(try await client.response().body == "012")
            #expect(await call.end == .completed)
            #expect(try await client.end().end == .endOfStream)
        }
    }

    @Test func requestThatEndsEarlyIsRefused() async throws {
        try await withServer(handler: echo) { server in
            for text in ["GET / HT", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe"] {
                let client = try RawClient(port: server.port)
                try await client.send(text)
                client.endOutput()
                #expect(try await client.response().statusCode == 400)
                #expect(try await client.end().end == .endOfStream)
            }
            let quiet = try RawClient(port: server.port)
            quiet.endOutput()
            #expect(try await quiet.end() == (.endOfStream, ""))
        }
    }

    @Test func fieldsThatWouldSplitTheResponseAreRefused() async throws {
        try await withCalls { server, calls in
            let client = try RawClient(port: server.port)
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            let call = try #require(await calls.next())
            let bad = [(name: "X-A", value: "b\r\nSet-Cookie: c")]
            let failure = HTTPExchange.Failure.invalidHead(.invalidFieldValue(name: "X-A"))
            #expect(throws: failure) { try call.exchange.respond(HTTPServerResponse(statusCode: 200, fields: bad)) }
            #expect(throws: failure) { try call.exchange.begin(fields: bad) }
            #expect(throws: HTTPExchange.Failure.invalidHead(.reservedField("content-length"))) {
                try call.exchange.begin(fields: [("content-length", "5")])
            }
            #expect(throws: HTTPExchange.Failure.notOffered) { try call.exchange.accept() }
            await #expect(throws: HTTPExchange.Failure.notStreaming) { try await call.exchange.write([1]) }
            try call.exchange.respond(HTTPServerResponse(statusCode: 200, text: "fine"))
            #expect(throws: (any Error).self) { try call.exchange.begin() }
            #expect(try await client.response().body == "fine")
        }
    }

    @Test func largeBodiesPassBothWays() async throws {
        try await withServer(handler: { request, exchange in
            try? exchange.respond(HTTPServerResponse(statusCode: 200, body: request.body))
        }) { server in
            let client = try RawClient(port: server.port)
            let body = String(repeating: "0123456789abcdef", count: 262_144)
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n")
            try await client.send(body)
            #expect(try await client.response().body == body)
        }
    }

    @Test func addressInUseAndAddressesThatAreNoneAreReported() async throws {
        try await withServer(handler: echo) { server in
            var configuration = HTTPServerConfiguration()
            configuration.port = server.port
            await #expect(throws: HTTPServer.Failure.cannotListen(errno: EADDRINUSE)) {
                try await HTTPServer.start(configuration, handler: echo)
            }
            configuration.address = "localhost."
            await #expect(throws: HTTPServer.Failure.invalidAddress("localhost.")) {
                try await HTTPServer.start(configuration, handler: echo)
            }
        }
    }
}
