// The requests to the transport: their addresses, fields and limits.

import Foundation
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieTransport

@Suite struct EndpointTests {
    @Test(arguments: [
        (
            "https://api.example/v1",
            TransportEndpoint(isSecure: true, host: "api.example", port: 443, target: "/v1/responses")
        ),
        ("http://api.example", TransportEndpoint(isSecure: false, host: "api.example", port: 80, target: "/responses")),
        ("wss://api.example/", TransportEndpoint(isSecure: true, host: "api.example", port: 443, target: "/responses")),
        (
            "ws://api.example/a//",
            TransportEndpoint(isSecure: false, host: "api.example", port: 80, target: "/a/responses")
        ),
        (
            "HTTPS://api.example:8443/v1/",
            TransportEndpoint(isSecure: true, host: "api.example", port: 8_443, target: "/v1/responses")
        ),
        ("http://127.0.0.1:1", TransportEndpoint(isSecure: false, host: "127.0.0.1", port: 1, target: "/responses")),
        ("http://h:65535/", TransportEndpoint(isSecure: false, host: "h", port: 65_535, target: "/responses")),
        ("https://[::1]:9/v1", TransportEndpoint(isSecure: true, host: "::1", port: 9, target: "/v1/responses")),
        (
            "https://[2001:db8::2]",
            TransportEndpoint(isSecure: true, host: "2001:db8::2", port: 443, target: "/responses")
        ),
        (
            "https://h/openai?api-version=2",
            TransportEndpoint(isSecure: true, host: "h", port: 443, target: "/openai/responses?api-version=2")
        ),
        (
            "https://h/a%20b/%2F?x=%26#part",
            TransportEndpoint(isSecure: true, host: "h", port: 443, target: "/a%20b/%2F/responses?x=%26")
        ),
        ("https://user:word@h/v1", TransportEndpoint(isSecure: true, host: "h", port: 443, target: "/v1/responses")),
    ])
    func theEndpointIsBelowTheBaseURL(_ text: String, _ endpoint: TransportEndpoint) throws {
        let url = try #require(URL(string: text))
        #expect(TransportEndpoint(baseURL: url, path: "/responses") == endpoint)
    }

    @Test(arguments: [
        "ftp://h/", "file:///etc/hosts", "h/v1", "/v1", "https:", "https:///v1", "http://h:0/", "http://h:65536/",
        "mailto:a@b", "data:,x",
    ])
    func otherURLsHaveNoEndpoint(_ text: String) {
        guard let url = URL(string: text) else { return }
        #expect(TransportEndpoint(baseURL: url, path: "/responses") == nil)
    }

    @Test(arguments: [false, true])
    func aBaseURLThatCannotBeUsedFailsTheTurn(isHTTP: Bool) async throws {
        let url = try #require(URL(string: "ftp://h/"))
        let fixture = TurnFixture([]) {
            $0.baseURL = url
            if isHTTP { $0.policy = .httpSSEOnly }
        }
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.code == .invalidRequest)
        #expect(outcome.transportFailure?.transport == (isHTTP ? .httpSSE : .webSocket))
        #expect(outcome.transportFailure?.replaySafety == .notSent)
        #expect(fixture.transport.requests.isEmpty)
    }
}

@Suite struct RequestFieldTests {
    /// The fields that an attempt sends.
    private static func fields(
        isHTTP: Bool, _ configure: @escaping (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) async -> [HTTPField] {
        let fixture = TurnFixture([isHTTP ? .eventStream(Event.completed) : .webSocket(Event.completed)]) {
            if isHTTP { $0.policy = .httpSSEOnly }
            configure(&$0)
        }
        var request = ChappieTransportRequest(prompt: "hi", model: "m")
        request.requestID = "id"
        _ = await fixture.run(request)
        return fixture.transport.requests.first?.fields ?? []
    }

    @Test func aWebSocketHasItsFields() async {
        let fields = await Self.fields(isHTTP: false) {
            $0.credential = { _ in ChappieCredential(bearerToken: "t", accountID: "acc") }
        }
        #expect(
            fields == [
                HTTPField("Authorization", "Bearer t"), HTTPField("ChatGPT-Account-ID", "acc"),
                HTTPField("x-client-request-id", "id"),
                HTTPField("User-Agent", "chappie-transport/\(ChappieTransportVersion.current)"),
                HTTPField("OpenAI-Beta", "responses_websockets=2026-02-06"),
            ])
    }

    @Test(arguments: [false, true])
    func fedRAMPFieldIsSentForFedRAMPCredentialsOnly(isHTTP: Bool) async {
        let fields = await Self.fields(isHTTP: isHTTP) {
            $0.credential = { _ in ChappieCredential(bearerToken: "t", accountID: "acc", isFedRAMP: true) }
        }
        #expect(fields.filter { $0.name == "X-OpenAI-Fedramp" }.map(\.value) == ["true"])
        let others = await Self.fields(isHTTP: isHTTP) {
            $0.credential = { _ in ChappieCredential(bearerToken: "t", accountID: "acc") }
        }
        #expect(!others.contains { $0.name == "X-OpenAI-Fedramp" })
    }

    @Test func aPostHasItsFields() async {
        let fields = await Self.fields(isHTTP: true) { $0.additionalFields = [("X-Own", "1")] }
        #expect(
            fields == [
                HTTPField("x-client-request-id", "id"),
                HTTPField("User-Agent", "chappie-transport/\(ChappieTransportVersion.current)"),
                HTTPField("Accept", "text/event-stream"), HTTPField("Content-Type", "application/json"),
                HTTPField("Accept-Encoding", "gzip, deflate"), HTTPField("X-Own", "1"),
            ])
    }

    @Test func disabledCompressionIsNotOffered() async {
        let fields = await Self.fields(isHTTP: true) { $0.offersCompression = false }
        #expect(!fields.contains { $0.name == "Accept-Encoding" })
        let fixture = TurnFixture([.webSocket(Event.completed)]) { $0.offersCompression = false }
        _ = await fixture.run()
        guard case .webSocket(compression: nil)? = fixture.transport.requests.first?.exchange else {
            return #expect(Bool(false))
        }
    }

    @Test(arguments: [false, true])
    func noFieldIsSentTwice(isHTTP: Bool) async {
        let own = ["user-agent", "ACCEPT", "content-type", "accept-encoding", "openai-beta"]
        let fields = await Self.fields(isHTTP: isHTTP) {
            $0.credential = { _ in ChappieCredential(bearerToken: "t", accountID: "acc") }
            $0.additionalFields = own.map { ($0, "own") } + [("authorization", "own"), ("chatgpt-account-id", "own")]
        }
        let names = fields.map { $0.name.lowercased() }
        #expect(Set(names).count == names.count)
        // The caller's own value has precedence, except over the credential.
        for name in own { #expect(fields.first { $0.name == name }?.value == "own") }
        #expect(fields.first { $0.name == "Authorization" }?.value == "Bearer t")
        #expect(fields.first { $0.name == "ChatGPT-Account-ID" }?.value == "acc")
    }

    @Test func withoutACredentialAnAdditionalFieldMayProveIdentity() async {
        let fields = await Self.fields(isHTTP: true) { $0.additionalFields = [("authorization", "Basic x")] }
        #expect(fields.filter { $0.name.lowercased() == "authorization" } == [HTTPField("authorization", "Basic x")])
    }

    @Test func limitsAndTimeoutsReachTheTransport() async throws {
        let fixture = TurnFixture([.webSocket(Event.completed)]) {
            $0.limits.eventByteCount = 1_000
            $0.limits.highWatermark = 20
            $0.limits.lowWatermark = 10
            $0.timeouts.connect = .seconds(1)
            $0.timeouts.pingInterval = nil
            $0.timeouts.pongTimeout = .seconds(3)
        }
        _ = await fixture.run()
        let request = try #require(fixture.transport.requests.first)
        #expect(request.limits.messageByteCount == 1_000)
        #expect(request.limits.highWatermark == 20)
        #expect(request.limits.lowWatermark == 10)
        #expect(request.timeouts.connect == .seconds(1))
        #expect(request.timeouts.pingInterval == nil)
        #expect(request.timeouts.pongTimeout == .seconds(3))
        #expect(request.capturedFieldNames.contains("retry-after"))
    }
}
