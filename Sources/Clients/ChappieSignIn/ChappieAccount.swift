import ChappieTransport
public import PlatformFoundation
import TransportSurface

/// The known facts about an account that is signed in.
///
/// They are read from its tokens without verification, which is the server's task.
public struct ChappieAccount: Sendable, Equatable {
    /// The name under which it is stored.
    public let name: String
    /// The server's identifier of the account (`chatgpt_account_id`).
    public let accountID: String?
    /// The user's address.
    public let email: String?
    /// The plan, as the server spells it, such as `plus`.
    public let planType: String?
    /// The server's identifier of the user.
    public let userID: String?
    /// The time at which the access token expires; nil when that is not known.
    public let expiresAt: Date?
    /// Indicates whether only a new sign-in helps: there is no refresh token, or the server has refused it for good.
    public let requiresReauthentication: Bool
    /// The credential without its tokens, for the question what the next request does.
    private let schedule: Schedule

    /// The facts that decide about the next request.
    private struct Schedule: Sendable, Equatable {
        let hasRefreshToken: Bool
        let isRefused: Bool
        let refreshedAt: Date
    }

    /// The effect of the next request on the stored tokens.
    package enum NextRequest: String, Sendable {
        /// The access token is sent as it is.
        case usesToken = "uses-token"
        /// The tokens are refreshed first.
        case refreshes
        /// It fails: only a new sign-in helps.
        case requiresSignIn = "requires-sign-in"
    }

    /// Returns the effect of a request at a time, with the default settings of a session.
    package func nextRequest(at date: Date) -> NextRequest {
        if self.schedule.isRefused { return .requiresSignIn }
        let schedule = RefreshSchedule(lead: ChappieSignInConfiguration().refreshLead)
        let advice = schedule.advice(
            expiresAt: self.expiresAt, refreshedAt: self.schedule.refreshedAt, at: date)
        return switch advice {
        case .keep: .usesToken
        case .refreshSoon: self.schedule.hasRefreshToken ? .refreshes : .usesToken
        case .refreshNow: self.schedule.hasRefreshToken ? .refreshes : .requiresSignIn
        }
    }

    init(name: String, credential: ChappieStoredCredential) {
        let claims = credential.claims
        // A token may contain any text, another token too, and these values are shown.
        let tokens = [credential.accessToken, credential.refreshToken, credential.idToken]
        let redaction = SecretRedaction(tokens.compactMap { $0 })
        self.name = name
        self.accountID = credential.accountID.map(redaction.words)
        self.email = claims.email.map(redaction.words)
        self.planType = claims.planType.map(redaction.words)
        self.userID = claims.userID.map(redaction.words)
        self.expiresAt = credential.expiresAt
        self.schedule = Schedule(
            hasRefreshToken: credential.refreshToken != nil, isRefused: credential.refreshFailure != nil,
            refreshedAt: credential.refreshedAt)
        self.requiresReauthentication = credential.refreshToken == nil || credential.refreshFailure != nil
    }
}
