import Foundation
import LibwebsocketsTransport
import StreamTransport
import Testing

/// The conversation of a connection with its SOCKS proxy, byte for byte (RFC 1928, RFC 1929).
@Suite(.timeLimit(.minutes(10))) struct TransportSOCKSTests {
    /// The request for `origin.invalid:4433`, a name that only a proxy can know.
    private static let request = [5, 1, 0, 3, 14] + Array("origin.invalid".utf8) + [0x11, 0x51]
    private static let established: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    private static let answer = "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"

    /// A connection to a server that is not there, through a proxy that is `server`.
    private static func connect(
        through server: RawServer, _ kind: ProxiedExchange = .post, isSecure: Bool = false,
        userInformation: String = "",
        _ change: (inout TransportRequest) -> Void = { _ in }
    ) async throws -> (connection: any TransportConnection, peer: RawPeer) {
        try await kind.connect(
            through: server, url: "socks5h://\(userInformation)127.0.0.1", isSecure: isSecure, change)
    }

    /// Leads a client without a login to its request.
    private static func readRequest(from peer: RawPeer) async {
        #expect(await peer.read(count: 3) == [5, 1, 0])
        peer.write([5, 0])
        #expect(await peer.read(count: Self.request.count) == Self.request)
    }

    // MARK: The questions

    @Test(arguments: ProxiedExchange.allCases, [false, true])
    func eachQuestionIsSentAfterTheAnswerBeforeIt(_ kind: ProxiedExchange, isSecure: Bool) async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(
            through: server, kind, isSecure: isSecure, userInformation: "us%3Aer:pass@")
        let login = [1, 5] + Array("us:er".utf8) + [4] + Array("pass".utf8)
        let steps: [(question: [UInt8], answer: [UInt8])] = [
            ([5, 2, 0, 2], [5, 2]), (login, [1, 0]), (Self.request, Self.established),
        ]
        for step in steps {
            #expect(await peer.read(count: step.question.count) == step.question)
            for _ in 0..<3 { try await RawServer.fence() }
            #expect(peer.receivedSoFar() == nil)
            #expect(connection.next() == nil)
            peer.write(step.answer)
        }
        let next = await peer.read(count: 3)
        // A TLS record of a handshake, or the request line.
        #expect(isSecure ? next == [22, 3, 1] : next == Array((kind == .post ? "POS" : "GET").utf8))
        connection.cancel()
    }

    @Test func aRequestThroughTheProxyIsThatOfADirectConnection() async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server)
        await Self.readRequest(from: peer)
        peer.write(Self.established)
        let proxied = await peer.read(until: "\r\n\r\n")
        #expect(await peer.read(count: 2) == Array("{}".utf8))
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == [.opened(204), .ended(.complete)])
        let (direct, origin) = try await server.connect(.post(body: Array("{}".utf8))) {
            $0.fields = [HTTPField("Authorization", "Bearer secret")]
        }
        let head = await origin.read(until: "\r\n\r\n")
        #expect(proxied == head.replacingOccurrences(of: "127.0.0.1:\(server.port)", with: "origin.invalid:4433"))
        direct.cancel()
    }

    @Test func aHeldRequestIsHeldBehindTheProxy() async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server) { $0.isHeld = true }
        await Self.readRequest(from: peer)
        peer.write(Self.established)
        #expect(await connection.event() == .ready)
        connection.release()
        #expect(await peer.read(until: "\r\n\r\n").contains("Authorization: Bearer secret\r\n"))
        connection.cancel()
    }

    // MARK: The answers

    @Test(arguments: [
        Self.established, [5, 0, 0, 3, 0, 0, 80], [5, 0, 0, 4] + [UInt8](repeating: 7, count: 18),
        [5, 0, 0, 3, 255] + [UInt8](repeating: 0x61, count: 257),
    ])
    func replyMayArriveByteByByte(_ reply: [UInt8]) async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server)
        #expect(await peer.read(count: 3) == [5, 1, 0])
        for byte in [5, 0] + reply.prefix(24) {
            peer.write([byte])
            try await RawServer.fence()
        }
        peer.write(Array(reply.dropFirst(24)))
        #expect(await peer.read(count: Self.request.count) == Self.request)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(Self.answer)
        #expect(await connection.eventsToEnd() == [.opened(204), .ended(.complete)])
    }

    @Test func bytesThatComeWithTheAnswerAreTheServers() async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server)
        await Self.readRequest(from: peer)
        peer.write(Self.established + Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))
        #expect(await connection.eventsToEnd() == [.opened(200), .body("ok"), .ended(.complete)])
    }

    @Test func bytesAfterTheProxysAnswerThatAreNotTLSFail() async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server, isSecure: true)
        await Self.readRequest(from: peer)
        peer.write(Self.established + Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))
        #expect(await connection.eventsToEnd() == [.failed(.tls, .tlsHandshakeFailed)])
    }

    struct Answer: Sendable, CustomTestStringConvertible {
        let bytes: [UInt8]
        let cause: TransportFailure.Cause
        var testDescription: String { "\(self.bytes.prefix(12)): \(self.cause)" }

        init(_ bytes: [UInt8], _ cause: TransportFailure.Cause) { (self.bytes, self.cause) = (bytes, cause) }
        init(_ text: String, _ cause: TransportFailure.Cause) { self.init(Array(text.utf8), cause) }
    }

    @Test(
        arguments: [
            Answer("<html><body>Sign in</body></html>", .notSOCKS),
            Answer("HTTP/1.1 400 Bad Request\r\n\r\n", .notSOCKS),
            Answer([0x15, 3, 1, 0, 2, 2, 40], .notSOCKS),
            Answer([0, 0x5B, 0, 0, 0, 0, 0, 0], .notSOCKS),
            Answer([5, 0xFF], .socksAuthenticationRefused(.credentialMissing)),
            Answer([5, 1], .socksAuthenticationRefused(.methodsRefused)),
            Answer([5, 0, 4, 0], .notSOCKS),
            Answer([5, 0, 5, 0, 0, 2], .notSOCKS),
        ]
            + (1...9 as ClosedRange<UInt8>).map {
                Answer([5, 0, 5, $0, 0, 1, 0, 0, 0, 0, 0, 0], .socksRefused(code: $0))
            },
        [false, true])
    func anAnswerThatOpensNothingIsAFailure(_ answer: Answer, isSecure: Bool) async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server, isSecure: isSecure)
        #expect(await peer.read(count: 3) == [5, 1, 0])
        peer.write(answer.bytes)
        #expect(await connection.eventsToEnd() == [.failed(.proxy, answer.cause)])
        // The connection is closed, and no byte was sent through it.
        let rest = await peer.readToEnd().bytes
        #expect(rest.isEmpty || rest == Self.request)
    }

    @Test func aRefusedLoginEndsTheConnection() async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server, userInformation: "u:p@")
        #expect(await peer.read(count: 4) == [5, 2, 0, 2])
        peer.write([5, 2])
        #expect(await peer.read(count: 5) == [1, 1, 0x75, 1, 0x70])
        peer.write([1, 1])
        #expect(
            await connection.eventsToEnd() == [.failed(.proxy, .socksAuthenticationRefused(.credentialRefused))])
        #expect(await peer.readToEnd().bytes.isEmpty)
    }

    // MARK: Ends

    enum End: CaseIterable, Sendable { case close, reset }

    @Test(arguments: End.allCases, [[], [5], [5, 0], [5, 0, 5, 0, 0, 3, 9, 0x61]] as [[UInt8]])
    func anEndInsteadOfAnAnswerIsALoss(_ end: End, after bytes: [UInt8]) async throws {
        for isSecure in [false, true] {
            let server = try RawServer()
            let (connection, peer) = try await Self.connect(through: server, isSecure: isSecure)
            #expect(await peer.read(count: 3) == [5, 1, 0])
            peer.write(bytes)
            // A reset would overtake a question that was not read.
            if bytes.count > 1 { _ = await peer.read(count: Self.request.count) }
            switch end {
            case .close: peer.close()
            case .reset: peer.reset()
            }
            #expect(await connection.eventsToEnd() == [.failed(.proxy, .connectionLost)])
        }
    }

    @Test(arguments: ProxiedExchange.allCases, [[], [5, 0], [5, 0, 5, 0, 0, 1, 0]] as [[UInt8]])
    func silentProxyTimesOut(_ kind: ProxiedExchange, after bytes: [UInt8]) async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server, kind, isSecure: true) {
            $0.timeouts.connect = .milliseconds(60)
        }
        peer.write(bytes)
        #expect(await connection.eventsToEnd() == [.failed(.proxy, .timedOut)])
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: 0...3)
    func aCancelledQuestionClosesTheConnection(afterSteps count: Int) async throws {
        let server = try RawServer()
        let (connection, peer) = try await Self.connect(through: server, isSecure: true, userInformation: "u:p@")
        let steps: [(question: [UInt8], answer: [UInt8])] = [
            ([5, 2, 0, 2], [5, 2]), ([1, 1, 0x75, 1, 0x70], [1, 0]), (Self.request, Array(Self.established.prefix(9))),
        ]
        for step in steps.prefix(count) {
            #expect(await peer.read(count: step.question.count) == step.question)
            peer.write(step.answer)
        }
        try await RawServer.fence()
        connection.cancel()
        #expect(await peer.readToEnd().end == .end)
    }
}
