// One exchange with any server: the request, the answer with any status code, and the failures.

import Foundation
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieTransport

@Suite struct DocumentExchangeTests {
    private static let answer: [ScriptStep] = [.opened(200), .body(#"{"a""#), .body(":1}"), .ended(.complete)]

    private static func request(_ url: String, _ content: (type: String, body: [UInt8])? = nil) throws
        -> DocumentRequest
    {
        DocumentRequest(url: try #require(URL(string: url)), content: content)
    }

    @Test func postedDocumentHasItsTypeAndNoCredential() async throws {
        let fixture = TurnFixture([Self.answer]) {
            $0.credential = { _ in ChappieCredential(bearerToken: "t", accountID: "acc") }
        }
        var request = try Self.request("https://auth.example:8443/oauth/token?x=1", (type: "a/b", body: [1, 2]))
        request.fields = [(name: "originator", value: "me")]
        let document = try await fixture.instance.exchange(request)
        #expect(document.statusCode == 200)
        #expect(String(decoding: document.body, as: UTF8.self) == #"{"a":1}"#)
        let sent = fixture.transport.requests[0]
        #expect(
            sent.endpoint
                == TransportEndpoint(isSecure: true, host: "auth.example", port: 8_443, target: "/oauth/token?x=1"))
        guard case .post(let body) = sent.exchange else {
            Issue.record("\(sent.exchange)")
            return
        }
        #expect(body == [1, 2])
        #expect(sent.value(of: "Content-Type") == "a/b")
        #expect(sent.value(of: "Accept") == "application/json")
        #expect(sent.value(of: "originator") == "me")
        #expect(sent.value(of: "Authorization") == nil)
        #expect(sent.value(of: "ChatGPT-Account-ID") == nil)
    }

    @Test func withoutContentItIsAGet() async throws {
        let fixture = TurnFixture([Self.answer])
        _ = try await fixture.instance.exchange(try Self.request("http://h"))
        let sent = fixture.transport.requests[0]
        #expect(sent.isResumption)
        #expect(sent.value(of: "Content-Type") == nil)
        #expect(sent.endpoint.target == "/")
    }

    @Test(arguments: [200, 302, 400, 401, 404, 500])
    func everyStatusCodeIsAnAnswer(status: Int) async throws {
        let fixture = TurnFixture([.refusal(status, body: "no")])
        let document = try await fixture.instance.exchange(try Self.request("https://h/x"))
        #expect(document.statusCode == status)
        #expect(String(decoding: document.body, as: UTF8.self) == "no")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test(arguments: ["ftp://h/", "file:///x", "https:///x"])
    func invalidURLSendsNoRequest(text: String) async throws {
        let fixture = TurnFixture([Self.answer])
        let error = await #expect(throws: ChappieClientError.self) {
            try await fixture.instance.exchange(try Self.request(text))
        }
        #expect(error?.tag == "request.invalid")
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func anAnswerThatIsTooLargeFails() async throws {
        let fixture = TurnFixture([Self.answer]) { $0.limits.eventByteCount = 3 }
        let error = await #expect(throws: ChappieClientError.self) {
            try await fixture.instance.exchange(try Self.request("https://h/x"))
        }
        #expect(error?.tag == "event.too-large")
    }

    @Test(arguments: [
        ("https://h/a/", "/a/"), ("https://h", "/"), ("https://h?x=1", "/?x=1"), ("https://h/a?b=%26#c", "/a?b=%26"),
    ])
    func aURLKeepsItsPathAsItIs(text: String, target: String) throws {
        let url = try #require(URL(string: text))
        #expect(TransportEndpoint(url: url)?.target == target)
    }
}

@Suite struct PercentEncodingTests {
    @Test(arguments: [
        ("aZ09-._~", "aZ09-._~"), ("a b&c=d+e", "a%20b%26c%3Dd%2Be"), ("https://h/x", "https%3A%2F%2Fh%2Fx"),
        ("ä\u{0}\n", "%C3%A4%00%0A"), ("", ""),
    ])
    func everythingButTheUnreservedIsEncoded(text: String, encoded: String) {
        #expect(PercentEncoding.encode(text) == encoded)
    }
}
