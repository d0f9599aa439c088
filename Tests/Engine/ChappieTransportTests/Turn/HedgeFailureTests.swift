// Races in which one attempt, or both, fail; and races that are cancelled.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct HedgeFailureTests {
    private static let held: [ScriptStep] = .held(Event.created, Event.text("a"), Event.completed)
    /// A hedge that is ready a second after an upgrade that fails at three seconds.
    private static let lateHeld: [ScriptStep] = .held(
        readyAfter: .seconds(2), Event.created, Event.text("a"), Event.completed)

    private static func fixture(_ scripts: [[ScriptStep]]) -> TurnFixture {
        TurnFixture(scripts) { $0.reportsDiagnostics = true }
    }

    private static func late(_ script: [ScriptStep]) -> [ScriptStep] { script.after(.seconds(3)) }

    // MARK: The hedge fails

    @Test(arguments: [
        ([ScriptStep].failure(.connect, .unreachable(code: 111)), "connect.failed"),
        (.refusal(401), "http.401"), (.refusal(413), "http.413"), (.refusal(429), "http.429"),
        (.failure(.tls, .tlsHandshakeFailed), "tls.handshake"),
    ])
    func theUpgradeGoesOnAloneAndThereIsNoSecondHedge(_ script: [ScriptStep], _ tag: String) async {
        let upgrade: [ScriptStep] = .webSocket(Event.text("a"), Event.completed)
        let fixture = Self.fixture([upgrade.after(.seconds(9)), script])
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(outcome.error == nil)
        #expect(fixture.transport.requests.count == 2)
        #expect(outcome.outcomes == ["completed", tag])
        #expect(outcome.report.fallbackReason == nil)
        #expect(fixture.sentRequestCount == 1)
        #expect(!fixture.calls(1).contains(.release))
    }

    @Test func reconnectionAfterAFailedHedgeIsNotHedged() async {
        let fixture = Self.fixture([
            [.pause(.seconds(9)), .opened(101), .request, .ended(.closed(code: 1006, reason: ""))],
            .failure(.connect, .unreachable(code: 111)),
            [ScriptStep].webSocket(Event.text("a"), Event.completed).after(.seconds(9)),
        ])
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(fixture.transport.requests.count == 3)
        #expect(outcome.outcomes == ["ws.close.1006", "connect.failed", "completed"])
    }

    @Test func aReleasedRequestThatFailsIsTriedAgainOverHTTP() async {
        let fixture = Self.fixture([
            [],
            [.ready, .request, .ended(.failed(TransportFailure(phase: .upgrade, cause: .connectionLost)))],
            .eventStream(Event.text("a"), Event.completed),
        ])
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(outcome.outcomes == ["parked", "connection.lost", "completed"])
        #expect(outcome.report.attempts.last?.rung == .sentAgain)
        #expect(fixture.sentRequestCount == 2)
        #expect(fixture.calls(0) == [])
    }

    @Test func aReleasedRequestThatIsRefusedEndsTheTurn() async {
        let fixture = Self.fixture([[], [.ready, .request] + .refusal(413, body: "big")])
        let outcome = await fixture.run()
        #expect(outcome.clientError == .httpError(413, "big"))
        #expect(outcome.outcomes == ["lost-race", "http.413"])
        #expect(fixture.calls(0) == [.cancel])
        #expect(outcome.report.replaySafety == .sentNoOutput)
    }

    // MARK: The upgrade fails first

    @Test func aDefiniteFailureLeavesTheTurnToHTTPAndCondemns() async {
        let fixture = Self.fixture([
            Self.late(.refusal(404)), Self.lateHeld, .eventStream(Event.text("b"), Event.completed),
        ])
        let first = await fixture.run()
        #expect(first.text == "a")
        #expect(first.outcomes == ["http.404", "completed"])
        #expect(first.report.fallbackReason == "http.404")
        #expect(
            first.diagnostics == [
                .init(kind: .fellBack, transport: .httpSSE, reason: "http.404"),
                .init(kind: .connected, transport: .httpSSE),
            ])
        #expect(fixture.sentRequestCount == 1)
        let second = await fixture.run()
        #expect(second.text == "b")
        #expect(second.report.attempts.map(\.transport) == [.httpSSE])
        #expect(fixture.transport.requests.count == 3)
    }

    @Test func twoProbableFailuresInARowCondemn() async {
        let bad: [ScriptStep] = Self.late(.failure(.upgrade, .notHTTP))
        let fixture = Self.fixture([
            bad, Self.lateHeld, bad, Self.lateHeld, .eventStream(Event.text("c"), Event.completed),
        ])
        #expect(await fixture.run().outcomes == ["http.not-http", "completed"])
        #expect(await fixture.run().outcomes == ["http.not-http", "completed"])
        let third = await fixture.run()
        #expect(third.text == "c")
        #expect(third.report.attempts.map(\.transport) == [.httpSSE])
    }

    @Test(arguments: [
        [ScriptStep].refusal(503), .failure(.upgrade, .connectionLost), .failure(.connect, .unreachable(code: 101)),
    ])
    func transientFailureCondemnsNoTransport(_ script: [ScriptStep]) async {
        let bad = Self.late(script)
        let fixture = Self.fixture([bad, Self.lateHeld, bad, Self.lateHeld, bad, Self.lateHeld, bad, Self.lateHeld])
        for _ in 0..<4 {
            let outcome = await fixture.run()
            #expect(outcome.text == "a")
            #expect(outcome.report.attempts.map(\.transport) == [.webSocket, .httpSSE])
        }
        #expect(fixture.sentRequestCount == 4)
    }

    @Test func aRefusedCredentialIsReplacedAndTheHedgeCancelled() async {
        let fixture = TurnFixture([
            Self.late(.refusal(401)), Self.lateHeld, .webSocket(Event.text("a"), Event.completed),
        ]) {
            $0.credential = { reason in ChappieCredential(bearerToken: reason == .connecting ? "old" : "new") }
        }
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(outcome.outcomes == ["http.401", "lost-race", "completed"])
        #expect(fixture.calls(1) == [.cancel])
        #expect(fixture.transport.requests[2].value(of: "Authorization") == "Bearer new")
        #expect(fixture.sentRequestCount == 1)
    }

    @Test func aCredentialThatCannotBeReplacedEndsTheTurn() async {
        let fixture = TurnFixture([Self.late(.refusal(401)), Self.lateHeld])
        let outcome = await fixture.run()
        #expect(outcome.clientError == .reauthenticationRequired("the server answered 401"))
        #expect(fixture.calls(1) == [.cancel])
        #expect(outcome.report.replaySafety == .notSent)
    }

    @Test func anUpgradeThatCameTooSoonIsWaitedFor() async {
        let fixture = TurnFixture([
            Self.late(.refusal(429, fields: ["retry-after": "7"])), Self.lateHeld,
            .webSocket(Event.text("a"), Event.completed),
        ])
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(fixture.clock.sleeps == [.seconds(7)])
        #expect(fixture.calls(1) == [.cancel])
    }

    @Test func aFatalAnswerEndsTheTurn() async {
        let body = #"{"error":{"code":"insufficient_quota","message":"m"}}"#
        let fixture = TurnFixture([Self.late(.refusal(503, body: body)), Self.lateHeld])
        let outcome = await fixture.run()
        #expect(outcome.clientError == .httpError(503, body))
        #expect(fixture.calls(1) == [.cancel])
        #expect(outcome.outcomes == ["http.503", "lost-race"])
        #expect(fixture.sentRequestCount == 0)
        #expect(outcome.report.replaySafety == .notSent)
    }

    /// Both requests are sent by then, and the answer over HTTP is reported.
    @Test(arguments: [401, 429])
    func late401Or429OfTheUpgradeDoesNotEndTheHedge(_ status: Int) async {
        let hedge: [ScriptStep] = .held(answerAfter: .seconds(5), Event.text("a"), Event.completed)
        let fixture = Self.fixture([
            Self.late(.refusal(status)), hedge, .webSocket(Event.text("b"), Event.completed),
        ])
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(outcome.outcomes == ["http.\(status)", "completed"])
        #expect(await fixture.run().text == "b")
    }

    @Test(arguments: [404, 401])
    func aRefusalWhoseBodyIsOnItsWayIsJudgedByItsStatus(_ status: Int) async {
        let upgrade: [ScriptStep] =
            [.pause(.seconds(3)), .opened(status, fields: ["x-request-id": "u"])]
            + [.pause(.seconds(5)), .body("no"), .ended(.complete)]
        let hedge: [ScriptStep] = .held(
            readyAfter: .seconds(2), answerAfter: .seconds(9), Event.text("a"), Event.completed)
        let fixture = Self.fixture([upgrade, hedge, .webSocket(Event.text("b"), Event.completed)])
        let first = await fixture.run()
        #expect(first.text == "a")
        #expect(first.outcomes == ["http.\(status)", "completed"])
        #expect(first.report.fallbackReason == "http.\(status)")
        #expect(first.report.attempts.map(\.requestID) == ["u", nil])
        #expect(first.report.attempts.map(\.statusCode) == [status, 200])
        #expect(fixture.sentRequestCount == 1)
        let second = await fixture.run()
        #expect(second.report.attempts.map(\.transport) == [status == 404 ? .httpSSE : .webSocket])
    }

    @Test func eachConnectionHasItsOwnRequestID() async {
        let hedge: [ScriptStep] =
            [.ready, .request, .opened(200, fields: ["x-request-id": "h"])]
            + [.body(Event.sse(Event.completed)), .ended(.complete)]
        let fixture = Self.fixture([[], hedge])
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["parked", "completed"])
        #expect(outcome.report.attempts.map(\.requestID) == [nil, "h"])
    }

    // MARK: Both fail

    @Test func afterADefiniteFailureTheHedgeIsAnAttemptLikeAnyOther() async {
        let unreachable: [ScriptStep] = .failure(.connect, .unreachable(code: 111))
        let fixture = Self.fixture([Self.late(.refusal(404)), unreachable.after(.seconds(2)), unreachable])
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.code == .unreachable)
        #expect(outcome.transportFailure?.transport == .httpSSE)
        #expect(outcome.transportFailure?.replaySafety == .notSent)
        #expect(outcome.outcomes == ["http.404", "connect.failed", "connect.failed"])
        #expect(outcome.report.replaySafety == .notSent)
        #expect(fixture.sentRequestCount == 1)
    }

    @Test func refusalOfTheHedgeIsReportedAfterTheUpgradeFails() async {
        let fixture = Self.fixture([
            Self.late(.failure(.upgrade, .notHTTP)), [ScriptStep].refusal(413, body: "big").after(.seconds(2)),
        ])
        let outcome = await fixture.run()
        #expect(outcome.clientError == .httpError(413, "big"))
        #expect(outcome.outcomes == ["http.not-http", "http.413"])
        #expect(fixture.calls(1) == [])
        #expect(outcome.report.replaySafety == .notSent)
    }

    @Test func upgradeThatFailsAfterTheHedgeIsRetried() async {
        let fixture = Self.fixture([
            Self.late(.failure(.upgrade, .connectionLost)), .failure(.connect, .unreachable(code: 111)),
            .webSocket(Event.text("a"), Event.completed),
        ])
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(outcome.outcomes == ["connection.lost", "connect.failed", "completed"])
        #expect(outcome.report.reconnects == 1)
        #expect(fixture.sentRequestCount == 1)
    }

    // MARK: Giving up

    /// The state of a race when it is cancelled.
    enum Place: CaseIterable {
        case nothingHappened
        case released
        case upgradeFailed
        case hedgeFailed
        case upgradeRefused

        func scripts(_ signal: Signal) -> [[ScriptStep]] {
            switch self {
            case .nothingHappened: [[], [.hang(signal)]]
            case .released: [[], [.ready, .request, .hang(signal)]]
            case .upgradeFailed: [[.pause(.seconds(3))] + .refusal(404), [.pause(.seconds(2)), .hang(signal)]]
            case .hedgeFailed: [[.pause(.seconds(3)), .hang(signal)], .failure(.connect, .unreachable(code: 111))]
            case .upgradeRefused: [[.pause(.seconds(3)), .opened(404), .body("n"), .hang(signal)], []]
            }
        }
    }

    @Test(arguments: Place.allCases, DriverCancellationTests.Canceller.allCases)
    func aCancellationClosesBoth(at place: Place, by canceller: DriverCancellationTests.Canceller) async {
        let signal = Signal()
        let fixture = Self.fixture(place.scripts(signal))
        let outcome = await fixture.outcome(cancelledBy: canceller, at: signal)
        #expect(outcome.error is CancellationError)
        #expect(fixture.transport.connections.count == 2)
        for connection in fixture.transport.connections { #expect(connection.calls.contains(.cancel)) }
        #expect(outcome.report.attempts.allSatisfy { $0.outcome != nil })
        #expect(outcome.report.replaySafety == (place == .released ? .sentNoOutput : .notSent))
    }

    @Test(arguments: [(false, ChappieReplaySafety.notSent), (true, .sentNoOutput)])
    func theTotalTimeEndsBoth(isReady: Bool, safety: ChappieReplaySafety) async {
        let hedge: [ScriptStep] = isReady ? [.ready, .request] : []
        let fixture = TurnFixture([[], hedge]) { $0.timeouts.total = .seconds(3) }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.code == .timedOut)
        #expect(outcome.transportFailure?.transport == (isReady ? .httpSSE : .webSocket))
        #expect(outcome.transportFailure?.replaySafety == safety)
        #expect(outcome.report.replaySafety == safety)
        #expect(fixture.clock.now - start == .seconds(3))
        #expect(fixture.calls(0) == [.cancel])
        #expect(fixture.calls(1) == (isReady ? [.release, .cancel] : [.cancel]))
    }

    @Test func aReleasedRequestHasItsTimeForTheFirstEvent() async {
        let fixture = TurnFixture([[], [.ready, .request]]) {
            $0.timeouts.firstEvent = .seconds(5)
            $0.maxHTTPRetries = 0
        }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.code == .timedOut)
        #expect(outcome.transportFailure?.phase == .firstEvent)
        #expect(fixture.clock.now - start == .seconds(7))
    }

    @Test func aStreamThatIsDroppedAfterTheReleaseClosesBoth() async throws {
        let fixture = Self.fixture([[], [.ready, .request]])
        do {
            var events: AsyncThrowingStream<ChappieStreamEvent, any Error>.AsyncIterator? =
                fixture.instance.stream(ChappieTransportRequest(prompt: "hi")).makeAsyncIterator()
            let news = try await events?.next()
            #expect(news == .diagnostic(.init(kind: .fellBack, transport: .httpSSE, reason: "upgrade.slow")))
            events = nil
        }
        #expect(fixture.calls(0) == [.cancel])
        #expect(fixture.calls(1).last == .cancel)
    }

    @Test func droppedStreamLeavesTheParkedUpgradeToTheInstance() async throws {
        let fixture = TurnFixture([[], Self.held])
        do {
            var events: AsyncThrowingStream<ChappieStreamEvent, any Error>.AsyncIterator? =
                fixture.instance.stream(ChappieTransportRequest(prompt: "hi")).makeAsyncIterator()
            _ = try await events?.next()
            events = nil
        }
        #expect(fixture.calls(0) == [])
        #expect(fixture.calls(1).last == .cancel)
        fixture.transport.connections[0].append(.webSocket(Event.text("b"), Event.completed))
        #expect(await fixture.run().text == "b")
    }
}
