// Messages that one job of the service thread sends: what shares a write, and the order on the wire.

import LibwebsocketsTransport
import StreamTransport
import Testing

@Suite(.timeLimit(.minutes(10))) struct TransportSendTests {
    /// Runs a closure in one job of the service thread, which performs its commands behind it.
    private static func runAsJob(_ body: @Sendable () -> Void) async throws {
        let executor = try #require(LibwebsocketsTransport().consumerExecutor)
        await withTaskExecutorPreference(executor) { body() }
    }

    /// A peer that waits for bytes gets those of one write at once.
    @Test func successiveMessagesGoOutInOneWrite() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        let received = Task { await peer.receive() }
        try await Self.runAsJob {
            for number in UInt8(0)..<20 { connection.send([number], as: .binary) }
        }
        guard case .bytes(let bytes) = await received.value else {
            Issue.record("the connection has ended")
            return
        }
        // A header of two bytes, a masking key and the message (RFC 6455 section 5.2).
        #expect(bytes.count == 20 * 7)
        let messages: [UInt8] = stride(from: 0, to: bytes.count - 6, by: 7).map { bytes[$0 + 6] ^ bytes[$0 + 2] }
        #expect(messages == Array(0..<20))
        connection.cancel()
    }

    @Test func messagesAndOtherFramesKeepTheirOrder() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket { $0.close = .seconds(60) }
        try await Self.runAsJob {
            for number in UInt8(0)..<3 {
                connection.send([number], as: .binary)
                connection.send([number], as: .text)
                connection.ping()
            }
            connection.send([3], as: .binary)
            connection.close()
        }
        var opcodes: [UInt8] = []
        while let frame = await peer.readFrame() {
            opcodes.append(frame.opcode)
            if frame.opcode == 8 { break }
        }
        #expect(opcodes == [2, 1, 9, 2, 1, 9, 2, 1, 9, 2, 8])
        peer.writeFrame(opcode: 8, [0x03, 0xE8])
        #expect(await connection.eventsToEnd() == [.ended(.closed(code: 1000, reason: ""))])
    }

    /// The messages of two connections do not mix, and more than fits into a write arrives.
    @Test func messagesOfSeveralConnectionsAreSentTogether() async throws {
        let server = try RawServer()
        let (first, firstPeer) = try await server.connectWebSocket()
        let (second, secondPeer) = try await server.connectWebSocket()
        try await Self.runAsJob {
            for number in 0..<100 {
                first.send([UInt8(number)] + [UInt8](repeating: 1, count: 1_000), as: .binary)
                second.send([UInt8(number), 2], as: .binary)
            }
        }
        for number in 0..<100 {
            #expect(await firstPeer.readFrame()?.payload == [UInt8(number)] + [UInt8](repeating: 1, count: 1_000))
            #expect(await secondPeer.readFrame()?.payload == [UInt8(number), 2])
        }
        first.cancel()
        second.cancel()
    }
}
