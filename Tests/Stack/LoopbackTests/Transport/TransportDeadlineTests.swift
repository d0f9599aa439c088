import LibwebsocketsTransport
import StreamTransport
import Testing

/// The lateness of deadlines, none of which is early.
///
/// A busy machine delays some of them, never most of them: medians are judged. One that is so busy that it delays every
/// wake-up delays plain sleeps as well: their lateness, for the wake-ups of a deadline, is no lateness of the deadline.
@Suite(.timeLimit(.minutes(10))) struct TransportDeadlineTests {
    private static let lateness = Duration.milliseconds(30)

    private static func expectOnTime(
        _ rounds: MeasuredRounds, limit: Duration, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let shortest = try #require(rounds.shortest, sourceLocation: sourceLocation)
        #expect(shortest >= limit, sourceLocation: sourceLocation)
        // The thread of the sockets wakes up twice at most, and then the consumer's.
        let median = rounds.median(withoutLatenessOf: 3)
        #expect(median < limit + Self.lateness, sourceLocation: sourceLocation)
    }

    /// Returns the answer to an opening handshake with a text message: in one write, so that no time is between them.
    private static func acceptance(of head: String, followedBy text: String) -> [UInt8] {
        Array(RawPeer.acceptance(of: head).utf8) + RawPeer.frame(1, Array(text.utf8))
    }

    private static func measure(_ body: () async throws -> Void) async rethrows -> Duration {
        let start = ContinuousClock.now
        try await body()
        return .now - start
    }

    @Test(arguments: [1, 30, 85])
    func aWaitEndsAtItsDeadline(_ milliseconds: Int) async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        var rounds = MeasuredRounds()
        for _ in 0..<15 {
            let duration = await Self.measure {
                #expect(await connection.wait(for: .milliseconds(milliseconds)) == .deadlinePassed)
            }
            await rounds.add(duration)
        }
        try Self.expectOnTime(rounds, limit: .milliseconds(milliseconds))
        connection.cancel()
        withExtendedLifetime(peer) {}
    }

    @Test(arguments: [Duration.zero, .seconds(-1), .nanoseconds(1)])
    func aWaitWithoutTimeEndsAtOnce(_ duration: Duration) async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        for _ in 0..<10 { #expect(await connection.wait(for: duration) == .deadlinePassed) }
        peer.writeText("text")
        #expect(await connection.event() == .text("text"))
        connection.cancel()
    }

    @Test func aNearDeadlineAfterAFarOneIsOnTime() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        var rounds = MeasuredRounds()
        for _ in 0..<15 {
            let waiting = Task { await connection.wait(for: .seconds(1_000)) }
            peer.writeText("text")
            #expect(await waiting.value == .ready)
            #expect(await connection.event() == .text("text"))
            let duration = await Self.measure {
                #expect(await connection.wait(for: .milliseconds(20)) == .deadlinePassed)
            }
            await rounds.add(duration)
        }
        try Self.expectOnTime(rounds, limit: .milliseconds(20))
        connection.cancel()
    }

    @Test func aFarDeadlineAfterANearOneIsOnTime() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket()
        var rounds = MeasuredRounds()
        for _ in 0..<5 {
            let waiting = Task { await connection.wait(for: .seconds(5)) }
            peer.writeText("text")
            #expect(await waiting.value == .ready)
            #expect(await connection.event() == .text("text"))
            let near = Task { await connection.wait(for: .milliseconds(200)) }
            peer.writeText("text")
            #expect(await near.value == .ready)
            #expect(await connection.event() == .text("text"))
            // The loop wakes for the near one in the middle of this wait.
            let duration = await Self.measure {
                #expect(await connection.wait(for: .milliseconds(230)) == .deadlinePassed)
            }
            await rounds.add(duration)
        }
        try Self.expectOnTime(rounds, limit: .milliseconds(230))
        connection.cancel()
    }

    @Test func manyConsumersWaitForDifferentTimes() async throws {
        let server = try RawServer()
        var all: [(connection: any TransportConnection, peer: RawPeer)] = []
        for _ in 0..<100 { all.append(try await server.connectWebSocket()) }
        let connections = all.map(\.connection)
        let rounds = await withTaskGroup(of: (Duration, Duration).self) { group -> MeasuredRounds in
            for (index, connection) in connections.enumerated() {
                let limit = Duration.milliseconds(20 + 7 * (index * 37 % 100))
                group.addTask {
                    let duration = await Self.measure {
                        #expect(await connection.wait(for: limit) == .deadlinePassed)
                    }
                    return (duration - limit, await Stopwatch.lateness())
                }
            }
            var rounds = MeasuredRounds()
            for await (late, lateness) in group { rounds.add(late, lateness: lateness) }
            return rounds
        }
        try Self.expectOnTime(rounds, limit: .zero)
        for connection in connections { connection.cancel() }
    }

    @Test func aDeadPeerIsFoundOnTime() async throws {
        let server = try RawServer()
        var rounds = MeasuredRounds()
        for _ in 0..<7 {
            let (connection, peer) = try await server.connect(.webSocket(offersCompression: false)) {
                $0.timeouts.pingInterval = .milliseconds(60)
                $0.timeouts.pongTimeout = .milliseconds(40)
            }
            let head = await peer.read(until: "\r\n\r\n")
            let start = ContinuousClock.now
            peer.write(Self.acceptance(of: head, followedBy: "text"))
            #expect(await connection.events(2) == [.opened(101), .text("text")])
            #expect(await connection.event() == .failed(.stream, .peerUnresponsive))
            await rounds.add(.now - start)
            #expect(await peer.readFrame() == RawPeer.Frame(opcode: 9, payload: []))
            #expect(await peer.readToEnd().end == .end)
        }
        try Self.expectOnTime(rounds, limit: .milliseconds(100))
    }

    @Test func aPeerThatSpeaksIsNotDead() async throws {
        let (connection, peer) = try await RawServer().connectWebSocket {
            $0.pingInterval = .milliseconds(20)
            $0.pongTimeout = .seconds(60)
        }
        // Any bytes are an answer to a ping, not only a pong.
        for number in 0..<10 {
            #expect(await peer.readFrame() == RawPeer.Frame(opcode: 9, payload: []))
            peer.writeText("\(number)")
            #expect(await connection.event() == .text("\(number)"))
        }
        connection.cancel()
    }

    @Test func aClosingHandshakeIsGivenUpOnTime() async throws {
        let server = try RawServer()
        var rounds = MeasuredRounds()
        for _ in 0..<7 {
            let (connection, peer) = try await server.connectWebSocket { $0.close = .milliseconds(50) }
            let duration = await Self.measure {
                connection.close()
                #expect(await connection.event() == .ended(.closed(code: 1006, reason: "")))
            }
            await rounds.add(duration)
            #expect(await peer.readFrame()?.opcode == 8)
            #expect(await peer.readToEnd().end == .end)
        }
        try Self.expectOnTime(rounds, limit: .milliseconds(50))
    }

    @Test(arguments: [false, true])
    func anUnansweredUpgradeIsGivenUpOnTime(isSecure: Bool) async throws {
        let server = try RawServer()
        let phase: TransportFailure.Phase = isSecure ? .tls : .upgrade
        var rounds = MeasuredRounds()
        for _ in 0..<3 {
            let start = ContinuousClock.now
            let (connection, peer) = try await server.connect(.webSocket(offersCompression: false)) {
                // Long enough for TCP on a busy machine: the phase is that of the request.
                $0.timeouts.connect = .seconds(1)
                $0.endpoint.isSecure = isSecure
            }
            #expect(await connection.event() == .failed(phase, .timedOut))
            await rounds.add(.now - start)
            withExtendedLifetime(peer) {}
        }
        try Self.expectOnTime(rounds, limit: .seconds(1))
    }

    @Test func aConsumerThatIsBehindDoesNotCondemnThePeer() async throws {
        let server = try RawServer()
        let (connection, peer) = try await server.connect(.webSocket(offersCompression: false)) {
            $0.limits.highWatermark = 10
            $0.limits.lowWatermark = 5
            $0.timeouts.pingInterval = .milliseconds(20)
            $0.timeouts.pongTimeout = .milliseconds(20)
        }
        let head = await peer.read(until: "\r\n\r\n")
        peer.write(Self.acceptance(of: head, followedBy: "0123456789"))
        #expect(await connection.event() == .opened(101))
        _ = await connection.wait(for: nil)
        // Reading is paused; many times the limit passes, on another connection.
        let (other, otherPeer) = try await server.connectWebSocket()
        #expect(await other.wait(for: .milliseconds(200)) == .deadlinePassed)
        peer.writeText("end")
        #expect(await connection.events(2) == [.text("0123456789"), .text("end")])
        // It is read from again, and found dead if it is.
        #expect(await connection.event() == .failed(.stream, .peerUnresponsive))
        other.cancel()
        withExtendedLifetime(otherPeer) {}
    }
}
