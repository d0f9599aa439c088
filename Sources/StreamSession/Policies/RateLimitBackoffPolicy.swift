/// How often, and after how long, a request that came too soon is sent again.
///
/// Immutable, owned by nobody. Negative values become 0.
///
/// A server that asks for more than `maximumDelay` is asked again after `maximumDelay`: a program that would rather
/// wait longer raises it, and one that would rather hear of the error has no retries. A usage limit that ends later
/// than that is another matter: see `outlasts(_:)`.
package struct RateLimitBackoffPolicy: Sendable, Equatable {
    /// How many retries a turn has.
    package let maxRetries: Int
    /// The delay before the first retry; it doubles with each.
    package let initialDelay: Duration
    /// The longest delay, the server's own wish included.
    package let maximumDelay: Duration
    /// Whether `Retry-After` (RFC 9110 section 10.2.3) replaces the computed delay.
    package let respectsRetryAfterHeader: Bool

    /// A policy.
    package init(
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

    /// The delay before a retry, or nil when there is none.
    ///
    /// - Parameters:
    ///   - retry: counts from 1.
    ///   - failure: what the server said.
    /// - Returns: the delay, or nil when there is no such retry.
    package func delay(beforeRetry retry: Int, after failure: AttemptFailure) -> Duration? {
        guard retry >= 1, retry <= self.maxRetries else { return nil }
        let wish = self.serverDelay(of: failure)
        let computed = self.initialDelay.doubled(times: retry - 1, limit: self.maximumDelay)
        return min(self.maximumDelay, max(wish ?? computed, self.resetDelay(of: failure) ?? .zero))
    }

    /// The delay that the server asked for, as far as it is respected; never more than the maximum.
    package func serverDelay(of failure: AttemptFailure) -> Duration? {
        guard self.respectsRetryAfterHeader, let wish = failure.retryAfter else { return nil }
        return min(self.maximumDelay, max(.zero, wish))
    }

    /// True when a usage limit ends so soon that waiting for it is what a retry would do anyway.
    package func outlasts(_ limit: UsageLimitFacts?) -> Bool {
        guard let resetsAfter = limit?.resetsAfter else { return false }
        return resetsAfter <= self.maximumDelay
    }

    /// Before a limit's end a retry is useless.
    private func resetDelay(of failure: AttemptFailure) -> Duration? {
        failure.usageLimit?.resetsAfter
    }
}
