import ChappieTransport

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What is known about an account that is signed in.
///
/// Read from its tokens, which the server has to verify: nothing here proves anything.
public struct ChappieAccount: Sendable, Equatable {
    /// The name under which it is stored.
    public let name: String
    /// The server's name for it (`chatgpt_account_id`).
    public let accountID: String?
    /// The person's address.
    public let email: String?
    /// The plan, as the server spells it, such as `plus`.
    public let planType: String?
    /// The server's name for the person.
    public let userID: String?
    /// When the access token ends; nil when that is not known.
    public let expiresAt: Date?
    /// Indicates whether only a new sign-in helps: there is no refresh token, or the server has refused it for good.
    public let requiresReauthentication: Bool

    init(name: String, credential: ChappieStoredCredential) {
        let claims = credential.claims
        // A server may write anything into a token, another token too, and what is here is shown.
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
