import ChappieTestServer
import Foundation
import LibwebsocketsTransport
import StreamTransport
import Testing

/// Requests that wait for `release()`: what the server has of them before, and after.
@Suite(.timeLimit(.minutes(10))) struct TransportHeldTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let answered: [Reported] = [.opened(200), .body("ok"), .ended(.complete)]
    private static let requestLine = "POST /v1/responses HTTP/1.1\r\n"

    private static func hold(
        _ server: RawServer, body: [UInt8] = Array("{}".utf8), _ change: (inout TransportRequest) -> Void = { _ in }
    ) async throws -> (connection: any TransportConnection, peer: RawPeer) {
        try await server.connect(.post(body: body)) {
            $0.isHeld = true
            $0.fields = [HTTPField("Authorization", "Bearer secret"), HTTPField("Content-Type", "application/json")]
            change(&$0)
        }
    }

    /// Everything that a server gets of a request, until it has the whole body.
    private static func request(body: [UInt8], isHeld: Bool) async throws -> String {
        let server = try RawServer()
        let (connection, peer) = try await Self.hold(server, body: body) {
            $0.isHeld = isHeld
            $0.endpoint.port = server.port
            $0.endpoint.host = "127.0.0.1"
        }
        if isHeld {
            #expect(await connection.event() == .ready)
            connection.release()
        }
        let head = await peer.read(until: "\r\n\r\n")
        #expect(await peer.read(count: body.count) == body)
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == Self.answered)
        #expect(await peer.readToEnd().bytes.isEmpty)
        return head.replacingOccurrences(of: "\(server.port)", with: "PORT")
    }

    // MARK: Held and released

    @Test(arguments: [0, 1, 2, 300_000])
    func aHeldRequestIsTheSameRequest(_ count: Int) async throws {
        let held = try await Self.request(body: [UInt8].counting(count), isHeld: true)
        let direct = try await Self.request(body: [UInt8].counting(count), isHeld: false)
        #expect(held == direct)
        #expect(held.contains("Authorization: Bearer secret\r\n"))
        #expect(held.contains("Content-Length: \(count)\r\n"))
    }

    @Test(arguments: [0, 2, 300_000])
    func serverReceivesNoRequestBeforeTheRelease(_ count: Int) async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.hold(server, body: [UInt8].counting(count))
        #expect(await connection.event() == .ready)
        for _ in 0..<3 { try await RawServer.fence() }
        #expect(peer.receivedSoFar() == nil)
        #expect(connection.next() == nil)
        let statistics = connection.statistics
        #expect(statistics.connected != nil)
        #expect(!statistics.requestSent)
        #expect(statistics.sentByteCount == 0)

        connection.release()
        #expect(await peer.read(until: "\r\n\r\n").hasPrefix(Self.requestLine))
        #expect(await peer.read(count: count) == [UInt8].counting(count))
        try await RawServer.fence()
        #expect(connection.statistics.requestSent)
        #expect(connection.statistics.sentByteCount == count)
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == Self.answered)
    }

    @Test func earlyReleaseIsRemembered() async throws {
        let server = try RawServer()
        var request = TransportRequest(endpoint: server.endpoint, exchange: .post(body: [UInt8].counting(10)))
        request.isHeld = true
        let connection = LibwebsocketsTransport().connect(request)
        connection.release()
        let peer = try await server.accept()
        let head = await peer.read(until: "\r\n\r\n")
        #expect(head.hasPrefix(Self.requestLine))
        #expect(await peer.read(count: 10) == [UInt8].counting(10))
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == [.ready] + Self.answered)
    }

    @Test func secondReleaseHasNoEffect() async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.hold(server)
        #expect(await connection.event() == .ready)
        connection.release()
        connection.release()
        _ = await peer.read(until: "\r\n\r\n")
        #expect(await peer.read(count: 2) == Array("{}".utf8))
        connection.release()
        try await RawServer.fence()
        #expect(peer.receivedSoFar() == nil)
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == Self.answered)
        connection.release()
        #expect(await peer.readToEnd().bytes.isEmpty)
    }

    @Test func aRequestThatIsNotHeldIsNeverReady() async throws {
        let server = try RawServer()
        let (connection, peer) = try await server.connect(.post(body: [UInt8].counting(10)))
        connection.release()
        _ = await peer.read(until: "\r\n\r\n")
        #expect(await peer.read(count: 10) == [UInt8].counting(10))
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == Self.answered)
    }

    @Test func onlyAPostIsHeld() async throws {
        for exchange in [TransportRequest.Exchange.get, .webSocket(offersCompression: false)] {
            var request = TransportRequest(endpoint: try RawServer().endpoint, exchange: exchange)
            request.isHeld = true
            let connection = LibwebsocketsTransport().connect(request)
            #expect(
                await connection.eventsToEnd()
                    == [.failed(.send, .invalidRequest("only a POST can be held"))])
        }
    }

    @Test func aHeldRequestGoesOverTLS() async throws {
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        configuration.tls = .init(certificate: .valid)
        try await withServer(configuration) { server in
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("ca-\(UUID().uuidString).pem")
            defer { try? FileManager.default.removeItem(at: file) }
            try #require(server.caPEM).write(to: file, atomically: true, encoding: .utf8)
            let url = try #require(URL(string: server.baseURL))
            let endpoint = TransportEndpoint(
                isSecure: true, host: try #require(url.host), port: UInt16(try #require(url.port)),
                target: "/v1/responses")
            var request = TransportRequest(
                endpoint: endpoint, exchange: .post(body: Array("{\"model\":\"m\",\"stream\":true}".utf8)),
                fields: [HTTPField("Content-Type", "application/json"), HTTPField("Accept", "text/event-stream")])
            request.isHeld = true
            let connection = LibwebsocketsTransport(tls: ChappieTLSPolicy(trust: .file(path: file.path))).connect(
                request)
            #expect(await connection.event() == .ready)
            try await RawServer.fence()
            #expect(server.log.isEmpty)
            connection.release()
            let events = await connection.eventsToEnd()
            #expect(events.first == .opened(200))
            #expect(events.last == .ended(.complete))
            guard case .body(let body)? = events.dropFirst().first else {
                Issue.record("no body")
                return
            }
            #expect(body.contains("response.completed"))
            #expect(server.log.count == 1)
        }
    }

    // MARK: Held and not released

    @Test(arguments: [0, 300_000])
    func aCancelledRequestWasNeverWhole(_ count: Int) async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.hold(server, body: [UInt8].counting(count))
        #expect(await connection.event() == .ready)
        connection.cancel()
        let (bytes, end) = await peer.readToEnd()
        #expect(bytes.isEmpty)
        #expect(end == .end)
        #expect(await connection.eventsToEnd() == [.failed(.stream, .cancelled)])
        connection.release()
        #expect(!connection.statistics.requestSent)
    }

    @Test func anAnswerBeforeTheReleaseIsReported() async throws {
        let server = try RawServer()
        for statusCode in [401, 408, 413] {
            let (connection, peer) = try await Self.hold(server)
            #expect(await connection.event() == .ready)
            peer.write("HTTP/1.1 \(statusCode) No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
            #expect(await connection.eventsToEnd() == [.opened(statusCode), .body("no"), .ended(.complete)])
            connection.release()
            #expect(await peer.readToEnd().bytes.isEmpty)
            #expect(!connection.statistics.requestSent)
        }
    }

    @Test(arguments: [false, true])
    func aServerThatClosesBeforeTheReleaseIsALostConnection(byReset: Bool) async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.hold(server)
        #expect(await connection.event() == .ready)
        if byReset { peer.reset() } else { peer.close() }
        #expect(await connection.eventsToEnd() == [.failed(.upgrade, .connectionLost)])
    }

    // MARK: Time

    @Test func connectTimeoutStopsWhenTheConnectionIsReady() async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.hold(server) { $0.timeouts.connect = .seconds(2) }
        #expect(await connection.event() == .ready)
        #expect(await connection.wait(for: .seconds(3)) == .deadlinePassed)
        connection.release()
        _ = await peer.read(until: "\r\n\r\n")
        // Nor is the wait for the answer any affair of this limit.
        #expect(await connection.wait(for: .milliseconds(200)) == .deadlinePassed)
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == Self.answered)
    }

    @Test func theConnectLimitHoldsUntilReady() async throws {
        let server = try RawServer()
        // TCP is there, and TLS never.
        let (connection, peer) = try await Self.hold(server) {
            $0.endpoint.isSecure = true
            $0.timeouts.connect = .seconds(2)
        }
        #expect(await connection.eventsToEnd() == [.failed(.tls, .timedOut)])
        withExtendedLifetime(peer) {}
    }
}
