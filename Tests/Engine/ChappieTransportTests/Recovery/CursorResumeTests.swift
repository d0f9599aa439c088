// Responses made in the background and stored: after a cut the rest is requested.

import Foundation
import StreamTransport
import Testing

@testable import ChappieTransport

/// Numbered events of a resumable response.
enum Numbered {
    static func created(_ number: Int, id: String = "r") -> String {
        #"{"type":"response.created","sequence_number":\#(number),"response":{"id":"\#(id)"}}"#
    }

    static func text(_ number: Int, _ text: String) -> String {
        #"{"type":"response.output_text.delta","sequence_number":\#(number),"output_index":0,"content_index":0,"#
            + #""delta":"\#(text)"}"#
    }

    static func call(_ number: Int) -> String {
        #"{"type":"response.output_item.done","sequence_number":\#(number),"output_index":1,"item":"#
            + #"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}"#
    }

    static func inProgress(_ number: Int, id: String = "r") -> String {
        #"{"type":"response.in_progress","sequence_number":\#(number),"response":{"id":"\#(id)"}}"#
    }

    static func added(_ number: Int, id: String = "m") -> String {
        #"{"type":"response.output_item.added","sequence_number":\#(number),"output_index":0,"item":"#
            + #"{"type":"message","id":"\#(id)","role":"assistant","content":[]}}"#
    }

    static func done(_ number: Int, id: String = "m") -> String {
        #"{"type":"response.output_item.done","sequence_number":\#(number),"output_index":0,"item":"#
            + #"{"type":"message","id":"\#(id)","role":"assistant","content":[]}}"#
    }

    static func completed(_ number: Int, id: String = "r") -> String {
        #"{"type":"response.completed","sequence_number":\#(number),"response":{"id":"\#(id)","status":"completed"}}"#
    }
}

@Suite struct CursorResumeTests {
    static let lost = TransportEnd.failed(TransportFailure(phase: .stream, cause: .connectionLost))

    static var request: ChappieTransportRequest {
        var request = ChappieTransportRequest(body: Array(#"{"background":true,"store":true}"#.utf8))
        request.prompt = "hi"
        return request
    }

    private static func fixture(
        _ scripts: [[ScriptStep]], _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) -> TurnFixture {
        TurnFixture(scripts) {
            $0.rawEvents = .none
            $0.reportsDiagnostics = true
            configure(&$0)
        }
    }

    /// A response that breaks after "Hel", which has number 1.
    private static let cut: [ScriptStep] = .eventStream(Numbered.created(0), Numbered.text(1, "Hel"), then: lost)
    private static let rest: [ScriptStep] = .eventStream(Numbered.text(2, "lo"), Numbered.completed(3))

    /// Numbers that fall or stay the same before any output, on the first connection, do not count events.
    @Test(arguments: [[0, 0, 0, 0, 0, 0], [5, 4, 3, 2, 1, 0], [3, 3, 4, 5, 5, 6], [1, 0, 2, 0, 1, 2]])
    func numbersThatDoNotRiseBeforeOutputAreIgnored(_ numbers: [Int]) async {
        let outcome = await Self.fixture([
            .eventStream(
                Numbered.created(numbers[0]), Numbered.inProgress(numbers[1]), Numbered.added(numbers[2]),
                Numbered.text(numbers[3], "Hel"), Numbered.text(numbers[4], "lo"), Numbered.completed(numbers[5]),
                then: .complete)
        ]).run(Self.request)
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
        #expect(outcome.outcomes == ["completed"])
    }

    /// The identifier is part of the target, which has 2,000 bytes at most: a longer one makes the turn send the
    /// request again.
    @Test(arguments: [(100, true), (1_900, true), (1_970, false), (5_000, false)])
    func anIdentifierThatMakesTheTargetTooLongIsVerifiedInstead(byteCount: Int, isResumed: Bool) async throws {
        let id = String(repeating: "r", count: byteCount)
        let again: [ScriptStep] = .eventStream(
            Numbered.created(0, id: id), Numbered.text(1, "Hel"), Numbered.text(2, "lo"),
            Numbered.completed(3, id: id))
        let fixture = Self.fixture([
            .eventStream(Numbered.created(0, id: id), Numbered.text(1, "Hel"), then: Self.lost),
            isResumed ? .eventStream(Numbered.text(2, "lo"), Numbered.completed(3, id: id)) : again,
        ])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
        let second = try #require(fixture.transport.requests.last)
        #expect(second.endpoint.target.contains(id) == isResumed)
        #expect(second.endpoint.target.utf8.count <= 2_000)
        #expect(outcome.report.attempts.last?.rung == (isResumed ? .resumed : .verifiedReplay))
    }

    /// A server without numbers may repeat earlier events after a cut: the response is read from its beginning.
    @Test(arguments: [["Hel", "lo"], ["lo"], []])
    func aRestWithoutNumbersIsReadFromTheBeginning(_ rest: [String]) async {
        let end = #"{"type":"response.completed","response":{"id":"r"}}"#
        let fixture = Self.fixture([
            Self.cut, [.opened(200)] + (rest.map { Event.text($0) } + [end]).map { .body(Event.sse($0)) },
            .eventStream(Event.text("Hel"), Event.text("lo"), end),
        ])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.error == nil)
        #expect(outcome.text == "Hello")
        #expect(
            fixture.transport.requests.map { $0.endpoint.target.contains("starting_after") } == [false, true, false])
    }

    /// A response that has ended has no further events.
    @Test func aKeptResponseThatHasFailedIsNotResumed() async {
        let failed =
            #"{"type":"response.failed","sequence_number":2,"response":{"id":"r","status":"failed","#
            + #""error":{"code":"server_error","message":"The model crashed"}}}"#
        let fixture = Self.fixture([.eventStream(Numbered.created(0), Numbered.text(1, "Hel"), failed)]) {
            $0.policy.recovery = .resumeOnly
        }
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "Hel")
        #expect(fixture.transport.requests.count == 1)
        guard case .responseTerminalFailure(let response)? = outcome.clientError else {
            Issue.record("\(String(describing: outcome.error))")
            return
        }
        #expect(response.errorCode == "server_error")
    }

    @Test func aKeptResponseThatWasCancelledIsOver() async {
        let cancelled =
            #"{"type":"response.cancelled","sequence_number":2,"response":{"id":"r","status":"cancelled"}}"#
        let fixture = Self.fixture([.eventStream(Numbered.created(0), Numbered.text(1, "Hel"), cancelled)])
        let outcome = await fixture.run(Self.request)
        #expect(fixture.transport.requests.count == 1)
        guard case .responseTerminalFailure(let response)? = outcome.clientError else {
            Issue.record("\(String(describing: outcome.error))")
            return
        }
        #expect(response.status == "cancelled")
    }

    // MARK: Cuts at the same age

    @Test func twoCutsAtTheSameAgeLookLikeATimeLimitOnThePath() async {
        let cut: [ScriptStep] = [
            .opened(200, fields: ["content-type": "text/event-stream"]), .pause(.seconds(60)),
            .body(Event.sse(Event.created)), .ended(Self.lost),
        ]
        let fixture = TurnFixture([cut, cut]) {
            $0.policy = .httpSSEOnly
            $0.maxHTTPRetries = 1
            $0.timeouts.firstEvent = nil
            $0.reportsDiagnostics = true
        }
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.code == .connectionLost)
        #expect(outcome.transportFailure?.details.pathTimeLimit == .seconds(60))
        #expect(
            outcome.clientError?.safeDescription.contains(
                "Two connections were cut after 60 s: that looks like a time limit on the path.") == true)
        #expect(outcome.report.pathTimeLimit == 60)
        #expect(outcome.diagnostics.filter { $0.kind == .pathTimeLimit }.map(\.connectionAge) == [.seconds(60)])
    }

    @Test func cutsAtDifferentAgesIndicateNoPathTimeLimit() async {
        func cut(after seconds: Int) -> [ScriptStep] {
            [.opened(200), .pause(.seconds(seconds)), .body(Event.sse(Event.created)), .ended(Self.lost)]
        }
        let fixture = TurnFixture([cut(after: 60), cut(after: 70)]) {
            $0.policy = .httpSSEOnly
            $0.maxHTTPRetries = 1
            $0.timeouts.firstEvent = nil
            $0.reportsDiagnostics = true
        }
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.details.pathTimeLimit == nil)
        #expect(!outcome.diagnostics.contains { $0.kind == .pathTimeLimit })
        #expect(outcome.report.pathTimeLimit == nil)
    }

    // MARK: The recovery step

    @Test func aBackgroundResponseIsAskedForOverHTTPAtOnce() async {
        let fixture = Self.fixture([.eventStream(Numbered.created(0), Numbered.text(1, "a"), Numbered.completed(2))])
        let outcome = await fixture.run(Self.request)
        #expect(
            outcome.events == [.diagnostic(.init(kind: .connected, transport: .httpSSE)), .textDelta("a"), .completed])
        #expect(fixture.transport.requests.map(\.isHeld) == [false])
        #expect(fixture.transport.requests[0].body?.contains(#""background":true"#) == true)
        #expect(outcome.report.fallbackReason == nil)
    }

    @Test func theNextTurnMayUseAWebSocket() async {
        let fixture = Self.fixture([
            .eventStream(Numbered.completed(0)), .webSocket(Event.text("b"), Event.completed),
        ])
        _ = await fixture.run(Self.request)
        #expect(await fixture.run().text == "b")
    }

    @Test func afterACutTheRestIsAskedFor() async {
        let fixture = Self.fixture([Self.cut, Self.rest]) {
            $0.credential = { _ in ChappieCredential(bearerToken: "t", accountID: "acc") }
            $0.additionalFields = [(name: "X-A", value: "b")]
        }
        let outcome = await fixture.run(Self.request)
        #expect(
            outcome.events == [
                .diagnostic(.init(kind: .connected, transport: .httpSSE)),
                .textDelta("Hel"),
                .diagnostic(
                    .init(
                        kind: .reconnecting, transport: .httpSSE, attempt: 1, limit: 5, reason: "connection.lost",
                        rung: .resumed, delay: .milliseconds(200))),
                .diagnostic(.init(kind: .connected, transport: .httpSSE)),
                .diagnostic(.init(kind: .resumed, transport: .httpSSE)),
                .textDelta("lo"),
                .completed,
            ])
        #expect(outcome.report.attempts.map(\.rung) == [nil, .resumed])
        #expect(outcome.report.replaySafety == .completed)
        #expect(outcome.report.verifiedReplayByteCount == 0)
        let resumption = fixture.transport.requests[1]
        #expect(resumption.isResumption)
        #expect(resumption.endpoint.target == "/v1/responses/r?stream=true&starting_after=1")
        #expect(resumption.value(of: "Authorization") == "Bearer t")
        #expect(resumption.value(of: "ChatGPT-Account-ID") == "acc")
        #expect(resumption.value(of: "X-A") == "b")
        #expect(resumption.value(of: "Accept") == "text/event-stream")
        #expect(resumption.value(of: "Content-Type") == nil)
        #expect(fixture.clock.sleeps == [.milliseconds(200)])
    }

    @Test(arguments: [
        ("r/1?a=b#c%d ü~", "r%2F1%3Fa%3Db%23c%25d%20%C3%BC~"), ("resp_A-z.9", "resp_A-z.9"), ("\u{1}", "%01"),
        ("../x", "..%2Fx"),
    ])
    func identifiersArePercentEncoded(_ id: String, _ segment: String) async throws {
        let json = try #require(String(data: try JSONEncoder().encode(id), encoding: .utf8))
        let created = #"{"type":"response.created","sequence_number":7,"response":{"id":\#(json)}}"#
        let fixture = Self.fixture([.eventStream(created, then: Self.lost), Self.rest])
        _ = await fixture.run(Self.request)
        #expect(
            fixture.transport.requests[1].endpoint.target == "/v1/responses/\(segment)?stream=true&starting_after=7")
    }

    /// RFC 3986 section 3.3: as a segment of the path it would lead to another address.
    @Test(arguments: [".", "..", ""])
    func dotSegmentsAndEmptyIdentifiersAreNotResumed(_ id: String) async {
        let again: [ScriptStep] = .eventStream(
            Numbered.created(0, id: id), Numbered.text(1, "Hel"), Numbered.text(2, "lo"), Numbered.completed(3, id: id))
        let fixture = Self.fixture([
            .eventStream(Numbered.created(0, id: id), Numbered.text(1, "Hel"), then: Self.lost), again,
        ])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "Hello")
        #expect(fixture.transport.requests.map(\.endpoint.target) == ["/v1/responses", "/v1/responses"])
    }

    @Test func theQueryOfTheBaseURLStays() async throws {
        let url = try #require(URL(string: "https://api.example/v1/?api-version=1&b=%20"))
        let fixture = Self.fixture([Self.cut, Self.rest]) { $0.baseURL = url }
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "Hello")
        #expect(
            fixture.transport.requests.map(\.endpoint.target) == [
                "/v1/responses?api-version=1&b=%20",
                "/v1/responses/r?stream=true&starting_after=1&api-version=1&b=%20",
            ])
    }

    @Test(arguments: [#"{"background":true}"#, #"{"background":true,"store":false}"#])
    func aResponseThatIsNotStoredIsSentAgain(_ body: String) async {
        let fixture = Self.fixture([
            Self.cut,
            .eventStream(Numbered.created(0), Numbered.text(1, "Hel"), Numbered.text(2, "lo"), Numbered.completed(3)),
        ])
        let outcome = await fixture.run(ChappieTransportRequest(body: Array(body.utf8)))
        #expect(outcome.text == "Hello")
        #expect(outcome.report.attempts.map(\.rung) == [nil, .verifiedReplay])
        #expect(fixture.transport.requests.allSatisfy { !$0.isResumption })
    }

    @Test func aCutBeforeTheResponseIsNamedSendsTheRequestAgain() async {
        let fixture = Self.fixture([
            .eventStream(then: Self.lost),
            .eventStream(#"{"type":"response.in_progress","sequence_number":0}"#, then: Self.lost), Self.cut, Self.rest,
        ])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "Hello")
        #expect(outcome.report.attempts.map(\.rung) == [nil, .sentAgain, .sentAgain, .resumed])
        #expect(fixture.transport.requests.map(\.isResumption) == [false, false, false, true])
    }

    /// OpenAI's background responses begin with `response.queued`; a gateway may leave `response.created` out.
    @Test(arguments: [["queued"], ["in_progress"], ["queued", "in_progress"], ["queued", "created", "in_progress"]])
    func anyEventWithTheResponseNamesIt(types: [String]) async {
        let begun = types.enumerated().map { number, type in
            #"{"type":"response.\#(type)","sequence_number":\#(number),"response":{"id":"r","status":"queued"}}"#
        }
        let count = begun.count
        let head = [ScriptStep.opened(200)] + begun.map { .body(Event.sse($0)) }
        let fixture = Self.fixture([
            head + [.body(Event.sse(Numbered.text(count, "Hel"))), .ended(Self.lost)],
            .eventStream(Numbered.text(count + 1, "lo"), Numbered.completed(count + 2)),
        ])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "Hello")
        #expect(outcome.report.attempts.map(\.rung) == [nil, .resumed])
        #expect(fixture.transport.requests[1].endpoint.target == "/v1/responses/r?stream=true&starting_after=\(count)")
    }

    @Test func namedResponseIsResumedWithoutDeliveredOutput() async {
        let fixture = Self.fixture([
            .eventStream(Numbered.created(0), then: Self.lost),
            .eventStream(Numbered.text(1, "a"), Numbered.completed(2)),
        ])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "a")
        #expect(fixture.transport.requests[1].endpoint.target == "/v1/responses/r?stream=true&starting_after=0")
    }

    @Test func everyCutResumesAfterTheLastNumber() async {
        let fixture = Self.fixture([
            .eventStream(Numbered.created(0), Numbered.text(1, "a"), then: Self.lost),
            .eventStream(then: Self.lost),
            .eventStream(Numbered.text(2, "b"), then: .complete),
            .eventStream(Numbered.text(3, "c"), then: Self.lost),
            .eventStream(Numbered.text(4, "d"), Numbered.completed(5)),
        ])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "abcd")
        #expect(
            fixture.transport.requests.dropFirst().map { $0.endpoint.target.split(separator: "=").last } == [
                "1", "1", "2", "3",
            ])
        #expect(outcome.report.reconnects == 4)
    }

    @Test func rawEventsAndToolCallsAreNotRepeated() async {
        let fixture = Self.fixture([
            .eventStream(Numbered.created(0), Numbered.call(1), then: Self.lost),
            .eventStream(Numbered.call(1), Numbered.inProgress(2), then: Self.lost),
            .eventStream(Numbered.inProgress(2), Numbered.completed(3)),
        ]) {
            $0.rawEvents = .unsurfaced
            $0.reportsDiagnostics = false
        }
        let outcome = await fixture.run(Self.request)
        #expect(outcome.error == nil)
        #expect(outcome.rawTypes == ["response.created", "response.output_item.done", "response.in_progress"])
    }

    // MARK: Numbers

    @Test func repeatedEventsAreDropped() async {
        let fixture = Self.fixture([
            Self.cut,
            .eventStream(
                Numbered.created(0), Numbered.text(1, "Hel"), Numbered.text(2, "l"), Numbered.text(2, "l"),
                Numbered.text(3, "o"), Numbered.completed(4)),
        ])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "Hello")
        #expect(outcome.error == nil)
    }

    @Test func cutInRepeatedEventsIsHarmless() async {
        let fixture = Self.fixture([
            Self.cut, .eventStream(Numbered.created(0), then: Self.lost),
            .eventStream(Numbered.text(1, "Hel"), then: Self.lost), Self.rest,
        ])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "Hello")
        #expect(fixture.transport.requests[3].endpoint.target.hasSuffix("starting_after=1"))
    }

    @Test func behindAGapTheMissingEventsAreAskedFor() async {
        let fixture = Self.fixture([
            .eventStream(Numbered.created(0), Numbered.text(1, "Hel"), Numbered.text(3, "o"), Numbered.completed(4)),
            .eventStream(Numbered.text(2, "l"), Numbered.text(3, "o"), Numbered.completed(4)),
        ])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "Hello")
        #expect(outcome.outcomes == ["event.sequence-gap", "completed"])
        #expect(outcome.report.reconnects == 1)
        #expect(fixture.clock.sleeps == [.milliseconds(200)])
        #expect(fixture.transport.requests[1].endpoint.target.hasSuffix("starting_after=1"))
    }

    @Test func aGapThatStaysIsAnError() async {
        let gap: [ScriptStep] = .eventStream(Numbered.text(5, "o"), Numbered.completed(6))
        let fixture = Self.fixture([Self.cut, gap, gap]) { $0.maxHTTPRetries = 2 }
        let outcome = await fixture.run(Self.request)
        #expect(outcome.transportFailure?.code == .sequenceGap)
        #expect(outcome.transportFailure?.replaySafety == .outputDelivered)
        #expect(outcome.text == "Hel")
        #expect(outcome.outcomes == ["connection.lost", "event.sequence-gap", "event.sequence-gap"])
    }

    /// Output was taken for the rest of the response before the stream contradicted itself: the numbers may be another
    /// response's, so that the response is read from its beginning and compared.
    @Test(arguments: [
        [Numbered.created(3, id: "other")], [Numbered.completed(3, id: "other")],
        [#"{"type":"response.created","sequence_number":3,"response":{}}"#],
        [Numbered.inProgress(3), Numbered.completed(4, id: "other")],
    ])
    func aResumedStreamThatContradictsItselfIsComparedFromTheBeginning(_ signs: [String]) async {
        let whole: [ScriptStep] = .eventStream(
            Numbered.created(0), Numbered.text(1, "Hel"), Numbered.text(2, "lo"), Numbered.completed(3))
        let fixture = Self.fixture([Self.cut, .http([Numbered.text(2, " other")] + signs), whole])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.clientError == .streamingTransportReplayDiverged("Hel other"))
        #expect(outcome.text == "Hel other")
        #expect(fixture.transport.requests[2].endpoint.target == "/v1/responses/r?stream=true")
    }

    @Test func aContradictionAfterASecondResumptionIsComparedFromTheBeginning() async {
        let whole: [ScriptStep] = .eventStream(
            Numbered.created(0), Numbered.text(1, "Hel"), Numbered.text(2, "lo"), Numbered.completed(3))
        let fixture = Self.fixture([
            Self.cut, .eventStream(Numbered.text(2, " other"), then: Self.lost),
            .eventStream(Numbered.inProgress(3, id: "other")), whole,
        ])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.clientError == .streamingTransportReplayDiverged("Hel other"))
        #expect(fixture.transport.requests[3].endpoint.target == "/v1/responses/r?stream=true")
    }

    /// The delivered output belongs to the response, so that the second reading repeats it and continues.
    @Test func aResumedStreamThatBeginsWithAnotherNameCostsNoOutput() async {
        let whole: [ScriptStep] = .eventStream(
            Numbered.created(0), Numbered.text(1, "Hel"), Numbered.text(2, "lo"), Numbered.completed(3))
        let fixture = Self.fixture([Self.cut, .eventStream(Numbered.inProgress(2, id: "other")), whole])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "Hello")
        #expect(outcome.outcomes == ["connection.lost", "event.contradictory", "completed"])
        #expect(fixture.transport.requests[2].endpoint.target == "/v1/responses/r?stream=true")
    }

    @Test func anotherEventWithTheSameNumberIsADivergence() async {
        let fixture = Self.fixture([Self.cut, .eventStream(Numbered.text(1, "Hey"), Numbered.completed(2))])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.clientError == .streamingTransportReplayDiverged("Hel"))
        #expect(outcome.text == "Hel")
        #expect(fixture.transport.requests.count == 2)
        #expect(fixture.calls(1) == [.cancel])
        #expect(outcome.report.replaySafety == .outputDelivered)
    }

    @Test func aResponseWithoutNumbersIsReadFromItsBeginningAndCompared() async {
        let fixture = Self.fixture([
            .eventStream(Event.created, Event.text("Hel"), then: Self.lost),
            .eventStream(Event.created, Event.text("He"), Event.text("llo"), Event.completed),
        ])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "Hello")
        #expect(outcome.error == nil)
        #expect(fixture.transport.requests[1].endpoint.target == "/v1/responses/r?stream=true")
    }

    @Test func unnumberedResponseWithoutDeliveredOutputIsReadFromItsBeginning() async {
        let fixture = Self.fixture([
            .eventStream(Event.created, then: Self.lost),
            .eventStream(Event.created, Event.text("a"), Event.completed),
        ])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "a")
        #expect(fixture.transport.requests[1].endpoint.target == "/v1/responses/r?stream=true")
    }

    // MARK: Refusals

    @Test(arguments: [400, 404, 410])
    func aResponseThatIsGoneIsAClearError(_ status: Int) async {
        let fixture = Self.fixture([Self.cut, .refusal(status, body: "gone", fields: ["x-request-id": "q"])])
        let outcome = await fixture.run(Self.request)
        let failure = outcome.transportFailure
        #expect(failure?.code == .responseExpired)
        #expect(failure?.phase == .upgrade)
        #expect(failure?.transport == .httpSSE)
        #expect(failure?.attempts == 2)
        #expect(failure?.replaySafety == .outputDelivered)
        #expect(failure?.details.statusCode == status)
        #expect(failure?.details.requestID == "q")
        #expect(outcome.clientError?.tag == "resume.expired")
        #expect(outcome.clientError?.category == .validation)
        #expect(outcome.clientError?.isRetryable == false)
        #expect(outcome.text == "Hel")
        #expect(outcome.outcomes == ["connection.lost", "http.\(status)"])
    }

    @Test(arguments: [400, 404, 410])
    func theSameStatusForTheFirstRequestIsAnOrdinaryError(_ status: Int) async {
        let fixture = Self.fixture([.refusal(status, body: "no")])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.clientError == .httpError(status, "no"))
    }

    @Test(arguments: [403, 422])
    func otherRefusalOfTheResumptionIsReported(_ status: Int) async {
        let fixture = Self.fixture([Self.cut, .refusal(status, body: "no")])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.clientError == .httpError(status, "no"))
    }

    @Test func aCredentialThatRanOutIsReplacedBeforeTheResumption() async {
        let fixture = Self.fixture([Self.cut, .refusal(401), Self.rest]) {
            $0.credential = { reason in ChappieCredential(bearerToken: reason == .connecting ? "old" : "new") }
        }
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "Hello")
        #expect(
            fixture.transport.requests.map { $0.value(of: "Authorization") }
                == ["old", "old", "new"].map {
                    "Bearer \($0)"
                })
        #expect(fixture.transport.requests.map(\.isResumption) == [false, true, true])
        #expect(outcome.report.attempts.map(\.rung) == [nil, .resumed, .resumed])
    }

    @Test(arguments: [(429, Duration.seconds(3)), (503, .seconds(3)), (500, .seconds(3))])
    func aServerThatIsBusyIsAskedAgainForTheRest(_ status: Int, _ delay: Duration) async {
        let fixture = Self.fixture([Self.cut, .refusal(status, fields: ["retry-after": "3"]), Self.rest])
        let outcome = await fixture.run(Self.request)
        #expect(outcome.text == "Hello")
        #expect(fixture.clock.sleeps == [.milliseconds(200), delay])
        #expect(fixture.transport.requests.map(\.isResumption) == [false, true, true])
    }

    @Test func aResumptionThatNeverWorksUsesTheRetriesUp() async {
        let refused: [ScriptStep] = .failure(.connect, .unreachable(code: 111))
        let fixture = Self.fixture([Self.cut] + [[ScriptStep]](repeating: refused, count: 9))
        let outcome = await fixture.run(Self.request)
        #expect(outcome.transportFailure?.code == .unreachable)
        #expect(outcome.transportFailure?.attempts == 6)
        #expect(outcome.transportFailure?.replaySafety == .outputDelivered)
    }

    @Test func aCancellationClosesTheResumption() async {
        let signal = Signal()
        let fixture = Self.fixture([Self.cut, [.hang(signal)]])
        let handle = fixture.instance.streamHandle(Self.request)
        let reading = Task { await TurnFixture.read(handle) }
        await signal.wait()
        handle.cancel()
        let outcome = await reading.value
        #expect(outcome.error is CancellationError)
        #expect(fixture.calls(1).contains(.cancel))
        #expect(outcome.report.replaySafety == .outputDelivered)
    }
}
