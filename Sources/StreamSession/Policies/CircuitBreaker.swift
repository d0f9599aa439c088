import StreamTransport

/// Keeps requests away from an endpoint that fails again and again, and lets one through now and then to see whether it
/// has recovered.
///
/// It reads no clock: `now` is the time since any fixed moment. Whoever shares one between turns guards it with a lock.
///
/// # States
///
/// *Closed*: every request is allowed. So many counted failures, without a success in between, open the breaker.
/// *Open*: requests are refused until `openDuration` has passed since the failure that opened it. *Half-open*: one
/// request goes out as a probe, and the others are refused until it is answered. Its success closes the breaker, its
/// failure opens it anew, and when it is abandoned the next request is the probe. A probe that is not answered within
/// `openDuration` does not keep the others away any longer: another one goes out beside it, and either may answer.
///
/// # Late answers
///
/// A request that was allowed may be answered long after the breaker has opened, by other requests' failures. So every
/// permission names the state that it was given in by a number, and an answer counts in that state only. The success of
/// a request that began before the trouble says nothing about the endpoint as it is, and its failure is part of what
/// opened the breaker. A probe whose answer comes when the breaker has been opened or closed since is late as well.
package struct CircuitBreaker: Sendable {
    /// What a request was allowed as; its answer comes back with it.
    package struct Ticket: Hashable, Sendable {
        /// The state that it was given in.
        fileprivate let generation: UInt64
    }

    /// Whether a request may be made.
    package enum Permission: Equatable, Sendable {
        /// It may.
        case allowed(Ticket)
        /// It may, and decides whether others may.
        case probe(Ticket)
        /// It may not; after that time it is worth asking again.
        case refused(retryAfter: Duration)
    }

    private enum State {
        case closed(failureCount: Int)
        case open(until: Duration)
        /// The next request is the probe.
        case halfOpen
        /// A probe is under way; after that time another may go out beside it.
        case probing(until: Duration)
    }

    /// How many failures in a row open the breaker; 0 for a breaker that never opens.
    package let failureThreshold: Int
    /// How long it stays open.
    package let openDuration: Duration
    private var state: State = .closed(failureCount: 0)
    /// Counts the states, so that an answer finds the one that it belongs to.
    private var generation: UInt64 = 0

    /// A breaker that is closed.
    ///
    /// Values below zero are zero, and no duration is longer than `Duration.longestWait`.
    package init(failureThreshold: Int = 5, openDuration: Duration = .seconds(60)) {
        self.failureThreshold = max(0, failureThreshold)
        self.openDuration = openDuration.bounded
    }

    /// True when requests go out without being probes.
    package var isClosed: Bool {
        switch self.state {
        case .closed: true
        case .open, .halfOpen, .probing: false
        }
    }

    /// Asks for a request.
    ///
    /// Whoever gets a ticket answers it once, with `succeeded`, `failed` or `abandoned`, as soon as it is known whether
    /// the endpoint works.
    package mutating func permission(now: Duration) -> Permission {
        switch self.state {
        case .closed:
            return .allowed(self.ticket)

        case .open(let end) where now < end:
            return .refused(retryAfter: end - now)

        case .open, .halfOpen:
            self.enter(.probing(until: now + self.openDuration))
            return .probe(self.ticket)

        case .probing(let end) where now < end:
            return .refused(retryAfter: end - now)

        case .probing:
            // No new state: the probe that has not been answered may still be.
            self.state = .probing(until: now + self.openDuration)
            return .probe(self.ticket)
        }
    }

    /// A request was answered: the endpoint works.
    package mutating func succeeded(_ ticket: Ticket) {
        guard ticket == self.ticket else { return }
        switch self.state {
        case .closed: self.state = .closed(failureCount: 0)
        case .probing: self.enter(.closed(failureCount: 0))
        case .open, .halfOpen: preconditionFailure("a ticket of a state that gives none")
        }
    }

    /// A request failed.
    ///
    /// A failure that is not counted says nothing about the endpoint: it neither opens nor closes the breaker, and a
    /// probe that fails like that counts as abandoned. An answer that refuses the request is a success, where the
    /// endpoint is what is asked for.
    package mutating func failed(_ ticket: Ticket, isCounted: Bool, now: Duration) {
        guard ticket == self.ticket else { return }
        guard isCounted else { return self.abandoned(ticket) }
        switch self.state {
        case .closed(let failureCount):
            guard self.failureThreshold > 0 else { return }
            guard failureCount + 1 < self.failureThreshold else { return self.open(now) }
            self.state = .closed(failureCount: failureCount + 1)

        case .probing: self.open(now)
        case .open, .halfOpen: preconditionFailure("a ticket of a state that gives none")
        }
    }

    /// A request was given up before anything could be said about the endpoint.
    package mutating func abandoned(_ ticket: Ticket) {
        guard ticket == self.ticket else { return }
        switch self.state {
        case .closed: break
        case .probing: self.enter(.halfOpen)
        case .open, .halfOpen: preconditionFailure("a ticket of a state that gives none")
        }
    }

    private var ticket: Ticket { Ticket(generation: self.generation) }

    private mutating func open(_ now: Duration) { self.enter(.open(until: now + self.openDuration)) }

    private mutating func enter(_ state: State) {
        self.state = state
        self.generation += 1
    }
}
