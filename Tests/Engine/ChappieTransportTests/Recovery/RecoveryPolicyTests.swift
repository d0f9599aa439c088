// The extent to which a broken response is recovered, and the replay safety of a turn after every end.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct RecoveryPolicyTests {
    /// The place at which an attempt breaks.
    enum Break: CaseIterable {
        /// The upgrade was not answered.
        case beforeSending
        /// The request was sent, and no event came.
        case withoutEvents
        /// Events came, but no output.
        case withoutOutput
        /// Output was delivered.
        case afterOutput

        var script: [ScriptStep] {
            switch self {
            case .beforeSending: .failure(.upgrade, .connectionLost)
            case .withoutEvents: .broken()
            case .withoutOutput: .broken(Event.created, Event.keepalive)
            case .afterOutput: .broken(Event.created, Event.text("a"))
            }
        }

        var safety: ChappieReplaySafety {
            switch self {
            case .beforeSending: .notSent
            case .withoutEvents, .withoutOutput: .sentNoOutput
            case .afterOutput: .outputDelivered
            }
        }

        func isRecovered(by policy: ChappieRecoveryPolicy) -> Bool {
            switch policy {
            case .verify: true
            case .resumeOnly: self != .afterOutput
            case .never: self == .beforeSending
            }
        }
    }

    private static func fixture(_ scripts: [[ScriptStep]], _ policy: ChappieRecoveryPolicy) -> TurnFixture {
        TurnFixture(scripts) {
            $0.policy.recovery = policy
            $0.rawEvents = .none
        }
    }

    @Test(arguments: Break.allCases, ChappieRecoveryPolicy.allCases)
    func recoveryPolicyLimitsTheRecoverySteps(_ place: Break, _ policy: ChappieRecoveryPolicy) async {
        let fixture = Self.fixture(
            [place.script, .webSocket(Event.text("a"), Event.text("b"), Event.completed)], policy)
        let outcome = await fixture.run()
        if place.isRecovered(by: policy) {
            #expect(outcome.error == nil)
            #expect(outcome.text == "ab")
            #expect(outcome.report.replaySafety == .completed)
        } else {
            #expect(outcome.transportFailure?.code == .webSocketClosed)
            #expect(outcome.transportFailure?.details.closeCode == 1006)
            #expect(outcome.transportFailure?.attempts == 1)
            #expect(outcome.transportFailure?.replaySafety == place.safety)
            #expect(outcome.report.replaySafety == place.safety)
            #expect(outcome.text == (place == .afterOutput ? "a" : ""))
            #expect(fixture.transport.requests.count == 1)
            #expect(fixture.clock.sleeps.isEmpty)
        }
    }

    @Test(arguments: ChappieRecoveryPolicy.allCases)
    func theFallbackIsAnotherSendingToo(_ policy: ChappieRecoveryPolicy) async {
        let fixture = Self.fixture(
            [
                [.opened(101), .request, .text(Event.text("a")), .ended(.closed(code: 1009, reason: ""))],
                .eventStream(Event.text("ab"), Event.completed),
            ], policy)
        let outcome = await fixture.run()
        #expect((outcome.error == nil) == (policy == .verify))
        #expect(fixture.sentRequestCount == (policy == .verify ? 2 : 1))
        #expect(outcome.report.fallbackReason == (policy == .verify ? "ws.close.1009" : nil))
    }

    @Test(arguments: ChappieRecoveryPolicy.allCases)
    func aDefiniteRefusalOfTheUpgradeHasSentNothing(_ policy: ChappieRecoveryPolicy) async {
        let fixture = Self.fixture([.refusal(404), .eventStream(Event.text("a"), Event.completed)], policy)
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
    }

    /// A server that refuses with a status code has not begun to work on the request.
    @Test(arguments: ChappieRecoveryPolicy.allCases, [429, 503, 401])
    func aRefusedPOSTMayBeSentAgain(_ policy: ChappieRecoveryPolicy, _ status: Int) async {
        let fixture = TurnFixture([.refusal(status), .eventStream(Event.text("a"), Event.completed)]) {
            $0.policy = .httpSSEOnly
            $0.policy.recovery = policy
            $0.credential = { reason in ChappieCredential(bearerToken: reason == .connecting ? "old" : "new") }
        }
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        #expect(outcome.report.attempts.map(\.rung) == [nil, .sentAgain])
    }

    @Test func aRefusalAfterAnUnansweredPOSTDoesNotMakeThatUnsent() async {
        let lost = TransportFailure(phase: .upgrade, cause: .connectionLost)
        let fixture = TurnFixture([[.ended(.failed(lost))]]) {
            $0.policy = .httpSSEOnly
            $0.policy.recovery = .never
        }
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.code == .connectionLost)
        #expect(outcome.transportFailure?.replaySafety == .sentNoOutput)
        #expect(fixture.transport.requests.count == 1)
    }

    /// An error in band may come from a server that has begun.
    @Test(arguments: [401, 429, 500])
    func anErrorInBandIsNotARefusal(_ status: Int) async {
        let error = #"{"type":"error","status":\#(status),"error":{"type":"t","message":"m"}}"#
        let fixture = Self.fixture([.webSocket(error), .webSocket(Event.completed)], .never)
        let outcome = await fixture.run()
        #expect(outcome.error != nil)
        #expect(fixture.transport.requests.count == 1)
        #expect(outcome.report.replaySafety == .sentNoOutput)
    }

    @Test(arguments: ChappieRecoveryPolicy.allCases)
    func aLentSocketThatWasDeadIsReplacedUnlessNothingMayBeSentTwice(_ policy: ChappieRecoveryPolicy) async {
        let fixture = Self.fixture(
            [.webSocket(Event.completed), .webSocket(Event.text("b"), Event.completed)], policy)
        _ = await fixture.run()
        fixture.transport.connections[0].append([.request, .ended(.closed(code: 1006, reason: ""))])
        let second = await fixture.run()
        if policy == .never {
            #expect(second.transportFailure?.code == .webSocketClosed)
            #expect(second.transportFailure?.replaySafety == .sentNoOutput)
            #expect(second.report.replaySafety == .sentNoOutput)
            #expect(fixture.transport.requests.count == 1)
        } else {
            #expect(second.text == "b")
            #expect(second.outcomes == ["replaced", "completed"])
        }
    }

    @Test(arguments: ChappieRecoveryPolicy.allCases, [false, true])
    func aResponseThatTheServerKeepsIsResumed(_ policy: ChappieRecoveryPolicy, hasOutput: Bool) async {
        let events =
            hasOutput ? [Numbered.created(0), Numbered.text(1, "a")] : [Numbered.created(0), Numbered.inProgress(1)]
        let cut = [ScriptStep.opened(200)] + events.map { .body(Event.sse($0)) } + [.ended(CursorResumeTests.lost)]
        let fixture = Self.fixture(
            [cut, .eventStream(Numbered.text(2, "b"), Numbered.completed(3))], policy)
        let outcome = await fixture.run(CursorResumeTests.request)
        if policy == .never {
            #expect(outcome.transportFailure?.code == .connectionLost)
            #expect(outcome.transportFailure?.replaySafety == (hasOutput ? .outputDelivered : .sentNoOutput))
            #expect(fixture.transport.requests.count == 1)
        } else {
            #expect(outcome.text == (hasOutput ? "ab" : "b"))
            #expect(outcome.report.attempts.map(\.rung) == [nil, .resumed])
        }
    }

    @Test func condemnedWebSocketStaysCondemnedWithoutARetry() async {
        let fixture = Self.fixture(
            [
                [.opened(101), .request, .ended(.closed(code: 1008, reason: ""))],
                .eventStream(Event.text("b"), Event.completed),
            ], .never)
        let first = await fixture.run()
        #expect(first.transportFailure?.details.closeCode == 1008)
        let second = await fixture.run()
        #expect(second.report.attempts.map(\.transport) == [.httpSSE])
    }
}

@Suite struct ReplaySafetyTests {
    private static func fixture(_ scripts: [[ScriptStep]]) -> TurnFixture {
        TurnFixture(scripts) {
            $0.policy.recovery = .never
            $0.rawEvents = .none
        }
    }

    @Test(arguments: [(false, ChappieReplaySafety.sentNoOutput), (true, .outputDelivered)])
    func replaySafetyAfterAServersEndDependsOnOutputOnly(hasOutput: Bool, safety: ChappieReplaySafety) async {
        let last = [
            Event.failed(code: "server_error"), Event.failed(code: "invalid_prompt"), Event.incomplete,
            #"{"type":"error","error":{"type":"t","code":"c","message":"m"}}"#, "{",
        ]
        for event in last {
            let steps = (hasOutput ? [Event.text("a"), event] : [event]).map { ScriptStep.text($0) }
            let fixture = Self.fixture([[.opened(101), .request] + steps])
            let outcome = await fixture.run()
            #expect(outcome.error != nil)
            #expect(outcome.report.replaySafety == safety)
        }
    }

    @Test func invalidRequestIsReportedAsNotSent() async {
        let outcome = await Self.fixture([]).run(ChappieTransportRequest(body: Array("[]".utf8)))
        #expect(outcome.transportFailure?.replaySafety == .notSent)
        #expect(outcome.report.replaySafety == .notSent)
    }

    @Test func missingCredentialSendsNoRequest() async {
        struct NoCredential: Error {}
        let fixture = TurnFixture([]) { $0.credential = { _ in throw NoCredential() } }
        let outcome = await fixture.run()
        #expect(outcome.error is NoCredential)
        #expect(outcome.report.replaySafety == .notSent)
    }

    @Test func aDivergenceHasDelivered() async {
        let fixture = TurnFixture([.broken(Event.text("a")), .webSocket(Event.text("b"))])
        let outcome = await fixture.run()
        #expect(outcome.clientError?.replaySafety == .outputDelivered)
        #expect(outcome.report.replaySafety == .outputDelivered)
    }

    /// The state of a turn when its consumer stops reading.
    enum Place: CaseIterable {
        case upgrading
        case postUnanswered
        case sent
        case streaming
        case streamingEvents

        func script(_ signal: Signal) -> [ScriptStep] {
            switch self {
            case .upgrading, .postUnanswered: [.hang(signal)]
            case .sent: [.opened(101), .request, .hang(signal)]
            case .streamingEvents: [.opened(101), .request, .text(Event.created), .hang(signal)]
            case .streaming: [.opened(101), .request, .text(Event.text("a")), .hang(signal)]
            }
        }

        var safety: ChappieReplaySafety {
            switch self {
            case .upgrading: .notSent
            case .postUnanswered, .sent, .streamingEvents: .sentNoOutput
            case .streaming: .outputDelivered
            }
        }
    }

    @Test(arguments: Place.allCases)
    func cancelledTurnReportsItsReplaySafety(_ place: Place) async {
        let signal = Signal()
        let fixture = TurnFixture([place.script(signal)]) {
            if place == .postUnanswered { $0.policy = .httpSSEOnly }
        }
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi"))
        let reading = Task { await TurnFixture.read(handle) }
        await signal.wait()
        handle.cancel()
        let outcome = await reading.value
        #expect(outcome.error is CancellationError)
        #expect(outcome.report.replaySafety == place.safety)
    }

    @Test func runningTurnReportsItsReplaySafety() async throws {
        let fixture = TurnFixture([.webSocket(Event.created, Event.text("a"), Event.completed)])
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi"))
        #expect(handle.report.replaySafety == .notSent)
        var events = handle.events.makeAsyncIterator()
        guard case .raw = try await events.next() else { return #expect(Bool(false)) }
        #expect(handle.report.replaySafety == .sentNoOutput)
        #expect(try await events.next() == .textDelta("a"))
        #expect(handle.report.replaySafety == .outputDelivered)
        #expect(try await events.next() == .completed)
        #expect(handle.report.replaySafety == .completed)
    }

    @Test func droppedStreamReportsItsReplaySafety() async throws {
        let fixture = TurnFixture([.webSocket(Event.text("a"), Event.text("b"))])
        let report: ChappieStreamReport
        do {
            let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi"))
            var events: AsyncThrowingStream<ChappieStreamEvent, any Error>.AsyncIterator? =
                handle.events.makeAsyncIterator()
            _ = try await events?.next()
            events = nil
            report = handle.report
        }
        #expect(report.replaySafety == .outputDelivered)
    }
}
