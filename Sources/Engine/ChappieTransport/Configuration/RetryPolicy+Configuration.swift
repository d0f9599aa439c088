import StreamSession

extension RetryPolicy {
    /// The policy for one attempt over a WebSocket without retries.
    static let once: Self = {
        var streaming = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
        streaming.hedgeDelay = nil
        return Self(
            streaming: streaming, maxHTTPRetries: 0, rateLimit: ChappieRateLimitBackoffPolicy(maxRetries: 0))
    }()

    /// Creates the policy from the configuration, whose numbers are in their ranges.
    init(_ configuration: ChappieTransportConfiguration) {
        self.init(
            streaming: configuration.policy, maxHTTPRetries: configuration.maxHTTPRetries,
            backoff: BackoffSchedule(initialDelay: configuration.reconnectDelay),
            rateLimit: configuration.rateLimitBackoff)
    }
}
