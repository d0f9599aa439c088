import LibwebsocketsTransport
import StreamTransport
import Testing

/// The request's body, against servers that read all of it, some of it, or none.
@Suite(.timeLimit(.minutes(10))) struct TransportUploadTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test(arguments: [0, 1, 16_383, 16_384, 16_385, 3_000_000])
    func everyByteOfABodyArrives(_ count: Int) async throws {
        let server = try RawServer()
        let body = [UInt8].counting(count)
        let (connection, peer) = try await server.connect(.post(body: body))
        let head = await peer.read(until: "\r\n\r\n")
        #expect(head.contains("Content-Length: \(count)\r\n"))
        #expect(await peer.read(count: count) == body)
        try await RawServer.fence()
        #expect(connection.statistics.requestSent)
        #expect(connection.statistics.sentByteCount == count)
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == [.opened(200), .body("ok"), .ended(.complete)])
        #expect(await peer.readToEnd().bytes.isEmpty)
    }

    @Test func unreadRequestBodyIsNotSent() async throws {
        let server = try RawServer(receiveBufferByteCount: 4096)
        let body = [UInt8].counting(12_000_000)
        let (connection, peer) = try await server.connect(.post(body: body))
        _ = await peer.read(until: "\r\n\r\n")
        try await RawServer.fill(connection)
        #expect(!connection.statistics.requestSent)
        #expect(connection.statistics.sentByteCount < body.count)
        #expect(await peer.read(count: body.count) == body)
        try await RawServer.fence()
        #expect(connection.statistics.requestSent)
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == [.opened(200), .body("ok"), .ended(.complete)])
    }

    @Test func anAnswerThatComesBeforeTheBodyIsReadIsReported() async throws {
        let server = try RawServer(receiveBufferByteCount: 4096)
        let (connection, peer) = try await server.connect(.post(body: [UInt8].counting(12_000_000)))
        _ = await peer.read(until: "\r\n\r\n")
        try await RawServer.fill(connection)
        peer.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
        #expect(await connection.eventsToEnd() == [.opened(413), .body("big"), .ended(.complete)])
        #expect(!connection.statistics.requestSent)
    }

    @Test func theBodyGoesOnWhileItsAnswerStreams() async throws {
        let server = try RawServer(receiveBufferByteCount: 4096)
        let body = [UInt8].counting(12_000_000)
        let (connection, peer) = try await server.connect(.post(body: body))
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
        #expect(await connection.events(2) == [.opened(200), .body("o")])
        #expect(await peer.read(count: body.count) == body)
        try await RawServer.fence()
        #expect(connection.statistics.requestSent)
        peer.write("k")
        #expect(await connection.events(2) == [.body("k"), .ended(.complete)])
    }

    @Test func answerBeforeACloseIsDelivered() async throws {
        let server = try RawServer(receiveBufferByteCount: 4096)
        let (connection, peer) = try await server.connect(.post(body: [UInt8].counting(12_000_000)))
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
        peer.endWriting()
        #expect(await connection.eventsToEnd() == [.opened(401), .body("no"), .ended(.complete)])
    }

    @Test func aServerThatIsGoneInMidBodyIsALostConnection() async throws {
        let server = try RawServer(receiveBufferByteCount: 4096)
        let (connection, peer) = try await server.connect(.post(body: [UInt8].counting(12_000_000)))
        _ = await peer.read(until: "\r\n\r\n")
        try await RawServer.fill(connection)
        peer.reset()
        #expect(await connection.eventsToEnd() == [.failed(.upgrade, .connectionLost)])
        #expect(!connection.statistics.requestSent)
    }

    @Test func severalBodiesAreWrittenAtOnce() async throws {
        let bodies = (0..<8).map { [UInt8].counting(1_000_000 + $0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for body in bodies {
                group.addTask {
                    let server = try RawServer()
                    let (connection, peer) = try await server.connect(.post(body: body))
                    _ = await peer.read(until: "\r\n\r\n")
                    #expect(await peer.read(count: body.count) == body)
                    peer.write(Self.answer)
                    #expect(await connection.eventsToEnd() == [.opened(200), .body("ok"), .ended(.complete)])
                }
            }
            try await group.waitForAll()
        }
    }
}
