// The order in which turns begin, and the pause of all of them.
import StreamSession
import Testing

@Suite struct TurnLimiterTests {
    @Test func turnsBeginInTheOrderOfTheirArrival() {
        var limiter = TurnLimiter(ChappieConcurrencyPolicy(maximumTurnCount: 2))
        #expect([1, 2, 3, 4].map { limiter.enter($0) } == [true, true, false, false])
        #expect(limiter.leave() == 3)
        // A newer turn does not overtake the one that waits.
        #expect(limiter.enter(5) == false)
        #expect([limiter.leave(), limiter.leave(), limiter.leave(), limiter.leave()] == [4, 5, nil, nil])
        #expect([6, 7, 8].map { limiter.enter($0) } == [true, true, false])
    }

    @Test func turnThatWaitsMayWithdraw() {
        var limiter = TurnLimiter(ChappieConcurrencyPolicy(maximumTurnCount: 1))
        #expect(limiter.enter(1) && !limiter.enter(2) && !limiter.enter(3))
        #expect(limiter.withdraw(2) == true)
        #expect(!limiter.withdraw(2) && !limiter.withdraw(1))
        #expect(limiter.leave() == 3)
        #expect(limiter.withdraw(3) == false)
    }

    @Test func withoutAMaximumEveryTurnBeginsAtOnce() {
        var limiter = TurnLimiter(ChappieConcurrencyPolicy())
        #expect((1...1_000).allSatisfy { limiter.enter($0) })
    }

    @Test(arguments: [Int.min, -1, 0, 1]) func maximumIsAtLeastOne(count: Int) {
        #expect(ChappieConcurrencyPolicy(maximumTurnCount: count).maximumTurnCount == 1)
    }

    @Test func longestPauseIsWaitedFor() {
        var limiter = TurnLimiter(ChappieConcurrencyPolicy())
        #expect(limiter.remainingPause(now: .seconds(5)) == nil)
        limiter.pause(for: .seconds(10), now: .seconds(5))
        limiter.pause(for: .seconds(1), now: .seconds(6))
        #expect(limiter.remainingPause(now: .seconds(7)) == .seconds(8))
        limiter.pause(for: .seconds(20), now: .seconds(7))
        #expect(limiter.remainingPause(now: .seconds(7)) == .seconds(20))
        #expect(limiter.remainingPause(now: .seconds(27)) == nil)
    }

    @Test func pauseIsNotSharedUnlessThePolicySaysSo() {
        var limiter = TurnLimiter(ChappieConcurrencyPolicy(maximumTurnCount: 1, sharesRateLimitWaits: false))
        limiter.pause(for: .seconds(10), now: .zero)
        #expect(limiter.remainingPause(now: .zero) == nil)
        var unlimited = TurnLimiter(.unlimited)
        unlimited.pause(for: .seconds(10), now: .zero)
        #expect(unlimited.remainingPause(now: .zero) == nil)
    }
}
