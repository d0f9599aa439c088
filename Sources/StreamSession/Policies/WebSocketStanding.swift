/// What an instance has learnt about WebSockets to its server, over all turns.
///
/// A value; its owner guards it with a lock. It reads no clock: moments come in as durations since some fixed one.
package struct WebSocketStanding: Sendable, Equatable {
    /// How long a verdict holds.
    package enum Fallback: Sendable, Equatable {
        /// For the instance's life.
        case sticky
        /// Until an opening handshake in background succeeds, which is tried after each cooldown.
        case adaptive(cooldown: Duration)
    }

    private enum State: Equatable {
        /// WebSockets are used; so many races in a row were lost to a failed upgrade.
        case trusted(failedRaces: Int)
        case condemned(since: Duration)
        /// An opening handshake is under way, and no request with it.
        case probing
    }

    /// How many races in a row an upgrade may lose by failing: the first, and one retry, as for any failure that is
    /// probably there to stay.
    package static let failedRaceLimit = 1 + RetryPolicy.probableRetryLimit

    private let fallback: Fallback
    private var state = State.trusted(failedRaces: 0)

    /// Nothing is known.
    package init(fallback: Fallback = .sticky) {
        self.fallback = fallback
    }

    /// Whether turns begin with HTTP.
    package var isCondemned: Bool {
        switch self.state {
        case .trusted: false
        case .condemned, .probing: true
        }
    }

    /// A turn has found that WebSockets do not work here.
    package mutating func condemned(now: Duration) {
        switch self.state {
        case .trusted, .condemned: self.state = .condemned(since: now)
        // A turn that began before the probe has nothing newer to say.
        case .probing: break
        }
    }

    /// A WebSocket was established.
    package mutating func established() {
        switch self.state {
        case .trusted: self.state = .trusted(failedRaces: 0)
        // Another turn's verdict stands until a probe lifts it.
        case .condemned, .probing: break
        }
    }

    /// An upgrade failed beside a connection over HTTP, which then carried the request.
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

    /// Whether an opening handshake is due; true once a cooldown, and `probeEnded` must follow.
    package mutating func beginsProbe(now: Duration) -> Bool {
        guard case .adaptive(let cooldown) = self.fallback, case .condemned(let since) = self.state,
            now >= since + cooldown
        else { return false }
        self.state = .probing
        return true
    }

    /// The opening handshake is over.
    package mutating func probeEnded(succeeded: Bool, now: Duration) {
        guard self.state == .probing else { return }
        self.state = succeeded ? .trusted(failedRaces: 0) : .condemned(since: now)
    }
}
