import Foundation
import LibwebsocketsTransport
import StreamTransport
import Testing

/// How soon a cancelled connection's socket is closed, whatever is in it.
@Suite(.timeLimit(.minutes(1))) struct TransportCancelTests {
    @Test func theSocketIsClosedAtOnce() async throws {
        let server = try RawServer()
        var durations: [Duration] = []
        for _ in 0..<50 {
            let (connection, peer) = try await server.connectWebSocket()
            async let received = peer.receiveTimed()
            let start = ContinuousClock.now
            connection.cancel()
            let (end, moment) = await received
            #expect(end == .end)
            durations.append(moment - start)
            #expect(await connection.event() == .failed(.stream, .cancelled))
        }
        #expect(durations.sorted()[durations.count / 2] < .milliseconds(5))
    }

    @Test func aConnectionThatIsNotThereYetIsClosedToo() async throws {
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

    /// libwebsockets would go on writing what it holds, and the system what it holds.
    @Test func aBodyThatNobodyReadsIsDropped() async throws {
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

    @Test func aMessageThatNobodyReadsIsDropped() async throws {
        let server = try RawServer(receiveBufferByteCount: 4096)
        let (connection, peer) = try await server.connectWebSocket()
        let message = [UInt8].counting(12_000_000)
        connection.send(message, as: .binary)
        try await RawServer.fill(connection)
        connection.cancel()
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
            #expect(await peer.receive() == .end)
            #expect(await connection.event() == .failed(.stream, .cancelled))
        }
    }
}
