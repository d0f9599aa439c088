// The request to a proxy, and readings of its answer.
import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite struct TunnelHandshakeTests {
    /// The result of reading some bytes.
    private struct Progress: Equatable {
        /// The number of bytes that were read.
        let byteCount: Int
        let outcome: ProxyGreeting.Outcome
    }

    private static func receive(_ bytes: some Sequence<UInt8>, by handshake: inout TunnelHandshake) -> Progress {
        var position = 0
        let outcome = Array(bytes).withUnsafeBytes { handshake.receive($0, at: &position) }
        return Progress(byteCount: position, outcome: outcome)
    }

    private static func progress(_ bytes: some Sequence<UInt8>) -> Progress {
        var handshake = TunnelHandshake()
        return Self.receive(bytes, by: &handshake)
    }

    private static func progress(_ text: String) -> Progress { Self.progress(text.utf8) }

    private static func endpoint(_ host: String, _ port: UInt16, isSecure: Bool = true) -> TransportEndpoint {
        TransportEndpoint(isSecure: isSecure, host: host, port: port, target: "/secret")
    }

    // MARK: The question

    @Test(arguments: [true, false])
    func theAuthorityAlwaysHasItsPort(isSecure: Bool) throws {
        let proxy = ProxyServer(host: "proxy", port: 3128)
        for port in [80, 443, 8080] as [UInt16] {
            let request = try TunnelHandshake.request(for: Self.endpoint("h", port, isSecure: isSecure), through: proxy)
            #expect(
                String(decoding: request, as: UTF8.self)
                    == "CONNECT h:\(port) HTTP/1.1\r\nHost: h:\(port)\r\n\r\n")
        }
    }

    @Test func anIPv6AddressStandsInBrackets() throws {
        let request = try TunnelHandshake.request(
            for: Self.endpoint("2001:db8::1", 443), through: ProxyServer(host: "::1", port: 1))
        #expect(
            String(decoding: request, as: UTF8.self)
                == "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n")
    }

    @Test func theCredentialGoesToTheProxy() throws {
        let credential = ProxyServer.Credential(userName: Array("u".utf8), password: Array("p".utf8))
        let proxy = ProxyServer(host: "p", port: 1, credential: credential)
        let request = try TunnelHandshake.request(for: Self.endpoint("h", 1), through: proxy)
        #expect(
            String(decoding: request, as: UTF8.self)
                == "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\nProxy-Authorization: Basic dTpw\r\n\r\n")
    }

    @Test(arguments: ["user@origin.test", "origin.test/", "origin.test?", "a b", "a\r\nX: y", ""])
    func hostThatWouldChangeTheRequestIsNotSent(_ host: String) {
        let failure = TransportFailure(phase: .send, cause: .invalidRequest("no proxy can be asked for the host"))
        #expect(throws: failure) {
            try TunnelHandshake.request(for: Self.endpoint(host, 443), through: ProxyServer(host: "p", port: 1))
        }
    }

    // MARK: Success

    private static let successes = [
        "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 200\r\n\r\n",
        "HTTP/1.1 200 \r\n\r\n", "HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n", "HTTP/1.1 299 x\n\n",
        "HTTP/1.9 200 x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\tc\r\n\r\n", "HTTP/1.1 200 OK\r\nX: \u{9}é\r\nY:\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\nContent-Length: 1, 2\r\nTransfer-Encoding: gzip\r\n\r\n",
        "\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 102 x\r\nX: y\r\n\r\nHTTP/1.1 103 x\r\n\r\nHTTP/1.0 200 x\r\n\r\n",
    ]

    @Test(arguments: Self.successes)
    func aSuccessIsTakenToItsLastByteAndNoFurther(_ text: String) {
        let expected = Progress(byteCount: text.utf8.count, outcome: .established)
        #expect(Self.progress(text) == expected)
        for rest in ["\r\n", "\u{16}\u{3}\u{1}", "HTTP/1.1 404 Not Found\r\n\r\n"] {
            #expect(Self.progress(text + rest) == expected)
        }
    }

    @Test(arguments: Self.successes)
    func splittingTheAnswerDoesNotChangeIt(_ text: String) {
        let bytes = Array(text.utf8)
        for cut in 1..<bytes.count {
            var handshake = TunnelHandshake()
            #expect(Self.receive(bytes[..<cut], by: &handshake) == Progress(byteCount: cut, outcome: .incomplete))
            let rest = Progress(byteCount: bytes.count - cut, outcome: .established)
            #expect(Self.receive(bytes[cut...], by: &handshake) == rest)
        }
        var handshake = TunnelHandshake()
        for byte in bytes.dropLast() {
            #expect(Self.receive([byte], by: &handshake) == Progress(byteCount: 1, outcome: .incomplete))
        }
        #expect(Self.receive(bytes.suffix(1), by: &handshake) == Progress(byteCount: 1, outcome: .established))
    }

    // MARK: Refusal

    @Test(arguments: [101, 300, 302, 400, 403, 404, 407, 429, 500, 502, 503, 504, 599, 999])
    func anyOtherStatusCodeIsARefusal(_ code: Int) {
        let head = "HTTP/1.1 \(code) Why\r\nContent-Length: 1000000\r\n\r\n"
        let refused = Progress(byteCount: head.utf8.count, outcome: .failed(.proxyRefused(statusCode: code)))
        #expect(Self.progress(head) == refused)
        #expect(Self.progress(head + "<html>") == refused)
        #expect(Self.progress("HTTP/1.1 \(code)\n\n").outcome == refused.outcome)
        #expect(Self.progress("HTTP/1.1 100 Continue\r\n\r\n" + head).outcome == refused.outcome)
    }

    /// RFC 9112 section 8: the rest of a truncated header section cannot be assumed.
    @Test func refusalCountsOnceItsHeaderSectionIsWhole() {
        let head = "HTTP/1.1 407 Why\r\nProxy-Authenticate: Basic\r\n\r\n"
        for count in 0..<head.utf8.count {
            #expect(Self.progress(head.utf8.prefix(count)).outcome == .incomplete)
        }
    }

    /// RFC 9112 section 6.3 rule 5: a user agent discards such a response, and its status code with it.
    @Test(arguments: [
        ("Content-Length: x", TransportFailure.Cause.notHTTP), ("Content-Length: 5, 6", .notHTTP),
        ("Transfer-Encoding: gzip", .unsupportedTransferCoding),
    ])
    func refusalWithInvalidFramingFailsWithItsCause(_ line: String, cause: TransportFailure.Cause) {
        #expect(Self.progress("HTTP/1.1 407 Why\r\n\(line)\r\n\r\n").outcome == .failed(cause))
    }

    // MARK: Something else

    @Test(arguments: [
        "<html>", "\r\n\r\n\r\n\r\n\n", "\rHTTP/1.1 200 OK\r\n\r\n", "http/1.1 200 OK\r\n\r\n", "HTTP/2 200\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.x 200 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1\t200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 000 OK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 -20 OK\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.11 200 OK\r\n\r\n",
        "ICY 200 OK\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}", "\u{5}\u{0}", "SSH-2.0-OpenSSH\r\n", "\u{0}",
        "HTTP/1.1 100 Continue\r\n\r\n<html>",
    ])
    func invalidHTTPFailsAtItsFirstInvalidByte(_ text: String) {
        let whole = Self.progress(text)
        #expect(whole.outcome == .failed(.notHTTP))
        // The wrong byte is not read.
        #expect(Self.progress(text.utf8.prefix(whole.byteCount)).outcome == .incomplete)
        #expect(Self.progress(text.utf8.prefix(whole.byteCount + 1)) == whole)
    }

    /// RFC 9112 section 5 and RFC 9110 section 5.5: a recipient rejects them, or replaces them with spaces.
    @Test(arguments: [
        "X: \u{0}", "X: a\rb", "X: \u{7F}", "X : y", ": y", "no colon", " folded", "X\u{1}: y",
    ])
    func invalidFieldLineIsNotHTTP(_ line: String) {
        #expect(Self.progress("HTTP/1.1 200 OK\r\n\(line)\r\n\r\n").outcome == .failed(.notHTTP))
    }

    @Test(arguments: [0, 1, 7, 12, 13, 19])
    func truncatedAnswerIsIncomplete(_ count: Int) {
        let outcome = count == 19 ? ProxyGreeting.Outcome.established : .incomplete
        let beginning = String("HTTP/1.1 200 OK\r\n\r\n".prefix(count))
        #expect(Self.progress(beginning) == Progress(byteCount: count, outcome: outcome))
    }

    // MARK: The limit

    private static func answer(byteCount: Int) -> String {
        let (start, end) = ("HTTP/1.1 200 OK\r\nX: ", "\r\n\r\n")
        return start + String(repeating: "x", count: byteCount - start.utf8.count - end.utf8.count) + end
    }

    @Test(arguments: [-1, 0, 1, 1_000_000])
    func anAnswerHasALimit(_ excess: Int) {
        let progress = Self.progress(Self.answer(byteCount: 65_536 + excess))
        #expect(progress.outcome == (excess > 0 ? Self.tooLarge : .established))
        #expect(progress.byteCount == min(65_536, 65_536 + excess))
    }

    private static let tooLarge = ProxyGreeting.Outcome.failed(.headerSectionTooLarge(limit: 65_536))

    @Test func interimResponsesCountTowardsTheLimit() {
        let interim = "HTTP/1.1 100 Continue\r\nX: \(String(repeating: "x", count: 2_000))\r\n\r\n"
        #expect(Self.progress(String(repeating: interim, count: 33)).outcome == Self.tooLarge)
    }

    @Test func aReasonWithoutAnEndIsTooLarge() {
        let text = "HTTP/1.1 502 " + String(repeating: "x", count: 70_000)
        #expect(Self.progress(text).outcome == Self.tooLarge)
    }
}
