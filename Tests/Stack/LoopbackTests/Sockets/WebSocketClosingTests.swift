import Glibc
import LibwebsocketsTransport
import StreamTransport
import Testing

/// The ends of a WebSocket: codes, answers before the end, peers that never close, and resets at any moment.
@Suite(.timeLimit(.minutes(10))) struct WebSocketClosingTests {
    private static let close: UInt8 = 8
    private static let ping: UInt8 = 9

    private static func payload(_ code: UInt16, _ reason: String = "") -> [UInt8] {
        [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8)
    }

    // MARK: Codes

    @Test(
        arguments: [
            1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999,
        ] as [UInt16])
    func closeCodeIsReportedAndEchoed(code: UInt16) async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        peer.writeFrame(opcode: Self.close, Self.payload(code, "why 😀"))
        #expect(await connection.eventsToEnd() == [.ended(.closed(code: code, reason: "why 😀"))])
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: Self.close, payload: Self.payload(code)))
    }

    @Test func aCloseWithoutACodeIsAnsweredWithoutOne() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        peer.writeFrame(opcode: Self.close)
        #expect(await connection.eventsToEnd() == [.ended(.closed(code: 1005, reason: ""))])
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: Self.close, payload: []))
    }

    @Test(arguments: [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535] as [UInt16])
    func aCodeThatMustNotBeSentIsAViolation(code: UInt16) async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        peer.writeFrame(opcode: Self.close, Self.payload(code))
        #expect(await connection.eventsToEnd() == [.failed(.stream, .protocolViolation(closeCode: 1002))])
        #expect(await peer.readCloseCode() == 1002)
    }

    // MARK: What is said before the end

    @Test func messagesBeforeAViolationAreAnsweredFirst() async throws {
        let echo = try await WebSocketEcho(to: RawServer())
        echo.peer.write(
            RawPeer.frame(1, Array("one".utf8)) + RawPeer.frame(2, Array("two".utf8)) + RawPeer.frame(1, reserved: 2)
                + RawPeer.frame(Self.ping))
        #expect(await echo.peer.readFrame() == RawPeer.Frame(opcode: 1, payload: Array("one".utf8)))
        #expect(await echo.peer.readFrame() == RawPeer.Frame(opcode: 2, payload: Array("two".utf8)))
        // What follows a violation is not processed: there is no pong.
        #expect(await echo.peer.readFrame() == RawPeer.Frame(opcode: Self.close, payload: Self.payload(1002)))
        #expect(await echo.peer.readToEnd().bytes.isEmpty)
        #expect(
            await echo.reported.value == [
                .opened(101), .text("one"), .text("two"), .failed(.stream, .protocolViolation(closeCode: 1002)),
            ])
    }

    @Test func violationIsAnsweredInTimeWithoutAReader() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket { $0.close = .milliseconds(100) }
        peer.write(RawPeer.frame(1, Array("one".utf8)) + RawPeer.frame(3))
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: Self.close, payload: Self.payload(1002)))
        #expect(await peer.readToEnd().bytes.isEmpty)
        #expect(
            await connection.eventsToEnd() == [
                .text("one"), .failed(.stream, .protocolViolation(closeCode: 1002)),
            ])
    }

    @Test func aCloseAfterAViolationHasTheViolationsCode() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        peer.write(RawPeer.frame(1, Array("one".utf8)) + RawPeer.frame(3))
        #expect(await connection.event() == .text("one"))
        try await RawServer.fence()
        connection.close()
        #expect(await peer.readCloseCode() == 1002)
    }

    @Test func messagesSentBeforeACloseAreWrittenFirst() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket { $0.close = .seconds(60) }
        connection.send(Array("last words".utf8), as: .text)
        connection.close()
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: 1, payload: Array("last words".utf8)))
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: Self.close, payload: Self.payload(1000)))
        peer.writeFrame(opcode: Self.close, Self.payload(1000))
        #expect(await connection.eventsToEnd() == [.ended(.closed(code: 1000, reason: ""))])
    }

    // MARK: Pings

    @Test func aFloodOfPingsIsAnsweredWithTheNewest() async throws {
        let server = try RawServer(receiveBufferByteCount: 4096)
        let (connection, peer) = try await server.connectWebSocket()
        // The client can write no more, and is pinged nevertheless.
        connection.send([UInt8](repeating: 0x61, count: 12_000_000), as: .binary)
        try await RawServer.fill(connection)
        let count = 5_000
        for number in 0..<count {
            peer.writeFrame(opcode: Self.ping, .counting(120) + [UInt8(number >> 8), UInt8(number & 0xFF)])
        }
        peer.writeText("the end")
        #expect(await connection.event() == .text("the end"))
        var pongs: [[UInt8]] = []
        var byteCount = 0
        while let frame = await peer.readFrame() {
            if frame.opcode == 10 { pongs.append(frame.payload) } else { byteCount += frame.payload.count }
            if pongs.last?.suffix(2) == [UInt8((count - 1) >> 8), UInt8((count - 1) & 0xFF)] { break }
        }
        // Those that had room, and the newest (RFC 6455 section 5.5.3); not five thousand.
        #expect(pongs.count < 1_000)
        #expect(pongs.last?.count == 122)
        #expect(byteCount < 12_000_000)
        connection.cancel()
    }

    // MARK: Peers that never close

    @Test func aPeerThatAnswersTheCloseAndStaysIsLeft() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket { $0.close = .milliseconds(1_500) }
        connection.close()
        #expect(await peer.readCloseCode() == 1000)
        peer.writeFrame(opcode: Self.close, Self.payload(1000))
        #expect(await connection.eventsToEnd() == [.ended(.closed(code: 1000, reason: ""))])
        #expect(await peer.readToEnd().end == .end)
    }

    @Test func aPeerThatClosesAndStaysIsLeft() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket { $0.close = .milliseconds(100) }
        peer.writeFrame(opcode: Self.close, Self.payload(1001))
        #expect(await connection.eventsToEnd() == [.ended(.closed(code: 1001, reason: ""))])
        #expect(await peer.readCloseCode() == 1001)
        #expect(await peer.readToEnd().end == .end)
    }

    @Test func aPeerThatIgnoresTheCloseIsLeft() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket { $0.close = .milliseconds(1_500) }
        connection.close()
        // The peer continues despite the close.
        for number in 0..<5 { peer.writeText("\(number)") }
        let events = await connection.eventsToEnd()
        #expect(events == (0..<5).map { .text("\($0)") } + [.ended(.closed(code: 1006, reason: ""))])
        #expect(await peer.readCloseCode() == 1000)
        #expect(await peer.readToEnd().end == .end)
    }

    /// Reading is paused at the close: the peer's close frame lies behind messages in the socket.
    @Test func closeFrameBehindUnreadMessagesIsRead() async throws {
        let (connection, peer) = try await RawServer().connect(.webSocket(offersCompression: false)) {
            $0.limits.highWatermark = 10
            $0.limits.lowWatermark = 5
            $0.timeouts.close = .seconds(60)
        }
        await peer.acceptWebSocket()
        #expect(await connection.event() == .opened(101))
        peer.writeText("0123456789")
        _ = await connection.wait(for: nil)
        connection.close()
        #expect(await peer.readCloseCode() == 1000)
        peer.writeText("dropped")
        peer.writeFrame(opcode: Self.close, Self.payload(1000))
        peer.endWriting()
        #expect(await peer.readToEnd().end == .end)
        let events = await connection.eventsToEnd()
        #expect(events == [.text("0123456789"), .ended(.closed(code: 1000, reason: ""))])
    }

    @Test func peerThatDoesNotReadIsLeftAfterAClose() async throws {
        let server = try RawServer(receiveBufferByteCount: 4096)
        let (connection, peer) = try await server.connectWebSocket { $0.close = .milliseconds(100) }
        connection.send([UInt8](repeating: 0x61, count: 12_000_000), as: .binary)
        try await RawServer.fill(connection)
        connection.close()
        #expect(await connection.eventsToEnd() == [.ended(.closed(code: 1006, reason: ""))])
        withExtendedLifetime(peer) {}
    }

    // MARK: Resets

    /// The progress of a server before it resets the connection.
    enum Moment: CaseIterable {
        case requestRead, headBegun, headComplete
        case frameHeaderBegun, frameBegun, betweenFragments, afterMessage, afterItsClose, afterOurClose

        /// The server's bytes before the reset, beyond an accepted handshake.
        var bytes: [UInt8]? {
            switch self {
            case .requestRead, .headBegun: nil
            case .headComplete, .afterOurClose: []
            case .frameHeaderBegun: [0x81]
            case .frameBegun: [0x81, 0x05, 0x61]
            case .betweenFragments: [0x01, 0x01, 0x61]
            case .afterMessage: [0x81, 0x01, 0x61]
            case .afterItsClose: [0x88, 0x02, 0x03, 0xE8]
            }
        }
    }

    @Test(arguments: Moment.allCases)
    func aResetEndsTheConnectionAtAnyMoment(_ moment: Moment) async throws {
        let (connection, peer) = try await RawServer().connect(.webSocket(offersCompression: false))
        let lost = [Reported.failed(.upgrade, .connectionLost)]
        let dropped = Reported.ended(.closed(code: 1006, reason: ""))
        var expected = [Reported.opened(101), dropped]
        if let bytes = moment.bytes {
            await peer.acceptWebSocket()
            _ = await connection.wait(for: nil)
            peer.write(bytes)
            // Everything that was written is read before the reset: what the kernel holds then is lost.
            try await RawServer.fence()
        }
        switch moment {
        case .requestRead:
            _ = await peer.read(until: "\r\n\r\n")
            expected = lost
        case .headBegun:
            _ = await peer.read(until: "\r\n\r\n")
            peer.write("HTTP/1.1 101 Swi")
            try await RawServer.fence()
            expected = lost
        case .afterMessage:
            expected.insert(.text("a"), at: 1)
        case .afterItsClose:
            expected = [.opened(101), .ended(.closed(code: 1000, reason: ""))]
        case .afterOurClose:
            connection.close()
            #expect(await peer.readCloseCode() == 1000)
        case .headComplete, .frameHeaderBegun, .frameBegun, .betweenFragments:
            break
        }
        peer.reset()
        #expect(await connection.eventsToEnd() == expected)
    }

    @Test func aResetRightAfterTheConnectionIsMadeEndsIt() async throws {
        let (connection, peer) = try await RawServer().connect(.webSocket(offersCompression: false))
        peer.reset()
        // Whether the connection was seen before it was lost is a race.
        let events = await connection.eventsToEnd()
        let outcomes: [TransportFailure.Cause] = [.unreachable(code: ECONNRESET), .unreachable(code: 0)]
        #expect(
            outcomes.contains { events == [.failed(.connect, $0)] } || events == [.failed(.upgrade, .connectionLost)])
    }
}
