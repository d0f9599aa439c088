/// The number and the delays of retries of a request that was answered with status code 429.
///
/// Immutable.
///
/// The delay doubles with each retry, up to the maximum. `Retry-After` (RFC 9110 section 10.2.3) replaces the computed
/// delay, and the maximum caps it too: a server that requests an hour is asked again after `maximumDelay`. Negative
/// values become zero.
///
/// The server's delay is read from `retry-after-ms`, or else `retry-after` (seconds or a date), of the answer or of an
/// error event's `headers`; or else from the message of an error with the code `rate_limit_exceeded`, such as "try
/// again in 7m12s". That is the only message that is evaluated.
///
/// When the retries are used up the error is `usageLimitReached`, if the server named a usage limit, and otherwise
/// `httpError`. A usage limit that ends later than `maximumDelay`, or at an unknown time, is not waited for.
public struct ChappieRateLimitBackoffPolicy: Sendable, Equatable {
    /// The maximum number of retries.
    ///
    /// Default 2.
    public let maxRetries: Int
    /// The delay before the first retry.
    ///
    /// Default 1 s.
    public let initialDelay: Duration
    /// The longest delay.
    ///
    /// Default 30 s.
    public let maximumDelay: Duration
    /// Indicates whether a server's own delay replaces the computed one.
    ///
    /// Default true.
    public let respectsRetryAfterHeader: Bool

    /// Creates a policy.
    public init(
        maxRetries: Int = 2,
        initialDelay: Duration = .seconds(1),
        maximumDelay: Duration = .seconds(30),
        respectsRetryAfterHeader: Bool = true
    ) {
        self.maxRetries = max(0, maxRetries)
        self.initialDelay = max(.zero, initialDelay)
        self.maximumDelay = max(.zero, maximumDelay)
        self.respectsRetryAfterHeader = respectsRetryAfterHeader
    }

    /// The policy with two retries, from 1 s to 30 s.
    public static let `default` = Self()
    /// The policy without retries.
    public static let disabled = Self(maxRetries: 0)
}

extension ChappieRateLimitBackoffPolicy {
    /// Returns the delay before a retry, or nil when there is none.
    ///
    /// - Parameters:
    ///   - retry: counts from 1.
    ///   - failure: the failure of the last attempt.
    /// - Returns: the delay, or nil when there is no such retry.
    package func delay(beforeRetry retry: Int, after failure: AttemptFailure) -> Duration? {
        guard retry >= 1, retry <= self.maxRetries else { return nil }
        let wish = self.serverDelay(of: failure)
        let computed = self.initialDelay.doubled(times: retry - 1, limit: self.maximumDelay)
        return min(self.maximumDelay, max(wish ?? computed, self.resetDelay(of: failure) ?? .zero))
    }

    /// Returns the delay that the server requested, as far as it is respected; never more than the maximum.
    package func serverDelay(of failure: AttemptFailure) -> Duration? {
        guard self.respectsRetryAfterHeader, let wish = failure.retryAfter else { return nil }
        return min(self.maximumDelay, max(.zero, wish))
    }

    /// Returns whether a usage limit ends within `maximumDelay`, so that a retry can wait for its end.
    package func outlasts(_ limit: UsageLimitFacts?) -> Bool {
        guard let resetsAfter = limit?.resetsAfter else { return false }
        return resetsAfter <= self.maximumDelay
    }

    /// Returns the delay until a limit's end, before which a retry is useless.
    private func resetDelay(of failure: AttemptFailure) -> Duration? {
        failure.usageLimit?.resetsAfter
    }
}
