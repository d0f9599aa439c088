// The request on a connection that has carried another one: only the new part, or the whole.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct ContinuationTests {
    private static let call = [Event.created("r1"), Event.done(WireItem.sentCall("a")), Event.completed("r1")]
    private static let first = conversation([WireItem.question])
    private static let second = conversation([WireItem.question, WireItem.call("a"), WireItem.output("a")])

    /// An instance whose first turn ends in a call, and the script of its connections after that.
    private static func afterCall(
        kept: [ScriptStep], fresh: [[ScriptStep]] = [], clock: ManualClock = ManualClock(),
        _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async -> TurnFixture {
        let fixture = TurnFixture([.socket(Self.call)] + fresh, clock: clock) { configure(&$0) }
        #expect(await fixture.complete(Self.first).response?.id == "r1")
        fixture.transport.connections[0].append(kept)
        return fixture
    }

    private static func sent(_ fixture: TurnFixture, connection: Int, _ index: Int) -> SentMessage? {
        let messages = fixture.messages
        guard connection < messages.count, index < messages[connection].count else { return nil }
        return SentMessage(messages[connection][index])
    }

    @Test func continuationOnTheSameSocketSendsOnlyTheOutput() async {
        let fixture = await Self.afterCall(kept: .again(Event.created("r2"), Event.text("done"), Event.completed("r2")))
        let outcome = await fixture.run(Self.second)
        #expect(outcome.text == "done")
        let message = Self.sent(fixture, connection: 0, 1)
        #expect(message?.previousResponseID == "r1")
        #expect(message?.inputCount == 1)
        #expect(message?.members["model"] as? String == "m")
        #expect(fixture.messages[0].last?.contains(WireItem.output("a")) == true)
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func aLongLoopSendsOneOutputEachTime() async {
        let fixture = TurnFixture([.socket(Self.call)])
        var items = [WireItem.question]
        for round in 1...20 {
            if round > 1 {
                fixture.transport.connections[0].append(
                    .again(
                        Event.created("r\(round)"), Event.done(WireItem.sentCall("\(round)")),
                        Event.completed("r\(round)")))
            }
            let (outcome, response) = await fixture.complete(conversation(items))
            #expect(outcome.error == nil)
            items += response?.itemTexts ?? []
            items += (response?.calls ?? []).map { WireItem.output($0.callID) }
        }
        #expect(items.count == 41)
        let messages = fixture.messages[0].map { SentMessage($0) }
        #expect(messages.map { $0?.inputCount } == Array(repeating: 1, count: 20))
        #expect(messages.map { $0?.previousResponseID } == [nil] + (1...19).map { "r\($0)" })
    }

    // MARK: The whole request is sent

    @Test(arguments: [
        conversation([WireItem.question, WireItem.call("a"), WireItem.output("a")], #""model":"n""#),
        conversation([WireItem.question, WireItem.output("a")]),
        conversation([WireItem.question, WireItem.call("a")]),
        conversation([WireItem.question]),
        conversation([WireItem.question, WireItem.call("b"), WireItem.output("b")]),
    ])
    func anotherConversationIsSentWhole(request: ChappieTransportRequest) async {
        let fixture = await Self.afterCall(kept: .again(Event.created("r2"), Event.completed("r2")))
        #expect(await fixture.run(request).error == nil)
        let message = Self.sent(fixture, connection: 0, 1)
        #expect(message?.previousResponseID == nil)
        #expect(message?.inputCount == SentMessage(String(decoding: request.body, as: UTF8.self))?.inputCount)
    }

    @Test func theCallersOwnContinuationIsLeftAlone() async {
        let fixture = await Self.afterCall(kept: .again(Event.created("r2"), Event.completed("r2")))
        _ = await fixture.run(
            conversation(
                [WireItem.question, WireItem.call("a"), WireItem.output("a")],
                #""model":"m","previous_response_id":"x""#))
        let message = Self.sent(fixture, connection: 0, 1)
        #expect(message?.previousResponseID == "x")
        #expect(message?.inputCount == 3)
    }

    @Test func aResponseThatDidNotCompleteIsNotContinued() async {
        // An incomplete response fails its turn, and its connection is closed.
        let fixture = TurnFixture([.socket([Event.created("r1"), Event.incomplete]), .socket(Self.call)])
        #expect(await fixture.run(Self.first).error != nil)
        _ = await fixture.run(Self.second)
        #expect(Self.sent(fixture, connection: 1, 0)?.previousResponseID == nil)
        #expect(Self.sent(fixture, connection: 1, 0)?.inputCount == 3)
    }

    @Test func aResponseWithoutAnIdentifierIsNotContinued() async {
        let fixture = TurnFixture([
            .socket([Event.done(WireItem.sentCall("a")), #"{"type":"response.completed","response":{}}"#])
        ])
        _ = await fixture.run(Self.first)
        fixture.transport.connections[0].append(.again(Event.completed))
        _ = await fixture.run(Self.second)
        #expect(Self.sent(fixture, connection: 0, 1)?.previousResponseID == nil)
    }

    @Test func textWithoutAnItemIsNotContinued() async {
        let fixture = TurnFixture([.socket([Event.created("r1"), Event.text("x"), Event.completed("r1")])])
        _ = await fixture.run(Self.first)
        fixture.transport.connections[0].append(.again(Event.created("r2"), Event.completed("r2")))
        _ = await fixture.run(conversation([WireItem.question, WireItem.user("more")]))
        #expect(Self.sent(fixture, connection: 0, 1)?.previousResponseID == nil)
        #expect(Self.sent(fixture, connection: 0, 1)?.inputCount == 2)
    }

    @Test func wholeRequestIsSentOverHTTP() async {
        let fixture = TurnFixture([.http(Self.call), .http([Event.completed])]) { $0.policy = .httpSSEOnly }
        _ = await fixture.run(Self.first)
        _ = await fixture.run(Self.second)
        let message = SentMessage(fixture.transport.requests[1].body)
        #expect(message?.previousResponseID == nil)
        #expect(message?.inputCount == 3)
    }

    // MARK: Failures

    @Test func wholeRequestIsSentOnANewSocketAfterACut() async {
        let fixture = await Self.afterCall(
            kept: [.request, .text(Event.created("r2")), .ended(.closed(code: 1006, reason: ""))],
            fresh: [.socket([Event.created("r3"), Event.text("done"), Event.completed("r3")])])
        let outcome = await fixture.run(Self.second)
        #expect(outcome.text == "done")
        #expect(Self.sent(fixture, connection: 0, 1)?.inputCount == 1)
        #expect(Self.sent(fixture, connection: 1, 0)?.previousResponseID == nil)
        #expect(Self.sent(fixture, connection: 1, 0)?.inputCount == 3)
        #expect(outcome.report.reconnects == 1)
    }

    @Test func deadSocketIsReplacedAndTheWholeRequestIsSent() async {
        let fixture = await Self.afterCall(
            kept: [.request, .ended(.closed(code: 1006, reason: ""))],
            fresh: [.socket([Event.created("r3"), Event.completed("r3")])])
        let outcome = await fixture.run(Self.second)
        #expect(outcome.error == nil)
        #expect(outcome.report.reconnects == 0)
        #expect(Self.sent(fixture, connection: 1, 0)?.inputCount == 3)
    }

    private static let forgotten =
        #"{"type":"error","status":400,"error":{"type":"invalid_request_error","code":"previous_response_not_found","#
        + #""message":"not found"}}"#

    @Test(arguments: ChappieRecoveryPolicy.allCases)
    func forgottenContinuationIsSentWholeWithoutARetry(recovery: ChappieRecoveryPolicy) async {
        let fixture = await Self.afterCall(
            kept: .again(Self.forgotten),
            fresh: [.socket([Event.created("r3"), Event.text("done"), Event.completed("r3")])]
        ) {
            $0.policy = ChappieStreamingTransportPolicy(
                maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
            $0.policy.recovery = recovery
        }
        let start = fixture.clock.now
        let outcome = await fixture.run(Self.second)
        #expect(outcome.error == nil)
        #expect(outcome.text == "done")
        #expect(Self.sent(fixture, connection: 0, 1)?.inputCount == 1)
        #expect(Self.sent(fixture, connection: 1, 0)?.inputCount == 3)
        #expect(Self.sent(fixture, connection: 1, 0)?.previousResponseID == nil)
        #expect(outcome.report.reconnects == 0)
        #expect(outcome.outcomes == ["replaced", "completed"])
        #expect(fixture.clock.now == start)
        #expect(fixture.calls(0).contains(.cancel))
    }

    /// vLLM's refusal of a response that it does not have, and those of servers that know no such member.
    private static let refusals = [
        #"{"type":"error","status":404,"error":{"message":"m","type":"invalid_request_error","param":"response_id","code":404}}"#,
        #"{"type":"error","error":{"message":"m","param":"response_id","code":404}}"#,
        #"{"type":"error","status":400,"error":{"message":"m","type":"invalid_request_error","param":"previous_response_id","code":null}}"#,
        #"{"type":"error","status":404,"error":{"message":"m","code":"not_found","param":"previous_response_id"}}"#,
        #"{"error":{"message":"m","code":400,"param":"previous_response_id"}}"#,
    ]

    @Test(arguments: refusals) func refusalByTheParameterIsSentWhole(refusal: String) async {
        let fixture = await Self.afterCall(
            kept: .again(refusal),
            fresh: [.socket([Event.created("r3"), Event.text("done"), Event.completed("r3")])])
        let outcome = await fixture.run(Self.second)
        #expect(outcome.text == "done")
        #expect(Self.sent(fixture, connection: 1, 0)?.previousResponseID == nil)
        #expect(Self.sent(fixture, connection: 1, 0)?.inputCount == 3)
        #expect(outcome.outcomes == ["replaced", "completed"])
    }

    @Test(arguments: refusals) func refusalOfTheCallersOwnContinuationIsFinalAndExplained(refusal: String) async {
        let fixture = TurnFixture([.socket([refusal])]) {
            $0.policy = ChappieStreamingTransportPolicy(fallsBackToHTTPSSE: false)
        }
        let outcome = await fixture.run(conversation([WireItem.question], #""model":"m","previous_response_id":"x""#))
        #expect(outcome.report.attempts.count == 1)
        #expect(outcome.clientError?.serverMessage == "m")
        let advice = outcome.clientError?.recoverySuggestion?.lowercased()
        #expect(advice?.contains("send the whole input") == true)
    }

    @Test func theSameWordsAboutTheCallersOwnContinuationAreAFailure() async {
        let fixture = TurnFixture([.socket([Self.forgotten])]) {
            $0.policy = ChappieStreamingTransportPolicy(
                maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
        }
        let outcome = await fixture.run(
            conversation([WireItem.question], #""model":"m","previous_response_id":"x""#))
        #expect(outcome.clientError == .httpError(400, Self.forgotten))
    }

    @Test func afterTheRefusalTheNewSocketIsContinuedAgain() async {
        let fixture = await Self.afterCall(
            kept: .again(Self.forgotten),
            fresh: [.socket([Event.created("r3"), Event.done(WireItem.sentMessage("x")), Event.completed("r3")])])
        let (_, response) = await fixture.complete(Self.second)
        fixture.transport.connections[1].append(.again(Event.created("r4"), Event.completed("r4")))
        let items = [WireItem.question, WireItem.call("a"), WireItem.output("a")] + (response?.itemTexts ?? [])
        #expect(await fixture.run(conversation(items + [WireItem.user("more")])).error == nil)
        #expect(Self.sent(fixture, connection: 1, 1)?.previousResponseID == "r3")
        #expect(Self.sent(fixture, connection: 1, 1)?.inputCount == 1)
    }

    @Test func carriedItemsAreAPartOfWhatWasSent() async {
        let broken = [
            Event.created("r1"), Event.done(WireItem.sentCall("a")), Event.text("x", at: 1),
        ]
        let whole = [
            Event.created("r2"), Event.text("xy", at: 0), Event.done(WireItem.sentMessage("xy"), at: 0),
            Event.completed("r2"),
        ]
        let fixture = TurnFixture([.socket(broken, isBroken: true), .socket(whole)]) {
            $0.policy.carriesFinishedItems = true
            $0.toolOutput = { _ in Array(WireItem.output("a").utf8) }
        }
        let (_, response) = await fixture.complete(Self.first)
        fixture.transport.connections[1].append(.again(Event.created("r3"), Event.completed("r3")))
        let items = [WireItem.question] + (response?.itemTexts ?? []) + [WireItem.user("more")]
        #expect(items.count == 5)
        #expect(await fixture.run(conversation(items)).error == nil)
        #expect(Self.sent(fixture, connection: 1, 1)?.previousResponseID == "r2")
        #expect(Self.sent(fixture, connection: 1, 1)?.inputCount == 1)
    }

    // MARK: Size

    @Test func messageLimitAppliesToTheSentPart() async {
        let large = WireItem.user(String(repeating: "x", count: 16_600_000))
        let fixture = TurnFixture([.socket(Self.call)])
        _ = await fixture.run(conversation([large]))
        // With the call and its output the whole would be too large.
        let output = WireItem.output("a").replacing("4", with: String(repeating: "y", count: 200_000))
        fixture.transport.connections[0].append(
            .again(Event.created("r2"), Event.done(WireItem.sentMessage("x")), Event.completed("r2")))
        let second = [large, WireItem.call("a"), output]
        let outcome = await fixture.run(conversation(second))
        #expect(outcome.report.attempts.map(\.transport) == [.webSocket])
        #expect(Self.sent(fixture, connection: 0, 1)?.inputCount == 1)
    }

    @Test func aSocketThatHasDiedLeavesALargeRequestToHTTP() async {
        let large = WireItem.user(String(repeating: "x", count: 16_600_000))
        let output = WireItem.output("a").replacing("4", with: String(repeating: "y", count: 200_000))
        let fixture = TurnFixture([.socket(Self.call), .http([Event.created("r2"), Event.completed("r2")])])
        _ = await fixture.run(conversation([large]))
        fixture.transport.connections[0].append([.request, .ended(.closed(code: 1006, reason: ""))])
        let outcome = await fixture.run(conversation([large, WireItem.call("a"), output]))
        #expect(outcome.error == nil)
        #expect(outcome.report.attempts.map(\.transport) == [.webSocket, .httpSSE])
        #expect(outcome.report.fallbackReason == "request.too-large")
        #expect(fixture.transport.requests.count == 2)
    }

    @Test func aRequestThatIsTooLargeHoweverItIsSentLeavesTheSocketAlone() async {
        let fixture = await Self.afterCall(
            kept: .again(Event.created("r3"), Event.completed("r3")), fresh: [.http([Event.completed])])
        let large = WireItem.output("a").replacing("4", with: String(repeating: "y", count: 16_800_000))
        let outcome = await fixture.run(conversation([WireItem.question, WireItem.call("a"), large]))
        #expect(outcome.report.attempts.map(\.transport) == [.httpSSE])
        // The socket still has the previous response.
        #expect(await fixture.run(Self.second).error == nil)
        #expect(Self.sent(fixture, connection: 0, 1)?.previousResponseID == "r1")
    }
}
