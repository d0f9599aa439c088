import ChappieTransport
import Foundation
import LibwebsocketsTransport
import StreamTransport
import Testing

/// The conversation of a connection with an `https` proxy: bytes of the test, inside TLS of stunnel's.
@Suite(.timeLimit(.minutes(10))) struct TransportSecureProxyTests {
    private static let established = "HTTP/1.1 200 Connection established\r\n\r\n"
    private static let question =
        "CONNECT origin.invalid:4433 HTTP/1.1\r\nHost: origin.invalid:4433\r\nProxy-Authorization: Basic dTpw\r\n\r\n"

    /// A proxy, and the trust in it.
    private struct Proxy {
        let server: RawServer
        let front: RunningTLSFront

        init() async throws {
            self.server = try RawServer()
            self.front = try await RunningTLSFront.start(to: self.server.port)
        }

        /// A connection to a server that is not there.
        func connect(
            isSecure: Bool = false, _ change: (inout TransportRequest) -> Void = { _ in }
        ) -> any TransportConnection {
            TransportSecureProxyTests.connect(
                to: self.front.url("u:p"), isSecure: isSecure, trusting: self.front.certificatePath, change)
        }

        /// The proxy's end of the next connection, which has been asked for a tunnel.
        func accept() async throws -> RawPeer {
            let peer = try await self.server.accept()
            #expect(await peer.read(until: "\r\n\r\n") == TransportSecureProxyTests.question)
            return peer
        }
    }

    private static func connect(
        to url: String, isSecure: Bool = false, trusting path: String? = nil,
        _ change: (inout TransportRequest) -> Void = { _ in }
    ) -> any TransportConnection {
        let endpoint = TransportEndpoint(
            isSecure: isSecure, host: "origin.invalid", port: 4433, target: "/v1/responses")
        var request = TransportRequest(endpoint: endpoint, exchange: .post(body: Array("{}".utf8)))
        request.fields = [HTTPField("Authorization", "Bearer secret")]
        change(&request)
        let policy = path.map { ChappieTLSPolicy(trust: .file(path: $0)) } ?? ChappieTLSPolicy()
        return LibwebsocketsTransport(tls: policy, proxies: ProxyPolicy.url(url)).connect(request)
    }

    @Test(arguments: [false, true])
    func onlyTheTunnelRequestIsSentBeforeItsAnswer(isSecure: Bool) async throws {
        let proxy = try await Proxy()
        let connection = proxy.connect(isSecure: isSecure)
        let peer = try await proxy.accept()
        for _ in 0..<3 { try await RawServer.fence() }
        #expect(peer.receivedSoFar() == nil)
        #expect(connection.next() == nil)
        peer.write(Self.established)
        // Inside the proxy's TLS: a TLS record of a handshake, or the request line.
        #expect(await peer.read(count: 3) == (isSecure ? [22, 3, 1] : Array("POS".utf8)))
        connection.cancel()
    }

    @Test func tunnelAnswerMayArriveByteByByte() async throws {
        let proxy = try await Proxy()
        let connection = proxy.connect()
        let peer = try await proxy.accept()
        for byte in Self.established.utf8 {
            peer.write([byte])
            try await RawServer.fence()
        }
        _ = await peer.read(until: "\r\n\r\n{}")
        peer.write("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")
        #expect(await connection.eventsToEnd() == [.opened(204), .ended(.complete)])
    }

    @Test func bytesThatComeWithTheAnswerAreTheServers() async throws {
        let proxy = try await Proxy()
        let connection = proxy.connect()
        let peer = try await proxy.accept()
        peer.write(Self.established + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        #expect(await connection.eventsToEnd() == [.opened(200), .body("ok"), .ended(.complete)])
    }

    @Test func bytesAfterTheProxysAnswerThatAreNotTLSFail() async throws {
        let proxy = try await Proxy()
        let connection = proxy.connect(isSecure: true)
        let peer = try await proxy.accept()
        peer.write(Self.established + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        #expect(await connection.eventsToEnd() == [.failed(.tls, .tlsHandshakeFailed)])
    }

    @Test(
        arguments: [
            ("<html>", .notHTTP), ("\u{5}\u{0}", .notHTTP), ("\u{15}\u{3}\u{1}", .notHTTP),
            ("HTTP/1.1 407 x\r\n\r\n", .proxyRefused(statusCode: 407)),
            ("HTTP/1.1 502 x\r\n\r\n<html>", .proxyRefused(statusCode: 502)),
        ] as [(String, TransportFailure.Cause)], [false, true])
    func anAnswerThatOpensNoTunnelIsAFailure(
        answer: (text: String, cause: TransportFailure.Cause), isSecure: Bool
    ) async throws {
        let proxy = try await Proxy()
        let connection = proxy.connect(isSecure: isSecure)
        let peer = try await proxy.accept()
        peer.write(answer.text)
        #expect(await connection.eventsToEnd() == [.failed(.proxy, answer.cause)])
        #expect(await peer.readToEnd().bytes.isEmpty)
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nX: y\r\n"], [false, true])
    func anEndInsteadOfAnAnswerIsALoss(after text: String, isSecure: Bool) async throws {
        let proxy = try await Proxy()
        let connection = proxy.connect(isSecure: isSecure)
        let peer = try await proxy.accept()
        peer.write(text)
        peer.close()
        #expect(await connection.eventsToEnd() == [.failed(.proxy, .connectionLost)])
    }

    @Test func anEndBehindTheAnswerIsNotTheProxys() async throws {
        let proxy = try await Proxy()
        let connection = proxy.connect()
        let peer = try await proxy.accept()
        peer.write(Self.established)
        _ = await peer.read(until: "{}")
        peer.close()
        #expect(await connection.eventsToEnd() == [.failed(.upgrade, .connectionLost)])
    }

    /// stunnel turns the end of what the proxy sends into a close_notify.
    @Test func aBodyMayEndWithTheProxysTLS() async throws {
        let proxy = try await Proxy()
        let connection = proxy.connect()
        let peer = try await proxy.accept()
        peer.write(Self.established)
        _ = await peer.read(until: "{}")
        peer.write("HTTP/1.1 200 OK\r\n\r\nabc")
        peer.close()
        #expect(await connection.eventsToEnd() == [.opened(200), .body("abc"), .ended(.complete)])
    }

    // MARK: TLS inside TLS

    /// A request and an answer of megabytes, of which neither side reads before the other has to wait.
    @Test(arguments: [false, true])
    func largeBodiesPassEveryLayer(isSecure: Bool) async throws {
        let origin = try RawServer(receiveBufferByteCount: 4_096)
        let proxy = try await RunningProxy.start()
        let (proxyFront, originFront) = (
            try await RunningTLSFront.start(to: proxy.port), try await RunningTLSFront.start(to: origin.port)
        )
        let authorities = try AuthorityFile(proxyFront.certificatePEM + originFront.certificatePEM)
        defer { authorities.remove() }
        guard case .file(let path) = authorities.trust else { return }
        let endpoint = TransportEndpoint(
            isSecure: isSecure, host: "127.0.0.1", port: isSecure ? originFront.port : origin.port, target: "/")
        let body = [UInt8].counting(3_000_000)
        let connection = LibwebsocketsTransport(
            tls: ChappieTLSPolicy(trust: .file(path: path)), proxies: ProxyPolicy.url(proxyFront.url())
        ).connect(TransportRequest(endpoint: endpoint, exchange: .post(body: body)))
        let peer = try await origin.accept()
        _ = await peer.read(until: "\r\n\r\n")
        try await RawServer.fill(connection)
        #expect(await peer.read(count: body.count) == body)
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n")
        let writing = peer.writeInBackground(byteCount: 3_000_000)
        try await RawServer.stall(connection)
        let events = await connection.eventsToEnd()
        #expect(events == [.opened(200), .body(String(repeating: "x", count: 3_000_000)), .ended(.complete)])
        await writing.value
        #expect(await proxy.stop() == ["127.0.0.1:\(endpoint.port)"])
    }

    // MARK: The proxy's TLS

    @Test(arguments: [false, true])
    func proxyWithoutTLSFailsTheHandshakeOfTheProxy(isSecure: Bool) async throws {
        let server = try RawServer()
        let connection = Self.connect(to: "https://127.0.0.1:\(server.port)", isSecure: isSecure)
        let peer = try await server.accept()
        #expect(await peer.read(count: 3) == [22, 3, 1])
        peer.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        #expect(await connection.eventsToEnd() == [.failed(.proxy, .tlsHandshakeFailed)])
    }

    @Test func silentProxyTimesOut() async throws {
        let server = try RawServer()
        let connection = Self.connect(to: "https://127.0.0.1:\(server.port)") {
            $0.timeouts.connect = .milliseconds(60)
        }
        let peer = try await server.accept()
        #expect(await connection.eventsToEnd() == [.failed(.proxy, .timedOut)])
        withExtendedLifetime(peer) {}
    }

    @Test func aProxyThatHangsUpInTheHandshakeIsALoss() async throws {
        let server = try RawServer()
        let connection = Self.connect(to: "https://127.0.0.1:\(server.port)")
        let peer = try await server.accept()
        _ = await peer.read(count: 3)
        peer.close()
        guard case .ended(.failed(let failure))? = await connection.eventsToEnd().last else {
            Issue.record("no failure")
            return
        }
        #expect(failure.phase == .proxy)
    }
}
