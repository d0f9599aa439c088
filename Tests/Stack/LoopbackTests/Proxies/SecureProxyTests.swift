import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Turns through a proxy that is spoken to by TLS: tinyproxy behind stunnel.
@Suite(.timeLimit(.minutes(10))) struct SecureProxyTests {
    /// Both programs.
    private struct Proxy {
        let proxy: RunningProxy
        let front: RunningTLSFront

        init(_ settings: [String] = [], names: String = "IP:127.0.0.1,DNS:localhost") async throws {
            self.proxy = try await RunningProxy.start(settings)
            self.front = try await RunningTLSFront.start(to: self.proxy.port, names: names)
        }
    }

    @Test(arguments: Wire.allCases, [false, true])
    func aTurnGoesThroughTheTunnel(over wire: Wire, isSecure: Bool) async throws {
        for host in ["127.0.0.1", "localhost"] {
            let proxy = try await Proxy()
            let turn = try await ProxiedTurn.run(
                through: proxy.front.url(host: host), over: wire, isSecure: isSecure,
                proxyCertificate: proxy.front.certificatePEM)
            turn.expectWhole(over: wire)
            #expect(await proxy.proxy.stop() == [turn.authority])
        }
    }

    @Test(arguments: Wire.allCases, [false, true])
    func aRightCredentialOpensTheTunnel(over wire: Wire, isSecure: Bool) async throws {
        let proxy = try await Proxy(["BasicAuth alice password"])
        let turn = try await ProxiedTurn.run(
            through: proxy.front.url("alice:pass%77ord"), over: wire, isSecure: isSecure,
            proxyCertificate: proxy.front.certificatePEM)
        turn.expectWhole(over: wire)
        #expect(await proxy.proxy.stop() == [turn.authority])
    }

    @Test(arguments: Wire.allCases, ["", "alice:wrong"])
    func aWrongCredentialIsNotTriedAgain(over wire: Wire, userInformation: String) async throws {
        let proxy = try await Proxy(["BasicAuth alice password"])
        let turn = try await ProxiedTurn.run(
            through: proxy.front.url(userInformation), over: wire, isSecure: true,
            proxyCertificate: proxy.front.certificatePEM
        ) { $0.policy = wire.policy }
        turn.outcome.expectFailure(
            ExpectedFailure(
                code: .proxyRefused, tag: "proxy.refused", phase: .proxy, attempts: 1, safety: .notSent), over: wire)
        #expect(turn.outcome.clientError?.category == .auth)
        #expect(turn.log.isEmpty)
    }

    @Test(arguments: Wire.allCases, [false, true])
    func aRefusedTunnelIsTriedTwice(over wire: Wire, isSecure: Bool) async throws {
        let proxy = try await Proxy(["ConnectPort 1"])
        let turn = try await ProxiedTurn.run(
            through: proxy.front.url(), over: wire, isSecure: isSecure, proxyCertificate: proxy.front.certificatePEM)
        turn.outcome.expectFailure(
            ExpectedFailure(
                code: .proxyRefused, tag: "proxy.refused", phase: .proxy, attempts: 2, safety: .notSent), over: wire)
        #expect(turn.outcome.transportFailure?.details.statusCode == 403)
        #expect(await proxy.proxy.stop() == [turn.authority, turn.authority])
        #expect(turn.log.isEmpty)
    }

    private static let rejected = ExpectedFailure(
        code: .certificateRejected, tag: "tls.certificate", phase: .proxy, attempts: 1, safety: .notSent)

    /// The proxy gets neither a credential nor the server's name.
    @Test(arguments: Wire.allCases, [false, true])
    func untrustedProxyReceivesNoRequest(over wire: Wire, isSecure: Bool) async throws {
        let proxy = try await Proxy()
        let turn = try await ProxiedTurn.run(
            through: proxy.front.url("alice:password"), over: wire, isSecure: isSecure)
        turn.outcome.expectFailure(Self.rejected, over: wire)
        let failure = try #require(turn.outcome.transportFailure)
        #expect(failure.details.detail == "self-signed")
        #expect(failure.details.issuer == "CN=proxy")
        #expect(failure.safeDescription.hasPrefix("The proxy's certificate is not trusted: it is signed by itself ("))
        #expect(await proxy.proxy.stop() == [])
        #expect(turn.log.isEmpty)
    }

    @Test(arguments: Wire.allCases)
    func aCertificateOfAnotherHostIsNotTheProxys(over wire: Wire) async throws {
        let proxy = try await Proxy(names: "DNS:other.example")
        let turn = try await ProxiedTurn.run(
            through: proxy.front.url(), over: wire, isSecure: true, proxyCertificate: proxy.front.certificatePEM)
        turn.outcome.expectFailure(Self.rejected, over: wire)
        #expect(turn.outcome.transportFailure?.details.detail == "wrong-host")
        #expect(await proxy.proxy.stop() == [])
    }

    /// The certificate of the server is a matter of its own.
    @Test(arguments: Wire.allCases)
    func aServerThatIsNotTrustedIsNotTheProxy(over wire: Wire) async throws {
        let proxy = try await Proxy()
        var configuration = ChappieTestServer.Configuration(model: .scripted(LoopbackTurn.model))
        configuration.tls = .init()
        try await withServer(configuration) { server in
            let outcome = await ChappieStreamingTransport(
                configuration: .loopback(server.baseURL) {
                    $0.policy = wire.alone
                    $0.tls.trust = .file(path: proxy.front.certificatePath)
                    $0.proxy = .url(proxy.front.url())
                }
            ).outcome()
            outcome.expectFailure(
                ExpectedFailure(
                    code: .certificateRejected, tag: "tls.certificate", phase: .tls, attempts: 1, safety: .notSent),
                over: wire)
            #expect(outcome.transportFailure?.details.detail == "unknown-issuer")
            #expect(await proxy.proxy.stop() == ["127.0.0.1:\(server.port)"])
        }
    }

    /// Pinned keys are the server's, and are not looked for in the proxy's certificate.
    @Test(arguments: Wire.allCases)
    func pinnedKeysAreTheServersAlone(over wire: Wire) async throws {
        let proxy = try await Proxy()
        let key = try ChappiePinnedKey(Data(repeating: 7, count: 32).base64EncodedString())
        let turn = try await ProxiedTurn.run(
            through: proxy.front.url(), over: wire, isSecure: true, proxyCertificate: proxy.front.certificatePEM
        ) { $0.tls.pinnedKeys = [key] }
        turn.outcome.expectFailure(
            ExpectedFailure(code: .keyNotPinned, tag: "tls.pin", phase: .tls, attempts: 1, safety: .notSent),
            over: wire)
        #expect(await proxy.proxy.stop() == [turn.authority])
    }

    /// This proxy accepts the very certificate that the client has for servers.
    @Test(arguments: Wire.allCases)
    func aClientCertificateIsNotGivenToTheProxy(over wire: Wire) async throws {
        let proxy = try await RunningProxy.start()
        let issuer = try await RunningTLSFront.start(to: proxy.port)
        let front = try await RunningTLSFront.start(
            to: proxy.port, settings: ["verifyChain = yes", "CAfile = \(issuer.certificatePath)"])
        let turn = try await ProxiedTurn.run(
            through: front.url(), over: wire, isSecure: true, proxyCertificate: front.certificatePEM
        ) {
            $0.tls.clientCertificate = ChappieTLSPolicy.ClientCertificate(
                certificatePath: issuer.certificatePath, privateKeyPath: issuer.keyPath)
        }
        let failure = try #require(turn.outcome.transportFailure)
        #expect(failure.code == .tlsHandshakeFailed && failure.phase == .proxy)
        #expect(failure.details.detail == "certificate-required")
        #expect(await proxy.stop() == [])
    }

    @Test(arguments: Wire.allCases)
    func aProxyThatIsNotThereIsNotTheServer(over wire: Wire) async throws {
        for (url, code) in [
            ("https://127.0.0.1:1", ChappieTransportFailure.Code.unreachable),
            ("https://nonexistent.invalid", .unresolvable),
        ] {
            let turn = try await ProxiedTurn.run(through: url, over: wire)
            #expect(turn.outcome.transportFailure?.code == code)
            #expect(turn.outcome.transportFailure?.phase == .proxy)
            #expect(turn.outcome.transportFailure?.attempts == 2)
            #expect(turn.log.isEmpty)
        }
    }

    /// Retries, fall-back, resumption, TLS inside TLS and compression.
    @Test(arguments: [
        "ok", "cut", "close-1011", "deflate", "hs-426", "hs-slow-hedge", "hs-tls-ok", "http-cut", "reuse", "sse-gzip",
        "tool-cut", "large-event",
    ])
    func scenarioHasTheSameOutcomeThroughTheProxy(of name: String) async throws {
        let proxy = try await Proxy()
        let scenario = try #require(ChappieTestServer.builtInScenario(named: name))
        let expectation = try #require(scenario.expectation)
        let run = try await ScenarioRun(
            scenario, proxy: .url(proxy.front.url()), proxyCertificate: proxy.front.certificatePEM)
        ScenarioCheck(run: run, expectation: expectation).check()
        #expect(await proxy.proxy.stop().count == run.connectionCount)
    }
}
