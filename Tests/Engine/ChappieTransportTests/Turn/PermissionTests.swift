// A program that examines each request before it is sent, and may refuse it.

import Foundation
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct PermissionTests {
    private struct No: Error {}

    /// A request that `willSend` has received.
    private struct Question: Equatable {
        let url: String
        let transport: ChappieTransportKind
        let body: String
        let attempt: Int

        init(_ request: ChappieOutgoingRequest) {
            self.url = request.url.absoluteString
            self.transport = request.transport
            self.body = String(decoding: request.body, as: UTF8.self)
            self.attempt = request.attempt
        }
    }

    private final class Asked: Sendable {
        private let questions = LockedValue<[Question]>([])
        var all: [Question] { self.questions.withLock { $0 } }

        /// Permits the first `count` requests.
        func hook(
            agreeing count: Int = .max, _ refusal: any Error = No()
        ) -> @Sendable (ChappieOutgoingRequest) async throws -> Void {
            { request in
                let number = self.questions.withLock { questions in
                    questions.append(Question(request))
                    return questions.count
                }
                if number > count { throw refusal }
            }
        }
    }

    private static let request = conversation([WireItem.question])

    // MARK: The questions

    @Test func eachMessageIsShownAsItGoesOut() async {
        let asked = Asked()
        let fixture = TurnFixture([
            .socket([Event.created("r1")], isBroken: true), .socket([Event.text("a"), Event.completed("r2")]),
        ]) { $0.willSend = asked.hook() }
        #expect(await fixture.run(Self.request).text == "a")
        #expect(asked.all.map(\.body) == fixture.messages.flatMap { $0 })
        #expect(asked.all.map(\.attempt) == [1, 2])
        #expect(asked.all.map(\.transport) == [.webSocket, .webSocket])
        #expect(Set(asked.all.map(\.url)) == ["wss://api.example/v1/responses"])
    }

    @Test func eachPostIsShownAsItGoesOut() async {
        let asked = Asked()
        let fixture = TurnFixture([.refusal(503), .http([Event.text("a"), Event.completed("r2")])]) {
            $0.policy = .httpSSEOnly
            $0.willSend = asked.hook()
        }
        #expect(await fixture.run(Self.request).text == "a")
        #expect(asked.all.map(\.body) == fixture.transport.requests.map(\.body))
        #expect(asked.all.map(\.attempt) == [1, 2])
        #expect(Set(asked.all.map(\.url)) == ["https://api.example/v1/responses"])
    }

    @Test func aResumptionHasNoBody() async {
        let asked = Asked()
        let created = #"{"type":"response.created","response":{"id":"r1"},"sequence_number":0}"#
        let completed = #"{"type":"response.completed","response":{"id":"r1"},"sequence_number":1}"#
        let fixture = TurnFixture([.http([created]), .http([completed])]) { $0.willSend = asked.hook() }
        let outcome = await fixture.run(
            conversation([WireItem.question], #""model":"m","background":true,"store":true"#))
        #expect(outcome.error == nil)
        #expect(asked.all.map(\.body) == [fixture.transport.requests[0].body ?? "-", ""])
        #expect(asked.all[1].url == "https://api.example/v1/responses/r1?stream=true&starting_after=0")
    }

    @Test(arguments: [("http://[::1]:8080/v1", "ws://[::1]:8080/v1/responses"), ("ws://h:80", "ws://h/responses")])
    func willSendReceivesTheURLOfTheRequest(base: String, expected: String) async throws {
        let url = try #require(URL(string: base))
        let asked = Asked()
        let fixture = TurnFixture([.socket([Event.completed("r")])]) {
            $0.baseURL = url
            $0.willSend = asked.hook()
        }
        _ = await fixture.run(Self.request)
        #expect(asked.all.map(\.url) == [expected])
    }

    @Test func willSendReceivesOnlyTheNewPartOfAContinuation() async {
        let asked = Asked()
        let fixture = TurnFixture([
            .socket([Event.created("r1"), Event.done(WireItem.sentCall("a")), Event.completed("r1")])
        ]) { $0.willSend = asked.hook() }
        _ = await fixture.run(Self.request)
        fixture.transport.connections[0].append(.again(Event.created("r2"), Event.completed("r2")))
        _ = await fixture.run(conversation([WireItem.question, WireItem.call("a"), WireItem.output("a")]))
        #expect(asked.all.map(\.body) == fixture.messages[0])
        #expect(SentMessage(asked.all[1].body)?.inputCount == 1)
    }

    @Test func willSendDoesNotReceiveTheCredential() async {
        let asked = Asked()
        let fixture = TurnFixture([.socket([Event.completed("r")])]) {
            $0.credential = { _ in ChappieCredential(bearerToken: "secret-token") }
            $0.willSend = asked.hook()
        }
        _ = await fixture.run(Self.request)
        #expect(!asked.all.contains { $0.body.contains("secret-token") || $0.url.contains("secret-token") })
    }

    // MARK: Refusals

    @Test(arguments: [false, true])
    func willSendErrorEndsTheTurnBeforeARequest(isHTTP: Bool) async {
        let asked = Asked()
        let fixture = TurnFixture([isHTTP ? .http([Event.completed("r")]) : .socket([Event.completed("r")])]) {
            if isHTTP { $0.policy = .httpSSEOnly }
            $0.willSend = asked.hook(agreeing: 0)
        }
        let outcome = await fixture.run(Self.request)
        #expect(outcome.clientError == .requestRefused("No()"))
        #expect(outcome.report.replaySafety == .notSent)
        #expect(fixture.sentRequestCount == 0)
        #expect(asked.all.count == 1)
        if isHTTP {
            #expect(fixture.transport.requests.isEmpty)
        } else {
            #expect(outcome.outcomes == ["request.refused"])
            #expect(fixture.calls(0) == [.cancel])
        }
    }

    @Test(arguments: [false, true])
    func willSendErrorOfARetryKeepsTheReplaySafety(hasOutput: Bool) async {
        let asked = Asked()
        let events = hasOutput ? [Event.created("r1"), Event.text("a")] : [Event.created("r1")]
        let fixture = TurnFixture([.socket(events, isBroken: true), .socket([Event.completed("r")])]) {
            $0.willSend = asked.hook(agreeing: 1)
        }
        let outcome = await fixture.run(Self.request)
        #expect(outcome.clientError == .requestRefused("No()"))
        #expect(outcome.report.replaySafety == (hasOutput ? .outputDelivered : .sentNoOutput))
        #expect(fixture.sentRequestCount == 1)
    }

    @Test func errorsOfTheEngineAndCancellationsPassThrough() async {
        for (error, isSame) in [
            (ChappieClientError.missingCredential as any Error, { $0 as? ChappieClientError == .missingCredential }),
            (CancellationError(), { $0 is CancellationError }),
        ] as [(any Error, ((any Error)?) -> Bool)] {
            for isHTTP in [false, true] {
                let fixture = TurnFixture([isHTTP ? .http([]) : .socket([])]) {
                    if isHTTP { $0.policy = .httpSSEOnly }
                    $0.willSend = Asked().hook(agreeing: 0, error)
                }
                let outcome = await fixture.run(Self.request)
                #expect(isSame(outcome.error))
                #expect(outcome.report.replaySafety == .notSent)
                #expect(fixture.sentRequestCount == 0)
            }
        }
    }

    @Test func aHedgeIsAskedForBeforeItsConnectionIsMade() async {
        let asked = Asked()
        let fixture = TurnFixture([[], .held(Event.text("a"), Event.completed("r"))]) {
            $0.willSend = asked.hook(agreeing: 0)
        }
        let outcome = await fixture.run(Self.request)
        #expect(outcome.clientError == .requestRefused("No()"))
        #expect(asked.all.map(\.transport) == [.httpSSE])
        #expect(asked.all.map(\.attempt) == [2])
        #expect(fixture.transport.requests.count == 1)
        #expect(outcome.report.replaySafety == .notSent)

        let agreed = Asked()
        let other = TurnFixture([[], .held(Event.text("a"), Event.completed("r"))]) { $0.willSend = agreed.hook() }
        #expect(await other.run(Self.request).text == "a")
        #expect(agreed.all.map(\.body) == [other.transport.requests[1].body])
    }

    @Test func anUpgradeThatWinsTheRaceIsAskedForToo() async {
        let asked = Asked()
        let upgrade: [ScriptStep] = .webSocket(Event.text("a"), Event.completed("r"))
        let fixture = TurnFixture([upgrade.after(.seconds(3)), .held(readyAfter: .seconds(5))]) {
            $0.willSend = asked.hook()
        }
        #expect(await fixture.run(Self.request).text == "a")
        #expect(asked.all.map(\.transport) == [.httpSSE, .webSocket])
        #expect(fixture.sentRequestCount == 1)
    }

    @Test func willSendIsAskedBeforeAFallback() async {
        let asked = Asked()
        let fixture = TurnFixture([.refusal(426), .http([Event.text("a"), Event.completed("r")])]) {
            $0.willSend = asked.hook(agreeing: 0)
        }
        let outcome = await fixture.run(Self.request)
        #expect(outcome.clientError == .requestRefused("No()"))
        #expect(outcome.report.replaySafety == .notSent)
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func aKeptSocketWhoseRequestIsRefusedIsClosed() async {
        let asked = Asked()
        let fixture = TurnFixture([.socket([Event.completed("r")]), .socket([Event.text("a"), Event.completed("s")])]) {
            $0.willSend = asked.hook(agreeing: 1)
        }
        _ = await fixture.run(Self.request)
        let outcome = await fixture.run(Self.request)
        #expect(outcome.clientError == .requestRefused("No()"))
        #expect(outcome.report.replaySafety == .notSent)
        #expect(fixture.calls(0).contains(.cancel))
    }

    // MARK: Cancellation

    @Test(arguments: [false, true])
    func turnCancelledDuringWillSendSendsNoRequest(isHTTP: Bool) async {
        let handles = LockedValue<ChappieStreamHandle?>(nil)
        let fixture = TurnFixture([isHTTP ? .http([]) : .socket([])]) {
            if isHTTP { $0.policy = .httpSSEOnly }
            $0.willSend = { _ in handles.withLock { $0 }?.cancel() }
        }
        let handle = fixture.instance.streamHandle(Self.request)
        handles.withLock { $0 = handle }
        let outcome = await TurnFixture.read(handle)
        handles.withLock { $0 = nil }
        #expect(outcome.error is CancellationError)
        #expect(outcome.report.replaySafety == .notSent)
        #expect(fixture.sentRequestCount == 0)
    }

    @Test func cancelledPostAfterWillSendMayHaveBeenSent() async {
        let signal = Signal()
        let fixture = TurnFixture([[.hang(signal)]]) {
            $0.policy = .httpSSEOnly
            $0.willSend = { _ in }
        }
        let handle = fixture.instance.streamHandle(Self.request)
        let reading = Task { await TurnFixture.read(handle) }
        await signal.wait()
        handle.cancel()
        #expect(await reading.value.report.replaySafety == .sentNoOutput)
    }

    // MARK: The credential's field

    @Test(arguments: [false, true])
    func aCredentialMayHaveAFieldOfItsOwn(isHTTP: Bool) async {
        let fixture = TurnFixture([isHTTP ? .http([Event.completed("r")]) : .socket([Event.completed("r")])]) {
            if isHTTP { $0.policy = .httpSSEOnly }
            $0.credential = { _ in ChappieCredential(bearerToken: "key", accountID: "acc") }
            $0.credentialFieldName = "api-key"
            $0.additionalFields = [("API-Key", "other"), ("X-Own", "1")]
        }
        _ = await fixture.run(Self.request)
        let request = fixture.transport.requests[0]
        #expect(request.fields.filter { $0.name.lowercased() == "api-key" } == [HTTPField("api-key", "key")])
        #expect(!request.fields.contains { $0.name.lowercased() == "authorization" })
        #expect(request.value(of: "ChatGPT-Account-ID") == "acc")
        #expect(request.value(of: "X-Own") == "1")
    }
}
