/// Delays that double, with jitter, so that many clients of one server do not come back together.
///
/// Immutable, owned by nobody. Randomness comes in as a fraction.
package struct BackoffSchedule: Sendable, Equatable {
    /// The delay before the first retry, without jitter.
    package let initialDelay: Duration
    /// The longest delay, or nil.
    package let maximumDelay: Duration?

    /// No delay is longer, whatever the schedule says: past it, doubling would overflow in the end.
    package static let longestDelay: Duration = .seconds(86_400)

    /// A schedule; negative delays become zero.
    package init(initialDelay: Duration = .milliseconds(200), maximumDelay: Duration? = nil) {
        self.initialDelay = max(.zero, initialDelay)
        self.maximumDelay = maximumDelay.map { max(.zero, $0) }
    }

    /// The delay before a retry: `initialDelay` · 2^(n − 1) · (0.9 + 0.2 · `fraction`).
    ///
    /// - Parameters:
    ///   - retry: counts from 1.
    ///   - fraction: from 0 to 1; anything else is brought into that range.
    /// - Returns: the delay, from zero to `maximumDelay`.
    package func delay(beforeRetry retry: Int, fraction: Double) -> Duration {
        let limit = min(self.maximumDelay ?? Self.longestDelay, Self.longestDelay)
        let doubled = self.initialDelay.doubled(times: max(1, retry) - 1, limit: Self.longestDelay)
        // Not a number compares false and becomes 0.
        let jitter = fraction > 0 ? min(fraction, 1) : 0
        // In millionths, because a Duration's product with a Double is rounded.
        return min(limit, doubled * (900_000 + Int(200_000 * jitter)) / 1_000_000)
    }
}

extension Duration {
    /// The duration, doubled so many times, but never more than a limit.
    func doubled(times count: Int, limit: Duration) -> Duration {
        guard self > .zero else { return .zero }
        var result = min(self, limit)
        var remaining = count
        while remaining > 0, result < limit {
            result = result > limit / 2 ? limit : result * 2
            remaining -= 1
        }
        return result
    }
}
