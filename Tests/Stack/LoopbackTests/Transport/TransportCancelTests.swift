import Foundation
import LibwebsocketsTransport
import StreamTransport
import Testing

/// The end of a cancelled connection: a WebSocket sends a close frame, any other socket is closed at once.
@Suite(.timeLimit(.minutes(10))) struct TransportCancelTests {
    private static let goingAway: [UInt8] = [0x03, 0xE9]
    private static let closeFrame = RawPeer.Frame(opcode: 8, payload: goingAway)

    @Test func cancelledWebSocketSendsOneMaskedCloseFrameAtOnce() async throws {
        let server = try RawServer()
        var rounds = MeasuredRounds()
        for _ in 0..<50 {
            let (connection, peer) = try await server.connectWebSocket()
            async let received = peer.receiveTimed()
            let start = ContinuousClock.now
            connection.cancel()
            connection.cancel()
            let (frame, moment) = await received
            guard case .bytes(let bytes) = frame, bytes.count == 8 else {
                Issue.record("no close frame: \(frame)")
                return
            }
            #expect(bytes[..<2] == [0x88, 0x82])
            #expect([bytes[6] ^ bytes[2], bytes[7] ^ bytes[3]] == Self.goingAway)
            #expect(await connection.event() == .failed(.stream, .cancelled))
            peer.writeFrame(opcode: 8, Self.goingAway)
            peer.endWriting()
            #expect(await peer.receive() == .end)
            await rounds.add(moment - start)
        }
        #expect(rounds.median(withoutLatenessOf: 3) < .milliseconds(5))
    }

    /// A socket that is closed with unread bytes is reset, which the peer would see in place of the end.
    @Test(arguments: [false, true])
    func bytesThatArriveAfterACancellationAreReadAndDropped(isPaused: Bool) async throws {
        let (connection, peer) = try await RawServer().connect(.webSocket(offersCompression: false)) {
            $0.limits.highWatermark = 64 << 10
            $0.limits.lowWatermark = 32 << 10
        }
        await peer.acceptWebSocket()
        #expect(await connection.event() == .opened(101))
        // Much more than the watermark, so that reading stops before the cancellation, and little enough for the short
        // time that a cancelled socket is read.
        let message = RawPeer.frame(2, .counting(60_000))
        let count = isPaused ? 30 : 1
        let writing = Task {
            await DispatchQueue.global().blocking { for _ in 0..<count { peer.write(message) } }
        }
        if isPaused { try await RawServer.stall(connection) }
        connection.cancel()
        #expect(await peer.readFrame() == Self.closeFrame)
        await writing.value
        peer.writeFrame(opcode: 8, Self.goingAway)
        peer.endWriting()
        #expect(await peer.receive() == .end)
        #expect(await connection.eventsToEnd() == [.failed(.stream, .cancelled)])
        // Dropped bytes do not count as received.
        #expect(connection.statistics.receivedByteCount < 1 << 20)
    }

    @Test(arguments: [true, false])
    func socketIsClosedSoonWhenThePeerDoesNotCloseIt(answers: Bool) async throws {
        let (connection, peer) = try await RawServer().connectWebSocket { $0.close = .seconds(60) }
        // The time that the peer has begins with the cancellation.
        let stopwatch = Stopwatch()
        connection.cancel()
        #expect(await peer.readFrame() == Self.closeFrame)
        if answers { peer.writeFrame(opcode: 8, Self.goingAway) }
        #expect(await peer.receive() == .end)
        let time = await stopwatch.stop()
        #expect(time.elapsed > .milliseconds(300) && time.ownTime < .seconds(2))
    }

    @Test func peerThatNeverStopsSendingIsGivenUpSoon() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        let message = RawPeer.frame(2, .counting(60_000))
        let isOver = LockedValue(false)
        let writing = Task {
            await DispatchQueue.global().blocking {
                while !isOver.withLock({ $0 }) { peer.write(message) }
            }
        }
        connection.cancel()
        #expect(await peer.readFrame() == Self.closeFrame)
        let stopwatch = Stopwatch()
        // The end of a socket with unread bytes is a reset.
        #expect(await peer.readToEnd().bytes.isEmpty)
        #expect(await stopwatch.stop().ownTime < .seconds(2))
        isOver.withLock { $0 = true }
        await writing.value
    }

    @Test func violationAfterACancellationClosesTheSocketAtOnce() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket { $0.close = .seconds(60) }
        connection.cancel()
        #expect(await peer.readFrame() == Self.closeFrame)
        let stopwatch = Stopwatch()
        peer.write(RawPeer.frame(3))
        #expect(await peer.readToEnd().bytes.isEmpty)
        #expect(await stopwatch.stop().ownTime < .milliseconds(400))
    }

    @Test func cancellationAfterAViolationSendsTheCodeOfTheViolation() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket { $0.close = .seconds(60) }
        peer.write(RawPeer.frame(3))
        try await RawServer.fence()
        connection.cancel()
        #expect(await peer.readCloseCode() == 1002)
        #expect(await peer.readToEnd().bytes.isEmpty)
        #expect(await connection.eventsToEnd() == [.failed(.stream, .protocolViolation(closeCode: 1002))])
    }

    // MARK: Closing handshakes that have begun

    @Test func cancellationDuringACloseShortensItsWait() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket { $0.close = .seconds(60) }
        connection.close()
        let stopwatch = Stopwatch()
        connection.cancel()
        #expect(await connection.event() == .failed(.stream, .cancelled))
        #expect(await peer.readFrame() == RawPeer.Frame(opcode: 8, payload: [0x03, 0xE8]))
        #expect(await peer.receive() == .end)
        let time = await stopwatch.stop()
        #expect(time.elapsed > .milliseconds(300) && time.ownTime < .seconds(2))
    }

    @Test func cancellationAfterThePeersCloseLetsTheAnswerGoOut() async throws {
        let server = try RawServer()
        for _ in 0..<20 {
            let (connection, peer) = try await server.connectWebSocket { $0.close = .seconds(60) }
            peer.writeFrame(opcode: 8, [0x03, 0xE8])
            #expect(await connection.event() == .ended(.closed(code: 1000, reason: "")))
            connection.cancel()
            #expect(await peer.readCloseCode() == 1000)
            peer.endWriting()
            #expect(await peer.receive() == .end)
        }
    }

    // MARK: Waiting for the end

    @Test func finishClosingWaitsForCancelledWebSocketsAndNotForOpenOnes() async throws {
        let server = try RawServer()
        let (open, openPeer) = try await server.connectWebSocket()
        // Those of earlier tests may still be closing.
        await LibwebsocketsTransport.finishClosing(within: .milliseconds(100))
        let (connection, peer) = try await server.connectWebSocket { $0.close = .seconds(60) }
        connection.cancel()
        let isFinished = LockedValue(false)
        let waiting = Task {
            await LibwebsocketsTransport.finishClosing(within: .seconds(60))
            isFinished.withLock { $0 = true }
        }
        #expect(await peer.readFrame() == Self.closeFrame)
        try await RawServer.fence()
        #expect(!isFinished.withLock { $0 })
        peer.writeFrame(opcode: 8, Self.goingAway)
        peer.close()
        await waiting.value
        openPeer.writeText("open")
        #expect(await open.event() == .text("open"))
        open.cancel()
    }

    @Test func finishClosingShortensTheWaitOfAClose() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket { $0.close = .seconds(60) }
        connection.close()
        #expect(await peer.readCloseCode() == 1000)
        await LibwebsocketsTransport.finishClosing(within: .milliseconds(50))
        #expect(await peer.receive() == .end)
    }

    @Test func cancelledWebSocketsLeaveNoDescriptors() async throws {
        let server = try RawServer()
        try await RawServer.fence()
        let before = try Self.sockets()
        var peers: [RawPeer] = []
        var opened: Set<String> = []
        do {
            var connections: [any TransportConnection] = []
            for _ in 0..<50 {
                let (connection, peer) = try await server.connectWebSocket()
                connections.append(connection)
                peers.append(peer)
            }
            opened = try Self.sockets().subtracting(before)
            #expect(opened.count == 100)
            for connection in connections { connection.cancel() }
        }
        // The connections are dropped, and no peer answers.
        await LibwebsocketsTransport.finishClosing(within: .seconds(60))
        #expect(try Self.sockets().intersection(opened).count == peers.count)
    }

    /// The sockets of this process, by their numbers in the system.
    private static func sockets() throws -> Set<String> {
        let folder = "/proc/self/fd"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        return Set(
            names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
                .filter { $0.hasPrefix("socket:") })
    }

    // MARK: Sockets that are closed at once

    /// Checks that a cancelled connection is gone without a wait.
    private static func expectClosedAtOnce(
        _ connection: any TransportConnection, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        await LibwebsocketsTransport.finishClosing(within: .milliseconds(600))
        let stopwatch = Stopwatch()
        connection.cancel()
        await LibwebsocketsTransport.finishClosing(within: .seconds(60))
        #expect(await stopwatch.stop().ownTime < .milliseconds(400), sourceLocation: sourceLocation)
    }

    @Test func webSocketWithoutAnAnswerIsClosedWithoutACloseFrame() async throws {
        let (connection, peer) = try await RawServer().connect(.webSocket(offersCompression: false))
        _ = await peer.read(until: "\r\n\r\n")
        await Self.expectClosedAtOnce(connection)
        #expect(await peer.receive() == .end)
        #expect(await connection.eventsToEnd() == [.failed(.stream, .cancelled)])
    }

    @Test func responseBodyIsClosedAtOnce() async throws {
        let (connection, peer) = try await RawServer().connect(.get)
        _ = await peer.read(until: "\r\n\r\n")
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbody")
        #expect(await connection.events(2) == [.opened(200), .body("body")])
        await Self.expectClosedAtOnce(connection)
        #expect(await peer.receive() == .end)
        #expect(await connection.eventsToEnd() == [.failed(.stream, .cancelled)])
    }

    @Test func unestablishedConnectionIsClosed() async throws {
        let server = try RawServer()
        for exchange in [TransportRequest.Exchange.get, .post(body: [1]), .webSocket(offersCompression: true)] {
            let connection = LibwebsocketsTransport().connect(
                TransportRequest(endpoint: server.endpoint, exchange: exchange))
            connection.cancel()
            #expect(await connection.event() == .failed(.stream, .cancelled))
            // Whether it came to a connection is a race; what did is over, and what comes next is not touched by it.
            try await RawServer.fence()
            #expect(connection.next() == nil)
        }
    }

    /// libwebsockets would still write its buffered bytes, and the system its own.
    @Test func unreadBodyIsDropped() async throws {
        let server = try RawServer(receiveBufferByteCount: 4096)
        let body = [UInt8].counting(12_000_000)
        let (connection, peer) = try await server.connect(.post(body: body))
        _ = await peer.read(until: "\r\n\r\n")
        try await RawServer.fill(connection)
        connection.cancel()
        let (bytes, end) = await peer.readToEnd()
        #expect(end == .failed(ECONNRESET))
        #expect(bytes.count < body.count)
        #expect(body.starts(with: bytes))
        #expect(await connection.eventsToEnd() == [.failed(.stream, .cancelled)])
    }

    @Test func unreadMessageIsDropped() async throws {
        let server = try RawServer(receiveBufferByteCount: 4096)
        let (connection, peer) = try await server.connectWebSocket()
        let message = [UInt8].counting(12_000_000)
        connection.send(message, as: .binary)
        try await RawServer.fill(connection)
        await Self.expectClosedAtOnce(connection)
        let (bytes, end) = await peer.readToEnd()
        #expect(end == .failed(ECONNRESET))
        #expect(bytes.count < message.count)
        #expect(await connection.eventsToEnd() == [.failed(.stream, .cancelled)])
    }

    @Test func manyAreClosedTogether() async throws {
        let server = try RawServer()
        var all: [(connection: any TransportConnection, peer: RawPeer)] = []
        for _ in 0..<100 { all.append(try await server.connectWebSocket()) }
        for (connection, _) in all { connection.cancel() }
        for (connection, peer) in all {
            #expect(await peer.readCloseCode() == 1001)
            #expect(await connection.event() == .failed(.stream, .cancelled))
            peer.close()
        }
    }
}
