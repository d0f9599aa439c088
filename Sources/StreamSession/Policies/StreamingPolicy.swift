/// The choice of a turn's transport, and of its changes.
///
/// An immutable value without an owner. Negative numbers become 0.
package struct StreamingPolicy: Sendable, Equatable {
    /// Indicates whether a turn begins with a WebSocket.
    package let prefersWebSocket: Bool
    /// The maximum number of WebSocket retries in one turn.
    package let maxWebSocketReconnectionAttempts: Int
    /// Indicates whether HTTP follows when the WebSocket attempts are used up.
    package let fallsBackToHTTPSSE: Bool
    /// The maximum number of POST retries in one turn.
    package let maxHTTPRetries: Int
    /// The time that an upgrade may take before an HTTP connection is opened beside it; nil for no limit.
    package var hedgeDelay: Duration?
    /// The extent to which a broken response is recovered.
    package var recovery: ChappieRecoveryPolicy = .verify
    /// Indicates whether finished items of a broken response go into the next request's input.
    package var carriesFinishedItems = false

    /// Creates a policy.
    package init(
        prefersWebSocket: Bool = true,
        maxWebSocketReconnectionAttempts: Int = 5,
        fallsBackToHTTPSSE: Bool = true,
        maxHTTPRetries: Int = 5
    ) {
        self.prefersWebSocket = prefersWebSocket
        self.maxWebSocketReconnectionAttempts = max(0, maxWebSocketReconnectionAttempts)
        self.fallsBackToHTTPSSE = fallsBackToHTTPSSE
        self.maxHTTPRetries = max(0, maxHTTPRetries)
    }

    /// Returns the maximum number of retries on a transport.
    package func retryLimit(on transport: ChappieTransportKind) -> Int {
        switch transport {
        case .webSocket: self.maxWebSocketReconnectionAttempts
        case .httpSSE: self.maxHTTPRetries
        }
    }
}
