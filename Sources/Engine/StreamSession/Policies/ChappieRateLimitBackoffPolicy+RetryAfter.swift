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
