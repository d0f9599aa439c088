// Proxies as they are written.
import Testing

@testable import StreamTransport

@Suite struct ProxyServerTests {
    struct Example: Sendable, CustomTestStringConvertible {
        let url: String
        let host: String
        let port: UInt16
        /// Without `Basic`; nil for none.
        var credential: String?

        init(_ url: String, _ host: String, _ port: UInt16, _ credential: String? = nil) {
            (self.url, self.host, self.port, self.credential) = (url, host, port, credential)
        }

        var testDescription: String { self.url }
    }

    @Test(arguments: [
        Example("http://proxy.example:3128", "proxy.example", 3128),
        Example("http://proxy.example:3128/", "proxy.example", 3128),
        Example("HTTP://proxy.example:3128", "proxy.example", 3128),
        Example("proxy.example:3128", "proxy.example", 3128),
        Example("proxy.example", "proxy.example", 80),
        Example("http://proxy.example", "proxy.example", 80),
        Example("http://proxy.example:", "proxy.example", 80),
        Example("http://proxy_1.example:1", "proxy_1.example", 1),
        Example("  http://127.0.0.1:65535\n", "127.0.0.1", 65535),
        Example("http://127.0.0.1:00080", "127.0.0.1", 80),
        Example("[::1]:8080", "::1", 8080),
        Example("http://[2001:db8::1]", "2001:db8::1", 80),
        Example("http://[2001:db8::1]:3128/", "2001:db8::1", 3128),
    ])
    func aHostAndAPortAreRead(_ example: Example) throws {
        let proxy = try ProxyServer(url: example.url)
        #expect(proxy.host == example.host)
        #expect(proxy.port == example.port)
        #expect(proxy.authorization == nil)
    }

    @Test(arguments: [
        // The examples of RFC 7617 section 2 and 2.1.
        Example("http://Aladdin:open%20sesame@h:1", "h", 1, "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        Example("test:123%C2%A3@h:1", "h", 1, "dGVzdDoxMjPCow=="),
        Example("http://u:p@h", "h", 80, "dTpw"),
        Example("http://u:@h", "h", 80, "dTo="),
        Example("http://u@h", "h", 80, "dTo="),
        Example("http://:p@h", "h", 80, "OnA="),
        Example("http://u:p:q@h", "h", 80, "dTpwOnE="),
        Example("http://u:p@q@h", "h", 80, "dTpwQHE="),
        Example("http://u:%40%2F%3a%25@h", "h", 80, "dTpALzol"),
        Example("http://u:%ff%FE@h", "h", 80, "dTr//g=="),
        Example("http://u:£@h", "h", 80, "dTrCow=="),
        Example("http://u:p@[::1]:2", "::1", 2, "dTpw"),
        Example("http://@h", "h", 80),
    ])
    func aCredentialIsDecodedAndEncoded(_ example: Example) throws {
        let proxy = try ProxyServer(url: example.url)
        #expect(proxy.authorization == example.credential.map { "Basic \($0)" })
        #expect(proxy.host == example.host)
        #expect(proxy.port == example.port)
    }

    @Test(arguments: [1, 2, 3, 100, 2_000, 100_000])
    func aPasswordHasAnyLength(_ count: Int) throws {
        let proxy = try ProxyServer(url: "http://u:\(String(repeating: "x", count: count))@h:1")
        let text = try #require(proxy.authorization).dropFirst("Basic ".count)
        #expect(text.count == (count + 2 + 2) / 3 * 4)
        #expect(text.hasPrefix(count < 4 ? "dTp4" : "dTp4eHh4"))
    }

    @Test(arguments: ["https", "socks4", "socks4a", "socks5", "socks5h", "SOCKS5"])
    func aSchemeOfOtherProxiesIsNamed(_ scheme: String) {
        let fault = Self.fault(in: "\(scheme)://canary:canary@canary:1")
        #expect(fault == "\(scheme.lowercased()) proxies are not supported, http ones are")
    }

    @Test(arguments: ["canary", "ftp", "file", "", "user:canary"])
    func anyOtherSchemeIsNot(_ scheme: String) {
        #expect(Self.fault(in: "\(scheme)://h:1") == "the scheme of its URL is not http")
    }

    @Test(arguments: [
        "", "http://", "http:///", "http://:80", "http://user:canary@", "http://@:80", "http://canary canary:1",
        "http://canary\u{0}:1", "http://canary%41:1", "http://canäry:1", "http://[canary]:1", "http://[127.0.0.1]:1",
        "http://[::1", "http://[]:1", "http://[::1%25canary]:1", "http://::1:8080", "http://[::1]8080",
        "http://h:0", "http://h:65536", "http://h:canary", "http://h:+80", "http://h:-1", "http://h: 80",
        "http://h:99999999999999999999", "http:h:80", "http://h:1/canary", "http://h:1?canary", "http://h:1#canary",
        "http://h:1//", "http://canary:can/ary@h:1", "http://h:1\\canary", "http://canary%@h", "http://canary%4@h",
        "http://canary%4g@h", "http://u:canary%g4@h", "http://can%3Aary:p@h", "http://canary\r\nX: y:p@h",
        "http://u:canary%0d%0a@h", "http://u:canary%00@h", "http://u:canary%7F@h", "http://u:canary%1f@h",
        "http://u:can\tary@h",
    ])
    func whatIsNoURLIsRefusedWithoutItsWords(_ url: String) throws {
        let fault = try #require(Self.fault(in: url))
        #expect(!fault.isEmpty && !fault.contains("ary"))
    }

    private static func fault(in url: String) -> String? {
        do throws(TransportFailure) {
            _ = try ProxyServer(url: url)
            return nil
        } catch {
            guard case .proxyInvalid(let fault) = error.cause, error.phase == .proxy else { return nil }
            return fault
        }
    }

    @Test func nothingOfTheCredentialIsPrinted() throws {
        let proxy = try ProxyServer(url: "http://canary:canary@h:1")
        var dumped = ""
        dump(proxy, to: &dumped)
        let encoded = try #require(proxy.authorization?.dropFirst("Basic ".count))
        for text in ["\(proxy)", String(reflecting: proxy), "\([proxy])", dumped] {
            #expect(!text.contains("canary") && !text.contains(encoded))
        }
    }
}
