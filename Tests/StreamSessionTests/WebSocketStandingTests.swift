import StreamSession
import Testing

@Suite struct WebSocketStandingTests {
    private static let adaptive = ChappieStreamingTransportPolicy.Fallback.adaptive(cooldown: .seconds(60))

    @Test func condemnedWebSocketsStayCondemnedByDefault() {
        var standing = WebSocketStanding()
        #expect(!standing.isCondemned)
        standing.condemned(now: .zero)
        #expect(standing.isCondemned)
        Self.expectProbe(&standing, at: .seconds(1_000_000), false)
        standing.established()
        #expect(standing.isCondemned)
    }

    @Test func adaptiveFallbackProbesAfterEachCooldown() {
        var standing = WebSocketStanding(fallback: Self.adaptive)
        Self.expectProbe(&standing, at: .seconds(100), false)
        standing.condemned(now: .seconds(100))
        Self.expectProbe(&standing, at: .seconds(159), false)
        Self.expectProbe(&standing, at: .seconds(160), true)
        // One at a time, and HTTP until it is over.
        Self.expectProbe(&standing, at: .seconds(500), false)
        #expect(standing.isCondemned)
        standing.probeEnded(succeeded: false, now: .seconds(170))
        Self.expectProbe(&standing, at: .seconds(229), false)
        Self.expectProbe(&standing, at: .seconds(230), true)
        standing.condemned(now: .seconds(231))
        standing.probeEnded(succeeded: true, now: .seconds(232))
        #expect(!standing.isCondemned)
        Self.expectProbe(&standing, at: .seconds(1_000), false)
    }

    @Test func endOfAnUnstartedProbeIsIgnored() {
        var standing = WebSocketStanding(fallback: Self.adaptive)
        standing.condemned(now: .zero)
        standing.probeEnded(succeeded: true, now: .seconds(1))
        #expect(standing.isCondemned)
    }

    @Test func twoProbableFailuresInARowCondemnWebSockets() {
        var standing = WebSocketStanding()
        standing.raceFailed(.probable, now: .zero)
        standing.established()
        standing.raceFailed(.probable, now: .zero)
        #expect(!standing.isCondemned)
        standing.raceFailed(.probable, now: .zero)
        #expect(standing.isCondemned)
    }

    @Test(arguments: FailureClass.allCases)
    func lostRaceCondemnsByItsFailureClass(failureClass: FailureClass) {
        var standing = WebSocketStanding()
        standing.raceFailed(failureClass, now: .zero)
        #expect(standing.isCondemned == (failureClass == .definite))
        standing.raceFailed(failureClass, now: .zero)
        #expect(standing.isCondemned == (failureClass == .definite || failureClass == .probable))
    }

    private static func expectProbe(
        _ standing: inout WebSocketStanding, at now: Duration, _ isDue: Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let begins = standing.beginsProbe(now: now)
        #expect(begins == isDue, sourceLocation: sourceLocation)
    }
}
