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
        self.requiresReauthentication = credential.refreshToken == nil || credential.refreshFailure != nil
    }
}
