// The last step of every kind of sign-in: the exchange of a code for tokens.

extension ChappieAuthSession {
    /// Exchanges an authorization code (RFC 6749 section 4.1.3, with RFC 7636 section 4.5).
    ///
    /// Throws `ChappieAuthError`: `tokenExchangeFailed` for any status code but 2xx, and `invalidResponse` where the
    /// access token is missing, or the ID token of a scope that has `openid` (OpenID Connect Core section 3.1.3.3).
    func exchange(code: String, verifier: String, redirectURI: String) async throws(ChappieAuthError) -> TokenGrant {
        let server = self.configuration.signIn.server
        let answer = try await self.client.post(
            .form([
                (name: "grant_type", value: "authorization_code"),
                (name: "client_id", value: try self.clientID()),
                (name: "code", value: code),
                (name: "redirect_uri", value: redirectURI),
                (name: "code_verifier", value: verifier),
            ]),
            to: server.token)
        let grant = try AuthorizationClient.grant(answer, secrets: [code, verifier])
        let needsIDToken = server.scope.split(separator: " ").contains("openid")
        guard grant.accessToken != nil, grant.idToken != nil || !needsIDToken else { throw .invalidResponse }
        return grant
    }
}
