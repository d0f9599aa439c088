import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Secrets and content leave the engine where they belong, and nowhere else.
@Suite(.timeLimit(.minutes(1))) struct CanaryTests {
    private static let token = "canary-token-7f3a"
    private static let account = "canary-account-91bc"
    private static let prompt = "canary-prompt-c0de"
    private static let answer = "canary-answer-beef"
    private static let field = "canary-field-5eed"
    private static let canaries = [Self.token, Self.account, Self.prompt, Self.answer, Self.field]

    private static let model: ChappieTestServer.ScriptedModel = {
        var model = ChappieTestServer.ScriptedModel()
        model.text = Self.answer + String(repeating: " and so on", count: 100)
        return model
    }()

    /// Everything that can be printed of a value.
    private static func descriptions(of value: Any, isDeep: Bool = true) -> [String] {
        var dumped = ""
        if isDeep { dump(value, to: &dumped) }
        let localized = (value as? any Error)?.localizedDescription ?? ""
        return [String(describing: value), String(reflecting: value), "\(value)", localized, dumped]
    }

    private func expectNoCanary(
        in value: Any, isDeep: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for description in Self.descriptions(of: value, isDeep: isDeep) {
            for canary in Self.canaries where description.contains(canary) {
                Issue.record("\(canary) in \(type(of: value))", sourceLocation: sourceLocation)
            }
        }
    }

    private static let faults: [ChappieTestServer.Fault.Action] = [
        .cutAfterEvent(event: 20), .cutAfterEvent(event: 20, with: .reset), .closeWebSocket(code: 4000, afterEvent: 20),
        .answer(status: 401), .answer(status: 404), .answer(status: 429), .answer(status: 500), .answerWithoutHTTP(),
        .insert(payload: "this is not JSON", beforeEvent: 20),
        .insert(payload: "{\"delta\":\"canary-answer-beef", beforeEvent: 20),
        .fail(code: "server_error", afterEvent: 20), .incomplete(reason: "max_output_tokens", afterEvent: 20),
        .endWithoutTerminal(), .binaryEvent(event: 20), .wrongAcceptKey, .largeHeaderSection(byteCount: 256 << 10),
    ]

    @Test(arguments: Wire.allCases, Self.faults)
    func noErrorAndNoReportNamesThem(over wire: Wire, fault: ChappieTestServer.Fault.Action) async throws {
        let configuration = ChappieTestServer.Configuration(
            model: .scripted(Self.model), faults: [.init(fault)])
        try await withServer(configuration) { server in
            let transport = ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { client in
                    client.policy = wire.alone
                    client.credential = { _ in Self.credential }
                    client.additionalFields = [(name: "X-Canary", value: Self.field)]
                })
            let handle = transport.streamHandle(ChappieTransportRequest(prompt: Self.prompt, model: "m"))
            var diagnostics: [ChappieDiagnostic] = []
            do {
                for try await event in handle.events {
                    if case .diagnostic(let diagnostic) = event { diagnostics.append(diagnostic) }
                }
            } catch {
                self.expectNoCanary(in: error)
            }
            self.expectNoCanary(in: diagnostics)
            self.expectNoCanary(in: handle.report)
            self.expectNoCanary(in: handle, isDeep: false)
            self.expectNoCanary(in: transport, isDeep: false)
            // The server got what the others must not say.
            #expect(server.log.first?.value(of: "x-canary") == Self.field)
        }
    }

    private static let credential = ChappieCredential(bearerToken: Self.token, accountID: Self.account)

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

    /// What is in the files of a client's certificate stays there, whatever is wrong with them.
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

    /// The one error whose payload is content: what was delivered, for the caller to decide about.
    @Test(arguments: Wire.allCases)
    func aDivergenceCarriesTheDeliveredTextAndNoSecret(over wire: Wire) async throws {
        let faults: [ChappieTestServer.Fault] = [
            .init(.cutAfterEvent(event: 20), attempts: 1...1), .init(.shortenText(toScalar: 3), from: 2),
        ]
        try await withServer(.init(model: .scripted(Self.model), faults: faults)) { server in
            let outcome = await ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) { client in
                    client.policy = wire.policy
                    client.credential = { _ in Self.credential }
                }
            ).outcome(of: ChappieTransportRequest(prompt: Self.prompt, model: "m"))
            #expect(outcome.clientError == .streamingTransportReplayDiverged(outcome.text))
            let printed = Self.descriptions(of: try #require(outcome.error)).joined()
            #expect(!printed.contains(Self.token) && !printed.contains(Self.account) && !printed.contains(Self.prompt))
            self.expectNoCanary(in: outcome.report)
        }
    }
}
