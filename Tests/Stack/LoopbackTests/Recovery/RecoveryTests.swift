import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Failures that a turn survives, on its transport or on the other one, without effect on the consumer.
@Suite(.timeLimit(.minutes(10))) struct RecoveryTests {
    typealias Fault = ChappieTestServer.Fault

    // MARK: Falling back

    @Test(arguments: [
        (Fault.Action.answer(status: 200), "http.200"), (.answer(status: 302), "http.302"),
        (.answer(status: 403), "http.403"), (.answer(status: 404), "http.404"), (.answer(status: 405), "http.405"),
        (.answer(status: 426), "http.426"), (.answer(status: 501), "http.501"),
        (.wrongAcceptKey, "ws.opening-handshake"), (.unofferedExtension(), "ws.opening-handshake"),
        (.unofferedSubprotocol(), "ws.opening-handshake"),
        (.largeHeaderSection(byteCount: 256 << 10), "http.header-section-too-large"),
        (.closeWebSocket(code: 1008), "ws.close.1008"),
    ])
    func aWebSocketThatCannotWorkIsTriedOnce(_ action: ChappieTestServer.Fault.Action, tag: String) async throws {
        let faults = [Fault(action: action, transport: .webSocket)]
        try await withServer(.init(model: .scripted(LoopbackTurn.model), faults: faults)) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            let first = await transport.outcome()
            first.expectWhole()
            #expect(first.report.fallbackReason == tag)
            #expect(first.report.attempts.map(\.transport) == [.webSocket, .httpSSE])
            #expect(first.diagnostics.contains { $0.kind == .fellBack && $0.reason == tag })
            // What was learnt is kept for the instance's life.
            let second = await transport.outcome()
            second.expectWhole()
            #expect(second.report.attempts.map(\.transport) == [.httpSSE])
            #expect(server.log.map(\.transport) == [.webSocket, .http, .http])
        }
    }

    @Test func aRedirectIsNotFollowed() async throws {
        let location = ChappieTestServer.Field(name: "location", value: "https://elsewhere.invalid/")
        let turn = try await LoopbackTurn.run(
            [.init(.answer(status: 302, fields: [location], body: "{}"))], over: .httpSSE)
        #expect(turn.outcome.clientError == .httpError(302, "redirect to https://elsewhere.invalid/\n{}"))
        #expect(turn.log.count == 1)
    }

    @Test(arguments: [Fault.ConnectionCut.end, .reset])
    func spentRetriesAreFollowedByHTTPWithTheSameText(_ cut: Fault.ConnectionCut) async throws {
        let faults = [Fault(action: .cutAfterEvent(event: 20, with: cut), transport: .webSocket)]
        try await withServer(.init(model: .scripted(LoopbackTurn.model), faults: faults)) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            let outcome = await transport.outcome()
            outcome.expectWhole()
            #expect(server.log.map(\.transport) == Array(repeating: .webSocket, count: 6) + [.http])
            #expect(outcome.report.reconnects == 5)
            #expect(outcome.report.fallbackReason == "ws.close.1006")
            #expect(outcome.report.verifiedReplayByteCount > 0)
            #expect(outcome.diagnostics.filter { $0.kind == .reconnecting }.compactMap(\.attempt) == [1, 2, 3, 4, 5])
            await transport.outcome().expectWhole()
            #expect(server.log.count == 8)
        }
    }

    @Test func aRequestTooLargeForTheWebSocketGoesOverHTTPAlone() async throws {
        let faults = [Fault(.closeWebSocket(code: 1009, afterEvent: 0), attempts: 1...1)]
        try await withServer(.init(model: .scripted(LoopbackTurn.model), faults: faults)) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            await transport.outcome().expectWhole()
            await transport.outcome().expectWhole()
            #expect(server.log.map(\.transport) == [.webSocket, .http, .webSocket])
        }
    }

    // MARK: Divergence

    @Test(arguments: Wire.allCases, [Fault.Action.divergeText(fromScalar: 1), .shortenText(toScalar: 3)])
    func differentReplayEndsTheTurn(over wire: Wire, change: Fault.Action) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(.cutAfterEvent(event: 20), attempts: 1...1), .init(action: change, from: 2)], over: wire)
        turn.outcome.expectBeginning(deliversText: true)
        #expect(turn.outcome.clientError == .streamingTransportReplayDiverged(turn.outcome.text))
        #expect(turn.outcome.completions == 0)
        #expect(turn.log.count == 2)
    }

    @Test(arguments: [Fault.Action.divergeText(fromScalar: 1), .shortenText(toScalar: 3)])
    func aReplayOnTheOtherTransportIsVerifiedToo(change: Fault.Action) async throws {
        let turn = try await LoopbackTurn.run([
            .init(.cutAfterEvent(event: 20), transport: .webSocket), .init(action: change, transport: .http),
        ])
        turn.outcome.expectBeginning(deliversText: true)
        #expect(turn.outcome.clientError == .streamingTransportReplayDiverged(turn.outcome.text))
        #expect(turn.transports.last == .http)
    }

    @Test(arguments: Wire.allCases, [Fault.Action.divergeText(fromScalar: 1), .shortenText(toScalar: 3)])
    func differentReplayRestartsTheTextWhereItIsWanted(over wire: Wire, change: Fault.Action) async throws {
        let faults = [Fault(.cutAfterEvent(event: 20), attempts: 1...1), Fault(action: change, from: 2)]
        let failed = try await LoopbackTurn.run(faults, over: wire)
        let answer = try await LoopbackTurn.run([.init(action: change)], over: wire)
        let turn = try await LoopbackTurn.run(
            faults,
            client: {
                $0.policy = wire.alone
                $0.policy.divergence = .restarts
            })
        #expect(turn.outcome.error == nil)
        #expect(turn.outcome.restarts == [failed.outcome.text])
        #expect(!failed.outcome.text.isEmpty)
        #expect(turn.outcome.text == answer.outcome.text)
        #expect(turn.outcome.completions == 1)
        #expect(turn.log.count == 2)
    }

    // MARK: Close codes

    @Test(arguments: [1000, 1001, 1008, 1011, 1012, 1013, 4000])
    func aCloseInMidTextIsNotNoticed(code: Int) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(.closeWebSocket(code: code, reason: "gone", afterEvent: 20), attempts: 1...1)])
        turn.outcome.expectWhole()
        #expect(turn.outcome.report.attempts.map(\.outcome) == ["ws.close.\(code)", "completed"])
        #expect(turn.transports == [.webSocket, .webSocket])
    }

    @Test func theReasonOfACloseIsInTheFailure() async throws {
        let turn = try await LoopbackTurn.run(
            [.init(.closeWebSocket(code: 4000, reason: "gone", afterEvent: 20))],
            client: { $0.policy = Wire.webSocket.alone })
        let details = try #require(turn.outcome.transportFailure).details
        #expect(details.closeCode == 4000)
        #expect(details.closeReason == "gone")
    }

    // MARK: Frames

    @Test func fragmentsWithPingsBetweenThemAreOneMessage() async throws {
        let turn = try await LoopbackTurn.run([.init(action: .fragment(byteCount: 7, pingsBetween: true))])
        turn.outcome.expectWhole()
        #expect(turn.log.count == 1)
    }

    @Test func everyPingIsAnswered() async throws {
        var configuration = ChappieTestServer.Configuration(
            model: .scripted(LoopbackTurn.model), faults: [.init(action: .pingBeforeEvents)])
        configuration.writeMode = .perEvent
        try await withServer(configuration) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            await transport.outcome().expectWhole()
            // The pongs may still be under way when the turn is over; the socket is kept.
            #expect(await server.reached(.pongs(30)))
        }
    }

    @Test(arguments: Wire.allCases)
    func keepaliveEventsAreNotSeen(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run([.init(action: .keepaliveBeforeEvents)], over: wire)
        turn.outcome.expectWhole()
    }

    // MARK: Kept sockets

    @Test func twoTurnsUseOneSocket() async throws {
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            let first = await transport.outcome()
            first.expectWhole()
            let second = await transport.outcome()
            second.expectWhole()
            #expect(second.report.attempts.map(\.reusedConnection) == [true])
            // Each turn counts its own bytes, and the second has opened no connection.
            let counts = [first, second].map { $0.report.attempts.last?.receivedByteCount ?? 0 }
            #expect(counts[0] > 0 && (counts[0] * 8 / 10...counts[0] * 12 / 10).contains(counts[1]))
            #expect((second.report.attempts.first?.sentByteCount ?? 0) > 0)
            #expect(first.report.attempts.first?.opened != nil && second.report.attempts.first?.opened == nil)
            #expect(server.log.count == 1)
            #expect(server.log.first?.bodies.count == 2)
        }
    }

    @Test func twoTurnsAtOnceBothWork() async throws {
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let transport = ChappieStreamingTransport(configuration: .loopback(server.baseURL))
            async let first = transport.outcome()
            async let second = transport.outcome()
            await first.expectWhole()
            await second.expectWhole()
        }
    }

    @Test func aSocketThatWasClosedBetweenTurnsCostsNoRetry() async throws {
        let faults = [Fault(action: .closeAfterResponse(code: 1000))]
        try await withServer(.init(model: .scripted(LoopbackTurn.model), faults: faults)) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) {
                    $0.policy = ChappieStreamingTransportPolicy(
                        maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
                })
            for turn in 1...4 {
                let outcome = await transport.outcome()
                outcome.expectWhole()
                #expect(outcome.report.reconnects == 0)
                // Every other time the close has certainly arrived before the next turn begins.
                if turn.isMultiple(of: 2) { await server.reached(.finishedAttempts(turn)) }
            }
            #expect(server.log.count == 4)
        }
    }

    // MARK: Usage windows

    @Test(arguments: Wire.allCases)
    func usageWindowsAreDelivered(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(over: wire, server: { $0.limitEvents = .always })
        turn.outcome.expectWhole()
        let snapshot = try #require(turn.outcome.usageLimits.first)
        #expect(snapshot.primary?.usedPercent == 42)
        #expect(snapshot.primary?.windowMinutes == 300)
        #expect(snapshot.primary?.resetsAt == Date(timeIntervalSince1970: 1_795_260_000))
        #expect(snapshot.secondary?.usedPercent == 5)
        #expect(snapshot.secondary?.windowMinutes == 10_080)
        #expect(snapshot.planType == "plus")
    }
}
