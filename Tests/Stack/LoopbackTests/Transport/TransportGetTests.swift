import LibwebsocketsTransport
import StreamTransport
import Testing

/// A GET whose answer streams, byte for byte.
@Suite(.timeLimit(.minutes(10))) struct TransportGetTests {
    @Test func getSendsNoBodyAndNoFieldsOfABody() async throws {
        let server = try RawServer()
        let (connection, peer) = try await server.connect(.get) {
            $0.endpoint.target = "/v1/responses/resp_1?stream=true&starting_after=7"
            $0.fields = [HTTPField("Accept", "text/event-stream"), HTTPField("Authorization", "Bearer secret")]
        }
        let head = await peer.read(until: "\r\n\r\n")
        let lines = head.split(separator: "\r\n").map { $0.lowercased() }
        #expect(head.hasPrefix("GET /v1/responses/resp_1?stream=true&starting_after=7 HTTP/1.1\r\n"))
        #expect(lines.contains("accept: text/event-stream"))
        #expect(lines.contains("authorization: bearer secret"))
        #expect(!lines.contains { $0.hasPrefix("content-length") || $0.hasPrefix("transfer-encoding") })
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        #expect(await connection.eventsToEnd() == [.opened(200), .body("ok"), .ended(.complete)])
        #expect(connection.statistics.requestSent)
        #expect(connection.statistics.sentByteCount == 0)
        let rest = await peer.readToEnd()
        #expect(rest.bytes.isEmpty)
    }

    @Test func aGetIsSentBeforeItsAnswer() async throws {
        let server = try RawServer()
        let (connection, peer) = try await server.connect(.get)
        _ = await peer.read(until: "\r\n\r\n")
        try await RawServer.fence()
        #expect(connection.statistics.requestSent)
        #expect(connection.statistics.opened == nil)
        connection.cancel()
    }

    @Test func theAnswerStreamsChunkByChunk() async throws {
        let server = try RawServer()
        let (connection, peer) = try await server.connect(.get) { $0.capturedFieldNames = ["content-type"] }
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(await connection.event() == .opened(200))
        for text in ["data: one\n\n", "data: two\n\n", ": comment\n\n"] {
            peer.write("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n")
            #expect(await connection.event() == .body(text))
        }
        peer.write("0\r\n\r\n")
        #expect(await connection.event() == .ended(.complete))
    }

    @Test func theChunksOfOneReadAreOnePiece() async throws {
        let server = try RawServer()
        let (connection, peer) = try await server.connect(.get)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(await connection.event() == .opened(200))
        let texts = (0..<100).map { "data: \($0)\n\n" }
        let last = "1\r\n!\r\n0\r\n\r\n"
        peer.write(texts.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined() + last)
        #expect(await connection.event() == .body(texts.joined() + "!"))
        #expect(await connection.event() == .ended(.complete))
    }

    /// More than a read can have, in chunks whose sizes and cuts differ.
    @Test func chunksOfManySizesStayInOrder() async throws {
        let server = try RawServer()
        let (connection, peer) = try await server.connect(.get)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(await connection.event() == .opened(200))
        let texts = (1...600).map { number in
            String(repeating: "\(number),", count: 1 + number * 7 % 300)
        }
        let chunks = texts.map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }
        peer.write(chunks.joined() + "0\r\n\r\n")
        // Not by `==` in the expectation: a failure would print it all.
        let isWhole = await connection.eventsToEnd() == [.body(texts.joined()), .ended(.complete)]
        #expect(isWhole)
    }

    @Test func theAnswerMayBeCompressed() async throws {
        // "data: one\n\n", by gzip.
        let coded: [UInt8] = [
            0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xFF, 0x4B, 0x49, 0x2C, 0x49, 0xB4, 0x52, 0xC8, 0xCF,
            0x4B, 0xE5, 0xE2, 0x02, 0x00, 0x3D, 0x9E, 0xA3, 0x9B, 0x0B, 0x00, 0x00, 0x00,
        ]
        let server = try RawServer()
        let (connection, peer) = try await server.connect(.get)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n")
        for byte in coded { peer.write([byte]) }
        #expect(await connection.eventsToEnd() == [.opened(200), .body("data: one\n\n"), .ended(.complete)])
    }

    @Test(arguments: [400, 401, 404, 429, 503])
    func aRefusalIsReadLikeAnyResponse(_ statusCode: Int) async throws {
        let server = try RawServer()
        let (connection, peer) = try await server.connect(.get) {
            $0.capturedFieldNames = ["Retry-After", "x-request-id"]
        }
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(
            "HTTP/1.1 \(statusCode) No\r\nRetry-After: 7\r\nX-Request-Id: r1\r\nContent-Length: 4\r\n\r\n{\"a\"")
        _ = await connection.wait(for: nil)
        guard case .opened(let head)? = connection.next() else {
            Issue.record("no head")
            return
        }
        #expect(head.statusCode == statusCode)
        #expect(head.fields == [HTTPField("Retry-After", "7"), HTTPField("x-request-id", "r1")])
        #expect(await connection.eventsToEnd() == [.body("{\"a\""), .ended(.complete)])
    }

    @Test func aGetHasTheRulesOfAnyRequest() async throws {
        let server = try RawServer()
        for (answer, failure) in [
            ("HTTP/1.1 100 Continue\r\n\r\n", Reported.failed(.upgrade, .connectionLost)),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
                .failed(.upgrade, .unsupportedTransferCoding)
            ),
            ("SSH-2.0-OpenSSH_9.2\r\n\r\n", .failed(.upgrade, .notHTTP)),
            ("HTTP/1.1 1999 Many\r\nContent-Length: 0\r\n\r\n", .failed(.upgrade, .notHTTP)),
            ("HTTP/1.1 99999999999999999999 Many\r\nContent-Length: 0\r\n\r\n", .failed(.upgrade, .notHTTP)),
        ] {
            let (connection, peer) = try await server.connect(.get)
            _ = await peer.read(until: "\r\n\r\n")
            peer.write(answer)
            peer.endWriting()
            #expect(await connection.eventsToEnd() == [failure])
        }
        let (refused, peer) = try await server.connect(.get)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort")
        peer.close()
        #expect(
            await refused.eventsToEnd() == [.opened(200), .body("short"), .failed(.stream, .connectionLost)])
    }

    @Test func unreadBodyIsHeldBack() async throws {
        let server = try RawServer()
        let byteCount = 12_000_000
        let (connection, peer) = try await server.connect(.get) {
            $0.limits.highWatermark = 100_000
            $0.limits.lowWatermark = 50_000
        }
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(byteCount)\r\n\r\n")
        #expect(await connection.event() == .opened(200))
        let written = peer.writeInBackground(byteCount: byteCount)
        _ = await connection.wait(for: nil)
        try await RawServer.fence()
        #expect(connection.statistics.receivedByteCount < 300_000)
        let body = await connection.eventsToEnd()
        await written.value
        #expect(body.count == 2)
        #expect(body.first == .body(String(repeating: "x", count: byteCount)))
        #expect(body.last == .ended(.complete))
    }
}
