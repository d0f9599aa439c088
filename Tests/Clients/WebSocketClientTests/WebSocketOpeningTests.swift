// Answers to the opening handshake, and its failures.

import StreamTransport
import Testing

@testable import WebSocketClient

@Suite(.timeLimit(.minutes(10))) struct WebSocketOpeningTests {
    @Test func connectionHasTheNegotiatedSubprotocolCompressionAndFields() async throws {
        var fixture = try WebSocketFixture([
            .established(
                [HTTPField("Sec-WebSocket-Protocol", "v1.chat"), HTTPField("X-Node", "n1")], isCompressed: true)
        ])
        fixture.configuration.subprotocols = ["v1.chat"]
        fixture.configuration.capturedFieldNames = ["X-Node"]
        let connection = try await fixture.open()
        #expect(connection.subprotocol == "v1.chat")
        #expect(connection.isCompressed && connection.report.isCompressed)
        #expect(connection.fields.map { "\($0.name): \($0.value)" } == ["x-node: n1"])
        #expect(fixture.outcomes == ["connect completed"])
        let line = try #require(fixture.lines.withLock { $0.first })
        #expect(line.level == .info && line.context == "connection" && line.requestID == "name")
    }

    /// A server that repeats the credential does not bring it into an error.
    @Test func aRefusalHasTheAnswerWithoutItsSecrets() async throws {
        var fixture = try WebSocketFixture([
            .opened(
                ResponseHead(
                    statusCode: 401,
                    fields: [HTTPField("WWW-Authenticate", "Bearer"), HTTPField("Location", "/?key=sk-secret-1")])),
            .message(.body, Array("the key sk-sec".utf8)), .message(.body, Array("ret-1 is wrong".utf8)),
            .ended(.complete),
        ])
        fixture.configuration.additionalFields = [("Authorization", "Bearer sk-secret-1")]
        let error = await fixture.errorOfOpening()
        guard case .refused(let refusal) = error else { return #expect(error == .notOpen) }
        #expect(refusal.statusCode == 401)
        #expect(refusal.body == "the key [redacted] is wrong")
        #expect(refusal.value(of: "WWW-Authenticate") == "Bearer")
        #expect(refusal.value(of: "location") == "/?key=[redacted]")
        #expect(error?.tag == "http.401" && error?.category == .auth)
        #expect(error?.retryGuidance == .refreshAuthThenRetry)
        #expect(error?.safeDescription.contains("sk-") == false && error?.description.contains("the key") == false)
        #expect(fixture.exchange.calls == [.cancel])
        #expect(fixture.outcomes == ["connect http.401"])
    }

    @Test(arguments: ["sk%2Dsecret%2D1", "sk-secret-1", "cookie-1", "sk%2dsecret-1"])
    func aRefusalHasNoPartOfACredential(part: String) async throws {
        var fixture = try WebSocketFixture([
            .opened(ResponseHead(statusCode: 400)), .message(.body, Array("wrong: \(part)".utf8)), .ended(.complete),
        ])
        fixture.configuration.additionalFields = [
            ("Authorization", #"Token token="sk-secret-1""#), ("Cookie", "a=1; b=cookie-1"),
        ]
        let error = await fixture.errorOfOpening()
        guard case .refused(let refusal) = error else { return #expect(error == .notOpen) }
        #expect(refusal.body == "wrong: [redacted]")
    }

    @Test func aRefusalKeepsNoMoreThanTheLimit() async throws {
        var fixture = try WebSocketFixture([
            .opened(ResponseHead(statusCode: 500)), .message(.body, Array("12345678".utf8)),
            .message(.body, Array("90".utf8)), .message(.body, Array("more".utf8)),
        ])
        fixture.configuration.limits.refusalByteCount = 10
        let error = await fixture.errorOfOpening()
        guard case .refused(let refusal) = error else { return #expect(error == .notOpen) }
        #expect(refusal.body == "1234567890")
    }

    /// The rest of a body that never comes is not waited for without limit.
    @Test func refusalWithAnUnfinishedBodyIsReportedAfterALimit() async throws {
        let fixture = try WebSocketFixture([
            .opened(ResponseHead(statusCode: 503)), .message(.body, Array("busy".utf8)),
        ])
        let error = await fixture.errorOfOpening()
        guard case .refused(let refusal) = error else { return #expect(error == .notOpen) }
        #expect(refusal.statusCode == 503 && refusal.body == "busy")
    }

    private static let failures: [(TransportFailure, String, ChappieErrorCategory)] = [
        (TransportFailure(phase: .resolve, cause: .unresolvable(code: -2)), "resolve.failed", .network),
        (TransportFailure(phase: .connect, cause: .unreachable(code: 111)), "connect.failed", .network),
        (TransportFailure(phase: .tls, cause: .certificateRejected(code: 10)), "tls.certificate", .network),
        (TransportFailure(phase: .proxy, cause: .proxyRefused(statusCode: 407)), "proxy.refused", .auth),
        (TransportFailure(phase: .upgrade, cause: .timedOut), "timeout.upgrade", .network),
        (
            TransportFailure(phase: .upgrade, cause: .openingHandshakeInvalid(.accept)), "ws.opening-handshake",
            .server
        ),
        (TransportFailure(phase: .upgrade, cause: .notHTTP), "http.not-http", .server),
    ]

    @Test(arguments: Self.failures)
    func aFailureHasItsPhaseAndItsFacts(
        _ failure: TransportFailure, tag: String, category: ChappieErrorCategory
    ) async throws {
        let fixture = try WebSocketFixture([.ended(.failed(failure))])
        let error = await fixture.errorOfOpening()
        guard case .transport(let facts) = error else { return #expect(error == .notOpen) }
        #expect(facts.phase == failure.phase && facts.replaySafety == .notSent && facts.transport == .webSocket)
        #expect(error?.tag == tag && error?.category == category)
        #expect(facts.details.clientRequestID == "name")
        #expect(fixture.outcomes == ["connect \(tag)"])
        #expect(fixture.categories == [category])
        let line = try #require(fixture.lines.withLock { $0.first })
        #expect(line.level == .error && line.tag == tag && line.category == category)
    }

    @Test func aCancelledTaskOpensNoConnection() async throws {
        let fixture = try WebSocketFixture([])
        let task = Task { try await fixture.open() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(fixture.exchange.calls == [.cancel])
        #expect(fixture.outcomes == ["connect cancelled"])
    }
}
