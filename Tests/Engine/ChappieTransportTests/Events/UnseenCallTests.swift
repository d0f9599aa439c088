// Calls of a broken response: an undelivered call may change, and a call that has run is settled.

import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct UnseenCallTests {
    private static let first = Event.done(WireItem.sentCall("a", #"{\"x\":1}"#), at: 0)
    private static let other = Event.done(WireItem.sentCall("b", #"{\"x\":2}"#, name: "g"), at: 0)

    private static func turn(
        _ scripts: [[ScriptStep]], runsCalls: Bool = true,
        _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async -> (outcome: TurnOutcome, response: CompletedResponse?, fixture: TurnFixture) {
        let fixture = TurnFixture(scripts, configure)
        let (outcome, response) = await fixture.complete(
            conversation([WireItem.question]) { $0.runsCalls = runsCalls })
        return (outcome, response, fixture)
    }

    private static func policy(retries: Int) -> ChappieStreamingTransportPolicy {
        ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: retries, fallsBackToHTTPSSE: false)
    }

    // MARK: Calls that may change

    @Test(
        arguments: [ChappieRawEvents.none, .unsurfaced], [ChappieRecoveryPolicy.verify, .resumeOnly])
    func undeliveredCallMayDifferInARetry(
        rawEvents: ChappieRawEvents, recovery: ChappieRecoveryPolicy
    ) async {
        let (outcome, response, _) = await Self.turn([
            .socket([Event.created("r1"), Self.first], isBroken: true),
            .socket([Event.created("r2"), Self.other, Event.completed("r2")]),
        ]) {
            $0.rawEvents = rawEvents
            $0.policy.recovery = recovery
        }
        #expect(outcome.error == nil)
        #expect(outcome.report.attempts.map(\.rung) == [nil, .sentAgain])
        #expect(outcome.report.verifiedReplayByteCount == 0)
        // No item of the broken response is left.
        #expect(response?.itemTexts == [WireItem.call("b", #"{\"x\":2}"#, name: "g")])
        #expect(response?.calls.map(\.callID) == ["b"])
        #expect(!outcome.rawTypes.contains("response.output_item.done"))
    }

    @Test func undeliveredCallMayDifferAfterAFallback() async {
        let (outcome, response, _) = await Self.turn([
            .socket([Event.created("r1"), Self.first], isBroken: true),
            .http([Event.created("r2"), Self.other, Event.completed("r2")]),
        ]) {
            $0.rawEvents = .none
            $0.policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0)
        }
        #expect(outcome.error == nil)
        #expect(outcome.report.attempts.map(\.rung) == [nil, .sentAgain])
        #expect(response?.calls.map(\.callID) == ["b"])
    }

    @Test func anAnswerWithoutTheCallIsWhole() async {
        let (outcome, response, _) = await Self.turn([
            .socket([Event.created("r1"), Self.first], isBroken: true),
            .socket([Event.created("r2"), Event.text("no call"), Event.completed("r2")]),
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "no call")
        #expect(response?.calls == [])
    }

    @Test func responseWithOnlyAnUndeliveredCallHasDeliveredNoOutput() async {
        for recovery in [ChappieRecoveryPolicy.verify, .resumeOnly, .never] {
            let (outcome, _, _) = await Self.turn(
                [.socket([Event.created("r1"), Self.first], isBroken: true)]
            ) {
                $0.policy = Self.policy(retries: 0)
                $0.policy.recovery = recovery
            }
            #expect(outcome.transportFailure?.replaySafety == .sentNoOutput)
            #expect(outcome.report.replaySafety == .sentNoOutput)
        }
    }

    @Test func undeliveredCallIsNotRetriedWithoutRecovery() async {
        let (outcome, _, fixture) = await Self.turn([
            .socket([Event.created("r1"), Self.first], isBroken: true), .socket([Event.completed("r2")]),
        ]) { $0.policy.recovery = .never }
        #expect(outcome.transportFailure?.code == .webSocketClosed)
        #expect(fixture.transport.requests.count == 1)
    }

    // MARK: Output that is still guaranteed

    @Test func textBeforeTheCallIsStillVerified() async {
        let cut = [Event.created("r1"), Event.text("Let me see."), Event.done(WireItem.sentCall("a"), at: 1)]
        let again = [Event.text("Let me "), Event.text("see."), Event.done(WireItem.sentCall("b"), at: 1)]
        let (outcome, response, _) = await Self.turn([
            .socket(cut, isBroken: true), .socket([Event.created("r2")] + again + [Event.completed("r2")]),
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "Let me see.")
        #expect(outcome.report.attempts.map(\.rung) == [nil, .verifiedReplay])
        #expect(outcome.report.verifiedReplayByteCount == 11)
        #expect(response?.calls.map(\.callID) == ["b"])

        for wrong in [[Event.text("Let me think.")], [Event.text("Let me")], []] {
            let (outcome, response, _) = await Self.turn([
                .socket(cut, isBroken: true),
                .socket([Event.created("r2")] + wrong + [Self.other, Event.completed("r2")]),
            ])
            #expect(outcome.clientError == .streamingTransportReplayDiverged("Let me see."))
            #expect(response == nil)
        }
    }

    @Test(arguments: [true, false])
    func aCallThatWasHandedOverIsCompared(isTheSame: Bool) async {
        let second = isTheSame ? Event.done(WireItem.sentCall("b", #"{ \"x\" : 1 }"#)) : Self.other
        for runsCalls in [true, false] {
            let (outcome, response, _) = await Self.turn(
                [
                    .socket([Event.created("r1"), Self.first], isBroken: true),
                    .socket([Event.created("r2"), second, Event.completed("r2")]),
                ], runsCalls: runsCalls
            ) { $0.rawEvents = runsCalls ? .all : .unsurfaced }
            #expect(outcome.rawTypes.filter { $0 == "response.output_item.done" }.count == 1)
            #expect(outcome.clientError == (isTheSame ? nil : .streamingTransportReplayDiverged("")))
            #expect(response?.calls.map(\.callID) == (isTheSame ? ["b"] : nil))
        }
    }

    // MARK: Calls that have run

    /// A carried call runs once, for any number of breaks and any further calls of the model.
    @Test(arguments: [ChappieRecoveryPolicy.verify, .resumeOnly])
    func aCarriedCallIsSettled(recovery: ChappieRecoveryPolicy) async {
        let asked = LockedValue<[String]>([])
        let (outcome, response, fixture) = await Self.turn(
            [
                .socket([Event.created("r1"), Self.first], isBroken: true),
                .broken(),
                .socket([Event.created("r2"), Self.other], isBroken: true),
                // The call comes a third time, under its name: it has its output.
                .socket([Event.created("r3"), Self.first, Event.text("Done.", at: 1), Event.completed("r3")]),
            ]
        ) {
            $0.toolOutput = { call in
                asked.withLock { $0.append(call) }
                return Array(WireItem.output(call.contains(#""call_id":"a""#) ? "a" : "b").utf8)
            }
            $0.policy.carriesFinishedItems = true
            $0.policy.recovery = recovery
        }
        #expect(outcome.error == nil)
        #expect(outcome.text == "Done.")
        #expect(
            asked.withLock { $0 } == [
                WireItem.sentCall("a", #"{\"x\":1}"#), WireItem.sentCall("b", #"{\"x\":2}"#, name: "g"),
            ])
        let inputs = fixture.messages.compactMap { SentMessage($0.first)?.inputCount }
        #expect(inputs == [1, 3, 3, 5])
        #expect(response?.calls == [])
        #expect(response?.itemTexts.count == 4)
    }

    @Test func aCallThatCannotBeCarriedIsNotAskedFor() async {
        let asked = LockedValue(0)
        // The item before it is not finished, so the model makes both again.
        let unfinished = [Event.created("r1"), Event.text("x"), Event.done(WireItem.sentCall("a"), at: 1)]
        // Reasoning that is not encrypted cannot go back.
        let reasoning = [
            Event.created("r1"), Event.done(#"{"type":"reasoning","id":"rs","summary":[]}"#, at: 0),
            Event.done(WireItem.sentCall("a"), at: 1),
        ]
        for events in [unfinished, reasoning] {
            let (outcome, response, fixture) = await Self.turn(
                [
                    .socket(events, isBroken: true),
                    .socket([Event.created("r2"), Event.text("x"), Event.completed("r2")]),
                ]
            ) {
                $0.policy.carriesFinishedItems = true
                $0.toolOutput = { _ in
                    asked.withLock { $0 += 1 }
                    return Array(WireItem.output("a").utf8)
                }
            }
            #expect(outcome.error == nil)
            #expect(response?.calls == [])
            #expect(SentMessage(fixture.messages.last?.first)?.inputCount == 1)
        }
        #expect(asked.withLock { $0 } == 0)
    }

    @Test func callRunForABrokenResponseCountsAsDeliveredOutput() async {
        let (outcome, _, _) = await Self.turn(
            [.socket([Event.created("r1"), Self.first], isBroken: true), .broken(), .broken()]
        ) {
            $0.toolOutput = { _ in Array(WireItem.output("a").utf8) }
            $0.policy = Self.policy(retries: 1)
            $0.policy.carriesFinishedItems = true
        }
        #expect(outcome.transportFailure?.replaySafety == .outputDelivered)
        #expect(outcome.report.replaySafety == .outputDelivered)
    }
}
