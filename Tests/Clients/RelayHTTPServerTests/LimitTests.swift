// Connections above the limit, time-outs, stopping, TLS.

import HTTPProtocol
import RelayHTTPServer
import StreamTransport
import Testing
import WebSocketProtocol

@Suite struct LimitTests {
    private static let get = "GET /s HTTP/1.1\r\nHost: h\r\n\r\n"

    @Test func connectionAboveTheLimitIsToldWhenToComeBack() async throws {
        try await withCalls({
            $0.limits.connectionCount = 2
            $0.retryAfterSeconds = 7
        }) { server, calls in
            var viewers: [(RawClient, Call)] = []
            for _ in 0..<2 {
                let client = try RawClient(port: server.port)
                try await client.send(Self.get)
                viewers.append((client, try #require(await calls.next())))
            }
            let refused = try RawClient(port: server.port)
            try await refused.send(Self.get)
            let response = try await refused.response()
            #expect(response.statusCode == 503)
            #expect(response.fields["retry-after"] == "7")
            #expect(try await refused.end() == (.endOfStream, ""))
            // A place that becomes free is taken.
            let first = try #require(viewers.first)
            try first.1.exchange.respond(HTTPServerResponse(statusCode: 200, text: "one"))
            _ = try await first.0.response()
            first.0.endOutput()
            #expect(try await first.0.end() == (.endOfStream, ""))
            let next = try RawClient(port: server.port)
            try await next.send(Self.get)
            try #require(await calls.next()).exchange.respond(HTTPServerResponse(statusCode: 200, text: "two"))
            #expect(try await next.response().body == "two")
        }
    }

    @Test func headThatDoesNotComeInTimeIsGivenUp() async throws {
        try await withServer({ $0.timeouts.requestHead = .milliseconds(50) }, handler: echo) { server in
            var text = ""
            // A client that is slow to begin, on a busy machine, is closed like a quiet one.
            while text.isEmpty {
                let partial = try RawClient(port: server.port)
                try await partial.send("GET / HTTP/1.1\r\nHost")
                let end = try await partial.end()
                #expect(end.end != .timedOut)
                text = end.rest
            }
            #expect(text.hasPrefix("HTTP/1.1 408 "))
            let quiet = try RawClient(port: server.port)
            #expect(try await quiet.end() == (.endOfStream, ""))
        }
    }

    @Test func bodyThatStopsIsGivenUp() async throws {
        try await withServer({ $0.timeouts.body = .milliseconds(50) }, handler: echo) { server in
            let client = try RawClient(port: server.port)
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab")
            #expect(try await client.response().statusCode == 408)
            #expect(try await client.end().end == .endOfStream)
        }
    }

    @Test func idleConnectionIsClosed() async throws {
        try await withServer({ $0.timeouts.keepAlive = .milliseconds(50) }, handler: echo) { server in
            let client = try RawClient(port: server.port)
            try await client.send(Self.get)
            #expect(try await client.response().statusCode == 200)
            #expect(try await client.end() == (.endOfStream, ""))
        }
    }

    @Test func stoppingServerLetsExchangesEnd() async throws {
        let calls = Events<Call>()
        let server = try await HTTPServer.start { calls.add(Call(request: $0, exchange: $1)) }
        let running = try RawClient(port: server.port)
        try await running.send(Self.get)
        let call = try #require(await calls.next())
        try call.exchange.begin()
        _ = try await running.head()
        let idle = try RawClient(port: server.port)
        try await idle.send(Self.get)
        try #require(await calls.next()).exchange.respond(HTTPServerResponse(statusCode: 200, text: "x"))
        #expect(try await idle.response().body == "x")

        let stopped = Task { await server.stop(within: .seconds(60)) }
        #expect(try await idle.end() == (.endOfStream, ""))
        #expect(call.exchange.offer(Array("last".utf8)) == .accepted)
        call.exchange.finish()
        #expect(try await running.chunk() == "last")
        #expect(try await running.chunk() == "")
        #expect(try await running.end() == (.endOfStream, ""))
        running.reset()
        await stopped.value
        #expect(await call.end == .completed)
        #expect(server.connectionCount == 0)
        #expect(throws: (any Error).self) { try RawClient(port: server.port) }
    }

    @Test func graceEndsWhatIsLeft() async throws {
        let calls = Events<Call>()
        let server = try await HTTPServer.start { calls.add(Call(request: $0, exchange: $1)) }
        let streaming = try RawClient(port: server.port)
        try await streaming.send(Self.get)
        let stream = try #require(await calls.next())
        try stream.exchange.begin()
        _ = try await streaming.head()
        let webSocket = try RawClient(port: server.port)
        try await webSocket.upgrade()
        let socket = try #require(await calls.next())
        try socket.exchange.accept()
        _ = try await webSocket.head()

        await server.stop(within: .milliseconds(50))
        #expect(stream.exchange.end == .serverStopped)
        #expect(socket.exchange.end == .serverStopped)
        #expect(try await webSocket.frame().payload == CloseFrame(code: .goingAway).payload)
        #expect(try await streaming.end().rest == "")
    }

    @Test func requestDuringTheStopIsAnsweredAndNoOtherFollows() async throws {
        let calls = Events<Call>()
        let server = try await HTTPServer.start { calls.add(Call(request: $0, exchange: $1)) }
        let client = try RawClient(port: server.port)
        try await client.send(Self.get)
        let call = try #require(await calls.next())
        let idle = try RawClient(port: server.port)
        try await idle.send(Self.get)
        try #require(await calls.next()).exchange.respond(HTTPServerResponse(statusCode: 200, text: "y"))
        _ = try await idle.response()
        let stopped = Task { await server.stop(within: .seconds(60)) }
        // The stop has begun when idle connections end.
        #expect(try await idle.end() == (.endOfStream, ""))
        try call.exchange.respond(HTTPServerResponse(statusCode: 200, text: "x"))
        let response = try await client.response()
        #expect(response.fields["connection"] == "close")
        #expect(try await client.end() == (.endOfStream, ""))
        client.reset()
        await stopped.value
    }

    @Test func serversStartAndStopManyTimes() async throws {
        for _ in 0..<20 {
            try await withServer(handler: echo) { server in
                let client = try RawClient(port: server.port)
                try await client.send(Self.get)
                #expect(try await client.response().body == "GET /s ")
            }
        }
    }
}
