import Dispatch
import EventSource
import Foundation
import StreamTransport
import Testing

/// A program that does not ask for events holds its server back, and loses none of them.
@Suite(.timeLimit(.minutes(10))) struct EventSourceBackPressureTests {
    private static let data = String(repeating: "x", count: 64 << 10)
    private static let eventCount = 320
    /// The stream: 20 MiB, more than two sockets hold.
    private static let stream = Array(
        String(repeating: "data: \(Self.data)\n\n", count: Self.eventCount).utf8)

    @Test(arguments: [false, true])
    func serverIsHeldBackByAProgramThatDoesNotRead(isClosed: Bool) async throws {
        let server = try RawServer()
        let source = EventSource.loopback(try server.eventsURL) {
            $0.limits.highWatermark = 64 << 10
            $0.limits.lowWatermark = 16 << 10
            $0.reconnection = .never
        }
        let (pause, hasPaused) = AsyncStream.makeStream(of: Void.self)
        let (resumption, resume) = AsyncStream.makeStream(of: Void.self)
        let reading = Task {
            var events = source.makeAsyncIterator()
            #expect(try await events.next()?.data == "first")
            hasPaused.yield()
            for await _ in resumption { break }
            var count = 0
            while let event = try await events.next() {
                #expect(event.data.utf8.count == Self.data.utf8.count)
                count += 1
            }
            return count
        }
        let request = try await server.request()
        request.openStream("data: first\n\n")
        for await _ in pause { break }
        let written = try await Self.fill(request.peer)
        #expect(written < Self.stream.count)

        if isClosed {
            source.close()
            resume.yield()
            #expect(try await reading.value == 0)
            // The watermark, one read above it, and the one before the program paused.
            let attempt = try #require(source.report.attempts.first)
            #expect(attempt.receivedByteCount <= 512 << 10)
        } else {
            resume.yield()
            let peer = request.peer
            await DispatchQueue.global().blocking { peer.write(Array(Self.stream[written...])) }
            peer.close()
            #expect(try await reading.value == Self.eventCount)
        }
    }

    /// Writes the stream until the client takes no more; returns the number of bytes.
    private static func fill(_ peer: RawPeer) async throws -> Int {
        var written = 0
        var isStalled = false
        while written < Self.stream.count {
            let count = peer.writeAtOnce(Self.stream[written...])
            written += count
            if count == 0, isStalled { break }
            isStalled = count == 0
            // Rounds of the loop, in each of which the client would read on if it could.
            if isStalled { for _ in 0..<3 { try await RawServer.fence() } }
        }
        return written
    }
}
