import StreamSession
import Testing

@Suite struct WebSocketAvailabilityTrackerTests {
    private static let adaptive = ChappieStreamingTransportPolicy.Fallback.adaptive(cooldown: .seconds(60))

    @Test func condemnedWebSocketsStayCondemnedByDefault() {
        var tracker = WebSocketAvailabilityTracker()
        #expect(!tracker.isCondemned)
        tracker.condemned(now: .zero)
        #expect(tracker.isCondemned)
        Self.expectProbe(&tracker, at: .seconds(1_000_000), false)
        tracker.established()
        #expect(tracker.isCondemned)
    }

    @Test func adaptiveFallbackProbesAfterEachCooldown() {
        var tracker = WebSocketAvailabilityTracker(fallback: Self.adaptive)
        Self.expectProbe(&tracker, at: .seconds(100), false)
        tracker.condemned(now: .seconds(100))
        Self.expectProbe(&tracker, at: .seconds(159), false)
        Self.expectProbe(&tracker, at: .seconds(160), true)
        // One at a time, and HTTP until it is over.
        Self.expectProbe(&tracker, at: .seconds(500), false)
        #expect(tracker.isCondemned)
        tracker.probeEnded(succeeded: false, now: .seconds(170))
        Self.expectProbe(&tracker, at: .seconds(229), false)
        Self.expectProbe(&tracker, at: .seconds(230), true)
        tracker.condemned(now: .seconds(231))
        tracker.probeEnded(succeeded: true, now: .seconds(232))
        #expect(!tracker.isCondemned)
        Self.expectProbe(&tracker, at: .seconds(1_000), false)
    }

    @Test func endOfAnUnstartedProbeIsIgnored() {
        var tracker = WebSocketAvailabilityTracker(fallback: Self.adaptive)
        tracker.condemned(now: .zero)
        tracker.probeEnded(succeeded: true, now: .seconds(1))
        #expect(tracker.isCondemned)
    }

    @Test func twoProbableFailuresInARowCondemnWebSockets() {
        var tracker = WebSocketAvailabilityTracker()
        tracker.raceFailed(.probable, now: .zero)
        tracker.established()
        tracker.raceFailed(.probable, now: .zero)
        #expect(!tracker.isCondemned)
        tracker.raceFailed(.probable, now: .zero)
        #expect(tracker.isCondemned)
    }

    @Test(arguments: FailureClass.allCases)
    func lostRaceCondemnsByItsFailureClass(failureClass: FailureClass) {
        var tracker = WebSocketAvailabilityTracker()
        tracker.raceFailed(failureClass, now: .zero)
        #expect(tracker.isCondemned == (failureClass == .definite))
        tracker.raceFailed(failureClass, now: .zero)
        #expect(tracker.isCondemned == (failureClass == .definite || failureClass == .probable))
    }

    private static func expectProbe(
        _ tracker: inout WebSocketAvailabilityTracker, at now: Duration, _ isDue: Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let begins = tracker.beginsProbe(now: now)
        #expect(begins == isDue, sourceLocation: sourceLocation)
    }
}
