import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Secrets and content leave the engine only where they belong.
@Suite(.timeLimit(.minutes(10))) struct CanaryTests {
    private static let token = "canary-token-7f3a"
    private static let account = "canary-account-91bc"
    private static let prompt = "canary-prompt-c0de"
    private static let answer = "canary-answer-beef"
    private static let plainField = "canary-plain-field-5e1c"
    private static let field = "canary-field-5eed"
    private static let proxyUser = "canary-user-a11c"
    private static let proxyPassword = "canary-password-0dd5"
    private static let proxyCredential = Data("\(Self.proxyUser):\(Self.proxyPassword)".utf8).base64EncodedString()
    private static let login = Data("\(Self.proxyUser):\(Self.field)".utf8).base64EncodedString()
    /// The token as a writer of JSON may put it, and as much of it as is left where a body is cut.
    private static let escapedToken = #"canary-token\u002D7f3a"#
    private static let cutToken = "canary-tok"
    private static let canaries = Canaries(
        secrets: [
            Self.token, Self.escapedToken, Self.cutToken, Self.account, Self.field, Self.plainField, Self.proxyUser,
            Self.proxyPassword, Self.proxyCredential,
        ], content: [Self.prompt, Self.answer])

    private static let model: ChappieTestServer.ScriptedModel = {
        var model = ChappieTestServer.ScriptedModel()
        model.text = Self.answer + String(repeating: " and so on", count: 100)
        return model
    }()

    private func expectNoCanary(
        in value: Any, isDeep: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        Self.canaries.expectNone(in: value, isDeep: isDeep, sourceLocation: sourceLocation)
    }

    private static let faults: [ChappieTestServer.Fault.Action] = [
        .cutAfterEvent(event: 20), .cutAfterEvent(event: 20, with: .reset), .closeWebSocket(code: 4000, afterEvent: 20),
        // Some servers repeat what they were sent.
        .answer(status: 400, body: #"{"error":{"message":"Wrong key \#(Self.token) and \#(Self.field)"}}"#),
        .answer(status: 400, body: #"{"error":{"message":"Wrong key \#(Self.escapedToken)"}}"#),
        .answer(status: 400, body: String(repeating: ".", count: 64 << 10 - Self.cutToken.count) + Self.token),
        .answer(status: 400, body: #"{"detail":"\#(Self.token) may not ask \#(Self.prompt)"}"#),
        .answer(status: 400, body: "\(Self.token) may not ask \(Self.prompt)"),
        .answer(status: 400, body: "<html><title>\(Self.token) may not ask \(Self.prompt)</title>"),
        .answer(status: 200, body: #"{"detail":"\#(Self.token) may not ask \#(Self.prompt)"}"#),
        .answer(
            status: 200, fields: [.init(name: "content-type", value: "text/event-stream")],
            body: #"{"detail":"\#(Self.token) may not ask \#(Self.prompt)"}"#),
        .answer(status: 401, body: #"{"error":"\#(Self.token) may not ask \#(Self.prompt)"}"#),
        .answer(
            status: 401,
            body: #"{"error":{"code":"invalid_api_key","message":"\#(Self.token) may not ask \#(Self.prompt)"}}"#),
        .answer(status: 400, body: "<html><title>canary&#45;token&#x2d;7f3a may not ask \(Self.prompt)</title>"),
        .answer(status: 401, body: "<html><title>can&#97;ry-token-7f3a may not ask \(Self.prompt)</title>"),
        .closeWebSocket(code: 4000, reason: Self.token, afterEvent: 20),
        .changeMember(event: 1, member: "response.id", value: #""\#(Self.token)""#),
        .insert(payload: #"{"type":"\#(Self.token)"}"#, beforeEvent: 20),
        .fail(code: Self.token, message: Self.token, afterEvent: 20), .incomplete(reason: Self.token, afterEvent: 20),
        .answer(status: 401), .answer(status: 404), .answer(status: 429), .answer(status: 500), .answerWithoutHTTP(),
        .insert(payload: "this is not JSON", beforeEvent: 20),
        .insert(payload: "{\"delta\":\"canary-answer-beef", beforeEvent: 20),
        .fail(code: "server_error", afterEvent: 20), .incomplete(reason: "max_output_tokens", afterEvent: 20),
        // With invisible characters, which a person would not see.
        .answer(status: 400, body: #"{"detail":"can\u200bary-token-7f3a canary-\u0000token-7f3a"}"#),
        .endWithoutTerminal(), .binaryEvent(event: 20), .wrongAcceptKey, .largeHeaderSection(byteCount: 256 << 10),
    ]

    @Test(arguments: Wire.allCases, Self.faults)
    func errorsAndReportsContainNoSecrets(over wire: Wire, fault: ChappieTestServer.Fault.Action) async throws {
        var configuration = ChappieTestServer.Configuration(
            model: .scripted(Self.model), faults: [.init(action: fault)])
        // Some repeat it in the names that they give to a request.
        configuration.additionalFields = [
            .init(name: "x-request-id", value: "req-" + Self.token),
            .init(name: "x-codex-plan-type", value: Self.token),
        ]
        try await withServer(configuration) { server in
            let watched = WatchedTurns()
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { client in
                    client.policy = wire.alone
                    client.credential = { _ in Self.credential }
                    watched.listen(to: &client)
                    client.additionalFields = [
                        (name: "X-Canary", value: Self.plainField), (name: "X-Canary-Key", value: Self.field),
                    ]
                })
            let request = ChappieTransportRequest(prompt: Self.prompt, model: "m")
            Self.canaries.expectNone(in: await transport.outcome(of: request))
            Self.canaries.expectNone(in: watched)
            self.expectNoCanary(in: transport.streamHandle(request), isDeep: false)
            self.expectNoCanary(in: transport, isDeep: false)
            // The server got what the others must not say.
            #expect(server.log.first?.value(of: "x-canary") == Self.plainField)
            #expect(server.log.first?.value(of: "x-canary-key") == Self.field)
        }
    }

    /// Every event is printed by programs, and whatever is not output is the server's.
    @Test(arguments: Wire.allCases)
    func rawEventsAndResponseNamesContainNoSecrets(over wire: Wire) async throws {
        let name = ChappieTestServer.Fault(
            action: .changeMember(
                event: 1, through: 10_000, member: "response.id", value: #""resp-\#(Self.escapedToken)""#))
        let other = ChappieTestServer.Fault(
            .insert(payload: #"{"type":"x.\#(Self.token)","a":["\#(Self.escapedToken)"]}"#, beforeEvent: 20))
        try await withServer(.init(model: .scripted(Self.model), faults: [name, other])) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { client in
                    client.policy = wire.alone
                    client.rawEvents = .all
                    client.credential = { _ in Self.credential }
                })
            let outcome = await transport.outcome(of: ChappieTransportRequest(prompt: Self.prompt, model: "m"))
            #expect(outcome.completions == 1)
            #expect(outcome.raw.contains { $0.payload.contains("resp-[redacted]") })
            #expect(outcome.raw.contains { $0.type == "x.[redacted]" && $0.payload.contains(#"["[redacted]"]"#) })
            for (type, payload) in outcome.raw {
                #expect(!(type + payload).contains(Self.cutToken), "\(type)")
            }
        }
    }

    /// Servers repeat the parts of what they were sent: a cookie's value, a password, a parameter.
    @Test(
        arguments: Wire.allCases,
        [
            "Cookie: theme=dark; session=\(Self.field)", "Authorization: Basic \(Self.login)",
            #"Authorization: Token token="\#(Self.field)", nonce="1""#,
            #"Proxy-Authorization: Digest username="u", response="\#(Self.field)""#,
        ])
    func noErrorAndNoReportNamesAPartOfACredential(over wire: Wire, line: String) async throws {
        let encoded = [Self.token, Self.field].map { $0.replacingOccurrences(of: "-", with: "%2D") }
        let canaries = Canaries(secrets: [Self.token, Self.field, Self.login] + encoded, content: [])
        let words = ([Self.field, Self.login] + encoded).joined(separator: ", ")
        let fault = ChappieTestServer.Fault.Action.answer(
            status: 400, body: #"{"error":{"message":"Wrong: \#(words)"}}"#)
        try await withServer(.init(model: .scripted(Self.model), faults: [.init(action: fault)])) { server in
            let watched = WatchedTurns()
            let outcome = await ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { client in
                    client.policy = wire.alone
                    client.credentialFieldName = "X-Api-Key"
                    client.credential = { _ in Self.credential }
                    let parts = line.components(separatedBy: ": ")
                    client.additionalFields = [
                        (name: parts[0], value: parts[1]), (name: "X-Canary-Key", value: Self.login),
                    ]
                    watched.listen(to: &client)
                }
            ).outcome()
            #expect(outcome.serverMessage?.contains("Wrong: [redacted], [redacted], [redacted], [redacted]") == true)
            canaries.expectNone(in: outcome)
            canaries.expectNone(in: watched)
        }
    }

    /// A trace is written in hexadecimal, and so may be a key.
    @Test(arguments: Wire.allCases)
    func noReportHasAKeyInItsTrace(over wire: Wire) async throws {
        let key = "0123456789abcdef0123456789abcdef"
        var configuration = ChappieTestServer.Configuration(model: .scripted(Self.model))
        configuration.additionalFields = [.init(name: "traceresponse", value: "00-\(key)-0123456789abcdef-01")]
        try await withServer(configuration) { server in
            let outcome = await ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { client in
                    client.policy = wire.alone
                    client.credential = { _ in ChappieCredential(bearerToken: key) }
                }
            ).outcome()
            #expect(outcome.completions == 1)
            #expect(outcome.report.attempts.map(\.traceResponse) == [nil])
            Canaries(secrets: [key], content: []).expectNone(in: outcome)
        }
    }

    private static let credential = ChappieCredential(bearerToken: Self.token, accountID: Self.account)

    // MARK: Proxies

    /// The behaviour of a proxy that was sent the credential.
    enum ProxyAnswer: CaseIterable, Sendable {
        case refusesTheCredential, refusesTheTunnel, isNotHTTP, closes, opensAndCloses

        fileprivate var text: String {
            switch self {
            case .refusesTheCredential: "HTTP/1.1 407 Wrong: \(CanaryTests.proxyPassword)\r\n\r\n"
            case .refusesTheTunnel: "HTTP/1.1 403 Not you: \(CanaryTests.proxyCredential)\r\n\r\n"
            case .isNotHTTP: "<html>\(CanaryTests.proxyUser)</html>"
            case .closes: ""
            case .opensAndCloses: "HTTP/1.1 200 \(CanaryTests.proxyUser)\r\nX: \(CanaryTests.proxyPassword)\r\n\r\n"
            }
        }
    }

    @Test(arguments: Wire.allCases, ProxyAnswer.allCases)
    func noErrorAndNoReportNamesTheProxysCredential(over wire: Wire, answer: ProxyAnswer) async throws {
        let proxy = try RawServer()
        let answering = Task {
            var asked: [String] = []
            while !Task.isCancelled, let peer = try? await proxy.accept(within: nil) {
                asked.append(await peer.read(until: "\r\n\r\n"))
                peer.write(answer.text)
                peer.close()
            }
            return asked
        }
        let url = "http://\(Self.proxyUser):\(Self.proxyPassword)@127.0.0.1:\(proxy.port)"
        await self.expectNoCanaryInATurn(over: wire, proxy: url)
        answering.cancel()
        let last = RawServer.connectAndClose(to: proxy.port)
        #expect(last)
        #expect(await answering.value.first?.contains("Proxy-Authorization: Basic \(Self.proxyCredential)") == true)
    }

    @Test(
        arguments: Wire.allCases,
        [
            "socks4://USER:PASSWORD@h:1", "quic://USER:PASSWORD@h:1", "PASSWORD://h:1", "http://USER:PASSWORD@",
            "socks5://USER:PASSWORD@h:0", "socks5://USER:PASSWORD@127.0.0.1:1", "https://USER:PASSWORD@127.0.0.1:1",
            "socks5h://USER:PASSWORD@nonexistent.invalid", "https://USER:PASSWORD@nonexistent.invalid",
            "socks5://USER:PASSWORD\(String(repeating: "x", count: 255))@h:1",
            "http://USER:PASSWORD@h:0", "http://USER:PASSWORD@h:PASSWORD", "http://PASSWORD@[PASSWORD]",
            "http://USER:%0APASSWORD@h", "http://USER:%-PASSWORD@h", "http://USER%3a:PASSWORD@h", "USER:PASSWORD",
            "http://USER:PASSWORD@h:1/PASSWORD", "http://USER:PASSWORD@127.0.0.1:1",
            "http://USER:PASSWORD@nonexistent.invalid",
        ])
    func noErrorAndNoReportNamesAProxyThatCannotBeUsed(over wire: Wire, url: String) async {
        let url = url.replacingOccurrences(of: "USER", with: Self.proxyUser)
            .replacingOccurrences(of: "PASSWORD", with: Self.proxyPassword)
        await self.expectNoCanaryInATurn(over: wire, proxy: url)
    }

    /// A proxy can put the login into what seems to be the server's answer.
    private static let serverThatKnowsTheLogin: [UInt8] = {
        let body = #"{"error":{"message":"\(Self.proxyPassword)","code":"\(Self.proxyPassword)"}}"#
        return Array("HTTP/1.1 400 \(Self.proxyPassword)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
    }()

    /// Each line is sent when bytes were received: the choice of a method, the verdict about the login, the reply.
    @Test(
        arguments: Wire.allCases,
        [
            [[5, 2], [1, 1] + Array(Self.proxyPassword.utf8)], [[5, 2], Array(Self.proxyPassword.utf8)],
            [[5, 2], [1, 0], [5, 2, 0, 3, 5] + Array(Self.proxyPassword.utf8)], [Array(Self.proxyPassword.utf8)],
            [[5, 2], [1, 0], [5, 0, 0, 3, 5] + Array(Self.proxyPassword.utf8)], [[5, 2], []],
            [[5, 2], [1, 0], [5, 0, 0, 1, 0, 0, 0, 0, 0, 0], Self.serverThatKnowsTheLogin],
        ] as [[[UInt8]]])
    func noErrorAndNoReportNamesTheLoginOfASOCKSProxy(over wire: Wire, answers: [[UInt8]]) async throws {
        let proxy = try RawServer()
        let answering = Task {
            var asked: [UInt8] = []
            while !Task.isCancelled, let peer = try? await proxy.accept(within: nil) {
                for answer in answers {
                    guard case .bytes(let bytes) = await peer.receive() else { break }
                    asked += bytes
                    peer.write(answer)
                }
                peer.close()
            }
            return asked
        }
        let url = "socks5://\(Self.proxyUser):\(Self.proxyPassword)@127.0.0.1:\(proxy.port)"
        await self.expectNoCanaryInATurn(over: wire, proxy: url)
        answering.cancel()
        let last = RawServer.connectAndClose(to: proxy.port)
        #expect(last)
        let asked = await answering.value
        #expect(asked.starts(with: [5, 2, 0, 2]))
        #expect(answers.count == 1 || String(decoding: asked, as: UTF8.self).contains(Self.proxyPassword))
    }

    private func expectNoCanaryInATurn(over wire: Wire, proxy: String) async {
        let watched = WatchedTurns()
        let configuration = ChappieTransportConfiguration.loopback("http://127.0.0.1:1/v1") {
            watched.listen(to: &$0)
            $0.policy = wire.policy
            $0.proxy = .url(proxy)
        }
        self.expectNoCanary(in: configuration)
        self.expectNoCanary(in: configuration.proxy)
        let transport = ChappieStreamingTransport(configuration: configuration)
        let outcome = await transport.outcome()
        #expect(outcome.clientError != nil)
        Self.canaries.expectNone(in: outcome)
        Self.canaries.expectNone(in: watched)
        self.expectNoCanary(in: transport, isDeep: false)
    }

    @Test func aCredentialIsNotPrinted() throws {
        self.expectNoCanary(in: Self.credential)
        self.expectNoCanary(in: [Self.credential])
        self.expectNoCanary(in: Optional(Self.credential) as Any)
        let url = try #require(URL(string: "http://127.0.0.1:1"))
        self.expectNoCanary(in: ChappieTransportConfiguration(baseURL: url) { _ in Self.credential })
    }

    @Test(arguments: Wire.allCases)
    func aCredentialThatCannotBeSentIsNotPrinted(over wire: Wire) async throws {
        let outcome = await ChappieStreamingTransport(
            configuration: .loopback("http://127.0.0.1:1") { client in
                client.policy = wire.alone
                client.credential = { _ in ChappieCredential(bearerToken: Self.token + "\r\nX: y") }
            }
        ).outcome()
        #expect(outcome.transportFailure?.code == .invalidRequest)
        self.expectNoCanary(in: try #require(outcome.error))
    }

    /// The content of a client certificate's files is not printed, whatever is wrong with them.
    @Test(arguments: Wire.allCases, ["", "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"])
    func aPrivateKeyIsNotPrinted(over wire: Wire, beginning: String) async throws {
        let server = try TLSServer()
        let certificate = try server.write(try #require(server.server.certificatePEM), to: "client.pem")
        let key = try server.write(beginning + Self.field + "\n-----END PRIVATE KEY-----\n", to: "client.key")
        let outcome = await server.turn(over: wire) {
            $0.tls.clientCertificate = .init(certificatePath: certificate, privateKeyPath: key)
        }
        #expect(outcome.transportFailure?.code == .clientCertificateUnreadable)
        self.expectNoCanary(in: try #require(outcome.error))
        self.expectNoCanary(in: outcome.report)
    }

    /// The one error whose payload is content: the delivered text, for the caller to decide about.
    ///
    /// Printed, it contains none of it.
    @Test(arguments: Wire.allCases)
    func divergenceCarriesTheDeliveredTextWithoutPrintingIt(over wire: Wire) async throws {
        let faults: [ChappieTestServer.Fault] = [
            .init(.cutAfterEvent(event: 20), attempts: 1...1), .init(action: .shortenText(toScalar: 3), from: 2),
        ]
        try await withServer(.init(model: .scripted(Self.model), faults: faults)) { server in
            let outcome = await ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { client in
                    client.policy = wire.policy
                    client.credential = { _ in Self.credential }
                }
            ).outcome(of: ChappieTransportRequest(prompt: Self.prompt, model: "m"))
            #expect(outcome.clientError == .streamingTransportReplayDiverged(outcome.text))
            #expect(outcome.text.contains(Self.answer))
            Self.canaries.expectNone(in: outcome)
        }
    }
}
