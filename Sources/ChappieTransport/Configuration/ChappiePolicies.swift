/// How streaming turns choose and change their transport, and how far they recover.
public struct ChappieStreamingTransportPolicy: Sendable, Equatable {
    /// Indicates whether a turn begins with a WebSocket.
    ///
    /// Default true.
    public let prefersWebSocket: Bool
    /// How often a failed WebSocket is tried again in one turn.
    ///
    /// Default 5; negative values become 0.
    public let maxWebSocketReconnectionAttempts: Int
    /// Indicates whether the turn, and all later turns of the instance, use HTTP/SSE when the WebSocket attempts are
    /// used up.
    ///
    /// Default true.
    public let fallsBackToHTTPSSE: Bool
    /// How long the upgrade to a WebSocket may take before a connection for HTTP/SSE is opened beside it.
    ///
    /// Default 2 s; nil for never. The request is sent once, over whichever is ready first.
    public var hedgeDelay: Duration? = .seconds(2)
    /// How long the fallback to HTTP/SSE lasts.
    ///
    /// Default `.sticky`.
    public var fallback: Fallback = .sticky
    /// How far a broken response is recovered.
    ///
    /// Default `.verify`.
    public var recovery: ChappieRecoveryPolicy = .verify
    /// Indicates whether finished items of a broken response go into the input of the request that follows, so that
    /// only the unfinished one is made again.
    ///
    /// Default false. Tool calls go with their outputs, if `ChappieTransportConfiguration.toolOutput` gives them; items
    /// behind the first call without one are made again.
    public var carriesFinishedItems = false
    /// The age at which a kept WebSocket is replaced before the next turn.
    ///
    /// Default 55 min, because servers end them after 60; nil for none.
    public var maximumConnectionAge: Duration? = .seconds(55 * 60)
    /// The quiet after which a kept WebSocket is pinged before the next turn uses it.
    ///
    /// Default 5 s; nil for never. `ChappieTimeouts.livenessCheck` is the time the answer may take.
    public var livenessCheckDelay: Duration? = .seconds(5)

    /// How long the fallback to HTTP/SSE lasts.
    public enum Fallback: Sendable, Equatable {
        /// For the rest of the instance's life.
        case sticky
        /// Until a WebSocket can be opened again, which is tried in background with a turn after each cooldown.
        ///
        /// No request is sent to find out.
        case adaptive(cooldown: Duration)
    }

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
    /// WebSocket first, and again after a cooldown once the instance has fallen back.
    public static func adaptive(cooldown: Duration = .seconds(300)) -> Self {
        var policy = Self()
        policy.fallback = .adaptive(cooldown: max(.zero, cooldown))
        return policy
    }

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
/// The delay doubles with each retry, up to the maximum. `Retry-After` (RFC 9110 section 10.2.3) replaces the
/// computed delay, and the maximum caps it too: a server that asks for an hour is asked again after `maximumDelay`.
/// Negative values become zero.
///
/// What the server asks for is read from `retry-after-ms`, or else `retry-after` (seconds or a date), of the answer
/// or of an error event's `headers`; or else from the message of an error with the code `rate_limit_exceeded`, which
/// may say "try again in 7m12s". That is the only message that decides anything.
///
/// When the retries are used up the error is `usageLimitReached`, if the server named a usage limit, and otherwise
/// `httpError`. A usage limit that ends later than `maximumDelay`, or at a time the server does not tell, is not waited
/// for.
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
    /// Indicates whether a server's own delay replaces the computed one.
    ///
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

/// How far a broken response is recovered.
///
/// Each rung is the cheapest that is sound: a response that the server goes on with (`background` and `store`) is
/// resumed at its last event; one of which nothing was delivered is asked for again; any other is asked for again and
/// compared with what was delivered.
public enum ChappieRecoveryPolicy: String, Sendable, Hashable, CaseIterable {
    /// Every rung.
    ///
    /// The default.
    case verify
    /// The request is not sent again once output was delivered.
    case resumeOnly
    /// A request that the server may have is never sent again.
    ///
    /// Nor is its response resumed.
    case never
}

/// When an instance stops asking a server that keeps failing.
///
/// Immutable. Turns are counted that end with an error of category `server` or `network`. A complete response begins
/// the count again; other errors and cancellations say nothing.
public struct ChappieCircuitBreakerPolicy: Sendable, Equatable {
    /// How many such turns in a row open the circuit.
    ///
    /// Default 5; 0 for never.
    public let failureThreshold: Int
    /// How long turns then fail at once, before one may try again.
    ///
    /// Default 60 s.
    public let openDuration: Duration

    /// A policy; negative values become zero.
    public init(failureThreshold: Int = 5, openDuration: Duration = .seconds(60)) {
        self.failureThreshold = max(0, failureThreshold)
        self.openDuration = max(.zero, openDuration)
    }

    /// Five turns, 60 s.
    public static let `default` = Self()
    /// Every turn is tried.
    public static let disabled = Self(failureThreshold: 0)
}
