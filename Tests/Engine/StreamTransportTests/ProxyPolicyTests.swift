// The choice of a connection's proxy.
import StreamTransport
import Testing

@Suite struct ProxyPolicyTests {
    private static let secure = TransportEndpoint(isSecure: true, host: "example.com", port: 443, target: "/")
    private static let plain = TransportEndpoint(isSecure: false, host: "example.com", port: 80, target: "/")

    struct Example: Sendable {
        let environment: [String: String]
        /// The host of the proxy to a server with TLS.
        var secure: String?
        /// The proxy for a server without TLS.
        var plain: String?

        init(_ environment: [String: String], secure: String? = nil, plain: String? = nil) {
            (self.environment, self.secure, self.plain) = (environment, secure, plain)
        }
    }

    private static func expect(_ example: Example) throws {
        let policy = ProxyPolicy.environment(example.environment)
        #expect(try policy.proxy(for: Self.secure)?.host == example.secure)
        #expect(try policy.proxy(for: Self.plain)?.host == example.plain)
    }

    @Test(arguments: [
        Example([:]),
        Example(["HTTPS_PROXY": "http://a:1"], secure: "a"),
        Example(["https_proxy": "http://a:1"], secure: "a"),
        Example(["HTTP_PROXY": "http://a:1"], plain: "a"),
        Example(["http_proxy": "http://a:1"], plain: "a"),
        Example(["ALL_PROXY": "a:1"], secure: "a", plain: "a"),
        Example(["all_proxy": "a:1"], secure: "a", plain: "a"),
        Example(["Https_Proxy": "a:1", "PROXY": "a:1", "WS_PROXY": "a:1"]),
    ])
    func eachVariableIsForItsScheme(_ example: Example) throws { try Self.expect(example) }

    @Test(arguments: [
        Example(["https_proxy": "low", "HTTPS_PROXY": "high"], secure: "low"),
        Example(["http_proxy": "low", "HTTP_PROXY": "high"], plain: "low"),
        Example(["all_proxy": "low", "ALL_PROXY": "high"], secure: "low", plain: "low"),
        Example(["HTTPS_PROXY": "own", "all_proxy": "all"], secure: "own", plain: "all"),
        Example(["HTTP_PROXY": "own", "ALL_PROXY": "all"], secure: "all", plain: "own"),
    ])
    func lowerCaseAndSchemeVariablesTakePrecedence(_ example: Example) throws { try Self.expect(example) }

    @Test(arguments: [
        Example(["https_proxy": "", "HTTPS_PROXY": "a", "ALL_PROXY": "b"], plain: "b"),
        Example(["HTTPS_PROXY": "", "ALL_PROXY": "b"], plain: "b"),
        Example(["http_proxy": " ", "HTTP_PROXY": "a", "ALL_PROXY": "b"], secure: "b"),
        Example(["all_proxy": "", "ALL_PROXY": "b"]),
        Example(["all_proxy": "", "HTTPS_PROXY": "a"], secure: "a"),
    ])
    func anEmptyVariableMeansNoProxy(_ example: Example) throws { try Self.expect(example) }

    @Test(arguments: [
        Example(["REQUEST_METHOD": "GET", "HTTP_PROXY": "evil"]),
        Example(["REQUEST_METHOD": "", "HTTP_PROXY": "evil"]),
        Example(["REQUEST_METHOD": "GET", "HTTP_PROXY": "evil", "http_proxy": "a"], plain: "a"),
        Example(["REQUEST_METHOD": "GET", "HTTP_PROXY": "evil", "ALL_PROXY": "b"], secure: "b", plain: "b"),
        Example(["REQUEST_METHOD": "GET", "HTTPS_PROXY": "a"], secure: "a"),
    ])
    func cgiProxyFieldIsIgnored(_ example: Example) throws { try Self.expect(example) }

    @Test(arguments: [
        Example(["ALL_PROXY": "a", "NO_PROXY": "example.com"]),
        Example(["ALL_PROXY": "a", "no_proxy": "example.com"]),
        Example(["ALL_PROXY": "a", "NO_PROXY": "other.com"], secure: "a", plain: "a"),
        Example(["ALL_PROXY": "a", "NO_PROXY": "example.com:443"], plain: "a"),
        Example(["ALL_PROXY": "a", "NO_PROXY": "*", "no_proxy": "other.com"], secure: "a", plain: "a"),
        Example(["ALL_PROXY": "a", "NO_PROXY": "*", "no_proxy": ""], secure: "a", plain: "a"),
        // An unused URL is not checked.
        Example(["ALL_PROXY": "socks4://a", "NO_PROXY": "*"]),
    ])
    func hostsInNoProxyAreConnectedToDirectly(_ example: Example) throws { try Self.expect(example) }

    @Test func aURLThatCannotBeUsedFailsWhereItWouldBeUsed() throws {
        let policy = ProxyPolicy.environment(["HTTPS_PROXY": "socks4://canary:canary@h:1", "HTTP_PROXY": "a"])
        #expect(try policy.proxy(for: Self.plain)?.host == "a")
        let cause = TransportFailure.Cause.proxyInvalid(
            "socks4 proxies are not supported; http, https, socks5 and socks5h ones are")
        #expect(throws: TransportFailure(phase: .proxy, cause: cause)) { try policy.proxy(for: Self.secure) }
    }

    @Test func oneURLIsForEveryServer() throws {
        for endpoint in [Self.secure, Self.plain] {
            let proxy = try ProxyPolicy.url("http://u:p@h:1").proxy(for: endpoint)
            let credential = ProxyServer.Credential(userName: Array("u".utf8), password: Array("p".utf8))
            #expect(proxy == ProxyServer(host: "h", port: 1, credential: credential))
            #expect(try ProxyPolicy.none.proxy(for: endpoint) == nil)
            #expect(throws: TransportFailure.self) { try ProxyPolicy.url("http://h:0").proxy(for: endpoint) }
        }
    }

    @Test(arguments: ProxyServer.Scheme.allCases)
    func everyVariableTakesEveryScheme(_ scheme: ProxyServer.Scheme) throws {
        let url = "\(scheme.rawValue)://u:p@h"
        let expected = ProxyServer(
            scheme: scheme, host: "h", port: scheme.defaultPort,
            credential: .init(userName: Array("u".utf8), password: Array("p".utf8)), resolvesNames: scheme != .socks5)
        for name in ["all_proxy", "ALL_PROXY", "https_proxy", "HTTPS_PROXY"] {
            #expect(try ProxyPolicy.environment([name: url]).proxy(for: Self.secure) == expected)
        }
        for name in ["all_proxy", "ALL_PROXY", "http_proxy", "HTTP_PROXY"] {
            #expect(try ProxyPolicy.environment([name: url]).proxy(for: Self.plain) == expected)
        }
    }

    /// A proxy that was asked for is always used.
    @Test(arguments: [
        "", " ", "\n", "://", "http://h:99999999999999999999999", "socks4://h:1", "socks5://", "https://:443",
    ])
    func urlWithoutAHostOrWithAnotherPortIsInvalid(url: String) {
        for endpoint in [Self.secure, Self.plain] {
            #expect {
                try ProxyPolicy.url(url).proxy(for: endpoint)
            } throws: { error in
                guard case .proxyInvalid? = (error as? TransportFailure)?.cause else { return false }
                return true
            }
        }
    }

    @Test func policyDescriptionIsRedacted() {
        let policies: [ProxyPolicy] = [
            .url("http://canary:canary@canary:1"), .url("socks5://canary:canary@canary:1"),
            .url("https://canary:canary@canary"), .environment(["ALL_PROXY": "canary:x"]),
        ]
        for policy in policies {
            var dumped = ""
            dump(policy, to: &dumped)
            for text in ["\(policy)", String(reflecting: policy), "\([policy])", dumped] {
                #expect(!text.contains("canary"))
            }
        }
    }
}
