import LibwebsocketsTransport
import StreamTransport
import Testing

/// The limits of queued data, in both directions, and of a head's size: at, below and above each limit.
@Suite(.timeLimit(.minutes(10))) struct TransportLimitTests {
    // MARK: Outbound

    private static let outboundLimit = 16 << 20

    private static func webSocket() async throws -> (connection: any TransportConnection, peer: RawPeer) {
        let (connection, peer) = try await RawServer(receiveBufferByteCount: 4_096)
            .connect(.webSocket(offersCompression: false)) { $0.limits.outboundByteCount = Self.outboundLimit }
        await peer.acceptWebSocket()
        #expect(await connection.event() == .opened(101))
        return (connection, peer)
    }

    private static func send(_ byteCount: Int, on connection: any TransportConnection) {
        connection.send([UInt8](repeating: UInt8(ascii: "x"), count: byteCount), as: .text)
    }

    /// Reads messages of `byteCount` bytes, in fragments of 64 KiB, with the fragments' headers.
    private static func read(_ byteCount: Int, from peer: RawPeer) async {
        let fragmentByteCount = 64 << 10
        var left = byteCount
        while left > 0 {
            let count = min(left, fragmentByteCount)
            let headerByteCount = 2 + (count > 65_535 ? 8 : count > 125 ? 2 : 0) + 4
            #expect(await peer.read(count: headerByteCount + count).count == headerByteCount + count)
            left -= count
        }
    }

    private static let tooMuch = Reported.failed(.send, .invalidRequest("more waits to be sent than may wait"))

    @Test(arguments: [0, 1])
    func aMessageWithinTheLimitIsSentAndTheNextOneToo(spare: Int) async throws {
        let (connection, peer) = try await Self.webSocket()
        for _ in 0..<2 {
            Self.send(Self.outboundLimit - spare, on: connection)
            await Self.read(Self.outboundLimit - spare, from: peer)
            // The last bytes may be here before the service thread has noted that they are on their way.
            try await RawServer.fence()
        }
        peer.writeText("fine")
        #expect(await connection.event() == .text("fine"))
        connection.cancel()
    }

    @Test func aMessageAboveTheLimitFailsTheConnection() async throws {
        let (connection, peer) = try await Self.webSocket()
        Self.send(Self.outboundLimit + 1, on: connection)
        #expect(await connection.event() == Self.tooMuch)
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: 8, payload: [0x03, 0xE9]))
    }

    @Test(arguments: [(-1, false), (0, false), (1, true)])
    func unreadMessagesCountTogetherTowardsTheLimit(excess: Int, fails: Bool) async throws {
        let (connection, peer) = try await Self.webSocket()
        Self.send(Self.outboundLimit / 2, on: connection)
        Self.send(Self.outboundLimit / 2 + excess, on: connection)
        if fails {
            #expect(await connection.event() == Self.tooMuch)
        } else {
            peer.writeText("fine")
            #expect(await connection.event() == .text("fine"))
            connection.cancel()
        }
    }

    // MARK: Inbound

    /// The number of bytes by which a read may exceed the high watermark.
    private static let readByteCount = 64 << 10

    /// Returns a body of `byteCount` bytes for a consumer that takes only the head.
    private static func body(
        of byteCount: Int, highWatermark: Int
    ) async throws -> (connection: any TransportConnection, peer: RawPeer) {
        let (connection, peer) = try await RawServer().connect(.get) {
            $0.limits.highWatermark = highWatermark
            $0.limits.lowWatermark = highWatermark / 4
        }
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(byteCount)\r\n\r\n")
        #expect(await connection.event() == .opened(200))
        return (connection, peer)
    }

    /// Returns the number of received bytes once the service thread stops reading, with `least` bytes or more: the peer
    /// writes on a thread of its own, which may have to wait for a processor.
    private static func receivedAtRest(_ connection: any TransportConnection, least: Int = 0) async throws -> Int {
        var before = -1
        while before < least || connection.statistics.receivedByteCount > before {
            before = connection.statistics.receivedByteCount
            for _ in 0..<3 { try await RawServer.fence() }
        }
        return before
    }

    @Test(arguments: [-1_000, 0, 100_000, 3_000_000])
    func readingStopsAtTheHighWatermarkAndGoesOn(excess: Int) async throws {
        let highWatermark = 1 << 20
        let byteCount = highWatermark + excess
        let (connection, peer) = try await Self.body(of: byteCount, highWatermark: highWatermark)
        let writing = peer.writeInBackground(byteCount: byteCount)
        // Fewer bytes never come to rest. Each of the buffers has the price of a record.
        let least = excess <= 0 ? byteCount : highWatermark - 20 * 64
        let received = try await Self.receivedAtRest(connection, least: least)
        // One read may pass the watermark.
        #expect(received < highWatermark + Self.readByteCount)
        if excess <= 0 { #expect(received == byteCount) }

        let body = String(repeating: "x", count: byteCount)
        #expect(await connection.eventsToEnd() == [.body(body), .ended(.complete)])
        await writing.value
    }

    @Test func readingGoesOnAtTheLowWatermarkAndNotBefore() async throws {
        let highWatermark = 1 << 20
        let byteCount = 4 * highWatermark
        let (connection, peer) = try await Self.body(of: byteCount, highWatermark: highWatermark)
        let writing = peer.writeInBackground(byteCount: byteCount)
        let received = try await Self.receivedAtRest(connection, least: highWatermark - 20 * 64)
        var taken = 0
        while received - taken > highWatermark / 4 + Self.readByteCount {
            guard case .body(let text)? = await connection.event() else { break }
            taken += text.utf8.count
            let after = try await Self.receivedAtRest(connection)
            if received - taken > highWatermark / 4 + Self.readByteCount { #expect(after == received) }
        }
        while received - taken > highWatermark / 4 - Self.readByteCount,
            case .body(let text)? = await connection.event()
        {
            taken += text.utf8.count
        }
        let after = try await Self.receivedAtRest(connection, least: received + 1)
        #expect(after > received)
        #expect(after - taken < highWatermark + Self.readByteCount)
        connection.cancel()
        peer.close()
        await writing.value
    }

    // MARK: The header section

    /// The answer to a GET whose header section has `headByteCount` bytes, the empty line at its end included.
    private static func answer(headByteCount: Int) async throws -> [Reported] {
        let (connection, peer) = try await RawServer().connect(.get)
        _ = await peer.read(until: "\r\n\r\n")
        let start = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nServer: "
        let padding = String(repeating: "s", count: headByteCount - start.utf8.count - 4)
        peer.write(start + padding + "\r\n\r\nok")
        return await connection.eventsToEnd()
    }

    @Test(arguments: [-1_024, -1, 0]) func aHeadWithinTheLimitIsRead(excess: Int) async throws {
        #expect(
            try await Self.answer(headByteCount: 65_536 + excess) == [.opened(200), .body("ok"), .ended(.complete)])
    }

    @Test(arguments: [1, 2, 40_000]) func aHeadAboveTheLimitIsRefused(excess: Int) async throws {
        #expect(
            try await Self.answer(headByteCount: 65_536 + excess)
                == [.failed(.upgrade, .headerSectionTooLarge(limit: 65_536))])
    }
}
