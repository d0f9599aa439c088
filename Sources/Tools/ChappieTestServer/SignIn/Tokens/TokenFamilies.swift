// The state of tokens, and the families that they belong to.
//
// A value; part of `AuthorizationState`. Times come in, in seconds since 1970.

extension ChappieTestServer {
    /// Tokens as the server issues them.
    public struct IssuedTokens: Sendable {
        /// A JWT.
        public var accessToken: String
        /// An opaque text.
        public var refreshToken: String
        /// A JWT.
        package var idToken: String
        /// The lifetime of the access token in seconds.
        package var expiresIn: Int
    }

    /// The state of a token.
    package enum TokenState: Hashable, Sendable {
        /// It was not issued by this server.
        case unknown
        /// It is valid.
        case good
        /// It is too old, or access tokens were expired by the test.
        case expired
        /// It is a refresh token that has been used.
        case spent
        /// It was revoked, or a used one of its family was presented again.
        case revoked
    }
}

extension ChappieTestServer.IssuedTokens: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The lifetime of the access token, and no token.
    public var description: String { "IssuedTokens(expiresIn: \(self.expiresIn))" }
    /// The same as `description`.
    public var debugDescription: String { self.description }
    /// No children, so that printing a value by its members prints no token.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Families of tokens: each begins with a sign-in, and continues with every refresh.
struct TokenFamilies: Sendable {
    private struct Family: Sendable {
        var clientID: String?
        var account: ChappieTestServer.SignIn.Account
        var lifetime: Int
        var isEnded = false
    }

    private struct RefreshToken: Sendable {
        var family: Int
        var useCount = 0
    }

    private struct AccessToken: Sendable {
        var family: Int
        var expiresAt: Double
        var isRevoked = false
    }

    /// The result of a refresh.
    enum Refresh: Sendable {
        case unknown
        case reused
        case ended
        case otherClient
        case tokens(ChappieTestServer.IssuedTokens)
    }

    private let lifetime: Int
    private var families: [Family] = []
    private var refreshTokens: [String: RefreshToken] = [:]
    private var accessTokens: [String: AccessToken] = [:]

    /// Creates families without tokens, whose access tokens will last `lifetime` seconds.
    init(lifetime: Int) { self.lifetime = lifetime }

    /// Begins a family with a sign-in.
    ///
    /// Nil for the client is any client; nil for the lifetime is the configured one.
    mutating func begin(
        clientID: String?, account: ChappieTestServer.SignIn.Account, lifetime: Int? = nil, at now: Double
    ) -> (tokens: ChappieTestServer.IssuedTokens, family: Int) {
        self.families.append(Family(clientID: clientID, account: account, lifetime: lifetime ?? self.lifetime))
        let family = self.families.count - 1
        return (self.issue(family, at: now), family)
    }

    private mutating func issue(_ family: Int, at now: Double) -> ChappieTestServer.IssuedTokens {
        let (account, lifetime) = (self.families[family].account, self.families[family].lifetime)
        let issuedAt = Int(now.rounded(.down))
        let client = self.families[family].clientID ?? "any"
        let tokens = ChappieTestServer.IssuedTokens(
            accessToken: TokenMaker.token(
                account, audience: "https://api.openai.com/v1", issuedAt: issuedAt, expiresAt: issuedAt + lifetime),
            refreshToken: TokenMaker.secret("rt_"),
            idToken: TokenMaker.token(account, audience: client, issuedAt: issuedAt, expiresAt: issuedAt + lifetime),
            expiresIn: lifetime)
        self.refreshTokens[tokens.refreshToken] = RefreshToken(family: family)
        self.accessTokens[tokens.accessToken] = AccessToken(family: family, expiresAt: Double(issuedAt + lifetime))
        return tokens
    }

    /// Exchanges a refresh token for new tokens, which have the configured lifetime.
    ///
    /// A token that was used before ends its family (RFC 9700 section 4.14.2).
    mutating func refresh(_ token: String, clientID: String?, at now: Double) -> Refresh {
        guard let known = self.refreshTokens[token] else { return .unknown }
        let family = self.families[known.family]
        if let expected = family.clientID, let clientID, expected != clientID { return .otherClient }
        self.refreshTokens[token]?.useCount += 1
        if known.useCount > 0 {
            self.end(family: known.family)
            return .reused
        }
        if family.isEnded { return .ended }
        self.families[known.family].lifetime = self.lifetime
        return .tokens(self.issue(known.family, at: now))
    }

    /// Ends all tokens of a family.
    mutating func end(family: Int) { self.families[family].isEnded = true }

    /// Revokes a token: only the token itself if it is an access token, or the whole family of a refresh token (RFC
    /// 7009 section 2.1).
    mutating func revoke(_ token: String) {
        if let known = self.refreshTokens[token] { self.end(family: known.family) }
        self.accessTokens[token]?.isRevoked = true
    }

    /// Ends all families.
    mutating func endAll() {
        for index in self.families.indices { self.families[index].isEnded = true }
    }

    /// Expires all access tokens.
    mutating func expireAccessTokens() {
        for token in self.accessTokens.keys { self.accessTokens[token]?.expiresAt = 0 }
    }

    /// Returns the state of a token.
    func state(of token: String, at now: Double) -> ChappieTestServer.TokenState {
        if let known = self.refreshTokens[token] {
            if known.useCount > 0 { return .spent }
            return self.families[known.family].isEnded ? .revoked : .good
        }
        guard let known = self.accessTokens[token] else { return .unknown }
        if known.isRevoked || self.families[known.family].isEnded { return .revoked }
        return now < known.expiresAt ? .good : .expired
    }

    /// Returns whether an access token is valid; a refresh token is not one.
    func accepts(_ token: String, at now: Double) -> Bool {
        self.accessTokens[token] != nil && self.state(of: token, at: now) == .good
    }

    /// Returns the number of times that a refresh token was presented.
    func useCount(ofRefreshToken token: String) -> Int { self.refreshTokens[token]?.useCount ?? 0 }
}
