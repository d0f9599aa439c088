// A WebSocket between two turns: kept, checked for liveness, rotated, replaced.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct IdleSocketTests {
    /// An instance that has had one turn, and whose next connection answers "fresh".
    private static func afterOneTurn(
        _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async -> TurnFixture {
        let fixture = TurnFixture([
            .webSocket(Event.completed), .webSocket(Event.text("fresh"), Event.completed),
            .webSocket(Event.text("third"), Event.completed),
        ]) {
            $0.rawEvents = .none
            configure(&$0)
        }
        _ = await fixture.run()
        return fixture
    }

    private static let answer: [ScriptStep] = [.request, .text(Event.text("kept")), .text(Event.completed)]

    /// The second turn, with the steps of the kept connection.
    private static func second(_ fixture: TurnFixture, _ steps: [ScriptStep]) async -> TurnOutcome {
        fixture.transport.connections[0].append(steps)
        return await fixture.run()
    }

    private static func pings(_ fixture: TurnFixture) -> Int { fixture.calls(0).count { $0 == .ping } }

    // MARK: Alive

    @Test(arguments: [(0, false), (4_999, false), (5_000, true), (600_000, true)])
    func connectionIdleForFiveSecondsIsPinged(milliseconds: Int, isAsked: Bool) async {
        let fixture = await Self.afterOneTurn()
        fixture.clock.advance(by: .milliseconds(milliseconds))
        let outcome = await Self.second(fixture, (isAsked ? [.pong] : []) + Self.answer)
        #expect(outcome.text == "kept")
        #expect(outcome.report.attempts.map(\.reusedConnection) == [true])
        #expect(Self.pings(fixture) == (isAsked ? 1 : 0))
        #expect(fixture.transport.requests.count == 1)
        #expect(fixture.transport.connections[0].messages.count == 2)
    }

    @Test func theDelayIsConfigurable() async {
        for (delay, isAsked) in [(Duration?.none, false), (.seconds(90), false), (.seconds(60), true), (.zero, true)] {
            let fixture = await Self.afterOneTurn { $0.policy.livenessCheckDelay = delay }
            fixture.clock.advance(by: .seconds(60))
            let outcome = await Self.second(fixture, (isAsked ? [.pong] : []) + Self.answer)
            #expect(outcome.text == "kept")
            #expect(Self.pings(fixture) == (isAsked ? 1 : 0))
        }
    }

    @Test func recentlyReceivedBytesMakeTheCheckUnnecessary() async {
        let fixture = await Self.afterOneTurn()
        fixture.clock.advance(by: .seconds(60))
        var statistics = fixture.transport.connections[0].statistics
        statistics.lastReceived = .seconds(58)
        fixture.transport.connections[0].setStatistics(statistics)
        let outcome = await Self.second(fixture, Self.answer)
        #expect(outcome.text == "kept")
        #expect(Self.pings(fixture) == 0)
    }

    @Test(arguments: [(1, true), (1_999, true), (2_000, true), (2_001, false)])
    func livenessAnswerWithinTwoSecondsKeepsTheSocket(milliseconds: Int, isInTime: Bool) async {
        let fixture = await Self.afterOneTurn()
        fixture.clock.advance(by: .seconds(60))
        let outcome = await Self.second(fixture, [.pause(.milliseconds(milliseconds)), .pong] + Self.answer)
        #expect(outcome.text == (isInTime ? "kept" : "fresh"))
        #expect(outcome.error == nil)
    }

    /// The behaviours of a connection that does not answer.
    @Test(arguments: [
        [], [ScriptStep.pause(.seconds(1)), .text(Event.text("late"))],
        [.pause(.seconds(1)), .ended(.closed(code: 1001, reason: ""))],
        [.pause(.seconds(1)), .ended(.failed(TransportFailure(phase: .stream, cause: .connectionLost)))],
        [.pause(.seconds(1)), .binary([0]), .pong],
    ])
    func socketWithoutALivenessAnswerIsReplacedWithoutARetry(_ steps: [ScriptStep]) async {
        let fixture = await Self.afterOneTurn {
            $0.policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
        }
        fixture.clock.advance(by: .seconds(60))
        let start = fixture.clock.now
        let outcome = await Self.second(fixture, steps + Self.answer)
        #expect(outcome.text == "fresh")
        #expect(outcome.outcomes == ["completed"])
        #expect(outcome.report.attempts.map(\.reusedConnection) == [false])
        #expect(outcome.report.reconnects == 0)
        #expect(fixture.clock.sleeps.isEmpty)
        #expect(fixture.clock.now - start == (steps.isEmpty ? .seconds(2) : .seconds(1)))
        #expect(fixture.calls(0).last == .cancel)
        #expect(fixture.transport.connections[0].messages.count == 1)
        #expect(fixture.sentRequestCount == 2)
    }

    @Test(arguments: DriverCancellationTests.Canceller.allCases)
    func cancellationDuringTheLivenessCheckOpensNoConnection(by canceller: DriverCancellationTests.Canceller) async {
        let fixture = await Self.afterOneTurn()
        fixture.clock.advance(by: .seconds(60))
        let signal = Signal()
        fixture.transport.connections[0].append([.hang(signal)])
        let outcome = await fixture.outcome(cancelledBy: canceller, at: signal)
        #expect(outcome.error is CancellationError)
        #expect(fixture.transport.requests.count == 1)
        #expect(fixture.calls(0).contains(.cancel))
        #expect(outcome.report.replaySafety == .notSent)
    }

    @Test func theTotalTimeEndsTheCheckToo() async {
        let fixture = await Self.afterOneTurn { $0.timeouts.total = .seconds(1) }
        fixture.clock.advance(by: .seconds(60))
        let start = fixture.clock.now
        let outcome = await Self.second(fixture, [])
        #expect(outcome.transportFailure?.code == .timedOut)
        #expect(outcome.report.replaySafety == .notSent)
        #expect(fixture.clock.now - start == .seconds(1))
    }

    @Test func idleParkedUpgradeIsPinged() async {
        let fixture = TurnFixture([
            [], .held(Event.completed), .webSocket(Event.text("fresh"), Event.completed),
        ])
        _ = await fixture.run()
        fixture.transport.connections[0].append([.opened(101), .pong] + Self.answer)
        fixture.clock.advance(by: .seconds(60))
        let outcome = await fixture.run()
        #expect(outcome.text == "kept")
        #expect(Self.pings(fixture) == 1)
    }

    // MARK: Age

    @Test(arguments: [
        (Duration?.some(.seconds(3_300)), Duration.milliseconds(3_299_999), true),
        (.seconds(3_300), .seconds(3_300), false), (.seconds(3_300), .milliseconds(3_300_001), false),
        (.seconds(1), .seconds(2), false), (nil, .seconds(90_000), true),
    ])
    func connectionAtItsMaximumAgeIsReplacedBetweenTurns(_ limit: Duration?, _ age: Duration, _ isKept: Bool) async {
        let fixture = await Self.afterOneTurn {
            $0.policy.maximumConnectionAge = limit
            $0.policy.livenessCheckDelay = nil
        }
        fixture.clock.advance(by: age)
        let outcome = await Self.second(fixture, Self.answer)
        #expect(outcome.text == (isKept ? "kept" : "fresh"))
        #expect(outcome.report.reconnects == 0)
        if !isKept { #expect(fixture.calls(0).last == .close) }
    }

    @Test func theDefaultIs55Minutes() {
        #expect(ChappieStreamingTransportPolicy.default.maximumConnectionAge == .seconds(55 * 60))
        #expect(ChappieStreamingTransportPolicy.default.livenessCheckDelay == .seconds(5))
        #expect(ChappieTimeouts().livenessCheck == .seconds(2))
    }

    @Test func aConnectionAgesOverItsTurns() async {
        let fixture = await Self.afterOneTurn { $0.policy.livenessCheckDelay = nil }
        fixture.clock.advance(by: .seconds(3_000))
        #expect(await Self.second(fixture, Self.answer).text == "kept")
        fixture.clock.advance(by: .seconds(300))
        #expect(await Self.second(fixture, Self.answer).text == "fresh")
    }

    // MARK: Replacement

    @Test(arguments: [
        TransportEnd.closed(code: 1000, reason: ""), .closed(code: 1006, reason: ""), .closed(code: 1012, reason: ""),
        .failed(TransportFailure(phase: .stream, cause: .connectionLost)),
    ])
    func aLentSocketThatEndsBeforeAnyEventIsReplaced(_ end: TransportEnd) async {
        let fixture = await Self.afterOneTurn {
            $0.policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
        }
        let outcome = await Self.second(fixture, [.request, .ended(end)])
        #expect(outcome.text == "fresh")
        #expect(outcome.outcomes == ["replaced", "completed"])
        #expect(outcome.report.attempts.map(\.reusedConnection) == [true, false])
        #expect(outcome.report.reconnects == 0)
        #expect(fixture.clock.sleeps.isEmpty)
    }

    @Test(arguments: [Event.created, Event.keepalive])
    func reusedSocketThatEndsAfterAnEventIsAFailedAttempt(_ event: String) async {
        let fixture = await Self.afterOneTurn()
        let outcome = await Self.second(fixture, [.request, .text(event), .ended(.closed(code: 1000, reason: ""))])
        #expect(outcome.text == "fresh")
        #expect(outcome.outcomes == ["ws.close.1000", "completed"])
        #expect(outcome.report.reconnects == 1)
        #expect(fixture.clock.sleeps == [.milliseconds(200)])
    }

    @Test func aReplacementThatEndsAsWellIsAFailedAttempt() async {
        let fixture = TurnFixture([
            .webSocket(Event.completed), .broken(), .webSocket(Event.text("third"), Event.completed),
        ])
        _ = await fixture.run()
        let outcome = await Self.second(fixture, [.request, .ended(.closed(code: 1006, reason: ""))])
        #expect(outcome.text == "third")
        #expect(outcome.outcomes == ["replaced", "ws.close.1006", "completed"])
        #expect(outcome.report.attempts.map(\.number) == [1, 1, 2])
        #expect(outcome.report.reconnects == 1)
        #expect(fixture.clock.sleeps == [.milliseconds(200)])
    }

    @Test func aReplacementIsHedgedLikeAnyUpgrade() async {
        let fixture = TurnFixture([.webSocket(Event.completed), [], .held(Event.text("http"), Event.completed)])
        _ = await fixture.run()
        let outcome = await Self.second(fixture, [.request, .ended(.closed(code: 1006, reason: ""))])
        #expect(outcome.text == "http")
        #expect(outcome.outcomes == ["replaced", "parked", "completed"])
        #expect(fixture.sentRequestCount == 3)
    }

    @Test(arguments: [
        ScriptStep.text(Event.failed(code: "server_error")), .text("{"), .binary([0]),
    ])
    func invalidEventOnAnIdleSocketIsRetriedAndNotReplaced(_ step: ScriptStep) async {
        let fixture = await Self.afterOneTurn()
        let outcome = await Self.second(fixture, [.request, step])
        #expect(outcome.text == "fresh")
        #expect(outcome.outcomes.first != "replaced")
        #expect(outcome.report.reconnects == 1)
    }

    // MARK: Size

    @Test(arguments: [[], [Event.created]])
    func aMessageThatIsTooBigForTheServerGoesOverHTTPAndIsNotSticky(_ events: [String]) async {
        let script = [ScriptStep.opened(101), .request] + events.map { .text($0) }
        let fixture = TurnFixture([
            script + [.ended(.closed(code: 1009, reason: "too big"))], .eventStream(Event.text("a"), Event.completed),
            .webSocket(Event.text("b"), Event.completed),
        ]) { $0.reportsDiagnostics = true }
        let first = await fixture.run()
        #expect(first.text == "a")
        #expect(first.outcomes == ["ws.close.1009", "completed"])
        #expect(first.report.fallbackReason == "ws.close.1009")
        #expect(first.report.attempts.map(\.rung) == [nil, .sentAgain])
        #expect(fixture.clock.sleeps.isEmpty)
        let second = await fixture.run()
        #expect(second.text == "b")
        #expect(second.report.attempts.map(\.transport) == [.webSocket])
    }

    @Test func aLentSocketThatRefusesTheSizeIsNotReplaced() async {
        let fixture = TurnFixture([.webSocket(Event.completed), .eventStream(Event.text("a"), Event.completed)])
        _ = await fixture.run()
        let outcome = await Self.second(fixture, [.request, .ended(.closed(code: 1009, reason: ""))])
        #expect(outcome.text == "a")
        #expect(outcome.outcomes == ["ws.close.1009", "completed"])
        #expect(fixture.transport.requests.map(\.isWebSocket) == [true, false])
    }

    @Test(arguments: [(16_699_999, false), (16_700_000, true), (16_700_001, true)])
    func messageNearTheServersSizeLimitIsSentOverHTTP(byteCount: Int, isHTTP: Bool) async {
        let empty = #"{"type":"response.create","x":""}"#
        let padding = [UInt8](repeating: UInt8(ascii: "a"), count: byteCount - empty.utf8.count)
        let request = ChappieTransportRequest(body: Array(#"{"x":""#.utf8) + padding + Array(#""}"#.utf8))
        let fixture = TurnFixture([
            isHTTP ? .eventStream(Event.text("a"), Event.completed) : .webSocket(Event.text("a"), Event.completed),
            .webSocket(Event.text("b"), Event.completed),
        ]) { $0.reportsDiagnostics = true }
        let first = await fixture.run(request)
        #expect(first.text == "a")
        #expect(first.report.attempts.map(\.transport) == [isHTTP ? .httpSSE : .webSocket])
        #expect(first.report.fallbackReason == (isHTTP ? "request.too-large" : nil))
        #expect(fixture.transport.connections[0].messages.map(\.utf8.count) == (isHTTP ? [] : [byteCount]))
        guard isHTTP else { return }
        let second = await fixture.run()
        #expect(second.report.attempts.map(\.transport) == [.webSocket])
    }

    @Test func aKeptSocketSurvivesATurnThatCannotUseIt() async {
        let fixture = TurnFixture([.webSocket(Event.completed), .eventStream(Event.text("a"), Event.completed)])
        _ = await fixture.run()
        #expect(await fixture.run(CursorResumeTests.request).text == "a")
        #expect(await Self.second(fixture, Self.answer).text == "kept")
    }
}
