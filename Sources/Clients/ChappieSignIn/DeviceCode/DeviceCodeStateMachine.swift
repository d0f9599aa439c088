/// Decides the next step of a sign-in by device code (RFC 8628 section 3.4).
///
/// It performs no I/O, reads no clock and starts no task. Its owner is the task that completes the sign-in. Times are
/// those of a monotonic clock.
struct DeviceCodeStateMachine: Sendable {
    /// The time limits of the sign-in.
    struct Limits: Sendable, Equatable {
        /// The initial time between two polls.
        var interval: Duration
        /// The client's own deadline.
        var deadline: Duration
        /// The time at which the code expires by the server's answer; nil when it has not specified it.
        var expiry: Duration?
    }

    /// The driver's task after one input.
    enum Action: Sendable, Equatable {
        /// Wait for a duration, and report the end of the wait.
        case wait(Duration)
        /// Poll the server.
        case poll
        /// Exchange a code with its verifier, which ends the sign-in.
        case exchange(code: String, verifier: String)
        /// Store these tokens, which ends the sign-in.
        case finish(TokenGrant)
        /// Fail.
        case fail(ChappieAuthError)
    }

    private enum State: Sendable, Equatable {
        case idle
        case waiting(until: Duration)
        case polling
        case finished
    }

    /// The longest time between two polls because of failures.
    private static let longestDelay: Duration = .seconds(60)

    private var state: State = .idle
    private let limits: Limits
    private let grant: ChappieAuthorizationServer.DeviceGrant
    /// The sent values that must not appear in an error.
    private let secrets: [String]
    private var interval: Duration
    /// The number of consecutive polls without a usable answer.
    private var troubleCount = 0
    /// The failure of the last poll without a usable answer.
    private var trouble: ChappieAuthError?

    /// Creates a machine for one device code.
    init(grant: ChappieAuthorizationServer.DeviceGrant, limits: Limits, secrets: [String]) {
        self.grant = grant
        self.limits = limits
        self.secrets = secrets
        self.interval = limits.interval
    }

    // MARK: Inputs

    /// Begins with the code: the first poll is made at once.
    mutating func started() -> Action {
        precondition(self.state == .idle, "a sign-in starts once")
        self.state = .polling
        return .poll
    }

    /// Handles the end of a wait.
    mutating func waited(now: Duration) -> Action {
        guard case .waiting(let until) = self.state else { preconditionFailure("nothing was waited for") }
        if now >= self.limits.deadline { return self.giveUp(.pollingTimeout) }
        guard now >= until else { return .wait(until - now) }
        self.state = .polling
        return .poll
    }

    /// Handles the server's answer to a poll.
    mutating func answered(statusCode: Int, body: [UInt8], now: Duration) -> Action {
        let answer = DevicePollAnswer(statusCode: statusCode, body: body, of: self.grant, secrets: self.secrets)
        switch answer {
        case .pending:
            return self.isPending(now: now)
        case .slowDown:
            // Section 3.5: for this and all later polls.
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

    /// Handles a poll without a readable answer.
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

    /// Handles a failed poll: section 3.5 requires a lower frequency after a timeout, and suggests doubling the
    /// interval.
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

    /// Gives up; the failure of the last poll is reported, if it had one, because the user's decision is unknown then.
    private mutating func giveUp(_ error: ChappieAuthError) -> Action { self.fail(self.trouble ?? error) }

    private mutating func fail(_ error: ChappieAuthError) -> Action {
        self.state = .finished
        return .fail(error)
    }
}
