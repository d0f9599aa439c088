// Signing in on a device without a browser, in both ways.
import Testing

@testable import ChappieTestServer

@Suite struct SignInDeviceTests {
    private struct Device {
        var code: String
        var userCode: String
    }

    private func begin(_ server: ChappieTestServer) throws -> Device {
        let reply = try server.postJSON("/api/accounts/deviceauth/usercode", ["client_id": exampleClient])
        #expect(reply.status == 200)
        return Device(code: try #require(reply["device_auth_id"]), userCode: try #require(reply["user_code"]))
    }

    private func poll(_ server: ChappieTestServer, _ device: Device) throws -> SignInReply {
        try server.postJSON(
            "/api/accounts/deviceauth/token", ["device_auth_id": device.code, "user_code": device.userCode])
    }

    private func beginStandard(_ server: ChappieTestServer) throws -> SignInReply {
        try server.postForm(
            "/oauth/device_authorization", ["client_id": exampleClient, "scope": "openid offline_access"])
    }

    private func pollStandard(_ server: ChappieTestServer, _ code: String) throws -> SignInReply {
        try server.postForm(
            "/oauth/token",
            [
                "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": code,
                "client_id": exampleClient,
            ])
    }

    @Test func deviceCodeResponseHasCodeIntervalAndExpiry() throws {
        try withSignIn({ $0.pollInterval = 7 }) { server in
            let reply = try server.postJSON("/api/accounts/deviceauth/usercode", ["client_id": exampleClient])
            #expect(reply.status == 200)
            #expect(reply.json?["interval"] == .string("7"))
            #expect(reply["device_auth_id"]?.contains(ChappieTestServer.tokenMarker) == true)
            #expect(try #require(reply["user_code"]).wholeMatch(of: /[B-Z]{4}-[2-9]{5}/) != nil)
            #expect(try #require(reply["expires_at"]).wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
        }
    }

    @Test(arguments: [403, 404])
    func pollsArePendingUntilACodeIsIssued(_ pendingStatus: Int) throws {
        try withSignIn({
            $0.pendingPollCount = 2
            $0.pendingStatusCode = pendingStatus
            $0.pollInterval = 0
        }) { server in
            let device = try self.begin(server)
            for _ in 1...2 {
                let pending = try self.poll(server, device)
                #expect(pending.status == pendingStatus)
                #expect(pending.errorCode == "deviceauth_authorization_pending")
            }
            let agreed = try self.poll(server, device)
            #expect(agreed.status == 200)
            let verifier = try #require(agreed["code_verifier"])
            #expect(agreed["code_challenge"] == TokenMaker.challenge(for: verifier))
            let tokens = try server.exchange(
                try #require(agreed["authorization_code"]),
                redirectURI: "https://auth.example.com/deviceauth/callback", verifier: verifier)
            #expect(tokens.status == 200)
            #expect(server.state(ofToken: try #require(tokens["access_token"])) == .good)
            #expect(server.signInLog.map(\.endpoint) == [.deviceCode, .poll, .poll, .poll, .exchange])
            #expect(server.signInLog.map(\.status) == [200, pendingStatus, pendingStatus, 200, 200])
        }
    }

    @Test func lostDeviceCodeAnswerIsRepeated() throws {
        try withSignIn({
            $0.pendingPollCount = 0
            $0.pollInterval = 0
        }) { server in
            let device = try self.begin(server)
            let first = try self.poll(server, device)
            #expect(first["authorization_code"] != nil)
            #expect(try self.poll(server, device).body == first.body)
        }
    }

    @Test func aDeviceThatIsNotKnownIsRefused() throws {
        try withSignIn { server in
            let device = try self.begin(server)
            let others = [Device(code: "dev_0", userCode: device.userCode), Device(code: device.code, userCode: "X")]
            for other in others {
                let reply = try self.poll(server, other)
                #expect(reply.status == 400)
                #expect(reply.errorCode == "invalid_request")
            }
        }
    }

    @Test func bothFlowsExpire() throws {
        try withSignIn({ $0.deviceCodeLifetime = 0 }) { server in
            let reply = try self.poll(server, try self.begin(server))
            #expect(reply.status == 403)
            #expect(reply.errorCode == "expired_token")
            let code = try #require(try self.beginStandard(server)["device_code"])
            let standard = try self.pollStandard(server, code)
            #expect(standard.status == 400)
            #expect(standard.errorCode == "expired_token")
        }
    }

    @Test func bothFlowsWaitForTheUserAndReportDenial() throws {
        try withSignIn({
            $0.pendingPollCount = nil
            $0.pollInterval = 0
        }) { server in
            let device = try self.begin(server)
            let started = try self.beginStandard(server)
            let code = try #require(started["device_code"])
            for _ in 1...5 {
                #expect(try self.poll(server, device).errorCode == "deviceauth_authorization_pending")
                #expect(try self.pollStandard(server, code).errorCode == "authorization_pending")
            }
            #expect(server.deny(userCode: device.userCode))
            #expect(server.deny(userCode: try #require(started["user_code"])))
            let refused = try self.poll(server, device)
            #expect(refused.status == 403)
            #expect(refused.errorCode == "access_denied")
            let standard = try self.pollStandard(server, code)
            #expect(standard.status == 400)
            #expect(standard.errorCode == "access_denied")
            #expect(!server.agree(toUserCode: device.userCode))
        }
    }

    @Test func standardFlowIssuesTokensOnce() throws {
        try withSignIn({ $0.pollInterval = 0 }) { server in
            let started = try self.beginStandard(server)
            #expect(started.json?["expires_in"] == .number("900"))
            #expect(started.json?["interval"] == .number("0"))
            let uri = try #require(started["verification_uri"])
            #expect(uri == "http://127.0.0.1:\(server.port)/codex/device")
            let userCode = try #require(started["user_code"])
            #expect(started["verification_uri_complete"] == "\(uri)?user_code=\(userCode)")
            let code = try #require(started["device_code"])
            let pending = try self.pollStandard(server, code)
            #expect(pending.status == 400)
            #expect(pending.errorCode == "authorization_pending")
            let tokens = try self.pollStandard(server, code)
            #expect(tokens.status == 200)
            #expect(tokens["token_type"] == "Bearer")
            let access = try #require(tokens["access_token"])
            #expect(server.state(ofToken: access) == .good)
            // A spent code ends what it was good for (RFC 6749 section 4.1.2).
            #expect(try self.pollStandard(server, code).errorCode == "invalid_grant")
            #expect(server.state(ofToken: access) == .revoked)
        }
    }

    @Test func aStandardPollThatComesTooEarlyIsSlowedDown() throws {
        try withSignIn({
            $0.pollInterval = 600
            $0.pendingPollCount = 0
        }) { server in
            let code = try #require(try self.beginStandard(server)["device_code"])
            #expect(try self.pollStandard(server, code).status == 200)
            let early = try self.pollStandard(server, code)
            #expect(early.status == 400)
            #expect(early.errorCode == "slow_down")
        }
    }

    @Test func aServerThatDoesNotMindFastPollsAnswersThem() throws {
        try withSignIn({
            $0.pollInterval = 600
            $0.pendingPollCount = 1
            $0.refusesFastPolls = false
        }) { server in
            let code = try #require(try self.beginStandard(server)["device_code"])
            #expect(try self.pollStandard(server, code).errorCode == "authorization_pending")
            #expect(try self.pollStandard(server, code).status == 200)
        }
    }

    @Test func deviceCodeIsValidOnlyForItsFlow() throws {
        try withSignIn({ $0.pendingPollCount = 0 }) { server in
            let device = try self.begin(server)
            #expect(try self.pollStandard(server, device.code).errorCode == "invalid_grant")
            let started = try self.beginStandard(server)
            let other = Device(
                code: try #require(started["device_code"]), userCode: try #require(started["user_code"]))
            #expect(try self.poll(server, other).errorCode == "invalid_request")
        }
    }

    @Test func anotherClientCannotPoll() throws {
        try withSignIn({ $0.pendingPollCount = 0 }) { server in
            let code = try #require(try self.beginStandard(server)["device_code"])
            let reply = try server.postForm(
                "/oauth/token",
                [
                    "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": code,
                    "client_id": "client-2",
                ])
            #expect(reply.status == 400)
            #expect(reply.errorCode == "invalid_grant")
            #expect(try self.pollStandard(server, code).status == 200)
        }
    }

    @Test(arguments: ["/api/accounts/deviceauth/usercode", "/oauth/device_authorization"])
    func clientsThatAreNotKnownGetNoCode(_ path: String) throws {
        try withSignIn({ $0.clientIDs = ["client-2"] }) { server in
            let reply = try server.postForm(path, ["client_id": exampleClient])
            #expect(reply.status == 401)
            #expect(reply.errorCode == "invalid_client")
            #expect(try server.postForm(path, ["client_id": "client-2"]).status == 200)
            let nameless = try server.postForm(path, ["scope": "openid"])
            #expect(nameless.status == 400)
            #expect(nameless.errorCode == "invalid_request")
        }
    }

    // MARK: The person's page

    @Test func aPersonAgreesOnThePage() throws {
        try withSignIn({
            $0.pendingPollCount = nil
            $0.pollInterval = 0
        }) { server in
            let device = try self.begin(server)
            #expect(try server.get("/codex/device").text.contains("name=\"user_code\" value=\"\""))
            // However it is typed (RFC 8628 section 6.1).
            let typed = device.userCode.lowercased().filter { $0 != "-" }
            let answer = try server.postForm("/codex/device", ["user_code": " \(typed)", "decision": "agree"])
            #expect(answer.status == 200)
            #expect(answer.text.contains("The device is connected."))
            #expect(try self.poll(server, device).status == 200)
            let again = try server.postForm("/codex/device", ["user_code": typed, "decision": "deny"])
            #expect(again.status == 400)
            // The page is no endpoint of the log.
            #expect(server.signInLog.map(\.endpoint) == [.deviceCode, .poll])
        }
    }

    @Test func denialOnThePageIsReported() throws {
        try withSignIn({ $0.pendingPollCount = nil }) { server in
            let device = try self.begin(server)
            let form: KeyValuePairs = ["user_code": device.userCode, "decision": "deny"]
            #expect(try server.postForm("/codex/device", form).text.contains("turned away"))
            #expect(try self.poll(server, device).errorCode == "access_denied")
        }
    }

    /// U+0301 is an accent, which makes one character with what stands before it.
    @Test(arguments: ["", "\u{301}"])
    func enteredCodeIsEscapedInThePage(accent: String) throws {
        try withSignIn { server in
            let typed = "\"\(accent)><script>alert('\(accent)&\(accent)')</script>"
            let escaped =
                "&quot;\(accent)&gt;&lt;script&gt;alert(&#39;\(accent)&amp;\(accent)&#39;)&lt;/script&gt;"
            let prefilled = try server.get("/codex/device?user_code=" + SignInRequest.escaped(typed))
            let refused = try server.postForm("/codex/device", ["user_code": typed, "decision": "agree"])
            #expect(refused.status == 400)
            for page in [prefilled, refused] {
                #expect(page.text.contains("value=\"\(escaped)\""))
                #expect(!page.text.contains("<script"))
                #expect(page.fields["content-type"] == "text/html; charset=utf-8")
                #expect(page.fields["content-security-policy"]?.contains("default-src 'none'") == true)
            }
        }
    }
}
