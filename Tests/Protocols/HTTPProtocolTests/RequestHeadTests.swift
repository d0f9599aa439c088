// Tests of heads of requests (RFC 9112 section 3).

import HTTPProtocol
import Testing

@Suite struct RequestHeadTests {
    private static func text(
        _ method: RequestMethod = .get, target: String = "/", host: String = "h",
        fields: [(name: String, value: String)] = []
    ) throws(RequestHead.Failure) -> String {
        String(
            decoding: try RequestHead.bytes(method: method, target: target, host: host, fields: fields), as: UTF8.self)
    }

    @Test func headHasHostFirstAndTheFieldsInTheirOrder() throws {
        let text = try Self.text(
            .post, target: "/v1/responses?a=b", host: "example.com:8080",
            fields: [("b", "1"), ("A", "2"), ("Content-Length", "0")])
        #expect(
            text
                == "POST /v1/responses?a=b HTTP/1.1\r\nHost: example.com:8080\r\nb: 1\r\nA: 2\r\nContent-Length: 0\r\n\r\n"
        )
    }

    @Test func headWithoutFieldsEndsBehindHost() throws {
        #expect(try Self.text() == "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    }

    @Test(arguments: ["example.com:443", "[2001:db8::1]:443", "127.0.0.1:1", "h:65535", "h:0"])
    func connectNamesAHostWithItsPort(authority: String) throws {
        let text = try Self.text(
            .connect, target: authority, host: authority, fields: [("Proxy-Authorization", "Basic dTpw")])
        #expect(
            text == "CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\nProxy-Authorization: Basic dTpw\r\n\r\n")
    }

    @Test(arguments: [
        "h", "h:", ":443", "h:x", "h:+1", "h:123456", "/", "/h:1", "http://h:1", "u@h:1", "h:1?a", "h:1/", "",
    ])
    func connectToAnInvalidAuthorityIsRefused(target: String) {
        #expect(throws: RequestHead.Failure.invalidTarget) { try Self.text(.connect, target: target) }
    }

    @Test(arguments: ["/", "/a%20b?c=d&e=[]|", "http://h/a", "*", "/\(String(repeating: "a", count: 100_000))"])
    func targetsMayBeLongAndOfEveryForm(target: String) throws {
        #expect(try Self.text(target: target).hasPrefix("GET \(target) HTTP/1.1\r\n"))
    }

    @Test(arguments: ["", " ", "/a b", "/ HTTP/1.1", "/a\r\nX: y", "/\n", "/\t", "/\u{0}", "/\u{7f}", "/é", "/a\u{85}"])
    func targetThatWouldChangeTheRequestIsRefused(target: String) {
        #expect(throws: RequestHead.Failure.invalidTarget) { try Self.text(target: target) }
    }

    @Test(arguments: [
        "", " ", "a b", "h\r\nX: y", "h\n", "h\t", "\u{0}", "h\u{7f}", "é", "h/a", "u@h", "h?", "h#", "h\\",
    ])
    func hostThatWouldChangeTheRequestIsRefused(host: String) {
        #expect(throws: RequestHead.Failure.invalidHost) { try Self.text(host: host) }
    }

    @Test(arguments: ["h", "h:1", "[::1]:443", "xn--mnchen-3ya.example", "a_b.c", "127.0.0.1", "h."])
    func hostIsWrittenAsItIs(host: String) throws {
        #expect(try Self.text(host: host) == "GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
    }

    @Test(arguments: ["", " ", "a b", "a:", "a\r\n", "a\u{0}", "é", "a,b", "\"a\"", "(a)", "a/b", "[a]", "a@b", "a\t"])
    func fieldNameThatIsNoTokenIsRefused(name: String) {
        #expect(throws: RequestHead.Failure.invalidFieldName(name)) {
            try Self.text(fields: [("A", "b"), (name, "x")])
        }
    }

    @Test func everyControlCharacterInAValueIsRefusedButTheTab() throws {
        for byte in UInt8.min...0x7F {
            let value = "a" + String(UnicodeScalar(byte)) + "b"
            guard byte < 0x20 && byte != UInt8(ascii: "\t") || byte == 0x7F else {
                #expect(try Self.text(fields: [("A", value)]) == "GET / HTTP/1.1\r\nHost: h\r\nA: \(value)\r\n\r\n")
                continue
            }
            #expect(throws: RequestHead.Failure.invalidFieldValue(name: "A")) { try Self.text(fields: [("A", value)]) }
        }
    }

    @Test func textOutsideASCIIMayBeInAValue() throws {
        #expect(try Self.text(fields: [("A", "žlutý")]) == "GET / HTTP/1.1\r\nHost: h\r\nA: žlutý\r\n\r\n")
    }

    @Test(arguments: ["Host", "host", "HOST"])
    func secondHostIsRefused(name: String) {
        #expect(throws: RequestHead.Failure.secondHost) { try Self.text(fields: [(name, "x")]) }
    }
}

@Suite struct RequestMethodTests {
    @Test(arguments: ["GET", "REPORT", "m-search", "!#$%&'*+-.^_`|~09"])
    func nameIsAToken(_ name: String) { #expect(RequestMethod(rawValue: name)?.rawValue == name) }

    @Test(arguments: ["", " ", "A B", "A\r\n", "é", "A:", "A/B", "\0"])
    func invalidMethodNamesAreRefused(_ name: String) { #expect(RequestMethod(rawValue: name) == nil) }

    @Test(arguments: [
        ("GET", true), ("REPORT", true), ("PUT", true), ("POST", false), ("PATCH", false), ("get", false),
    ])
    func repeatedRequestsAreHarmlessForSomeMethods(_ name: String, _ isIdempotent: Bool) {
        #expect(RequestMethod(rawValue: name)?.isIdempotent == isIdempotent)
    }
}
