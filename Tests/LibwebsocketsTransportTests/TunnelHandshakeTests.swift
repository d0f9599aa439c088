// What a proxy is asked, and what is made of its answer.
import StreamTransport
import Testing

@testable import LibwebsocketsTransport

@Suite struct TunnelHandshakeTests {
    private static func progress(_ text: String) -> TunnelHandshake.Progress {
        var handshake = TunnelHandshake()
        return handshake.receive(Array(text.utf8))
    }

    private static func endpoint(_ host: String, _ port: UInt16, isSecure: Bool = true) -> TransportEndpoint {
        TransportEndpoint(isSecure: isSecure, host: host, port: port, target: "/secret")
    }

    // MARK: The question

    @Test(arguments: [true, false])
    func theAuthorityAlwaysHasItsPort(isSecure: Bool) {
        let proxy = ProxyServer(host: "proxy", port: 3128)
        for port in [80, 443, 8080] as [UInt16] {
            let request = TunnelHandshake.request(for: Self.endpoint("h", port, isSecure: isSecure), through: proxy)
            #expect(
                String(decoding: request, as: UTF8.self)
                    == "CONNECT h:\(port) HTTP/1.1\r\nHost: h:\(port)\r\n\r\n")
        }
    }

    @Test func anIPv6AddressStandsInBrackets() {
        let request = TunnelHandshake.request(
            for: Self.endpoint("2001:db8::1", 443), through: ProxyServer(host: "::1", port: 1))
        #expect(
            String(decoding: request, as: UTF8.self)
                == "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n")
    }

    @Test func theCredentialGoesToTheProxy() {
        let credential = ProxyServer.Credential(userName: Array("u".utf8), password: Array("p".utf8))
        let proxy = ProxyServer(host: "p", port: 1, credential: credential)
        let request = TunnelHandshake.request(for: Self.endpoint("h", 1), through: proxy)
        #expect(
            String(decoding: request, as: UTF8.self)
                == "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\nProxy-Authorization: Basic dTpw\r\n\r\n")
    }

    // MARK: Success

    private static let successes = [
        "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n", "HTTP/1.1 200\r\n\r\n",
        "HTTP/1.1 200 \r\n\r\n", "HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n", "HTTP/1.1 299 x\n\n",
        "HTTP/1.9 200 x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\tc\r\n\r\n", "HTTP/1.1 200 OK\r\n \r\nX:\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: \u{0}\u{1}é\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 102 x\r\nX: y\r\n\r\nHTTP/1.1 103 x\r\n\r\nHTTP/1.0 200 x\r\n\r\n",
    ]

    @Test(arguments: Self.successes)
    func aSuccessIsTakenToItsLastByteAndNoFurther(_ text: String) {
        let expected = TunnelHandshake.Progress(byteCount: text.utf8.count, answer: .established)
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
            #expect(handshake.receive(bytes[..<cut]) == .init(byteCount: cut, answer: .incomplete))
            #expect(handshake.receive(bytes[cut...]) == .init(byteCount: bytes.count - cut, answer: .established))
        }
        var handshake = TunnelHandshake()
        for byte in bytes.dropLast() {
            #expect(handshake.receive([byte]) == .init(byteCount: 1, answer: .incomplete))
        }
        #expect(handshake.receive(bytes.suffix(1)) == .init(byteCount: 1, answer: .established))
    }

    // MARK: Refusal

    @Test(arguments: [101, 300, 302, 400, 403, 404, 407, 429, 500, 502, 503, 504, 599, 999])
    func anyOtherStatusCodeIsARefusal(_ code: Int) {
        let refused = TunnelHandshake.Answer.failed(.proxyRefused(statusCode: code))
        let line = "HTTP/1.1 \(code) Why\r\n"
        for text in [line, line + "Content-Length: 1000000\r\n\r\n<html>", "HTTP/1.1 100 Continue\r\n\r\n" + line] {
            #expect(Self.progress(text).answer == refused)
        }
        #expect(Self.progress("HTTP/1.1 \(code)\n").answer == refused)
        #expect(Self.progress("HTTP/1.1 \(code)").answer == .incomplete)
    }

    // MARK: Something else

    @Test(arguments: [
        "<html>", "\r\nHTTP/1.1 200 OK\r\n\r\n", "http/1.1 200 OK\r\n\r\n", "HTTP/2 200\r\n\r\n",
        "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.x 200 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/1.1\t200 OK\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 000 OK\r\n\r\n", "HTTP/1.1 099 OK\r\n\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 -20 OK\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.11 200 OK\r\n\r\n",
        "ICY 200 OK\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}", "\u{5}\u{0}", "SSH-2.0-OpenSSH\r\n", "\u{0}",
        "HTTP/1.1 100 Continue\r\n\r\n<html>",
    ])
    func whatIsNotHTTPIsNoticedAtItsFirstByte(_ text: String) {
        let bytes = Array(text.utf8)
        let whole = Self.progress(text)
        #expect(whole.answer == .failed(.notHTTP))
        var handshake = TunnelHandshake()
        let answers = bytes.map { handshake.receive([$0]).answer }
        #expect(answers.firstIndex(of: .failed(.notHTTP)) == whole.byteCount - 1)
    }

    @Test(arguments: [0, 1, 7, 12, 13, 19])
    func aBeginningIsNoAnswer(_ count: Int) {
        let beginning = String("HTTP/1.1 200 OK\r\n\r\n".prefix(count))
        #expect(Self.progress(beginning) == .init(byteCount: count, answer: count == 19 ? .established : .incomplete))
    }

    // MARK: The limit

    private static func answer(byteCount: Int) -> String {
        let (start, end) = ("HTTP/1.1 200 OK\r\nX: ", "\r\n\r\n")
        return start + String(repeating: "x", count: byteCount - start.utf8.count - end.utf8.count) + end
    }

    @Test(arguments: [-1, 0, 1, 1_000_000])
    func anAnswerHasALimit(_ excess: Int) {
        let limit = TunnelHandshake.byteCountLimit
        let progress = Self.progress(Self.answer(byteCount: limit + excess))
        let tooLarge = TunnelHandshake.Answer.failed(.headerSectionTooLarge(limit: 32_768))
        #expect(progress.answer == (excess > 0 ? tooLarge : .established))
        #expect(progress.byteCount == min(limit, limit + excess))
    }

    @Test func interimResponsesHaveNoLimitOfTheirOwn() {
        let interim = "HTTP/1.1 100 Continue\r\n\r\n"
        let text = String(repeating: interim, count: 32_768 / interim.utf8.count + 1)
        #expect(Self.progress(text).answer == .failed(.headerSectionTooLarge(limit: 32_768)))
    }

    @Test func aReasonWithoutAnEndIsTooLarge() {
        let text = "HTTP/1.1 502 " + String(repeating: "x", count: 70_000)
        #expect(Self.progress(text).answer == .failed(.headerSectionTooLarge(limit: 32_768)))
    }
}
