// Examinations of paths on loopback with a fault below HTTP: the port, the name, the proxy, TLS.
import ChappieTestServer
import ChappieTransport
import PathDiagnosis
import Testing

@testable import ChappieDiagnosis

@Suite(.timeLimit(.minutes(10))) struct ReachingDiagnosisTests: ExaminingSuite {
    @Test func aPortWithoutAServerRefuses() async throws {
        let server = try ChappieTestServer()
        let baseURL = server.baseURL
        server.stop()
        Self.expect("connect.refused", .fails, in: try await Self.report(baseURL))
    }

    @Test func droppedConnectionsAreReportedAsNoAnswer() async throws {
        let hole = try BlackHole(.first)
        let stopwatch = Stopwatch()
        let report = try await Self.report("http://127.0.0.1:\(hole.port)/v1", pace: ChappieDiagnosis.Extent.fast.pace)
        Self.expect("connect.no-answer", .fails, in: report)
        #expect(await stopwatch.stop().ownTime < .seconds(5))
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

    @Test func aServerThatIsNoProxyIsNamed() async throws {
        let proxy = try AnsweringServer("SSH-2.0-OpenSSH_9.2\r\n\r\n")
        let report = try await Self.report("http://origin.invalid/v1") {
            $0.proxy = .url("http://127.0.0.1:\(proxy.port)")
        }
        Self.expect("proxy.other-protocol", .fails, in: report)
    }

    /// It takes the greeting of SOCKS, or of TLS, for the beginning of a line, and waits for the end.
    @Test(arguments: ["socks5", "socks5h", "https"]) func proxyWithAnotherProtocolIsNamed(scheme: String) async throws {
        let proxy = try AnsweringServer(AnsweringServer.response("407 Proxy Authentication Required"))
        let report = try await Self.report("http://127.0.0.1:9/v1", pace: .patient(.fast, step: .seconds(2))) {
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
}
