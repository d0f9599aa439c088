#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What is kept of an account that is signed in.
///
/// Its description is redacted.
public struct ChappieStoredCredential: Sendable, Equatable {
    /// Where a server gives and revokes tokens, and how it is asked to.
    public struct Endpoints: Sendable, Equatable {
        /// The token endpoint (RFC 6749 section 3.2).
        public var token: URL
        /// Where tokens are revoked (RFC 7009); nil when there is no such place.
        public var revocation: URL?
        /// How requests to refresh and to revoke are written.
        public var bodyCoding: ChappieAuthorizationServer.BodyCoding

        /// The endpoints of a server.
        public init(token: URL, revocation: URL?, bodyCoding: ChappieAuthorizationServer.BodyCoding) {
            self.token = token
            self.revocation = revocation
            self.bodyCoding = bodyCoding
        }
    }

    /// Goes out with each request.
    public var accessToken: String
    /// Gives the next access token; good for one use where the server rotates it.
    public var refreshToken: String?
    /// Says who the person is.
    public var idToken: String?
    /// The server's name for the account, as it was at the sign-in.
    public var accountID: String?
    /// Whose client the tokens were given to.
    public var clientID: String
    /// The issuer's URL.
    public var issuer: String
    /// Where the issuer has its endpoints; nil where they are those of `ChappieAuthorizationServer.openAI(issuer:)`.
    ///
    /// Default nil. For programs that know the server by the credential alone: a session uses its configuration's.
    public var endpoints: Endpoints?
    /// When the access token ends; nil when that is not known.
    public var expiresAt: Date?
    /// When the access token was given.
    public var refreshedAt: Date
    /// Why the server refused the refresh token for good: its code; nil while it has not.
    ///
    /// While it is there nothing is sent: only a new sign-in helps.
    public var refreshFailure: String?

    /// A credential.
    public init(
        accessToken: String, refreshToken: String?, idToken: String? = nil, accountID: String? = nil, clientID: String,
        issuer: String, expiresAt: Date? = nil, refreshedAt: Date
    ) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.idToken = idToken
        self.accountID = accountID
        self.clientID = clientID
        self.issuer = issuer
        self.expiresAt = expiresAt
        self.refreshedAt = refreshedAt
    }

    /// What the tokens say: of the ID token, and where that is silent, of the access token.
    var claims: TokenClaims {
        let own = self.idToken.flatMap { TokenClaims(token: $0) }
        return (own ?? TokenClaims()).merging(TokenClaims(token: self.accessToken))
    }

    /// What goes out with a request.
    var credential: ChappieCredential {
        ChappieCredential(
            bearerToken: self.accessToken, accountID: self.accountID, isFedRAMP: self.claims.isFedRAMP)
    }
}

extension ChappieStoredCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never a token.
    public var description: String { "ChappieStoredCredential(redacted)" }
    /// Never a token.
    public var debugDescription: String { self.description }
    /// Never a token.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
