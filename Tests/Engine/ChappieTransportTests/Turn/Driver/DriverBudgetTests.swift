// Time budgets, on a clock that advances only when a caller waits.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct DriverBudgetTests {
    /// One attempt on one transport, and these budgets.
    private static func fixture(
        _ script: [ScriptStep], isHTTP: Bool = false, _ budgets: (inout ChappieTimeouts) -> Void
    ) -> TurnFixture {
        TurnFixture([script]) {
            $0.policy = ChappieStreamingTransportPolicy(
                prefersWebSocket: !isHTTP, maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
            $0.maxHTTPRetries = 0
            budgets(&$0.timeouts)
        }
    }

    @Test(arguments: [false, true])
    func theFirstEventHasABudget(isHTTP: Bool) async {
        let script: [ScriptStep] = isHTTP ? [.opened(200)] : [.opened(101)]
        let fixture = Self.fixture(script, isHTTP: isHTTP) { $0.firstEvent = .seconds(5) }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.code == .timedOut)
        #expect(outcome.transportFailure?.phase == .firstEvent)
        #expect(outcome.transportFailure?.transport == (isHTTP ? .httpSSE : .webSocket))
        #expect(outcome.transportFailure?.replaySafety == .sentNoOutput)
        #expect(outcome.outcomes == ["timeout.firstEvent"])
        #expect(fixture.clock.now - start == .seconds(5))
        #expect(fixture.transport.connections[0].calls.last == .cancel)
    }

    @Test(arguments: [(4_999, true), (5_000, true), (5_001, false)])
    func theFirstEventMayComeAtTheLastMoment(_ milliseconds: Int, _ isInTime: Bool) async {
        let fixture = Self.fixture(
            [.opened(101), .request, .pause(.milliseconds(milliseconds)), .text(Event.created), .text(Event.completed)]
        ) { $0.firstEvent = .seconds(5) }
        let outcome = await fixture.run()
        #expect((outcome.error == nil) == isInTime)
    }

    @Test func aKeepaliveIsAFirstSignOfLifeAndNoProgress() async {
        let fixture = Self.fixture([
            .opened(101), .request, .pause(.seconds(3)), .text(Event.keepalive), .pause(.seconds(6)),
            .text(Event.created), .text(Event.completed),
        ]) {
            $0.firstEvent = .seconds(5)
            $0.idle = .seconds(7)
            $0.progress = .seconds(8)
        }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["timeout.progress"])
        #expect(fixture.clock.now - start == .seconds(8))
    }

    @Test(arguments: [(4, nil), (5, "timeout.idle"), (6, "timeout.idle")])
    func keepalivesExtendTheIdleTimeout(seconds: Int, failure: String?) async {
        let fixture = Self.fixture([
            .opened(101), .request, .text(Event.text("a")), .pause(.seconds(4)), .text(Event.keepalive),
            .pause(.seconds(seconds)), .text(Event.completed),
        ]) { $0.idle = .seconds(5) }
        let outcome = await fixture.run()
        // Data that comes at the very moment counts.
        #expect(outcome.outcomes == [seconds == 5 ? "completed" : failure ?? "completed"])
    }

    @Test func keepalivesDoNotExtendTheProgressTimeout() async {
        let fixture = Self.fixture([
            .opened(101), .request, .text(Event.text("a")), .pause(.seconds(3)), .text(Event.keepalive),
            .pause(.seconds(3)), .text(Event.completed),
        ]) { $0.progress = .seconds(5) }
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["timeout.progress"])
        #expect(outcome.transportFailure?.phase == .stream)
        #expect(outcome.transportFailure?.replaySafety == .outputDelivered)
    }

    /// All events have arrived at once, and the consumer pauses between two of them.
    private static func texts(of fixture: TurnFixture, pausingFor pause: Duration) async -> TurnOutcome {
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
        var outcome = TurnOutcome()
        do {
            for try await event in handle.events {
                outcome.events.append(event)
                fixture.clock.advance(by: pause)
            }
        } catch {
            outcome.error = error
        }
        outcome.report = handle.report
        return outcome
    }

    @Test func aPeerThatNeverPausesIsNotExcusedFromTheTotal() async {
        let fixture = Self.fixture([
            .opened(101), .request, .text(Event.text("a")), .text(Event.text("b")), .text(Event.text("c")),
            .text(Event.completed),
        ]) { $0.total = .seconds(5) }
        let outcome = await Self.texts(of: fixture, pausingFor: .seconds(3))
        #expect(outcome.text == "ab")
        #expect(outcome.outcomes == ["timeout.total"])
    }

    /// Time passes whenever the clock is read, so that the total is over at each place at which the driver checks it.
    @Test(.timeLimit(.minutes(10)), arguments: [false, true], 1...3)
    func theTotalMayPassAtAnyCheck(isHTTP: Bool, eventCount: Int) async {
        let keepalive = isHTTP ? ScriptStep.body(Event.sse(Event.keepalive)) : .text(Event.keepalive)
        let completed = isHTTP ? ScriptStep.body(Event.sse(Event.completed)) : .text(Event.completed)
        // The time limits are checked behind a number of messages that depends on the time between two of them.
        let script =
            [.opened(isHTTP ? 200 : 101)] + (isHTTP ? [] : [.request]) + Array(repeating: keepalive, count: eventCount)
            + [completed]
        var ends: Set<String?> = []
        for ticks in 1...60 {
            let fixture = TurnFixture([script], clock: ManualClock(tick: .seconds(1))) {
                $0.policy = isHTTP ? .httpSSEOnly : ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0)
                // An event between the two messages would begin a new slice.
                $0.rawEvents = .none
                $0.timeouts.total = .seconds(ticks)
            }
            ends.insert(await fixture.run().outcomes.last ?? nil)
        }
        #expect(ends.isSuperset(of: ["timeout.total", "completed"]))
    }

    @Test(arguments: [Event.text("b"), "{", "[]", ""])
    func aCompleteResponseIsCompleteWhateverFollowsIt(data: String) async {
        let fixture = Self.fixture(
            [.opened(200), .body(Event.sse(Event.text("a")) + Event.sse(Event.completed) + Event.sse(data))],
            isHTTP: true
        ) { _ in }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(outcome.text == "a")
        #expect(outcome.outcomes == ["completed"])
    }

    @Test func keepalivesWithoutAPauseAreNotProgress() async {
        let fixture = Self.fixture([
            .opened(101), .request, .text(Event.text("a")), .text(Event.keepalive), .text(Event.text("b")),
            .text(Event.completed),
        ]) { $0.progress = .seconds(5) }
        let outcome = await Self.texts(of: fixture, pausingFor: .seconds(6))
        #expect(outcome.text == "a")
        #expect(outcome.outcomes == ["timeout.progress"])
    }

    @Test func commentsExtendTheIdleTimeout() async {
        let fixture = Self.fixture(
            [
                .opened(200), .body(Event.sse(Event.text("a"))), .pause(.seconds(3)), .body(": ping\n\n"),
                .pause(.seconds(3)), .body(Event.sse(Event.completed)),
            ], isHTTP: true
        ) { $0.idle = .seconds(5) }
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["completed"])
    }

    @Test func commentsDoNotExtendTheProgressTimeout() async {
        let fixture = Self.fixture(
            [
                .opened(200), .body(Event.sse(Event.text("a"))), .pause(.seconds(3)), .body(": ping\n\n"),
                .pause(.seconds(3)), .body(Event.sse(Event.completed)),
            ], isHTTP: true
        ) { $0.progress = .seconds(5) }
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["timeout.progress"])
    }

    @Test func everyEventRestartsTheIdleTimeout() async {
        let fixture = Self.fixture([
            .opened(101), .request, .text(Event.created), .pause(.seconds(4)), .text(Event.text("a")),
            .pause(.seconds(4)), .text(Event.text("b")), .pause(.seconds(4)), .text(Event.completed),
        ]) {
            $0.idle = .seconds(5)
            $0.firstEvent = .seconds(5)
        }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(outcome.text == "ab")
    }

    @Test func theTotalBudgetEndsAStream() async {
        let fixture = Self.fixture([
            .opened(101), .request, .text(Event.created), .pause(.seconds(4)), .text(Event.text("a")),
            .pause(.seconds(4)), .text(Event.completed),
        ]) { $0.total = .seconds(6) }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["timeout.total"])
        #expect(outcome.transportFailure?.code == .timedOut)
        #expect(fixture.clock.now - start == .seconds(6))
    }

    /// The turn ends with the failure before the wait, and not with the end of the wait.
    @Test(arguments: [(503, 20, 6), (429, 20, 6), (503, 6, 6), (429, 6, 6)])
    func aDelayThatWouldOutlastTheTotalIsNotBegun(status: Int, delay: Int, total: Int) async {
        let fixture = TurnFixture([.refusal(status, body: "busy", fields: ["retry-after": "\(delay)"])]) {
            $0.timeouts.total = .seconds(total)
            $0.policy = .httpSSEOnly
        }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.clientError == .httpError(status, "busy\nretry-after: \(delay)"))
        #expect(outcome.clientError?.unsafeMessage == "busy")
        #expect(outcome.report.replaySafety == .sentNoOutput)
        #expect(fixture.clock.now == start)
        #expect(fixture.transport.connections.count == 1)
    }

    @Test func aDelayThatFitsIntoTheTotalIsWaitedFor() async {
        let fixture = TurnFixture([
            .refusal(429, fields: ["retry-after": "5"]), .eventStream(Event.completed),
        ]) {
            $0.timeouts.total = .seconds(6)
            $0.policy = .httpSSEOnly
        }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(fixture.clock.now - start == .seconds(5))
    }

    @Test func lostConnectionIsReportedWhenNoTimeForARetryIsLeft() async {
        let lost = TransportEnd.failed(TransportFailure(phase: .stream, cause: .connectionLost))
        let fixture = TurnFixture([.eventStream(Event.text("a"), then: lost)]) {
            $0.timeouts.total = .milliseconds(50)
            $0.policy = .httpSSEOnly
        }
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.code == .connectionLost)
        #expect(outcome.transportFailure?.phase == .stream)
        #expect(outcome.transportFailure?.replaySafety == .outputDelivered)
    }

    @Test(arguments: [false, true])
    func refusalWithAnUnfinishedBodyIsReportedAtTheTimeout(isHTTP: Bool) async {
        let fixture = Self.fixture([.opened(403, fields: ["x-request-id": "q"]), .body("no")], isHTTP: isHTTP) {
            $0.firstEvent = .seconds(5)
        }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.clientError == .httpError(403, "no"))
        #expect(fixture.clock.now - start == .seconds(5))
    }

    /// The status code has arrived: the body has only the time limit of a ping's answer.
    @Test(arguments: [false, true], [nil, Duration.seconds(60)])
    func aRefusalWhoseBodyStopsIsNotWaitedFor(isHTTP: Bool, firstEvent: Duration?) async {
        let fixture = Self.fixture(
            [.opened(403), .body("a"), .pause(.seconds(9)), .body("b"), .pause(.seconds(9)), .body("c")],
            isHTTP: isHTTP
        ) { $0.firstEvent = firstEvent }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.clientError == .httpError(403, "ab"))
        #expect(fixture.clock.now - start == .seconds(10))
    }

    /// An event that is repeated under its number is not progress, and neither is an item that is announced again.
    @Test(arguments: [true, false])
    func repeatedOutputIsNotProgress(isNumbered: Bool) async {
        func added(_ number: Int) -> String {
            #"{"type":"response.output_item.added","\#(isNumbered ? "sequence_number" : "x")":\#(number),"#
                + #""output_index":0,"item":{"id":"m","type":"message","content":[]}}"#
        }
        let again = (0..<5).flatMap { _ in [ScriptStep.pause(.seconds(2)), .text(added(1))] }
        let fixture = Self.fixture(
            [
                .opened(101), .request,
                .text(#"{"type":"response.created","sequence_number":0,"response":{"id":"r"}}"#),
                .text(added(1)), .text(Event.text("a").replacing(#""delta":"#, with: #""sequence_number":2,"delta":"#)),
            ] + again
        ) { $0.progress = .seconds(5) }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["timeout.progress"])
        #expect(fixture.clock.now - start == .seconds(5))
    }

    @Test func withoutBudgetsOnlyTheConnectionEndsAWait() async {
        let fixture = Self.fixture([
            .opened(101), .request, .pause(.seconds(86_400)), .text(Event.text("a")), .pause(.seconds(86_400)),
            .text(Event.completed),
        ]) {
            $0.firstEvent = nil
            $0.idle = nil
            $0.progress = nil
        }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(fixture.transport.connections[0].waits.allSatisfy { $0 == nil })
    }

    @Test func theWaitIsForTheNearestBudget() async {
        let fixture = Self.fixture([
            .opened(101), .request, .pause(.seconds(1)), .text(Event.created), .pause(.seconds(1)),
            .text(Event.completed),
        ]) {
            $0.firstEvent = .seconds(5)
            $0.idle = .seconds(7)
            $0.total = .seconds(6)
        }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(fixture.transport.connections[0].waits == [.seconds(5), .seconds(5)])
    }

    @Test func eventsLeaveTheDeadlineUntilItsTimeHasCome() async {
        let fixture = Self.fixture([
            .opened(101), .request, .text(Event.text("a")), .pause(.seconds(1)), .text(Event.text("b")),
            .pause(.milliseconds(9_500)), .text(Event.completed),
        ]) {
            $0.idle = .seconds(10)
            $0.progress = .seconds(100)
        }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        // The second wait ends at the deadline of the first, and the third one is for what is left since then.
        #expect(fixture.transport.connections[0].waits == [.seconds(10), .seconds(9), .seconds(1)])
    }

    @Test func aPostponedDeadlinePassesAtItsTime() async {
        let fixture = Self.fixture([
            .opened(101), .request, .text(Event.text("a")), .pause(.seconds(1)), .text(Event.text("b")),
        ]) {
            $0.idle = .seconds(10)
            $0.progress = .seconds(100)
        }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["timeout.idle"])
        #expect(fixture.clock.now - start == .seconds(11))
        #expect(fixture.transport.connections[0].waits == [.seconds(10), .seconds(9), .seconds(1)])
    }
}
