import Foundation
import Testing

@testable import ChappieSignIn

/// The requests that the callback accepts, and those that it refuses.
@Suite struct BrowserCallbackStateMachineTests {
    private static let port: UInt16 = 1_455
    private static let state = "the-right-state"

    private static func machine() -> CallbackStateMachine {
        CallbackStateMachine(port: Self.port, state: Self.state)
    }

    private static func request(
        _ target: String, method: String = "GET", fields: [String] = ["Host: 127.0.0.1:1455"]
    ) throws -> CallbackRequest {
        let head = "\(method) \(target) HTTP/1.1\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
        guard case .complete(let request) = CallbackRequest.read(Array(head.utf8), limit: 8_192) else {
            throw NoRequest()
        }
        return request
    }

    private struct NoRequest: Error {}

    private static func callback(_ query: String) throws -> CallbackRequest {
        try Self.request("/auth/callback?\(query)")
    }

    @Test func aCodeWithTheRightStateIsReportedAndItsAnswerWaits() throws {
        var machine = Self.machine()
        #expect(try machine.received(Self.callback("code=ac_1&state=\(Self.state)")) == .holdAndReport(.code("ac_1")))
    }

    @Test(arguments: [
        "code=ac_1", "code=ac_1&state=", "code=ac_1&state=wrong", "code=ac_1&state=the-right-statE",
        "code=ac_1&state=the-right-state2", "code=ac_1&state=the-right-stat", "state=", "", "error=access_denied",
        "error=access_denied&state=wrong", "code=a&state=the-right-state&state=the-right-state",
        "code=%zz&state=the-right-state",
    ])
    func callbackWithAWrongStateIsRefusedWithoutEffect(query: String) throws {
        var machine = Self.machine()
        #expect(try machine.received(Self.callback(query)) == .answer(.wrongState))
        #expect(CallbackPage.wrongState.statusCode == 400)
        #expect(try machine.received(Self.callback("code=c&state=\(Self.state)")) == .holdAndReport(.code("c")))
    }

    @Test func laterCallbackAfterTheFirstIsRefused() throws {
        for first in ["code=c&state=\(Self.state)", "error=e&state=\(Self.state)", "state=\(Self.state)"] {
            var machine = Self.machine()
            #expect(try machine.received(Self.callback(first)) != .answer(.returnedBefore))
            for second in ["code=d&state=\(Self.state)", "error=e&state=\(Self.state)"] {
                #expect(try machine.received(Self.callback(second)) == .answer(.returnedBefore))
            }
            #expect(try machine.received(Self.callback("code=d&state=wrong")) == .answer(.wrongState))
            #expect(try machine.received(Self.request("/cancel")) == .answer(.returnedBefore))
        }
    }

    @Test(arguments: [
        ("error=access_denied&error_description=The+person+said+no.", "The person said no."),
        ("error=access_denied", "access_denied"), ("error=server_error&error_description=", "server_error"),
        ("error=access_denied&error_description=missing_codex_entitlement", "missing_codex_entitlement"),
        ("error=e&error_description=It+was+the-right-state.", "It was [redacted]."), ("error=e&code=c", "e"),
        ("error=a%1B%5B31mb", "a[31mb"), ("error_description=alone", "alone"),
    ])
    func anErrorIsReportedInTheServersWords(query: String, words: String) throws {
        var machine = Self.machine()
        #expect(
            try machine.received(Self.callback("\(query)&state=\(Self.state)"))
                == .answerAndReport(.denied(words), .denied(words)))
    }

    @Test(arguments: ["", "&code=", "&code=a&code=b", "&error="])
    func callbackWithoutCodeOrErrorIsInvalid(query: String) throws {
        var machine = Self.machine()
        #expect(
            try machine.received(Self.callback("state=\(Self.state)\(query)")) == .answerAndReport(.invalid, .invalid))
    }

    @Test(arguments: ["127.0.0.1:1455", "localhost:1455", "LocalHost:1455", "[::1]:1455"])
    func loopbackHostAndOriginAreAccepted(host: String) throws {
        var machine = Self.machine()
        let request = try Self.request(
            "/auth/callback?code=c&state=\(Self.state)", fields: ["Host: \(host)", "Origin: http://\(host)"])
        #expect(machine.received(request) == .holdAndReport(.code("c")))
    }

    /// DNS rebinding: a page's own name resolves to this machine, and the browser sends that name.
    @Test(arguments: [
        ["Host: evil.example:1455"], ["Host: evil.example"], ["Host: 127.0.0.1"], ["Host: 127.0.0.1:1456"],
        ["Host: localhost"], ["Host: 127.0.0.1:1455.evil.example"], ["Host: "], [],
        ["Host: 127.0.0.1:1455", "Host: 127.0.0.1:1455"], ["Host: 127.0.0.1:01455"], ["Host: 0.0.0.0:1455"],
        ["Host: user@127.0.0.1:1455"],
        // A page that makes a request by itself.
        ["Host: 127.0.0.1:1455", "Origin: https://evil.example"], ["Host: 127.0.0.1:1455", "Origin: null"],
        ["Host: 127.0.0.1:1455", "Origin: http://127.0.0.1:1456"], ["Host: 127.0.0.1:1455", "Origin: "],
        ["Host: 127.0.0.1:1455", "Origin: https://127.0.0.1:1455"],
        ["Host: 127.0.0.1:1455", "Origin: http://127.0.0.1:1455", "Origin: https://evil.example"],
    ])
    func foreignHostOrOriginIsRefusedWithoutEffect(fields: [String]) throws {
        for target in ["/auth/callback?code=c&state=\(Self.state)", "/cancel", "/"] {
            var machine = Self.machine()
            #expect(
                try machine.received(Self.request(target, fields: fields)) == .answer(.refused(statusCode: 403)))
            #expect(try machine.received(Self.callback("code=c&state=\(Self.state)")) == .holdAndReport(.code("c")))
        }
    }

    @Test(arguments: ["POST", "HEAD", "OPTIONS", "PUT", "get", "CONNECT"])
    func onlyGetIsAnswered(method: String) throws {
        var machine = Self.machine()
        let request = try Self.request("/auth/callback?code=c&state=\(Self.state)", method: method)
        #expect(machine.received(request) == .answer(.refused(statusCode: 405)))
    }

    @Test(arguments: ["/", "/favicon.ico", "/auth/callback/", "/auth", "/success", "//auth/callback", "/Cancel"])
    func otherPathsAreAnswered404(path: String) throws {
        var machine = Self.machine()
        #expect(
            try machine.received(Self.request("\(path)?code=c&state=\(Self.state)"))
                == .answer(.refused(statusCode: 404)))
    }

    @Test(arguments: [nil, "none", "same-origin"])
    func aPersonOrAProgramMayCancel(site: String?) throws {
        var machine = Self.machine()
        let fields = ["Host: 127.0.0.1:1455"] + [site].compactMap { $0 }.map { "Sec-Fetch-Site: \($0)" }
        #expect(
            try machine.received(Self.request("/cancel", fields: fields))
                == .answerAndReport(.cancelled, .cancelled))
        #expect(try machine.received(Self.callback("code=c&state=\(Self.state)")) == .answer(.returnedBefore))
    }

    @Test(arguments: ["cross-site", "same-site", "", "NONE", "none, cross-site"])
    func aPageElsewhereMayNotCancel(site: String) throws {
        var machine = Self.machine()
        let fields = ["Host: 127.0.0.1:1455", "Sec-Fetch-Site: \(site)"]
        #expect(
            try machine.received(Self.request("/cancel", fields: fields)) == .answer(.refused(statusCode: 403)))
        #expect(try machine.received(Self.callback("code=c&state=\(Self.state)")) == .holdAndReport(.code("c")))
    }
}

/// The pages of the callback.
@Suite struct BrowserCallbackPageTests {
    private static let pages: [CallbackPage] = [
        .signedIn, .cancelled, .returnedBefore, .wrongState, .invalid, .denied("no"), .failed("No."),
        .refused(statusCode: 403), .refused(statusCode: 404), .refused(statusCode: 405), .refused(statusCode: 431),
    ]

    private static func parts(_ page: CallbackPage) throws -> (head: [Substring], body: Substring) {
        let text = String(decoding: page.response, as: UTF8.self)
        let end = try #require(text.range(of: "\r\n\r\n"))
        return (text[..<end.lowerBound].split(separator: "\r\n"), text[end.upperBound...])
    }

    @Test(arguments: pages)
    func everyPageIsCompleteAndNotCached(page: CallbackPage) throws {
        let (head, body) = try Self.parts(page)
        #expect(head.first?.hasPrefix("HTTP/1.1 \(page.statusCode) ") == true)
        #expect(head.contains("Content-Length: \(body.utf8.count)"))
        for field in [
            "Cache-Control: no-store", "Referrer-Policy: no-referrer", "Connection: close",
            "Content-Type: text/html; charset=utf-8", "X-Content-Type-Options: nosniff",
        ] {
            #expect(head.contains { $0 == field })
        }
        #expect(head.contains { $0.hasPrefix("Content-Security-Policy: default-src 'none'; ") })
        #expect(head.contains("Allow: GET") == (page.statusCode == 405))
        #expect(body.hasPrefix("<!doctype html>") && body.contains("light dark") && body.utf8.count < 4_096)
        #expect(!body.contains("<script") && !body.contains("src=") && !body.contains("href="))
    }

    @Test func externalTextIsEscaped() throws {
        let words = #"<script>alert("1")</script> & '<img src=x>"#
        let (_, body) = try Self.parts(.denied(words))
        #expect(!body.contains("<script") && !body.contains("<img"))
        #expect(
            body.contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;&lt;img src=x&gt;"))
    }

    @Test func onlyOnePageReportsSuccess() {
        #expect(Self.pages.filter { $0.title == "You are signed in" } == [.signedIn])
    }
}
