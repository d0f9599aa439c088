// Messages that were late, and the second attempt that decides whether they are lost.
import PathDiagnosis
import Testing

@Suite struct LateMessageTests {
    private static let sizes = [63 << 10, 1 << 20]

    /// Facts with these outcomes, the small message's first.
    private static func facts(_ echoes: MessageFacts.Echo...) -> MessageFacts {
        MessageFacts(zip(Self.sizes, echoes).map { .init(byteCount: $0, echo: $1) })
    }

    private static let quick = MessageFacts.Echo.returned(.milliseconds(30))
    private static let late = Self.facts(Self.quick, .timedOut)

    private static func causes(_ facts: MessageFacts) -> [String] {
        PathJudge(.probed.with { $0.messages = .found(facts) }).report.causes.map(\.name)
    }

    private static func words(_ facts: MessageFacts) -> String? {
        PathJudge(.probed.with { $0.messages = .found(facts) }).report.result(of: .messages)?.words
    }

    @Test func theSameMessageLateTwiceIsLost() {
        let confirmed = Self.late.confirmed(by: Self.facts(Self.quick, .timedOut))
        #expect(confirmed == Self.late)
        #expect(Self.causes(confirmed) == ["messages.large"])
        #expect(Self.words(confirmed) == "1 MiB: did not return in time, twice")
        let small = Self.facts(.timedOut)
        #expect(Self.causes(small.confirmed(by: Self.facts(.timedOut))) == ["messages.all"])
    }

    @Test func aSecondAttemptThatWorksIsTheResult() {
        let second = Self.facts(Self.quick, .returned(.seconds(6)))
        #expect(Self.late.confirmed(by: second) == second)
        #expect(Self.words(second) == "63 KiB and 1 MiB return unchanged")
        let slow = Self.facts(Self.quick, .slow)
        #expect(Self.late.confirmed(by: slow) == slow)
        #expect(Self.causes(slow).isEmpty)
    }

    @Test func aSecondAttemptWithHarderEvidenceIsTheResult() {
        let closed = Self.facts(Self.quick, .closed(code: 1009))
        #expect(Self.late.confirmed(by: closed) == closed)
        #expect(Self.causes(closed) == ["messages.large"])
    }

    /// None, one that did not come as far, and one that came further and was late there.
    @Test(
        arguments: [
            (late, nil), (late, MessageFacts([])), (late, facts(quick)), (late, facts(.timedOut)),
            (facts(.timedOut), facts(quick, .timedOut)),
        ] as [(MessageFacts, MessageFacts?)])
    func aMessageThatWasLateOnceNamesNoFault(first: MessageFacts, second: MessageFacts?) {
        let confirmed = first.confirmed(by: second)
        #expect(confirmed.messages.last?.echo == .undecided)
        #expect(Self.causes(confirmed).isEmpty)
        #expect(Self.words(confirmed)?.hasSuffix("did not return in time, once") == true)
    }

    @Test func factsWithoutALateMessageAreUnchanged() {
        let facts = Self.facts(Self.quick, .damaged)
        #expect(facts.confirmed(by: nil) == facts)
        #expect(facts.confirmed(by: Self.facts(Self.quick, Self.quick)) == facts)
    }
}
