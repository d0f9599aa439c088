/// Whether a failed attempt is repeated on its transport, and after how long.
///
/// Immutable, owned by nobody. It knows nothing of a turn's past but the numbers it is given.
package struct RetryPolicy: Sendable, Equatable {
    /// The budgets of retries.
    package let streaming: StreamingPolicy
    /// The delays between them.
    package let backoff: BackoffSchedule
    /// Budget and delays for requests that came too soon.
    package let rateLimit: RateLimitBackoffPolicy

    /// How often a failure that is probably there to stay is tried again.
    package static let probableRetryLimit = 1

    /// A policy.
    package init(
        streaming: StreamingPolicy = StreamingPolicy(),
        backoff: BackoffSchedule = BackoffSchedule(),
        rateLimit: RateLimitBackoffPolicy = RateLimitBackoffPolicy()
    ) {
        self.streaming = streaming
        self.backoff = backoff
        self.rateLimit = rateLimit
    }

    /// The delay before a retry on the same transport, or nil when there is none.
    ///
    /// Requests that came too soon have delays of their own: `RateLimitBackoffPolicy`. What the server asks for comes
    /// first. An answer over HTTP with status code 408 or 5xx (and 409 and 425, which are retried like them) has full
    /// jitter; everything else, WebSocket reconnections among them, varies by ten per cent.
    ///
    /// - Parameters:
    ///   - retry: what the retry would be.
    ///   - failure: what the last attempt ended with.
    ///   - fraction: randomness, from 0 to 1.
    /// - Returns: the delay, or nil when there is no such retry.
    package func delay(before retry: Retry, after failure: AttemptFailure, fraction: Double) -> Duration? {
        guard retry.number <= self.streaming.retryLimit(on: retry.transport) else { return nil }
        switch retry.failureClass {
        case .probable, .offline:
            guard retry.numberOfProbable <= Self.probableRetryLimit else { return nil }
        case .transient, .server:
            break
        case .definite, .size, .credential, .throttle, .usageLimit, .fatal:
            return nil
        }
        if let wish = self.rateLimit.serverDelay(of: failure) { return wish }
        if case .httpStatus = failure {
            return self.backoff.fullyJitteredDelay(beforeRetry: retry.number, fraction: fraction)
        }
        return self.backoff.delay(beforeRetry: retry.number, fraction: fraction)
    }

    /// A retry that is asked about.
    package struct Retry: Sendable, Equatable {
        /// What the last attempt's failure means.
        package let failureClass: FailureClass
        /// The transport of the last attempt, and of the retry.
        package let transport: TransportKind
        /// Which retry on this transport in this turn it would be; counts from 1.
        package let number: Int
        /// Which one it would be among those after probable failures; counts from 1.
        package let numberOfProbable: Int

        /// A retry.
        package init(
            of failureClass: FailureClass, on transport: TransportKind, number: Int, numberOfProbable: Int = 1
        ) {
            self.failureClass = failureClass
            self.transport = transport
            self.number = number
            self.numberOfProbable = numberOfProbable
        }
    }
}
