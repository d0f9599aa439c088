import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// A consumer that does not read holds the server back, however much there is to say.
@Suite(.timeLimit(.minutes(10))) struct SlowReaderTests {
    private static let deltaByteCount = 64 << 10
    /// The bytes of a response that the kernel may hold, in the buffers of both sides (tcp(7)); else 10 MiB.
    private static let kernelByteCount: Int = {
        let limits = ["tcp_rmem", "tcp_wmem"].compactMap { name -> Int? in
            let text = try? String(contentsOfFile: "/proc/sys/net/ipv4/\(name)", encoding: .utf8)
            return text?.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) }
        }
        return limits.count == 2 ? limits[0] + limits[1] : 10 << 20
    }()
    /// More than those, so that a server that has written all of it was not held back.
    private static let deltaCount = (Self.kernelByteCount + (10 << 20)) / Self.deltaByteCount
    private static let byteCount = Self.deltaByteCount * Self.deltaCount

    /// The response, which does not compress well.
    private static let events: [String] = {
        // The server reads no value nested deeper than 64 levels, and so it does not look into these events at all:
        // that would take it longer than sending them.
        let unread = "\"unread\":" + String(repeating: "[", count: 70) + String(repeating: "]", count: 70)
        let prefix =
            "{\(unread),\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\""
        let digits = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_".utf8)
        var random = SeededGenerator(seed: 1)
        // Farther apart than the 32 KiB that deflate looks back (RFC 1951), so that repetition does not help it.
        let text = String(
            decoding: (0..<Self.deltaByteCount).map { _ in digits[Int(random.next() >> 58)] }, as: UTF8.self)
        let end = "{\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"status\":\"completed\"}}"
        return Array(repeating: "\(prefix)\(text)\"}", count: Self.deltaCount) + [end]
    }()

    private static func server() -> ChappieTestServer.Configuration {
        var configuration = ChappieTestServer.Configuration(model: .recordings([Self.events]))
        configuration.messageCompression = .deflate(.init())
        configuration.contentCoding = .gzip
        return configuration
    }

    @Test(arguments: Wire.allCases, [false, true])
    func aServerIsHeldBackByAReaderThatDoesNotRead(over wire: Wire, isCompressed: Bool) async throws {
        try await withServer(Self.server()) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) {
                    $0.policy = wire.policy
                    $0.offersCompression = isCompressed
                })
            let request = ChappieTransportRequest(prompt: "hi", model: "m")
            var heldEvents = transport.stream(request).makeAsyncIterator()
            #expect(try await Self.firstDelta(&heldEvents) == Self.deltaByteCount)
            let given = transport.streamHandle(request)
            var givenEvents = given.events.makeAsyncIterator()
            #expect(try await Self.firstDelta(&givenEvents) == Self.deltaByteCount)

            // Meanwhile a third response is read whole: so long the server has had to write the others.
            #expect(try await Self.remainder(of: transport.stream(request)) == Self.byteCount)
            #expect(await server.reached(.completedResponses(1)))
            // The server can write ahead as much as the kernel holds, which is less than the plain response.
            if !isCompressed { #expect(server.log.map(\.completedResponseCount) == [0, 0, 1]) }

            // One is given up, and shows how little was read ahead.
            given.cancel()
            await #expect(throws: CancellationError.self) {
                while try await givenEvents.next() != nil {}
            }
            let attempt = try #require(given.report.attempts.first)
            #expect(attempt.outcome == "cancelled")
            // The watermark of 1 MiB holds for what arrives and for what was taken to be read.
            #expect(attempt.receivedByteCount < 3 << 20)

            // The other one goes on.
            var received = Self.deltaByteCount
            while let event = try await heldEvents.next() {
                if case .textDelta(let text) = event { received += text.utf8.count }
            }
            #expect(received == Self.byteCount)
            #expect(server.log.count == 3)
        }
    }

    private static func firstDelta(
        _ events: inout AsyncThrowingStream<ChappieStreamEvent, any Error>.Iterator
    ) async throws -> Int {
        while let event = try await events.next() {
            if case .textDelta(let text) = event { return text.utf8.count }
        }
        return 0
    }

    private static func remainder(of events: AsyncThrowingStream<ChappieStreamEvent, any Error>) async throws -> Int {
        var count = 0
        for try await event in events {
            if case .textDelta(let text) = event { count += text.utf8.count }
        }
        return count
    }
}
