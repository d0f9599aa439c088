// The rules of WHATWG HTML section 9.2, each with a test: connecting, answers, reconnecting, the last event ID.

import ServerSentEvents
import StreamSession
import StreamTransport
import Testing

@testable import EventSource

@Suite struct ReconnectionRuleTests {
    // MARK: Section 9.2.2: the request

    @Test func firstRequestHasNoLastEventID() {
        var fixture = SessionFixture()
        #expect(fixture.session.start() == .connect(.init(endpoint: SessionFixture.endpoint)))
    }

    @Test func givenLastEventIDIsInTheFirstRequest() {
        var fixture = SessionFixture(lastEventID: "abc")
        #expect(fixture.session.start().exchange?.value(of: "Last-Event-ID") == "abc")
        #expect(fixture.session.lastEventID == "abc")
    }

    // MARK: Section 9.2.3: the answer

    @Test func streamWithStatusCode200IsRead() {
        var fixture = SessionFixture()
        _ = fixture.session.start()
        #expect(fixture.session.head(.events) == .readEvents)
        fixture.receive("data: a\n\n")
        #expect(fixture.events == [ServerSentEvent(data: "a")])
    }

    @Test(arguments: [
        "text/event-stream", "Text/Event-Stream", "text/event-stream;charset=utf-8", "text/event-stream ; a=\"b,c\"",
        "text/event-stream; charset=latin1", " text/event-stream", "text/html, text/event-stream",
        "text/html;x=\"a\\\",b\", text/event-stream", "text/event-stream, */*", "text/event-stream, x",
    ])
    func contentTypeMayHaveParameters(_ type: String) {
        #expect(ResponseHead.answer(200, "content-type", type).mediaType == "text/event-stream")
    }

    @Test(arguments: [
        nil, "", "text/plain", "text/event-streams", "text/event-stream, text/html", "application/json", "text",
        "text/html;x=\", text/event-stream\"", "event-stream", "text/event-stream/x",
    ])
    func otherContentTypesEndTheEventSource(_ type: String?) {
        var fixture = SessionFixture()
        _ = fixture.session.start()
        #expect(fixture.session.head(.answer(200, "Content-Type", type)) == .readRefusal)
        #expect(fixture.session.refusalRead(at: fixture.moment) == .fail(.attempt(.unexpectedContentType)))
        #expect(fixture.session.hasEnded)
    }

    @Test func typesInSeveralFieldLinesAreOneList() {
        let lines = ["text/html", "text/event-stream"].map { HTTPField("Content-Type", $0) }
        #expect(ResponseHead(statusCode: 200, fields: lines).mediaType == "text/event-stream")
        #expect(ResponseHead(statusCode: 200, fields: lines.reversed()).mediaType == "text/html")
    }

    @Test func statusCode204EndsTheEventSourceWithoutAnError() {
        var fixture = SessionFixture()
        _ = fixture.session.start()
        #expect(fixture.session.head(.answer(204)) == .finish)
        #expect(fixture.session.hasEnded)
    }

    @Test func statusCode204EndsItAlsoWhenItReconnects() {
        var fixture = SessionFixture.open()
        fixture.receive("data: a\n\n")
        #expect(fixture.reconnect() != nil)
        #expect(fixture.session.head(.answer(204)) == .finish)
    }

    @Test(arguments: [201, 202, 205, 206, 300, 304, 305, 400, 401, 404, 407, 408, 429, 500, 502, 503, 599, 999])
    func otherStatusCodesEndTheEventSource(_ statusCode: Int) {
        var fixture = SessionFixture()
        _ = fixture.session.start()
        #expect(fixture.session.head(.answer(statusCode, "Content-Type", "text/event-stream")) == .readRefusal)
        #expect(
            fixture.session.refusalRead(at: fixture.moment)
                == .fail(.attempt(.httpStatus(RefusalFacts(statusCode: statusCode)))))
    }

    @Test func endOfARefusalsContentDoesNotReplaceItsStatusCode() {
        var fixture = SessionFixture()
        _ = fixture.session.start()
        _ = fixture.session.head(.answer(500))
        #expect(fixture.end(.lost) == .fail(.attempt(.httpStatus(RefusalFacts(statusCode: 500)))))
    }

    // MARK: Section 9.2.3: reestablishing the connection

    @Test func streamThatEndsIsReestablished() {
        var fixture = SessionFixture.open()
        fixture.receive("data: a\n\n")
        #expect(fixture.end() == .wait(.zero, after: nil))
        #expect(fixture.session.waited() == .connect(.init(endpoint: SessionFixture.endpoint)))
        #expect(fixture.session.attempt == 2)
    }

    @Test func streamThatBreaksIsReestablished() {
        var fixture = SessionFixture.open()
        let lost = AttemptFailure.transport(TransportFailure(phase: .stream, cause: .connectionLost))
        #expect(fixture.end(.lost) == .wait(.zero, after: .attempt(lost)))
    }

    @Test(arguments: [
        TransportFailure.Cause.unresolvable(code: -2), .unreachable(code: 111), .timedOut, .connectionLost,
        .tlsHandshakeFailed, .proxyRefused(statusCode: 502), .notHTTP, .corruptContentCoding, .malformedBody,
        .peerUnresponsive,
    ])
    func networkErrorsAreReestablished(_ cause: TransportFailure.Cause) {
        var fixture = SessionFixture()
        _ = fixture.session.start()
        let failure = TransportFailure(phase: .connect, cause: cause)
        #expect(fixture.end(.failed(failure)) == .wait(.zero, after: .attempt(.transport(failure))))
    }

    @Test(arguments: [
        TransportFailure.Cause.invalidRequest("x"), .certificateRejected(code: 20), .keyNotPinned, .proxyInvalid("x"),
        .trustAnchorsUnreadable, .clientCertificateUnreadable, .proxyRefused(statusCode: 407),
        .unsupportedContentCoding, .unsupportedTransferCoding, .headerSectionTooLarge(limit: 1),
    ])
    func futileNetworkErrorsEndTheEventSource(_ cause: TransportFailure.Cause) {
        var fixture = SessionFixture()
        _ = fixture.session.start()
        let failure = TransportFailure(phase: .connect, cause: cause)
        #expect(fixture.end(.failed(failure)) == .fail(.attempt(.transport(failure))))
    }

    @Test(arguments: [AttemptFailure.TimeBudget.firstEvent, .idle])
    func timeBudgetsOfAnAttemptAreReestablished(_ budget: AttemptFailure.TimeBudget) {
        var fixture = SessionFixture.open()
        #expect(
            fixture.session.timedOut(budget, at: fixture.moment) == .wait(.zero, after: .attempt(.timeout(budget))))
    }

    @Test func totalTimeEndsTheEventSource() {
        var fixture = SessionFixture.open()
        #expect(fixture.session.timedOut(.total, at: fixture.moment) == .fail(.attempt(.timeout(.total))))
    }

    @Test func silentRefusalKeepsItsStatusCode() {
        var fixture = SessionFixture()
        _ = fixture.session.start()
        _ = fixture.session.head(.answer(500))
        #expect(
            fixture.session.timedOut(.idle, at: fixture.moment)
                == .fail(.attempt(.httpStatus(RefusalFacts(statusCode: 500)))))
    }

    // MARK: Section 9.2.6: the stream

    @Test func retryFieldSetsTheReconnectionTime() {
        var fixture = SessionFixture.open()
        fixture.receive("retry: 1234\ndata: a\n\n")
        #expect(fixture.end().delay == .milliseconds(1_234))
    }

    @Test func retryFieldActsWithoutAnEvent() {
        var fixture = SessionFixture.open()
        fixture.receive("retry: 7\n")
        #expect(fixture.end().delay == .milliseconds(7))
    }

    @Test(arguments: ["+5", "5x", "1_000", "-1", " 5 ", "0x5", "٣"])
    func malformedRetryFieldIsIgnored(_ value: String) {
        var fixture = SessionFixture.open { $0.reconnection.reconnectionTime = .seconds(9) }
        fixture.receive("retry:\(value)\ndata: a\n\n")
        // One space behind the colon belongs to the syntax.
        #expect(fixture.end().delay == .seconds(9))
    }

    @Test func reconnectionTimePersistsOverReconnections() {
        var fixture = SessionFixture.open()
        fixture.receive("retry: 50\n\ndata: a\n\n")
        #expect(fixture.reconnect() != nil)
        _ = fixture.session.head(.events)
        fixture.receive("data: b\n\n")
        #expect(fixture.end().delay == .milliseconds(50))
    }

    @Test func lastEventIDIsSentOnReconnection() {
        var fixture = SessionFixture.open()
        fixture.receive("id: 1\ndata: a\n\nid: 2\ndata: b\n\n")
        #expect(fixture.reconnect()?.value(of: "Last-Event-ID") == "2")
    }

    @Test func lastEventIDPersistsOverStreamsWithoutOne() {
        var fixture = SessionFixture.open()
        fixture.receive("id: 1\ndata: a\n\n")
        #expect(fixture.reconnect()?.value(of: "Last-Event-ID") == "1")
        _ = fixture.session.head(.events)
        fixture.receive("data: b\n\n")
        #expect(fixture.events.last == ServerSentEvent(data: "b", lastEventID: "1"))
        #expect(fixture.reconnect()?.value(of: "Last-Event-ID") == "1")
    }

    @Test func emptyIDFieldRemovesTheLastEventID() {
        var fixture = SessionFixture.open(lastEventID: "1")
        fixture.receive("id\ndata: a\n\n")
        #expect(fixture.reconnect()?.value(of: "Last-Event-ID") == nil)
    }

    @Test func idWithNULIsIgnored() {
        var fixture = SessionFixture.open()
        fixture.receive("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n")
        #expect(fixture.reconnect()?.value(of: "Last-Event-ID") == "1")
    }

    @Test func idIsEncodedAsUTF8() {
        var fixture = SessionFixture.open()
        fixture.receive("id: ☃ü\u{1F600}\ndata: a\n\n")
        #expect(fixture.reconnect()?.value(of: "Last-Event-ID") == "☃ü\u{1F600}")
    }

    @Test(arguments: ["a\u{1}b", "a\u{1F}b", "\u{7F}", String(repeating: "x", count: 4_097)])
    func idThatNoFieldCanCarryIsNotSent(_ id: String) {
        var fixture = SessionFixture.open()
        fixture.receive("id: \(id)\ndata: a\n\n")
        #expect(fixture.session.lastEventID == id)
        #expect(fixture.session.hasUnsendableLastEventID)
        #expect(fixture.reconnect()?.value(of: "Last-Event-ID") == nil)
    }

    @Test(arguments: ["a\tb", "a\u{85}b", "a\u{2028}b", "x", String(repeating: "x", count: 4_096)])
    func idThatAFieldCanCarryIsSent(_ id: String) {
        var fixture = SessionFixture.open()
        fixture.receive("id: \(id)\ndata: a\n\n")
        #expect(!fixture.session.hasUnsendableLastEventID)
        #expect(fixture.reconnect()?.value(of: "Last-Event-ID") == id)
    }

    @Test(arguments: ["data: lost", "data: lost\n", "id: 9\ndata: lost\n", "id: 9"])
    func incompleteEventIsDiscarded(_ rest: String) {
        var fixture = SessionFixture.open()
        fixture.receive("id: 1\ndata: a\n\n\(rest)")
        #expect(fixture.end() == .wait(.zero, after: .attempt(.endedEarly)))
        #expect(fixture.session.waited().exchange?.value(of: "Last-Event-ID") == "1")
        _ = fixture.session.head(.events)
        fixture.receive("\ndata: b\n\n")
        #expect(fixture.events.map(\.data) == ["a", "b"])
    }

    @Test func blockWithoutDataSetsTheLastEventID() {
        var fixture = SessionFixture.open()
        fixture.receive("id: 5\n\n")
        #expect(fixture.events.isEmpty)
        #expect(fixture.reconnect()?.value(of: "Last-Event-ID") == "5")
    }

    @Test func byteOrderMarkIsStrippedFromEachStream() {
        var fixture = SessionFixture.open()
        fixture.receive("\u{FEFF}data: a\n\n")
        #expect(fixture.reconnect() != nil)
        _ = fixture.session.head(.events)
        fixture.receive("\u{FEFF}data: b\n\n")
        #expect(fixture.events.map(\.data) == ["a", "b"])
    }

    // MARK: Limits and the program's wishes

    @Test(arguments: [(3, true), (4, true), (5, false)])
    func eventOverTheLimitEndsTheEventSource(_ byteCount: Int, _ isAllowed: Bool) {
        var fixture = SessionFixture.open { $0.eventByteCount = 4 }
        let action = fixture.receive("data:a\n\ndata:\(String(repeating: "x", count: byteCount))\n\n")
        #expect(action == (isAllowed ? nil : .fail(.attempt(.eventTooLarge(limit: 4)))))
        #expect(fixture.events.count == (isAllowed ? 2 : 1))
    }

    @Test func closedEventSourceHasEnded() {
        var fixture = SessionFixture.open()
        fixture.session.close()
        #expect(fixture.session.hasEnded)
        #expect(fixture.session.restart() == nil)
    }

    @Test func programCanReconnectAtOnce() {
        var fixture = SessionFixture.open()
        fixture.receive("id: 1\ndata: a\n\ndata: cut")
        #expect(fixture.session.restart()?.exchange?.value(of: "Last-Event-ID") == "1")
        _ = fixture.session.head(.events)
        fixture.receive("data: b\n\n")
        #expect(fixture.events.map(\.data) == ["a", "b"])
    }
}
