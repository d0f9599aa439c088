// An answer to a repeated request that differs from the delivered one, and replaces it where the program wants that.

import ChappieTransport
import Testing

@Suite struct RestartTests {
    private static func run(
        _ scripts: [[ScriptStep]], _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async -> TurnOutcome {
        let fixture = TurnFixture(scripts) {
            $0.policy.divergence = .restarts
            $0.rawEvents = .none
            configure(&$0)
        }
        return await fixture.run()
    }

    private static func reasoned(_ text: String) -> String {
        #"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"\#(text)"}"#
    }

    private static func texts(_ texts: String...) -> [String] {
        texts.map { #"{"type":"response.output_text.delta","output_index":1,"delta":"\#($0)"}"# }
    }

    private static let whole = [Event.created] + Self.texts("Hello", " you", ".") + [Event.completed]

    /// The new answer begins like the earlier one, or not; its deltas are cut anywhere.
    @Test(arguments: [
        ["Hello", " two", "."], ["Hell", "o two."], ["Hello two."], ["H", "i"], ["Hi"], ["Hel"], ["Hello yo"],
    ])
    func theNewAnswerComesFromItsFirstByte(deltas: [String]) async {
        for reasoning in [[], ["Think"], ["Thought"], ["Thi", "nk", "ing"]] {
            let begun = [Event.created, Self.reasoned("Think")] + Self.texts("Hello", " you")
            let answer = reasoning.map(Self.reasoned) + deltas.map { Self.texts($0)[0] }
            let outcome = await Self.run([
                .socket(begun, isBroken: true), .socket([Event.created] + answer + [Event.completed]),
            ])
            #expect(outcome.error == nil)
            let restart = ChappieStreamEvent.restarted(deliveredText: "Hello you")
            let split = outcome.events.split(separator: restart, omittingEmptySubsequences: false)
            #expect(split.count == 2)
            var rest = TurnOutcome()
            rest.events = Array(split.last ?? [])
            #expect(rest.text == deltas.joined())
            #expect(rest.reasoning == reasoning.joined())
            #expect(rest.events.last == .completed)
            #expect(outcome.outcomes == ["ws.close.1006", "completed"])
        }
    }

    /// What the closing events have beyond the deltas diverges as deltas do.
    @Test func aClosingTextThatDiffersRestartsToo() async {
        let closing = #"{"type":"response.output_text.done","output_index":1,"text":"Hello two"}"#
        let outcome = await Self.run([
            .socket([Event.created] + Self.texts("Hello", " you"), isBroken: true),
            .socket([Event.created] + Self.texts("Hello") + [closing, Event.completed]),
        ])
        #expect(outcome.error == nil)
        #expect(
            outcome.events == [
                .textDelta("Hello"), .textDelta(" you"), .restarted(deliveredText: "Hello you"), .textDelta("Hello"),
                .textDelta(" two"), .completed,
            ])
    }

    /// A cut behind a restart is recovered by comparison with the new answer.
    @Test func anAnswerThatHasReplacedAnotherIsVerified() async {
        let other = [Event.created] + Self.texts("Hello", " two")
        let outcome = await Self.run([
            .socket(Array(Self.whole.dropLast(2)), isBroken: true), .socket(other, isBroken: true),
            .socket(other + Self.texts(" more") + [Event.completed]),
        ])
        #expect(outcome.error == nil)
        #expect(
            outcome.events == [
                .textDelta("Hello"), .textDelta(" you"), .restarted(deliveredText: "Hello you"), .textDelta("Hello"),
                .textDelta(" two"), .textDelta(" more"), .completed,
            ])
    }

    /// A replay that was refuted has verified nothing.
    @Test func restartReportsNoVerifiedReplay() async {
        let outcome = await Self.run([
            .socket([Event.created, Event.text("Hello")], isBroken: true),
            .socket([Event.created, Event.text("Help me"), Event.completed]),
        ]) { $0.reportsDiagnostics = true }
        #expect(outcome.error == nil)
        #expect(outcome.diagnostics.map(\.kind) == [.connected, .reconnecting, .connected])
    }

    @Test(arguments: 0...3) func theNumberOfRestartsIsLimited(limit: Int) async {
        let scripts = ["a", "b", "c", "d"].map { [ScriptStep].socket([Event.created, Event.text($0)], isBroken: true) }
        let outcome = await Self.run(scripts + [.socket([Event.created, Event.text("d"), Event.completed])]) {
            $0.policy.maxRestarts = limit
        }
        let restarts = outcome.events.compactMap { event -> String? in
            guard case .restarted(let text) = event else { return nil }
            return text
        }
        #expect(restarts == Array(["a", "b", "c"].prefix(limit)))
        if limit == 3 {
            #expect(outcome.error == nil)
        } else {
            #expect(outcome.clientError == .streamingTransportReplayDiverged(["a", "b", "c"][limit]))
        }
    }

    /// A program that was given a finished call may have run it.
    @Test func anAnswerWithACallThatWasDeliveredIsNotReplaced() async {
        let outcome = await Self.run([
            .socket([Event.created, Event.text("a"), Event.call("{}")], isBroken: true),
            .socket([Event.created, Event.text("b"), Event.completed]),
        ]) { $0.rawEvents = .unsurfaced }
        #expect(outcome.clientError == .streamingTransportReplayDiverged("a"))
    }

    /// The new answer begins with a call, which a program that runs tools itself gets behind the restart.
    @Test func anAnswerThatBeginsWithACallReplacesText() async {
        let outcome = await Self.run([
            .socket([Event.created, Event.text("a")], isBroken: true),
            .socket([Event.created, Event.call("{}"), Event.text("b"), Event.completed]),
        ]) { $0.rawEvents = .unsurfaced }
        #expect(outcome.error == nil)
        let events = outcome.events.drop { $0 != .textDelta("a") }.map { event in
            if case .raw(let type, _) = event { type } else { "\(event)" }
        }
        #expect(
            events == [
                #"textDelta("a")"#, #"restarted(deliveredText: "a")"#, "response.output_item.done",
                #"textDelta("b")"#, "completed",
            ])
    }

    /// Raw events behind the restart are passed on; those before it that the new answer has repeated are not.
    @Test func rawEventsBehindARestartArePassedOn() async {
        let other = { (number: Int) in #"{"type":"vendor.note","number":\#(number)}"# }
        let outcome = await Self.run([
            .socket([Event.created, other(1), Event.text("a"), other(2)], isBroken: true),
            .socket([Event.created, other(3), Event.text("b"), other(4), Event.completed]),
        ]) { $0.rawEvents = .unsurfaced }
        #expect(outcome.error == nil)
        let notes = outcome.events.compactMap { event -> String? in
            guard case .raw("vendor.note", let payload) = event else { return nil }
            return payload
        }
        #expect(notes == [other(1), other(2), other(4)])
    }

    @Test func aTurnWithoutThePolicyFails() async {
        let outcome = await Self.run([
            .socket([Event.created, Event.text("a")], isBroken: true),
            .socket([Event.created, Event.text("b"), Event.completed]),
        ]) { $0.policy = .default }
        #expect(outcome.clientError == .streamingTransportReplayDiverged("a"))
        #expect(outcome.events == [.textDelta("a")])
    }
}
