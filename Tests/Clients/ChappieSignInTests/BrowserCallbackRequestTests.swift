import Testing

@testable import ChappieSignIn

/// Requests of browsers, and malformed requests.
@Suite struct BrowserCallbackRequestTests {
    private static let limit = 8_192

    private static func read(_ text: String) -> CallbackRequest.Reading {
        CallbackRequest.read(Array(text.utf8), limit: Self.limit)
    }

    private static func complete(_ text: String) throws -> CallbackRequest {
        guard case .complete(let request) = Self.read(text) else { throw Incomplete() }
        return request
    }

    private struct Incomplete: Error {}

    @Test func aRequestIsRead() throws {
        let request = try Self.complete(
            "GET /auth/callback?code=a%2Fb&state=s+t&empty=&bare HTTP/1.1\r\nHost: 127.0.0.1:1455\r\n"
                + "ORIGIN:http://x \t\r\nSec-Fetch-Site:\tnone\r\n\r\n")
        #expect(request.method == "GET" && request.path == "/auth/callback")
        #expect(request.parameter("code") == "a/b" && request.parameter("state") == "s t")
        #expect(request.parameter("empty")?.isEmpty == true && request.parameter("bare")?.isEmpty == true)
        #expect(request.parameter("other") == nil)
        #expect(request.fields["host"] == ["127.0.0.1:1455"])
        #expect(request.fields["origin"] == ["http://x"] && request.fields["sec-fetch-site"] == ["none"])
    }

    @Test func aHeadThatIsCutAnywhereIsIncomplete() throws {
        let whole = "GET /cancel HTTP/1.1\r\nHost: localhost:1\r\nAccept: */*\r\n\r\n"
        let bytes = Array(whole.utf8)
        for count in 0..<bytes.count {
            #expect(CallbackRequest.read(Array(bytes[..<count]), limit: Self.limit) == .incomplete)
        }
        // What comes behind it does not matter.
        #expect(try Self.complete(whole) == Self.complete(whole + "GET /again HTTP/1.1\r\n\r\n"))
    }

    @Test func aHeadIsAsLargeAsTheLimitAndNoLarger() throws {
        let frame = "GET / HTTP/1.1\r\nX: \r\n\r\n".utf8.count
        let largest = "GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: Self.limit - frame))\r\n\r\n"
        #expect(largest.utf8.count == Self.limit)
        #expect(try Self.complete(largest).path == "/")
        let larger = "GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: Self.limit - frame + 1))\r\n\r\n"
        #expect(Self.read(larger) == .malformed(statusCode: 431))
        #expect(Self.read(String(repeating: "x", count: Self.limit - 1)) == .incomplete)
        #expect(Self.read(String(repeating: "x", count: Self.limit)) == .malformed(statusCode: 431))
    }

    @Test(arguments: [
        "\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET / FTP/1.1\r\n\r\n",
        "GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1 x\r\n\r\n", "GET http://127.0.0.1/ HTTP/1.1\r\n\r\n",
        "GET * HTTP/1.1\r\n\r\n", " / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : x\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n", "GET / HTTP/1.1\r\n folded\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\r\n\r\n",
    ])
    func malformedRequestIsRefused(text: String) {
        #expect(Self.read(text) == .malformed(statusCode: 400))
    }

    @Test func bytesThatAreNoTextAreRefused() {
        let bytes = Array("GET /".utf8) + [0xFF] + Array(" HTTP/1.1\r\n\r\n".utf8)
        #expect(CallbackRequest.read(bytes, limit: Self.limit) == .malformed(statusCode: 400))
    }

    @Test(arguments: ["code=%", "code=%4", "code=%zz", "%=1", "code=%ff", "a=1&code=%g0", "code=%+1"])
    func aQueryThatIsNotWellFormedHasNoParameters(query: String) throws {
        let request = try Self.complete("GET /?\(query) HTTP/1.1\r\n\r\n")
        #expect(request.parameters == nil && request.parameter("code") == nil && request.parameter("a") == nil)
    }

    /// RFC 6749 section 3.1: not more than once.
    @Test func repeatedParameterHasNoValue() throws {
        #expect(try Self.complete("GET /?state=a&state=a HTTP/1.1\r\n\r\n").parameter("state") == nil)
    }

    @Test func aValueMayHaveAnEqualsSignAndAQuestionMark() throws {
        #expect(try Self.complete("GET /?code=a=b?c HTTP/1.1\r\n\r\n").parameter("code") == "a=b?c")
    }
}
