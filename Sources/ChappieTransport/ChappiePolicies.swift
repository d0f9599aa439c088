/// How streaming turns choose and change their transport.
///
/// Immutable.
public struct ChappieStreamingTransportPolicy: Sendable, Equatable {
    /// Whether a turn begins with a WebSocket.
    ///
    /// Default true.
    public let prefersWebSocket: Bool
    /// How often a failed WebSocket is tried again in one turn.
    ///
    /// Default 5; negative values become 0.
    public let maxWebSocketReconnectionAttempts: Int
    /// Whether the turn, and all later turns of the instance, use HTTP/SSE when the WebSocket attempts are used up.
    ///
    /// Default true.
    public let fallsBackToHTTPSSE: Bool

    /// A policy.
    public init(
        prefersWebSocket: Bool = true,
        maxWebSocketReconnectionAttempts: Int = 5,
        fallsBackToHTTPSSE: Bool = true
    ) {
        self.prefersWebSocket = prefersWebSocket
        self.maxWebSocketReconnectionAttempts = max(0, maxWebSocketReconnectionAttempts)
        self.fallsBackToHTTPSSE = fallsBackToHTTPSSE
    }

    /// WebSocket first, five reconnections, then HTTP/SSE.
    public static let `default` = Self()
    /// Never a WebSocket.
    public static let httpSSEOnly = Self(
        prefersWebSocket: false,
        maxWebSocketReconnectionAttempts: 0,
        fallsBackToHTTPSSE: true
    )
}

/// How often, and after how long, a request answered with status code 429 is sent again.
///
/// Immutable.
///
/// The delay doubles with each retry, up to the maximum. `Retry-After` (RFC 9110 section 10.2.3) replaces the computed
/// delay, and the maximum caps it too. Negative values become zero.
public struct ChappieRateLimitBackoffPolicy: Sendable, Equatable {
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
    /// Default true.
    public let respectsRetryAfterHeader: Bool

    /// A policy.
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

    /// Two retries, from 1 s to 30 s.
    public static let `default` = Self()
    /// No retry.
    public static let disabled = Self(maxRetries: 0)
}
