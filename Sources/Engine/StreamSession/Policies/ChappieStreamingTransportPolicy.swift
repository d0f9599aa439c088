/// The choice of a streaming turn's transport, its changes, and the extent of its recovery.
public struct ChappieStreamingTransportPolicy: Sendable, Equatable {
    /// Indicates whether a turn begins with a WebSocket.
    ///
    /// Default true.
    public let prefersWebSocket: Bool
    /// The maximum number of retries of a failed WebSocket in one turn.
    ///
    /// Default 5; negative values become 0.
    public let maxWebSocketReconnectionAttempts: Int
    /// Indicates whether the turn, and all later turns of the instance, use HTTP/SSE when the WebSocket attempts are
    /// used up.
    ///
    /// Default true.
    public let fallsBackToHTTPSSE: Bool
    /// The time that the upgrade to a WebSocket may take before a connection for HTTP/SSE is opened beside it.
    ///
    /// Default 2 s; nil for never. The request is sent once, over the one that is ready first.
    public var hedgeDelay: Duration? = .seconds(2)
    /// The duration of the fallback to HTTP/SSE.
    ///
    /// Default `.sticky`.
    public var fallback: Fallback = .sticky
    /// The extent to which a broken response is recovered.
    ///
    /// Default `.verify`.
    public var recovery: ChappieRecoveryPolicy = .verify
    /// The treatment of an answer that is another one than was delivered, when a request is repeated.
    ///
    /// Default `.fails`. A model that samples answers a repeated request differently.
    public var divergence: Divergence = .fails
    /// The maximum number of restarts of a response with `divergence` `.restarts`; one more answer that differs ends the
    /// turn.
    ///
    /// Default 2; negative values count as 0.
    public var maxRestarts = 2
    /// Indicates whether finished items of a broken response go into the input of the next request, so that only the
    /// unfinished one is made again.
    ///
    /// Default false. Tool calls go with their outputs, if `ChappieTransportConfiguration.toolOutput` provides them;
    /// items behind the first call without one are made again.
    public var carriesFinishedItems = false
    /// The age at which a kept WebSocket is replaced before the next turn.
    ///
    /// Default 55 min, because servers end them after 60; nil for none.
    public var maximumConnectionAge: Duration? = .seconds(55 * 60)
    /// The silence after which a kept WebSocket is pinged before the next turn uses it.
    ///
    /// Default 5 s; nil for never. `ChappieTimeouts.livenessCheck` is the time the answer may take.
    public var livenessCheckDelay: Duration? = .seconds(5)

    /// The treatment of an answer to a repeated request that is another one than was delivered.
    public enum Divergence: Sendable, Equatable {
        /// The turn ends with `ChappieClientError.streamingTransportReplayDiverged`.
        case fails
        /// The stream delivers `ChappieStreamEvent.restarted`, and then the new answer from its first byte, without a
        /// further request.
        ///
        /// A stream that has handed finished calls to the program, which runs them itself, ends as with `.fails`, because a
        /// tool could run twice.
        case restarts
    }

    /// The number of restarts that a response may have.
    package var restartLimit: Int { self.divergence == .restarts ? self.maxRestarts : 0 }

    /// The duration of the fallback to HTTP/SSE.
    public enum Fallback: Sendable, Equatable {
        /// For the rest of the instance's life.
        case sticky
        /// Until a WebSocket can be opened again, which is tried in the background with a turn after each cooldown.
        ///
        /// The test sends no request.
        case adaptive(cooldown: Duration)
    }

    /// Creates a policy.
    public init(
        prefersWebSocket: Bool = true,
        maxWebSocketReconnectionAttempts: Int = 5,
        fallsBackToHTTPSSE: Bool = true
    ) {
        self.prefersWebSocket = prefersWebSocket
        self.maxWebSocketReconnectionAttempts = max(0, maxWebSocketReconnectionAttempts)
        self.fallsBackToHTTPSSE = fallsBackToHTTPSSE
    }

    /// The policy with a WebSocket first, five reconnections, then HTTP/SSE.
    public static let `default` = Self()
    /// Returns a policy with a WebSocket first, and again after a cooldown once the instance has fallen back.
    public static func adaptive(cooldown: Duration = .seconds(300)) -> Self {
        var policy = Self()
        policy.fallback = .adaptive(cooldown: max(.zero, cooldown))
        return policy
    }

    /// The policy that never uses a WebSocket.
    public static let httpSSEOnly = Self(
        prefersWebSocket: false,
        maxWebSocketReconnectionAttempts: 0,
        fallsBackToHTTPSSE: true
    )
}
