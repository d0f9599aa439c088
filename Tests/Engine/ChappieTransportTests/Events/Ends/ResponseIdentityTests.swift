// A response keeps its identity over all of its connections.

import StreamTransport
import Testing

@testable import ChappieTransport

extension ChappieStreamingTransportPolicy {
    /// One attempt over a WebSocket.
    static let once = Self(maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
}

@Suite struct ResponseIdentityTests {
    private static let cut: [ScriptStep] = .eventStream(
        Numbered.created(0), Numbered.added(1), Numbered.text(2, "one two "), then: CursorResumeTests.lost)

    private static let other: [ScriptStep] = .eventStream(
        Numbered.created(0, id: "x"), Numbered.text(1, "another answer"), Numbered.completed(2, id: "x"))

    /// Runs a resumable turn whose response is cut after "one two ", and answers the first resumption with the events.
    ///
    /// A request for the response from its beginning is answered with another response.
    private static func resumed(_ events: String..., before first: [ScriptStep] = cut) async -> TurnOutcome {
        await self.resumed(events, before: first)
    }

    private static func resumed(_ events: [String], before first: [ScriptStep]) async -> TurnOutcome {
        let fixture = TurnFixture([first, .http(events), self.other]) {
            $0.rawEvents = .none
            $0.maxHTTPRetries = 2
        }
        return await fixture.run(CursorResumeTests.request)
    }

    private static func expectContradiction(_ outcome: TurnOutcome, text: String = "one two ") {
        #expect(outcome.text == text)
        #expect(outcome.transportFailure?.code == .contradictoryEvents)
        #expect(outcome.transportFailure?.replaySafety == .outputDelivered)
        #expect(!outcome.events.contains(.completed))
    }

    /// Expects that both the resumed stream and the reading from the beginning are refused.
    private static func expectRefusedRest(_ outcome: TurnOutcome, text: String = "one two ") {
        self.expectContradiction(outcome, text: text)
        #expect(outcome.outcomes == ["connection.lost", "event.contradictory", "event.contradictory"])
    }

    @Test func anotherResponseThatIsCreatedBehindACutIsRefused() async {
        Self.expectRefusedRest(
            await Self.resumed(Numbered.created(3, id: "x"), Numbered.text(4, "another answer"), Numbered.completed(5)))
    }

    /// Their numbers are known, so they would be dropped as repetitions.
    @Test(arguments: [
        [Numbered.created(0, id: "x")], [Numbered.inProgress(2, id: "x")], [Numbered.added(1, id: "n")],
        [Numbered.created(0, id: "x"), Numbered.added(1, id: "n")],
    ])
    func anotherResponseIsRecognisedByEventsWithOldNumbers(_ events: [String]) async {
        let first: [ScriptStep] = .eventStream(
            Numbered.created(0), Numbered.added(1), Numbered.inProgress(2), Numbered.text(3, "one two "),
            then: CursorResumeTests.lost)
        let end = [Numbered.text(4, "another answer"), #"{"type":"response.completed","response":{}}"#]
        Self.expectRefusedRest(await Self.resumed(events + end, before: first))
    }

    /// The same events of the same response, which a server sends before the rest.
    @Test func eventsThatAServerSendsOnceMoreBehindACutAreDropped() async {
        let outcome = await Self.resumed(
            Numbered.created(0), Numbered.added(1), Numbered.text(3, "three"), Numbered.completed(4))
        #expect(outcome.error == nil)
        #expect(outcome.text == "one two three")
    }

    @Test func theEndOfAnotherResponseBehindACutIsRefused() async {
        Self.expectRefusedRest(
            await Self.resumed(Numbered.text(3, "three"), Numbered.completed(4, id: "x")), text: "one two three")
    }

    @Test func outputOfAnItemThatWasDoneBeforeACutIsRefused() async {
        let first: [ScriptStep] = .eventStream(
            Numbered.created(0), Numbered.added(1), Numbered.text(2, "one two "), Numbered.done(3),
            then: CursorResumeTests.lost)
        Self.expectRefusedRest(
            await Self.resumed(Numbered.text(4, "another answer"), Numbered.completed(5), before: first))
    }

    /// The end of an item that reveals a gap is not applied: the missing event may be the item's own output.
    @Test func anItemIsNotDoneByAnEventBehindAGap() async {
        let first: [ScriptStep] = .eventStream(
            Numbered.created(0), Numbered.added(1), Numbered.done(3), then: CursorResumeTests.lost)
        let outcome = await Self.resumed(
            Numbered.text(2, "one "), Numbered.done(3), Numbered.completed(4), before: first)
        #expect(outcome.text == "one ")
        #expect(outcome.error == nil)
    }

    @Test func resumptionContinuesTheSameResponse() async {
        let outcome = await Self.resumed(
            Numbered.inProgress(3), Numbered.text(4, "three"), Numbered.done(5), Numbered.completed(6))
        #expect(outcome.error == nil)
        #expect(outcome.text == "one two three")
    }

    @Test func aNumberThatAnEventWithoutOneMayHaveUsedUpIsAskedFor() async {
        let keepalive = #"{"type":"keepalive"}"#
        let fixture = TurnFixture([
            .eventStream(
                Numbered.created(0), Numbered.text(1, "a"), keepalive, Numbered.text(3, "c"), Numbered.completed(4)),
            .eventStream(Numbered.text(2, "b"), Numbered.text(3, "c"), Numbered.completed(4)),
        ]) { $0.rawEvents = .none }
        let outcome = await fixture.run(CursorResumeTests.request)
        #expect(outcome.error == nil)
        #expect(outcome.text == "abc")
        #expect(fixture.transport.requests[1].endpoint.target.hasSuffix("starting_after=1"))
    }

    @Test func gapsThatARefetchDoesNotFillAreRequestedOnce() async {
        let keepalive = #"{"type":"keepalive"}"#
        let fixture = TurnFixture([
            .eventStream(
                Numbered.created(0), Numbered.text(1, "a"), keepalive, Numbered.text(3, "b"), keepalive,
                Numbered.text(5, "c"), Numbered.completed(6)),
            .eventStream(Numbered.text(3, "b"), keepalive, Numbered.text(5, "c"), Numbered.completed(6)),
        ]) { $0.rawEvents = .none }
        let outcome = await fixture.run(CursorResumeTests.request)
        #expect(outcome.error == nil)
        #expect(outcome.text == "abc")
        #expect(fixture.transport.requests.count == 2)
    }

    // MARK: An answer that begins anew

    /// The first answer, and its continuation, on a connection that is not resumed.
    private static func unbroken(_ events: [String], reportsDiagnostics: Bool = true) async -> TurnOutcome {
        let first = [
            Numbered.created(0), Numbered.inProgress(1), Numbered.added(2), Numbered.text(3, "The capital is "),
        ]
        let fixture = TurnFixture([[.opened(101), .request] + (first + events).map { .text($0) }]) {
            $0.policy = .once
            $0.reportsDiagnostics = reportsDiagnostics
            $0.rawEvents = .none
        }
        return await fixture.run()
    }

    /// Its first events are repeated ones, under the same numbers.
    @Test(arguments: [
        [Numbered.created(0), Numbered.inProgress(1), Numbered.added(2), Numbered.text(3, "Berlin, ")],
        [Numbered.added(2), Numbered.text(3, "Berlin, ")],
        [Numbered.inProgress(4, id: "x"), Numbered.added(5), Numbered.text(6, "Berlin")],
        [Numbered.added(4), Numbered.text(5, "Berlin")],
    ])
    func restartedAnswerIsNotAppendedToTheDeliveredText(_ events: [String]) async {
        for reportsDiagnostics in [true, false] {
            let outcome = await Self.unbroken(
                events + [Numbered.text(7, "I think."), Numbered.completed(8)], reportsDiagnostics: reportsDiagnostics)
            Self.expectContradiction(outcome, text: "The capital is ")
        }
    }

    /// A gateway repeats all events that it has sent, and continues.
    @Test func anAnswerThatIsSentAgainFromItsBeginningIsReadOnce() async {
        let outcome = await Self.unbroken([
            Numbered.created(0), Numbered.inProgress(1), Numbered.added(2), Numbered.text(3, "The capital is "),
            Numbered.text(4, "Oslo."), Numbered.completed(5),
        ])
        #expect(outcome.error == nil)
        #expect(outcome.text == "The capital is Oslo.")
    }

    @Test(arguments: [true, false])
    func aRepeatedDeltaIsDroppedOnEveryStream(reportsDiagnostics: Bool) async {
        let fixture = TurnFixture([
            [.opened(101), .request]
                + [
                    Numbered.created(0), Numbered.text(1, "a"), Numbered.text(2, "b"), Numbered.text(2, "b"),
                    Numbered.text(3, "b"), Numbered.text(1, "a"), Numbered.completed(4),
                ].map { .text($0) }
        ]) { $0.reportsDiagnostics = reportsDiagnostics }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(outcome.text == "abb")
    }

    @Test func itemsThatShareAnIndexAreNotGivenBack() async {
        let fixture = TurnFixture([
            [.opened(101), .request]
                + [Event.created, Numbered.added(1, id: "i"), Event.text("a"), Numbered.done(2, id: "i")].map {
                    .text($0)
                }
                + [Numbered.added(3, id: "j"), Event.text("b"), Numbered.done(4, id: "j")].map { .text($0) }
                + [.ended(CursorResumeTests.lost)],
            .webSocket(
                Event.created, Numbered.added(1, id: "k"), Event.text("a"), Numbered.done(2, id: "k"),
                Numbered.added(3, id: "l"), Event.text("b"), Event.completed),
        ]) {
            $0.policy.carriesFinishedItems = true
            $0.rawEvents = .none
        }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(outcome.text == "ab")
        #expect(fixture.transport.connections.last?.messages.first?.contains("assistant") == false)
    }
}
