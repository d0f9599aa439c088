import LibwebsocketsTransport
import StreamTransport
import Testing

/// Response bodies whose framing is unusual, wrong, or cut (RFC 9112 sections 6 and 7).
@Suite(.timeLimit(.minutes(10))) struct TransportBadBodyTests {
    static let exchanges: [TransportRequest.Exchange] = [.get, .post(body: [1, 2, 3])]

    private static let lost = Reported.failed(.stream, .connectionLost)
    private static let malformed = Reported.failed(.stream, .malformedBody)

    /// Sends an answer and leaves the connection open, so that only the answer itself can end it.
    private func events(after answer: String, to exchange: TransportRequest.Exchange) async throws -> [Reported] {
        let (connection, peer) = try await RawServer().connect(exchange)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(answer)
        let events = await connection.eventsToEnd()
        withExtendedLifetime(peer) {}
        return events
    }

    /// `Transfer-Encoding` takes precedence (RFC 9112 section 6.3), whichever comes first.
    ///
    /// Both together may be an attempt to hide a second response, which would not be read: a connection of ours carries
    /// one.
    @Test(arguments: Self.exchanges)
    func transferEncodingOverridesContentLength(_ exchange: TransportRequest.Exchange) async throws {
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
            "8000000000000000", "ffffffffffffffff", "100000000000000005", "xyz", "-5", "+5", "0x5", "", "5 5", "5\n",
        ])
    func aChunkSizeThatMakesNoSenseIsMalformed(_ exchange: TransportRequest.Exchange, size: String) async throws {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\nhello\r\n0\r\n\r\n"
        #expect(try await self.events(after: answer, to: exchange) == [.opened(200), Self.malformed])
    }

    /// A chunk may be larger than any memory: it is delivered as it comes, and is cut when the connection ends in it.
    @Test(
        arguments: Self.exchanges,
        ["7fffffffffffffff", "80000000", "ffffffff", "FFFFFFFF", "100000000", "100000005", "000000000100000005"])
    func truncatedChunkIsAnEarlyEnd(_ exchange: TransportRequest.Exchange, size: String) async throws {
        let (connection, peer) = try await RawServer().connect(exchange)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\nhello\r\n0\r\n\r\n")
        peer.endWriting()
        #expect(await connection.eventsToEnd() == [.opened(200), .body("hello\r\n0\r\n\r\n"), Self.lost])
    }

    /// RFC 9112 sections 7.1.1 and 7.1.2: neither is asked for, and both are skipped.
    @Test(
        arguments: Self.exchanges,
        [
            "5;name=value\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0;name\r\n\r\n",
            "5 ; name = \"a;\\\"b\"\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n",
            "2\r\nhe\r\n3\r\nllo\r\n000\r\nX-Trailer: 1\r\nY: 2\r\n\r\n",
        ])
    func chunkExtensionsAndTrailersAreSkipped(_ exchange: TransportRequest.Exchange, body: String) async throws {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(body)"
        #expect(
            try await self.events(after: answer, to: exchange) == [.opened(200), .body("hello"), .ended(.complete)])
    }

    @Test(arguments: Self.exchanges)
    func chunkLongerThanItsSizeIsMalformed(_ exchange: TransportRequest.Exchange) async throws {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n"
        #expect(
            try await self.events(after: answer, to: exchange) == [.opened(200), .body("hello"), Self.malformed])
    }

    /// The chunks of one read are delivered together, also when an error follows in the same read.
    @Test(arguments: Self.exchanges, ["xyz\r\n", "10000000000000000\r\nhello\r\n", "2\r\nok!!"])
    func bytesBeforeAnErrorInOneReadAreDelivered(_ exchange: TransportRequest.Exchange, error: String) async throws {
        let (connection, peer) = try await RawServer().connect(exchange)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(await connection.event() == .opened(200))
        peer.write("5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n" + error)
        let text = "hello world" + (error.hasPrefix("2") ? "ok" : "")
        #expect(await connection.eventsToEnd() == [.body(text), Self.malformed])
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: Self.exchanges, ["gzip, chunked", "chunked, chunked", "chunked, gzip", "identity", "x", ""])
    func aTransferCodingThatIsNotReadIsRefused(_ exchange: TransportRequest.Exchange, value: String) async throws {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(value)\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        #expect(try await self.events(after: answer, to: exchange) == [.failed(.upgrade, .unsupportedTransferCoding)])
    }

    @Test(arguments: Self.exchanges, ["Chunked", "CHUNKED", " chunked\t"])
    func aTransferCodingMayBeWrittenInAnyCase(_ exchange: TransportRequest.Exchange, value: String) async throws {
        let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(value)\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        #expect(
            try await self.events(after: answer, to: exchange) == [.opened(200), .body("hello"), .ended(.complete)])
    }

    /// RFC 9110 section 15.2: any number of them may come before the response.
    @Test(arguments: Self.exchanges + [.webSocket(offersCompression: false)])
    func interimResponsesAreSkipped(_ exchange: TransportRequest.Exchange) async throws {
        let answer =
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nX: y\r\n\r\n"
            + "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
            + "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno"
        #expect(try await self.events(after: answer, to: exchange) == [.opened(403), .body("no"), .ended(.complete)])
    }

    @Test(arguments: Self.exchanges)
    func aSwitchOfProtocolsThatWasNotAskedForIsRefused(_ exchange: TransportRequest.Exchange) async throws {
        let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        #expect(
            try await self.events(after: answer, to: exchange)
                == [.failed(.upgrade, .protocolSwitched)])
    }

    @Test(arguments: Self.exchanges, [204, 304])
    func responseWithoutContentEndsAtOnce(_ exchange: TransportRequest.Exchange, statusCode: Int) async throws {
        for fields in ["", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"] {
            for rest in ["", "hello", "5\r\nhello\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n"] {
                let answer = "HTTP/1.1 \(statusCode) Nothing\r\n\(fields)\r\n\(rest)"
                #expect(
                    try await self.events(after: answer, to: exchange) == [.opened(statusCode), .ended(.complete)])
            }
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

    @Test(arguments: ["Bearer", "Bearer realm=\"r\"", "Basic realm=\"r\"", "Digest realm=\"r\", nonce=\"n\""])
    func unauthorizedResponseWithAChallengeIsReadLikeAnyOther(_ challenge: String) async throws {
        for exchange in Self.exchanges + [.webSocket(offersCompression: false)] {
            let answer = "HTTP/1.1 401 No\r\nWWW-Authenticate: \(challenge)\r\nContent-Length: 2\r\n\r\nno"
            #expect(
                try await self.events(after: answer, to: exchange)
                    == [.opened(401), .body("no"), .ended(.complete)])
        }
    }

    /// A body that ends with the connection is whole, and one of a known length or in chunks is not (RFC 9112
    /// section 8).
    @Test(arguments: Self.exchanges)
    func aBodyThatEndsTooEarlyIsNotWhole(_ exchange: TransportRequest.Exchange) async throws {
        for (fields, body, end) in [
            ("", "abc", Reported.ended(.complete)), ("Content-Length: 9\r\n", "abc", Self.lost),
            ("Transfer-Encoding: chunked\r\n", "9\r\nabc", Self.lost),
            ("Transfer-Encoding: chunked\r\n", "3\r\nabc", Self.lost),
            ("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n", Self.lost),
            ("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n", Self.lost),
            ("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\nX: y\r\n", Self.lost),
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
