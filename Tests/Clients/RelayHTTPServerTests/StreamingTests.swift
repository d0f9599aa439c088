// Streaming responses: chunks, back-pressure, clients that go.

import PlatformC
import RelayHTTPServer
import StreamTransport
import Testing

@Suite struct StreamingTests {
    private static let get = "GET /s HTTP/1.1\r\nHost: h\r\n\r\n"

    @Test func chunksArriveOneByOneAndTheConnectionGoesOn() async throws {
        try await withCalls { server, calls in
            let client = try RawClient(port: server.port)
            try await client.send(Self.get)
            let call = try #require(await calls.next())
            try call.exchange.begin(fields: [("Content-Type", "text/event-stream")])
            let head = try await client.head()
            #expect(head.fields["transfer-encoding"] == "chunked")
            #expect(head.fields["content-type"] == "text/event-stream")
            #expect(call.exchange.offer([]) == .accepted)
            for text in ["data: a\n\n", "data: b\n\n", String(repeating: "c", count: 300)] {
                #expect(call.exchange.offer(Array(text.utf8)) == .accepted)
                #expect(try await client.chunk() == text)
            }
            call.exchange.finish()
            #expect(try await client.chunk() == "")
            #expect(await call.end == .completed)
            try await client.send(Self.get)
            try #require(await calls.next()).exchange.respond(HTTPServerResponse(statusCode: 200, text: "again"))
            #expect(try await client.response().body == "again")
        }
    }

    @Test(arguments: ["", "Connection: keep-alive\r\n"])
    func bodyOfHTTP10EndsWithTheConnection(field: String) async throws {
        try await withCalls { server, calls in
            let client = try RawClient(port: server.port)
            try await client.send("GET /s HTTP/1.0\r\n\(field)\r\n")
            let call = try #require(await calls.next())
            try call.exchange.begin()
            _ = call.exchange.offer(Array("ab".utf8))
            _ = call.exchange.offer(Array("cd".utf8))
            call.exchange.finish()
            let response = try await client.response()
            #expect(response.fields["transfer-encoding"] == nil)
            #expect(response.fields["connection"] == "close")
            #expect(response.body == "abcd")
        }
    }

    @Test func wholeResponsesOfHTTP10CanKeepTheConnection() async throws {
        try await withServer(handler: echo) { server in
            let client = try RawClient(port: server.port)
            try await client.send("GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(try await client.response().fields["connection"] == "keep-alive")
            try await client.send("GET /2 HTTP/1.0\r\n\r\n")
            #expect(try await client.response().body == "GET /2 ")
            #expect(try await client.end() == (.endOfStream, ""))
        }
    }

    @Test func writerIsToldThatTheReaderIsSlowAndWhenItHasCaughtUp() async throws {
        try await withCalls({ $0.limits.bufferedByteCount = 100_000 }) { server, calls in
            let client = try RawClient(port: server.port, receiveBufferByteCount: 4_096)
            try await client.send(Self.get)
            let call = try #require(await calls.next())
            try call.exchange.begin()
            let chunk = [UInt8](repeating: 0x61, count: 10_000)
            var acceptedCount = 0
            while true {
                let acceptance = call.exchange.offer(chunk)
                if acceptance == .full {
                    // The system may still take bytes of the buffer: full is what stays so.
                    let drained = Events<Void>()
                    call.exchange.whenWritable { drained.add(()) }
                    if call.exchange.offer(chunk) == .full {
                        let reading = Task { try await client.head() }
                        _ = try await reading.value
                        for _ in 0..<acceptedCount { #expect(try await client.chunk().utf8.count == 10_000) }
                        #expect(await drained.next() != nil)
                        break
                    }
                    acceptedCount += 1
                    continue
                }
                #expect(acceptance == .accepted)
                acceptedCount += 1
                try #require(acceptedCount < 10_000)
            }
            #expect(call.exchange.offer(chunk) == .accepted)
            call.exchange.finish()
            #expect(try await client.chunk().utf8.count == 10_000)
            #expect(try await client.chunk() == "")
        }
    }

    @Test func writeWaitsForASlowReader() async throws {
        try await withCalls({ $0.limits.bufferedByteCount = 50_000 }) { server, calls in
            let client = try RawClient(port: server.port, receiveBufferByteCount: 4_096)
            try await client.send(Self.get)
            let call = try #require(await calls.next())
            try call.exchange.begin()
            call.exchange.run {
                for number in 0..<1_000 {
                    try? await call.exchange.write([UInt8](repeating: UInt8(number % 256), count: 10_000))
                }
                call.exchange.finish()
            }
            _ = try await client.head()
            let isRight = try await blocking {
                for number in 0..<1_000 {
                    let chunk = try client.takeChunkNow()
                    guard chunk == [UInt8](repeating: UInt8(number % 256), count: 10_000) else { return false }
                }
                return try client.takeChunkNow().isEmpty
            }
            #expect(isRight)
            #expect(await call.end == .completed)
        }
    }

    @Test func readerThatTakesNothingIsClosed() async throws {
        try await withCalls({
            $0.limits.bufferedByteCount = 50_000
            $0.timeouts.stall = .milliseconds(100)
        }) { server, calls in
            let client = try RawClient(port: server.port, receiveBufferByteCount: 4_096)
            try await client.send(Self.get)
            let call = try #require(await calls.next())
            try call.exchange.begin()
            await #expect(throws: HTTPExchange.Failure.ended) {
                while true { try await call.exchange.write([UInt8](repeating: 0x61, count: 10_000)) }
            }
            // The kernel's own time-out for unacknowledged bytes may be the first to end it.
            let end = await call.end
            #expect(end == .clientStalled || end == .clientGone)
            #expect(call.exchange.offer([1]) == .ended)
        }
    }

    @Test func waitingWriteEndsWithItsTask() async throws {
        try await withCalls({ $0.limits.bufferedByteCount = 50_000 }) { server, calls in
            let client = try RawClient(port: server.port, receiveBufferByteCount: 4_096)
            try await client.send(Self.get)
            let call = try #require(await calls.next())
            try call.exchange.begin()
            let full = Events<Void>()
            let writing = Task {
                while true {
                    if call.exchange.offer([UInt8](repeating: 0x61, count: 10_000)) == .full { full.add(()) }
                    try await call.exchange.write([UInt8](repeating: 0x61, count: 10_000))
                }
            }
            _ = await full.next()
            writing.cancel()
            await #expect(throws: CancellationError.self) { try await writing.value }
            #expect(call.exchange.end == nil)
            client.reset()
            #expect(await call.end == .clientGone)
        }
    }

    @Test(arguments: [true, false])
    func handlerIsToldThatTheClientHasGone(isReset: Bool) async throws {
        try await withCalls { server, calls in
            let client = try RawClient(port: server.port)
            try await client.send(Self.get)
            let call = try #require(await calls.next())
            try call.exchange.begin()
            _ = call.exchange.offer(Array("x".utf8))
            let cancelled = Events<Void>()
            call.exchange.run {
                // It ends with its task, and not otherwise.
                _ = await Events<Void>().next()
                if Task.isCancelled { cancelled.add(()) }
            }
            _ = try await client.head()
            #expect(try await client.chunk() == "x")
            if isReset { client.reset() } else { client.endOutput() }
            #expect(await call.end == .clientGone)
            #expect(await cancelled.next() != nil)
            #expect(call.exchange.offer([1]) == .ended)
            let late = Events<HTTPExchange.End>()
            call.exchange.whenEnded { late.add($0) }
            #expect(await late.next() == .clientGone)
        }
    }

    @Test func clientThatGoesBeforeTheAnswerIsNoticedByAReset() async throws {
        try await withCalls { server, calls in
            let client = try RawClient(port: server.port)
            try await client.send(Self.get)
            let call = try #require(await calls.next())
            client.reset()
            // A reset is noticed at once where the system reports it, and by the answer otherwise.
            try? call.exchange.begin()
            await #expect(throws: HTTPExchange.Failure.ended) {
                while true { try await call.exchange.write([1]) }
            }
            #expect(await call.end == .clientGone)
        }
    }

    @Test func abortedResponseIsCutOff() async throws {
        try await withCalls { server, calls in
            let client = try RawClient(port: server.port)
            try await client.send(Self.get)
            let call = try #require(await calls.next())
            try call.exchange.begin()
            _ = call.exchange.offer(Array("x".utf8))
            _ = try await client.head()
            #expect(try await client.chunk() == "x")
            call.exchange.abort()
            #expect(await call.end == .aborted)
            #expect(try await client.end().end != .timedOut)
        }
    }

    @Test func writesOfOneTaskArriveInOrderFromManyExchanges() async throws {
        try await withCalls { server, calls in
            var viewers: [(RawClient, Call)] = []
            for _ in 0..<20 {
                let client = try RawClient(port: server.port)
                try await client.send(Self.get)
                let call = try #require(await calls.next())
                try call.exchange.begin()
                viewers.append((client, call))
            }
            // One array for all of them.
            for number in 0..<100 {
                let chunk = Array("data: \(number)\n\n".utf8)
                for (_, call) in viewers { #expect(call.exchange.offer(chunk) == .accepted) }
            }
            for (_, call) in viewers { call.exchange.finish() }
            let expected = (0..<100).map { "data: \($0)\n\n" }.joined()
            for (client, _) in viewers { #expect(try await client.response().body == expected) }
        }
    }
}
