/// The significance of a failure for the transport, the request and the server, which decides the recovery.
///
/// `AttemptFailure.failureClass` is the table that assigns them.
package enum FailureClass: String, Sendable, Equatable, CaseIterable {
    /// A WebSocket cannot work here.
    case definite
    /// A WebSocket probably cannot work here: worth one more attempt.
    case probable
    /// This machine has no network: worth one more attempt, and no evidence about the transport, the request or the
    /// server.
    case offline
    /// The connection is lost, and another may succeed.
    case transient
    /// The response failed, and the transport works.
    case server
    /// The request, or its answer, is too large for a WebSocket.
    case size
    /// The credential was not accepted.
    case credential
    /// The server asks for fewer requests.
    case throttle
    /// The account's usage is spent.
    case usageLimit
    /// The same request would fail in the same way.
    case fatal

    /// The moment when a turn leaves the WebSocket for HTTP.
    package enum Fallback: Sendable, Equatable {
        /// Without another attempt, and the instance stays there.
        case atOnce
        /// Without another attempt, for this request alone.
        case forThisRequest
        /// After the last retry.
        case afterRetries
        /// After the last retry, without any conclusion about the WebSocket.
        case withoutVerdict
        /// Never: HTTP would fail the same way.
        case never
    }

    /// Indicates whether the failure probably persists, so that more than one retry is hardly worth it.
    var isProbablyThereToStay: Bool {
        switch self {
        case .probable, .offline: true
        case .definite, .transient, .server, .size, .credential, .throttle, .usageLimit, .fatal: false
        }
    }

    /// The moment when a turn leaves the WebSocket after such a failure.
    package var fallback: Fallback {
        switch self {
        case .definite: .atOnce
        case .size: .forThisRequest
        case .probable, .transient: .afterRetries
        case .offline: .withoutVerdict
        case .server, .credential, .throttle, .usageLimit, .fatal: .never
        }
    }
}
