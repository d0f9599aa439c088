import ChappieTestServer
import Foundation
import StreamTransport
import Testing

@testable import LibwebsocketsTransport

/// Hosts with several addresses, of which some are silent and some refuse.
@Suite(.timeLimit(.minutes(10))) struct AddressRaceTests {
    /// The addresses of names, in the tests of this suite.
    private static let names = LockedValue<[String: [String]]>([:])
    private static let pool = ServicePool(
        resolver: Resolver { name in
            Self.names.withLock { $0[name] }.map { .success($0) } ?? .failure(.unresolvable(code: EAI_NONAME))
        })
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    private static let answered: [Reported] = [.opened(200), .body("ok"), .ended(.complete)]

    /// An endpoint whose name stands for these addresses.
    private static func endpoint(_ addresses: [String], port: UInt16) -> TransportEndpoint {
        let host = Self.names.withLock { names in
            let host = "host\(names.count).test"
            names[host] = addresses
            return host
        }
        return TransportEndpoint(isSecure: false, host: host, port: port, target: "/v1/responses")
    }

    private static func connect(
        _ addresses: [String], port: UInt16, _ change: (inout TransportRequest) -> Void = { _ in }
    ) -> any TransportConnection {
        var request = TransportRequest(
            endpoint: Self.endpoint(addresses, port: port), exchange: .post(body: Array("{}".utf8)))
        change(&request)
        return LibwebsocketsTransport(pool: Self.pool).connect(request)
    }

    /// Returns when the pool's thread has handled everything that came before.
    private static func fence() async throws {
        let server = try RawServer()
        let request = TransportRequest(endpoint: server.endpoint, exchange: .get)
        let connection = LibwebsocketsTransport(pool: Self.pool).connect(request)
        let peer = try await server.accept()
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == Self.answered)
    }

    /// Returns the time of connecting, once the addresses were known.
    private static func connectTime(_ connection: any TransportConnection) throws -> Duration {
        let statistics = connection.statistics
        return try #require(statistics.connected) - #require(statistics.resolved)
    }

    // MARK: Silent addresses

    @Test(arguments: [LoopbackAddress.second, .version6])
    func aSilentAddressCostsAQuarterOfASecond(_ silent: LoopbackAddress) async throws {
        let server = try RawServer()
        let hole = try BlackHole(silent, port: server.port)
        let stopwatch = Stopwatch()
        let connection = Self.connect([silent.rawValue, "127.0.0.1"], port: server.port)
        let peer = try await server.accept()
        let head = await peer.read(until: "\r\n\r\n{}")
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == Self.answered)
        #expect(head.hasPrefix("POST /v1/responses HTTP/1.1\r\n"))
        let time = try Self.connectTime(connection)
        #expect(time >= .milliseconds(250))
        let lateness = await stopwatch.stop().lateness
        #expect(time - lateness < .milliseconds(600))
        #expect(hole.waitingCount == 0)
    }

    @Test func aLiveAddressOfVersion6ComesAfterASilentOne() async throws {
        let server = try RawServer(address: .version6)
        let hole = try BlackHole(.second, port: server.port)
        // The families take turns: the second silent address is not waited for.
        let stopwatch = Stopwatch()
        let connection = Self.connect(["127.0.0.2", "127.0.0.2", "::1"], port: server.port)
        let peer = try await server.accept()
        _ = await peer.read(until: "\r\n\r\n{}")
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == Self.answered)
        let time = try Self.connectTime(connection)
        let lateness = await stopwatch.stop().lateness
        #expect(time - lateness < .milliseconds(490))
        #expect(hole.waitingCount == 0)
    }

    @Test func aLiveAddressIsNotWaitedFor() async throws {
        let server = try RawServer()
        let hole = try BlackHole(.second, port: server.port)
        let stopwatch = Stopwatch()
        let connection = Self.connect(["127.0.0.1", "127.0.0.2"], port: server.port)
        let peer = try await server.accept()
        _ = await peer.read(until: "\r\n\r\n{}")
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == Self.answered)
        let time = try Self.connectTime(connection)
        let lateness = await stopwatch.stop().lateness
        #expect(time - lateness < .milliseconds(250))
        #expect(hole.waitingCount == 0)
    }

    @Test func aWebSocketGoesOnAfterARace() async throws {
        let server = try RawServer()
        let hole = try BlackHole(.second, port: server.port)
        let connection = Self.connect(["127.0.0.2", "127.0.0.1"], port: server.port) {
            $0.exchange = .webSocket(offersCompression: true)
        }
        let peer = try await server.accept()
        await peer.acceptWebSocket()
        #expect(await connection.event() == .opened(101))
        peer.writeText("hello")
        #expect(await connection.event() == .text("hello"))
        connection.send(Array("there".utf8), as: .text)
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: 1, payload: Array("there".utf8)))
        connection.cancel()
        #expect(await peer.readCloseCode() == 1001)
        #expect(hole.waitingCount == 0)
    }

    @Test func aHeldRequestIsHeldAfterARace() async throws {
        let server = try RawServer()
        let hole = try BlackHole(.second, port: server.port)
        let connection = Self.connect(["127.0.0.2", "127.0.0.1"], port: server.port) { $0.isHeld = true }
        let peer = try await server.accept()
        #expect(await connection.event() == .ready)
        try await Self.fence()
        #expect(peer.receivedSoFar() == nil)
        connection.release()
        _ = await peer.read(until: "\r\n\r\n{}")
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == Self.answered)
        #expect(hole.waitingCount == 0)
    }

    @Test func theCertificateIsThatOfTheNameAfterARace() async throws {
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        configuration.tls = .init(certificate: .valid)
        try await withServer(configuration) { server in
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("ca-\(UUID().uuidString).pem")
            defer { try? FileManager.default.removeItem(at: file) }
            try #require(server.caPEM).write(to: file, atomically: true, encoding: .utf8)
            let port = UInt16(try #require(URL(string: server.baseURL)?.port))
            let hole = try BlackHole(.second, port: port)
            let tls = LibwebsocketsTransport(tls: ChappieTLSPolicy(trust: .file(path: file.path)), pool: Self.pool)
            Self.names.withLock { $0["localhost"] = ["127.0.0.2", "127.0.0.1"] }
            var request = TransportRequest(
                endpoint: Self.endpoint(["127.0.0.2", "127.0.0.1"], port: port),
                exchange: .webSocket(offersCompression: false))
            request.endpoint.isSecure = true
            // OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH.
            guard
                case .ended(.failed(let failure))? = await tls.connect(request).eventsToEnd().last,
                case .certificateRejected(code: 62, _) = failure.cause
            else {
                Issue.record("another host's certificate is accepted")
                return
            }
            request.endpoint.host = "localhost"
            let connection = tls.connect(request)
            #expect(await connection.event() == .opened(101))
            connection.cancel()
            #expect(hole.waitingCount == 0)
        }
    }

    // MARK: Addresses that refuse

    @Test func aRefusedAddressIsFollowedAtOnce() async throws {
        let server = try RawServer()
        // No program listens there.
        let stopwatch = Stopwatch()
        let connection = Self.connect(["127.0.0.2", "::1", "127.0.0.3", "127.0.0.1"], port: server.port)
        let peer = try await server.accept()
        _ = await peer.read(until: "\r\n\r\n{}")
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == Self.answered)
        let time = try Self.connectTime(connection)
        let lateness = await stopwatch.stop().lateness
        #expect(time - lateness < .milliseconds(250))
    }

    @Test func anAddressWithoutARouteIsFollowedAtOnce() async throws {
        let server = try RawServer()
        // TCP has no route to everybody, so that the system refuses to try.
        let stopwatch = Stopwatch()
        let connection = Self.connect(["255.255.255.255", "255.255.255.255", "127.0.0.1"], port: server.port)
        let peer = try await server.accept()
        _ = await peer.read(until: "\r\n\r\n{}")
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == Self.answered)
        let time = try Self.connectTime(connection)
        let lateness = await stopwatch.stop().lateness
        #expect(time - lateness < .milliseconds(250))
    }

    @Test(arguments: [
        (["127.0.0.2"], ECONNREFUSED),
        (["127.0.0.2", "127.0.0.3", "::1"], ECONNREFUSED),
        (["255.255.255.255"], ENETUNREACH),
        (["127.0.0.2", "255.255.255.255"], ENETUNREACH),
        (["255.255.255.255", "127.0.0.2"], ECONNREFUSED),
    ])
    func theLastRefusalIsTheReason(_ addresses: [String], _ code: Int32) async throws {
        let server = try RawServer()
        let connection = Self.connect(addresses, port: server.port)
        #expect(await connection.eventsToEnd() == [.failed(.connect, .unreachable(code: code))])
        #expect(connection.statistics.resolved != nil)
        #expect(connection.statistics.connected == nil)
    }

    /// The next attempt does not begin with addresses that could not be connected to.
    @Test func unreachableAddressesAreLookedUpAgain() async throws {
        let server = try RawServer()
        var request = TransportRequest(
            endpoint: Self.endpoint(["127.0.0.2"], port: server.port), exchange: .post(body: []))
        let transport = LibwebsocketsTransport(pool: Self.pool)
        #expect(
            await transport.connect(request).eventsToEnd() == [.failed(.connect, .unreachable(code: ECONNREFUSED))])
        let host = request.endpoint.host
        Self.names.withLock { $0[host] = ["127.0.0.1"] }
        let connection = transport.connect(request)
        let peer = try await server.accept()
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == Self.answered)
        // One that has led somewhere is.
        Self.names.withLock { $0[host] = ["127.0.0.2"] }
        request.exchange = .get
        let second = transport.connect(request)
        let secondPeer = try await server.accept()
        _ = await secondPeer.read(until: "\r\n\r\n")
        secondPeer.write(Self.answer)
        #expect(await second.eventsToEnd() == Self.answered)
    }

    // MARK: The end of a race

    @Test func aCancelledRaceLeavesNoSocket() async throws {
        let hole = try BlackHole(.second)
        let connection = Self.connect(["127.0.0.2", "127.0.0.2", "127.0.0.2"], port: hole.port)
        // Each attempt is a quarter of a second behind the one before.
        #expect(await connection.wait(for: .milliseconds(1_500)) == .deadlinePassed)
        #expect(hole.waitingCount == 3)
        connection.cancel()
        #expect(await connection.eventsToEnd() == [.failed(.stream, .cancelled)])
        try await Self.fence()
        #expect(hole.waitingCount == 0)
    }

    @Test func theConnectLimitHoldsInARace() async throws {
        let hole = try BlackHole(.second)
        let connection = Self.connect(["127.0.0.2", "127.0.0.2"], port: hole.port) {
            $0.timeouts.connect = .seconds(2)
        }
        let stopwatch = Stopwatch()
        #expect(await connection.eventsToEnd() == [.failed(.connect, .timedOut)])
        #expect(await stopwatch.stop().ownTime < .milliseconds(2_500))
        try await Self.fence()
        #expect(hole.waitingCount == 0)
    }

    @Test func aRefusalBesideASilentAddressIsNotTheEnd() async throws {
        let hole = try BlackHole(.second)
        let connection = Self.connect(["127.0.0.2", "127.0.0.3"], port: hole.port) {
            $0.timeouts.connect = .seconds(2)
        }
        #expect(await connection.eventsToEnd() == [.failed(.connect, .timedOut)])
        try await Self.fence()
        #expect(hole.waitingCount == 0)
    }

    @Test func hundredRacesSucceedConcurrently() async throws {
        let server = try RawServer()
        let hole = try BlackHole(.second, port: server.port)
        let connections = (0..<100).map { _ in Self.connect(["127.0.0.2", "127.0.0.1"], port: server.port) }
        var peers: [RawPeer] = []
        for _ in connections { peers.append(try await server.accept()) }
        for peer in peers {
            _ = await peer.read(until: "\r\n\r\n{}")
            peer.write(Self.answer)
        }
        for connection in connections { #expect(await connection.eventsToEnd() == Self.answered) }
        #expect(hole.waitingCount == 0)
    }
}
