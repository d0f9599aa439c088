/// The advice before the same request is sent again.
public enum ChappieRetryGuidance: Sendable, Equatable {
    /// Get a fresh credential first.
    case refreshAuthThenRetry
    /// Wait, longer each time, beginning with this number of seconds.
    case retryWithBackoff(afterSeconds: Double)
    /// Do not retry: the same request would fail again.
    case none
}

extension ChappieRetryGuidance {
    /// Creates the guidance that matches the engine's own reaction: retry, with a credential or later, or not.
    package init(after failureClass: FailureClass) {
        switch failureClass {
        case .credential: self = .refreshAuthThenRetry
        case .throttle: self = .afterRateLimit
        case .transient, .server: self = .afterServerFailure
        case .probable, .offline: self = .afterNetworkFailure
        case .definite, .size, .usageLimit, .fatal: self = .none
        }
    }

    /// The guidance after a failure of the network.
    package static let afterNetworkFailure = Self.retryWithBackoff(afterSeconds: 1)
    /// The guidance after a failure of the server.
    package static let afterServerFailure = Self.retryWithBackoff(afterSeconds: 5)
    /// The guidance after requests that came too soon.
    package static let afterRateLimit = Self.retryWithBackoff(afterSeconds: 30)
}
