// The results of a failed turn for its caller: the error, its facts, and the report.

import StreamSession
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct DriverFailureTests {
    /// A cause, its public code, its tag and its facts.
    struct Case: Sendable, CustomTestStringConvertible {
        let cause: TransportFailure.Cause
        let code: ChappieTransportFailure.Code
        var details: (closeCode: Int?, systemCode: Int?, limit: Int?, detail: String?) = (nil, nil, nil, nil)

        var testDescription: String { self.code.name }
    }

    static let cases = [
        Case(cause: .invalidRequest("x"), code: .invalidRequest, details: (nil, nil, nil, "x")),
        Case(cause: .unresolvable(code: -2), code: .unresolvable, details: (nil, -2, nil, nil)),
        Case(cause: .unreachable(code: 111), code: .unreachable, details: (nil, 111, nil, nil)),
        Case(cause: .timedOut, code: .timedOut),
        Case(
            cause: .certificateRejected(code: 18), code: .certificateRejected, details: (nil, 18, nil, "self-signed")),
        Case(cause: .keyNotPinned, code: .keyNotPinned, details: (nil, nil, nil, "not-pinned")),
        Case(cause: .tlsAlert(116), code: .tlsHandshakeFailed, details: (nil, 116, nil, "certificate-required")),
        Case(cause: .tlsAlert(80), code: .tlsHandshakeFailed, details: (nil, 80, nil, nil)),
        Case(cause: .clientCertificateUnreadable, code: .clientCertificateUnreadable),
        Case(cause: .tlsHandshakeFailed, code: .tlsHandshakeFailed),
        Case(cause: .trustAnchorsUnreadable, code: .trustAnchorsUnreadable),
        Case(cause: .notHTTP, code: .notHTTP),
        Case(cause: .socksRefused(code: 5), code: .proxyRefused, details: (nil, 5, nil, "connection-refused")),
        Case(cause: .socksRefused(code: 0x5B), code: .proxyRefused, details: (nil, 0x5B, nil, nil)),
        Case(
            cause: .socksAuthenticationRefused(.credentialMissing), code: .proxyRefused,
            details: (nil, nil, nil, "credential-missing")),
        Case(
            cause: .socksAuthenticationRefused(.credentialRefused), code: .proxyRefused,
            details: (nil, nil, nil, "credential-refused")),
        Case(
            cause: .socksAuthenticationRefused(.methodsRefused), code: .proxyRefused,
            details: (nil, nil, nil, "methods-refused")),
        Case(cause: .notSOCKS, code: .notSOCKS),
        Case(cause: .headerSectionTooLarge(limit: 9), code: .headerSectionTooLarge, details: (nil, nil, 9, nil)),
        Case(
            cause: .openingHandshakeInvalid(.accept), code: .openingHandshakeInvalid, details: (nil, nil, nil, "accept")
        ),
        Case(cause: .protocolViolation(closeCode: 1002), code: .protocolViolation, details: (1_002, nil, nil, nil)),
        Case(cause: .messageTooLarge(limit: 7), code: .eventTooLarge, details: (nil, nil, 7, nil)),
        Case(cause: .unsupportedTransferCoding, code: .unsupportedTransferCoding),
        Case(cause: .unsupportedContentCoding, code: .unsupportedContentCoding),
        Case(cause: .corruptContentCoding, code: .corruptContentCoding),
        Case(cause: .connectionLost, code: .connectionLost),
        Case(cause: .peerUnresponsive, code: .peerUnresponsive),
        Case(cause: .unavailable, code: .unavailable),
        Case(cause: .environmentUnusable(.socket), code: .unavailable, details: (nil, nil, nil, "socket")),
        Case(cause: .environmentUnusable(.thread), code: .unavailable, details: (nil, nil, nil, "thread")),
        Case(cause: .environmentUnusable(.service), code: .unavailable, details: (nil, nil, nil, "service")),
    ]

    /// One attempt on a WebSocket.
    private static func fixture(_ script: [ScriptStep]) -> TurnFixture {
        TurnFixture([script]) {
            $0.policy = ChappieStreamingTransportPolicy(
                maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
        }
    }

    @Test(arguments: Self.cases)
    func aFailedConnectionHasACodeAndItsFacts(_ example: Case) async throws {
        let fixture = Self.fixture(.failure(.connect, example.cause))
        let outcome = await fixture.run()
        let failure = try #require(outcome.transportFailure)
        #expect(failure.code == example.code)
        #expect(failure.phase == .connect)
        #expect(failure.transport == .webSocket)
        #expect(failure.attempts == 1)
        #expect(failure.replaySafety == .notSent)
        #expect(failure.details.closeCode == example.details.closeCode)
        #expect(failure.details.systemCode == example.details.systemCode)
        #expect(failure.details.limit == example.details.limit)
        #expect(failure.details.detail == example.details.detail)
        #expect(outcome.outcomes == [example.cause == .timedOut ? "timeout.connect" : example.code.name])
    }

    @Test func theIssuerOfARejectedCertificateIsPassedOn() async throws {
        let fixture = Self.fixture(.failure(.tls, .certificateRejected(code: 10, issuer: "CN=a")))
        #expect(try #require(await fixture.run().transportFailure).details.issuer == "CN=a")
    }

    @Test(arguments: TransportFailure.Phase.allCases)
    func transportPhaseMapsToThePublicPhase(_ phase: TransportFailure.Phase) {
        let failure = AttemptFailure.transport(TransportFailure(phase: phase, cause: .timedOut))
        let isExchange = phase == .firstEvent || phase == .stream
        #expect(failure.phase(hasEvents: false).rawValue == (isExchange ? "firstEvent" : phase.rawValue))
        #expect(failure.phase(hasEvents: true).rawValue == (isExchange ? "stream" : phase.rawValue))
        #expect(failure.tag == "timeout.\(phase.rawValue)")
    }

    @Test func everyOtherFailureHasATagAndAPhase() {
        let facts = RefusalFacts(statusCode: 418)
        let expected: [(AttemptFailure, String, ChappieTransportFailure.Phase)] = [
            (.closed(code: 1011, beforeFirstEvent: true), "ws.close.1011", .firstEvent),
            (.endedEarly, "stream.ended-early", .firstEvent),
            (.endedWithoutEvent, "stream.ended-early", .firstEvent),
            (.upgradeStatus(facts), "http.418", .upgrade),
            (.httpStatus(facts), "http.418", .upgrade),
            (.errorEvent(facts), "http.418", .firstEvent),
            (.errorEvent(RefusalFacts()), "response.error", .firstEvent),
            (.responseFailed(facts), "response.failed", .firstEvent),
            (.responseIncomplete(reason: "x"), "response.incomplete", .firstEvent),
            (.unexpectedContentType, "http.content-type", .upgrade),
            (.binaryMessage, "ws.binary-message", .firstEvent),
            (.undecodableEvent, "event.undecodable", .firstEvent),
            (.eventTooLarge(limit: 1), "event.too-large", .firstEvent),
            (.timeout(.firstEvent), "timeout.firstEvent", .firstEvent),
            (.timeout(.idle), "timeout.idle", .firstEvent),
            (.timeout(.total), "timeout.total", .firstEvent),
            (.requestTooLarge, "request.too-large", .send),
        ]
        for (failure, tag, phase) in expected {
            #expect(failure.tag == tag)
            #expect(failure.phase(hasEvents: false) == phase)
        }
    }

    @Test func closeFailureHasItsCodeReasonAndRequestID() async throws {
        let fixture = Self.fixture([
            .opened(101, fields: ["x-request-id": "req"]), .request, .text(Event.text("a")),
            .ended(.closed(code: 1011, reason: "oops")),
        ])
        let outcome = await fixture.run()
        let failure = try #require(outcome.transportFailure)
        #expect(failure.code == .webSocketClosed)
        #expect(failure.phase == .stream)
        #expect(failure.replaySafety == .outputDelivered)
        #expect(failure.details.closeCode == 1_011)
        #expect(failure.details.closeReason == "oops")
        #expect(failure.details.statusCode == 101)
        #expect(failure.details.requestID == "req")
    }

    @Test func cancelledAttemptReportsItsByteCountsAndTimes() async throws {
        let signal = Signal()
        let fixture = Self.fixture([.opened(101), .request, .text(Event.created), .hang(signal)])
        let handle = fixture.instance.streamHandle(ChappieTransportRequest(prompt: "hi"))
        async let reading = TurnFixture.read(handle)
        await signal.wait()
        var statistics = TransportStatistics()
        statistics.receivedByteCount = 77
        statistics.sentByteCount = 33
        statistics.resolved = .milliseconds(10)
        statistics.connected = .milliseconds(20)
        statistics.opened = .milliseconds(250)
        statistics.lastReceived = .seconds(1)
        fixture.transport.connections[0].setStatistics(statistics)
        fixture.clock.advance(by: .seconds(5))
        handle.cancel()
        let outcome = await reading
        #expect(outcome.error is CancellationError)
        let attempt = try #require(outcome.report.attempts.first)
        #expect(attempt.receivedByteCount == 77)
        #expect(attempt.sentByteCount == 33)
        #expect(attempt.resolved == 0.01)
        #expect(attempt.connected == 0.02)
        #expect(attempt.opened == 0.25)
        #expect(attempt.firstEvent == 0)
        #expect(attempt.duration == 5)
        #expect(attempt.statusCode == 101)
        #expect(attempt.outcome == "cancelled")
    }

    @Test func theRefusalOfAnUpgradeHasItsBody() async {
        let fixture = Self.fixture(.refusal(403, body: "go away"))
        let outcome = await fixture.run()
        #expect(outcome.clientError == .httpError(403, "go away"))
        #expect(outcome.outcomes == ["http.403"])
        #expect(outcome.report.attempts[0].statusCode == 403)
    }

    @Test(arguments: [false, true])
    func theBodyOfARefusalIsCutAtTheLimit(isHTTP: Bool) async {
        for count in [9, 10, 11, 25] {
            let body = String(repeating: "x", count: count)
            let fixture = TurnFixture([
                // The rest never arrives, and is not awaited.
                [.opened(403), .body(String(body.prefix(4))), .body(String(body.dropFirst(4)))]
                    + (count < 10 ? [.ended(.complete)] : [])
            ]) {
                $0.limits.errorBodyByteCount = 10
                $0.policy = ChappieStreamingTransportPolicy(
                    prefersWebSocket: !isHTTP, maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
            }
            let start = fixture.clock.now
            let outcome = await fixture.run()
            #expect(outcome.clientError == .httpError(403, String(body.prefix(10))))
            #expect(fixture.clock.now == start)
        }
    }

    @Test(arguments: [-1, 0, 5])
    func theTextOfAnErrorEventIsCutAtTheLimit(_ limit: Int) async {
        let event = #"{"type":"error","status":400,"error":{"message":"m"}}"#
        let fixture = TurnFixture([.webSocket(event)]) { $0.limits.errorBodyByteCount = limit }
        let outcome = await fixture.run()
        #expect(outcome.clientError == .httpError(400, String(event.prefix(max(0, limit)))))
    }

    @Test func theBrokenBodyOfARefusalIsARefusal() async {
        let fixture = Self.fixture([
            .opened(403), .body("no"), .ended(.failed(TransportFailure(phase: .stream, cause: .connectionLost))),
        ])
        let outcome = await fixture.run()
        #expect(outcome.clientError == .httpError(403, "no"))
    }

    @Test func anErrorEventWithoutAStatusCodeIsTheEndOfTheResponse() async {
        let fixture = Self.fixture(
            .webSocket(#"{"type":"error","error":{"code":"invalid_prompt","message":"no"}}"#))
        let outcome = await fixture.run()
        var response = ChappieResponse(id: nil, status: "failed", errorCode: "invalid_prompt", errorMessage: "no")
        response.errorPayload = #"{"code":"invalid_prompt","message":"no"}"#
        #expect(outcome.clientError == .responseTerminalFailure(response))
        #expect(outcome.outcomes == ["response.error"])
    }

    @Test func failedResponseThrowsATerminalFailure() async {
        let fixture = Self.fixture(.webSocket(Event.text("a"), Event.failed(code: "context_length_exceeded")))
        let outcome = await fixture.run()
        #expect(outcome.text == "a")
        var response = ChappieResponse(
            id: "r", status: "failed", errorCode: "context_length_exceeded", errorMessage: "m")
        response.errorPayload = #"{"code":"context_length_exceeded","message":"m"}"#
        #expect(outcome.clientError == .responseTerminalFailure(response))
    }

    @Test func incompleteResponseThrowsATerminalFailure() async {
        let fixture = Self.fixture(.webSocket(Event.text("a"), Event.incomplete))
        let outcome = await fixture.run()
        #expect(
            outcome.clientError
                == .responseTerminalFailure(
                    ChappieResponse(
                        id: "r", status: "incomplete", errorCode: nil, errorMessage: nil,
                        incompleteReason: "max_output_tokens")))
    }

    @Test(arguments: ["{", "[]", "null", #"{"type":"response.output_text.delta"}"#])
    func invalidEventFailsTheAttempt(_ message: String) async {
        let fixture = Self.fixture(.webSocket(message))
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.code == .undecodableEvent)
    }

    @Test func aBinaryMessageFailsTheAttempt() async {
        let fixture = Self.fixture([.opened(101), .request, .binary([1, 2, 3])])
        let outcome = await fixture.run()
        #expect(outcome.transportFailure?.code == .binaryMessage)
    }

    @Test func bodyThatIsNotAnObjectIsRefusedBeforeAnyConnection() async {
        let fixture = TurnFixture([])
        let outcome = await fixture.run(ChappieTransportRequest(body: Array("[]".utf8)))
        #expect(outcome.transportFailure?.code == .invalidRequest)
        #expect(outcome.transportFailure?.attempts == 0)
        #expect(outcome.transportFailure?.replaySafety == .notSent)
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func onlyTheRequestTooLargeForAWebSocketUsesHTTP() async {
        let large = ChappieTransportRequest(prompt: String(repeating: "x", count: 16_700_000))
        let fixture = TurnFixture([.eventStream(Event.completed), .webSocket(Event.completed)])
        let first = await fixture.run(large)
        #expect(first.error == nil)
        #expect(first.report.fallbackReason == "request.too-large")
        let second = await fixture.run()
        #expect(second.report.attempts.map(\.transport) == [.webSocket])
    }

    @Test func aStreamThatHasThrownIsOver() async throws {
        let fixture = Self.fixture(.refusal(403))
        var events = fixture.instance.stream(ChappieTransportRequest(prompt: "hi")).makeAsyncIterator()
        await #expect(throws: ChappieClientError.httpError(403, "")) { try await events.next() }
        #expect(try await events.next() == nil)
    }
}

@Suite struct DriverCredentialTests {
    private struct Refused: Error, Equatable {}

    @Test func theErrorOfACredentialSourceIsPassedOn() async {
        let fixture = TurnFixture([]) { $0.credential = { _ in throw Refused() } }
        let outcome = await fixture.run()
        #expect(outcome.error is Refused)
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func theErrorOfARefreshIsPassedOn() async {
        let fixture = TurnFixture([.refusal(401)]) {
            $0.credential = { request in
                guard request == .connecting else { throw Refused() }
                return ChappieCredential(bearerToken: "old")
            }
        }
        let outcome = await fixture.run()
        #expect(outcome.error is Refused)
        #expect(outcome.outcomes == ["http.401"])
    }

    @Test func aRejectedCredentialIsReplacedOnce() async {
        let fixture = TurnFixture([.refusal(401), .webSocket(Event.completed)]) {
            $0.credential = { ChappieCredential(bearerToken: $0 == .connecting ? "old" : "new") }
        }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        let tokens = fixture.transport.requests.flatMap { request in
            request.fields.filter { $0.name == "Authorization" }.map(\.value)
        }
        #expect(tokens == ["Bearer old", "Bearer new"])
        #expect(fixture.clock.sleeps.isEmpty)
    }

    @Test func secondRejectionRequiresReauthentication() async {
        let body = #"{"error":{"code":"token_expired","message":"secret words"}}"#
        let fixture = TurnFixture([.refusal(401), .refusal(401, body: body)]) {
            $0.credential = { ChappieCredential(bearerToken: $0 == .connecting ? "old" : "new") }
        }
        let outcome = await fixture.run()
        #expect(outcome.clientError == .reauthenticationRequired("token_expired"))
    }

    @Test func unchangedCredentialIsNotUsedForARetry() async {
        let fixture = TurnFixture([.refusal(401)]) {
            $0.credential = { _ in ChappieCredential(bearerToken: "old") }
        }
        let outcome = await fixture.run()
        #expect(outcome.clientError == .reauthenticationRequired("the server answered 401"))
        #expect(fixture.transport.requests.count == 1)
    }
}
