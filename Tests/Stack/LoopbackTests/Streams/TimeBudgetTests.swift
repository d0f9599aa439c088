import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Servers that fall silent: which budget ends the wait, and what follows.
@Suite(.timeLimit(.minutes(10))) struct TimeBudgetTests {
    private static let budget = Duration.milliseconds(250)

    private func expectTimeout(
        _ turn: LoopbackTurn, _ tag: String, phase: ChappieTransportFailure.Phase,
        safety: ChappieTransportFailure.ReplaySafety, over wire: Wire,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        turn.outcome.expectFailure(
            ExpectedFailure(code: .timedOut, tag: tag, phase: phase, attempts: 1, safety: safety), over: wire,
            deliversText: safety == .outputDelivered, sourceLocation: sourceLocation)
    }

    /// One attempt, without fallback.
    private static func once(_ wire: Wire) -> (inout ChappieTransportConfiguration) -> Void {
        { configuration in
            configuration.policy = ChappieStreamingTransportPolicy(
                prefersWebSocket: wire == .webSocket, maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
            configuration.maxHTTPRetries = 0
        }
    }

    @Test(arguments: Wire.allCases)
    func silenceInMidTextIsRetried(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(.hang(afterEvent: 20), attempts: 1...1)], over: wire,
            client: { $0.timeouts.idle = .milliseconds(500) })
        turn.outcome.expectWhole()
        #expect(turn.outcome.report.attempts.first?.outcome == "timeout.idle")
    }

    @Test(arguments: Wire.allCases)
    func silenceInMidTextIsAnErrorWithoutRetries(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(.hang(afterEvent: 20))], over: wire,
            client: { client in
                Self.once(wire)(&client)
                // The time before each event of the beginning counts as well.
                client.timeouts.idle = .seconds(2)
            })
        self.expectTimeout(turn, "timeout.idle", phase: .stream, safety: .outputDelivered, over: wire)
    }

    @Test(arguments: Wire.allCases)
    func silenceBeforeTheFirstEventEndsAtItsTimeout(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(.hang(afterEvent: 0))], over: wire,
            client: { client in
                Self.once(wire)(&client)
                client.timeouts.firstEvent = Self.budget
            })
        self.expectTimeout(turn, "timeout.firstEvent", phase: .firstEvent, safety: .sentNoOutput, over: wire)
    }

    @Test(arguments: Wire.allCases)
    func theBudgetOfTheTurnIsNotRetried(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(.hang(afterEvent: 20))], over: wire, client: { $0.timeouts.total = .milliseconds(600) })
        // How far the turn comes in that time is the machine's affair.
        #expect(turn.outcome.transportFailure?.code == .timedOut)
        #expect(turn.outcome.transportFailure?.attempts == 1)
        #expect(turn.outcome.report.attempts.map(\.outcome) == ["timeout.total"])
        #expect(turn.outcome.completions == 0)
    }

    @Test func anUpgradeThatIsNotAnsweredIsTriedTwice() async throws {
        let turn = try await LoopbackTurn.run(
            [.init(.stall(afterByte: 0), transport: .webSocket)],
            client: {
                $0.timeouts.connect = .seconds(2)
            })
        turn.outcome.expectWhole()
        #expect(turn.outcome.report.attempts.map(\.outcome) == ["timeout.upgrade", "timeout.upgrade", "completed"])
        #expect(turn.transports == [.webSocket, .webSocket, .http])
    }

    @Test(arguments: Wire.allCases)
    func keepalivesDoNotExtendTheProgressTimeout(over wire: Wire) async throws {
        let delta = "{\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\"one\"}"
        let keepalives = Array(repeating: "{\"type\":\"keepalive\"}", count: 2_000)
        let turn = try await LoopbackTurn.run(
            over: wire,
            server: { server in
                server.model = .recordings([[delta] + keepalives])
                server.eventsPerSecond = 100
            },
            client: { client in
                Self.once(wire)(&client)
                client.timeouts.progress = Self.budget
            })
        #expect(turn.outcome.text == "one")
        #expect(turn.outcome.transportFailure?.code == .timedOut)
        #expect(turn.outcome.transportFailure?.phase == .stream)
        #expect(turn.outcome.report.attempts.map(\.outcome) == ["timeout.progress"])
    }

    @Test func aPeerThatAnswersNoPingsIsGivenUp() async throws {
        let turn = try await LoopbackTurn.run(
            [.init(action: .stall(afterByte: 0, origin: .body), attempts: 1...1)],
            client: {
                $0.timeouts.pingInterval = .milliseconds(200)
                $0.timeouts.pongTimeout = .milliseconds(300)
            })
        turn.outcome.expectWhole()
        #expect(turn.outcome.report.attempts.first?.outcome == "ws.ping-timeout")
    }

    @Test func aPeerThatAnswersNoPingsIsAnErrorWithoutRetries() async throws {
        let turn = try await LoopbackTurn.run(
            [.init(action: .stall(afterByte: 0, origin: .body))],
            client: { client in
                Self.once(.webSocket)(&client)
                client.timeouts.pingInterval = .milliseconds(200)
                client.timeouts.pongTimeout = .milliseconds(300)
            })
        #expect(turn.outcome.transportFailure?.code == .peerUnresponsive)
        #expect(turn.outcome.transportFailure?.phase == .firstEvent)
        #expect(turn.outcome.transportFailure?.attempts == 1)
    }

    @Test func aSilentPeerThatAnswersPingsLives() async throws {
        let faults = [ChappieTestServer.Fault(.hang(afterEvent: 20))]
        try await withServer(.init(model: .scripted(LoopbackTurn.model), faults: faults)) { server in
            let handle = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) {
                    $0.timeouts.pingInterval = .milliseconds(150)
                    $0.timeouts.pongTimeout = .seconds(30)
                }
            ).streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
            let consumer = Task {
                var outcome = StreamOutcome()
                do {
                    for try await event in handle.events { outcome.add(event) }
                } catch {
                    outcome.error = error
                }
                return outcome
            }
            #expect(await server.reached(.pings(4)))
            handle.cancel()
            let outcome = await consumer.value
            #expect(outcome.error is CancellationError)
            #expect(server.log.count == 1)
        }
    }
}
