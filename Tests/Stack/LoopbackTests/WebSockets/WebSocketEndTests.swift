// The ends of the client's connections over real sockets: closing by either side, loss, and cancellation.

import Dispatch
import StreamTransport
import Testing
import WebSocketClient

@Suite(.timeLimit(.minutes(10))) struct WebSocketEndTests {
    private static func payload(_ code: UInt16, _ reason: String = "") -> [UInt8] {
        [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8)
    }

    @Test(arguments: [1000, 1001, 1011, 3000, 4999])
    func thisSideCloses(code: Int) async throws {
        let opened = try await OpenedWebSocket(to: RawServer()) { $0.timeouts.close = .seconds(60) }
        let connection = opened.connection
        let closing = Task { try await connection.close(code: code, reason: "why 😀") }
        #expect(
            await opened.peer.readFrame()
                == RawPeer.Frame(opcode: 8, payload: Self.payload(UInt16(code), "why 😀")))
        // Messages before the server's close frame can still be received.
        opened.peer.writeText("last")
        opened.peer.writeFrame(opcode: 8, Self.payload(UInt16(code), "bye"))
        let close = try await closing.value
        #expect(close == WebSocketClose(code: code, reason: "bye", initiator: .client))
        #expect(try await connection.receive() == .text("last"))
        #expect(try await connection.receive() == nil)
        #expect(connection.closed == close)
        await #expect(throws: WebSocketError.notOpen) { try await connection.send("late") }
        opened.peer.close()
    }

    @Test func thisSideClosesWithoutACode() async throws {
        let opened = try await OpenedWebSocket(to: RawServer()) { $0.timeouts.close = .seconds(60) }
        let connection = opened.connection
        let closing = Task { try await connection.close(code: nil) }
        #expect(await opened.peer.readFrame() == RawPeer.Frame(opcode: 8, payload: []))
        opened.peer.writeFrame(opcode: 8)
        #expect(try await closing.value == WebSocketClose(code: 1005, initiator: .client))
    }

    @Test func messagesAreSentBeforeTheCloseFrame() async throws {
        let opened = try await OpenedWebSocket(to: RawServer()) { $0.timeouts.close = .seconds(60) }
        let connection = opened.connection
        let payload = [UInt8].counting(300_000)
        try await connection.send("short")
        try await connection.send(payload)
        let closing = Task { try await connection.close() }
        #expect(await opened.peer.readMessage() == RawPeer.Frame(opcode: 1, payload: Array("short".utf8)))
        #expect(await opened.peer.readMessage() == RawPeer.Frame(opcode: 2, payload: payload))
        #expect(await opened.peer.readCloseCode() == 1000)
        opened.peer.writeFrame(opcode: 8, Self.payload(1000))
        #expect(try await closing.value.isClean)
    }

    @Test func aPeerThatDoesNotAnswerIsGivenUp() async throws {
        let opened = try await OpenedWebSocket(to: RawServer()) { $0.timeouts.close = .milliseconds(50) }
        let close = try await opened.connection.close()
        #expect(close == WebSocketClose(code: 1006, initiator: .client))
        #expect(!close.isClean)
    }

    @Test(arguments: [(1000, true), (1001, true), (1008, false), (1011, false), (4000, false)])
    func theServerCloses(code: Int, isNormal: Bool) async throws {
        let opened = try await OpenedWebSocket(to: RawServer())
        opened.peer.writeText("one")
        opened.peer.writeFrame(opcode: 8, Self.payload(UInt16(code), "why 😀"))
        let (messages, error) = await opened.connection.messagesToEnd()
        #expect(messages == [.text("one")])
        let close = WebSocketClose(code: code, reason: "why 😀", initiator: .server)
        #expect(error as? WebSocketError == (isNormal ? nil : .closed(close)))
        #expect(opened.connection.closed == close)
        #expect(await opened.peer.readFrame() == RawPeer.Frame(opcode: 8, payload: Self.payload(UInt16(code))))
        // Closing what is closed has the same end.
        #expect(try await opened.connection.close() == close)
    }

    /// Both close at once: the end is that of a handshake that this side began.
    @Test func bothSidesClose() async throws {
        let opened = try await OpenedWebSocket(to: RawServer()) { $0.timeouts.close = .seconds(60) }
        let connection = opened.connection
        let closing = Task { try await connection.close(code: 3000) }
        _ = await opened.peer.readFrame()
        opened.peer.writeFrame(opcode: 8, Self.payload(4000))
        #expect(try await closing.value == WebSocketClose(code: 4000, initiator: .client))
        #expect(await connection.messagesToEnd().error == nil)
    }

    @Test(arguments: [false, true])
    func aLostConnectionIsAnError(isReset: Bool) async throws {
        let opened = try await OpenedWebSocket(to: RawServer())
        opened.peer.writeText("one")
        #expect(try await opened.connection.receive() == .text("one"))
        if isReset { opened.peer.reset() } else { opened.peer.close() }
        let (messages, error) = await opened.connection.messagesToEnd()
        #expect(messages.isEmpty)
        #expect(error as? WebSocketError == .closed(WebSocketClose(code: 1006, initiator: .network)))
        #expect((error as? WebSocketError)?.isRetryable == true)
    }

    // MARK: Cancellation

    @Test func cancellingTheReceivingTaskClosesWith1001() async throws {
        let opened = try await OpenedWebSocket(to: RawServer())
        let connection = opened.connection
        let receiving = Task { try await connection.receive() }
        receiving.cancel()
        await #expect(throws: CancellationError.self) { try await receiving.value }
        #expect(await opened.peer.readCloseCode() == 1001)
    }

    @Test func droppingTheConnectionClosesWith1001() async throws {
        let server = try RawServer()
        let peer: RawPeer
        do { peer = try await OpenedWebSocket(to: server).peer }
        #expect(await peer.readCloseCode() == 1001)
    }

    /// The socket is closed, whatever the phase.
    @Test func cancellingTheOpeningTaskClosesTheSocket() async throws {
        let server = try RawServer()
        let configuration = try WebSocketConfiguration.loopback(server)
        let opening = Task { try await WebSocketConnection.open(configuration) }
        let peer = try await server.accept()
        _ = await peer.read(until: "\r\n\r\n")
        opening.cancel()
        await #expect(throws: CancellationError.self) { try await opening.value }
        #expect(await peer.readToEnd().bytes.isEmpty)
    }

    @Test func aCancelledSenderLeavesTheConnectionOpen() async throws {
        let opened = try await OpenedWebSocket(to: RawServer()) { $0.limits.sendWatermark = 1 }
        let connection = opened.connection
        // The peer does not read, so sooner or later the sender waits.
        let sending = Task { while true { try await connection.send([UInt8](repeating: 0, count: 100_000)) } }
        try await opened.settle()
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        opened.peer.writeText("still here")
        #expect(try await connection.receive() == .text("still here"))
        connection.cancel()
    }

    // MARK: Back-pressure

    /// The bytes that wait to be sent never exceed the watermark by more than a message, however little the peer reads.
    @Test func sendingWaitsForThePeer() async throws {
        let watermark = 200_000
        let size = 50_000
        let opened = try await OpenedWebSocket(to: RawServer()) { $0.limits.sendWatermark = watermark }
        let connection = opened.connection
        let sending = Task { while true { try await connection.send([UInt8](repeating: 0, count: size)) } }
        for _ in 0..<20 {
            try await opened.settle()
            let sent = connection.report.sentMessageCount * size
            // The count of bytes is the later one, so that it cannot be too small.
            #expect(sent - connection.report.sentByteCount <= watermark + size)
            for _ in 0..<4 { _ = await opened.peer.readMessage() }
        }
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        #expect(connection.report.sentMessageCount >= 80)
        connection.cancel()
    }

    /// Messages that are not received stay in the sockets, and none is lost.
    @Test func readingStopsAtTheWatermark() async throws {
        let opened = try await OpenedWebSocket(to: RawServer()) { configuration in
            configuration.limits.highWatermark = 64 << 10
            configuration.limits.lowWatermark = 16 << 10
        }
        let connection = opened.connection
        let peer = opened.peer
        let count = 20_000
        let writing = Task {
            let frame = RawPeer.frame(2, [UInt8](repeating: 7, count: 1_000))
            await Self.write(Array(repeating: frame, count: count), to: peer)
        }
        try await opened.settle(receiving: 60 << 10)
        // The watermark, one read above it, and the frames' headers.
        #expect(connection.report.receivedByteCount <= 192 << 10)
        var received = 0
        while received < count, let byteCount = try await connection.withNextMessage({ $1.byteCount }) {
            #expect(byteCount == 1_000)
            received += 1
        }
        #expect(received == count)
        await writing.value
        connection.cancel()
    }

    /// Messages behind this side's close frame are received whole, however much it is beside the high watermark.
    @Test(arguments: [(2_000, 1_000), (1, 5_000_000)])
    func messagesBeforeTheServersCloseFrameAreReceived(count: Int, size: Int) async throws {
        let opened = try await OpenedWebSocket(to: RawServer()) { configuration in
            configuration.limits.highWatermark = 64 << 10
            configuration.limits.lowWatermark = 16 << 10
            configuration.timeouts.close = .seconds(300)
        }
        let (connection, peer) = (opened.connection, opened.peer)
        let closing = Task { try await connection.close() }
        #expect(await peer.readMessage()?.opcode == 8)
        let writing = Task {
            let frame = RawPeer.frame(2, [UInt8](repeating: 7, count: size))
            await Self.write(Array(repeating: frame, count: count) + [RawPeer.frame(8, [3, 232])], to: peer)
        }
        // Nothing is received until reading has stopped.
        try await opened.settle(receiving: 60 << 10)
        let (messages, error) = await connection.messagesToEnd()
        #expect(error == nil)
        #expect(messages.count == count)
        #expect(messages.allSatisfy { $0 == .binary([UInt8](repeating: 7, count: size)) })
        await writing.value
        #expect(try await closing.value == WebSocketClose(code: 1000, initiator: .client))
    }

    /// A close frame behind more than the high watermark is not read while nothing is received: that is no clean end.
    @Test func closingDoesNotReadBeyondTheWatermark() async throws {
        let opened = try await OpenedWebSocket(to: RawServer()) { configuration in
            configuration.limits.highWatermark = 64 << 10
            configuration.timeouts.close = .milliseconds(200)
        }
        let (connection, peer) = (opened.connection, opened.peer)
        let frame = RawPeer.frame(2, [UInt8](repeating: 7, count: 1_000))
        let writing = Task {
            await Self.write(Array(repeating: frame, count: 20_000) + [RawPeer.frame(8, [3, 232])], to: peer)
        }
        try await opened.settle(receiving: 60 << 10)
        #expect(try await connection.close().code == 1006)
        // The watermark, one read above it, and the frames' headers.
        #expect(connection.report.receivedByteCount <= 192 << 10)
        let (messages, error) = await connection.messagesToEnd()
        // With the one that was cut.
        #expect((64...300).contains(messages.count + 1))
        #expect((error as? WebSocketError)?.tag == "ws.close.1006")
        await writing.value
    }

    /// A message whose sending has returned goes out before the close frame, whichever task closes meanwhile.
    @Test func everyMessageThatWasSentGoesOutBeforeTheCloseFrame() async throws {
        let server = try RawServer()
        for _ in 0..<10 {
            let opened = try await OpenedWebSocket(to: server) { configuration in
                configuration.limits.sendWatermark = 64 << 10
                configuration.timeouts.close = .seconds(300)
            }
            let connection = opened.connection
            let senders = (0..<4).map { _ in
                Task {
                    var sent = 0
                    do {
                        while true { try await connection.send([UInt8](repeating: 1, count: 1_000)); sent += 1 }
                    } catch {}
                    return sent
                }
            }
            var received = 0
            while received < 200, await opened.peer.readMessage()?.opcode == 2 { received += 1 }
            let closing = Task { try await connection.close() }
            while await opened.peer.readMessage()?.opcode == 2 { received += 1 }
            opened.peer.write(RawPeer.frame(8, [3, 232]))
            opened.peer.close()
            #expect(try await closing.value.code == 1000)
            var sent = 0
            for sender in senders { sent += await sender.value }
            #expect(sent == received)
            #expect(connection.report.sentMessageCount == sent)
        }
    }

    @Test(arguments: [nil, .seconds(30)] as [Duration?])
    func pingWithoutAPongTimesOutAndLeavesTheConnectionOpen(interval: Duration?) async throws {
        let opened = try await OpenedWebSocket(to: RawServer()) { configuration in
            configuration.timeouts.pingInterval = interval
            configuration.timeouts.pongTimeout = .milliseconds(100)
        }
        let error = await #expect(throws: WebSocketError.self) { try await opened.connection.ping() }
        #expect(error?.tag == "ws.ping-timeout")
        // The connection is open.
        try await opened.connection.send("on")
        #expect(await opened.peer.readMessage()?.opcode == 9)
        #expect(await opened.peer.readMessage()?.payload == Array("on".utf8))
        opened.connection.cancel()
    }

    /// While reading waits for the receiver, a pong cannot be read: the peer is not silent.
    @Test func aPingIsNotTimedWhileReadingIsPaused() async throws {
        let server = try RawServer()
        let limits: (inout WebSocketConfiguration) -> Void = { configuration in
            configuration.limits.highWatermark = 64 << 10
            configuration.timeouts.pingInterval = nil
            configuration.timeouts.pongTimeout = .milliseconds(50)
        }
        let paused = try await OpenedWebSocket(to: server, limits)
        let frame = RawPeer.frame(2, [UInt8](repeating: 7, count: 1_000))
        let writing = Task { await Self.write(Array(repeating: frame, count: 20_000), to: paused.peer) }
        try await paused.settle(receiving: 60 << 10)
        let ping = Task { try await paused.connection.ping() }
        #expect(await paused.peer.readMessage()?.opcode == 9)
        // The time limit passes twice, by the pings of another connection.
        let idle = try await OpenedWebSocket(to: server, limits)
        for _ in 0..<2 { await #expect(throws: WebSocketError.self) { try await idle.connection.ping() } }
        ping.cancel()
        await #expect(throws: CancellationError.self) { try await ping.value }
        for opened in [paused, idle] { opened.connection.cancel() }
        await writing.value
    }

    /// Writes frames, on a thread of its own, for as long as the client takes to read them.
    private static func write(_ frames: [[UInt8]], to peer: RawPeer) async {
        await DispatchQueue.global().blocking { for frame in frames { peer.write(frame) } }
    }
}
