public import PlatformFoundation

/// The stored credential of an account that is signed in.
///
/// Its description is redacted.
public struct ChappieStoredCredential: Sendable, Equatable {
    /// The endpoints that issue and revoke tokens, and the encoding of their requests.
    public struct Endpoints: Sendable, Equatable {
        /// The token endpoint (RFC 6749 section 3.2).
        public var token: URL
        /// The revocation endpoint (RFC 7009); nil when there is none.
        public var revocation: URL?
        /// The encoding of requests to refresh and to revoke.
        public var bodyCoding: ChappieAuthorizationServer.BodyCoding

        /// Creates the endpoints of a server.
        public init(token: URL, revocation: URL?, bodyCoding: ChappieAuthorizationServer.BodyCoding) {
            self.token = token
            self.revocation = revocation
            self.bodyCoding = bodyCoding
        }
    }

    /// The access token, which is sent with each request.
    public var accessToken: String
    /// The refresh token for the next access token; valid for one use where the server rotates it.
    public var refreshToken: String?
    /// The ID token, which identifies the user.
    public var idToken: String?
    /// The server's identifier of the account at the sign-in.
    public var accountID: String?
    /// The client to which the tokens were issued.
    public var clientID: String
    /// The issuer's URL.
    public var issuer: String
    /// The endpoints of the issuer; nil where they are those of `ChappieAuthorizationServer.openAI(issuer:)`.
    ///
    /// Default nil. For programs that know the server only by the credential: a session uses its configuration's.
    public var endpoints: Endpoints?
    /// The time at which the access token expires; nil when that is not known.
    public var expiresAt: Date?
    /// The time at which the access token was issued.
    public var refreshedAt: Date
    /// The code with which the server refused the refresh token permanently; nil without a refusal.
    ///
    /// While it is set no request is sent: only a new sign-in helps.
    public var refreshFailure: String?

    /// Creates a credential.
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

    /// The claims of the ID token, and those of the access token that the former lacks.
    var claims: TokenClaims {
        let own = self.idToken.flatMap { TokenClaims(token: $0) }
        return (own ?? TokenClaims()).merging(TokenClaims(token: self.accessToken))
    }

    /// The credential for a request.
    var credential: ChappieCredential {
        ChappieCredential(
            bearerToken: self.accessToken, accountID: self.accountID, isFedRAMP: self.claims.isFedRAMP)
    }
}

extension ChappieStoredCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Fixed text, without a token.
    public var description: String { "ChappieStoredCredential(redacted)" }
    /// Fixed text, without a token.
    public var debugDescription: String { self.description }
    /// No children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
