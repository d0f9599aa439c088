public import PlatformFoundation
import StreamSession

/// The failure of a sign-in, or of the exchange of a token.
///
/// Its description holds no token, no code and no text of the server; those are in the cases' own values, without the
/// secrets that were sent.
///
/// A minor version may add cases.
public enum ChappieAuthError: Error, Sendable, Equatable {
    /// The device code expired before it was entered (RFC 8628 section 3.5).
    case expiredDeviceCode
    /// The sign-in was cancelled: by the task, or by the user at the callback.
    case cancelledSignIn
    /// The authorization server cannot be reached, or the connection failed; the reason, safe to show.
    case networkFailure(String)
    /// The device code was not entered within the client's time limit.
    case pollingTimeout
    /// The browser did not return within the client's time limit.
    case callbackTimeout
    /// There is no refresh token: the server issued none, or none is stored.
    case missingRefreshToken
    /// The token endpoint refused; its status code and its answer, 4 KiB at most.
    case tokenExchangeFailed(statusCode: Int, body: String)
    /// The user or the server denied the authorization; the server's description.
    case authorizationDenied(String)
    /// The system provided no random bytes; its error (`errno`).
    case secureRandomFailed(statusCode: Int32)
    /// The server's answer is invalid: it is not JSON, too large, truncated, or lacks a token.
    case invalidResponse
    /// Another failure; its description, safe to show.
    case unknown(String)
}

extension ChappieAuthError {
    /// Indicates whether only a new sign-in helps.
    ///
    /// True when the token endpoint answered 400, 401 or 403, and where there is no refresh token.
    public var requiresReauthentication: Bool {
        switch self {
        case .tokenExchangeFailed(let statusCode, _): [400, 401, 403].contains(statusCode)
        case .missingRefreshToken: true
        case .expiredDeviceCode, .cancelledSignIn, .networkFailure, .pollingTimeout, .callbackTimeout,
            .authorizationDenied, .secureRandomFailed, .invalidResponse, .unknown:
            false
        }
    }

    /// A stable name of the failure, such as `auth.polling-timeout`.
    public var tag: String {
        switch self {
        case .expiredDeviceCode: "auth.expired-device-code"
        case .cancelledSignIn: "auth.cancelled"
        case .networkFailure: "auth.network"
        case .pollingTimeout: "auth.polling-timeout"
        case .callbackTimeout: "auth.callback-timeout"
        case .missingRefreshToken: "auth.missing-refresh-token"
        case .tokenExchangeFailed(let statusCode, _): "auth.token-exchange.\(statusCode)"
        case .authorizationDenied: "auth.denied"
        case .secureRandomFailed: "auth.secure-random"
        case .invalidResponse: "auth.invalid-response"
        case .unknown: "auth.unknown"
        }
    }

    /// The category of the failure.
    public var category: ChappieErrorCategory { self.facts.category }

    /// Indicates whether the same call may succeed later without any change.
    public var isRetryable: Bool { self.facts.retryGuidance != .none }

    private var facts: ErrorFacts {
        switch self {
        case .expiredDeviceCode, .cancelledSignIn, .pollingTimeout, .callbackTimeout, .missingRefreshToken,
            .tokenExchangeFailed(400, _), .tokenExchangeFailed(401, _), .tokenExchangeFailed(403, _):
            ErrorFacts(.auth)
        case .networkFailure: ErrorFacts(.network, .afterNetworkFailure)
        case .tokenExchangeFailed(408, _): ErrorFacts(.validation, .afterServerFailure)
        case .tokenExchangeFailed(429, _): ErrorFacts(.rateLimit, .afterRateLimit)
        case .tokenExchangeFailed(500..., _): ErrorFacts(.server, .afterServerFailure)
        case .tokenExchangeFailed, .unknown: ErrorFacts(.validation)
        case .authorizationDenied: ErrorFacts(.permission)
        case .secureRandomFailed: ErrorFacts(.internal)
        case .invalidResponse: ErrorFacts(.server)
        }
    }

    /// The server's description: to be logged with care, not to be shown.
    ///
    /// The sent secrets are removed from it.
    public var unsafeMessage: String? {
        switch self {
        case .tokenExchangeFailed(_, let body): body
        case .authorizationDenied(let message): message
        default: nil
        }
    }
}

extension ChappieAuthError: LocalizedError {
    /// The problem and the advice, in sentences that are safe to show and to log.
    public var errorDescription: String? { self.safeDescription }

    /// The same as `errorDescription`.
    public var safeDescription: String { "\(self.problem) \(self.advice)" }

    /// The problem, without the advice.
    public var failureReason: String? { self.problem }

    /// The advice.
    public var recoverySuggestion: String? { self.advice }

    private var problem: String {
        switch self {
        case .expiredDeviceCode: "The device code has expired."
        case .cancelledSignIn: "The sign-in was cancelled."
        case .networkFailure(let reason): "The exchange with the authorization server failed: \(reason)"
        case .pollingTimeout: "Nobody entered the device code in time."
        case .callbackTimeout: "The browser did not come back in time."
        case .missingRefreshToken: "There is no refresh token."
        case .tokenExchangeFailed(let statusCode, _):
            "The authorization server refused the exchange of a token with status code \(statusCode)."
        case .authorizationDenied: "The authorization was denied."
        case .secureRandomFailed(let statusCode): "The system gave no random bytes (error \(statusCode))."
        case .invalidResponse: "The authorization server's answer makes no sense."
        case .unknown(let reason): reason
        }
    }

    private var advice: String {
        switch self {
        case .expiredDeviceCode, .cancelledSignIn, .pollingTimeout, .callbackTimeout, .missingRefreshToken:
            "Sign in again."
        case .networkFailure: "Check the network, and try again."
        case .tokenExchangeFailed where self.requiresReauthentication: "Sign in again."
        case .tokenExchangeFailed: "Try again in a moment."
        case .authorizationDenied: "Sign in with an account that may use this, and approve it."
        case .secureRandomFailed: "Report this."
        case .invalidResponse: "Check the issuer's address; if it is right, report this to its operator."
        case .unknown: "See the documentation of the sign-in."
        }
    }
}

extension ChappieAuthError: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The stable tag and the safe description.
    public var description: String { "\(self.tag): \(self.safeDescription)" }

    /// The same as `description`.
    public var debugDescription: String { "ChappieAuthError(\(self.description))" }

    /// The tag alone.
    public var customMirror: Mirror { Mirror(self, children: ["tag": self.tag]) }
}
