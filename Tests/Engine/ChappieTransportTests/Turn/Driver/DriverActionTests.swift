// The driver's actions, their order, and their delays.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct DriverActionTests {
    @Test func aTurnOpensSendsReceivesAndKeepsTheConnection() async {
        let fixture = TurnFixture([.webSocket(Event.created, Event.text("Hel"), Event.text("lo"), Event.completed)]) {
            $0.rawEvents = .none
        }
        let outcome = await fixture.run()
        #expect(outcome.events == [.textDelta("Hel"), .textDelta("lo"), .completed])
        #expect(outcome.error == nil)
        let connection = fixture.transport.connections[0]
        #expect(connection.calls.count == 1)
        guard case .send(let message, .text)? = connection.calls.first else { return #expect(Bool(false)) }
        #expect(message.contains(#""type":"response.create""#))
        #expect(message.contains(#""model":"m""#))
    }

    @Test func noConnectionOpensBeforeTheStreamIsRead() {
        let fixture = TurnFixture([])
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi"))
        #expect(fixture.transport.requests.isEmpty)
        var expected = ChappieStreamReport()
        expected.requestID = handle.report.requestID
        #expect(handle.report == expected && !expected.requestID.isEmpty)
    }

    @Test func anEventStreamIsAPostThatIsClosedAtItsEnd() async throws {
        let fixture = TurnFixture([.eventStream(Event.created, Event.text("a"), Event.completed)]) {
            $0.policy = .httpSSEOnly
            $0.rawEvents = .none
        }
        let outcome = await fixture.run()
        #expect(outcome.events == [.textDelta("a"), .completed])
        let request = try #require(fixture.transport.requests.first)
        guard case .post(let body) = request.exchange else { return #expect(Bool(false)) }
        #expect(String(decoding: body, as: UTF8.self).contains(#""stream":true"#))
        #expect(fixture.transport.connections[0].calls == [.cancel])
    }

    @Test(arguments: [(0.0, 0.9), (0.5, 1.0), (1.0, 1.1)])
    func delaysDoubleWithJitter(_ fraction: Double, _ factor: Double) async {
        let broken: [ScriptStep] = .broken(Event.created)
        let fixture = TurnFixture(
            [broken, broken, broken, broken, broken, .webSocket(Event.completed)],
            clock: ManualClock(fraction: fraction))
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        let thousandths = Int((factor * 1_000).rounded())
        #expect(fixture.clock.sleeps == [200, 400, 800, 1_600, 3_200].map { .microseconds($0 * thousandths) })
        #expect(outcome.report.reconnects == 5)
    }

    @Test func oneReconnectionIsInTheReportOfATurnThatThenSucceeds() async {
        let fixture = TurnFixture([.broken(), .webSocket(Event.completed)])
        let outcome = await fixture.run()
        #expect(outcome.report.reconnects == 1)
        #expect(outcome.outcomes == ["ws.close.1006", "completed"])
        #expect(outcome.report.attempts.map(\.number) == [1, 2])
    }

    @Test func replayIsVerifiedAndOnlyNewOutputIsDelivered() async {
        let fixture = TurnFixture([
            .broken(Event.created, Event.text("Hel")),
            .webSocket(Event.created, Event.text("He"), Event.text("llo"), Event.completed),
        ]) {
            $0.rawEvents = .none
            $0.reportsDiagnostics = true
        }
        let outcome = await fixture.run()
        #expect(
            outcome.events == [
                .diagnostic(.init(kind: .connected, transport: .webSocket)),
                .textDelta("Hel"),
                .diagnostic(
                    .init(
                        kind: .reconnecting, transport: .webSocket, attempt: 1, limit: 5, reason: "ws.close.1006",
                        rung: .verifiedReplay, delay: .milliseconds(200))),
                .diagnostic(.init(kind: .connected, transport: .webSocket)),
                .diagnostic(.init(kind: .replayVerified, transport: .webSocket, byteCount: 3)),
                .textDelta("lo"),
                .completed,
            ])
        #expect(outcome.report.verifiedReplayByteCount == 3)
    }

    @Test func anotherAnswerInAReplayIsADivergence() async {
        let fixture = TurnFixture([
            .broken(Event.text("Hello")), .webSocket(Event.text("Hi"), Event.completed),
        ])
        let outcome = await fixture.run()
        #expect(outcome.clientError == .streamingTransportReplayDiverged("Hello"))
        #expect(outcome.text == "Hello")
        #expect(fixture.transport.connections[1].calls.last == .cancel)
    }

    @Test func diagnosticsAreOffUnlessAskedFor() async {
        let fixture = TurnFixture([.broken(), .webSocket(Event.completed)])
        let outcome = await fixture.run()
        #expect(outcome.events == [.completed])
    }

    @Test func aFallbackIsRememberedByLaterTurns() async {
        let fixture = TurnFixture([
            .refusal(404), .eventStream(Event.text("a"), Event.completed),
            .eventStream(Event.text("b"), Event.completed),
        ]) { $0.reportsDiagnostics = true }
        let first = await fixture.run()
        #expect(first.text == "a")
        #expect(first.report.fallbackReason == "http.404")
        #expect(
            first.diagnostics == [
                .init(kind: .fellBack, transport: .httpSSE, reason: "http.404"),
                .init(kind: .connected, transport: .httpSSE),
            ])
        #expect(first.report.attempts.map(\.transport) == [.webSocket, .httpSSE])
        let second = await fixture.run()
        #expect(second.text == "b")
        #expect(second.report.attempts.map(\.transport) == [.httpSSE])
        #expect(fixture.transport.requests.count == 3)
        #expect(second.report.fallbackReason == nil)
    }

    @Test func unansweredFallbackCondemnsNoTransport() async {
        let fixture = TurnFixture([
            .broken(), .failure(.connect, .unreachable(code: 111)), .webSocket(Event.completed),
        ]) {
            $0.policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0)
            $0.maxHTTPRetries = 0
        }
        let first = await fixture.run()
        #expect(first.transportFailure?.code == .unreachable)
        #expect(first.transportFailure?.attempts == 2)
        #expect(first.transportFailure?.details.systemCode == 111)
        #expect(first.transportFailure?.transport == .httpSSE)
        let second = await fixture.run()
        #expect(second.report.attempts.map(\.transport) == [.webSocket])
    }

    @Test func aRateLimitWaitsAsLongAsTheServerAsks() async {
        let fixture = TurnFixture([
            .refusal(429, fields: ["retry-after": "7"]), .refusal(429), .webSocket(Event.completed),
        ])
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(fixture.clock.sleeps == [.seconds(7), .seconds(2)])
        #expect(outcome.outcomes == ["http.429", "http.429", "completed"])
    }

    @Test func newsOfAReconnectionComesBeforeTheDelay() async throws {
        let fixture = TurnFixture([.broken(), .webSocket(Event.completed)]) { $0.reportsDiagnostics = true }
        let slept = Signal()
        fixture.clock.hangInNextSleep(slept)
        var events = fixture.instance.stream(ChappieTransportRequest(prompt: "hi")).makeAsyncIterator()
        #expect(try await events.next() == .diagnostic(.init(kind: .connected, transport: .webSocket)))
        let news = try await events.next()
        #expect(
            news
                == .diagnostic(
                    .init(
                        kind: .reconnecting, transport: .webSocket, attempt: 1, limit: 5, reason: "ws.close.1006",
                        rung: .sentAgain, delay: .milliseconds(200))))
        #expect(fixture.clock.sleeps.isEmpty)
    }
}

@Suite struct DriverConnectionTests {
    @Test func aKeptConnectionCarriesTheNextTurn() async {
        let fixture = TurnFixture([.webSocket(Event.text("a"), Event.completed)])
        let first = await fixture.run()
        #expect(first.text == "a")
        fixture.transport.connections[0].append([.request, .text(Event.text("b")), .text(Event.completed)])
        let second = await fixture.run()
        #expect(second.text == "b")
        #expect(second.report.attempts.map(\.reusedConnection) == [true])
        #expect(fixture.transport.connections.count == 1)
        #expect(fixture.transport.connections[0].calls.count == 2)
    }

    @Test func aKeptConnectionThatHasEndedIsNotUsed() async {
        let fixture = TurnFixture([.webSocket(Event.completed), .webSocket(Event.text("b"), Event.completed)])
        _ = await fixture.run()
        fixture.transport.connections[0].append([.ended(.closed(code: 1000, reason: ""))])
        let second = await fixture.run()
        #expect(second.text == "b")
        #expect(second.report.attempts.map(\.reusedConnection) == [false])
        #expect(second.report.reconnects == 0)
        #expect(fixture.transport.connections[0].calls.last == .close)
    }

    @Test(arguments: [
        TransportEnd.closed(code: 1006, reason: ""), .closed(code: 1001, reason: "bye"),
        .failed(TransportFailure(phase: .stream, cause: .connectionLost)),
        .failed(TransportFailure(phase: .stream, cause: .peerUnresponsive)),
    ])
    func aKeptConnectionThatDiesOnUseIsReplacedAndNotCounted(_ end: TransportEnd) async {
        let fixture = TurnFixture([.webSocket(Event.completed), .webSocket(Event.text("b"), Event.completed)]) {
            $0.reportsDiagnostics = true
            $0.policy = ChappieStreamingTransportPolicy(
                maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
        }
        _ = await fixture.run()
        fixture.transport.connections[0].append([.request, .ended(end)])
        let second = await fixture.run()
        #expect(second.error == nil)
        #expect(second.text == "b")
        #expect(second.outcomes == ["replaced", "completed"])
        #expect(second.report.attempts.map(\.number) == [1, 1])
        #expect(second.report.reconnects == 0)
        #expect(fixture.clock.sleeps.isEmpty)
        #expect(second.diagnostics == [.init(kind: .connected, transport: .webSocket)])
        #expect(fixture.transport.connections[1].calls.count == 1)
    }

    @Test func aKeptConnectionThatDiesAfterAnEventIsAFailedAttempt() async {
        let fixture = TurnFixture([
            .webSocket(Event.completed), .webSocket(Event.created, Event.text("b"), Event.completed),
        ])
        _ = await fixture.run()
        fixture.transport.connections[0].append([
            .request, .text(Event.created), .ended(.closed(code: 1006, reason: "")),
        ])
        let second = await fixture.run()
        #expect(second.text == "b")
        #expect(second.outcomes == ["ws.close.1006", "completed"])
        #expect(fixture.clock.sleeps == [.milliseconds(200)])
    }

    @Test func aReplacementThatFailsIsAFailedAttempt() async {
        let fixture = TurnFixture([
            .webSocket(Event.completed), .failure(.connect, .connectionLost),
            .webSocket(Event.text("b"), Event.completed),
        ])
        _ = await fixture.run()
        fixture.transport.connections[0].append([.request, .ended(.closed(code: 1006, reason: ""))])
        let second = await fixture.run()
        #expect(second.text == "b")
        #expect(second.outcomes == ["replaced", "connection.lost", "completed"])
        #expect(second.report.attempts.map(\.number) == [1, 1, 2])
    }

    @Test func connectionIsNotReusedWithAnotherCredential() async {
        let credentials = LockedValue(["one", "two"])
        let fixture = TurnFixture([.webSocket(Event.completed), .webSocket(Event.completed)]) {
            $0.credential = { _ in
                ChappieCredential(bearerToken: credentials.withLock { $0.removeFirst() })
            }
        }
        _ = await fixture.run()
        let second = await fixture.run()
        #expect(second.report.attempts.map(\.reusedConnection) == [false])
        #expect(fixture.transport.connections[0].calls.last == .close)
        let tokens = fixture.transport.requests.map { request in
            request.fields.filter { $0.name == "Authorization" }.map(\.value)
        }
        #expect(tokens == [["Bearer one"], ["Bearer two"]])
    }

    @Test func eventsAfterTheTerminalEventAreIgnored() async {
        let fixture = TurnFixture([
            .webSocket(Event.text("a"), Event.completed, Event.text("b"), Event.failed(code: "server_error")),
            .webSocket(Event.text("c"), Event.completed),
        ])
        let first = await fixture.run()
        #expect(first.events == [.textDelta("a"), .completed])
        #expect(first.error == nil)
        // The connection is out of step, and the next turn does not read its late events.
        let second = await fixture.run()
        #expect(second.text == "c")
        #expect(fixture.transport.connections.count == 2)
    }

    @Test func eventsAfterTheTerminalEventInOnePieceAreIgnored() async {
        let body = [Event.text("a"), Event.completed, Event.text("b"), Event.failed(code: "x"), "{"].map(Event.sse)
        let fixture = TurnFixture([
            [
                .opened(200), .body(body.joined()),
                .ended(.failed(TransportFailure(phase: .stream, cause: .connectionLost))),
            ]
        ]) { $0.policy = .httpSSEOnly }
        let outcome = await fixture.run()
        #expect(outcome.events == [.textDelta("a"), .completed])
        #expect(outcome.error == nil)
    }

    @Test func aConnectionThatHasEndedIsNotCancelled() async {
        let fixture = TurnFixture([.broken(), .webSocket(Event.completed)])
        _ = await fixture.run()
        #expect(!fixture.transport.connections[0].calls.contains(.cancel))
    }

    @Test func invalidUTF8FailsTheConnectionWithItsCloseCode() async {
        let fixture = TurnFixture([
            [.opened(101), .request, .textBytes(Array(#"{"type":"x","a":""#.utf8) + [0xFF] + Array(#""}"#.utf8))],
            .webSocket(Event.completed),
        ])
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["event.undecodable", "completed"])
        #expect(fixture.transport.connections[0].calls.last == .fail(1007))
    }

    @Test func anInstanceThatGoesClosesItsKeptConnection() async {
        let transport: ScriptedTransport
        do {
            let fixture = TurnFixture([.webSocket(Event.completed)])
            transport = fixture.transport
            _ = await fixture.run()
        }
        #expect(transport.connections[0].calls.last == .close)
    }
}
