import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Turns through a proxy that other people wrote.
@Suite(.timeLimit(.minutes(10))) struct ProxyTests {
    /// One turn through a proxy with these settings; what the proxy was asked for, and where the server was.
    private static func turn(
        over wire: Wire, isSecure: Bool = false, settings: [String] = [], userInformation: String = "",
        _ change: @escaping (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async throws -> (outcome: StreamOutcome, asked: [String], server: ServerSeen) {
        let proxy = try await RunningProxy.start(settings)
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        if isSecure { configuration.tls = .init() }
        return try await withServer(configuration) { server in
            let authority = try AuthorityFile(server.caPEM)
            defer { authority.remove() }
            let outcome = await ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) {
                    $0.policy = wire.alone
                    $0.tls.trust = authority.trust
                    $0.proxy = .url(proxy.url(userInformation))
                    change(&$0)
                }
            ).outcome()
            let asked = await proxy.stop()
            return (outcome, asked, ServerSeen(port: server.port, log: server.log))
        }
    }

    private struct ServerSeen {
        let port: Int
        let log: [ChappieTestServer.RequestRecord]
        var authority: String { "127.0.0.1:\(self.port)" }
    }

    @Test(arguments: Wire.allCases, [false, true])
    func aTurnGoesThroughTheTunnel(over wire: Wire, isSecure: Bool) async throws {
        let (outcome, asked, server) = try await Self.turn(over: wire, isSecure: isSecure)
        outcome.expectWhole()
        #expect(asked == [server.authority])
        #expect(server.log.map(\.transport) == [wire == .webSocket ? .webSocket : .http])
        #expect(server.log.first?.value(of: "host") == server.authority)
    }

    @Test(arguments: Wire.allCases, [false, true])
    func aRightCredentialOpensTheTunnel(over wire: Wire, isSecure: Bool) async throws {
        let (outcome, asked, server) = try await Self.turn(
            over: wire, isSecure: isSecure, settings: ["BasicAuth alice password"],
            userInformation: "alice:pass%77ord")
        outcome.expectWhole()
        #expect(asked == [server.authority])
        #expect(server.log.first?.value(of: "proxy-authorization") == nil)
    }

    @Test(arguments: Wire.allCases, ["", "alice:wrong", "bob:password"])
    func aWrongCredentialIsNotTriedAgain(over wire: Wire, userInformation: String) async throws {
        for isSecure in [false, true] {
            let (outcome, asked, server) = try await Self.turn(
                over: wire, isSecure: isSecure, settings: ["BasicAuth alice password"],
                userInformation: userInformation
            ) { $0.policy = wire.policy }
            outcome.expectFailure(
                ExpectedFailure(
                    code: .proxyRefused, tag: "proxy.refused", phase: .proxy, attempts: 1, safety: .notSent),
                over: wire)
            let statusCode = userInformation.isEmpty ? 407 : try await RunningProxy.statusCodeOfWrongCredential()
            #expect(outcome.transportFailure?.details.statusCode == statusCode)
            #expect(outcome.clientError?.category == .auth)
            #expect(asked.count == 1)
            #expect(server.log.isEmpty)
        }
    }

    @Test(arguments: Wire.allCases, [false, true])
    func aRefusedTunnelIsTriedTwice(over wire: Wire, isSecure: Bool) async throws {
        let (outcome, asked, server) = try await Self.turn(
            over: wire, isSecure: isSecure, settings: ["ConnectPort 1"])
        outcome.expectFailure(
            ExpectedFailure(code: .proxyRefused, tag: "proxy.refused", phase: .proxy, attempts: 2, safety: .notSent),
            over: wire)
        #expect(outcome.transportFailure?.details.statusCode == 403)
        #expect(outcome.clientError?.category == .network)
        #expect(asked == [server.authority, server.authority])
        #expect(server.log.isEmpty)
    }

    @Test func refusedTunnelFailsBothTransports() async throws {
        let (outcome, asked, server) = try await Self.turn(over: .webSocket, settings: ["ConnectPort 1"]) {
            $0.policy = Wire.webSocket.policy
        }
        outcome.expectFailure(
            ExpectedFailure(code: .proxyRefused, tag: "proxy.refused", phase: .proxy, attempts: 4, safety: .notSent),
            over: .httpSSE)
        #expect(outcome.transportFailure?.details.statusCode == 403)
        #expect(asked == [String](repeating: server.authority, count: 4))
        #expect(server.log.isEmpty)
    }

    @Test(arguments: Wire.allCases)
    func aServerThatTheProxyCannotReachIsTheProxysFailure(over wire: Wire) async throws {
        let proxy = try await RunningProxy.start()
        let outcome = await ChappieStreamingTransport(
            configuration: .loopback("http://127.0.0.1:1/v1") {
                $0.policy = wire.alone
                $0.proxy = .url(proxy.url())
            }
        ).outcome()
        #expect(await proxy.stop() == ["127.0.0.1:1", "127.0.0.1:1"])
        outcome.expectFailure(
            ExpectedFailure(code: .proxyRefused, tag: "proxy.refused", phase: .proxy, attempts: 2, safety: .notSent),
            over: wire)
        #expect((outcome.transportFailure?.details.statusCode ?? 0) >= 500)
    }

    @Test(arguments: Wire.allCases)
    func aProxyThatIsNotThereIsNotTheServer(over wire: Wire) async throws {
        for (url, code) in [
            ("http://127.0.0.1:1", ChappieTransportFailure.Code.unreachable),
            ("http://nonexistent.invalid:3128", .unresolvable),
        ] {
            try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
                let outcome = await ChappieStreamingTransport(
                    configuration: .loopback(server.baseURL) {
                        $0.policy = wire.alone
                        $0.proxy = .url(url)
                    }
                ).outcome()
                #expect(outcome.transportFailure?.code == code)
                #expect(outcome.transportFailure?.phase == .proxy)
                #expect(outcome.transportFailure?.attempts == 2)
                #expect(server.connectionCount == 0)
            }
        }
    }

    @Test(
        arguments: Wire.allCases,
        ["socks4://h:1", "quic://h:1", "http://h:0", "socks5://h:1/path", "https://u:%zz@h"])
    func aProxyThatCannotBeUsedIsNotPassedBy(over wire: Wire, url: String) async throws {
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let outcome = await ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) {
                    $0.policy = wire.policy
                    $0.proxy = .url(url)
                }
            ).outcome()
            outcome.expectFailure(
                ExpectedFailure(
                    code: .proxyInvalid, tag: "proxy.invalid", phase: .proxy, attempts: 1, safety: .notSent),
                over: wire)
            #expect(outcome.clientError?.category == .validation)
            #expect(outcome.transportFailure?.details.detail?.isEmpty == false)
            #expect(server.connectionCount == 0)
        }
    }

    // MARK: Everything else an attempt goes through

    /// Retries, fall-back, resumption, TLS and compression.
    @Test(arguments: [
        "ok", "cut", "cut-6", "close-1011", "deflate", "hs-426", "hs-401", "hs-hang-hedge", "hs-slow-hedge",
        "hs-tls-ok",
        "http-cut", "resume-cut", "reuse", "rotate", "sse-gzip", "tool-cut", "err429", "large-event", "keepalive",
    ])
    func scenarioHasTheSameOutcomeThroughTheProxy(of name: String) async throws {
        let proxy = try await RunningProxy.start()
        let scenario = try #require(ChappieTestServer.builtInScenario(named: name))
        let expectation = try #require(scenario.expectation)
        let run = try await ScenarioRun(scenario, proxy: .url(proxy.url()))
        ScenarioCheck(run: run, expectation: expectation).check()
        let asked = await proxy.stop()
        #expect(asked.count == run.connectionCount)
    }

    /// The held request of HTTP carries the answer.
    ///
    /// Which of the two the server hears of first is a race.
    @Test func anUpgradeThatHangsIsHedged() async throws {
        let proxy = try await RunningProxy.start()
        let scenario = try #require(ChappieTestServer.builtInScenario(named: "hs-hang-hedge"))
        let run = try await ScenarioRun(scenario, proxy: .url(proxy.url()))
        let outcome = try #require(run.turns.first?.outcome)
        outcome.expectWhole((scenario.server.model ?? ChappieTestServer.ScriptedModel()).fullText)
        #expect(outcome.report.attempts.last?.transport == .httpSSE)
        #expect(Set(run.log.map(\.transport)) == [.webSocket, .http])
        #expect(await proxy.stop().count == run.connectionCount)
    }
}
