// Proxies as they are written.
import Testing

@testable import StreamTransport

@Suite struct ProxyServerTests {
    struct Example: Sendable, CustomTestStringConvertible {
        let url: String
        let host: String
        let port: UInt16
        /// The credential without `Basic`; nil for none.
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
        #expect(proxy == ProxyServer(scheme: .http, host: example.host, port: example.port))
    }

    @Test(arguments: [("socks5", false), ("socks5h", true), ("SOCKS5", false), ("http", true), ("https", true)])
    func onlyForSOCKS5NamesAreLookedUpHere(scheme: String, resolvesNames: Bool) throws {
        #expect(try ProxyServer(url: "\(scheme)://h").resolvesNames == resolvesNames)
    }

    @Test(
        arguments: [
            ("https://h", .https, 443), ("https://h:3129/", .https, 3129), ("HTTPS://h", .https, 443),
            ("socks5://h", .socks5, 1080), ("socks5h://h", .socks5, 1080), ("SOCKS5H://h:", .socks5, 1080),
            ("socks5://h:9050", .socks5, 9050), (" socks5h://h/\n", .socks5, 1080), ("http://h", .http, 80),
        ] as [(String, ProxyServer.Scheme, UInt16)])
    func aSchemeHasItsPort(url: String, scheme: ProxyServer.Scheme, port: UInt16) throws {
        let proxy = try ProxyServer(url: url)
        #expect(proxy.scheme == scheme)
        #expect(proxy.host == "h")
        #expect(proxy.port == port)
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
        #expect(proxy.credential?.basicAuthorization == example.credential.map { "Basic \($0)" })
        #expect(proxy.host == example.host)
        #expect(proxy.port == example.port)
    }

    @Test(arguments: [1, 2, 3, 100, 2_000, 100_000])
    func aPasswordHasAnyLength(_ count: Int) throws {
        let proxy = try ProxyServer(url: "http://u:\(String(repeating: "x", count: count))@h:1")
        let text = try #require(proxy.credential).basicAuthorization.dropFirst("Basic ".count)
        #expect(text.count == (count + 2 + 2) / 3 * 4)
        #expect(text.hasPrefix(count < 4 ? "dTp4" : "dTp4eHh4"))
    }

    struct Login: Sendable, CustomTestStringConvertible {
        let userInformation: String
        let userName: [UInt8]
        let password: [UInt8]

        init(_ userInformation: String, _ userName: String, _ password: String) {
            self.userInformation = userInformation
            (self.userName, self.password) = (Array(userName.utf8), Array(password.utf8))
        }

        var testDescription: String { self.userInformation }
    }

    @Test(arguments: [
        Login("u:p", "u", "p"), Login("u", "u", ""), Login("u:", "u", ""), Login(":p", "", "p"),
        Login("u:p:q", "u", "p:q"), Login("a%3Ab:p%40q", "a:b", "p@q"), Login("u:p@q", "u", "p@q"),
        Login("%c3%a9:£", "é", "£"),
    ])
    func aLoginOfSOCKSIsDecoded(_ login: Login) throws {
        let proxy = try ProxyServer(url: "socks5://\(login.userInformation)@h")
        #expect(proxy.credential == .init(userName: login.userName, password: login.password))
        #expect(try ProxyServer(url: "socks5h://\(login.userInformation)@h").credential == proxy.credential)
    }

    @Test(arguments: ["socks5", "socks5h"])
    func aLoginOfSOCKSHasALimit(_ scheme: String) throws {
        // An encoded byte is one byte.
        let (longest, encoded) = (String(repeating: "x", count: 255), String(repeating: "%41", count: 255))
        for text in [longest, encoded] {
            let credential = try #require(try ProxyServer(url: "\(scheme)://\(text):\(text)@h").credential)
            #expect(credential.userName.count == 255 && credential.password.count == 255)
            #expect(
                Self.fault(in: "\(scheme)://\(text)x:p@h")
                    == "its user name is longer than the 255 bytes that SOCKS allows")
            #expect(
                Self.fault(in: "\(scheme)://u:x\(text)@h")
                    == "its password is longer than the 255 bytes that SOCKS allows")
        }
    }

    @Test(arguments: ["socks", "socks4", "socks4a", "quic", "SOCKS4"])
    func aSchemeOfOtherProxiesIsNamed(_ scheme: String) {
        let fault = Self.fault(in: "\(scheme)://canary:canary@canary:1")
        #expect(
            fault == "\(scheme.lowercased()) proxies are not supported; http, https, socks5 and socks5h ones are")
    }

    @Test(arguments: ["canary", "ftp", "file", "", "user:canary", "socks5 ", "socks6", "httpss"])
    func otherProxySchemesAreRefused(_ scheme: String) {
        #expect(Self.fault(in: "\(scheme)://h:1") == "the scheme of its URL is not http, https, socks5 or socks5h")
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
    func invalidURLIsRefusedWithoutRepeatingItsText(_ url: String) throws {
        for scheme in ["http", "https", "socks5", "socks5h"] {
            let url = url.hasPrefix("http:") ? scheme + url.dropFirst("http".count) : url
            // A colon is where the password begins for `http` and `https` alone.
            if scheme.hasPrefix("socks"), url.contains("%3A") { continue }
            let fault = try #require(Self.fault(in: url))
            #expect(!fault.isEmpty && !fault.contains("ary"))
        }
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

    @Test(arguments: ProxyServer.Scheme.allCases)
    func credentialDescriptionIsRedacted(of scheme: ProxyServer.Scheme) throws {
        let proxy = try ProxyServer(url: "\(scheme.rawValue)://canary:canary@h:1")
        let credential = try #require(proxy.credential)
        let encoded = credential.basicAuthorization.dropFirst("Basic ".count)
        var dumps = ["", ""]
        dump(proxy, to: &dumps[0])
        dump(credential, to: &dumps[1])
        let texts = ["\(proxy)", "\([proxy])", "\(credential)", "\([credential])"]
        let debugged = [String(reflecting: proxy), String(reflecting: credential)]
        for text in texts + debugged + dumps {
            #expect(!text.contains("canary") && !text.contains(encoded) && !text.contains("99, 97, 110"))
        }
    }
}
