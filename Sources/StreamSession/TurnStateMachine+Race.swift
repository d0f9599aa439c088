// A slow upgrade and a connection for HTTP beside it. Connections race; requests never do.

extension TurnStateMachine {
    /// Two connections of one rung, of which exactly one carries the request.
    struct Race: Equatable {
        /// The WebSocket's attempt.
        let upgrade: Int
        /// The attempt over HTTP, whose request is held.
        let hedge: Int
        var token = SendOnceToken()
        /// True once the upgrade has failed, or has opened too late.
        var upgradeIsOver = false

        func isAbout(_ attempt: Int) -> Bool { attempt == self.upgrade || attempt == self.hedge }
    }

    /// The right to send the request of one rung, which is given once.
    struct SendOnceToken: Equatable {
        private(set) var holder: Int?

        /// Whether this attempt may send: the first that asks.
        mutating func take(for attempt: Int) -> Bool {
            guard self.holder == nil else { return false }
            self.holder = attempt
            return true
        }
    }

    /// The delay after which a connection for HTTP is opened beside the upgrade that is under way; nil for none.
    package var hedgeDelay: Duration? {
        guard case .connecting(_, .webSocket) = self.state, self.policy.streaming.fallsBackToHTTPSSE else { return nil }
        return self.usedRetries.failedHedge ? nil : self.policy.streaming.hedgeDelay
    }

    /// The upgrade has taken longer than the hedge's delay.
    package mutating func hedgeDue(attempt: Int) -> Action {
        guard self.hedgeDelay != nil, case .connecting(attempt, .webSocket) = self.state else {
            // The upgrade may have been answered in the same moment.
            return .ignore
        }
        let race = Race(upgrade: attempt, hedge: self.attemptCount + 1)
        self.attemptCount = race.hedge
        self.state = .racing(race)
        return .openHedge(Opening(attempt: race.hedge, transport: .http, reason: .hedge))
    }

    /// The connection that holds the request is established.
    package mutating func ready(attempt: Int) -> Action {
        guard case .racing(var race) = self.state, attempt == race.hedge, race.token.take(for: attempt) else {
            // The WebSocket may have opened in the same moment.
            return .ignore
        }
        self.state = .racing(race)
        self.mayHaveSentRequest = true
        return .release
    }

    /// One of the two has an answer.
    mutating func opened(_ attempt: Int, in race: Race) -> Action {
        var race = race
        guard attempt == race.upgrade else {
            // A server may answer before it has the whole request: then it is this answer, or none.
            guard race.token.holder == attempt || race.token.take(for: attempt) else { return .ignore }
            return self.begin(Exchange(attempt: attempt, transport: .http))
        }
        guard !race.upgradeIsOver else { return .ignore }
        guard race.token.take(for: attempt) else {
            race.upgradeIsOver = true
            self.state = .racing(race)
            return .park
        }
        return self.begin(Exchange(attempt: attempt, transport: .webSocket))
    }

    /// One of the two has failed: the other one goes on, if it can.
    mutating func failed(_ failure: AttemptFailure, of attempt: Int, in race: Race, jitter: Double) -> Action {
        if attempt == race.upgrade { return self.upgradeFailed(failure, in: race, jitter: jitter) }
        self.noteEvidence(of: failure, on: .http, wasReleased: race.token.holder == attempt)
        if race.token.holder == nil, !race.upgradeIsOver {
            self.state = .connecting(attempt: race.upgrade, transport: .webSocket)
            self.usedRetries.failedHedge = true
            return .ignore
        }
        return self.decide(failure, attempt: attempt, transport: .http, jitter: jitter)
    }

    private mutating func upgradeFailed(_ failure: AttemptFailure, in race: Race, jitter: Double) -> Action {
        guard !race.upgradeIsOver else { return .ignore }
        let failureClass = failure.failureClass
        switch failureClass {
        case .definite:
            self.verdict = .condemned
        case .probable, .transient, .offline, .size:
            self.failedRace = failureClass
        case .server, .credential, .throttle, .usageLimit, .fatal:
            // It is about the request or the account: HTTP would hear the same. If it is asked already, it may say so.
            guard race.token.holder == nil else { break }
            return self.decide(failure, attempt: race.upgrade, transport: .webSocket, jitter: jitter)
        }
        self.fallbackReason = self.fallbackReason ?? failure
        var race = race
        race.upgradeIsOver = true
        self.state = .racing(race)
        return .ignore
    }
}
