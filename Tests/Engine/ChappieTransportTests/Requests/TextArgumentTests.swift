// Every public initialiser and property of the engine that takes text, with texts that cannot work.

import Foundation
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieTransport

/// A text that cannot work, and the words of its refusal.
struct RefusedText<Input: Sendable>: Sendable, CustomTestStringConvertible {
    let name: String
    let input: Input
    /// The argument and the reason.
    let words: String

    init(_ name: String, _ words: String, _ input: Input) {
        self.name = name
        self.words = words
        self.input = input
    }

    var testDescription: String { self.name }
}

@Suite struct TextArgumentTests {
    typealias Making = @Sendable () throws -> Void
    typealias RequestChange = @Sendable (inout ChappieTransportRequest) -> Void
    typealias ConfigurationChange = @Sendable (inout ChappieTransportConfiguration) -> Void

    // MARK: Initialisers that throw

    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private struct Measure: Encodable {
        var values: [Double] = [1, .nan]
    }

    private struct Stubborn: Encodable {
        func encode(to encoder: any Encoder) throws { throw CancellationError() }
    }

    private static let initialisers: [RefusedText<Making>] = [
        .init("body, a text", "bodyJSON is empty") { _ = try ChappieTransportRequest(bodyJSON: "") },
        .init("body, another value", "bodyJSON is not a JSON object: another value begins at offset 1") {
            _ = try ChappieTransportRequest(bodyJSON: " [1]")
        },
        .init("body, two values", "bodyJSON has more text behind its JSON object, at offset 2") {
            _ = try ChappieTransportRequest(bodyJSON: "{}{}")
        },
        .init("body, cut", "bodyJSON ends at offset 5, inside its JSON object") {
            _ = try ChappieTransportRequest(bodyJSON: #"{"a":"#)
        },
        .init("body, a NUL", "bodyJSON has a byte at offset 1 that JSON does not allow there") {
            _ = try ChappieTransportRequest(bodyJSON: "{\u{0}}")
        },
        .init("body, a line break in a text", "bodyJSON has a byte at offset 7 that JSON does not allow there") {
            _ = try ChappieTransportRequest(bodyJSON: "{\"a\":\"b\n\"}")
        },
        .init("body, too deep", "bodyJSON nests deeper than 512 levels") {
            let deep = String(repeating: "[", count: 600) + String(repeating: "]", count: 600)
            _ = try ChappieTransportRequest(bodyJSON: #"{"a":\#(deep)}"#)
        },
        .init("body, data", "bodyJSON is not UTF-8") {
            _ = try ChappieTransportRequest(bodyJSON: Data(Array(#"{"a":""#.utf8) + [0xFF] + Array(#""}"#.utf8)))
        },
        .init("body, a value that is a text", "body is encoded as another JSON value than an object") {
            _ = try ChappieTransportRequest(encoding: "{}")
        },
        .init("body, a value without JSON", "body has a value at values[1] that JSON cannot represent") {
            _ = try ChappieTransportRequest(encoding: Measure())
        },
        .init("body, a value that throws", "body cannot be encoded: its encode(to:) throws CancellationError") {
            _ = try ChappieTransportRequest(encoding: Stubborn())
        },
        .init("traceparent", "traceparent is not 00-<32 hex>-<16 hex>-<2 hex>, in lower case") {
            _ = try ChappieTraceContext(parsing: "00\r\n")
        },
        .init("traceparent of zeros", "traceparent has a trace or a parent of zeros alone") {
            _ = try ChappieTraceContext(parsing: "00-\(String(repeating: "0", count: 32))-b7ad6b7169203331-01")
        },
        .init("tracestate, empty", "tracestate is not 1 to 512 bytes long") {
            _ = try ChappieTraceContext(parsing: Self.parent, tracestate: "")
        },
        .init("tracestate, a line break", "tracestate is not printable ASCII") {
            _ = try ChappieTraceContext(parsing: Self.parent, tracestate: "a=\n")
        },
    ]

    @Test(arguments: Self.initialisers)
    func initialiserRefusesTextAndNamesItsArgument(row: RefusedText<Making>) {
        let error = #expect(throws: ChappieArgumentError.self) { try row.input() }
        #expect(error?.fault == row.words)
        #expect(error?.description == "request.invalid: An argument cannot be used: \(row.words).")
        #expect(error?.localizedDescription == error?.safeDescription)
        #expect(error?.category == .validation && error?.isRetryable == false)
    }

    @Test func pinOfAKeyNamesItsFault() {
        for (text, fault) in [("", ChappiePinnedKey.ParseError.wrongLength), ("sha1/AAAA", .unsupportedAlgorithm)] {
            #expect(throws: fault) { _ = try ChappiePinnedKey(text) }
        }
        #expect(throws: ChappiePinnedKey.ParseError.notBase64) { _ = try ChappiePinnedKey("\u{0}") }
    }

    @Test(arguments: [
        "", "://", "ftp://proxy", "socks4://proxy", "http://", "http://pro xy", "http://proxy\r\n:1", "http://proxy:0",
        "http://proxy:65536", "http://proxy/path", "http://us%0Aer@proxy", "http://[::1", "http://a\u{0}b",
    ])
    func urlOfAProxyIsRefusedBeforeAConnection(url: String) {
        let error = #expect(throws: TransportFailure.self) { _ = try ProxyServer(url: url) }
        guard case .proxyInvalid(let fault)? = error?.cause else {
            Issue.record("another cause")
            return
        }
        #expect(!fault.isEmpty)
    }

    // MARK: Properties of a request

    private static let requests: [RefusedText<RequestChange>] = [
        .init("body", "the body is not a JSON object") { $0.body = [] },
        .init("model, empty", "model is empty") { $0.model = "" },
        .init("model, a line break", "model has a line break or another control character") { $0.model = "m\n" },
        .init("effort", "reasoningEffort is empty") { $0.reasoningEffort = "" },
        .init("tier", "serviceTier has a line break or another control character") { $0.serviceTier = "a\u{0}" },
        .init("lane, empty", "lane is empty") { $0.lane = "" },
        .init("lane, characters", "lane has characters other than A–Z a–z 0–9 _ . -") { $0.lane = "a b" },
        .init("lane, too long", "lane is longer than 256 characters") { $0.lane = String(repeating: "a", count: 257) },
        .init("the caller's own", "metadata has an empty key") {
            $0.fault = ChappieArgumentError("metadata", "has an empty key")
        },
    ]

    @Test(arguments: Self.requests)
    func turnRefusesATextOfItsRequestBeforeAnythingIsSent(row: RefusedText<RequestChange>) async {
        let fixture = TurnFixture([.webSocket(Event.completed)]) {
            $0.credential = { _ in
                Issue.record("asked for a credential")
                return nil
            }
        }
        var request = ChappieTransportRequest(prompt: "hi", model: "m")
        row.input(&request)
        let outcome = await fixture.run(request)
        #expect(outcome.clientError?.tag == "request.invalid")
        #expect(outcome.transportFailure?.details.detail == row.words)
        #expect(outcome.clientError?.safeDescription.contains(row.words) == true)
        #expect(outcome.clientError?.replaySafety == .notSent)
        #expect(fixture.transport.requests.isEmpty)
    }

    // MARK: Properties of a configuration

    private static func baseURL(_ text: String) -> ConfigurationChange {
        { configuration in configuration.baseURL = URL(string: text) ?? configuration.baseURL }
    }

    private static func credential(_ token: String, accountID: String? = nil) -> ConfigurationChange {
        { $0.credential = { _ in ChappieCredential(bearerToken: token, accountID: accountID) } }
    }

    private static let controlCharacter = "has a line break or another control character"
    private static let otherCharacter = "has characters that are not allowed in a field's name (RFC 9110 section 5.6.2)"
    private static let reserved = "is the name of a field that the transport writes itself"

    private static let configurations: [RefusedText<ConfigurationChange>] = [
        .init("scheme", "baseURL has another scheme than http, https, ws and wss", Self.baseURL("ftp://h/v1")),
        .init("no scheme", "baseURL has another scheme than http, https, ws and wss", Self.baseURL("h/v1")),
        .init("no host", "baseURL has no host", Self.baseURL("https:///v1")),
        .init("port 0", "baseURL has a port that is not from 1 to 65535", Self.baseURL("https://h:0/v1")),
        .init("encoded slash", "baseURL has a host that is not a name or an address", Self.baseURL("https://a%2Fb/v1")),
        .init("empty label", "baseURL has a host that is not a name or an address", Self.baseURL("https://.h/v1")),
        .init("field's name, empty", "the name of additionalFields[0] is empty") { $0.additionalFields = [("", "a")] },
        .init("field's name, a line break", "the name of additionalFields[1] \(Self.otherCharacter)") {
            $0.additionalFields = [("X-A", "a"), ("X-B\r\nX-C", "b")]
        },
        .init("field's name, not ASCII", "the name of additionalFields[0] \(Self.otherCharacter)") {
            $0.additionalFields = [("Größe", "a")]
        },
        .init("field's name, reserved", "the name of additionalFields[0] \(Self.reserved)") {
            $0.additionalFields = [("Content-Length", "1")]
        },
        .init("field's name, of the handshake", "the name of additionalFields[0] \(Self.reserved)") {
            $0.additionalFields = [("sec-websocket-key", "1")]
        },
        .init("field's value, a line break", "the value of additionalFields[0] \(Self.controlCharacter)") {
            $0.additionalFields = [("X-A", "a\r\nX-B: b")]
        },
        .init("field's value, NUL", "the value of additionalFields[0] \(Self.controlCharacter)") {
            $0.additionalFields = [("X-A", "a\u{0}")]
        },
        .init("credential's field, empty", "credentialFieldName is empty") { $0.credentialFieldName = "" },
        .init("credential's field, a colon", "credentialFieldName \(Self.otherCharacter)") {
            $0.credentialFieldName = "api-key:"
        },
        .init("token", "the credential's bearerToken \(Self.controlCharacter)", Self.credential("secret\n")),
        .init(
            "account", "the credential's accountID \(Self.controlCharacter)", Self.credential("t", accountID: "\u{7F}")),
        .init("authorities, empty", "the path of tls.trust is empty") { $0.tls.trust = .file(path: "") },
        .init("authorities, NUL", "the path of tls.trust has the character NUL") {
            $0.tls.trust = .file(path: "/ca.pem\u{0}.bak")
        },
        .init("certificate", "tls.clientCertificate.certificatePath is empty") {
            $0.tls.clientCertificate = .init(certificatePath: "", privateKeyPath: "/key.pem")
        },
        .init("private key", "tls.clientCertificate.privateKeyPath has the character NUL") {
            $0.tls.clientCertificate = .init(certificatePath: "/a.pem", privateKeyPath: "/key.pem\u{0}")
        },
    ]

    @Test(arguments: Self.configurations, [false, true])
    func turnRefusesATextOfItsConfigurationBeforeAnythingIsSent(
        row: RefusedText<ConfigurationChange>, isHTTP: Bool
    ) async {
        let fixture = TurnFixture([.webSocket(Event.completed)]) {
            row.input(&$0)
            if isHTTP { $0.policy = .httpSSEOnly }
            $0.willSend = { _ in Issue.record("asked for a permission") }
        }
        let outcome = await fixture.run()
        #expect(outcome.clientError?.tag == "request.invalid")
        #expect(outcome.transportFailure?.details.detail == row.words)
        #expect(outcome.clientError?.safeDescription.contains("secret") == false)
        #expect(outcome.clientError?.replaySafety == .notSent)
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test(arguments: Self.configurations)
    func documentOfTheServerIsRefusedInTheSameWords(row: RefusedText<ConfigurationChange>) async {
        let fixture = TurnFixture([.refusal(200)]) { row.input(&$0) }
        do {
            _ = try await fixture.instance.fetch(path: "/models")
            Issue.record("no error")
        } catch {
            guard case .transport(let failure)? = error as? ChappieClientError else {
                Issue.record("another error: \(error)")
                return
            }
            #expect(failure.details.detail == row.words)
        }
        #expect(fixture.transport.requests.isEmpty)
    }

    // MARK: Texts that work

    @Test(arguments: [
        "http://localhost:8080/v1", "https://api.example.org./v1", "http://under_score/v1", "http://127.0.0.1/v1",
        "http://[::1]:8080/v1", "wss://a-b.example/v1?x=y",
    ])
    func validBaseURLsHaveNoFault(text: String) throws {
        #expect(TransportEndpoint.fault(ofBaseURL: try #require(URL(string: text))) == nil)
    }

    @Test func bodyMayBeATextDataOrAValue() throws {
        struct Body: Encodable {
            let model: String
            let input: URL?
        }
        let value = Body(model: "m", input: URL(string: "https://example.org/a"))
        let json = #"{"input":"https://example.org/a","model":"m"}"#
        #expect(try ChappieTransportRequest(encoding: value).body == Array(json.utf8))
        #expect(try ChappieTransportRequest(bodyJSON: json).body == Array(json.utf8))
        #expect(try ChappieTransportRequest(bodyJSON: Data(json.utf8)).body == Array(json.utf8))
        #expect(ChappieTransportRequest(body: Array(json.utf8)).body == Array(json.utf8))
    }
}
