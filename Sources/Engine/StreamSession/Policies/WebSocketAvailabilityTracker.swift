/// The availability of WebSockets to an instance's server, as its turns have found it.
///
/// A value; its owner guards it with a lock. It reads no clock: moments are passed in as durations since a fixed one.
package struct WebSocketAvailabilityTracker: Sendable, Equatable {
    private enum State: Equatable {
        /// WebSockets are used; `failedRaces` consecutive races were lost to a failed upgrade.
        case trusted(failedRaces: Int)
        case condemned(since: Duration)
        /// An opening handshake is under way, without a request.
        case probing
    }

    /// The number of consecutive races that an upgrade may lose by failing: the first, and one retry, as for any
    /// failure that probably persists.
    package static let failedRaceLimit = 1 + RetryPolicy.probableRetryLimit

    private let fallback: ChappieStreamingTransportPolicy.Fallback
    private var state = State.trusted(failedRaces: 0)

    /// Creates a value without any knowledge.
    package init(fallback: ChappieStreamingTransportPolicy.Fallback = .sticky) {
        self.fallback = fallback
    }

    /// Indicates whether turns begin with HTTP.
    package var isCondemned: Bool {
        switch self.state {
        case .trusted: false
        case .condemned, .probing: true
        }
    }

    /// Records that a turn has found WebSockets unusable.
    package mutating func condemned(now: Duration) {
        switch self.state {
        case .trusted, .condemned: self.state = .condemned(since: now)
        // A turn that began before the probe has no newer evidence.
        case .probing: break
        }
    }

    /// Records that a WebSocket was established.
    package mutating func established() {
        switch self.state {
        case .trusted: self.state = .trusted(failedRaces: 0)
        // Another turn's verdict holds until a probe lifts it.
        case .condemned, .probing: break
        }
    }

    /// Records that an upgrade failed beside a connection over HTTP, which then carried the request.
    package mutating func raceFailed(_ failureClass: FailureClass, now: Duration) {
        guard case .trusted(let failedRaces) = self.state else { return }
        switch failureClass {
        case .definite: self.state = .condemned(since: now)
        case .probable:
            let count = failedRaces + 1
            self.state = count >= Self.failedRaceLimit ? .condemned(since: now) : .trusted(failedRaces: count)
        case .transient, .offline, .size, .server, .credential, .throttle, .usageLimit, .fatal: break
        }
    }

    /// Begins an opening handshake if one is due, and returns whether it was, once in a cooldown; `probeEnded` must
    /// follow.
    package mutating func beginsProbe(now: Duration) -> Bool {
        guard case .adaptive(let cooldown) = self.fallback, case .condemned(let since) = self.state,
            now >= since + cooldown
        else { return false }
        self.state = .probing
        return true
    }

    /// Records that the opening handshake is over.
    package mutating func probeEnded(succeeded: Bool, now: Duration) {
        guard self.state == .probing else { return }
        self.state = succeeded ? .trusted(failedRaces: 0) : .condemned(since: now)
    }
}
