// A test's access to the sign-in state, beside the network.
//
// Any thread may call it.

extension ChappieTestServer {
    /// The requests to endpoints of sign-in, in the order in which they were decided.
    ///
    /// Past `Configuration.maximumRecordCount` the oldest are dropped.
    package var signInLog: [SignInRecord] { self.parts.log.signInRecords }

    /// Returns the kept requests to one endpoint of sign-in.
    package func signInLog(of endpoint: SignIn.Endpoint) -> [SignInRecord] {
        self.signInLog.filter { $0.endpoint == endpoint }
    }

    /// Issues tokens as if a user had signed in; any client may refresh them.
    ///
    /// The access token lasts for the given seconds, or an hour; it has expired already when they are not positive.
    public func issueTokens(lifetime: Int? = nil) -> IssuedTokens {
        self.issueTokens(lifetime: lifetime, clientID: nil)
    }

    /// Issues tokens to a client as if a user had signed in.
    ///
    /// Refreshed access tokens have the configured lifetime, and so has this one without `lifetime`. Without a client,
    /// any client may refresh; without an account, it is the configured one.
    package func issueTokens(
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
    package func revokeTokens() { self.parts.authorization.withState { state, _ in state.tokens.endAll() } }

    /// Returns the state of an access token or a refresh token.
    package func state(ofToken token: String) -> TokenState {
        self.parts.authorization.withState { state, now in state.tokens.state(of: token, at: now) }
    }

    /// Returns the number of times that a refresh token was presented for a refresh.
    package func useCount(ofRefreshToken token: String) -> Int {
        self.parts.authorization.withState { state, _ in state.tokens.useCount(ofRefreshToken: token) }
    }

    /// Approves a device on behalf of the user; returns false when no device waits with that code.
    @discardableResult
    public func agree(toUserCode userCode: String) -> Bool {
        self.parts.authorization.withState { state, now in state.decide(.agreed, userCode: userCode, at: now) }
    }

    /// Denies a device on behalf of the user; returns false when no device waits with that code.
    @discardableResult
    package func deny(userCode: String) -> Bool {
        self.parts.authorization.withState { state, now in state.decide(.denied, userCode: userCode, at: now) }
    }
}
