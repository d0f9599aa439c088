// What a test may see and do about signing in, beside the network.
//
// Any thread may call it.

extension ChappieTestServer {
    /// The requests to endpoints of sign-in, in the order in which they were decided.
    ///
    /// Past `Configuration.maximumRecordCount` the oldest are dropped.
    public var signInLog: [SignInRecord] { self.parts.log.signInRecords }

    /// The kept requests to one endpoint of sign-in.
    public func signInLog(of endpoint: SignIn.Endpoint) -> [SignInRecord] {
        self.signInLog.filter { $0.endpoint == endpoint }
    }

    /// Gives tokens to a client as if somebody had signed in.
    ///
    /// The access token lasts so many seconds, or as `SignIn.accessTokenLifetime` says; it has expired already when that
    /// is not positive. Refreshed ones last as the configuration says. Without a client, any may refresh; without an
    /// account, it is the configured one.
    public func issueTokens(
        lifetime: Int? = nil, clientID: String? = nil, account: SignIn.Account? = nil
    ) -> IssuedTokens {
        self.parts.authorization.withState { state, now in
            state.tokens.begin(
                clientID: clientID, account: account ?? state.configuration.account, lifetime: lifetime, at: now
            ).tokens
        }
    }

    /// Makes every access token of this server expired now, though its own claim says otherwise; refresh tokens stay.
    public func expireAccessTokens() {
        self.parts.authorization.withState { state, _ in state.tokens.expireAccessTokens() }
    }

    /// Revokes every token of this server.
    public func revokeTokens() { self.parts.authorization.withState { state, _ in state.tokens.endAll() } }

    /// What has become of an access token or a refresh token.
    public func state(ofToken token: String) -> TokenState {
        self.parts.authorization.withState { state, now in state.tokens.state(of: token, at: now) }
    }

    /// How often a refresh token was presented for a refresh.
    public func useCount(ofRefreshToken token: String) -> Int {
        self.parts.authorization.withState { state, _ in state.tokens.useCount(ofRefreshToken: token) }
    }

    /// Presses the button on the person's page; false when no device waits with that code.
    @discardableResult
    public func agree(toUserCode userCode: String) -> Bool {
        self.parts.authorization.withState { state, now in state.decide(.agreed, userCode: userCode, at: now) }
    }

    /// Presses the other button on the person's page; false when no device waits with that code.
    @discardableResult
    public func deny(userCode: String) -> Bool {
        self.parts.authorization.withState { state, now in state.decide(.denied, userCode: userCode, at: now) }
    }
}
