import ChappieTestServer
import ChappieTransport
import Foundation
import Testing

/// Malformed answers: each has an error of its own, and output before it is delivered once.
@Suite(.timeLimit(.minutes(10))) struct BadInputTests {
    typealias Field = ChappieTestServer.Field

    // MARK: Heads

    @Test(
        arguments: Wire.allCases,
        [
            nil, "HTTP/1.1 4291 Too Many Digits\r\n\r\n", "HTTP/1.1 1000 OK\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 99 OK\r\n\r\n",
        ])
    func anAnswerThatIsNotHTTPIsTriedTwice(over wire: Wire, text: String?) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(action: .answerWithoutHTTP(text: text))], client: { $0.policy = wire.alone })
        turn.outcome.expectFailure(
            ExpectedFailure(
                code: .notHTTP, tag: "http.not-http", phase: .upgrade, attempts: 2,
                safety: wire == .webSocket ? .notSent : .sentNoOutput), over: wire)
    }

    @Test func anUpgradeThatIsNotAnsweredWithHTTPMakesTheTurnFallBack() async throws {
        let turn = try await LoopbackTurn.run([.init(action: .answerWithoutHTTP(), transport: .webSocket)])
        turn.outcome.expectWhole()
        #expect(turn.transports.last == .http)
    }

    @Test func aPageInPlaceOfAnEventStreamIsNotRetried() async throws {
        let page = "<!doctype html><title>Sign in</title>"
        let turn = try await LoopbackTurn.run([.init(.answer(status: 200, body: page))], over: .httpSSE)
        turn.outcome.expectFailure(
            ExpectedFailure(
                code: .unexpectedContentType, tag: "http.content-type", phase: .upgrade, attempts: 1,
                safety: .sentNoOutput), over: .httpSSE)
        #expect(turn.outcome.transportFailure?.details.statusCode == 200)
        #expect(turn.outcome.transportFailure?.details.requestID == "req_1")
    }

    @Test func aPageInPlaceOfAnUpgradeMakesTheTurnFallBack() async throws {
        let page = "<!doctype html><title>Sign in</title>"
        let turn = try await LoopbackTurn.run([.init(.answer(status: 200, body: page), transport: .webSocket)])
        turn.outcome.expectWhole()
        #expect(turn.transports == [.webSocket, .http])
        #expect(turn.outcome.report.fallbackReason == "http.200")
    }

    @Test func anUpgradeThatIsAnsweredWithAPageFailsWithoutFallback() async throws {
        let page = "<!doctype html><title>Sign in</title>"
        let turn = try await LoopbackTurn.run(
            [.init(.answer(status: 200, body: page))], client: { $0.policy = Wire.webSocket.alone })
        #expect(turn.outcome.clientError == .httpError(200, page))
        #expect(turn.log.count == 1)
    }

    @Test(arguments: [
        (ChappieTestServer.Fault.Action.wrongAcceptKey, "accept"),
        (.unofferedExtension(), "extensions"),
        (.unofferedExtension(value: "permessage-deflate; server_max_window_bits=99"), "extensions"),
        (.unofferedSubprotocol(), "subprotocol"),
    ])
    func invalidOpeningHandshakeNamesItsInvalidPart(_ action: ChappieTestServer.Fault.Action, part: String)
        async throws
    {
        let turn = try await LoopbackTurn.run([.init(action: action)], client: { $0.policy = Wire.webSocket.alone })
        turn.outcome.expectFailure(
            ExpectedFailure(
                code: .openingHandshakeInvalid, tag: "ws.opening-handshake", phase: .upgrade, attempts: 1,
                safety: .notSent), over: .webSocket)
        #expect(turn.outcome.transportFailure?.details.detail == part)
    }

    @Test(arguments: Wire.allCases)
    func aHeaderSectionOverTheLimitIsNotRetried(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(action: .largeHeaderSection(byteCount: 256 << 10))], client: { $0.policy = wire.alone })
        turn.outcome.expectFailure(
            ExpectedFailure(
                code: .headerSectionTooLarge, tag: "http.header-section-too-large", phase: .upgrade, attempts: 1,
                safety: wire == .webSocket ? .notSent : .sentNoOutput), over: wire)
        #expect(turn.outcome.transportFailure?.details.limit ?? 0 > 0)
    }

    @Test(arguments: Wire.allCases)
    func aHeaderSectionBelowTheLimitIsRead(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(action: .largeHeaderSection(byteCount: 8 << 10))], client: { $0.policy = wire.alone })
        turn.outcome.expectWhole()
    }

    // MARK: Events

    @Test(arguments: [1, 20])
    func aBinaryMessageIsTriedTwice(asEvent event: Int) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(action: .binaryEvent(event: event))], client: { $0.policy = Wire.webSocket.alone })
        turn.outcome.expectFailure(
            ExpectedFailure(
                code: .binaryMessage, tag: "ws.binary-message", phase: event == 1 ? .firstEvent : .stream,
                attempts: 2, safety: event == 1 ? .sentNoOutput : .outputDelivered), over: .webSocket,
            deliversText: event > 1)
    }

    @Test(arguments: Wire.allCases, ["this is not JSON", "[1,2]", "{\"type\":", "\"text\""])
    func eventThatIsNotAJSONObjectFailsAfterASecondAttempt(over wire: Wire, payload: String) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(.insert(payload: payload, beforeEvent: 20))], client: { $0.policy = wire.alone })
        turn.outcome.expectFailure(
            ExpectedFailure(
                code: .undecodableEvent, tag: "event.undecodable", phase: .stream, attempts: 2,
                safety: .outputDelivered), over: wire, deliversText: true)
    }

    @Test(arguments: Wire.allCases)
    func anEventThatIsNotJSONIsForgottenWhenTheRetryIsGood(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(.insert(payload: "this is not JSON", beforeEvent: 20), attempts: 1...1)], over: wire)
        turn.outcome.expectWhole()
        #expect(turn.outcome.report.attempts.map(\.outcome) == ["event.undecodable", "completed"])
    }

    @Test(arguments: Wire.allCases, ["{}", "{\"padding\":\"aaaa\"}", "{\"type\":\"response.unheard.of\"}"])
    func unknownEventIsIgnored(over wire: Wire, payload: String) async throws {
        let turn = try await LoopbackTurn.run([.init(.insert(payload: payload, beforeEvent: 20))], over: wire)
        turn.outcome.expectWhole()
        #expect(turn.log.count == 1)
    }

    @Test(arguments: Wire.allCases)
    func streamWithoutATerminalEventFails(over wire: Wire) async throws {
        let turn = try await LoopbackTurn.run(
            [.init(.endWithoutTerminal())], client: { $0.policy = wire.alone })
        turn.outcome.expectFailure(
            ExpectedFailure(
                code: wire == .webSocket ? .webSocketClosed : .endedEarly,
                tag: wire == .webSocket ? "ws.close.1000" : "stream.ended-early", phase: .stream, attempts: 6,
                safety: .outputDelivered), over: wire, deliversText: true)
        #expect(turn.outcome.text == LoopbackTurn.model.fullText)
        #expect(turn.outcome.transportFailure?.details.closeCode == (wire == .webSocket ? 1000 : nil))
    }

    // MARK: Content codings

    @Test func aCompressedBodyThatIsCutOffIsRetried() async throws {
        let turn = try await LoopbackTurn.run(
            [.init(action: .truncateContent), .init(.endWithoutTerminal(afterEvent: 20))], over: .httpSSE,
            server: { $0.contentCoding = .gzip })
        turn.outcome.expectFailure(
            ExpectedFailure(
                code: .corruptContentCoding, tag: "http.corrupt-content-coding", phase: .stream, attempts: 6,
                safety: .outputDelivered), over: .httpSSE, deliversText: true)
    }

    @Test func bodyThatDoesNotMatchItsContentCodingIsRetried() async throws {
        let turn = try await self.answered(coding: "gzip", body: "this is not gzip")
        turn.outcome.expectFailure(
            ExpectedFailure(
                code: .corruptContentCoding, tag: "http.corrupt-content-coding", phase: .firstEvent, attempts: 6,
                safety: .sentNoOutput), over: .httpSSE)
    }

    @Test func outputBeforeDamageInACompressedBodyIsDeliveredOnce() async throws {
        // A zlib stream (RFC 1950) in characters that UTF-8 carries unchanged: stored blocks of 0x4020 bytes, whose
        // length and complement happen to be characters, and then a block of the type that does not exist. Their
        // number puts the damage into a later piece of the body than the event.
        let event =
            "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\"one\"}\n\n:"
        let padding = String(repeating: "p", count: 0x4020 - event.utf8.count)
        let header = "\u{00}\u{20}\u{40}\u{7FF}"
        let blocks = String(repeating: header + String(repeating: "p", count: 0x4020), count: 9)
        let turn = try await self.answered(
            coding: "deflate", body: "\u{78}\u{01}\(header)\(event)\(padding)\(blocks)\u{07}\u{07}\u{07}")
        #expect(turn.outcome.text == "one")
        #expect(turn.outcome.transportFailure?.code == .corruptContentCoding)
        #expect(turn.outcome.transportFailure?.phase == .stream)
        #expect(turn.outcome.transportFailure?.attempts == 6)
        #expect(turn.outcome.transportFailure?.replaySafety == .outputDelivered)
    }

    @Test(arguments: ["br", "gzip, zstd"])
    func aContentCodingThatWasNotAskedForIsNotRetried(coding: String) async throws {
        let turn = try await self.answered(coding: coding, body: "unreadable")
        turn.outcome.expectFailure(
            ExpectedFailure(
                code: .unsupportedContentCoding, tag: "http.content-coding", phase: .firstEvent, attempts: 1,
                safety: .sentNoOutput), over: .httpSSE)
    }

    private func answered(coding: String, body: String) async throws -> LoopbackTurn {
        let fields = [
            Field(name: "content-type", value: "text/event-stream"), Field(name: "content-encoding", value: coding),
        ]
        return try await LoopbackTurn.run(
            [.init(.answer(status: 200, fields: fields, body: body))], over: .httpSSE)
    }
}
