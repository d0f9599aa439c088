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
