// The instants that events are timed with.

import StreamTransport
import Testing

@Suite struct MomentTests {
    private static let start = Moment(nanoseconds: 1_000)

    @Test(
        arguments: [
            (Duration.zero, 0), (.nanoseconds(1), 1), (.seconds(3), 3_000_000_000), (.seconds(-3), -3_000_000_000),
            (.milliseconds(-1), -1_000_000), (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
            (.nanoseconds(Int64.max), .max), (.nanoseconds(Int64.min), .min),
            (.nanoseconds(Int64.max) + .nanoseconds(1), .max), (.nanoseconds(Int64.min) - .nanoseconds(1), .min),
        ] as [(Duration, Int64)])
    func durationsAreCountedInNanosecondsAndSaturate(_ duration: Duration, _ nanoseconds: Int64) {
        #expect(duration.nanoseconds == nanoseconds)
    }

    @Test(arguments: [(1, 1), (999_999_999, 1), (1_000_000_000, 1), (1_000_000_001, 2), (-1, 0), (-1_000_000_000, -1)])
    func aPartOfANanosecondIsRoundedUp(_ attoseconds: Int64, _ nanoseconds: Int64) {
        #expect(Duration(secondsComponent: 0, attosecondsComponent: attoseconds).nanoseconds == nanoseconds)
    }

    @Test func momentsAreOrderedByTime() {
        #expect(Self.start < Self.start + .nanoseconds(1))
        #expect(Self.start - .nanoseconds(1) < Self.start)
        #expect(Self.start + .seconds(2) - Self.start == .seconds(2))
        #expect(Self.start - (Self.start + .seconds(2)) == .seconds(-2))
    }

    @Test func arithmeticSaturates() {
        let (first, last) = (Moment(nanoseconds: .min), Moment(nanoseconds: .max))
        #expect(last + .nanoseconds(1) == last)
        #expect(first - .nanoseconds(1) == first)
        #expect(Self.start + .seconds(Int64.max) == last)
        #expect(last.nanoseconds(since: first) == .max)
        #expect(first.nanoseconds(since: last) == .min)
        #expect(Moment(nanoseconds: 0).nanoseconds(since: first) == .max)
    }

    @Test func theClockAdvances() {
        let before = Moment.now
        let between = ContinuousClock.now
        while ContinuousClock.now == between {}
        #expect(before < .now)
    }
}
