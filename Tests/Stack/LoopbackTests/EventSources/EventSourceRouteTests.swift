import ChappieTestServer
import EventSource
import Foundation
import StreamTransport
import Testing

/// Redirects, compression, proxies and TLS of event sources, over real sockets.
@Suite(.timeLimit(.minutes(10))) struct EventSourceRouteTests {
    // MARK: Redirects

    @Test(arguments: [301, 302, 303, 307, 308])
    func redirectToAnotherOriginIsFollowedWithoutCredentials(_ statusCode: Int) async throws {
        let (server, other) = (try RawServer(), try RawServer())
        var wish = EventSourceRequest(url: try server.eventsURL)
        wish.fields = [("Authorization", "Bearer secret"), ("Cookie", "secret"), ("X-A", "1")]
        let outcome = EventSource.loopback(wish).reading()
        let first = try await server.request()
        #expect(first.value(of: "Authorization") == "Bearer secret")
        first.answer("\(statusCode) Moved", ["Location: http://127.0.0.1:\(other.port)/new"])
        let second = try await other.request()
        #expect(second.line == "GET /new")
        #expect(second.value(of: "Authorization") == nil)
        #expect(second.value(of: "Cookie") == nil)
        #expect(second.value(of: "X-A") == "1")
        #expect(second.value(of: "Accept") == "text/event-stream")
        second.stream("id: 1\ndata: a\n\n")
        // A permanent redirect is remembered, a temporary one is not.
        let third = try await (statusCode == 301 || statusCode == 308 ? other : server).request()
        #expect(third.value(of: "Last-Event-ID") == "1")
        third.answer("204 No Content")
        #expect(await outcome.value.data == ["a"])
    }

    /// Within one chain; the next attempt begins with the program's request.
    @Test func credentialsDoNotComeBackWithTheFirstOrigin() async throws {
        let (server, other) = (try RawServer(), try RawServer())
        var wish = EventSourceRequest(url: try server.eventsURL)
        wish.fields = [("Authorization", "Bearer secret")]
        let outcome = EventSource.loopback(wish).reading()
        try await server.request().answer("307 Moved", ["Location: http://127.0.0.1:\(other.port)/b"])
        try await other.request().answer("307 Moved", ["Location: http://127.0.0.1:\(server.port)/c"])
        let third = try await server.request()
        #expect(third.line == "GET /c" && third.value(of: "Authorization") == nil)
        third.answer("307 Moved", ["Location: /d"])
        let fourth = try await server.request()
        #expect(fourth.line == "GET /d" && fourth.value(of: "Authorization") == nil)
        fourth.stream("data: a\n\n")
        let next = try await server.request()
        #expect(next.line == "GET /events?x=1" && next.value(of: "Authorization") == "Bearer secret")
        next.answer("204 No Content")
        #expect(await outcome.value.data == ["a"])
    }

    @Test func redirectWithinAnOriginKeepsCredentials() async throws {
        let server = try RawServer()
        var wish = EventSourceRequest(url: try server.eventsURL)
        wish.fields = [("Authorization", "Bearer secret")]
        let outcome = EventSource.loopback(wish).reading()
        try await server.request().answer("302 Found", ["Location: ../b/./c?d#e"])
        let second = try await server.request()
        #expect(second.line == "GET /b/c?d")
        #expect(second.value(of: "Authorization") == "Bearer secret")
        second.answer("204 No Content")
        #expect(await outcome.value.error == nil)
    }

    @Test(arguments: [(303, "GET"), (302, "GET"), (307, "POST")])
    func redirectedPostFollowsItsStatusCode(_ statusCode: Int, _ method: String) async throws {
        let server = try RawServer()
        var wish = EventSourceRequest(url: try server.eventsURL)
        wish.method = "POST"
        wish.body = Array("{}".utf8)
        wish.fields = [("Content-Type", "application/json")]
        let outcome = EventSource.loopback(wish).reading()
        try await server.request().answer("\(statusCode) Moved", ["Location: /job"])
        let second = try await server.request()
        #expect(second.line == "\(method) /job")
        #expect((second.value(of: "Content-Type") != nil) == (method == "POST"))
        #expect(second.value(of: "Content-Length") == (method == "POST" ? "2" : nil))
        second.answer("204 No Content")
        #expect(await outcome.value.error == nil)
    }

    @Test(arguments: [
        ("Location: /events?x=1", "redirect.loop"), ("Location: ", "redirect.location-missing"),
        ("X: y", "redirect.location-missing"), ("Location: ftp://127.0.0.1/", "redirect.location-invalid"),
        ("Location: http://u:p@127.0.0.1/", "redirect.location-invalid"),
    ])
    func redirectThatLeadsNowhereIsAnError(_ field: String, _ tag: String) async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL).reading()
        try await server.request().answer("302 Found", [field])
        #expect(await outcome.value.tag == tag)
        #expect(!server.hasConnection)
    }

    @Test func redirectsHaveALimit() async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL) { $0.maximumRedirects = 3 }.reading()
        for number in 0...3 { try await server.request().answer("307 Moved", ["Location: /\(number)"]) }
        #expect(await outcome.value.tag == "redirect.too-many")
    }

    // MARK: Compression

    /// Data in gzip's format, as stored blocks (RFC 1952 section 2.3, RFC 1951 section 3.2.4).
    private static func gzip(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        var remainder: UInt32 = .max
        for byte in bytes {
            remainder ^= UInt32(byte)
            for _ in 0..<8 { remainder = remainder & 1 == 1 ? remainder >> 1 ^ 0xEDB8_8320 : remainder >> 1 }
        }
        let count = UInt16(bytes.count)
        let numbers = [~remainder, UInt32(bytes.count)]
        let trailer = numbers.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
        let lengths = [count, ~count].flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1] + lengths + bytes + trailer
    }

    @Test func streamMayBeCompressed() async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL).reading()
        let first = try await server.request()
        #expect(first.value(of: "Accept-Encoding") == "gzip, deflate")
        first.openStream("", ["Content-Encoding: gzip"])
        first.peer.write(Self.gzip("id: 1\ndata: a\n\ndata: b\n\n"))
        first.peer.close()
        let second = try await server.request()
        #expect(second.value(of: "Last-Event-ID") == "1")
        // Cut in the middle of the compressed data.
        second.openStream("", ["Content-Encoding: gzip"])
        second.peer.write(Array(Self.gzip("data: c\n\ndata: d\n\n").dropLast(4)))
        second.peer.close()
        try await server.request().answer("204 No Content")
        #expect(await outcome.value.data.prefix(3) == ["a", "b", "c"])
    }

    @Test func codingThatWasNotAskedForEndsIt() async throws {
        let server = try RawServer()
        let outcome = EventSource.loopback(try server.eventsURL).reading()
        try await server.request().openStream("x", ["Content-Encoding: br"])
        #expect(await outcome.value.tag == "http.content-coding")
        #expect(!server.hasConnection)
    }

    // MARK: Proxies

    @Test func eachConnectionGoesThroughTheProxy() async throws {
        let proxy = try RawServer()
        let url = try #require(URL(string: "http://origin.invalid:81/events"))
        let outcome = EventSource.loopback(url) { $0.proxy = .url("http://u:p@127.0.0.1:\(proxy.port)") }.reading()
        for id in [nil, "1"] {
            let tunnel = try await proxy.request()
            #expect(tunnel.line == "CONNECT origin.invalid:81")
            #expect(tunnel.value(of: "Proxy-Authorization") == "Basic dTpw")
            tunnel.peer.write("HTTP/1.1 200 Connection established\r\n\r\n")
            let request = ReceivedRequest(peer: tunnel.peer, head: await tunnel.peer.read(until: "\r\n\r\n"))
            #expect(request.line == "GET /events")
            #expect(request.value(of: "Last-Event-ID") == id)
            if id == nil { request.stream("id: 1\ndata: a\n\n") } else { request.answer("204 No Content") }
        }
        #expect(await outcome.value.data == ["a"])
    }

    @Test func proxyThatWantsAnotherLoginEndsIt() async throws {
        let proxy = try RawServer()
        let url = try #require(URL(string: "http://origin.invalid:81/events"))
        let outcome = EventSource.loopback(url) { $0.proxy = .url("http://127.0.0.1:\(proxy.port)") }.reading()
        try await proxy.request().answer("407 Proxy Authentication Required")
        let result = await outcome.value
        #expect(result.tag == "proxy.refused")
        #expect((result.error as? EventSourceError)?.category == .auth)
    }

    // MARK: TLS

    @Test func streamOverTLSIsRead() async throws {
        let tls = try TLSServer()
        defer { tls.server.stop() }
        var wish = EventSourceRequest(
            url: try #require(URL(string: "https://127.0.0.1:\(tls.server.port)/v1/responses")))
        wish.method = "POST"
        wish.fields = [("Content-Type", "application/json")]
        wish.body = Array(#"{"model":"m","input":[],"stream":true}"#.utf8)
        let source = EventSource.loopback(wish) { $0.tls.trust = .file(path: tls.trustPath) }
        let result = await source.reading().value
        #expect(result.error == nil)
        #expect(result.events.contains { $0.type == "response.created" })
        #expect(result.events.last?.type == "response.completed")
        #expect(source.report.eventCount == result.events.count)
        #expect(source.report.attempts.first?.connected != nil)
        #expect(source.report.attempts.first?.statusCode == 200)
    }

    @Test func serverThatIsNotTrustedEndsIt() async throws {
        let tls = try TLSServer()
        defer { tls.server.stop() }
        let url = try #require(URL(string: "https://127.0.0.1:\(tls.server.port)/v1/responses"))
        let source = EventSource.loopback(url)
        let result = await source.reading().value
        #expect(result.tag == "tls.certificate")
        #expect(source.report.attemptCount == 1)
    }

    /// The opposite direction is in `EventSourceBadInputTests`.
    @Test func redirectFromHTTPToHTTPSIsFollowed() async throws {
        let server = try RawServer()
        let tls = try TLSServer()
        defer { tls.server.stop() }
        var wish = EventSourceRequest(url: try server.eventsURL)
        wish.method = "POST"
        wish.fields = [("Content-Type", "application/json")]
        wish.body = Array(#"{"model":"m","input":[],"stream":true}"#.utf8)
        let outcome = EventSource.loopback(wish) { $0.tls.trust = .file(path: tls.trustPath) }.reading()
        try await server.request().answer(
            "307 Moved", ["Location: https://127.0.0.1:\(tls.server.port)/v1/responses"])
        #expect(await outcome.value.events.last?.type == "response.completed")
    }
}
