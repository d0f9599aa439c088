// The wire's events that reach the consumer, and their form.

import Foundation
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct DriverOutputTests {
    private static let events = [
        Event.created, Event.text("a"), #"{"type":"response.brand_new","x":1}"#, Event.call("{}"), Event.completed,
    ]

    private static func fixture(_ rawEvents: ChappieRawEvents) -> TurnFixture {
        TurnFixture([[.opened(101), .request] + Self.events.map { .text($0) }]) { $0.rawEvents = rawEvents }
    }

    @Test func unsurfacedEventsArePassedOnUnparsed() async {
        let outcome = await Self.fixture(.unsurfaced).run()
        #expect(
            outcome.events == [
                .raw(type: "response.created", payload: Self.events[0]), .textDelta("a"),
                .raw(type: "response.brand_new", payload: Self.events[2]),
                .raw(type: "response.output_item.done", payload: Self.events[3]), .completed,
            ])
    }

    @Test(arguments: [false, true]) func aHandleHasTheCompleteResponse(overHTTP: Bool) async throws {
        let end =
            #"{"type":"response.completed","response":{"id":"r","status":"completed","model":"m-1","#
            + #""service_tier":"flex","usage":{"input_tokens":7,"input_tokens_details":{"cached_tokens":5},"#
            + #""output_tokens":3,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":10}}}"#
        let events = [Event.created, Event.text("a"), end]
        let fixture =
            overHTTP
            ? TurnFixture([
                [.opened(200, fields: ["content-type": "text/event-stream", "x-request-id": "q"])]
                    + events.map { .body(Event.sse($0)) }
            ]) { $0.policy = .httpSSEOnly }
            : TurnFixture([[.opened(101, fields: ["x-request-id": "q"]), .request] + events.map { .text($0) }])
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
        for try await event in handle.events where event != .completed { #expect(handle.response == nil) }
        var expected = ChappieResponse(id: "r", status: "completed")
        expected.model = "m-1"
        expected.serviceTier = "flex"
        expected.requestID = "q"
        expected.usage = ChappieTokenUsage(
            inputTokens: 7, cachedInputTokens: 5, outputTokens: 3, reasoningTokens: 2, totalTokens: 10)
        #expect(handle.response == expected)
    }

    @Test func aTurnThatFailsHasNoCompleteResponse() async {
        let handle = TurnFixture([.webSocket(Event.text("a"), Event.incomplete)]).instance
            .streamHandle(ChappieTransportRequest(prompt: "hi", model: "m"))
        #expect(await TurnFixture.read(handle).clientError?.tag == "response.incomplete")
        #expect(handle.response == nil)
    }

    @Test func rawEventPrecedesItsDerivedEvents() async {
        let outcome = await Self.fixture(.all).run()
        #expect(
            outcome.events == [
                .raw(type: "response.created", payload: Self.events[0]),
                .raw(type: "response.output_text.delta", payload: Self.events[1]), .textDelta("a"),
                .raw(type: "response.brand_new", payload: Self.events[2]),
                .raw(type: "response.output_item.done", payload: Self.events[3]),
                .raw(type: "response.completed", payload: Self.events[4]), .completed,
            ])
    }

    @Test func noRawEventsAreDeliveredWhenDisabled() async {
        let outcome = await Self.fixture(.none).run()
        #expect(outcome.events == [.textDelta("a"), .completed])
    }

    @Test(arguments: [ChappieRawEvents.unsurfaced, .all])
    func aReplaysRawEventsAreWithheldByTheirNumber(_ rawEvents: ChappieRawEvents) async {
        let fixture = TurnFixture([
            .broken(Event.created, Event.text("a"), Event.call("{}")),
            .webSocket(Event.created, Event.text("a"), Event.call("{}"), Event.text("b"), Event.completed),
        ]) { $0.rawEvents = rawEvents }
        let outcome = await fixture.run()
        #expect(outcome.text == "ab")
        let all = [
            "response.created", "response.output_text.delta", "response.output_item.done",
            "response.output_text.delta", "response.completed",
        ]
        #expect(
            outcome.rawTypes
                == (rawEvents == .all ? all : ["response.created", "response.output_item.done"]))
    }

    @Test func anotherToolCallInAReplayIsADivergence() async {
        let fixture = TurnFixture([
            .broken(Event.text("a"), Event.call("1")), .webSocket(Event.text("a"), Event.call("2"), Event.completed),
        ])
        let outcome = await fixture.run()
        #expect(outcome.clientError == .streamingTransportReplayDiverged("a"))
        #expect(outcome.rawTypes == ["response.output_item.done"])
    }

    @Test func everyKindOfDeltaHasItsEvent() async {
        let fixture = TurnFixture([
            .webSocket(
                #"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"s"}"#,
                #"{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"r"}"#,
                #"{"type":"response.refusal.delta","output_index":1,"content_index":0,"delta":"no"}"#,
                Event.text(""), Event.completed)
        ])
        let outcome = await fixture.run()
        #expect(outcome.events == [.reasoningDelta("s"), .reasoningDelta("r"), .refusalDelta("no"), .completed])
    }

    @Test func objectsWithoutATypeAreSkipped() async {
        let fixture = TurnFixture([.webSocket("{}", Event.text("a"), #"{"a":1}"#, Event.completed)])
        let outcome = await fixture.run()
        #expect(outcome.events == [.textDelta("a"), .completed])
    }

    // MARK: Event streams

    private static let stream = Array(
        ("\u{FEFF}: hello\r\nevent: x\r\ndata: \(Event.text("gr\u{FC}n"))\r\n\r\n" + Event.sse(Event.text("😀"))
            + "id: 1\n\n" + Event.sse(Event.completed) + "data: [DONE]\n\n").utf8)

    @Test(arguments: 0...Self.stream.count)
    func anEventStreamMayBeCutAnywhere(at cut: Int) async {
        let fixture = TurnFixture([
            [
                .opened(200), .bodyBytes(Array(Self.stream[..<cut])), .bodyBytes(Array(Self.stream[cut...])),
                .ended(.complete),
            ]
        ]) { $0.policy = .httpSSEOnly }
        let outcome = await fixture.run()
        #expect(outcome.events == [.textDelta("grün"), .textDelta("😀"), .completed])
    }

    @Test func anEventStreamMayComeByteByByte() async {
        let fixture = TurnFixture([[.opened(200)] + Self.stream.map { .bodyBytes([$0]) } + [.ended(.complete)]]) {
            $0.policy = .httpSSEOnly
        }
        let outcome = await fixture.run()
        #expect(outcome.events == [.textDelta("grün"), .textDelta("😀"), .completed])
    }

    @Test func aSentinelIsNotTheEndOfAResponse() async {
        let fixture = TurnFixture([
            [.opened(200), .body("data: [DONE]\n\n"), .body(Event.sse(Event.text("a"))), .ended(.complete)]
        ]) {
            $0.policy = .httpSSEOnly
            $0.maxHTTPRetries = 0
        }
        let outcome = await fixture.run()
        #expect(outcome.events == [.textDelta("a")])
        #expect(outcome.transportFailure?.code == .endedEarly)
    }

    @Test(arguments: [
        ("text/event-stream", true), ("Text/Event-Stream; charset=utf-8", true), ("text/event-stream;x", true),
        ("application/json", false), ("text/event-streams", false), ("", false),
    ])
    func theContentTypeIsChecked(_ contentType: String, _ isAccepted: Bool) async {
        let fixture = TurnFixture([
            [
                .opened(200, fields: ["content-type": contentType]), .body(Event.sse(Event.completed)),
                .ended(.complete),
            ]
        ]) { $0.policy = .httpSSEOnly }
        let outcome = await fixture.run()
        #expect((outcome.error == nil) == isAccepted)
        if !isAccepted { #expect(outcome.transportFailure?.code == .unexpectedContentType) }
    }

    @Test(arguments: [false, true])
    func anEventMayBeAsLargeAsTheLimit(isHTTP: Bool) async {
        for excess in [-1, 0, 1] {
            let fixture = TurnFixture([isHTTP ? .eventStream(Event.completed) : .webSocket(Event.completed)]) {
                $0.limits.eventByteCount = Event.completed.utf8.count - excess
                if isHTTP { $0.policy = .httpSSEOnly }
            }
            let outcome = await fixture.run()
            #expect((outcome.error == nil) == (excess <= 0), "\(excess)")
            guard excess > 0 else { continue }
            #expect(outcome.transportFailure?.code == .eventTooLarge)
            #expect(outcome.transportFailure?.details.limit == Event.completed.utf8.count - excess)
        }
    }

    // MARK: Usage limits

    @Test func newsAboutUsageLimitsIsMerged() async {
        let fixture = TurnFixture([
            .webSocket(
                Event.limits(primary: 10, plan: "plus"), Event.limits(secondary: 20), Event.limits(primary: 11),
                Event.completed)
        ])
        let outcome = await fixture.run()
        #expect(outcome.usageLimits.map { $0.primary?.usedPercent } == [10, 10, 11])
        #expect(outcome.usageLimits.map { $0.secondary?.usedPercent } == [nil, 20, 20])
        #expect(outcome.usageLimits.map(\.planType) == ["plus", "plus", "plus"])
    }

    @Test func unchangedUsageLimitsAreNotDelivered() async {
        let fixture = TurnFixture([
            .webSocket(
                Event.limits(), Event.limits(primary: 10), Event.limits(),
                #"{"type":"codex.rate_limits","limit_name":"other","rate_limits":{"primary":{"used_percent":1}}}"#,
                Event.completed)
        ])
        let outcome = await fixture.run()
        #expect(outcome.usageLimits.map { $0.primary?.usedPercent } == [10])
    }

    @Test func theFieldsOfAnEventStreamTellUsageLimits() async {
        let fields = [
            "content-type": "text/event-stream", "x-codex-primary-used-percent": "40",
            "x-codex-primary-window-minutes": "300", "x-codex-primary-reset-at": "1700000000",
            "x-codex-plan-type": "pro",
        ]
        let fixture = TurnFixture([
            [.opened(200, fields: fields), .body(Event.sse(Event.limits(secondary: 5))), .ended(.complete)],
            .eventStream(Event.completed),
        ]) { $0.policy = .httpSSEOnly }
        let outcome = await fixture.run()
        #expect(outcome.usageLimits.map { $0.primary?.usedPercent } == [40, 40])
        #expect(outcome.usageLimits.map { $0.secondary?.usedPercent } == [nil, 5])
        #expect(outcome.usageLimits.first?.primary?.windowMinutes == 300)
        #expect(outcome.usageLimits.first?.primary?.resetsAt == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(outcome.usageLimits.first?.planType == "pro")
    }

    /// Milliseconds in place of seconds give the year 506713; other values are beyond every date.
    @Test(arguments: ["15928371200000", "9223372036854775807", "1e30"])
    func usageLimitWithoutAResetTimeIsAnError(resetsAt: String) async {
        let fixture = TurnFixture([
            .webSocket(
                #"{"type":"error","status":429,"error":{"type":"usage_limit_reached","message":"m","#
                    + #""resets_at":\#(resetsAt)}}"#)
        ])
        let outcome = await fixture.run()
        guard case .usageLimitReached? = outcome.clientError else {
            Issue.record("it is a usage limit: \(String(describing: outcome.error))")
            return
        }
        let words = outcome.clientError?.safeDescription ?? ""
        #expect(words.contains("Wait until the limit is reset, or choose another plan."))
    }

    @Test func aReachedLimitHasTheWindowsThatWereSeenBefore() async {
        let error =
            #"{"type":"error","status":429,"error":{"type":"usage_limit_reached","message":"m","plan_type":"plus","#
            + #""resets_in_seconds":9000}}"#
        let fixture = TurnFixture([.webSocket(Event.limits(primary: 100, secondary: 50), error)])
        let outcome = await fixture.run()
        guard case .usageLimitReached(let limit)? = outcome.clientError else { return #expect(Bool(false)) }
        #expect(limit.type == "usage_limit_reached")
        #expect(limit.message == "m")
        #expect(limit.plan?.displayName == "Plus")
        #expect(limit.primary?.usedPercent == 100)
        #expect(limit.secondary?.usedPercent == 50)
        #expect(limit.resetsAt == Date(timeIntervalSince1970: Double(ManualClock.unixTimeAtStart + 9_000)))
        #expect(fixture.clock.sleeps.isEmpty)
    }
}
