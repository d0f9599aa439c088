import StreamTransport

/// Refuses requests to an endpoint that fails repeatedly, and allows one now and then to test whether it has recovered.
///
/// It reads no clock: `now` is the time since any fixed moment. An owner that shares one between turns guards it with a
/// lock.
///
/// # States
///
/// *Closed*: every request is allowed. `failureThreshold` counted failures, without a success in between, open the
/// breaker. *Open*: requests are refused until `openDuration` has passed since the failure that opened it. *Half-open*:
/// one request is sent as a probe, and the others are refused until it is answered. Its success closes the breaker,
/// its failure opens it anew, and when it is abandoned the next request is the probe. A probe that is not answered
/// within `openDuration` does not keep the others away any longer: another one is sent beside it, and either may
/// answer.
///
/// # Late answers
///
/// A request that was allowed may be answered long after other requests' failures have opened the breaker. So every
/// permission carries the number of the state in which it was given, and an answer counts in that state only. The
/// success of a request that began before the failures is no evidence about the present endpoint, and its failure is
/// part of what opened the breaker. A probe's answer is late as well when the breaker has been opened or closed since.
package struct CircuitBreaker: Sendable {
    /// The state in which a request was allowed; it is passed back with the request's answer.
    package struct Ticket: Hashable, Sendable {
        /// The state that it was given in.
        fileprivate let generation: UInt64
    }

    /// The answer to a request for permission.
    package enum Permission: Equatable, Sendable {
        /// The request may be made.
        case allowed(Ticket)
        /// The request may be made, and its outcome decides about the others.
        case probe(Ticket)
        /// The request may not be made; another is worth asking for after that time.
        case refused(retryAfter: Duration)
    }

    private enum State {
        case closed(failureCount: Int)
        case open(until: Duration)
        /// The next request is the probe.
        case halfOpen
        /// A probe is under way; after that time another may be sent beside it.
        case probing(until: Duration)
    }

    private let failureThreshold: Int
    private let openDuration: Duration
    private var state: State = .closed(failureCount: 0)
    /// The number of the current state, by which an answer finds the state that it belongs to.
    private var generation: UInt64 = 0

    /// Creates a closed breaker.
    ///
    /// No duration is longer than `Duration.longestWait`.
    package init(_ policy: ChappieCircuitBreakerPolicy) {
        self.failureThreshold = policy.failureThreshold
        self.openDuration = policy.openDuration.bounded
    }

    /// Indicates whether requests are sent without being probes.
    package var isClosed: Bool {
        switch self.state {
        case .closed: true
        case .open, .halfOpen, .probing: false
        }
    }

    /// Asks for permission to make a request.
    ///
    /// The holder of a ticket answers it once, with `succeeded`, `failed` or `abandoned`, as soon as it is known
    /// whether the endpoint works.
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
            // The state does not change: the unanswered probe may still be answered.
            self.state = .probing(until: now + self.openDuration)
            return .probe(self.ticket)
        }
    }

    /// Records that a request was answered: the endpoint works.
    package mutating func succeeded(_ ticket: Ticket) {
        guard ticket == self.ticket else { return }
        switch self.state {
        case .closed: self.state = .closed(failureCount: 0)
        case .probing: self.enter(.closed(failureCount: 0))
        case .open, .halfOpen: preconditionFailure("a ticket of a state that gives none")
        }
    }

    /// Records that a request failed.
    ///
    /// An uncounted failure is no evidence about the endpoint: it neither opens nor closes the breaker, and a probe
    /// that fails like that counts as abandoned. An answer that refuses the request is a success, as the endpoint
    /// works.
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

    /// Records that a request was given up before the endpoint's condition was known.
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
