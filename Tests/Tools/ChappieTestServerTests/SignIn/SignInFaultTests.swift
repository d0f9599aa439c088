// Faults of the endpoints of sign-in, the records of requests, and the log.
import Testing

@testable import ChappieTestServer

@Suite struct SignInFaultTests {
    private typealias Fault = ChappieTestServer.SignIn.Fault

    /// Sends a refresh and reads to the end of the connection.
    private func refreshBytes(_ server: ChappieTestServer, _ token: String) throws -> [UInt8] {
        let client = try RawClient(port: server.port)
        let body = "{\"client_id\":\"c\",\"grant_type\":\"refresh_token\",\"refresh_token\":\"\(token)\"}"
        try client.post(body, path: "/oauth/token")
        return client.readToEnd().bytes
    }

    @Test func aRefusalStrikesTheRequestsThatItIsAbout() throws {
        let fault = Fault(.refresh, .refusal(statusCode: 503, body: "<busy>"), requests: 2...2)
        try withSignIn({ $0.faults = [fault, .init(.refresh, .dropped, requests: 2...2)] }) { server in
            let first = try server.refresh(server.issueTokens().refreshToken)
            let token = try #require(first["refresh_token"])
            let refused = try server.refresh(token)
            #expect(refused.status == 503)
            #expect(refused.text == "<busy>")
            #expect(server.state(ofToken: token) == .good)
            #expect(try server.refresh(token).status == 200)
            #expect(server.signInLog.map(\.status) == [200, 503, 200])
            #expect(server.signInLog.map(\.number) == [1, 2, 3])
        }
    }

    @Test func aDroppedRequestIsNotDone() throws {
        try withSignIn({ $0.faults = [.init(.refresh, .dropped, requests: 1...1)] }) { server throws in
            let token = server.issueTokens().refreshToken
            #expect(try self.refreshBytes(server, token).isEmpty)
            #expect(server.state(ofToken: token) == .good)
            #expect(server.signInLog.map(\.status) == [nil])
        }
    }

    @Test func refreshWithADroppedAnswerSpendsItsToken() throws {
        try withSignIn({ $0.faults = [.init(.refresh, .doneAndDropped, requests: 1...1)] }) { server throws in
            let token = server.issueTokens().refreshToken
            #expect(try self.refreshBytes(server, token).isEmpty)
            #expect(server.state(ofToken: token) == .spent)
            #expect(try server.refresh(token).errorCode == "refresh_token_reused")
        }
    }

    @Test func aTruncatedAnswerEndsInTheMiddleOfItsBody() throws {
        try withSignIn({ $0.faults = [.init(.refresh, .truncated)] }) { server in
            let text = String(decoding: try self.refreshBytes(server, server.issueTokens().refreshToken), as: UTF8.self)
            let length = try #require(text.firstMatch(of: /content-length: (\d+)/).flatMap { Int($0.1) })
            let body = try #require(text.split(separator: "\r\n\r\n", maxSplits: 1).last)
            #expect(body.hasPrefix("{\"id_token\":"))
            #expect(body.utf8.count == length / 2)
        }
    }

    @Test func aTruncatedAnswerWithoutABodyEndsInItsHead() throws {
        try withSignIn({ $0.faults = [.init(.revoke, .truncated)] }) { server in
            let client = try RawClient(port: server.port)
            try client.post("{\"token\":\"x\"}", path: "/oauth/revoke")
            let bytes = client.readToEnd().bytes
            #expect(bytes.starts(with: Array("HTTP/1.1 200 OK\r\n".utf8)))
            #expect(!bytes.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)))
        }
    }

    @Test(arguments: ["refresh_token", "access_token", "id_token"])
    func faultRemovesAMemberFromTheAnswer(_ name: String) throws {
        try withSignIn({ $0.faults = [.init(.exchange, .without(member: name))] }) { server in
            let tokens = try server.exchange(try #require(try server.authorize().redirectParameter("code")))
            #expect(tokens.status == 200)
            let missing = ["refresh_token", "access_token", "id_token"].filter { tokens[$0] == nil }
            #expect(missing == [name])
        }
    }

    @Test func faultRemovesAParameterFromTheRedirection() throws {
        try withSignIn({ $0.faults = [.init(.authorize, .without(member: "state"))] }) { server in
            let reply = try server.authorize()
            #expect(reply.redirectParameter("state") == nil)
            #expect(reply.redirectParameter("code") != nil)
        }
    }

    @Test func garbageAnswerHasTheConfiguredLength() throws {
        try withSignIn({ $0.faults = [.init(.deviceCode, .garbage(byteCount: 70_000))] }) { server in
            let reply = try server.postJSON("/api/accounts/deviceauth/usercode", ["client_id": exampleClient])
            #expect(reply.status == 200)
            #expect(reply.body.count == 70_000)
            #expect(reply.json == nil)
        }
    }

    @Test func silenceLastsUntilTheClientLeaves() throws {
        try withSignIn({ $0.faults = [.init(.usage, .silence)] }) { server in
            do {
                let client = try RawClient(port: server.port, receiveTimeout: 1)
                try client.send("GET /backend-api/wham/usage HTTP/1.1\r\nHost: localhost\r\n\r\n")
                #expect(server.waitBlocking(for: .signInRequests(.usage, 1)))
                #expect(client.readToEnd().end == .timedOut)
            }
            #expect(server.signInLog.map(\.status) == [nil])
        }
    }

    @Test func aServerThatStopsEndsItsSilence() throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.signIn.faults = [.init(.revoke, .silence)]
        let server = try ChappieTestServer(configuration: configuration)
        let client = try RawClient(port: server.port)
        try client.post("{\"token\":\"x\"}", path: "/oauth/revoke")
        #expect(server.waitBlocking(for: .signInRequests(.revoke, 1)))
        server.stop()
        let (bytes, end) = client.readToEnd()
        #expect(bytes.isEmpty)
        #expect(end == .endOfStream)
    }

    @Test func everyEndpointHasItsOwnFaults() throws {
        let refusals = ChappieTestServer.SignIn.Endpoint.allCases.enumerated().map { index, endpoint in
            Fault(endpoint, .refusal(statusCode: 500 + index, body: "{}"))
        }
        try withSignIn({ $0.faults = refusals }) { server in
            let statuses = [
                try server.postForm("/oauth/device_authorization", ["client_id": exampleClient]).status,
                try server.postJSON("/api/accounts/deviceauth/token", ["device_auth_id": "x"]).status,
                try server.authorize().status,
                try server.exchange("x").status,
                try server.refresh("x").status,
                try server.postJSON("/oauth/revoke", ["token": "x"]).status,
                try server.get("/backend-api/wham/usage").status,
            ]
            #expect(statuses == Array(500...506))
            let standardPoll = try server.postForm(
                "/oauth/token",
                ["grant_type": "urn:ietf:params:oauth:grant-type:device_code", "client_id": exampleClient])
            #expect(standardPoll.status == 501)
        }
    }

    // MARK: Records and lines

    @Test func recordsContainRequestsWithoutSecrets() throws {
        try withSignIn { server in
            let code = try #require(try server.authorize().redirectParameter("code"))
            let tokens = try server.exchange(code)
            _ = try server.refresh(try #require(tokens["refresh_token"]))
            _ = try server.get(
                "/backend-api/wham/usage", fields: ["Authorization: Bearer \(try #require(tokens["access_token"]))"])
            #expect(
                server.signInLog.map(\.parameterNames) == [
                    [
                        "client_id", "code_challenge", "code_challenge_method", "redirect_uri", "response_type",
                        "state",
                    ],
                    ["grant_type", "client_id", "code", "redirect_uri", "code_verifier"],
                    ["client_id", "grant_type", "refresh_token"], [],
                ])
            #expect(server.signInLog.map(\.clientID) == [exampleClient, exampleClient, exampleClient, nil])
            #expect(server.signInLog.map(\.coding) == [.query, .form, .json, .query])
            #expect(server.signInLog[1].fields.contains { $0.name == "Content-Type" })
            let described = String(describing: server.signInLog)
            #expect(!described.contains(ChappieTestServer.tokenMarker))
            #expect(!described.contains(exampleVerifier))
            server.clearLog()
            #expect(server.signInLog.isEmpty)
        }
    }

    @Test func theOldestRecordsAreDropped() throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.maximumRecordCount = 2
        let server = try ChappieTestServer(configuration: configuration)
        defer { server.stop() }
        for _ in 1...2 { _ = try server.postJSON("/oauth/revoke", ["token": "x"]) }
        _ = try server.refresh("x")
        #expect(server.signInLog.map(\.endpoint) == [.revoke, .refresh])
        #expect(server.signInLog.map(\.number) == [2, 1])
    }

    @Test func linesOfTheLogHoldNoSecret() throws {
        let lines = Monitor<[String]>([])
        var configuration = ChappieTestServer.Configuration()
        configuration.logLine = { line in lines.update { $0.append(line) } }
        configuration.signIn.pollInterval = 0
        let server = try ChappieTestServer(configuration: configuration)
        defer { server.stop() }
        let device = try server.postJSON("/api/accounts/deviceauth/usercode", ["client_id": exampleClient])
        _ = try server.postJSON(
            "/api/accounts/deviceauth/token",
            ["device_auth_id": try #require(device["device_auth_id"]), "user_code": try #require(device["user_code"])])
        let code = try #require(try server.authorize().redirectParameter("code"))
        let tokens = try server.exchange(code)
        _ = try server.refresh(try #require(tokens["refresh_token"]))
        _ = try server.refresh(try #require(tokens["refresh_token"]))
        _ = try server.get("/v1/models", fields: ["Authorization: Bearer \(try #require(tokens["access_token"]))"])
        let text = lines.withLock { $0.joined(separator: "\n") }
        #expect(
            text == """
                {"event":"signIn","endpoint":"deviceCode","number":1,"status":200}
                {"event":"signIn","endpoint":"poll","number":1,"status":403,"error":"deviceauth_authorization_pending"}
                {"event":"signIn","endpoint":"authorize","number":1,"status":302}
                {"event":"signIn","endpoint":"exchange","number":1,"status":200}
                {"event":"signIn","endpoint":"refresh","number":1,"status":200}
                {"event":"signIn","endpoint":"refresh","number":2,"status":401,"error":"refresh_token_reused"}
                """)
    }

    @Test func aTestWaitsForARequestWithoutPolling() async throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.signIn.pollInterval = 0
        let server = try ChappieTestServer(configuration: configuration)
        defer { server.stop() }
        async let arrived = server.reached(.signInRequests(.revoke, 2))
        for _ in 1...2 { _ = try server.postJSON("/oauth/revoke", ["token": "x"]) }
        #expect(await arrived)
        #expect(server.signInLog(of: .revoke).count == 2)
    }

    // MARK: Digests

    @Test(arguments: [
        ("", "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"), ("abc", "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "JI1qYdIGOLjlwCaTDD5gOaM85Flk_yFn9uzt1BnbBsE"
        ), (exampleVerifier, exampleChallenge),
    ])
    func digestsAreThoseOfTheStandards(_ message: String, _ digest: String) {
        // FIPS 180-4's examples, and RFC 7636 appendix B.
        #expect(Base64URL.text(SHA256.digest(Array(message.utf8))) == digest)
    }
}
