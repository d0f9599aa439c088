// Addresses in `Location`: the examples of RFC 3986 section 5.4 that lead to HTTP, and texts that are no addresses.

import StreamTransport
import Testing

@testable import EventSource

@Suite struct LocationTests {
    private static let base = TransportEndpoint(isSecure: false, host: "a", port: 80, target: "/b/c/d;p?q")

    @Test(arguments: [
        ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"), ("g?y", "/b/c/g?y"),
        ("#s", "/b/c/d;p?q"), ("g#s", "/b/c/g"), ("g?y#s", "/b/c/g?y"), (";x", "/b/c/;x"), ("g;x", "/b/c/g;x"),
        ("g;x?y#s", "/b/c/g;x?y"), ("", "/b/c/d;p?q"), (".", "/b/c/"), ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/"),
        ("../g", "/b/g"), ("../..", "/"), ("../../", "/"), ("../../g", "/g"),
        ("../../../g", "/g"), ("../../../../g", "/g"), ("/./g", "/g"), ("/../g", "/g"), ("g.", "/b/c/g."),
        (".g", "/b/c/.g"), ("g..", "/b/c/g.."), ("..g", "/b/c/..g"), ("./../g", "/b/g"), ("./g/.", "/b/c/g/"),
        ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h"), ("g;x=1/./y", "/b/c/g;x=1/y"), ("g;x=1/../y", "/b/c/y"),
        ("g?y/./x", "/b/c/g?y/./x"), ("g?y/../x", "/b/c/g?y/../x"), ("g#s/../x", "/b/c/g"),
    ])
    func referencesAreResolved(_ location: String, _ target: String) {
        var expected = Self.base
        expected.target = target
        #expect(Self.base.resolving(location: location) == expected)
    }

    @Test(
        arguments: [
            ("//g", false, "g", 80, "/"), ("//g/x", false, "g", 80, "/x"), ("https://g", true, "g", 443, "/"),
            ("HTTP://G:8080?y", false, "g", 8_080, "/?y"), ("https://[::1]:99/x", true, "::1", 99, "/x"),
            ("http://g:/x", false, "g", 80, "/x"), ("https:\\\\g\\x", true, "g", 443, "/x"),
            ("  http://g/x\n", false, "g", 80, "/x"), ("http://g/../x", false, "g", 80, "/x"),
            ("http://127.0.0.1:1/%2E%2e/x", false, "127.0.0.1", 1, "/x"),
        ] as [(String, Bool, String, UInt16, String)])
    func addressesAreRead(_ location: String, _ isSecure: Bool, _ host: String, _ port: UInt16, _ target: String) {
        #expect(
            Self.base.resolving(location: location)
                == TransportEndpoint(isSecure: isSecure, host: host, port: port, target: target))
    }

    @Test(arguments: [
        "ftp://g", "javascript:x", "http:g", "http:/g", "http://", "http:///x", "https://u@g", "http://u:p@g",
        "http://g:65536", "http://g:x", "http://g:-1", "http://g:0", "http://[::1", "http://[x]", "http://[::1]x",
        "http://a b/", "http://é/", "http://a%2eb/", "//", "//:80/", "/" + String(repeating: "x", count: 16 << 10),
    ])
    func otherTextsAreRefused(_ location: String) { #expect(Self.base.resolving(location: location) == nil) }

    @Test(arguments: [
        ("/a b", "/a%20b"), ("/é", "/%C3%A9"), ("/\"<>`{}", "/%22%3C%3E%60%7B%7D"), ("/%zz", "/%zz"),
        ("/a\r\nX: y", "/a%0D%0AX:%20y"), ("/?a=|\\", "/?a=|\\"), ("\\x", "/x"), ("/\0", "/"),
    ])
    func bytesThatNoRequestLineHasAreEncoded(_ location: String, _ target: String) {
        #expect(Self.base.resolving(location: location)?.target == target)
    }

    @Test func longestLocationIsRead() {
        let location = "/" + String(repeating: "x", count: (16 << 10) - 1)
        #expect(Self.base.resolving(location: location)?.target == location)
    }
}
