/// Decides whether a failed attempt is repeated on its transport, and after which delay.
///
/// An immutable value without an owner. Of a turn's past it uses only the numbers that it is given.
package struct RetryPolicy: Sendable, Equatable {
    /// The choice of the transport, its changes, and the budget of WebSocket retries.
    package let streaming: ChappieStreamingTransportPolicy
    /// The maximum number of retries over HTTP in one turn.
    package let maxHTTPRetries: Int
    /// The delays between retries.
    package let backoff: BackoffSchedule
    /// Budget and delays for requests that came too soon.
    package let rateLimit: ChappieRateLimitBackoffPolicy

    /// The maximum number of retries after a failure that probably persists.
    package static let probableRetryLimit = 1

    /// Creates a policy; a negative number of retries becomes 0.
    package init(
        streaming: ChappieStreamingTransportPolicy = .default,
        maxHTTPRetries: Int = 5,
        backoff: BackoffSchedule = BackoffSchedule(),
        rateLimit: ChappieRateLimitBackoffPolicy = ChappieRateLimitBackoffPolicy()
    ) {
        self.streaming = streaming
        self.maxHTTPRetries = max(0, maxHTTPRetries)
        self.backoff = backoff
        self.rateLimit = rateLimit
    }

    /// Returns the maximum number of retries on a transport.
    package func retryLimit(on transport: ChappieTransportKind) -> Int {
        switch transport {
        case .webSocket: self.streaming.maxWebSocketReconnectionAttempts
        case .httpSSE: self.maxHTTPRetries
        }
    }

    /// Returns the delay before a retry on the same transport, or nil when there is none.
    ///
    /// Requests that came too soon have delays of their own: `ChappieRateLimitBackoffPolicy`. A delay that the server
    /// requests has precedence. An answer over HTTP with status code 408 or 5xx (and 409 and 425, which are retried
    /// like them) has full jitter; everything else, including WebSocket reconnections, varies by ten per cent.
    ///
    /// - Parameters:
    ///   - retry: the retry in question.
    ///   - failure: the failure of the last attempt.
    ///   - fraction: randomness, from 0 to 1.
    /// - Returns: the delay, or nil when there is no such retry.
    package func delay(before retry: Retry, after failure: AttemptFailure, fraction: Double) -> Duration? {
        guard retry.number <= self.retryLimit(on: retry.transport) else { return nil }
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

    /// A retry whose delay is asked for.
    package struct Retry: Sendable, Equatable {
        /// The class of the last attempt's failure.
        package let failureClass: FailureClass
        /// The transport of the last attempt, and of the retry.
        package let transport: ChappieTransportKind
        /// The number of the retry on this transport in this turn; counts from 1.
        package let number: Int
        /// The number of the retry among those after probable failures; counts from 1.
        package let numberOfProbable: Int

        /// Creates a retry.
        package init(
            of failureClass: FailureClass, on transport: ChappieTransportKind, number: Int, numberOfProbable: Int = 1
        ) {
            self.failureClass = failureClass
            self.transport = transport
            self.number = number
            self.numberOfProbable = numberOfProbable
        }
    }
}
