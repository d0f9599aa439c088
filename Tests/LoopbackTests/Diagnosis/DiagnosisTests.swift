// Examinations of real paths on loopback, each with a fault that was put there.
import ChappieDiagnosis
import ChappieTestServer
import ChappieTransport
import Foundation
import PathDiagnosis
import StreamTransport
import Testing

@Suite(.timeLimit(.minutes(10))) struct DiagnosisTests {
    private static func report(
        _ baseURL: String, key: String? = nil, extent: ChappieDiagnosis.Extent = .whole,
        _ change: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async throws -> ChappieDiagnosis.Report {
        let configuration = ChappieTransportConfiguration.loopback(baseURL) { configuration in
            if let key { configuration.credential = { _ in ChappieCredential(bearerToken: key) } }
            change(&configuration)
        }
        return try await ChappieDiagnosis.run(configuration, extent: extent)
    }

    private static func report(
        of server: ChappieTestServer.Configuration, key: String? = nil,
        _ change: @escaping (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async throws -> ChappieDiagnosis.Report {
        try await withServer(server) { try await Self.report($0.baseURL, key: key, change) }
    }

    private static func outcomes(_ report: ChappieDiagnosis.Report) -> [ChappieDiagnosis.Step: ChappieDiagnosis.Outcome]
    {
        Dictionary(uniqueKeysWithValues: report.steps.map { ($0.step, $0.outcome) })
    }

    // MARK: Healthy paths

    @Test func aServerOnLoopbackWorks() async throws {
        let report = try await Self.report(of: .init())
        #expect(report.sentence == "WebSockets and HTTP work.")
        #expect(report.verdict == .works && report.causes.isEmpty)
        let expected: [ChappieDiagnosis.Step: ChappieDiagnosis.Outcome] = [
            .environment: .ok, .resolve: .skipped, .connect: .ok, .proxy: .skipped, .tls: .skipped, .http: .ok,
            .credential: .skipped, .webSocket: .ok, .compression: .ok, .earlyClose: .ok, .messages: .skipped,
            .pings: .ok, .eventStream: .skipped, .idle: .skipped,
        ]
        #expect(Self.outcomes(report) == expected)
        #expect(report.result(of: .pings)?.words.hasSuffix("10 of 10 answered") == true)
    }

    @Test func noRequestAsksTheModel() async throws {
        try await withServer(.init()) { server in
            _ = try await Self.report(server.baseURL, key: "key")
            // The upgrade is an attempt, on which no message follows, and so is the POST, which has no content.
            #expect(server.log.map(\.transport) == [.webSocket, .http])
            #expect(server.log.flatMap(\.bodies).allSatisfy { $0.isEmpty })
        }
    }

    @Test func aNameOfBothFamiliesWorksWhereOneRefuses() async throws {
        try await withServer(.init()) { server in
            let report = try await Self.report("http://localhost:\(server.port)/v1")
            #expect(report.verdict == .works)
            #expect(report.result(of: .resolve)?.outcome == .ok)
        }
    }

    @Test func tlsIsDescribed() async throws {
        let server = try TLSServer()
        let report = try await Self.report("https://127.0.0.1:\(server.server.port)/v1") {
            $0.tls.trust = .file(path: server.trustPath)
        }
        #expect(report.verdict == .works)
        let tls = try #require(report.result(of: .tls))
        #expect(tls.outcome == .ok && tls.words.hasPrefix("TLSv1."))
        #expect(tls.fullWords.first?.hasPrefix("issuer: ") == true)
    }

    @Test func theCredentialIsSentToAnAPIAlone() async throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.acceptedTokens = ["right"]
        let report = try await Self.report(of: configuration, key: "right")
        #expect(report.verdict == .works)
        #expect(report.result(of: .http)?.words == "status code 401")
        #expect(report.result(of: .credential)?.words == "status code 200: not refused")

        let portal = try AnsweringServer(
            AnsweringServer.response("302 Found", ["Location: http://portal.invalid/hello"]))
        let refused = try await Self.report(portal.baseURL, key: "right")
        #expect(refused.causes.map(\.name) == ["http.captive-portal"])
        #expect(refused.result(of: .credential)?.outcome == .skipped)
        #expect(refused.result(of: .webSocket)?.outcome == .skipped)
    }

    /// An account's source may have to sign in again, which is a cause of its own, or may take its time, which is none.
    @Test func aSourceOfTheCredentialThatFailsIsNamed() async throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.acceptedTokens = ["right"]
        let failed = try await Self.report(of: configuration) {
            $0.credential = { _ in throw ChappieClientError.missingRefreshToken }
        }
        Self.expect("credential.unavailable", .fails, in: failed)
        let late = try await withServer(configuration) { server in
            try await Self.report(server.baseURL, extent: .fast) {
                $0.credential = { _ in
                    try await Task.sleep(for: .seconds(600))
                    return nil
                }
            }
        }
        #expect(late.verdict == .works)
        #expect(late.result(of: .credential)?.words == "the credential was not there in time")
    }

    /// After a page that asks for it, the credential that the source has returned is that of the later steps too.
    @Test func theSourceOfTheCredentialIsAskedOnce() async throws {
        let server = try AnsweringServer { head in
            guard head.lowercased().contains("\r\nauthorization: bearer right\r\n") else {
                return AnsweringServer.response("401 No", ["Content-Type: text/html"], body: "<html>no</html>")
            }
            let status = head.hasPrefix("GET /v1/models ") ? "200 OK" : "400 Bad Request"
            return AnsweringServer.response(status, ["Content-Type: application/json"], body: "{}")
        }
        let asked = LockedValue<[ChappieTransportConfiguration.CredentialRequest]>([])
        let report = try await Self.report(server.baseURL) {
            $0.credential = { request in
                asked.withLock { $0.append(request) }
                return ChappieCredential(bearerToken: "right")
            }
        }
        #expect(report.result(of: .http)?.words == "status code 401 to a request without a credential")
        #expect(report.result(of: .credential)?.words == "status code 200: not refused")
        #expect(asked.withLock { $0 } == [.connecting])
    }

    /// Systems connect the unspecified address to this machine, which an examination takes for another one.
    @Test(arguments: [("404 Not Found", []), ("403 Forbidden", []), ("302 Found", ["Location: /login"])])
    func theKeyIsWithheldFromAnotherMachineWithoutTLS(status: String, fields: [String]) async throws {
        let keys = LockedValue(0)
        let server = try AnsweringServer { head in
            if head.lowercased().contains("\r\nauthorization:") { keys.withLock { $0 += 1 } }
            return AnsweringServer.response(
                status, ["Content-Type: text/html"] + fields, body: "<html>nothing here</html>")
        }
        let baseURL = "http://0.0.0.0:\(server.port)/v1"
        let report = try await Self.report(baseURL, key: "key")
        Self.expect("http.credential-withheld", .degraded, in: report)
        #expect(report.causes.count == 1 && report.advice.isEmpty)
        #expect(report.result(of: .credential)?.outcome == .skipped)
        #expect(report.result(of: .webSocket)?.outcome == .skipped)
        #expect(keys.withLock { $0 } == 0)
        // Without a key there is nothing else to examine, and on this machine the key is sent.
        #expect(try await Self.report(baseURL).verdict == .fails)
        #expect(try await Self.report(server.baseURL, key: "key").verdict == .fails)
        #expect(keys.withLock { $0 } > 0)
    }

    /// As a line of a file has it; what the server asks for is then never sent.
    @Test(arguments: ["\r", "\n", "\r\n"]) func aKeyWithALineBreakIsNamed(end: String) async throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.acceptedTokens = ["right"]
        let report = try await Self.report(of: configuration, key: "right" + end)
        Self.expect("credential.unusable", .fails, in: report)
        #expect(report.causes.first?.evidence == ["the key has a line break at its end"])
        #expect(report.result(of: .webSocket)?.outcome == .skipped)
    }

    // MARK: Planted faults

    private static func expect(
        _ name: String, _ verdict: ChappieDiagnosis.Verdict, in report: ChappieDiagnosis.Report,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(report.causes.first?.name == name, "\(report)", sourceLocation: sourceLocation)
        #expect(report.verdict == verdict, sourceLocation: sourceLocation)
    }

    @Test func aPortWithoutAServerRefuses() async throws {
        let server = try ChappieTestServer()
        let baseURL = server.baseURL
        server.stop()
        Self.expect("connect.refused", .fails, in: try await Self.report(baseURL))
    }

    @Test func aBlackHoleDoesNotAnswer() async throws {
        let hole = try BlackHole(.first)
        let start = ContinuousClock.now
        let report = try await Self.report("http://127.0.0.1:\(hole.port)/v1", extent: .fast)
        Self.expect("connect.no-answer", .fails, in: report)
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    @Test func aNameThatDoesNotExistIsUnknown() async throws {
        let report = try await Self.report("http://server.invalid/v1")
        // Without a network the resolver reports that no name server answers.
        #expect(["resolve.unknown-name", "resolve.no-answer"].contains(report.causes.first?.name))
    }

    @Test(arguments: [
        ("407 Proxy Authentication Required", "", "proxy.login-missing"),
        ("407 Proxy Authentication Required", "user:word@", "proxy.login-refused"),
        ("403 Forbidden", "", "proxy.refused"),
    ])
    func aProxyThatRefusesIsNamed(status: String, login: String, name: String) async throws {
        let proxy = try AnsweringServer(AnsweringServer.response(status))
        let report = try await withServer(.init()) { server in
            try await Self.report(server.baseURL) { $0.proxy = .url("http://\(login)127.0.0.1:\(proxy.port)") }
        }
        Self.expect(name, .fails, in: report)
        // The server itself can be reached.
        #expect(report.causes.first?.evidence.last?.contains("NO_PROXY") == true)
    }

    @Test func aProxyThatIsNoneSpeaksAnotherProtocol() async throws {
        let proxy = try AnsweringServer("SSH-2.0-OpenSSH_9.2\r\n\r\n")
        let report = try await Self.report("http://origin.invalid/v1") {
            $0.proxy = .url("http://127.0.0.1:\(proxy.port)")
        }
        Self.expect("proxy.other-protocol", .fails, in: report)
    }

    /// It takes the greeting of SOCKS, or of TLS, for the beginning of a line, and waits for the end.
    @Test(arguments: ["socks5", "socks5h", "https"]) func aProxyOfAnotherSchemeIsNamed(scheme: String) async throws {
        let proxy = try AnsweringServer(AnsweringServer.response("407 Proxy Authentication Required"))
        let report = try await Self.report("http://127.0.0.1:9/v1", extent: .fast) {
            $0.proxy = .url("\(scheme)://user:word@127.0.0.1:\(proxy.port)")
        }
        Self.expect("proxy.other-protocol", .fails, in: report)
        #expect(
            report.causes.first?.evidence.first == "it speaks HTTP without TLS, for which the scheme is http")
    }

    @Test func aProxyURLThatCannotBeUsedIsAFaultOfTheEnvironment() async throws {
        let report = try await Self.report("http://127.0.0.1/v1") { $0.proxy = .url("ftp://proxy") }
        Self.expect("environment.proxy-url", .fails, in: report)
    }

    @Test(
        arguments: [
            (.expired, "tls.expired"), (.wrongName, "tls.wrong-host"), (.notYetValid, "tls.not-yet-valid"),
            (.selfSigned, "tls.unknown-issuer"),
        ] as [(ChappieTestServer.TLSOptions.Certificate, String)])
    func aCertificateIsJudged(certificate: ChappieTestServer.TLSOptions.Certificate, name: String) async throws {
        let server = try TLSServer(.init(certificate: certificate))
        let report = try await Self.report("https://127.0.0.1:\(server.server.port)/v1") {
            $0.tls.trust = .file(path: server.trustPath)
        }
        Self.expect(name, .fails, in: report)
        #expect(report.result(of: .http)?.outcome == .skipped)
    }

    @Test func anInspectingAuthorityIsRecognizedByItsName() async throws {
        var options = ChappieTestServer.TLSOptions()
        options.issuerName = "Corporate SSL Inspection CA"
        let server = try TLSServer(options)
        let other = try TLSServer()
        let report = try await Self.report("https://127.0.0.1:\(server.server.port)/v1") {
            $0.tls.trust = .file(path: other.trustPath)
        }
        Self.expect("tls.inspected", .fails, in: report)
        #expect(report.advice.variables == ["SSL_CERT_FILE"])
    }

    @Test func aServerWithoutTLSIsNamedWhereTheURLHasTLS() async throws {
        try await withServer(.init()) { server in
            let report = try await Self.report("https://127.0.0.1:\(server.port)/v1")
            Self.expect("tls.plain-http", .fails, in: report)
            #expect(report.causes.count == 1)
            #expect(report.result(of: .http)?.outcome == .skipped)
        }
    }

    @Test(arguments: [
        (
            AnsweringServer.response("404 Not Found", ["Content-Type: text/html"], body: "<html>no</html>"),
            "http.wrong-address"
        ),
        (
            AnsweringServer.response("502 Bad Gateway", ["Content-Type: text/html"], body: "<html>bad</html>"),
            "http.gateway-error"
        ),
        (AnsweringServer.response("200 OK", [], body: "<html><input type=\"password\"></html>"), "http.sign-in-page"),
        (AnsweringServer.response("403 Forbidden", [], body: "<html>Access denied</html>"), "http.block-page"),
        ("220 mail.invalid ESMTP\r\n", "http.not-http"),
    ])
    func anotherServerInThePlaceOfTheAPIIsNamed(answer: String, name: String) async throws {
        let server = try AnsweringServer(answer)
        Self.expect(name, .fails, in: try await Self.report(server.baseURL))
    }

    /// The certificate need not be trusted: that the server has one is evidence enough.
    @Test(arguments: [true, false]) func aServerWithTLSIsNamedWhereTheURLHasNone(isTrusted: Bool) async throws {
        let server = try TLSServer()
        let report = try await Self.report("http://127.0.0.1:\(server.server.port)/v1", key: "key") {
            if isTrusted { $0.tls.trust = .file(path: server.trustPath) }
        }
        Self.expect("http.needs-tls", .fails, in: report)
        #expect(report.causes.count == 1 && report.advice.isEmpty)
        #expect(report.result(of: .credential)?.outcome == .skipped)
        #expect(server.server.log.isEmpty)
    }

    /// A base URL with another path, at an API and at a probe server, which answer with JSON.
    @Test func aPathThatIsNotTheAPIsIsNamed() async throws {
        try await withServer(.init()) { server in
            for key in [nil, "key"] {
                let report = try await Self.report("http://127.0.0.1:\(server.port)/v2", key: key)
                Self.expect("http.wrong-address", .fails, in: report)
                #expect(report.causes.count == 1 && report.advice.isEmpty)
                #expect(report.result(of: .http)?.words == "status code 404, and for the responses too")
            }
            #expect(server.log.isEmpty)
        }
        let probe = try ProbeServer()
        defer { probe.stop() }
        let report = try await ChappieDiagnosis.run(
            .loopback("http://127.0.0.1:\(probe.port)"), extent: .whole, holds: [.seconds(1)])
        Self.expect("http.wrong-address", .fails, in: report)
        #expect(report.causes.count == 1)
        #expect(report.result(of: .http)?.words == "status code 404, of a probe server")
        #expect(report.result(of: .idle)?.outcome == .skipped)
    }

    /// The only request that such an API answers in another way is a POST; one without content asks no model.
    @Test(arguments: [400, 401, 405, 415]) func anAPIWithResponsesAloneIsAtItsPath(status: Int) async throws {
        let server = try AnsweringServer { head in
            guard head.hasPrefix("POST ") else {
                return AnsweringServer.response("404 Not Found", ["Content-Type: application/json"], body: "{}")
            }
            let isEmpty = head.lowercased().contains("\r\ncontent-length: 0\r\n")
            return AnsweringServer.response(isEmpty ? "\(status) No" : "404 Not Found")
        }
        let report = try await Self.report(server.baseURL)
        Self.expect("web-socket.not-offered", .degraded, in: report)
        #expect(report.result(of: .http)?.words == "status code 404")
    }

    /// The API asks for the key first, and has nothing at the path.
    @Test func aPathThatIsMissingBehindTheKeyIsNamed() async throws {
        let server = try AnsweringServer { head in
            let hasKey = head.lowercased().contains("\r\nauthorization: bearer ")
            return AnsweringServer.response(
                hasKey ? "404 Not Found" : "401 Unauthorized", ["Content-Type: application/json"], body: "{}")
        }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect("http.wrong-address", .fails, in: report)
        #expect(report.result(of: .http)?.words == "status code 401, and 404 for the responses")
    }

    /// A server of Chat Completions alone, another service, and one whose list of models is public.
    @Test(
        arguments: [
            ("404 Not Found", "http.no-responses"), ("405 Method Not Allowed", "http.no-responses"),
            ("200 OK", "http.wrong-address"), ("401 Unauthorized", "credential.refused"),
        ])
    func modelListWithoutResponsesIsNamed(status: String, name: String) async throws {
        let server = try AnsweringServer { head in
            let status = head.hasPrefix("GET /v1/models ") ? "200 OK" : status
            return AnsweringServer.response(status, ["Content-Type: application/json"], body: "{}")
        }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect(name, .fails, in: report)
        #expect(report.causes.count == 1 && report.advice.isEmpty)
    }

    /// Starts a server whose status line depends on whether a request has the key, and on whether it is the GET of the
    /// models; with nil it cuts the connection.
    private static func server(
        _ status: @escaping @Sendable (_ hasKey: Bool, _ isList: Bool) -> String?
    ) throws -> AnsweringServer {
        try AnsweringServer { head in
            let hasKey = head.lowercased().contains("\r\nauthorization: bearer ")
            return status(hasKey, head.hasPrefix("GET /v1/models ")).map {
                AnsweringServer.response($0, ["Content-Type: application/json"], body: "{}")
            } ?? ""
        }
    }

    @Test(arguments: ["403 Forbidden", "401 Unauthorized"])
    func aKeyThatMayNotListModelsIsAccepted(status: String) async throws {
        let server = try Self.server { hasKey, isList in
            hasKey ? isList ? status : "400 Bad Request" : "401 Unauthorized"
        }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect("web-socket.not-offered", .degraded, in: report)
        #expect(
            report.result(of: .credential)?.words == "status code \(status.prefix(3)) for the list of models alone")
    }

    /// An API that judges the request before the key tells nothing about the key there.
    @Test func responsesThatIgnoreTheKeyDoNotAcceptIt() async throws {
        let server = try Self.server { hasKey, isList in isList ? "401 Unauthorized" : "400 Bad Request" }
        Self.expect("credential.refused", .fails, in: try await Self.report(server.baseURL, key: "key"))
    }

    @Test(arguments: ["502 Bad Gateway", nil] as [String?])
    func aListOfModelsThatIsBrokenIsNoFaultOfTheResponses(status: String?) async throws {
        let server = try Self.server { hasKey, isList in
            isList ? status : hasKey ? "400 Bad Request" : "401 Unauthorized"
        }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect("web-socket.not-offered", .degraded, in: report)
        #expect(report.causes.count == 1)
        #expect(report.result(of: .http)?.words.contains("for the list of models alone") == true)
        #expect(report.result(of: .credential)?.words == "status code 400: not refused")
        let refusing = try Self.server { _, isList in isList ? status : "401 Unauthorized" }
        Self.expect("credential.refused", .fails, in: try await Self.report(refusing.baseURL, key: "key"))
    }

    /// The server asks for the key first, or says at once that it has no responses.
    @Test(arguments: ["502 Bad Gateway", nil] as [String?], ["401 Unauthorized", "404 Not Found"])
    func brokenListBesideMissingResponsesIsNamed(status: String?, withoutKey: String) async throws {
        let server = try Self.server { hasKey, isList in isList ? status : hasKey ? "404 Not Found" : withoutKey }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect("http.no-responses", .fails, in: report)
        let words = status.map { "status code \($0.prefix(3))" } ?? "cut"
        #expect(
            report.causes.first?.evidence == ["\(words) for the list of models, and status code 404 for the responses"])
        #expect(report.causes.count == 1 && report.result(of: .webSocket)?.words == "an earlier step failed")
        guard withoutKey.hasPrefix("404") else { return }
        Self.expect("http.no-responses", .fails, in: try await Self.report(server.baseURL))
    }

    /// Paths that exist for those with a key alone.
    @Test func responsesThatAreHiddenWithoutTheKeyAreFound() async throws {
        let server = try Self.server { hasKey, isList in isList ? nil : hasKey ? "400 Bad Request" : "404 Not Found" }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect("web-socket.not-offered", .degraded, in: report)
        #expect(report.causes.count == 1)
        #expect(report.result(of: .credential)?.words == "status code 400: not refused")
    }

    @Test func anErrorWithoutTheKeyIsNoFaultWithIt() async throws {
        let server = try Self.server { hasKey, isList in
            hasKey ? isList ? "200 OK" : "400 Bad Request" : "500 Internal Server Error"
        }
        let report = try await Self.report(server.baseURL, key: "key")
        #expect(report.result(of: .http)?.words == "status code 500 to a request without a credential")
        #expect(!report.causes.contains { $0.name == "http.server-error" })
        Self.expect("http.server-error", .fails, in: try await Self.report(server.baseURL))
    }

    @Test func webPageFromLoopbackIsAWrongAddress() async throws {
        let server = try AnsweringServer(
            AnsweringServer.response("200 OK", ["Content-Type: text/html"], body: "<html>Hello</html>"))
        Self.expect("http.wrong-address", .fails, in: try await Self.report(server.baseURL))
    }

    /// Its list of models is missing in another way than that of an API.
    @Test(arguments: ["404 Not Found", "501 Not Implemented"])
    func anAPIWithoutAListOfModelsIsAtItsPath(status: String) async throws {
        let server = try AnsweringServer { head in
            head.hasPrefix("POST ")
                ? AnsweringServer.response("401 Unauthorized", ["Content-Type: application/json"], body: "{}")
                : AnsweringServer.response(status, ["Content-Type: text/plain"], body: "none")
        }
        let report = try await Self.report(server.baseURL)
        #expect(report.causes.allSatisfy { $0.name.hasPrefix("web-socket.") })
        #expect(report.result(of: .http)?.words == "status code \(status.prefix(3)) for the list of models alone")
    }

    /// Its only fault is the type of its answers.
    @Test func jsonWithTheTypeOfAPageIsNoPage() async throws {
        let server = try AnsweringServer { head in
            let status = head.hasPrefix("GET /v1/models ") ? "200 OK" : "400 Bad Request"
            return AnsweringServer.response(status, ["Content-Type: text/html"], body: #"{"object":"list"}"#)
        }
        let report = try await Self.report(server.baseURL)
        #expect(report.result(of: .http)?.outcome == .ok)
        #expect(report.causes.allSatisfy { $0.name.hasPrefix("web-socket.") })
    }

    /// An API may answer a POST without content as one for a model that does not exist.
    @Test func modelNotFoundMeansThatThePathExists() async throws {
        let server = try AnsweringServer { head in
            let error = head.hasPrefix("POST ") ? #"{"error":{"code":"model_not_found"}}"# : "{}"
            return AnsweringServer.response("404 Not Found", ["Content-Type: application/json"], body: error)
        }
        let report = try await Self.report(server.baseURL)
        #expect(report.causes.map(\.name) == ["web-socket.not-offered"])
    }

    @Test func aClockThatIsWrongIsNoticed() async throws {
        let server = try AnsweringServer(
            AnsweringServer.response(
                "404 Not Found", ["Content-Type: application/json", "Date: Sun, 06 Nov 1994 08:49:37 GMT"], body: "{}"))
        let report = try await Self.report(server.baseURL)
        #expect(report.causes.contains { $0.name == "environment.clock" })
    }

    @Test func theAgeOfACachedAnswerIsNoWrongClock() async throws {
        let date = Int(Date().timeIntervalSince1970) - 784_111_777
        let server = try AnsweringServer(
            AnsweringServer.response(
                "404 Not Found",
                [
                    "Content-Type: application/json", "Date: Sun, 06 Nov 1994 08:49:37 GMT", "Age: \(date)",
                ], body: "{}"))
        let report = try await Self.report(server.baseURL)
        #expect(report.causes.allSatisfy { $0.name != "environment.clock" })
    }

    @Test func aCredentialThatIsRefusedIsNamed() async throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.acceptedTokens = ["right"]
        Self.expect("credential.refused", .fails, in: try await Self.report(of: configuration, key: "wrong"))
    }

    @Test(
        arguments: [
            (.answer(status: 426), "web-socket.not-offered"), (.answer(status: 403), "web-socket.refused"),
            (.wrongAcceptKey, "web-socket.altered"), (.cut(afterByte: 0), "web-socket.cut"),
            (.stall(afterByte: 0), "web-socket.no-answer"), (.closeWebSocket(code: 1011), "early-close.closed"),
        ] as [(ChappieTestServer.Fault.Action, String)])
    func aWebSocketThatFailsLeavesHTTP(action: ChappieTestServer.Fault.Action, name: String) async throws {
        let faults = [ChappieTestServer.Fault(action, transport: .webSocket)]
        let report = try await Self.report(of: .init(model: .text("x"), faults: faults))
        Self.expect(name, .degraded, in: report)
        #expect(report.sentence.hasPrefix("HTTP works, but WebSockets do not: "))
        #expect(ChappieStreamingTransportPolicy(suggestedBy: report) == .httpSSEOnly)
    }

    /// A page may be the server's own answer to every GET at the path, or that of something that refuses the upgrade.
    @Test(
        arguments: [
            ("404 Not Found", true, "web-socket.not-offered"), ("403 Forbidden", true, "web-socket.not-offered"),
            ("404 Not Found", false, "web-socket.refused"), ("403 Forbidden", false, "web-socket.refused"),
        ])
    func aPageInPlaceOfAWebSocketIsComparedWithThatOfAGET(
        status: String, isSame: Bool, name: String
    ) async throws {
        let server = try AnsweringServer { head in
            let isUpgrade = head.lowercased().contains("\r\nupgrade: websocket\r\n")
            if head.hasPrefix("GET /v1/responses "), isUpgrade || isSame {
                return AnsweringServer.response(status, ["Content-Type: text/html"], body: "<html>no</html>")
            }
            return AnsweringServer.response("200 OK", ["Content-Type: application/json"], body: "{}")
        }
        let report = try await Self.report(server.baseURL)
        Self.expect(name, .degraded, in: report)
        #expect(
            report.causes.first?.evidence.last == "the answer without the upgrade is \(isSame ? "the same" : "another")"
        )
    }

    /// Such a server refuses every upgrade before it looks for the path.
    @Test func everyUpgradeRefusedWith403LeavesHTTP() async throws {
        let server = try AnsweringServer { head in
            if head.lowercased().contains("\r\nupgrade: websocket\r\n") {
                return AnsweringServer.response("403 Forbidden")
            }
            let status =
                switch head.prefix(while: { $0 != " " }) {
                case "POST": "400 Bad Request"
                case _ where head.hasPrefix("GET /v1/models "): "200 OK"
                default: "405 Method Not Allowed"
                }
            return AnsweringServer.response(status, ["Content-Type: application/json"], body: "{}")
        }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect("web-socket.refused", .degraded, in: report)
        #expect(
            report.sentence
                == "HTTP works, but WebSockets do not: the upgrade alone is refused, with status code 403."
        )
    }

    /// The words of a page, and the name of a proxy in the refusal alone.
    @Test(arguments: [([], "Access denied"), (["Via: 1.1 proxy"], "no")])
    func refusalWithViaOrBlockPageIsBlamedOnThePath(fields: [String], words: String) async throws {
        let server = try AnsweringServer { head in
            guard head.lowercased().contains("\r\nupgrade: websocket\r\n") else {
                return AnsweringServer.response("405 No", ["Content-Type: application/json"], body: "{}")
            }
            return AnsweringServer.response(
                "403 Forbidden", ["Content-Type: text/html"] + fields, body: "<html>\(words)</html>")
        }
        Self.expect("web-socket.blocked", .degraded, in: try await Self.report(server.baseURL))
    }

    /// The list of models and the WebSocket work.
    @Test(
        arguments: [
            (.answer(status: 502), "http.gateway-error"), (.answer(status: 405), "http.not-offered"),
            (.cut(afterByte: 0), "http.cut"), (.stall(afterByte: 0), "http.no-answer"),
        ] as [(ChappieTestServer.Fault.Action, String)])
    func failedPostWithWorkingWebSocketIsDegraded(action: ChappieTestServer.Fault.Action, name: String) async throws {
        let faults = [ChappieTestServer.Fault(action, transport: .http)]
        let report = try await Self.report(of: .init(model: .text("x"), faults: faults))
        Self.expect(name, .degraded, in: report)
        #expect(report.causes.count == 1 && report.sentence.hasPrefix("WebSockets work, but HTTP does not: "))
    }

    /// A gateway that gives the responses alone.
    @Test(arguments: [
        "HTTP/1.1 403 Forbidden", "HTTP/1.1 302 Found\r\nLocation: https://id.invalid/login", "HTTP/1.1 200 OK",
        "HTTP/1.1 429 Too Many Requests", "garbage",
    ])
    func answeredResponsesExcuseAnyAnswerToTheModelList(head: String) async throws {
        let body = "<html>No</html>"
        let server = try AnsweringServer { request in
            if request.hasPrefix("GET /v1/models ") {
                return "\(head)\r\nContent-Type: text/html\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            }
            let status = request.hasPrefix("POST ") ? "400 Bad Request" : "404 Not Found"
            return AnsweringServer.response(status, ["Content-Type: application/json"], body: "{}")
        }
        let report = try await Self.report(server.baseURL, key: "key")
        Self.expect("web-socket.not-offered", .degraded, in: report)
        #expect(report.causes.count == 1 && report.result(of: .credential)?.words == "status code 400: not refused")
    }

    /// The list of models alone works.
    @Test(
        arguments: [
            ("502 Bad Gateway", [], "<html>bad</html>", "http.gateway-error"),
            ("403 Forbidden", [], "<html>no</html>", "http.block-page"),
            ("307 Temporary Redirect", ["Location: /v1/responses/"], "", "http.redirected"),
            ("200 OK", [], "<html>Hello</html>", "http.wrong-address"), ("", [], "", "http.cut"),
        ])
    func failedPostWithoutWebSocketFails(status: String, fields: [String], body: String, name: String) async throws {
        let server = try AnsweringServer { head in
            if head.hasPrefix("POST ") {
                return status.isEmpty ? "" : AnsweringServer.response(status, fields, body: body)
            }
            let status = head.hasPrefix("GET /v1/models ") ? "200 OK" : "404 Not Found"
            return AnsweringServer.response(status, ["Content-Type: application/json"], body: "{}")
        }
        Self.expect(name, .fails, in: try await Self.report(server.baseURL))
    }

    @Test func aWebSocketThatFailsWithCompressionAloneIsTriedWithoutIt() async throws {
        // The first and third handshakes are cut, as by a device that cannot inflate; the second offers no compression.
        let faults = [1, 3].map {
            ChappieTestServer.Fault(.cut(afterByte: 0), attempts: $0...$0, transport: .webSocket)
        }
        let report = try await Self.report(of: .init(model: .text("x"), faults: faults))
        Self.expect("compression.broken", .degraded, in: report)
        #expect(report.advice.disablesCompression && !report.advice.usesHTTPOnly)
        #expect(report.result(of: .pings)?.outcome == .ok)
    }

    @Test func aSingleCutIsNoRule() async throws {
        let faults = [ChappieTestServer.Fault(.cut(afterByte: 0), attempts: 1...1, transport: .webSocket)]
        let report = try await Self.report(of: .init(model: .text("x"), faults: faults))
        #expect(report.verdict == .works)
    }

    @Test func aServerThatDemandsACredentialIsNoAlarm() async throws {
        var configuration = ChappieTestServer.Configuration()
        configuration.acceptedTokens = ["right"]
        let report = try await Self.report(of: configuration)
        #expect(report.verdict == .works)
        #expect(report.sentence.contains("demands a credential"))
    }

    /// The list of models works; the broken one is that of a gateway, so that the responses are asked with the key.
    @Test(
        arguments: [
            ("200 OK", true, "http.responses-limited", "status code 429 for the responses"),
            ("502 Bad Gateway", true, "http.responses-limited", "status code 429 for the responses"),
            ("200 OK", false, "web-socket.limited", "status code 429"),
        ])
    func requestLimitIsToldForEitherTransport(
        list: String, isHTTPOnly: Bool, name: String, words: String
    ) async throws {
        let server = try AnsweringServer { head in
            let fields = ["Content-Type: application/json", "Retry-After: 20"]
            let hasKey = head.lowercased().contains("\r\nauthorization: bearer ")
            let status = hasKey ? "429 Too Many Requests" : "401 Unauthorized"
            return AnsweringServer.response(head.hasPrefix("GET /v1/models ") ? list : status, fields, body: "{}")
        }
        let report = try await Self.report(server.baseURL, key: "key") {
            if isHTTPOnly { $0.policy = .httpSSEOnly }
        }
        Self.expect(name, .degraded, in: report)
        #expect(report.causes.map(\.evidence) == [["\(words), Retry-After 20 s"]])
    }

    // MARK: The end

    @Test func aCancelledExaminationEndsAtOnce() async throws {
        let hole = try BlackHole(.first)
        let task = Task {
            try await ChappieDiagnosis.run(.loopback("http://127.0.0.1:\(hole.port)/v1"), extent: .whole)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func aConfigurationThatCannotBeSentIsRefused() async throws {
        await #expect(throws: ChappieArgumentError.self) {
            try await ChappieDiagnosis.run(.loopback("ftp://127.0.0.1/v1"))
        }
    }
}
