/// Delays that double, with jitter, so that many clients of one server do not come back together.
///
/// An immutable value without an owner. Randomness is passed in as a fraction.
///
/// A broken connection is reestablished soon, because its stream waits: its delays vary by ten per cent. After a
/// server's report that it cannot answer, the whole range of jitter applies.
package struct BackoffSchedule: Sendable, Equatable {
    /// The delay before the first retry, without jitter.
    package let initialDelay: Duration
    /// The longest delay, or nil.
    package let maximumDelay: Duration?

    /// The upper bound of every delay; beyond it, doubling would overflow in the end.
    package static let longestDelay: Duration = .seconds(86_400)

    /// Creates a schedule; negative delays become zero.
    package init(initialDelay: Duration = .milliseconds(200), maximumDelay: Duration? = nil) {
        self.initialDelay = max(.zero, initialDelay)
        self.maximumDelay = maximumDelay.map { max(.zero, $0) }
    }

    /// Returns the delay before a retry: `initialDelay` · 2^(n − 1) · (0.9 + 0.2 · `fraction`).
    ///
    /// - Parameters:
    ///   - retry: counts from 1.
    ///   - fraction: from 0 to 1; other values are brought into that range.
    /// - Returns: the delay, from zero to `maximumDelay`.
    package func delay(beforeRetry retry: Int, fraction: Double) -> Duration {
        let doubled = self.initialDelay.doubled(times: max(1, retry) - 1, limit: Self.longestDelay)
        // In millionths, because a Duration's product with a Double is rounded.
        return min(self.limit, doubled * (900_000 + Int(200_000 * Self.jitter(fraction))) / 1_000_000)
    }

    /// Returns the delay before a retry, anywhere below its bound: `initialDelay` · 2^(n − 1) · `fraction`.
    ///
    /// The bound never passes `maximumDelay`; parameters as in `delay(beforeRetry:fraction:)`.
    package func fullyJitteredDelay(beforeRetry retry: Int, fraction: Double) -> Duration {
        let bound = self.initialDelay.doubled(times: max(1, retry) - 1, limit: self.limit)
        return bound * Int(1_000_000 * Self.jitter(fraction)) / 1_000_000
    }

    private var limit: Duration { min(self.maximumDelay ?? Self.longestDelay, Self.longestDelay) }

    /// Returns the fraction, brought into its range; NaN compares false and becomes 0.
    private static func jitter(_ fraction: Double) -> Double { fraction > 0 ? min(fraction, 1) : 0 }
}

extension Duration {
    /// Returns the duration, doubled `count` times, but never more than a limit.
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
