import Foundation
import LibwebsocketsTransport
import StreamTransport
import Testing

/// The exchange between a connection and its proxy, byte for byte.
@Suite(.timeLimit(.minutes(10))) struct TransportTunnelTests {
    private static let established = "HTTP/1.1 200 Connection established\r\n\r\n"
    private static let answer = "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"

    /// A connection to a server that is not there, through a proxy that is `server`.
    private static func connect(
        through server: RawServer, _ kind: ProxiedExchange = .post, isSecure: Bool = false,
        userInformation: String = "",
        _ change: (inout TransportRequest) -> Void = { _ in }
    ) async throws -> (connection: any TransportConnection, peer: RawPeer) {
        try await kind.connect(
            through: server, url: "http://\(userInformation)127.0.0.1", isSecure: isSecure, change)
    }

    // MARK: The question

    @Test(arguments: ProxiedExchange.allCases, [false, true])
    func onlyTheTunnelRequestIsSentBeforeItsAnswer(_ kind: ProxiedExchange, isSecure: Bool) async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(
            through: server, kind, isSecure: isSecure, userInformation: "u:p@")
        let head = await peer.read(until: "\r\n\r\n")
        #expect(
            head == "CONNECT origin.invalid:4433 HTTP/1.1\r\nHost: origin.invalid:4433\r\n"
                + "Proxy-Authorization: Basic dTpw\r\n\r\n")
        for _ in 0..<3 { try await RawServer.fence() }
        #expect(peer.receivedSoFar() == nil)
        #expect(connection.next() == nil)
        peer.write(Self.established)
        let next = await peer.read(count: 3)
        // A TLS record of a handshake, or the request line.
        #expect(isSecure ? next == [22, 3, 1] : next == Array((kind == .post ? "POS" : "GET").utf8))
        connection.cancel()
    }

    @Test func aRequestInTheTunnelIsThatOfADirectConnection() async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server, userInformation: "u:p@")
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(Self.established)
        let tunneled = await peer.read(until: "\r\n\r\n")
        #expect(await peer.read(count: 2) == Array("{}".utf8))
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == [.opened(204), .ended(.complete)])
        let (direct, origin) = try await server.connect(.post(body: Array("{}".utf8))) {
            $0.fields = [HTTPField("Authorization", "Bearer secret")]
        }
        let head = await origin.read(until: "\r\n\r\n")
        #expect(tunneled == head.replacingOccurrences(of: "127.0.0.1:\(server.port)", with: "origin.invalid:4433"))
        direct.cancel()
    }

    @Test(arguments: [1, 2_000, 60_000, 400_000])
    func aCredentialOfAnyLengthIsSent(_ count: Int) async throws {
        // So little is taken at a time that the question goes out in pieces.
        let server = try RawServer(receiveBufferByteCount: 4096)
        let password = String(repeating: "x", count: count)
        let (connection, peer) = try await Self.connect(through: server, userInformation: "u:\(password)@")
        let credential = Data("u:\(password)".utf8).base64EncodedString()
        let question =
            "CONNECT origin.invalid:4433 HTTP/1.1\r\nHost: origin.invalid:4433\r\nProxy-Authorization: Basic "
            + credential + "\r\n\r\n"
        #expect(await peer.read(count: question.utf8.count) == Array(question.utf8))
        peer.write(Self.established)
        #expect(await peer.read(count: 5) == Array("POST ".utf8))
        connection.cancel()
    }

    @Test func aHeldRequestIsHeldBehindTheTunnel() async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server) { $0.isHeld = true }
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(Self.established)
        #expect(await connection.event() == .ready)
        for _ in 0..<3 { try await RawServer.fence() }
        #expect(peer.receivedSoFar() == nil)
        connection.release()
        let head = await peer.read(until: "\r\n\r\n")
        #expect(head.hasPrefix("POST /v1/responses HTTP/1.1\r\n"))
        #expect(head.contains("Authorization: Bearer secret\r\n"))
        #expect(await peer.read(count: 2) == Array("{}".utf8))
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == [.opened(204), .ended(.complete)])
    }

    // MARK: The answer

    @Test(arguments: [
        "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200 OK\r\nVia: x\r\n\r\n",
        "HTTP/1.1 299 x\r\nContent-Length: 3\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ])
    func tunnelAnswerMayArriveByteByByte(_ text: String) async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server)
        _ = await peer.read(until: "\r\n\r\n")
        for byte in text.utf8 {
            peer.write([byte])
            try await RawServer.fence()
        }
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == [.opened(204), .ended(.complete)])
    }

    @Test func bytesAfterTheAnswerBelongToTheTunnel() async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(Self.established + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        #expect(await connection.eventsToEnd() == [.opened(200), .body("ok"), .ended(.complete)])
    }

    @Test func bytesAfterTheAnswerThatAreNotTLSFail() async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server, isSecure: true)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(Self.established + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        #expect(await connection.eventsToEnd() == [.failed(.tls, .tlsHandshakeFailed)])
    }

    struct Answer: Sendable, CustomTestStringConvertible {
        let text: String
        let cause: TransportFailure.Cause
        var testDescription: String { String(self.text.prefix(40)) }

        init(_ text: String, _ cause: TransportFailure.Cause) { (self.text, self.cause) = (text, cause) }
    }

    private static let tooLarge = TransportFailure.Cause.headerSectionTooLarge(limit: 65_536)

    @Test(
        arguments: [
            Answer("<html><body>Sign in</body></html>", .notHTTP),
            Answer("\u{16}\u{3}\u{1}", .notHTTP),
            Answer("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>", .proxyRefused(statusCode: 502)),
            Answer("HTTP/1.1 407 x\r\nProxy-Authenticate: Basic\r\n\r\n", .proxyRefused(statusCode: 407)),
            Answer("HTTP/1.1 302 x\r\nLocation: http://elsewhere/\r\n\r\n", .proxyRefused(statusCode: 302)),
            Answer("HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 1_000_000), Self.tooLarge),
            Answer("HTTP/1.1 200 OK\r\n" + String(repeating: "a: b\r\n", count: 100_000) + "\r\n", Self.tooLarge),
        ], [false, true])
    func anAnswerThatOpensNoTunnelIsAFailure(_ answer: Answer, isSecure: Bool) async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server, isSecure: isSecure)
        _ = await peer.read(until: "\r\n\r\n")
        let writing = Task.detached { peer.write(answer.text) }
        #expect(await connection.eventsToEnd() == [.failed(.proxy, answer.cause)])
        await writing.value
        // The connection is closed, and no byte was sent through it.
        #expect(await peer.readToEnd().bytes.isEmpty)
    }

    enum End: CaseIterable, Sendable { case close, reset }

    @Test(arguments: End.allCases, ["", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nX: y\r\n"])
    func anEndInsteadOfAnAnswerIsALoss(_ end: End, after text: String) async throws {
        for isSecure in [false, true] {
            let server = try RawServer()
            let (connection, peer) = try await Self.connect(through: server, isSecure: isSecure)
            _ = await peer.read(until: "\r\n\r\n")
            peer.write(text)
            switch end {
            case .close: peer.close()
            case .reset: peer.reset()
            }
            #expect(await connection.eventsToEnd() == [.failed(.proxy, .connectionLost)])
        }
    }

    @Test(arguments: End.allCases, [false, true])
    func anEndBehindTheAnswerIsNotTheProxys(_ end: End, isSecure: Bool) async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server, isSecure: isSecure)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(Self.established)
        _ = await peer.receive()
        switch end {
        case .close: peer.close()
        case .reset: peer.reset()
        }
        guard case .ended(.failed(let failure))? = await connection.eventsToEnd().last else {
            Issue.record("no failure")
            return
        }
        #expect(failure.phase == (isSecure ? .tls : .upgrade))
        if !isSecure { #expect(failure.cause == .connectionLost) }
    }

    @Test func anAnswerInOneSegmentWithItsEndIsSurvived() async throws {
        for isSecure in [false, true] {
            let server = try RawServer()
            let (connection, peer) = try await Self.connect(through: server, isSecure: isSecure)
            _ = await peer.read(until: "\r\n\r\n")
            peer.write(Self.established)
            peer.reset()
            guard case .ended(.failed(let failure))? = await connection.eventsToEnd().last else {
                Issue.record("no failure")
                return
            }
            #expect([.proxy, .connect, .tls, .upgrade].contains(failure.phase))
        }
    }

    @Test(arguments: ProxiedExchange.allCases, ["", "HTTP/1.1 200 OK\r\nX: y"])
    func silentProxyTimesOut(_ kind: ProxiedExchange, after text: String) async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server, kind, isSecure: true) {
            $0.timeouts.connect = .milliseconds(60)
        }
        peer.write(text)
        #expect(await connection.eventsToEnd() == [.failed(.proxy, .timedOut)])
        withExtendedLifetime(peer) {}
    }

    // MARK: Leaks

    private static func descriptorCount() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    }

    @Test func cancelledTunnelRequestLeavesNoSocket() async throws {
        let server = try RawServer()
        try await RawServer.fence()
        let before = try Self.descriptorCount()
        for _ in 0..<50 {
            let (connection, peer) = try await Self.connect(through: server, isSecure: true)
            _ = await peer.read(until: "\r\n\r\n")
            connection.cancel()
            #expect(await peer.readToEnd().end == .end)
            peer.close()
            try await RawServer.fence()
        }
        // The process opens and closes a few of its own meanwhile; one that is left each time would be 50.
        #expect(try Self.descriptorCount() < before + 25)
    }
}
