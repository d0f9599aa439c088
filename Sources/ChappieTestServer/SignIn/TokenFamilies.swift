// Tokens: which are good, which are spent, and which belong together.
//
// A value; part of `AuthorizationState`. Times come in, in seconds since 1970.

extension ChappieTestServer {
    /// Tokens as the server gives them.
    public struct IssuedTokens: Hashable, Sendable {
        /// A JWT.
        public var accessToken: String
        /// An opaque text.
        public var refreshToken: String
        /// A JWT.
        public var idToken: String
        /// How many seconds the access token lasts.
        public var expiresIn: Int
    }

    /// What has become of a token.
    public enum TokenState: Hashable, Sendable {
        /// This server has not given it.
        case unknown
        /// It can be used.
        case good
        /// It was too old, or access tokens were expired by hand.
        case expired
        /// It was a refresh token, and has been used.
        case spent
        /// It was revoked, or a spent one of its family was used again.
        case revoked
    }
}

extension ChappieTestServer.IssuedTokens: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// How long the access token lasts, and no token.
    public var description: String { "IssuedTokens(expiresIn: \(self.expiresIn))" }
    /// The same as `description`.
    public var debugDescription: String { self.description }
    /// Nothing: what prints values by their members prints no token.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Families of tokens: each begins with a sign-in, and goes on with every refresh.
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

    /// What a refresh token gives.
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

    /// No token; access tokens will last so many seconds.
    init(lifetime: Int) { self.lifetime = lifetime }

    /// Somebody has signed in.
    ///
    /// A client of nil can be any; a lifetime of nil is the configured one.
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

    /// Exchanges a refresh token for the next tokens, which last as the configuration says.
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

    /// Revokes a token: an access token alone, or a refresh token with its whole family (RFC 7009 section 2.1).
    mutating func revoke(_ token: String) {
        if let known = self.refreshTokens[token] { self.end(family: known.family) }
        self.accessTokens[token]?.isRevoked = true
    }

    /// Ends all families there are.
    mutating func endAll() {
        for index in self.families.indices { self.families[index].isEnded = true }
    }

    /// Makes all access tokens there are as old as can be.
    mutating func expireAccessTokens() {
        for token in self.accessTokens.keys { self.accessTokens[token]?.expiresAt = 0 }
    }

    /// What has become of a token.
    func state(of token: String, at now: Double) -> ChappieTestServer.TokenState {
        if let known = self.refreshTokens[token] {
            if known.useCount > 0 { return .spent }
            return self.families[known.family].isEnded ? .revoked : .good
        }
        guard let known = self.accessTokens[token] else { return .unknown }
        if known.isRevoked || self.families[known.family].isEnded { return .revoked }
        return now < known.expiresAt ? .good : .expired
    }

    /// Returns whether an access token is good; a refresh token is none.
    func accepts(_ token: String, at now: Double) -> Bool {
        self.accessTokens[token] != nil && self.state(of: token, at: now) == .good
    }

    /// How often a refresh token was presented.
    func useCount(ofRefreshToken token: String) -> Int { self.refreshTokens[token]?.useCount ?? 0 }
}
