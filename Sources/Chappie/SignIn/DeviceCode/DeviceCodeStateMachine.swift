/// Decides what a sign-in by device code does next (RFC 8628 section 3.4).
///
/// It performs no I/O, reads no clock and starts no task. Its owner is the task that completes the sign-in. Moments are
/// those of a clock that does not jump.
struct DeviceCodeStateMachine: Sendable {
    /// What limits it.
    struct Limits: Sendable, Equatable {
        /// The time between two polls, at the beginning.
        var interval: Duration
        /// When this side gives up.
        var deadline: Duration
        /// When the code has expired, by the server's own words; nil when it has not said so.
        var expiry: Duration?
    }

    /// What the driver must do after one input.
    enum Action: Sendable, Equatable {
        /// Waits that long, and says so.
        case wait(Duration)
        /// Asks the server.
        case poll
        /// Exchanges a code with its verifier, which ends it.
        case exchange(code: String, verifier: String)
        /// Keeps these tokens, which ends it.
        case finish(TokenGrant)
        /// Gives up.
        case fail(ChappieAuthError)
    }

    private enum State: Sendable, Equatable {
        case idle
        case waiting(until: Duration)
        case polling
        case finished
    }

    /// Between two polls nobody waits longer because of failures.
    private static let longestDelay: Duration = .seconds(60)

    private var state: State = .idle
    private let limits: Limits
    private let grant: ChappieAuthorizationServer.DeviceGrant
    /// What was sent, and has no place in an error.
    private let secrets: [String]
    private var interval: Duration
    /// How many polls in a row have found out nothing.
    private var troubleCount = 0
    /// Why the last poll has found out nothing.
    private var trouble: ChappieAuthError?

    /// A machine for one device code.
    init(grant: ChappieAuthorizationServer.DeviceGrant, limits: Limits, secrets: [String]) {
        self.grant = grant
        self.limits = limits
        self.secrets = secrets
        self.interval = limits.interval
    }

    // MARK: Inputs

    /// The code is there: the first poll is made at once.
    mutating func started() -> Action {
        precondition(self.state == .idle, "a sign-in starts once")
        self.state = .polling
        return .poll
    }

    /// A wait is over, or was cut short.
    mutating func waited(now: Duration) -> Action {
        guard case .waiting(let until) = self.state else { preconditionFailure("nothing was waited for") }
        if now >= self.limits.deadline { return self.giveUp(.pollingTimeout) }
        guard now >= until else { return .wait(until - now) }
        self.state = .polling
        return .poll
    }

    /// The server has answered a poll.
    mutating func answered(statusCode: Int, body: [UInt8], now: Duration) -> Action {
        let answer = DevicePollAnswer(statusCode: statusCode, body: body, of: self.grant, secrets: self.secrets)
        switch answer {
        case .pending:
            return self.isPending(now: now)
        case .slowDown:
            // Section 3.5: for this and all that follow.
            self.interval += .seconds(5)
            return self.isPending(now: now)
        case .troubled(let error):
            return self.isTroubled(error, now: now)
        case .authorizationCode(let code, let verifier):
            self.state = .finished
            return .exchange(code: code, verifier: verifier)
        case .tokens(let grant):
            self.state = .finished
            return .finish(grant)
        case .failed(let error):
            return self.fail(error)
        }
    }

    /// A poll has had no answer that can be read.
    mutating func pollFailed(_ error: ChappieAuthError, now: Duration) -> Action {
        guard case .networkFailure = error else { return self.fail(error) }
        return self.isTroubled(error, now: now)
    }

    // MARK: Steps

    private mutating func isPending(now: Duration) -> Action {
        self.troubleCount = 0
        self.trouble = nil
        return self.wait(self.interval, now: now)
    }

    /// Section 3.5: a client has to ask less often when there was no answer, and doubling the interval is a good way.
    private mutating func isTroubled(_ error: ChappieAuthError, now: Duration) -> Action {
        self.troubleCount += 1
        self.trouble = error
        let delay = self.interval * (1 << min(self.troubleCount, 6))
        return self.wait(max(self.interval, min(delay, Self.longestDelay)), now: now)
    }

    private mutating func wait(_ delay: Duration, now: Duration) -> Action {
        precondition(self.state == .polling, "nothing was asked")
        if now >= self.limits.deadline { return self.giveUp(.pollingTimeout) }
        if let expiry = self.limits.expiry, now >= expiry { return self.giveUp(.expiredDeviceCode) }
        let until = min(now + delay, self.limits.deadline)
        self.state = .waiting(until: until)
        return .wait(until - now)
    }

    /// Where the last poll found out nothing, that is why; nobody knows what the person did.
    private mutating func giveUp(_ error: ChappieAuthError) -> Action { self.fail(self.trouble ?? error) }

    private mutating func fail(_ error: ChappieAuthError) -> Action {
        self.state = .finished
        return .fail(error)
    }
}
