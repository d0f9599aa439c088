import LibwebsocketsTransport
import StreamTransport
import Testing

/// Response bodies whose framing is unusual, wrong, or cut (RFC 9112 sections 6 and 7).
@Suite(.timeLimit(.minutes(1))) struct TransportBadBodyTests {
    static let exchanges: [TransportRequest.Exchange] = [.get, .post(body: [1, 2, 3])]

    private static let lost = Reported.failed(.stream, .connectionLost)

    /// Sends an answer and leaves the connection open, so that only the answer itself can end it.
    private func events(after answer: String, to exchange: TransportRequest.Exchange) async throws -> [Reported] {
        let (connection, peer) = try await RawServer().connect(exchange)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(answer)
        let events = await connection.eventsToEnd()
        withExtendedLifetime(peer) {}
        return events
    }

    /// `Transfer-Encoding` decides (RFC 9112 section 6.3), whichever comes first.
    ///
    /// Both together are a sign of an attempt to hide a second response. Nobody would read it: a connection of ours
    /// carries one.
    @Test(arguments: Self.exchanges)
    func chunksCountMoreThanALength(_ exchange: TransportRequest.Exchange) async throws {
        let chunks = "\r\n5\r\nhello\r\n0\r\n\r\n"
        for fields in [
            "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
            "Content-Length: 300\r\nTransfer-Encoding: chunked\r\n",
        ] {
            #expect(
                try await self.events(after: "HTTP/1.1 200 OK\r\n" + fields + chunks, to: exchange)
                    == [.opened(200), .body("hello"), .ended(.complete)])
        }
    }

    @Test(
        arguments: Self.exchanges,
        [
            "8000000000000000", "ffffffffffffffff", "7fffffffffffffff", "80000000", "ffffffff", "100000000", "xyz",
            "-5",
            "", "5 5",
        ])
    func aChunkSizeThatMakesNoSenseEndsTheConnection(_ exchange: TransportRequest.Exchange, size: String) async throws {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\nhello\r\n0\r\n\r\n"
        #expect(try await self.events(after: answer, to: exchange) == [.opened(200), Self.lost])
    }

    /// libwebsockets reads neither, and drops the connection.
    ///
    /// What came before is delivered.
    @Test(
        arguments: Self.exchanges,
        [
            ("5;name=value\r\nhello\r\n0\r\n\r\n", nil), ("5\r\nhello\r\n0;name\r\n\r\n", "hello"),
            ("5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n", "hello"), ("5\r\nhelloXX0\r\n\r\n", "hello"),
        ] as [(String, String?)])
    func chunkExtensionsAndTrailersEndTheConnection(
        _ exchange: TransportRequest.Exchange, body: (String, String?)
    ) async throws {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(body.0)"
        #expect(
            try await self.events(after: answer, to: exchange)
                == [.opened(200)] + (body.1.map { [.body($0)] } ?? []) + [Self.lost])
    }

    /// The chunks of one read are delivered together, also when an error follows in the same read.
    @Test(arguments: Self.exchanges, ["xyz\r\n", "ffffffff\r\nhello\r\n", "2\r\nok!!"])
    func whatAReadHasBeforeItsErrorIsDelivered(_ exchange: TransportRequest.Exchange, error: String) async throws {
        let (connection, peer) = try await RawServer().connect(exchange)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(await connection.event() == .opened(200))
        peer.write("5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n" + error)
        let text = "hello world" + (error.hasPrefix("2") ? "ok" : "")
        #expect(await connection.eventsToEnd() == [.body(text), Self.lost])
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: Self.exchanges, ["Chunked", "gzip, chunked", "chunked, chunked", "identity", "x"])
    func aTransferCodingThatIsNotReadIsRefused(_ exchange: TransportRequest.Exchange, value: String) async throws {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(value)\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        #expect(try await self.events(after: answer, to: exchange) == [.failed(.upgrade, .unsupportedTransferCoding)])
    }

    @Test(arguments: Self.exchanges, [204, 304])
    func whatHasNoContentIsNotWaitedFor(_ exchange: TransportRequest.Exchange, statusCode: Int) async throws {
        for fields in ["", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"] {
            #expect(
                try await self.events(after: "HTTP/1.1 \(statusCode) Nothing\r\n\(fields)\r\n", to: exchange)
                    == [.opened(statusCode), .ended(.complete)])
        }
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func aRedirectIsAnAnswerLikeAnyOther(_ statusCode: Int) async throws {
        let elsewhere = try RawServer()
        for exchange in Self.exchanges + [.webSocket(offersCompression: false)] {
            let location = "http://127.0.0.1:\(elsewhere.port)/v1/responses"
            let answer = "HTTP/1.1 \(statusCode) Moved\r\nLocation: \(location)\r\nContent-Length: 2\r\n\r\nno"
            #expect(
                try await self.events(after: answer, to: exchange)
                    == [.opened(statusCode), .body("no"), .ended(.complete)])
        }
        #expect(!elsewhere.hasConnection)
    }

    /// libwebsockets from 4.4 on does not report such a head: it wants a name and a password for it.
    @Test(arguments: ["Bearer", "Bearer realm=\"r\"", "Basic realm=\"r\"", "Digest realm=\"r\", nonce=\"n\""])
    func unauthorizedResponseWithAChallengeIsReadLikeAnyOther(_ challenge: String) async throws {
        for exchange in Self.exchanges + [.webSocket(offersCompression: false)] {
            let answer = "HTTP/1.1 401 No\r\nWWW-Authenticate: \(challenge)\r\nContent-Length: 2\r\n\r\nno"
            #expect(
                try await self.events(after: answer, to: exchange)
                    == [.opened(401), .body("no"), .ended(.complete)])
        }
    }

    /// A body that ends with the connection is whole, and one of a known length is not (RFC 9112 section 8).
    ///
    /// Of chunks libwebsockets does not tell which it was. An event stream is judged by its own last event.
    @Test(arguments: Self.exchanges)
    func aBodyThatEndsTooEarlyIsNotWhole(_ exchange: TransportRequest.Exchange) async throws {
        for (fields, body, end) in [
            ("", "abc", Reported.ended(.complete)), ("Content-Length: 9\r\n", "abc", Self.lost),
            ("Transfer-Encoding: chunked\r\n", "9\r\nabc", .ended(.complete)),
            ("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n", .ended(.complete)),
        ] {
            let (connection, peer) = try await RawServer().connect(exchange)
            _ = await peer.read(until: "\r\n\r\n")
            peer.write("HTTP/1.1 200 OK\r\n\(fields)\r\n\(body)")
            peer.endWriting()
            #expect(await connection.eventsToEnd() == [.opened(200), .body("abc"), end], "\(fields)\(body)")
        }
    }

    // MARK: Resets

    @Test(
        arguments: Self.exchanges,
        ["", "HTTP/1.1 200 O", "HTTP/1.1 200 OK\r\nContent-Len", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n"])
    func aResetBeforeTheEndOfTheHeadIsALoss(_ exchange: TransportRequest.Exchange, answer: String) async throws {
        #expect(try await self.events(afterReset: answer, to: exchange) == [.failed(.upgrade, .connectionLost)])
    }

    @Test(arguments: Self.exchanges, ["", "abc"])
    func aResetInTheBodyIsALoss(_ exchange: TransportRequest.Exchange, body: String) async throws {
        let delivered: [Reported] = body.isEmpty ? [] : [.body(body)]
        let counted = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"
        #expect(
            try await self.events(afterReset: counted + body, to: exchange) == [.opened(200)] + delivered + [Self.lost])
    }

    private func events(afterReset answer: String, to exchange: TransportRequest.Exchange) async throws -> [Reported] {
        let (connection, peer) = try await RawServer().connect(exchange)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(answer)
        // What the kernel holds when the reset comes is lost.
        try await RawServer.fence()
        peer.reset()
        return await connection.eventsToEnd()
    }
}
