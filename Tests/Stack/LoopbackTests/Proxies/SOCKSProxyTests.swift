import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Turns through SOCKS 5 proxies that other people wrote.
@Suite(.timeLimit(.minutes(10))) struct SOCKSProxyTests {
    private static func refused(attempts: Int) -> ExpectedFailure {
        ExpectedFailure(
            code: .proxyRefused, tag: "proxy.refused", phase: .proxy, attempts: attempts, safety: .notSent)
    }

    @Test(arguments: Wire.allCases, [false, true])
    func aTurnGoesThroughTheProxy(over wire: Wire, isSecure: Bool) async throws {
        for scheme in ["socks5", "socks5h"] {
            let proxy = try await RunningSOCKSProxy.start()
            let turn = try await ProxiedTurn.run(through: proxy.url(scheme: scheme), over: wire, isSecure: isSecure)
            turn.expectWhole(over: wire)
            #expect(await proxy.stop() == [turn.authority])
        }
    }

    @Test(arguments: Wire.allCases, [false, true])
    func aRightLoginOpensTheConnection(over wire: Wire, isSecure: Bool) async throws {
        let proxy = try await RunningSOCKSProxy.start(.init(userName: "al:ice", password: "pass@word"))
        let turn = try await ProxiedTurn.run(
            through: proxy.url("al%3Aice:pass%40word"), over: wire, isSecure: isSecure)
        turn.expectWhole(over: wire)
        #expect(await proxy.stop() == [turn.authority])
    }

    /// A login that was not asked for is not sent: this proxy asks for none.
    @Test(arguments: Wire.allCases)
    func unneededLoginIsHarmless(over wire: Wire) async throws {
        let proxy = try await RunningSOCKSProxy.start()
        let turn = try await ProxiedTurn.run(through: proxy.url("alice:password"), over: wire)
        turn.expectWhole(over: wire)
        #expect(await proxy.stop() == [turn.authority])
    }

    @Test(
        arguments: Wire.allCases,
        [("", "credential-missing"), ("alice:wrong", "credential-refused"), ("bob:password", "credential-refused")])
    func aWrongLoginIsNotTriedAgain(over wire: Wire, login: (userInformation: String, detail: String)) async throws {
        let proxy = try await RunningSOCKSProxy.start(.init(userName: "alice", password: "password"))
        let turn = try await ProxiedTurn.run(through: proxy.url(login.userInformation), over: wire, isSecure: true) {
            $0.policy = wire.policy
        }
        turn.outcome.expectFailure(Self.refused(attempts: 1), over: wire)
        #expect(turn.outcome.transportFailure?.details.detail == login.detail)
        #expect(turn.outcome.clientError?.category == .auth)
        #expect(await proxy.stop() == [])
        #expect(turn.log.isEmpty)
    }

    /// A name whose one address is 127.0.0.1, on every system: `localhost` may be `::1` first.
    private static let name = "127.1"

    private static func outcome(
        of url: String, through proxy: String, over wire: Wire
    ) async -> StreamOutcome {
        await ChappieStreamingTransport(
            configuration: .loopback(url) {
                $0.policy = wire.alone
                $0.proxy = .url(proxy)
            }
        ).outcome()
    }

    @Test(arguments: Wire.allCases)
    func aServerThatTheProxyCannotReachIsTheProxysFailure(over wire: Wire) async throws {
        let proxy = try await RunningSOCKSProxy.start()
        let outcome = await Self.outcome(of: "http://127.0.0.1:1/v1", through: proxy.url(), over: wire)
        outcome.expectFailure(Self.refused(attempts: 2), over: wire)
        #expect(outcome.transportFailure?.details.systemCode == 5)
        #expect(outcome.transportFailure?.details.detail == "connection-refused")
    }

    @Test(arguments: Wire.allCases)
    func nameIsLookedUpHereForSOCKS5(over wire: Wire) async throws {
        let proxy = try await RunningSOCKSProxy.start(.init(userName: "alice", password: "password"))
        let missing = await Self.outcome(
            of: "http://origin.invalid/v1", through: proxy.url("alice:password", scheme: "socks5"), over: wire)
        #expect(missing.transportFailure?.code == .unresolvable)
        #expect(missing.transportFailure?.phase == .resolve)
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let outcome = await Self.outcome(
                of: "http://\(Self.name):\(server.port)/v1", through: proxy.url("alice:password", scheme: "socks5"),
                over: wire)
            outcome.expectWhole()
            #expect(await proxy.stop() == ["127.0.0.1:\(server.port)"])
        }
    }

    @Test(arguments: Wire.allCases)
    func theProxyLooksTheServersNameUp(over wire: Wire) async throws {
        let proxy = try await RunningSOCKSProxy.start()
        for url in ["http://origin.invalid/v1", "https://origin.invalid/v1"] {
            let outcome = await Self.outcome(of: url, through: proxy.url(scheme: "socks5h"), over: wire)
            outcome.expectFailure(Self.refused(attempts: 2), over: wire)
            // RFC 1928 section 6 has no code for a name without an address: microsocks says that it has failed.
            #expect(outcome.transportFailure?.details.systemCode == 1)
            #expect(outcome.transportFailure?.details.detail == "general-failure")
        }
    }

    @Test(arguments: Wire.allCases)
    func aNameIsConnectedToByTheProxy(over wire: Wire) async throws {
        let proxy = try await RunningSOCKSProxy.start(.init(userName: "alice", password: "password"))
        try await withServer(.init(model: .scripted(LoopbackTurn.model))) { server in
            let outcome = await Self.outcome(
                of: "http://\(Self.name):\(server.port)/v1", through: proxy.url("alice:password"), over: wire)
            outcome.expectWhole()
            #expect(await proxy.stop() == ["\(Self.name):\(server.port)"])
        }
    }

    @Test(arguments: Wire.allCases)
    func aProxyThatIsNotThereIsNotTheServer(over wire: Wire) async throws {
        for (url, code) in [
            ("socks5://127.0.0.1:1", ChappieTransportFailure.Code.unreachable),
            ("socks5h://nonexistent.invalid", .unresolvable),
        ] {
            let outcome = await Self.outcome(of: "http://127.0.0.1:1/v1", through: url, over: wire)
            #expect(outcome.transportFailure?.code == code)
            #expect(outcome.transportFailure?.phase == .proxy)
            #expect(outcome.transportFailure?.attempts == 2)
        }
    }

    /// Retries, fall-back, resumption, TLS and compression.
    @Test(arguments: [
        "ok", "cut", "close-1011", "deflate", "hs-426", "hs-slow-hedge", "hs-tls-ok", "http-cut", "reuse", "sse-gzip",
        "tool-cut", "large-event",
    ])
    func scenarioHasTheSameOutcomeThroughTheProxy(of name: String) async throws {
        let proxy = try await RunningSOCKSProxy.start(.init(userName: "u", password: "p"))
        let scenario = try #require(ChappieTestServer.builtInScenario(named: name))
        let expectation = try #require(scenario.expectation)
        let run = try await ScenarioRun(scenario, proxy: .url(proxy.url("u:p")))
        ScenarioCheck(run: run, expectation: expectation).check()
        #expect(await proxy.stop().count == run.connectionCount)
    }
}
