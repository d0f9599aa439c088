// A kept response that another process continues: at every position, with cuts, and with every end.

import Foundation
import StreamTransport
import Testing

@testable import ChappieTransport

/// A numbered response with reasoning, a message in several parts, two calls, and closing events.
private enum KeptResponse {
    private static let call =
        #"{"type":"function_call","id":"fc_1","call_id":"c_1","name":"f","arguments":"{\"a\":1}","status":"completed"}"#
    private static let last =
        #"{"type":"function_call","id":"fc_2","call_id":"c_2","name":"g","arguments":"{}","status":"completed"}"#
    private static let reasoning =
        #"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"I think."}]}"#
    private static let message =
        #"{"type":"message","id":"m_1","role":"assistant","content":[{"type":"output_text","text":"Hello, 😀 you."},"#
        + #"{"type":"output_text","text":"Closed only."}]}"#

    /// The types and members, in order; the number of each is its place.
    private static let members: [(type: String, members: String)] = [
        ("response.created", #""response":{"id":"r","status":"in_progress"}"#),
        ("response.in_progress", #""response":{"id":"r","status":"in_progress"}"#),
        ("response.output_item.added", #""output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}"#),
        (
            "response.reasoning_summary_text.delta",
            #""item_id":"rs_1","output_index":0,"summary_index":0,"delta":"I think""#
        ),
        ("response.reasoning_summary_text.delta", #""item_id":"rs_1","output_index":0,"summary_index":0,"delta":".""#),
        (
            "response.reasoning_summary_text.done",
            #""item_id":"rs_1","output_index":0,"summary_index":0,"text":"I think.""#
        ),
        ("response.output_item.done", #""output_index":0,"item":\#(reasoning)"#),
        ("response.output_item.added", #""output_index":1,"item":{"type":"message","id":"m_1","content":[]}"#),
        (
            "response.content_part.added",
            #""item_id":"m_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":""}"#
        ),
        ("response.output_text.delta", #""item_id":"m_1","output_index":1,"content_index":0,"delta":"Hello,""#),
        ("response.output_text.delta", #""item_id":"m_1","output_index":1,"content_index":0,"delta":" \ud83d""#),
        ("response.output_text.delta", #""item_id":"m_1","output_index":1,"content_index":0,"delta":"\ude00 you""#),
        ("response.output_text.done", #""item_id":"m_1","output_index":1,"content_index":0,"text":"Hello, 😀 you.""#),
        ("response.output_text.done", #""item_id":"m_1","output_index":1,"content_index":1,"text":"Closed only.""#),
        ("response.output_item.done", #""output_index":1,"item":\#(message)"#),
        (
            "response.output_item.added",
            #""output_index":2,"item":{"type":"function_call","id":"fc_1","call_id":"c_1","name":"f","arguments":""}"#
        ),
        ("response.function_call_arguments.delta", #""item_id":"fc_1","output_index":2,"delta":"{\"a\":""#),
        ("response.function_call_arguments.delta", #""item_id":"fc_1","output_index":2,"delta":"1}""#),
        ("response.function_call_arguments.done", #""item_id":"fc_1","output_index":2,"arguments":"{\"a\":1}""#),
        ("response.output_item.done", #""output_index":2,"item":\#(call)"#),
    ]

    private static let output = #""output":[\#(reasoning),\#(message),\#(call),\#(last)]"#

    /// The events of a response with an end; the second call is in the end alone.
    static func events(_ end: String = "completed") -> [String] {
        let response =
            switch end {
            case "completed": #"{"id":"r","status":"completed",\#(output)}"#
            case "failed":
                #"{"id":"r","status":"failed","error":{"code":"invalid_prompt","message":"It broke"}}"#
            default: #"{"id":"r","status":"\#(end)","incomplete_details":{"reason":"max_output_tokens"}}"#
            }
        let type = end == "cancelled" ? "incomplete" : end
        return (self.members + [("response.\(type)", #""response":\#(response)"#)]).enumerated().map { number, event in
            #"{"type":"\#(event.type)","sequence_number":\#(number),\#(event.members)}"#
        }
    }

    static func stream(_ events: some Sequence<String>, then end: TransportEnd = .complete) -> [ScriptStep] {
        [.opened(200, fields: ["content-type": "text/event-stream"])] + events.map { .body(Event.sse($0)) }
            + [.ended(end)]
    }
}

@Suite struct ResumptionTests {
    private static func fixture(
        _ scripts: [[ScriptStep]], _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) -> TurnFixture {
        TurnFixture(scripts, configure)
    }

    /// An event, and the position behind it.
    private struct Taken {
        let event: ChappieStreamEvent
        let point: ChappieResumePoint?
    }

    private static func read(_ handle: ChappieStreamHandle, inSequence: Bool) async -> [Taken] {
        var taken: [Taken] = []
        do {
            if inSequence {
                for try await event in handle.sequence() {
                    taken.append(Taken(event: event, point: handle.resumePoint))
                }
            } else {
                for try await event in handle.events {
                    taken.append(Taken(event: event, point: handle.resumePoint))
                }
            }
        } catch {
            // Some responses fail.
        }
        return taken
    }

    private static func resume(
        _ point: ChappieResumePoint, _ scripts: [[ScriptStep]],
        _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async -> (outcome: TurnOutcome, fixture: TurnFixture) {
        let fixture = Self.fixture(scripts, configure)
        return (await TurnFixture.read(fixture.instance.streamHandle(resuming: point)), fixture)
    }

    private static func point(_ number: Int?) -> ChappieResumePoint {
        ChappieResumePoint(responseID: "r", sequenceNumber: number)
    }

    /// The events that a turn delivers for each event of the wire.
    private static func deliveries(_ events: [String], _ raw: ChappieRawEvents) async -> [[ChappieStreamEvent]] {
        var lengths = [0]
        var all: [ChappieStreamEvent] = []
        for count in 1...events.count {
            let fixture = Self.fixture([KeptResponse.stream(events[..<count])]) {
                $0.rawEvents = raw
                $0.policy.recovery = .never
            }
            all = await fixture.run(CursorResumeTests.request).events
            lengths.append(all.count)
        }
        return zip(lengths, lengths.dropFirst()).map { Array(all[$0..<$1]) }
    }

    // MARK: Every position

    /// The events that one process has delivered and those that another delivers behind them are the response.
    @Test(arguments: ChappieRawEvents.allCases, [false, true])
    func anotherProcessContinuesBehindEveryEvent(_ raw: ChappieRawEvents, inSequence: Bool) async {
        let events = KeptResponse.events()
        let first = Self.fixture([KeptResponse.stream(events)]) { $0.rawEvents = raw }
        let taken = await Self.read(first.instance.streamHandle(CursorResumeTests.request), inSequence: inSequence)
        #expect(taken.last?.event == .completed)
        let all = taken.map(\.event)
        var pointCount = 0
        for (index, point) in taken.map(\.point).enumerated() {
            // It changes behind the last of the events that one event of the wire leads to.
            guard let point, taken.firstIndex(where: { $0.point == point }) == index else { continue }
            pointCount += 1
            let (rest, fixture) = await Self.resume(point, [KeptResponse.stream(events)]) { $0.rawEvents = raw }
            #expect(rest.error == nil)
            // Behind the last event a stream only ends.
            let expected = index == all.count - 1 ? [.completed] : Array(all[(index + 1)...])
            #expect(rest.events == expected, "behind \(point)")
            #expect(fixture.transport.requests.map(\.endpoint.target) == ["/v1/responses/r?stream=true"])
        }
        #expect(pointCount > 6)
    }

    /// Each number, whether or not something was delivered for its event.
    @Test(arguments: ChappieRawEvents.allCases)
    func everyNumberIsAPosition(_ raw: ChappieRawEvents) async {
        let events = KeptResponse.events()
        let deliveries = await Self.deliveries(events, raw)
        for number in -1..<events.count {
            let (rest, _) = await Self.resume(Self.point(number < 0 ? nil : number), [KeptResponse.stream(events)]) {
                $0.rawEvents = raw
            }
            #expect(rest.error == nil)
            let expected = number + 1 < events.count ? deliveries[(number + 1)...].flatMap { $0 } : [.completed]
            #expect(rest.events == expected, "behind \(number)")
        }
    }

    /// The connection of the resumed stream breaks behind each event, and the rest follows on another one.
    @Test func resumedStreamIsRecoveredAtEveryEvent() async {
        let events = KeptResponse.events()
        let deliveries = await Self.deliveries(events, .unsurfaced)
        for number in stride(from: 0, to: events.count, by: 3) {
            for count in 0..<events.count {
                let scripts = [
                    KeptResponse.stream(events[..<count], then: CursorResumeTests.lost),
                    KeptResponse.stream(events[count...]),
                ]
                let (rest, fixture) = await Self.resume(Self.point(number), scripts)
                #expect(rest.error == nil)
                #expect(rest.events == deliveries[(number + 1)...].flatMap { $0 }, "\(number), cut at \(count)")
                let query = count > 0 ? "&starting_after=\(count - 1)" : ""
                #expect(fixture.transport.requests.last?.endpoint.target == "/v1/responses/r?stream=true\(query)")
            }
        }
    }

    @Test func callsThatWereDeliveredAreNotDeliveredAgain() async {
        let events = KeptResponse.events()
        let numberOfCall = events.count - 2
        for number in 0..<events.count {
            let (rest, _) = await Self.resume(Self.point(number), [KeptResponse.stream(events)])
            let calls = rest.events.filter { event in
                guard case .raw("response.output_item.done", let payload) = event else { return false }
                return payload.contains("function_call")
            }
            // The second call comes with the end.
            #expect(calls.count == (number < numberOfCall ? 2 : number < events.count - 1 ? 1 : 0))
        }
    }

    // MARK: Ends

    /// At its last event too, a response that is not a success ends as it did.
    @Test(arguments: ["failed", "incomplete", "cancelled"])
    func failureIsTheEndAtEveryPosition(_ end: String) async {
        let events = KeptResponse.events(end)
        for number in -1..<events.count {
            let (rest, fixture) = await Self.resume(
                Self.point(number < 0 ? nil : number), [KeptResponse.stream(events)])
            guard case .responseTerminalFailure(let response)? = rest.clientError else {
                Issue.record("\(number): \(String(describing: rest.error))")
                continue
            }
            #expect(response.status == end)
            #expect(!rest.events.contains(.completed))
            #expect(fixture.transport.requests.count == 1)
        }
    }

    @Test func responseThatFailsRetryablyIsNotRequestedAgain() async {
        let failed =
            #"{"type":"response.failed","sequence_number":2,"response":{"id":"r","status":"failed","#
            + #""error":{"code":"server_error","message":"It broke"}}}"#
        let (rest, fixture) = await Self.resume(
            Self.point(1), [.eventStream(Numbered.created(0), Numbered.text(1, "Hel"), failed)])
        guard case .responseTerminalFailure(let response)? = rest.clientError else {
            Issue.record("another error: \(String(describing: rest.error))")
            return
        }
        #expect(response.errorCode == "server_error")
        #expect(rest.text.isEmpty)
        #expect(fixture.transport.requests.count == 1)
    }

    @Test(arguments: [400, 404, 410]) func responseThatIsGoneLeadsToTheResponseItself(_ status: Int) async {
        let (rest, fixture) = await Self.resume(Self.point(3), [.refusal(status)])
        #expect(rest.clientError?.tag == "resume.expired")
        #expect(rest.clientError?.localizedDescription.contains("Ask for the response itself") == true)
        #expect(fixture.transport.requests.count == 1)
    }

    /// A server that has stored a part of the events only: its streams end in order behind them.
    @Test func responseWithoutAStoredEndIsRequestedAgainAndEndsEarly() async {
        let events = KeptResponse.events()
        let partial = [KeptResponse.stream(events[..<10])]
        let fixture = Self.fixture(partial + Array(repeating: KeptResponse.stream([]), count: 12)) {
            $0.reconnectDelay = .zero
        }
        let handle = fixture.instance.streamHandle(resuming: Self.point(2))
        let rest = await TurnFixture.read(handle)
        #expect(rest.clientError?.tag == "stream.ended-early")
        #expect(rest.text == "Hello,")
        #expect(!rest.events.contains(.completed))
        #expect(handle.resumePoint == Self.point(9))
        let targets = fixture.transport.requests.map(\.endpoint.target)
        #expect(targets.first == "/v1/responses/r?stream=true")
        #expect(targets.count > 1)
        #expect(targets.dropFirst().allSatisfy { $0 == "/v1/responses/r?stream=true&starting_after=9" })
    }

    /// Numbers at which the beginning of the output is not known.
    @Test(arguments: [
        [Event.created, Event.text("Hello"), Event.completed],
        [Numbered.text(2, "Hello"), Numbered.completed(3)],
        [Numbered.text(9, "Hello"), Numbered.completed(10)],
    ])
    func resumptionFailsWithoutNumbersFromTheBeginning(_ events: [String]) async {
        let scripts = Array(repeating: KeptResponse.stream(events), count: 12)
        let (rest, fixture) = await Self.resume(Self.point(3), scripts) { $0.reconnectDelay = .zero }
        #expect(rest.clientError?.tag == "event.sequence-gap")
        #expect(rest.text.isEmpty)
        #expect(!rest.events.contains(.completed))
        #expect(fixture.transport.requests.allSatisfy { $0.isResumption })
    }

    /// Servers count from 0 or from 1.
    @Test func numbersMayBeginAtOne() async {
        let events = [Numbered.created(1), Numbered.text(2, "Hel"), Numbered.text(3, "lo"), Numbered.completed(4)]
        let (rest, _) = await Self.resume(Self.point(2), [KeptResponse.stream(events)])
        #expect(rest.error == nil)
        #expect(rest.text == "lo")
    }

    @Test func answerWithAnotherResponseIsRefused() async {
        let events = [Numbered.created(0, id: "x"), Numbered.text(1, "Hello"), Numbered.completed(2, id: "x")]
        let scripts = Array(repeating: KeptResponse.stream(events), count: 12)
        let (rest, _) = await Self.resume(Self.point(nil), scripts) { $0.reconnectDelay = .zero }
        #expect(rest.clientError?.tag == "event.contradictory")
        #expect(rest.text.isEmpty)
    }

    // MARK: Requests

    @Test(arguments: ["", "..", "a b", String(repeating: "r", count: 3_000)])
    func identifierThatNoAddressCanHaveSendsNothing(_ id: String) async {
        let (rest, fixture) = await Self.resume(ChappieResumePoint(responseID: id, sequenceNumber: 1), [])
        #expect(rest.clientError?.tag == "request.invalid")
        #expect(rest.transportFailure?.details.detail?.hasPrefix("responseID ") == true)
        #expect(rest.transportFailure?.transport == .httpSSE)
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func numberBelowZeroSendsNothing() async {
        let (rest, fixture) = await Self.resume(Self.point(-1), [])
        #expect(rest.transportFailure?.details.detail == "sequenceNumber is below 0")
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test(arguments: [false, true]) func policyThatRepeatsNothingResumesOnce(isCut: Bool) async {
        let cut: [ScriptStep] = .eventStream(Numbered.created(0), then: CursorResumeTests.lost)
        let refused: [ScriptStep] = .failure(.connect, .unreachable(code: 111))
        let whole: [ScriptStep] = .eventStream(Numbered.created(0), Numbered.text(1, "a"), Numbered.completed(2))
        let (rest, fixture) = await Self.resume(Self.point(0), [isCut ? cut : refused, whole]) {
            $0.policy.recovery = .never
            $0.reconnectDelay = .zero
        }
        #expect(fixture.transport.requests.count == (isCut ? 1 : 2))
        #expect(rest.text == (isCut ? "" : "a"))
    }

    @Test func credentialAndReportAreThoseOfATurn() async {
        let (rest, fixture) = await Self.resume(
            Self.point(1),
            [.refusal(401), .eventStream(Numbered.created(0), Numbered.text(1, "a"), Numbered.completed(2))]
        ) {
            $0.credential = { ChappieCredential(bearerToken: $0 == .connecting ? "old" : "new") }
        }
        #expect(rest.error == nil)
        #expect(rest.events == [.completed])
        #expect(fixture.transport.requests.map { $0.value(of: "Authorization") } == ["Bearer old", "Bearer new"])
        #expect(rest.report.attempts.map(\.rung) == [.resumed, .resumed])
    }

    // MARK: Positions

    @Test func positionIsKnownForKeptResponsesAlone() async throws {
        let events = [Numbered.created(0), Numbered.text(1, "Hel"), Numbered.completed(2)]
        for (request, isKept) in [(CursorResumeTests.request, true), (ChappieTransportRequest(prompt: "hi"), false)] {
            let fixture = Self.fixture([KeptResponse.stream(events)]) {
                $0.policy = .httpSSEOnly
                $0.rawEvents = .none
            }
            let handle = fixture.instance.streamHandle(request)
            #expect(handle.resumePoint == nil)
            var iterator = handle.events.makeAsyncIterator()
            #expect(try await iterator.next() == .textDelta("Hel"))
            #expect(handle.resumePoint == (isKept ? Self.point(1) : nil))
            while try await iterator.next() != nil {}
            #expect(handle.resumePoint == (isKept ? Self.point(2) : nil))
        }
    }

    /// Output without a number would come again.
    @Test func noPositionIsBehindOutputWithoutANumber() async throws {
        let fixture = Self.fixture([
            .eventStream(Numbered.created(0), Event.text("Hel"), Numbered.text(2, "lo"), Numbered.completed(3))
        ]) { $0.rawEvents = .none }
        let handle = fixture.instance.streamHandle(CursorResumeTests.request)
        var points: [ChappieResumePoint?] = []
        for try await _ in handle.events { points.append(handle.resumePoint) }
        #expect(points == [nil, Self.point(2), Self.point(3)])
    }

    /// A call that the caller runs at the end of the response is delivered then: behind its item it would be skipped.
    static let callStreams: [(events: [String], points: [Int?])] = [
        ([Numbered.created(0), Numbered.text(1, "a"), Numbered.call(2), Numbered.completed(3)], [1, nil]),
        (
            [
                Numbered.created(0), Numbered.text(1, "a"), Numbered.call(2), Numbered.inProgress(3),
                Numbered.text(4, "b"), Numbered.text(5, "c"), Numbered.completed(6),
            ], [1, nil, nil, nil]
        ),
        // The call is in the list of the end alone.
        (
            [
                Numbered.created(0), Numbered.text(1, "a"),
                #"{"type":"response.completed","sequence_number":2,"response":{"id":"r","status":"completed","output":["#
                    + #"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]},"#
                    + #"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}}"#,
            ], [1, nil]
        ),
        ([Numbered.created(0), Numbered.text(1, "a"), Numbered.completed(2)], [1, 2]),
    ]

    @Test(arguments: Self.callStreams.indices, [false, true])
    func eventsAfterAPendingCallHaveNoResumePoint(index: Int, inSequence: Bool) async throws {
        let (events, points) = Self.callStreams[index]
        let fixture = Self.fixture([KeptResponse.stream(events)]) {
            $0.policy = .httpSSEOnly
            $0.rawEvents = .none
        }
        var request = CursorResumeTests.request
        request.runsCalls = true
        let taken = await Self.read(fixture.instance.streamHandle(request), inSequence: inSequence)
        #expect(taken.last?.event == .completed)
        #expect(taken.map(\.point) == points.map { $0.map(Self.point) })
    }

    /// The attempt behind a cut continues the response, whose call still waits.
    @Test func callWaitsBehindAResumption() async throws {
        let fixture = Self.fixture([
            KeptResponse.stream(
                [Numbered.created(0), Numbered.text(1, "a"), Numbered.call(2)], then: CursorResumeTests.lost),
            KeptResponse.stream([Numbered.text(3, "b"), Numbered.completed(4)]),
        ]) {
            $0.policy = .httpSSEOnly
            $0.rawEvents = .none
        }
        var request = CursorResumeTests.request
        request.runsCalls = true
        let taken = await Self.read(fixture.instance.streamHandle(request), inSequence: false)
        #expect(taken.map(\.event) == [.textDelta("a"), .textDelta("b"), .completed])
        #expect(taken.map(\.point) == [Self.point(1), nil, nil])
    }

    /// Another turn continues before a call, and gets it.
    @Test func positionBeforeACallLeadsToTheCall() async throws {
        let events = [Numbered.created(0), Numbered.text(1, "a"), Numbered.call(2), Numbered.completed(3)]
        let (rest, _) = await Self.resume(Self.point(1), [KeptResponse.stream(events)])
        #expect(rest.error == nil)
        let types = rest.events.compactMap { event -> String? in
            guard case .raw(let type, _) = event else { return nil }
            return type
        }
        #expect(types.contains("response.output_item.done"))
        #expect(rest.events.last == .completed)
    }

    @Test func cancelledStreamHasThePositionThatItsConsumerHasReached() async throws {
        let fixture = Self.fixture([
            .eventStream(Numbered.created(0), Numbered.text(1, "a"), Numbered.text(2, "b"), Numbered.completed(3))
        ])
        let handle = fixture.instance.streamHandle(CursorResumeTests.request)
        var iterator = handle.events.makeAsyncIterator()
        while try await iterator.next() != .textDelta("a") {}
        handle.cancel()
        await #expect(throws: CancellationError.self) { try await iterator.next() }
        #expect(handle.resumePoint == Self.point(1))
    }

    @Test(arguments: [("r", 42, "r@42"), ("a@b", 0, "a@b@0"), ("r", nil, "r@")])
    func positionIsAText(id: String, number: Int?, text: String) throws {
        let point = ChappieResumePoint(responseID: id, sequenceNumber: number)
        #expect(point.description == text)
        #expect(ChappieResumePoint(text) == point)
        let encoded = try JSONEncoder().encode(point)
        #expect(try JSONDecoder().decode(ChappieResumePoint.self, from: encoded) == point)
    }

    @Test(arguments: ["", "r", "@", "@1", "r@x", "r@-1", "r@+1", "r@99999999999999999999"])
    func malformedResumePointIsRefused(_ text: String) {
        #expect(ChappieResumePoint(text) == nil)
    }
}
