// The server's signs of life and the response's progress: two clocks, neither of which replaces the other.

import Foundation
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieTransport

@Suite struct TwoClockTests {
    /// One attempt on one WebSocket.
    private static func fixture(
        _ steps: [ScriptStep], _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) -> TurnFixture {
        TurnFixture([[.opened(101), .request] + steps]) {
            $0.policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
            $0.rawEvents = .none
            $0.reportsDiagnostics = true
            configure(&$0)
        }
    }

    private static let stalled = ChappieStreamEvent.diagnostic(.init(kind: .stalled, transport: .webSocket))
    private static let connected = ChappieStreamEvent.diagnostic(.init(kind: .connected, transport: .webSocket))

    // MARK: Stalls

    @Test(arguments: [(29_999, false), (30_000, false), (30_001, true), (299_000, true)])
    func stallIsReportedOnce(milliseconds: Int, isStall: Bool) async {
        let fixture = Self.fixture([
            .text(Event.text("a")), .pause(.milliseconds(milliseconds)), .text(Event.text("b")), .text(Event.completed),
        ])
        let outcome = await fixture.run()
        #expect(
            outcome.events == [Self.connected, .textDelta("a")] + (isStall ? [Self.stalled] : [])
                + [.textDelta("b"), .completed])
    }

    @Test func everyStallIsReported() async {
        let fixture = Self.fixture([
            .text(Event.text("a")), .pause(.seconds(90)), .text(Event.text("b")), .pause(.seconds(31)),
            .text(Event.text("c")), .pause(.seconds(1)), .text(Event.completed),
        ])
        let outcome = await fixture.run()
        #expect(
            outcome.events == [
                Self.connected, .textDelta("a"), Self.stalled, .textDelta("b"), Self.stalled, .textDelta("c"),
                .completed,
            ])
    }

    @Test func stallIsReportedAtItsTimeout() async throws {
        let fixture = Self.fixture([.text(Event.text("a")), .pause(.seconds(90)), .text(Event.completed)]) {
            $0.timeouts.stall = .seconds(7)
        }
        var events = fixture.instance.stream(ChappieTransportRequest(prompt: "hi")).makeAsyncIterator()
        #expect(try await events.next() == Self.connected)
        #expect(try await events.next() == .textDelta("a"))
        let start = fixture.clock.now
        #expect(try await events.next() == Self.stalled)
        #expect(fixture.clock.now - start == .seconds(7))
        #expect(try await events.next() == .completed)
        #expect(fixture.clock.now - start == .seconds(90))
    }

    @Test func aServerThatDoesNotBeginStallsToo() async {
        let fixture = Self.fixture([.pause(.seconds(40)), .text(Event.created), .text(Event.completed)])
        let outcome = await fixture.run()
        #expect(outcome.events == [Self.connected, Self.stalled, .completed])
    }

    @Test func keepalivesDoNotHideAStall() async {
        let fixture = Self.fixture([
            .text(Event.text("a")), .pause(.seconds(20)), .text(Event.keepalive), .pause(.seconds(20)),
            .text(Event.keepalive), .pause(.seconds(20)), .text(Event.text("b")), .text(Event.completed),
        ])
        let outcome = await fixture.run()
        #expect(outcome.diagnostics.map(\.kind) == [.connected, .stalled])
    }

    @Test func eachAttemptMayStall() async {
        let quiet: [ScriptStep] = [.opened(101), .request, .pause(.seconds(40)), .text(Event.created)]
        let fixture = TurnFixture([
            quiet + [.ended(.closed(code: 1006, reason: ""))], quiet + [.text(Event.completed)],
        ]) { $0.reportsDiagnostics = true }
        let outcome = await fixture.run()
        #expect(
            outcome.diagnostics.map(\.kind) == [.connected, .stalled, .reconnecting, .connected, .stalled])
    }

    @Test func slowUpgradeIsNotAStall() async {
        let fixture = TurnFixture([[.pause(.seconds(100)), .opened(101), .request, .text(Event.completed)]]) {
            $0.reportsDiagnostics = true
            $0.policy.hedgeDelay = nil
        }
        let outcome = await fixture.run()
        #expect(outcome.diagnostics.map(\.kind) == [.connected])
    }

    @Test(arguments: [true, false])
    func stallIsNotReportedWithoutALimitOrListener(hasLimit: Bool) async {
        let fixture = Self.fixture([.text(Event.text("a")), .pause(.seconds(90)), .text(Event.completed)]) {
            if hasLimit { $0.reportsDiagnostics = false } else { $0.timeouts.stall = nil }
        }
        let outcome = await fixture.run()
        #expect(!outcome.events.contains(Self.stalled))
        #expect(outcome.error == nil)
    }

    // MARK: Progress

    @Test(arguments: [(24, true), (25, true), (26, false)])
    func eventsWithoutContentDoNotExtendTheProgressTimeout(seconds: Int, isInTime: Bool) async {
        let keepalives = (1...4).flatMap { _ in [ScriptStep.pause(.seconds(5)), .text(Event.keepalive), .heard] }
        let fixture = Self.fixture(
            [.text(Event.text("a"))] + keepalives + [.pause(.seconds(seconds - 20)), .text(Event.text("b"))]
                + [.text(Event.completed)]
        ) {
            $0.timeouts.progress = .seconds(25)
            $0.timeouts.idle = .seconds(10)
        }
        let outcome = await fixture.run()
        #expect(outcome.outcomes == [isInTime ? "completed" : "timeout.progress"])
    }

    /// The events that gateways send for a model that has stopped.
    private static let signsOfLife = [
        #"{"type":"ping"}"#, #"{"type":"response.in_progress","response":{"id":"r"}}"#,
        #"{"type":"response.queued","response":{"id":"r"}}"#, Event.text(""), Event.limits(primary: 3),
        #"{"type":"response.metadata","headers":{}}"#, Event.keepalive, #"{"type":"gateway.heartbeat"}"#,
        #"{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"i","delta":""}"#,
    ]

    @Test(arguments: Self.signsOfLife) func signsOfLifeDoNotExtendTheProgressTimeout(event: String) async {
        let signs = (1...5).flatMap { _ in [ScriptStep.pause(.seconds(5)), .text(event)] }
        let fixture = Self.fixture(
            [.text(Event.text("a"))] + signs + [.pause(.seconds(5)), .text(Event.text("b")), .text(Event.completed)]
        ) {
            $0.timeouts.progress = .seconds(22)
            $0.timeouts.idle = .seconds(10)
        }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["timeout.progress"])
        #expect(outcome.text == "a")
        #expect(fixture.clock.now - start == .seconds(22))
    }

    @Test(arguments: Self.signsOfLife) func signsOfLifeDoNotHideAStall(event: String) async {
        let signs = (1...3).flatMap { _ in [ScriptStep.pause(.seconds(12)), .text(event)] }
        let fixture = Self.fixture(
            [.text(Event.text("a"))] + signs + [.text(Event.text("b")), .text(Event.completed)])
        let outcome = await fixture.run()
        #expect(outcome.diagnostics.map(\.kind).contains(.stalled))
        #expect(outcome.outcomes == ["completed"])
    }

    @Test(arguments: [
        Event.text("b"), #"{"type":"response.output_item.added","output_index":1,"item":{"type":"reasoning"}}"#,
        #"{"type":"response.content_part.added","output_index":0,"content_index":1}"#,
        #"{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1}"#,
        #"{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"a"}"#,
        #"{"type":"response.output_text.done","output_index":0,"content_index":0}"#,
        #"{"type":"response.function_call_arguments.delta","output_index":2,"item_id":"i","delta":"{"}"#,
        #"{"type":"response.web_search_call.searching","output_index":1}"#,
        #"{"type":"response.not_known_yet.delta","output_index":1,"delta":"x"}"#,
    ])
    func contentIsProgress(event: String) async {
        let tool = #"{"type":"response.output_item.added","output_index":2,"item":{"type":"mcp_call","id":"i"}}"#
        let fixture = Self.fixture([
            .text(Event.text("a")), .text(tool), .pause(.seconds(20)), .text(event), .pause(.seconds(20)),
            .text(Event.completed),
        ]) { $0.timeouts.progress = .seconds(25) }
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["completed"])
    }

    /// Messages of another lane of the socket are not progress of this response.
    @Test func eventsOfAnotherLaneAreNoProgress() async {
        let other = #"{"type":"response.output_text.delta","stream_id":"other","delta":"x"}"#
        let others = (1...5).flatMap { _ in [ScriptStep.pause(.seconds(5)), .text(other), .heard] }
        let fixture = Self.fixture(
            [.text(Event.text("a"))] + others + [.pause(.seconds(1)), .text(Event.text("b")), .text(Event.completed)]
        ) {
            $0.timeouts.progress = .seconds(25)
            $0.timeouts.idle = .seconds(10)
        }
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["timeout.progress"])
        #expect(outcome.text == "a")
    }

    @Test func progressTimeoutEndsAStalledTurn() async {
        let fixture = Self.fixture([.text(Event.text("a")), .pause(.seconds(5_000)), .text(Event.completed)]) {
            $0.timeouts.idle = nil
        }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(fixture.clock.now - start == .seconds(1_800))
        #expect(outcome.transportFailure?.code == .timedOut)
        #expect(outcome.transportFailure?.replaySafety == .outputDelivered)
        #expect(outcome.diagnostics.map(\.kind) == [.connected, .stalled])
    }

    /// All events have arrived at once, and the consumer pauses between two of them.
    @Test(arguments: [nil, Duration.seconds(2), .seconds(5), .seconds(30)])
    func consumersPauseCountsTowardsTheProgressTimeout(stall: Duration?) async {
        let fixture = Self.fixture([
            .text(Event.text("a")), .text(Event.keepalive), .text(Event.text("b")), .text(Event.completed),
        ]) {
            $0.timeouts.progress = .seconds(5)
            $0.timeouts.stall = stall
        }
        var outcome = TurnOutcome()
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi"))
        do {
            for try await event in handle.events {
                outcome.events.append(event)
                if event == .textDelta("a") { fixture.clock.advance(by: .seconds(6)) }
            }
        } catch {
            outcome.error = error
        }
        #expect(outcome.text == "a")
        #expect(outcome.transportFailure?.code == .timedOut)
        #expect(handle.report.attempts.map(\.outcome) == ["timeout.progress"])
    }

    // MARK: Signs of life

    @Test(arguments: [true, false])
    func aPingOfTheServerIsASignOfLife(isHeard: Bool) async {
        let pause: [ScriptStep] = [.pause(.seconds(4))] + (isHeard ? [.heard] : [])
        let fixture = Self.fixture(
            [.text(Event.text("a"))] + pause + pause + pause + [.text(Event.text("b")), .text(Event.completed)]
        ) { $0.timeouts.idle = .seconds(5) }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.outcomes == [isHeard ? "completed" : "timeout.idle"])
        #expect(fixture.clock.now - start == (isHeard ? .seconds(12) : .seconds(5)))
    }

    @Test func quietBeginsWithTheLastSignOfLife() async {
        let fixture = Self.fixture([
            .text(Event.text("a")), .pause(.seconds(4)), .heard, .pause(.seconds(60)), .text(Event.completed),
        ]) { $0.timeouts.idle = .seconds(5) }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["timeout.idle"])
        #expect(fixture.clock.now - start == .seconds(9))
    }

    /// Pongs move `lastReceived` and not `lastHeard`: by policy they prolong `idle`, and `progress` never.
    @Test(arguments: [(false, 30, "timeout.idle"), (true, 30, "timeout.idle"), (true, 7, "timeout.progress")])
    func answersToOurPingsProlongIdleByPolicy(prolongs: Bool, progress: Int, outcome: String) async throws {
        let fixture = Self.fixture([.text(Event.text("a")), .pause(.seconds(60)), .text(Event.completed)]) {
            $0.timeouts.idle = .seconds(5)
            $0.timeouts.progress = .seconds(progress)
            $0.timeouts.pongsProlongIdle = prolongs
        }
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi"))
        var events = handle.events.makeAsyncIterator()
        #expect(try await events.next() == Self.connected)
        #expect(try await events.next() == .textDelta("a"))
        let connection = fixture.transport.connections[0]
        var statistics = connection.statistics
        statistics.lastReceived = .seconds(3)
        connection.setStatistics(statistics)
        let start = fixture.clock.now
        await #expect(throws: ChappieClientError.self) { while try await events.next() != nil {} }
        #expect(fixture.clock.now - start == .seconds(prolongs ? min(8, progress) : 5))
        #expect(handle.report.attempts.map(\.outcome) == [outcome])
    }

    // MARK: A stopped process

    /// Bytes that arrived while the process was stopped are read first, although the loop has not read them when a
    /// waiter is resumed.
    @Test(arguments: [[], [.text(Event.keepalive)], [.text(Event.text(""))]] as [[ScriptStep]])
    func bytesAfterAProcessStopCount(signs: [ScriptStep]) async {
        let fixture = Self.fixture(
            [.text(Event.text("a")), .stopped(.seconds(400)), .pause(.milliseconds(100))] + signs
                + [.text(Event.text("b")), .text(Event.completed)]
        ) {
            $0.timeouts.idle = .seconds(60)
            $0.timeouts.progress = .seconds(90)
        }
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["completed"])
        #expect(outcome.text == "ab")
    }

    @Test func suspensionDoesNotCountTowardsTheFirstEventTimeout() async {
        let fixture = Self.fixture([
            .stopped(.seconds(400)), .pause(.seconds(4)), .text(Event.text("a")), .text(Event.completed),
        ]) { $0.timeouts.firstEvent = .seconds(5) }
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["completed"])
    }

    @Test func silenceBehindAStopHasItsBudget() async {
        let fixture = Self.fixture([
            .text(Event.text("a")), .stopped(.seconds(400)), .pause(.seconds(61)), .text(Event.completed),
        ]) { $0.timeouts.idle = .seconds(60) }
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["timeout.idle"])
        #expect(fixture.clock.now - start == .seconds(460))
    }

    @Test func suspensionCountsTowardsTheTotalTimeout() async {
        let fixture = Self.fixture([
            .text(Event.text("a")), .stopped(.seconds(400)), .pause(.seconds(1)), .text(Event.completed),
        ]) { $0.timeouts.total = .seconds(60) }
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["timeout.total"])
    }

    // MARK: A peer that never pauses

    /// Reads with a clock that advances at each reading, as time does while there is always input.
    private static func read(
        _ steps: [ScriptStep], by step: Duration = .milliseconds(5), clock: ManualClock = ManualClock(),
        _ configure: (inout ChappieTimeouts) -> Void
    ) async -> TurnOutcome {
        guard let url = URL(string: "https://api.example/v1") else { preconditionFailure("not a URL") }
        var configuration = ChappieTransportConfiguration(baseURL: url)
        configuration.policy = .httpSSEOnly
        configuration.maxHTTPRetries = 0
        configuration.rawEvents = .none
        configure(&configuration.timeouts)
        let instance = ChappieStreamingTransport(
            configuration: configuration, transport: ScriptedTransport([steps], clock: clock),
            clock: ClientClock(
                moment: {
                    clock.advance(by: step)
                    return Moment(nanoseconds: clock.now.nanoseconds)
                }, fraction: { 0.5 }, sleep: { _ in }))
        return await TurnFixture.read(instance.streamHandle(ChappieTransportRequest(prompt: "hi")))
    }

    private static let comments = [ScriptStep](repeating: .body(": c\n\n"), count: 20_000)

    @Test func continuousCommentsAreNotAFirstEvent() async {
        let outcome = await Self.read(
            [.opened(200)] + Self.comments + [.body(Event.sse(Event.text("a"))), .body(Event.sse(Event.completed))]
        ) { $0.firstEvent = .seconds(5) }
        #expect(outcome.outcomes == ["timeout.firstEvent"])
    }

    @Test func continuousCommentsDoNotExtendTheProgressTimeout() async {
        let outcome = await Self.read(
            [.opened(200), .body(Event.sse(Event.text("a")))] + Self.comments + [.body(Event.sse(Event.completed))]
        ) { $0.progress = .seconds(5) }
        #expect(outcome.outcomes == ["timeout.progress"])
        #expect(outcome.text == "a")
    }

    /// A budget that ends during reading is noticed so soon that it does not look like a stopped process.
    @Test(arguments: 0..<24)
    func slowReadingIsNotAProcessStop(place: Int) async {
        let budget = Duration.milliseconds(5_000 + place * 50)
        let clock = ManualClock()
        let start = clock.now
        let outcome = await Self.read(
            [.opened(200), .body(Event.sse(Event.text("a")))] + Self.comments, by: .milliseconds(90), clock: clock
        ) { $0.progress = budget }
        #expect(outcome.outcomes == ["timeout.progress"])
        #expect(clock.now - start < budget + .seconds(3))
    }

    /// Bytes that were available when reading began are read for half a second before they count as late.
    @Test func availableBytesAreReadBeforeABudgetIsJudged() async {
        let outcome = await Self.read(
            [.opened(200)] + [ScriptStep](repeating: .body(": c\n\n"), count: 50)
                + [.body(Event.sse(Event.text("a"))), .body(Event.sse(Event.completed))]
        ) { $0.firstEvent = .milliseconds(20) }
        #expect(outcome.outcomes == ["completed"])
    }

    @Test func aKeptConnectionCountsFromItsOwnBeginning() async {
        let fixture = Self.fixture([.pause(.seconds(100)), .text(Event.created), .text(Event.completed)]) {
            $0.timeouts.idle = .seconds(5)
            $0.timeouts.firstEvent = nil
        }
        _ = await fixture.run()
        fixture.transport.connections[0].append([
            .request, .text(Event.created), .text(Event.text("a")), .pause(.seconds(4)), .heard, .pause(.seconds(4)),
            .heard, .pause(.seconds(60)), .text(Event.completed),
        ])
        let start = fixture.clock.now
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["timeout.idle"])
        #expect(fixture.clock.now - start == .seconds(13))
    }

    @Test func theTimeSinceTheLastByteOfAKeptConnectionIsExact() async {
        let fixture = Self.fixture([.pause(.seconds(100)), .text(Event.created), .text(Event.completed)]) {
            $0.timeouts.firstEvent = nil
        }
        _ = await fixture.run()
        fixture.clock.advance(by: .seconds(1))
        let connection = fixture.transport.connections[0]
        var statistics = connection.statistics
        statistics.lastReceived = .seconds(104)
        connection.setStatistics(statistics)
        connection.append([
            .request, .text(Event.created), .text(Event.text("a")), .pause(.seconds(9)),
            .ended(.closed(code: 1006, reason: "")),
        ])
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.code == .webSocketClosed)
        #expect(outcome.transportFailure?.details.sinceLastByte == .seconds(6))
    }
}
