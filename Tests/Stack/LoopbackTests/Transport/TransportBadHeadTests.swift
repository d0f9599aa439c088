import Foundation
import LibwebsocketsTransport
import StreamTransport
import Testing

/// Header sections that make no sense, are too large, or come too slowly: each ends in an error of its own.
@Suite(.timeLimit(.minutes(10))) struct TransportBadHeadTests {
    /// The report about a server that does not speak HTTP/1.
    private static let notHTTP = [Reported.failed(.upgrade, .notHTTP)]

    static let exchanges: [TransportRequest.Exchange] = [
        .get, .post(body: [1, 2, 3]), .webSocket(offersCompression: true),
    ]

    /// Sends an answer and ends; what the client makes of it.
    private func events(
        after answer: String, to exchange: TransportRequest.Exchange,
        _ change: (inout TransportRequest) -> Void = { _ in }
    ) async throws -> [Reported] {
        let (connection, peer) = try await RawServer().connect(exchange, change)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write(answer)
        peer.endWriting()
        return await connection.eventsToEnd()
    }

    // MARK: Not HTTP

    @Test(
        arguments: Self.exchanges,
        [
            "SSH-2.0-OpenSSH_9.2\r\n\r\n", "\u{1}\u{2}\u{3}garbage\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1 20\r\n\r\n",
            "HTTP/1.1 1000 Many\r\n\r\n", "HTTP/1.1 -200 OK\r\n\r\n", "\r\n\r\n\r\n\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
            "<!doctype html>",
        ])
    func invalidStatusLineFailsAsNotHTTP(_ exchange: TransportRequest.Exchange, answer: String) async throws {
        #expect(try await self.events(after: answer, to: exchange) == Self.notHTTP)
    }

    @Test(
        arguments: Self.exchanges,
        [
            "-3", "+3", "abc", "3abc", "3, 5", "1e3", "0x3", "99999999999999999999999", "3;5",
        ])
    func aContentLengthThatIsNoNumberIsRefused(_ exchange: TransportRequest.Exchange, value: String) async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\nabc"
        #expect(try await self.events(after: answer, to: exchange) == Self.notHTTP)
    }

    @Test(arguments: ["3", "3, 3", "003"])
    func equalRepeatedContentLengthsAreAcceptedAndDifferentOnesRefused(value: String) async throws {
        for answer in [
            "HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: \(value)\r\n\r\nabc",
        ] {
            #expect(
                try await self.events(after: answer, to: .get) == [.opened(200), .body("abc"), .ended(.complete)])
        }
        let different = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"
        #expect(try await self.events(after: different, to: .get) == Self.notHTTP)
    }

    // MARK: Too much

    private static let statusLine = Array("HTTP/1.1 200 OK\r\n".utf8)
    private static let tenMegabytes = [UInt8](repeating: UInt8(ascii: "a"), count: 10_000_000)

    static let largeHeads: [[UInt8]] = [
        statusLine + Array("X-Large: ".utf8) + tenMegabytes, statusLine + tenMegabytes + Array(": x".utf8),
        Array("HTTP/1.1 200 ".utf8) + tenMegabytes,
        statusLine + (0..<100_000).flatMap { Array("X-\($0): a\r\n".utf8) },
        statusLine + (0..<100_000).flatMap { Array("X-\($0):\r\n".utf8) },
        statusLine + [[UInt8]](repeating: Array("Server: a\r\n".utf8), count: 100_000).flatMap(\.self),
        statusLine + [[UInt8]](repeating: Array("Server:\r\n".utf8), count: 100_000).flatMap(\.self),
    ]

    @Test(arguments: Self.exchanges, largeHeads.indices)
    func aHeadOfMegabytesOrAHundredThousandFieldsIsTooLarge(
        _ exchange: TransportRequest.Exchange, index: Int
    ) async throws {
        let (connection, peer) = try await RawServer().connect(exchange)
        _ = await peer.read(until: "\r\n\r\n")
        // The client does not read all of it.
        let writing = Task.detached { peer.write(Self.largeHeads[index] + Array("\r\n\r\n".utf8)) }
        #expect(
            await connection.eventsToEnd() == [.failed(.upgrade, .headerSectionTooLarge(limit: 65_536))])
        await writing.value
    }

    // MARK: Too slow

    @Test func aHeadThatDripsEndsWithTheTimeToConnect() async throws {
        let start = ContinuousClock.now
        let (connection, peer) = try await RawServer().connect(.webSocket(offersCompression: false)) {
            $0.timeouts.connect = .seconds(3)
        }
        let head = Array(RawPeer.acceptance(of: await peer.read(until: "\r\n\r\n")).utf8)
        var written = 0
        // Each byte is a sign of life, and none of them is an answer. The consumer's own wait sets the pace. The last
        // byte is sent well before the end, because an unread byte would turn the close into a reset (RFC 2525 section
        // 2.17).
        while written < head.count - 1, .now - start < .seconds(2),
            await connection.wait(for: .milliseconds(10)) == .deadlinePassed
        {
            peer.write([head[written]])
            written += 1
        }
        #expect(await connection.eventsToEnd() == [.failed(.upgrade, .timedOut)])
        #expect(.now - start >= .seconds(3))
        #expect(written > 0)
        #expect(await peer.readToEnd().end == .end)
    }

    @Test(arguments: Self.exchanges)
    func aHeadMayComeByteByByte(_ exchange: TransportRequest.Exchange) async throws {
        let (connection, peer) = try await RawServer().connect(exchange)
        let request = await peer.read(until: "\r\n\r\n")
        let isUpgrade = request.contains("Upgrade: websocket")
        let answer =
            isUpgrade
            ? Array(RawPeer.acceptance(of: request).utf8) + RawPeer.frame(1, [0x6F, 0x6B])
                + RawPeer.frame(8, [3, 0xE8])
            : Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n".utf8)
        for byte in answer { peer.write([byte]) }
        #expect(
            await connection.eventsToEnd()
                == (isUpgrade
                    ? [.opened(101), .text("ok"), .ended(.closed(code: 1000, reason: ""))]
                    : [.opened(200), .body("ok"), .ended(.complete)]))
    }

    // MARK: Fields

    /// A line that begins with a space belongs to the line before (RFC 9112 section 5.2).
    @Test func aFoldedLineBelongsToTheLineBefore() async throws {
        let body = "HTTP/1.1 200 OK\r\nX-Folded: a\r\n b\r\nContent-Length: 2\r\n\r\nokay"
        #expect(try await self.events(after: body, to: .get) == [.opened(200), .body("ok"), .ended(.complete)])
        for (line, folded) in [
            ("Upgrade: websocket", "Upgrade:\r\n websocket"), ("\r\n\r\n", "\r\nX: a\r\n b\r\n\r\n"),
        ] {
            let (connection, peer) = try await RawServer().connect(.webSocket(offersCompression: false))
            let head = RawPeer.acceptance(of: await peer.read(until: "\r\n\r\n"))
            peer.write(Array(head.replacingOccurrences(of: line, with: folded).utf8) + RawPeer.frame(8, [3, 0xE8]))
            #expect(await connection.eventsToEnd() == [.opened(101), .ended(.closed(code: 1000, reason: ""))])
        }
    }

    @Test(arguments: [
        "Upgrade:", "Upgrade: websocket, websocket", "Upgrade: h2c",
        "Upgrade: websocket\r\nUpgrade: websocket",
    ])
    func anUpgradeIsNamedOnce(lines: String) async throws {
        #expect(
            try await self.upgrade { $0.replacingOccurrences(of: "Upgrade: websocket", with: lines) }
                == [.failed(.upgrade, .openingHandshakeInvalid(.upgrade))])
    }

    @Test(arguments: ["Connection: keep-alive", "Connection: close", "X-Connection: Upgrade"])
    func aConnectionMustBeUpgraded(line: String) async throws {
        #expect(
            try await self.upgrade { $0.replacingOccurrences(of: "Connection: Upgrade", with: line) }
                == [.failed(.upgrade, .openingHandshakeInvalid(.connection))])
    }

    @Test func severalAcceptKeysAreRefused() async throws {
        for other in [nil, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="] {
            let events = try await self.upgrade { head in
                let line = head.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Accept: ") } ?? ""
                let second = other.map { "Sec-WebSocket-Accept: \($0)" } ?? String(line)
                return head.replacingOccurrences(of: line, with: "\(line)\r\n\(second)")
            }
            #expect(events == [.failed(.upgrade, .openingHandshakeInvalid(.accept))])
        }
    }

    @Test(arguments: [
        ("Sec-WebSocket-Extensions: permessage-bzip2", TransportFailure.OpeningHandshakeFault.extensions),
        ("Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Extensions: permessage-deflate", .extensions),
        ("Sec-WebSocket-Extensions: ;", .extensions), ("Sec-WebSocket-Protocol: chat", .subprotocol),
        ("Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Protocol: chat", .subprotocol),
        ("Content-Length: 5", .content), ("Content-Length: 00", .content), ("Content-Length:", .content),
        ("Content-Length: 0\r\nContent-Length: 5", .content), ("Content-Length: 0, 5", .content),
        ("Transfer-Encoding: chunked", .content), ("Content-Length: 0\r\nTransfer-Encoding: chunked", .content),
    ])
    func unofferedHandshakeFieldsAreRefused(line: String, fault: TransportFailure.OpeningHandshakeFault) async throws {
        #expect(
            try await self.upgrade { $0.replacingOccurrences(of: "\r\n\r\n", with: "\r\n\(line)\r\n\r\n") }
                == [.failed(.upgrade, .openingHandshakeInvalid(fault))])
    }

    /// Three server frameworks send it, and browsers take it.
    @Test(arguments: ["Content-Length: 0", "content-length:0", "Content-Length: 0\r\nContent-Length: 0"])
    func announcedLengthOfNoContentOpensTheWebSocket(lines: String) async throws {
        let events = try await self.upgrade {
            $0.replacingOccurrences(of: "\r\n\r\n", with: "\r\n\(lines)\r\n\r\n")
        }
        #expect(events.prefix(2) == [.opened(101), .text("a")])
    }

    /// Returns the outcome of an upgrade whose acceptance is changed.
    private func upgrade(_ change: @Sendable (String) -> String) async throws -> [Reported] {
        let (connection, peer) = try await RawServer().connect(.webSocket(offersCompression: true))
        let request = await peer.read(until: "\r\n\r\n")
        peer.write(Array(change(RawPeer.acceptance(of: request)).utf8) + RawPeer.frame(1, [0x61]))
        peer.close()
        return await connection.eventsToEnd()
    }
}
