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
    /// How long an upgrade may take before a connection for HTTP is opened beside it; nil for as long as it takes.
    package var hedgeDelay: Duration?
    /// How far a broken response is recovered.
    package var recovery: RecoveryPolicy = .verify
    /// Whether finished items of a broken response go into the next request's input.
    package var carriesFinishedItems = false

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

/// How far a broken response is recovered.
package enum RecoveryPolicy: String, Sendable, Hashable, CaseIterable {
    /// Every rung: the request is sent again, and what was delivered is compared.
    case verify
    /// The request is not sent again once output was delivered; a response that can be resumed is.
    case resumeOnly
    /// A request that the server may have is never sent again.
    case never
}

/// Which wire protocol an attempt uses.
package enum TransportKind: String, Sendable, Hashable, CaseIterable {
    /// RFC 6455.
    case webSocket
    /// A POST whose response is an event stream.
    case http
}
