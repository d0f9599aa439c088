// A test's access to the sign-in state, beside the network.
//
// Any thread may call it.

extension ChappieTestServer {
    /// The requests to endpoints of sign-in, in the order in which they were decided.
    ///
    /// Past `Configuration.maximumRecordCount` the oldest are dropped.
    public var signInLog: [SignInRecord] { self.parts.log.signInRecords }

    /// Returns the kept requests to one endpoint of sign-in.
    public func signInLog(of endpoint: SignIn.Endpoint) -> [SignInRecord] {
        self.signInLog.filter { $0.endpoint == endpoint }
    }

    /// Issues tokens to a client as if a user had signed in.
    ///
    /// The access token lasts for the given seconds, or `SignIn.accessTokenLifetime`; it has expired already when that
    /// is not positive. Refreshed ones have the configured lifetime. Without a client, any client may refresh; without
    /// an account, it is the configured one.
    public func issueTokens(
        lifetime: Int? = nil, clientID: String? = nil, account: SignIn.Account? = nil
    ) -> IssuedTokens {
        self.parts.authorization.withState { state, now in
            state.tokens.begin(
                clientID: clientID, account: account ?? state.configuration.account, lifetime: lifetime, at: now
            ).tokens
        }
    }

    /// Expires every access token of this server, whatever its own claim; refresh tokens are not affected.
    public func expireAccessTokens() {
        self.parts.authorization.withState { state, _ in state.tokens.expireAccessTokens() }
    }

    /// Revokes every token of this server.
    public func revokeTokens() { self.parts.authorization.withState { state, _ in state.tokens.endAll() } }

    /// Returns the state of an access token or a refresh token.
    public func state(ofToken token: String) -> TokenState {
        self.parts.authorization.withState { state, now in state.tokens.state(of: token, at: now) }
    }

    /// Returns the number of times that a refresh token was presented for a refresh.
    public func useCount(ofRefreshToken token: String) -> Int {
        self.parts.authorization.withState { state, _ in state.tokens.useCount(ofRefreshToken: token) }
    }

    /// Approves a device on behalf of the user; returns false when no device waits with that code.
    @discardableResult
    public func agree(toUserCode userCode: String) -> Bool {
        self.parts.authorization.withState { state, now in state.decide(.agreed, userCode: userCode, at: now) }
    }

    /// Denies a device on behalf of the user; returns false when no device waits with that code.
    @discardableResult
    public func deny(userCode: String) -> Bool {
        self.parts.authorization.withState { state, now in state.decide(.denied, userCode: userCode, at: now) }
    }
}
