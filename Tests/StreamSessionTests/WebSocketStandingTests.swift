import StreamSession
import Testing

@Suite struct WebSocketStandingTests {
    private static let adaptive = WebSocketStanding.Fallback.adaptive(cooldown: .seconds(60))

    @Test func aVerdictIsForLifeByDefault() {
        var standing = WebSocketStanding()
        #expect(!standing.isCondemned)
        standing.condemned(now: .zero)
        #expect(standing.isCondemned)
        #expect(!standing.beginsProbe(now: .seconds(1_000_000)))
        standing.established()
        #expect(standing.isCondemned)
    }

    @Test func anAdaptiveOneIsLookedAtAgainAfterEachCooldown() {
        var standing = WebSocketStanding(fallback: Self.adaptive)
        #expect(!standing.beginsProbe(now: .seconds(100)))
        standing.condemned(now: .seconds(100))
        #expect(!standing.beginsProbe(now: .seconds(159)))
        #expect(standing.beginsProbe(now: .seconds(160)))
        // One at a time, and HTTP until it is over.
        #expect(!standing.beginsProbe(now: .seconds(500)))
        #expect(standing.isCondemned)
        standing.probeEnded(succeeded: false, now: .seconds(170))
        #expect(!standing.beginsProbe(now: .seconds(229)))
        #expect(standing.beginsProbe(now: .seconds(230)))
        standing.condemned(now: .seconds(231))
        standing.probeEnded(succeeded: true, now: .seconds(232))
        #expect(!standing.isCondemned)
        #expect(!standing.beginsProbe(now: .seconds(1_000)))
    }

    @Test func theEndOfAProbeThatWasNotBegunSaysNothing() {
        var standing = WebSocketStanding(fallback: Self.adaptive)
        standing.condemned(now: .zero)
        standing.probeEnded(succeeded: true, now: .seconds(1))
        #expect(standing.isCondemned)
    }

    @Test func twoRacesLostToAFailureThatIsProbablyThereToStay() {
        var standing = WebSocketStanding()
        standing.raceFailed(.probable, now: .zero)
        standing.established()
        standing.raceFailed(.probable, now: .zero)
        #expect(!standing.isCondemned)
        standing.raceFailed(.probable, now: .zero)
        #expect(standing.isCondemned)
    }

    @Test(arguments: FailureClass.allCases)
    func oneLostRace(failureClass: FailureClass) {
        var standing = WebSocketStanding()
        standing.raceFailed(failureClass, now: .zero)
        #expect(standing.isCondemned == (failureClass == .definite))
        standing.raceFailed(failureClass, now: .zero)
        #expect(standing.isCondemned == (failureClass == .definite || failureClass == .probable))
    }
}
