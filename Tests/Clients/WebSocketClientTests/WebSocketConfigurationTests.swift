// The requests that configurations make, and the properties that cannot be sent.

import Foundation
import StreamTransport
import Testing

@testable import WebSocketClient

@Suite(.timeLimit(.minutes(10))) struct WebSocketConfigurationTests {
    @Test func aRequestHasEveryProperty() async throws {
        var fixture = try WebSocketFixture([.established()], url: "wss://example.org/chat%20room?q=1#fragment")
        fixture.configuration.additionalFields = [("Authorization", "Bearer secret"), ("Origin", "https://o.example")]
        fixture.configuration.subprotocols = ["v2.chat", "v1.chat"]
        fixture.configuration.capturedFieldNames = ["X-Node", "Retry-After"]
        fixture.configuration.compression = .disabled
        fixture.configuration.limits.messageByteCount = -1
        fixture.configuration.limits.highWatermark = 0
        fixture.configuration.timeouts.connect = .seconds(-5)
        fixture.configuration.timeouts.close = .seconds(7)
        _ = try await fixture.open()
        let request = try #require(fixture.requests.withLock { $0.first })
        #expect(
            request.endpoint
                == TransportEndpoint(isSecure: true, host: "example.org", port: 443, target: "/chat%20room?q=1"))
        #expect(request.fields.map(\.name) == ["Authorization", "Origin"])
        #expect(request.subprotocols == ["v2.chat", "v1.chat"])
        #expect(
            request.capturedFieldNames == [
                "sec-websocket-protocol", "x-node", "retry-after", "content-type", "location", "www-authenticate",
            ])
        if case .webSocket(let compression) = request.exchange { #expect(compression == nil) } else { Issue.record() }
        #expect(request.limits.messageByteCount == 0)
        #expect(request.limits.highWatermark == 1 && request.limits.lowWatermark == 0)
        #expect(request.timeouts.connect == .zero && request.timeouts.close == .seconds(7))
    }

    @Test(arguments: [
        "ftp://example.org/", "mailto:a@example.org", "ws:///path", "ws://example.org:0/", "ws://example.org:70000/",
        "wss://exa%20mple.org/", "file:///etc/passwd", "example.org",
    ])
    func invalidWebSocketURLIsRefused(url: String) async throws {
        let fixture = try WebSocketFixture([.established()], url: url)
        let error = await fixture.errorOfOpening()
        guard case .invalidArgument(let fault) = error else { return #expect(error == .notOpen) }
        #expect(fault.argument == "url")
        #expect(error?.tag == "request.invalid" && error?.category == .validation && error?.isRetryable == false)
        #expect(fixture.requests.withLock { $0.isEmpty })
        #expect(fixture.outcomes == ["connect request.invalid"])
    }

    @Test(arguments: [
        ("X-Name", "a\r\nInjected: b"), ("X-Name", "a\nb"), ("X-Name", "a\0b"), ("X Name", "a"), ("", "a"),
        ("X-Name\r\nInjected", "a"), ("Sec-WebSocket-Key", "a"), ("sec-websocket-protocol", "a"), ("Host", "a"),
        ("Upgrade", "a"), ("Content-Length", "3"),
    ])
    func aFieldThatCannotBeSentIsRefused(name: String, value: String) async throws {
        var fixture = try WebSocketFixture([.established()])
        fixture.configuration.additionalFields = [("X-Good", "good"), (name, value)]
        let error = await fixture.errorOfOpening()
        guard case .invalidArgument(let fault) = error else { return #expect(error == .notOpen) }
        #expect(fault.argument == "additionalFields" && fault.reason.contains("additionalFields[1]"))
        #expect(fixture.requests.withLock { $0.isEmpty })
    }

    private static let lists: [([String], String)] = [
        ([""], "have a member that is empty"), (["a", "b,c"], "have a member that has characters"),
        (["a b"], "have a member that has characters"), (["a\r\nb"], "have a member that has characters"),
        (["ä"], "have a member that has characters"), (["a", "b", "a"], "have a member twice"),
        ([String(repeating: "x", count: 4_095)], "have more than 4096 bytes"),
        ((0..<2_000).map(String.init), "have more than 4096 bytes"),
    ]

    @Test(arguments: Self.lists)
    func subprotocolsThatCannotBeOfferedAreRefused(_ list: [String], reason: String) async throws {
        var fixture = try WebSocketFixture([.established()])
        fixture.configuration.subprotocols = list
        let error = await fixture.errorOfOpening()
        guard case .invalidArgument(let fault) = error else { return #expect(error == .notOpen) }
        #expect(fault.argument == "subprotocols" && fault.reason.hasPrefix(reason), "\(fault)")
    }

    @Test func aLongListOfSubprotocolsMayHaveFourKibibytes() async throws {
        var fixture = try WebSocketFixture([.established()])
        fixture.configuration.subprotocols = [String(repeating: "x", count: 4_094)]
        #expect(await fixture.errorOfOpening() == nil)
    }

    @Test func filesWithoutANameAreRefused() async throws {
        var fixture = try WebSocketFixture([.established()])
        fixture.configuration.tls.trust = .file(path: "")
        let error = await fixture.errorOfOpening()
        guard case .invalidArgument(let fault) = error else { return #expect(error == .notOpen) }
        #expect(fault.argument == "tls")
    }
}
