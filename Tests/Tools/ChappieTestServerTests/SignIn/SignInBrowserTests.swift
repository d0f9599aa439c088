// Signing in with a browser: the authorization endpoint, PKCE, and the exchange.
import Testing

@testable import ChappieTestServer

@Suite struct SignInBrowserTests {
    @Test func aBrowserIsSentBackWithACodeThatIsGoodForTokens() throws {
        try withSignIn { server in
            let reply = try server.authorize()
            #expect(reply.status == 302)
            #expect(reply.fields["location"]?.hasPrefix("http://127.0.0.1:9/auth/callback?code=ac_") == true)
            #expect(reply.redirectParameter("state") == "state%201%2F%2B")
            let tokens = try server.exchange(try #require(reply.redirectParameter("code")))
            #expect(tokens.status == 200)
            #expect(tokens.fields["cache-control"] == "no-store")
            #expect(tokens.json?["expires_in"] == .number("3600"))
            for name in ["access_token", "id_token", "refresh_token"] {
                #expect(try #require(tokens[name]).contains(ChappieTestServer.tokenMarker))
            }
        }
    }

    @Test func tokensSayWhoHasSignedIn() throws {
        var account = ChappieTestServer.SignIn.Account()
        account.accountID = "acc_7"
        account.planType = "pro"
        account.isFedRAMP = true
        try withSignIn({
            $0.account = account
            $0.accessTokenLifetime = 1_000
        }) { server in
            let code = try #require(try server.authorize().redirectParameter("code"))
            let tokens = try server.exchange(code)
            for name in ["access_token", "id_token"] {
                let token = try #require(tokens[name])
                let stated = try #require(claims(of: token))
                let detail = try #require(stated["https://api.openai.com/auth"])
                #expect(detail["chatgpt_account_id"] == .string("acc_7"))
                #expect(detail["chatgpt_plan_type"] == .string("pro"))
                #expect(detail["chatgpt_user_id"] == .string("user_1"))
                #expect(detail["chatgpt_account_is_fedramp"] == .bool(true))
                #expect(stated["email"] == .string("person@example.com"))
                guard case .number(let issued)? = stated["iat"], case .number(let end)? = stated["exp"] else {
                    Issue.record("there are no times")
                    return
                }
                let times = try (start: #require(Int(issued)), end: #require(Int(end)))
                #expect(times.end - times.start == 1_000)
            }
        }
    }

    @Test func anAccountWithoutAnIdentifierHasNoneInItsTokens() throws {
        try withSignIn({ $0.account.accountID = nil }) { server in
            let stated = try #require(claims(of: server.issueTokens().idToken))
            #expect(stated["https://api.openai.com/auth"]?.isObject == true)
            #expect(stated["https://api.openai.com/auth"]?["chatgpt_account_id"] == nil)
        }
    }

    @Test func aCodeNeedsItsVerifierItsClientAndItsAddress() throws {
        try withSignIn { server in
            let code = { try #require(try server.authorize().redirectParameter("code")) }
            let replies = [
                try server.exchange(try code(), verifier: exampleVerifier + "x"),
                try server.exchange(try code(), clientID: "client-2"),
                try server.exchange(try code(), redirectURI: "http://127.0.0.1:10/auth/callback"),
                try server.exchange("ac_unknown"),
            ]
            for reply in replies {
                #expect(reply.status == 400)
                #expect(reply.errorCode == "invalid_grant")
                #expect(reply["access_token"] == nil)
            }
        }
    }

    @Test func aWrongVerifierSpendsTheCode() throws {
        try withSignIn { server in
            let code = try #require(try server.authorize().redirectParameter("code"))
            #expect(try server.exchange(code, verifier: "wrong").status == 400)
            #expect(try server.exchange(code).errorCode == "invalid_grant")
        }
    }

    @Test func aCodeThatComesAgainEndsItsTokens() throws {
        try withSignIn { server in
            let code = try #require(try server.authorize().redirectParameter("code"))
            let tokens = try server.exchange(code)
            let access = try #require(tokens["access_token"])
            #expect(server.state(ofToken: access) == .good)
            #expect(try server.exchange(code).errorCode == "invalid_grant")
            #expect(server.state(ofToken: access) == .revoked)
            let refreshed = try server.refresh(try #require(tokens["refresh_token"]))
            #expect(refreshed.status == 401)
            #expect(refreshed.errorCode == "refresh_token_invalidated")
        }
    }

    @Test func anExchangeNeedsAFormWithAllParameters() throws {
        try withSignIn { server in
            let code = try #require(try server.authorize().redirectParameter("code"))
            let json = try server.postJSON(
                "/oauth/token",
                [
                    "grant_type": "authorization_code", "client_id": exampleClient, "code": code,
                    "redirect_uri": "http://127.0.0.1:9/auth/callback", "code_verifier": exampleVerifier,
                ])
            let short = try server.postForm(
                "/oauth/token", ["grant_type": "authorization_code", "client_id": exampleClient, "code": code])
            let twice = try server.postForm(
                "/oauth/token",
                ["grant_type": "authorization_code", "client_id": exampleClient, "client_id": exampleClient])
            for reply in [json, short, twice] {
                #expect(reply.status == 400)
                #expect(reply.errorCode == "invalid_request")
            }
            let other = try server.postForm("/oauth/token", ["grant_type": "password", "client_id": exampleClient])
            #expect(other.errorCode == "unsupported_grant_type")
            #expect(try server.exchange(code).status == 200)
        }
    }

    // MARK: Refusals of the authorization endpoint

    @Test(arguments: [
        "https://127.0.0.1:9/auth/callback", "http://example.com/auth/callback", "http://127.0.0.1:9/a#b", "callback",
        "http://127.0.0.1.example.com/auth/callback", "http://localhost@example.com/auth/callback",
        "http://127.0.0.1:9/a\r\nset-cookie: a=b", "http://127.0.0.1:9/a b", "http://127.0.0.1:9/\u{E9}",
    ])
    func redirectURIOutsideLoopbackIsRefused(_ address: String) throws {
        try withSignIn { server in
            let reply = try server.authorize(["redirect_uri": address])
            #expect(reply.status == 400)
            #expect(reply.fields["location"] == nil && reply.fields["set-cookie"] == nil)
            #expect(reply.text.contains("<h1>"))
        }
    }

    @Test(arguments: ["http://localhost:1455/auth/callback", "http://[::1]:9/", "http://127.0.0.1/x?y=z"])
    func everyAddressOnThisMachineIsFine(_ address: String) throws {
        try withSignIn { server in
            let location = try #require(try server.authorize(["redirect_uri": address]).fields["location"])
            #expect(location.hasPrefix(address + (address.contains("?") ? "&code=" : "?code=")))
        }
    }

    @Test func unknownClientIsNotRedirected() throws {
        try withSignIn({ $0.clientIDs = ["client-2"] }) { server throws in
            #expect(try server.authorize().status == 400)
            #expect(try server.authorize(["client_id": nil]).status == 400)
            #expect(try server.authorize(["client_id": "client-2"]).status == 302)
        }
    }

    @Test(arguments: [
        ("response_type", "token", "unsupported_response_type"), ("code_challenge", "short", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
    ])
    func invalidParametersAreReportedToTheClientByRedirection(_ name: String, _ value: String, _ code: String) throws {
        try withSignIn { server in
            let reply = try server.authorize([name: value])
            #expect(reply.status == 302)
            #expect(reply.redirectParameter("error") == code)
            #expect(reply.redirectParameter("state") == "state%201%2F%2B")
            #expect(reply.redirectParameter("code") == nil)
            #expect(server.signInLog.map(\.errorCode) == [code])
        }
    }

    // MARK: The page

    private func requestName(on page: SignInReply) throws -> String {
        let match = try #require(page.text.firstMatch(of: /name="request" value="([^"]+)"/))
        return String(match.1)
    }

    @Test func approvalPageIsValidOnce() throws {
        try withSignIn({ $0.approvesBrowsers = false }) { server in
            let page = try server.authorize(["client_id": "<b>"])
            #expect(page.status == 200)
            #expect(page.text.contains("&lt;b&gt; wants to act for person@example.com."))
            let form: KeyValuePairs = ["request": try self.requestName(on: page), "decision": "agree"]
            let reply = try server.postForm("/oauth/authorize", form)
            #expect(reply.status == 303)
            #expect(reply.redirectParameter("state") == "state%201%2F%2B")
            let code = try #require(reply.redirectParameter("code"))
            #expect(try server.exchange(code, clientID: "<b>").status == 200)
            #expect(try server.postForm("/oauth/authorize", form).status == 400)
            #expect(server.signInLog.map(\.endpoint) == [.authorize, .exchange])
        }
    }

    @Test func denialOnThePageIsReported() throws {
        try withSignIn({ $0.approvesBrowsers = false }) { server in
            let name = try self.requestName(on: try server.authorize())
            let reply = try server.postForm("/oauth/authorize", ["request": name, "decision": "deny"])
            #expect(reply.status == 303)
            #expect(reply.redirectParameter("error") == "access_denied")
            #expect(reply.redirectParameter("code") == nil)
        }
    }
}
