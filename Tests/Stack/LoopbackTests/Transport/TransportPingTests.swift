import LibwebsocketsTransport
import StreamTransport
import Testing

/// Pings of the consumer and of the transport, and what counts as heard.
@Suite(.timeLimit(.minutes(10))) struct TransportPingTests {
    private static let ping: UInt8 = 9
    private static let pong: UInt8 = 10

    @Test func anAnsweredPingIsReported() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        connection.ping()
        let ping = try #require(await peer.readFrame())
        #expect(ping.opcode == Self.ping)
        #expect(ping.payload.count == 8)
        peer.writeFrame(opcode: Self.pong, ping.payload)
        #expect(await connection.event() == .pong)
        connection.cancel()
        #expect(await connection.eventsToEnd() == [.failed(.stream, .cancelled)])
    }

    @Test func aPongWakesTheConsumerThatWaits() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        connection.ping()
        let ping = try #require(await peer.readFrame())
        let waiting = Task { await connection.wait(for: .seconds(50)) }
        peer.writeFrame(opcode: Self.pong, ping.payload)
        #expect(await waiting.value == .ready)
        #expect(await connection.event() == .pong)
        connection.cancel()
    }

    @Test func aPongStandsBetweenTheMessagesAroundIt() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        connection.ping()
        let ping = try #require(await peer.readFrame())
        peer.writeText("before")
        // In the middle of a message a control frame may come (RFC 6455 section 5.4).
        peer.write([0x01, 0x02] + Array("mi".utf8))
        peer.writeFrame(opcode: Self.pong, ping.payload)
        peer.write([0x80, 0x02] + Array("ld".utf8))
        peer.writeText("after")
        #expect(await connection.events(4) == [.text("before"), .pong, .text("mild"), .text("after")])
        connection.cancel()
    }

    @Test func afterAWholeExchangeAnIdleConnectionAnswers() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        connection.send(Array("question".utf8), as: .text)
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: 1, payload: Array("question".utf8)))
        peer.writeText("answer")
        #expect(await connection.event() == .text("answer"))
        #expect(await connection.wait(for: .milliseconds(50)) == .deadlinePassed)
        for _ in 0..<3 {
            connection.ping()
            let ping = try #require(await peer.readFrame())
            #expect(connection.next() == nil)
            peer.writeFrame(opcode: Self.pong, ping.payload)
            #expect(await connection.event() == .pong)
        }
        connection.cancel()
    }

    @Test func unsolicitedPongIsNotReported() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        peer.writeFrame(opcode: Self.pong)
        peer.writeFrame(opcode: Self.pong, [1, 2, 3, 4, 5, 6, 7, 8])
        connection.ping()
        let ping = try #require(await peer.readFrame())
        peer.writeFrame(opcode: Self.pong)
        peer.writeFrame(opcode: Self.pong, ping.payload.reversed() + [0])
        peer.writeFrame(opcode: Self.pong, Array(ping.payload.dropLast()))
        peer.writeText("text")
        peer.writeFrame(opcode: Self.pong, ping.payload)
        peer.writeFrame(opcode: Self.pong, ping.payload)
        peer.writeText("end")
        #expect(await connection.events(3) == [.text("text"), .pong, .text("end")])
        connection.cancel()
    }

    @Test func theAnswerToTheNewestPingStandsForAll() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        for _ in 0..<3 { connection.ping() }
        let first = try #require(await peer.readFrame())
        let second = try #require(await peer.readFrame())
        let third = try #require(await peer.readFrame())
        #expect(Set([first, second, third].map(\.payload)).count == 3)
        peer.writeFrame(opcode: Self.pong, second.payload)
        peer.writeFrame(opcode: Self.pong, first.payload)
        peer.writeText("text")
        peer.writeFrame(opcode: Self.pong, third.payload)
        #expect(await connection.events(3) == [.pong, .text("text"), .pong])
        connection.cancel()
    }

    @Test func theTransportsOwnPingsAreNotReported() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket { $0.pingInterval = .milliseconds(30) }
        for _ in 0..<3 {
            let ping = try #require(await peer.readFrame())
            #expect(ping == RawPeer.Frame(opcode: Self.ping, payload: []))
            peer.writeFrame(opcode: Self.pong)
        }
        peer.writeText("text")
        #expect(await connection.event() == .text("text"))
        connection.cancel()
    }

    @Test func pingNeedsAnOpenWebSocket() async throws {
        let server = try RawServer()
        let (connection, peer) = try await server.connect(.webSocket(offersCompression: false)) {
            $0.timeouts.close = .seconds(60)
        }
        connection.ping()
        try await RawServer.fence()
        await peer.acceptWebSocket()
        #expect(await connection.event() == .opened(101))
        connection.close()
        connection.ping()
        #expect(await peer.readFrame()?.opcode == 8)
        try await RawServer.fence()
        #expect(peer.receivedSoFar() == nil)
        peer.writeFrame(opcode: 8, [0x03, 0xE8])
        #expect(await connection.eventsToEnd() == [.ended(.closed(code: 1000, reason: ""))])

        let (post, postPeer) = try await server.connect(.post(body: []))
        post.ping()
        _ = await postPeer.read(until: "\r\n\r\n")
        try await RawServer.fence()
        #expect(postPeer.receivedSoFar() == nil)
        post.cancel()
    }

    /// After the close frame no frame may be sent (RFC 6455 section 5.5.1), however long the answer takes.
    @Test func whileItClosesTheTransportSendsNoPings() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket {
            $0.pingInterval = .milliseconds(20)
            $0.close = .milliseconds(200)
        }
        connection.close()
        var opcodes: [UInt8] = []
        while let frame = await peer.readFrame() { opcodes.append(frame.opcode) }
        // A ping may have been on its way before the close.
        #expect(opcodes.last == 8)
        #expect(await connection.eventsToEnd() == [.ended(.closed(code: 1006, reason: ""))])
    }

    // MARK: What was heard

    @Test func lastHeardIsSetByAllButPongs() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        var heard = try #require(connection.statistics.lastHeard)
        #expect(connection.statistics.lastReceived == heard)
        #expect(connection.statistics.opened == heard)

        for opcode in [1, 2, 9] as [UInt8] {
            peer.writeFrame(opcode: opcode, Array("x".utf8))
            // A ping is answered, and a message reported, so that the test knows that it was read.
            if opcode == 9 { _ = await peer.readFrame() } else { _ = await connection.event() }
            let statistics = connection.statistics
            #expect(try #require(statistics.lastHeard) > heard)
            #expect(statistics.lastReceived == statistics.lastHeard)
            heard = try #require(statistics.lastHeard)
        }

        connection.ping()
        let ping = try #require(await peer.readFrame())
        peer.writeFrame(opcode: Self.pong, ping.payload)
        #expect(await connection.event() == .pong)
        #expect(connection.statistics.lastHeard == heard)
        #expect(try #require(connection.statistics.lastReceived) > heard)

        peer.writeFrame(opcode: 8, [0x03, 0xE8])
        #expect(await connection.event() == .ended(.closed(code: 1000, reason: "")))
        #expect(try #require(connection.statistics.lastHeard) > heard)
    }

    @Test func lastHeardIsSetByAPieceOfAMessage() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        let heard = try #require(connection.statistics.lastHeard)
        peer.write([0x81, 0x03, UInt8(ascii: "a")])
        _ = await connection.wait(for: nil)
        #expect(try #require(connection.statistics.lastHeard) > heard)
        peer.write("bc")
        #expect(await connection.event() == .text("abc"))
        connection.cancel()
    }

    @Test func lastHeardIsSetByEveryByteOfABody() async throws {
        let (connection, peer) = try await RawServer().connect(.get)
        _ = await peer.read(until: "\r\n\r\n")
        #expect(connection.statistics.lastHeard == nil)
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
        #expect(await connection.event() == .opened(200))
        var heard = try #require(connection.statistics.lastHeard)
        for byte in "abc" {
            peer.write(String(byte))
            #expect(await connection.event() == .body(String(byte)))
            #expect(try #require(connection.statistics.lastHeard) > heard)
            heard = try #require(connection.statistics.lastHeard)
            #expect(connection.statistics.lastReceived == heard)
        }
        #expect(await connection.event() == .ended(.complete))
    }
}
