// The names of a request: on the wire, in the report, in errors, and in every log line.
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct RequestIdentityTests {
    private static let name = "order 66"
    private static let trace = ChappieTraceContext(
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=b")

    private static func request(_ name: String? = Self.name) -> ChappieTransportRequest {
        var request = ChappieTransportRequest(prompt: "hi", model: "m")
        request.requestID = name
        request.traceContext = Self.trace
        return request
    }

    private static func value(_ name: String, of request: TransportRequest) -> String? {
        let values = request.fields.filter { $0.name.lowercased() == name }.map(\.value)
        return values.count == 1 ? values[0] : nil
    }

    /// From the first attempt to the last, over both transports, in the report and in the error.
    @Test func everyAttemptHasTheSameName() async {
        let fixture = TurnFixture([
            .broken(Event.created), .refusal(426), .refusal(503), .failure(.connect, .unreachable(code: 0)),
            .failure(.connect, .unreachable(code: 0)),
        ]) { $0.maxHTTPRetries = 2 }
        let outcome = await fixture.run(Self.request())
        #expect(fixture.transport.requests.count > 3)
        for request in fixture.transport.requests {
            #expect(Self.value("x-client-request-id", of: request) == Self.name)
            #expect(Self.value("traceparent", of: request) == Self.trace?.traceparent)
            #expect(Self.value("tracestate", of: request) == "a=b")
        }
        #expect(outcome.report.requestID == Self.name)
        #expect(outcome.transportFailure?.details.clientRequestID == Self.name)
    }

    @Test func aResumptionHasTheName() async {
        let events = #"{"type":"response.created","sequence_number":0,"response":{"id":"r"}}"#
        let fixture = TurnFixture([
            [
                .opened(200, fields: ["content-type": "text/event-stream"]), .body(Event.sse(events)),
                .ended(.failed(TransportFailure(phase: .stream, cause: .connectionLost))),
            ],
            .eventStream(#"{"type":"response.completed","sequence_number":1,"response":{"id":"r"}}"#),
        ]) { $0.policy = .httpSSEOnly }
        var request = ChappieTransportRequest(body: Array(#"{"background":true,"store":true,"input":"x"}"#.utf8))
        request.requestID = Self.name
        let outcome = await fixture.run(request)
        #expect(outcome.error == nil)
        guard case .get? = fixture.transport.requests.last?.exchange else { return #expect(Bool(false), "no GET") }
        #expect(fixture.transport.requests.map { Self.value("x-client-request-id", of: $0) } == [Self.name, Self.name])
    }

    @Test(arguments: ["", "ü", "a\r\nb", "\u{7F}", " a", "a ", String(repeating: "x", count: 129)])
    func aNameThatCannotBeSentIsReplaced(name: String) async throws {
        let fixture = TurnFixture([.webSocket(Event.completed)])
        let outcome = await fixture.run(Self.request(name))
        let sent = try #require(fixture.transport.requests.first.flatMap { Self.value("x-client-request-id", of: $0) })
        #expect(sent != name && sent.utf8.count == 36 && sent == sent.lowercased())
        #expect(outcome.report.requestID == sent)
    }

    @Test func unnamedTurnsHaveDifferentGeneratedNames() async {
        let fixture = TurnFixture([.webSocket(Event.completed), .webSocket(Event.completed)]) {
            $0.policy.maximumConnectionAge = .zero
        }
        var request = Self.request(nil)
        request.traceContext = nil
        for _ in 1...2 { _ = await fixture.run(request) }
        let names = fixture.transport.requests.compactMap { Self.value("x-client-request-id", of: $0) }
        #expect(Set(names).count == 2)
        #expect(!fixture.transport.requests.contains { Self.value("traceparent", of: $0) != nil })
    }

    @Test func requestNameOverridesAdditionalFields() async {
        let fixture = TurnFixture([.webSocket(Event.completed)]) {
            $0.additionalFields = [(name: "X-Client-Request-ID", value: "other"), (name: "TraceParent", value: "x")]
        }
        _ = await fixture.run(Self.request())
        #expect(fixture.transport.requests.first.flatMap { Self.value("x-client-request-id", of: $0) } == Self.name)
        #expect(fixture.transport.requests.first.flatMap { Self.value("traceparent", of: $0) } != "x")
    }

    // MARK: Metadata

    private static func message(_ isOn: Bool, body: String = "{}") async -> String? {
        let fixture = TurnFixture([.webSocket(Event.completed)]) { $0.sendsClientMetadata = isOn }
        var request = Self.request()
        request.body = Array(body.utf8)
        _ = await fixture.run(request)
        guard case .send(let text, .text)? = fixture.transport.connections.first?.calls.first else { return nil }
        return text
    }

    /// PROTOCOL 1.5.1: the values of per-request fields travel in `client_metadata`.
    @Test func webSocketMessageHasTheNameAndTraceInClientMetadata() async {
        let text = await Self.message(true, body: #"{"client_metadata":{"x-client-request-id":"old","own":"1"}}"#)
        #expect(
            text?.contains(
                #""client_metadata":{"x-client-request-id":"order 66","own":"1","ws_request_header_traceparent":"#
                    + #""00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","ws_request_header_tracestate":"a=b"}"#
            )
                == true)
    }

    @Test func clientMetadataIsUnchangedWithoutTheOption() async {
        #expect(await Self.message(false)?.contains("client_metadata") == false)
        let own = #"{"client_metadata":{"own":"1"}}"#
        #expect(await Self.message(false, body: own)?.contains(#""client_metadata":{"own":"1"}"#) == true)
    }

    @Test func postBodyHasNoClientMetadata() async {
        let fixture = TurnFixture([.eventStream(Event.completed)]) {
            $0.policy = .httpSSEOnly
            $0.sendsClientMetadata = true
        }
        _ = await fixture.run(Self.request())
        guard case .post(let body)? = fixture.transport.requests.first?.exchange else {
            Issue.record("no POST")
            return
        }
        #expect(!String(decoding: body, as: UTF8.self).contains("client_metadata"))
    }

    // MARK: The server's trace

    @Test(
        arguments: [
            (["traceresponse": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"], "00f067aa0ba902b7"),
            (["traceparent": "00-0af7651916cd43dd8448eb211c80319c-10f067aa0ba902b7-00"], "10f067aa0ba902b7"),
            (
                [
                    "traceresponse": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
                    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-10f067aa0ba902b7-00",
                ], "00f067aa0ba902b7"
            ),
            (["traceresponse": "anything at all"], nil), ([:], nil),
        ] as [([String: String], String?)])
    func theServersPlaceInTheTraceIsReported(fields: [String: String], parent: String?) async {
        let all = fields.merging(["content-type": "text/event-stream"]) { first, _ in first }
        let fixture = TurnFixture([
            [.opened(200, fields: all), .body(Event.sse(Event.completed)), .ended(.complete)]
        ]) { $0.policy = .httpSSEOnly }
        let outcome = await fixture.run(Self.request())
        let place = outcome.report.attempts.first?.traceResponse
        #expect(place?.split(separator: "-")[2].description == parent)
        #expect(fixture.transport.requests.first?.capturedFieldNames.contains("traceresponse") == true)
        #expect(fixture.transport.requests.first?.capturedFieldNames.contains("traceparent") == true)
    }
}
