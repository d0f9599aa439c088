import StreamSession
import StreamTransport

/// The delays between the attempts of an event source.
///
/// A value of one event source. Time and randomness are passed in.
struct ReconnectionSchedule: Sendable {
    private let policy: EventSourceReconnectionPolicy
    /// The number of attempts, without a gap between them, that brought nothing of a stream.
    private var fruitlessCount = 0
    /// The number of reconnections since the newest sign of a stream.
    private var reconnectionCount = 0
    /// The time at which the newest stream was lost, or the first attempt failed; nil while a stream works.
    private var lostAt: Duration?

    init(_ policy: EventSourceReconnectionPolicy) { self.policy = policy }

    /// Records that the stream works: it had an event, a comment or a reconnection time.
    mutating func worked() {
        self.fruitlessCount = 0
        self.reconnectionCount = 0
        self.lostAt = nil
    }

    /// Returns the delay before the next attempt; nil when there is none.
    ///
    /// - Parameters:
    ///   - wasFruitless: whether the attempt that is over brought nothing of a stream.
    ///   - streamTime: the reconnection time that the stream has set.
    ///   - minimum: the delay that the server requested.
    ///   - now: the present time.
    ///   - fraction: randomness, from 0 to 1.
    /// - Returns: the delay, or nil when the policy allows no other attempt.
    mutating func delay(
        wasFruitless: Bool, streamTime: Duration?, minimum: Duration?, at now: Duration, fraction: Double
    ) -> Duration? {
        if wasFruitless { self.fruitlessCount = min(self.fruitlessCount + 1, 1_000) }
        self.reconnectionCount = min(self.reconnectionCount, Int.max - 1) + 1
        if let maximum = self.policy.maximumAttempts, self.reconnectionCount > maximum { return nil }
        let delay = max(self.delay(streamTime: streamTime, fraction: fraction), minimum?.bounded ?? .zero)
        let lostAt = self.lostAt ?? now
        self.lostAt = lostAt
        if let maximum = self.policy.maximumOutage, now - lostAt + delay > max(.zero, maximum) { return nil }
        return delay
    }

    /// WHATWG HTML section 9.2.3: the reconnection time, and optionally more after failures.
    private func delay(streamTime: Duration?, fraction: Double) -> Duration {
        let longest = self.policy.maximumReconnectionTime.bounded
        let time = streamTime.map { min($0.bounded, longest) } ?? self.policy.reconnectionTime.bounded
        // In millionths, because a Duration's product with a Double is rounded.
        let jittered = time + time * Int(1_000_000 * Self.part(self.policy.jitter) * Self.part(fraction)) / 1_000_000
        guard self.fruitlessCount > 0 else { return jittered }
        let schedule = BackoffSchedule(
            initialDelay: self.policy.backoff, maximumDelay: self.policy.maximumBackoff)
        return jittered + schedule.delay(beforeRetry: self.fruitlessCount, fraction: fraction)
    }

    /// Returns the number, brought into the range from 0 to 1; NaN becomes 0.
    private static func part(_ number: Double) -> Double { number > 0 ? min(number, 1) : 0 }
}
