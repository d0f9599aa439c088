// WebSockets: opening, messages, pings, closing.

import HTTPProtocol
import StreamTransport
import Testing
import WebSocketProtocol

@testable import RelayHTTPServer

@Suite struct WebSocketTests {
    /// Opens a WebSocket; returns the client's side and the server's.
    private func open(
        _ server: HTTPServer, _ calls: Events<Call>, followedBy bytes: [UInt8] = []
    ) async throws -> (RawClient, HTTPExchange) {
        let client = try RawClient(port: server.port)
        try await client.upgrade(followedBy: bytes)
        let call = try #require(await calls.next())
        try call.exchange.accept()
        #expect(try await client.head().statusCode == 101)
        return (client, call.exchange)
    }

    private func end(of exchange: HTTPExchange) async -> HTTPExchange.End? {
        let ends = Events<HTTPExchange.End>()
        exchange.whenEnded { ends.add($0) }
        return await ends.next()
    }

    @Test func handshakeOfRFC6455IsAnswered() async throws {
        try await withCalls { server, calls in
            let client = try RawClient(port: server.port)
            try await client.upgrade(path: "/chat?x", fields: "Sec-WebSocket-Protocol: a, b\r\n")
            let call = try #require(await calls.next())
            #expect(call.request.isWebSocketUpgrade)
            #expect(call.request.path == "/chat")
            #expect(call.request.query == "x")
            #expect(call.request.offeredSubprotocols == ["a", "b"])
            #expect(throws: HTTPExchange.Failure.notOffered) { try call.exchange.accept(subprotocol: "c") }
            try call.exchange.accept(subprotocol: "b", fields: [("X-A", "b")])
            let head = try await client.head()
            #expect(head.statusCode == 101)
            #expect(head.fields["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
            #expect(head.fields["sec-websocket-protocol"] == "b")
            #expect(head.fields["upgrade"] == "websocket")
            #expect(head.fields["x-a"] == "b")
        }
    }

    @Test(arguments: [401, 404])
    func requestForAWebSocketCanBeAnsweredByHTTP(statusCode: Int) async throws {
        try await withCalls { server, calls in
            let client = try RawClient(port: server.port)
            try await client.upgrade()
            try #require(await calls.next()).exchange.respond(HTTPServerResponse(statusCode: statusCode, text: "no"))
            #expect(try await client.response().statusCode == statusCode)
            // The connection goes on, as after any response.
            try await client.upgrade()
            try #require(await calls.next()).exchange.accept()
            #expect(try await client.head().statusCode == 101)
        }
    }

    @Test func messagesPassBothWays() async throws {
        try await withCalls { server, calls in
            // A message in the same packet as the request is not lost.
            let (client, exchange) = try await self.open(
                server, calls, followedBy: RawClient.frame(0x81, [0x68, 0x69]))
            #expect(await exchange.receive() == "hi")
            try await client.sendFrame(0x01, Array("one ".utf8))
            try await client.sendFrame(0x89, [1])
            try await client.sendFrame(0x80, Array("ä".utf8))
            #expect(await exchange.receive() == "one ä")
            let pong = try await client.frame()
            #expect(pong.firstByte == 0x8A)
            #expect(pong.payload == [1])
            for byteCount in [0, 125, 126, 65_535, 65_536] {
                let text = String(repeating: "x", count: byteCount)
                try await exchange.send(text)
                let frame = try await client.frame()
                #expect(frame.firstByte == 0x81)
                #expect(frame.payload == Array(text.utf8))
                try await client.sendFrame(0x81, Array(text.utf8))
                #expect(await exchange.receive() == text)
            }
        }
    }

    @Test func pingsAreAnsweredByPongs() async throws {
        try await withCalls { server, calls in
            let (client, exchange) = try await self.open(server, calls)
            let pongs = Events<[UInt8]>()
            exchange.whenPongArrives { pongs.add($0) }
            exchange.ping([7])
            let ping = try await client.frame()
            #expect(ping.firstByte == 0x89)
            try await client.sendFrame(0x8A, ping.payload)
            #expect(await pongs.next() == [7])
        }
    }

    @Test func clientClosesAndIsAnswered() async throws {
        try await withCalls { server, calls in
            let (client, exchange) = try await self.open(server, calls)
            let received = Task { await exchange.receive() }
            let frame = CloseFrame(code: CloseCode(rawValue: 4_000), reason: "bye")
            try await client.sendFrame(0x88, frame.payload)
            let answer = try await client.frame()
            #expect(answer.firstByte == 0x88)
            #expect(answer.payload == CloseFrame(code: frame.code).payload)
            #expect(await self.end(of: exchange) == .closed(frame))
            #expect(await received.value == nil)
            #expect(try await client.end() == (.endOfStream, ""))
        }
    }

    @Test func serverClosesBehindItsMessages() async throws {
        try await withCalls { server, calls in
            let (client, exchange) = try await self.open(server, calls)
            #expect(exchange.offer(Array("last".utf8)) == .accepted)
            exchange.close(code: .goingAway, reason: "over")
            #expect(exchange.offer([]) == .ended)
            #expect(try await client.frame().payload == Array("last".utf8))
            #expect(try await client.frame().payload == CloseFrame(code: .goingAway, reason: "over").payload)
            #expect(exchange.end == nil)
            let answer = CloseFrame(code: .goingAway)
            try await client.sendFrame(0x88, answer.payload)
            #expect(await self.end(of: exchange) == .closed(answer))
            #expect(try await client.end() == (.endOfStream, ""))
        }
    }

    @Test func closeFrameWithoutAnAnswerEndsAfterATime() async throws {
        try await withCalls({ $0.timeouts.closing = .milliseconds(50) }) { server, calls in
            let (client, exchange) = try await self.open(server, calls)
            exchange.close()
            #expect(await self.end(of: exchange) == .closed(CloseFrame(code: .normalClosure)))
            #expect(try await client.frame().firstByte == 0x88)
            #expect(try await client.end().end == .endOfStream)
        }
    }

    static let violations: [(bytes: [UInt8], code: CloseCode)] = [
        ([0x81, 0x01, 0x61], .protocolError), (RawClient.frame(0xC1, []), .protocolError),
        (RawClient.frame(0x83, []), .protocolError), (RawClient.frame(0x80, []), .protocolError),
        (RawClient.frame(0x09, []), .protocolError), (RawClient.frame(0x81, [0xFF]), .invalidFramePayloadData),
        (RawClient.frame(0x82, [1]), .unsupportedData),
        (RawClient.frame(0x81, [UInt8](repeating: 0x61, count: 1_001)), .messageTooBig),
        (RawClient.frame(0x88, [3]), .protocolError),
    ]

    @Test(arguments: Self.violations)
    func violationFailsTheConnection(bytes: [UInt8], code: CloseCode) async throws {
        try await withCalls({ $0.limits.request.bodyByteCount = 1_000 }) { server, calls in
            let (client, exchange) = try await self.open(server, calls)
            try await client.send(bytes)
            let close = try await client.frame()
            #expect(close.firstByte == 0x88)
            #expect(close.payload == CloseFrame(code: code).payload)
            #expect(await self.end(of: exchange) == .protocolViolated(code))
            #expect(try await client.end().end == .endOfStream)
        }
    }

    @Test func clientThatGoesIsNoticed() async throws {
        try await withCalls { server, calls in
            let (client, exchange) = try await self.open(server, calls)
            client.endOutput()
            #expect(await self.end(of: exchange) == .clientGone)
            #expect(await exchange.receive() == nil)
        }
    }

    @Test func quietClientIsPingedAndGivenUp() async throws {
        try await withCalls({ $0.timeouts.ping = .milliseconds(50) }) { server, calls in
            let (client, exchange) = try await self.open(server, calls)
            #expect(await self.end(of: exchange) == .clientStalled)
            #expect(try await client.frame().firstByte == 0x89)
            #expect(try await client.end() == (.reset, ""))
        }
    }

    @Test func clientThatAnswersPingsIsKept() async throws {
        try await withCalls({ $0.timeouts.ping = .seconds(1) }) { server, calls in
            let (client, exchange) = try await self.open(server, calls)
            for _ in 0..<2 {
                let ping = try await client.frame()
                #expect(ping.firstByte == 0x89)
                try await client.sendFrame(0x8A, ping.payload)
            }
            #expect(exchange.end == nil)
        }
    }

    @Test func readingStopsWhileMessagesWait() {
        let cost = 100 + ExchangeOutput.overhead
        var state = ExchangeState(limits: ExchangeLimits(bufferedByteCount: 1, inboxByteCount: 10 * cost))
        let text = String(repeating: "a", count: 100)
        for number in 1...12 { #expect(state.received(text).isRoomLeft == (number < 10)) }
        // It goes on once, at half of the limit.
        for number in 1...12 {
            guard case .message(text, let resumesReading) = state.takeMessage() else {
                Issue.record("message \(number) is missing")
                return
            }
            #expect(resumesReading == (number == 7), "\(number)")
        }
        #expect(state.received(text).isRoomLeft)
    }

    @Test func aSenderThatIsHeldUpGoesOn() async throws {
        try await withCalls({ $0.limits.request.bodyByteCount = 1_000 }) { server, calls in
            let (client, exchange) = try await self.open(server, calls)
            // More than the inbox, the buffers of the system excluded: the sender is not held up for ever.
            let sending = Task {
                for number in 0..<2_000 {
                    try await client.sendFrame(0x81, Array("\(number) ".utf8) + [UInt8](repeating: 0x61, count: 500))
                }
            }
            for number in 0..<2_000 {
                let text = try #require(await exchange.receive())
                #expect(text.hasPrefix("\(number) "))
            }
            try await sending.value
        }
    }

    @Test func receiverEndsWithItsTask() async throws {
        try await withCalls { server, calls in
            let (client, exchange) = try await self.open(server, calls)
            let started = Events<Void>()
            let receiving = Task {
                started.add(())
                return await exchange.receive()
            }
            _ = await started.next()
            receiving.cancel()
            #expect(await receiving.value == nil)
            try await client.sendFrame(0x81, [0x61])
            #expect(await exchange.receive() == "a")
        }
    }
}
