/// How a turn chooses and changes its transport.
///
/// Immutable, owned by nobody. Negative numbers become 0.
package struct StreamingPolicy: Sendable, Equatable {
    /// Whether a turn begins with a WebSocket.
    package let prefersWebSocket: Bool
    /// How often a failed WebSocket is tried again in one turn.
    package let maxWebSocketReconnectionAttempts: Int
    /// Whether HTTP follows when the WebSocket attempts are used up.
    package let fallsBackToHTTPSSE: Bool
    /// How often a failed POST is tried again in one turn.
    package let maxHTTPRetries: Int

    /// A policy.
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

    /// How often a failed attempt is repeated on a transport.
    package func retryLimit(on transport: TransportKind) -> Int {
        switch transport {
        case .webSocket: self.maxWebSocketReconnectionAttempts
        case .http: self.maxHTTPRetries
        }
    }
}

/// Which wire protocol an attempt uses.
package enum TransportKind: String, Sendable, Hashable, CaseIterable {
    /// RFC 6455.
    case webSocket
    /// A POST whose response is an event stream.
    case http
}
