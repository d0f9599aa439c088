// Refresh, rotation, revocation, and what the tokens are good for.
import PlatformC
import Testing

@testable import ChappieTestServer

@Suite struct SignInTokenTests {
    @Test func refreshTokensRotate() throws {
        try withSignIn { server in
            let first = server.issueTokens()
            let second = try server.refresh(first.refreshToken)
            #expect(second.status == 200)
            let next = try #require(second["refresh_token"])
            #expect(next != first.refreshToken)
            #expect(second["access_token"] != first.accessToken)
            #expect(server.state(ofToken: first.refreshToken) == .spent)
            #expect(server.useCount(ofRefreshToken: first.refreshToken) == 1)
            #expect(server.useCount(ofRefreshToken: next) == 0)
            let third = try server.postForm(
                "/oauth/token", ["grant_type": "refresh_token", "refresh_token": next, "client_id": exampleClient])
            #expect(third.status == 200)
            // The old access token stays good until it expires.
            #expect(server.state(ofToken: first.accessToken) == .good)
            #expect(server.signInLog(of: .refresh).map(\.coding) == [.json, .form])
        }
    }

    @Test func aSpentTokenEndsItsFamily() throws {
        try withSignIn { server in
            let (first, other) = (server.issueTokens(), server.issueTokens())
            let second = try server.refresh(first.refreshToken)
            let reused = try server.refresh(first.refreshToken)
            #expect(reused.status == 401)
            #expect(reused.json?["error"]?["code"] == .string("refresh_token_reused"))
            let next = try #require(second["refresh_token"])
            #expect(server.state(ofToken: next) == .revoked)
            #expect(server.state(ofToken: try #require(second["access_token"])) == .revoked)
            let late = try server.refresh(next)
            #expect(late.status == 401)
            #expect(late.errorCode == "refresh_token_invalidated")
            #expect(server.useCount(ofRefreshToken: first.refreshToken) == 2)
            // Another sign-in of the same account goes on.
            #expect(try server.refresh(other.refreshToken).status == 200)
        }
    }

    @Test func onlyOneOfManyConcurrentRefreshesSucceeds() throws {
        try withSignIn { server in
            let token = server.issueTokens().refreshToken
            let statuses = Monitor<[Int]>([])
            let threads = try (1...16).map { _ in
                try #require(
                    SystemThread.startSmall {
                        let status = try? server.refresh(token).status
                        statuses.update { $0.append(status ?? 0) }
                    })
            }
            for thread in threads { thread.join() }
            #expect(statuses.withLock { $0.sorted() } == [200] + [Int](repeating: 401, count: 15))
            #expect(server.useCount(ofRefreshToken: token) == 16)
            #expect(server.signInLog(of: .refresh).map(\.number).sorted() == Array(1...16))
        }
    }

    @Test func refreshByAnotherClientDoesNotSpendTheToken() throws {
        try withSignIn { server in
            let tokens = server.issueTokens(clientID: exampleClient)
            let refused = try server.refresh(tokens.refreshToken, clientID: "client-2")
            #expect(refused.status == 400)
            #expect(refused.errorCode == "invalid_grant")
            #expect(try server.refresh(tokens.refreshToken).status == 200)
        }
    }

    @Test func aTokenThatIsNotKnownIsInvalid() throws {
        try withSignIn { server in
            let reply = try server.refresh("rt_unknown")
            #expect(reply.status == 401)
            #expect(reply.errorCode == "refresh_token_invalidated")
            let nothing = try server.postJSON(
                "/oauth/token", ["client_id": exampleClient, "grant_type": "refresh_token"])
            #expect(nothing.status == 400)
            #expect(nothing.errorCode == "invalid_request")
        }
    }

    @Test func bodiesThatCannotBeReadAreRefused() throws {
        try withSignIn { server in
            for (type, body) in [
                ("application/json", "{"), ("application/json", "[]"), ("text/plain", "grant_type=refresh_token"),
                ("application/x-www-form-urlencoded", "grant_type=%zz"),
                ("application/x-www-form-urlencoded", "grant_type=%ff"),
            ] {
                let reply = try server.post("/oauth/token", type: type, body)
                #expect(reply.status == 400, "\(body)")
                #expect(reply.errorCode == "invalid_request")
            }
            #expect(try server.get("/oauth/token").status == 405)
        }
    }

    @Test func printedTokensAreNotShown() throws {
        try withSignIn { server in
            let tokens = server.issueTokens(lifetime: 60)
            var dumped = ""
            dump(tokens, to: &dumped)
            for text in ["\(tokens)", String(reflecting: tokens), dumped] {
                #expect(text.contains("IssuedTokens(expiresIn: 60)"))
                #expect(!text.contains(ChappieTestServer.tokenMarker))
                #expect(!text.contains(tokens.accessToken))
            }
        }
    }

    @Test func accessTokensExpireAfterTheirLifetime() throws {
        try withSignIn({ $0.accessTokenLifetime = 50 }) { server in
            #expect(server.issueTokens().expiresIn == 50)
            let old = server.issueTokens(lifetime: -5)
            #expect(server.state(ofToken: old.accessToken) == .expired)
            #expect(server.state(ofToken: old.refreshToken) == .good)
            let fresh = try server.refresh(old.refreshToken)
            #expect(fresh.json?["expires_in"] == .number("50"))
            #expect(server.state(ofToken: try #require(fresh["access_token"])) == .good)
            #expect(server.state(ofToken: "nonsense") == .unknown)
        }
    }

    @Test func revokingARefreshTokenEndsItsFamily() throws {
        try withSignIn { server in
            let tokens = server.issueTokens()
            let reply = try server.postJSON(
                "/oauth/revoke",
                ["token": tokens.refreshToken, "token_type_hint": "refresh_token", "client_id": exampleClient])
            #expect(reply.status == 200)
            #expect(reply.body.isEmpty)
            #expect(server.state(ofToken: tokens.refreshToken) == .revoked)
            #expect(server.state(ofToken: tokens.accessToken) == .revoked)
            #expect(try server.refresh(tokens.refreshToken).errorCode == "refresh_token_invalidated")
        }
    }

    @Test func revokingAnAccessTokenKeepsTheRefreshTokenValid() throws {
        try withSignIn { server throws in
            let tokens = server.issueTokens()
            let form: KeyValuePairs = ["token": tokens.accessToken, "token_type_hint": "access_token"]
            #expect(try server.postForm("/oauth/revoke", form).status == 200)
            #expect(server.state(ofToken: tokens.accessToken) == .revoked)
            #expect(try server.refresh(tokens.refreshToken).status == 200)
        }
    }

    @Test func revokingAnUnknownTokenIsNoError() throws {
        try withSignIn({ $0.clientIDs = [exampleClient] }) { server throws in
            #expect(try server.postForm("/oauth/revoke", ["token": "unknown"]).status == 200)
            #expect(try server.postForm("/oauth/revoke", ["client_id": exampleClient]).status == 400)
            #expect(try server.postForm("/oauth/revoke", ["token": "x", "client_id": "client-2"]).status == 401)
        }
    }

    @Test func allTokensCanBeRevokedAtOnce() throws {
        try withSignIn { server throws in
            let tokens = server.issueTokens()
            server.revokeTokens()
            #expect(server.state(ofToken: tokens.accessToken) == .revoked)
            #expect(try server.refresh(tokens.refreshToken).errorCode == "refresh_token_invalidated")
        }
    }

    // MARK: What tokens are good for

    private func guarded(_ body: (ChappieTestServer) throws -> Void) throws {
        try withSignIn({ $0.guardsRequests = true }, body)
    }

    @Test(arguments: ["/v1/models", "/backend-api/wham/usage", "/v1/api/codex/usage"])
    func aGuardedServerTakesItsGoodAccessTokensAlone(_ path: String) throws {
        try self.guarded { server in
            let (tokens, old) = (server.issueTokens(), server.issueTokens(lifetime: 0))
            for token in [tokens.refreshToken, old.accessToken, "other"] {
                let reply = try server.get(path, fields: ["Authorization: Bearer \(token)"])
                #expect(reply.status == 401)
                #expect(reply.json?["error"]?["code"] == .string("token_expired"))
                #expect(reply.json?["error"]?["type"] == .string("invalid_request_error"))
            }
            #expect(try server.get(path).status == 401)
            let fields = ["Authorization: Bearer \(tokens.accessToken)"]
            #expect(try server.get(path, fields: fields).status == 200)
            server.expireAccessTokens()
            #expect(try server.get(path, fields: fields).status == 401)
            #expect(server.state(ofToken: tokens.refreshToken) == .good)
        }
    }

    @Test func aGuardedServerRefusesResponsesOverHTTP() throws {
        try self.guarded { server in
            let field = "Authorization: Bearer \(server.issueTokens().accessToken)"
            let client = try RawClient(port: server.port)
            for expected in [200, 401] {
                try client.post(plainRequest, fields: [field])
                let head = try client.readHead()
                #expect(head.status == expected)
                _ = try client.readBody(head)
                server.expireAccessTokens()
            }
        }
    }

    @Test func expiredTokenOnAnOpenWebSocketIsReportedInBand() throws {
        try self.guarded { server in
            let refused = try RawClient(port: server.port)
            try refused.upgrade()
            #expect(try refused.readHead().status == 401)

            let client = try RawClient(port: server.port)
            try client.upgrade(fields: ["Authorization: Bearer \(server.issueTokens().accessToken)"])
            #expect(try client.readHead().status == 101)
            try client.sendText(plainRequest)
            #expect(try client.readEvents().last?["type"]?.string == "response.completed")
            server.expireAccessTokens()
            for _ in 1...2 {
                try client.sendText(plainRequest)
                let events = try client.readEvents()
                #expect(events.count == 1)
                #expect(events[0]["type"] == .string("error"))
                #expect(events[0]["status"] == .number("401"))
                #expect(events[0]["error"]?["code"] == .string("token_expired"))
            }
        }
    }

    @Test func usageHasTwoWindowsAndThePlan() throws {
        try withSignIn({ $0.account.planType = "pro" }) { server in
            let usage = try #require(try server.get("/backend-api/wham/usage").json)
            #expect(usage["plan_type"] == .string("pro"))
            #expect(usage["rate_limit"]?["primary_window"]?["limit_window_seconds"] == .number("18000"))
            #expect(usage["rate_limit"]?["secondary_window"]?["used_percent"] == .number("5"))
            #expect(try server.post("/backend-api/wham/usage", type: "text/plain", "").status == 405)
        }
    }
}
