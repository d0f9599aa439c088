// Many thousand turns against servers that fail in every way, with the guarantee in each of them: the delivered output
// is a prefix of one response, without a gap and without a duplicate, and every turn ends.
import StreamSession
import StreamTransport
import Testing

@Suite struct TurnRandomWalkTests {
    /// Servers that give the same answer each time: a turn never diverges, and a complete one has all of it.
    @Test(arguments: 0..<10)
    func theSameResponseIsDeliveredOnceHoweverItIsCut(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var endings: Set<String> = []
        for _ in 0..<500 {
            var walk = RandomWalk(responses: .same, random: random)
            try walk.run()
            #expect(walk.ending != "diverged")
            endings.insert(walk.ending)
            random = walk.random
        }
        #expect(endings.isSuperset(of: ["finished", "transient", "fatal", "throttle", "usageLimit", "credential"]))
    }

    /// Servers that change their answer: a turn diverges, or the change cannot be detected.
    @Test(arguments: 100..<110)
    func otherResponsesAreNeverMixed(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var endings: Set<String> = []
        for _ in 0..<500 {
            var walk = RandomWalk(responses: .changing, random: random)
            try walk.run()
            endings.insert(walk.ending)
            random = walk.random
        }
        #expect(endings.isSuperset(of: ["finished", "diverged", "cancelled"]))
    }

    /// The same, where an answer that differs replaces the delivered one: only calls that were delivered prevent it.
    @Test(arguments: 200..<210)
    func anotherResponseReplacesTheDeliveredOneFromItsBeginning(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var endings: Set<String> = []
        var restartCount = 0
        for _ in 0..<500 {
            var walk = RandomWalk(responses: .replacing, random: random)
            try walk.run()
            endings.insert(walk.ending)
            restartCount += walk.restartCount
            random = walk.random
        }
        #expect(endings.isSuperset(of: ["finished", "diverged", "cancelled"]))
        #expect(restartCount > 0)
    }
}

/// A violation of the guarantee.
struct BrokenPromise: Error {
    let what: String
}

/// One turn: a driver and a server that act at random, and a consumer that checks.
struct RandomWalk: ~Copyable {
    enum Responses { case same, changing, replacing }

    var random: SplitMix64
    private(set) var ending = ""
    private(set) var restartCount = 0

    private var machine: TurnStateMachine
    private let changes: Bool
    /// The server's response in the current attempt.
    private var response: SimulatedResponse
    private var consumer = SimulatedConsumer()
    private var attempt = 0
    private var attemptIsOver = true
    private let policy: RetryPolicy

    init(responses: Responses, random: SplitMix64) {
        var random = random
        var streaming = ChappieStreamingTransportPolicy(
            prefersWebSocket: random.chance(0.8),
            maxWebSocketReconnectionAttempts: random.below(6),
            fallsBackToHTTPSSE: random.chance(0.8))
        let maxHTTPRetries = random.below(6)
        streaming.hedgeDelay = random.chance(0.5) ? .seconds(2) : nil
        streaming.divergence = responses == .replacing ? .restarts : .fails
        self.policy = RetryPolicy(
            streaming: streaming, maxHTTPRetries: maxHTTPRetries,
            rateLimit: ChappieRateLimitBackoffPolicy(maxRetries: random.below(3)))
        let webSocket = TurnStateMachine.WebSocketAvailability.allCases
        self.machine = TurnStateMachine(policy: self.policy, webSocket: webSocket[random.below(12) % 4])
        self.changes = responses != .same
        self.response = SimulatedResponse(random: &random)
        self.random = random
    }

    mutating func run() throws {
        var action = self.machine.started()
        for _ in 0..<10_000 {
            guard let next = try self.perform(action) else {
                try self.checkSilence()
                return
            }
            action = next
        }
        throw BrokenPromise(what: "the turn does not end")
    }

    /// Performs one action, and returns the machine's answer to its result; nil at the end.
    private mutating func perform(_ action: TurnStateMachine.Action) throws -> TurnStateMachine.Action? {
        switch action {
        case .open(let opening):
            if self.random.chance(0.01) { return try self.end(self.machine.cancelled()) }
            try self.begin(opening)
            if self.machine.hedgeDelay() != nil, self.random.chance(0.3) { return try self.race() }
            return self.random.chance(0.7) ? self.machine.opened(attempt: self.attempt) : self.fail()
        case .send, .receive:
            return try self.stream()
        case .wait(let delay, let opening):
            guard delay >= .zero, delay <= .seconds(30) else { throw BrokenPromise(what: "delay \(delay)") }
            try self.sendStaleInputs()
            if self.random.chance(0.01) { return try self.end(self.machine.cancelled()) }
            return self.machine.timerFired(attempt: opening.attempt)
        case .refreshCredential(let opening):
            return self.machine.credentialRefreshed(attempt: opening.attempt, changed: self.random.chance(0.7))
        case .finish, .fail:
            return try self.end(action)
        case .deliver, .deliverWithheld, .restart, .ignore, .openHedge, .release, .park:
            throw BrokenPromise(what: "\(action) where a step was due")
        }
    }

    /// An upgrade and an HTTP connection beside it: in every case at most one carries the request.
    private mutating func race() throws -> TurnStateMachine.Action? {
        let upgrade = self.attempt
        guard case .openHedge(let opening) = self.machine.hedgeDue(attempt: upgrade), opening.attempt == upgrade + 1,
            opening.transport == .httpSSE
        else { throw BrokenPromise(what: "no hedge") }
        var sender: Int?
        while true {
            let isUpgrades = self.random.chance(0.5)
            let subject = isUpgrades ? upgrade : opening.attempt
            let action: TurnStateMachine.Action
            switch self.random.below(4) {
            case 0: action = self.failure(of: subject)
            case 1 where !isUpgrades: action = self.machine.ready(attempt: subject)
            case 2 where !isUpgrades && sender != subject: continue
            default: action = self.machine.opened(attempt: subject)
            }
            switch action {
            case .ignore, .park:
                continue
            case .release:
                guard sender == nil else { throw BrokenPromise(what: "two requests") }
                sender = subject
            case .send, .receive:
                guard sender == nil || sender == subject else { throw BrokenPromise(what: "two requests") }
                self.attempt = subject
                return action
            case .open, .wait, .refreshCredential, .fail:
                self.attempt = opening.attempt
                self.attemptIsOver = true
                return action
            case .openHedge, .deliver, .deliverWithheld, .restart, .finish:
                throw BrokenPromise(what: "\(action) in a race")
            }
        }
    }

    private mutating func failure(of attempt: Int) -> TurnStateMachine.Action {
        let failures = SimulatedResponse.failures
        return self.machine.failed(
            failures[self.random.below(failures.count)], attempt: attempt, jitter: self.random.fraction())
    }

    private mutating func begin(_ opening: TurnStateMachine.Opening) throws {
        // The connection beside an upgrade has a number of its own, needed or not.
        guard self.attemptIsOver, opening.attempt > self.attempt, opening.attempt == self.machine.attemptCount else {
            throw BrokenPromise(what: "attempt \(opening.attempt) after \(self.attempt)")
        }
        let streaming = self.policy.streaming
        let limit =
            2 + streaming.maxWebSocketReconnectionAttempts + self.policy.maxHTTPRetries
            + self.policy.rateLimit.maxRetries + 1 + (streaming.hedgeDelay == nil ? 0 : 16)
        guard opening.attempt <= limit else { throw BrokenPromise(what: "more attempts than budgets") }
        self.attempt = opening.attempt
        self.attemptIsOver = false
        if self.changes, self.random.chance(0.3) { self.response = self.response.variation(&self.random) }
    }

    /// Streams the response up to a cut, or to its end.
    private mutating func stream() throws -> TurnStateMachine.Action {
        let cut =
            self.random.chance(0.6) ? self.random.below(self.response.pieces.count + 1) : self.response.pieces.count
        var index = 0
        while index < cut {
            let end = self.response.endOfDelta(from: index, limit: cut, &self.random)
            self.machine.contentReceived(attempt: self.attempt)
            if let end = try self.receive(index..<end) { return end }
            index = end
            if self.random.chance(0.05) { try self.sendStaleInputs() }
        }
        if cut < self.response.pieces.count || self.random.chance(0.1) { return self.fail() }
        var action = self.machine.completed(attempt: self.attempt)
        if case .restart(let text) = action {
            try self.restart(text)
            action = self.machine.completed(attempt: self.attempt)
        }
        if action == .finish { try self.consumer.checkWhole(self.response) }
        return action
    }

    /// Passes on one delta or tool call; returns the action that ends the turn, if it does.
    private mutating func receive(_ range: Range<Int>) throws -> TurnStateMachine.Action? {
        let piece = self.response.pieces[range.lowerBound]
        let action =
            switch piece.content {
            case .call(let call): self.machine.toolCallReceived(call, attempt: self.attempt)
            case .scalar:
                self.machine.deltaReceived(
                    self.response.bytes(range).span, in: piece.slot, attempt: self.attempt)
            }
        switch action {
        case .deliver(let offset):
            try self.consumer.consume(self.response, range, from: offset)
            return nil
        case .ignore: return nil
        case .restart(let text):
            try self.restart(text)
            return try self.receive(range)
        case .open, .openHedge, .release, .park, .send, .receive, .wait, .refreshCredential, .finish, .fail,
            .deliverWithheld:
            return action
        }
    }

    /// The consumer forgets what it has, and gets what of the other answer has come.
    private mutating func restart(_ text: String) throws {
        self.restartCount += 1
        guard text == self.consumer.text, self.restartCount <= self.policy.streaming.maxRestarts else {
            throw BrokenPromise(what: "restart \(self.restartCount)")
        }
        try self.consumer.restart(with: self.machine.delivery.deliveredOutput, of: self.response)
    }

    private mutating func fail() -> TurnStateMachine.Action {
        self.attemptIsOver = true
        return self.failure(of: self.attempt)
    }

    private mutating func sendStaleInputs() throws {
        let stale = self.attempt - 1
        let actions = [
            self.machine.deltaReceived("late", attempt: stale),
            self.machine.completed(attempt: stale),
            self.machine.failed(.endedEarly, attempt: stale, jitter: 0),
            self.machine.opened(attempt: stale),
            self.machine.timerFired(attempt: stale),
            self.machine.credentialRefreshed(attempt: stale, changed: true),
        ]
        guard actions.allSatisfy({ $0 == .ignore }) else { throw BrokenPromise(what: "\(actions)") }
    }

    private mutating func end(_ action: TurnStateMachine.Action) throws -> TurnStateMachine.Action? {
        switch action {
        case .finish: self.ending = "finished"
        case .fail(let failure): self.ending = failure.cause?.failureClass.rawValue ?? "\(failure)"
        case .open, .openHedge, .release, .park, .send, .receive, .deliver, .deliverWithheld, .restart, .wait,
            .refreshCredential,
            .ignore:
            throw BrokenPromise(what: "\(action) instead of an end")
        }
        guard self.machine.delivery.deliveredText == self.consumer.text else {
            throw BrokenPromise(what: "delivered text")
        }
        return nil
    }

    /// Checks that no input has an effect after the end.
    private mutating func checkSilence() throws {
        try self.sendStaleInputs()
        self.attempt += 1
        try self.sendStaleInputs()
        guard self.machine.cancelled() == .ignore, self.machine.started() == .ignore else {
            throw BrokenPromise(what: "a turn goes on after its end")
        }
    }
}
