// Header fields and time limits of one request, beside those of the instance.

import Foundation
import StreamTransport
import Testing
import TransportSurface

@testable import ChappieTransport

@Suite struct RequestSettingTests {
    private static func request(_ fields: (name: String, value: String)...) -> ChappieTransportRequest {
        var request = ChappieTransportRequest(prompt: "hi", model: "m")
        request.fields = fields
        return request
    }

    /// A WebSocket that answers this many requests.
    private static func socket(answers count: Int, id: String) -> [ScriptStep] {
        [.opened(101)]
            + (1...count).flatMap { number -> [ScriptStep] in
                let response = #""response":{"id":"\#(id)\#(number)","status":"completed"}"#
                return [
                    .request, .text(#"{"type":"response.created",\#(response)}"#),
                    .text(#"{"type":"response.completed",\#(response)}"#),
                ]
            }
    }

    // MARK: Fields

    @Test func fieldsGoWithEveryAttempt() async {
        let fixture = TurnFixture([.broken(), .eventStream(Event.created, Event.text("a"), Event.completed)]) {
            $0.policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0)
            $0.additionalFields = [(name: "X-Team", value: "instance"), (name: "X-Other", value: "kept")]
            $0.credential = { _ in ChappieCredential(bearerToken: "t") }
        }
        let outcome = await fixture.run(
            Self.request(
                (name: "Idempotency-Key", value: "k-1"), (name: "x-team", value: "request"),
                (name: "authorization", value: "Bearer other")))
        #expect(outcome.error == nil)
        #expect(fixture.transport.requests.count == 2)
        for request in fixture.transport.requests {
            #expect(request.value(of: "Idempotency-Key") == "k-1")
            #expect(request.fields.filter { $0.name.lowercased() == "x-team" } == [HTTPField("x-team", "request")])
            #expect(request.value(of: "X-Other") == "kept")
            let credentials = request.fields.filter { $0.name.lowercased() == "authorization" }
            #expect(credentials == [HTTPField("Authorization", "Bearer t")])
        }
    }

    @Test(arguments: [
        ("", "v", "the name of fields[1] is empty"),
        (
            "a b", "v",
            "the name of fields[1] has characters that are not allowed in a field's name (RFC 9110 section 5.6.2)"
        ),
        ("Host", "v", "the name of fields[1] is the name of a field that the transport writes itself"),
        ("X", "a\r\nB: c", "the value of fields[1] has a line break or another control character"),
    ])
    func fieldThatCannotBeSentIsNamed(name: String, value: String, fault: String) async {
        let fixture = TurnFixture([])
        let outcome = await fixture.run(Self.request((name: "X-A", value: "1"), (name: name, value: value)))
        #expect(outcome.clientError?.tag == "request.invalid")
        #expect(outcome.transportFailure?.details.detail == fault)
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func secretOfTheRequestIsRedactedLikeTheInstances() async {
        let body = "no access for sk-of-the-request, or for key-of-the-instance"
        let fixture = TurnFixture([.refusal(403, body: body), .refusal(403, body: body)]) {
            $0.policy = .httpSSEOnly
            $0.additionalFields = [(name: "X-Api-Key", value: "key-of-the-instance")]
        }
        let own = await fixture.run(Self.request((name: "Authorization", value: "Bearer sk-of-the-request")))
        #expect(own.clientError == .httpError(403, "no access for [redacted], or for [redacted]"))
        // It is a secret of that request alone.
        let other = await fixture.run(Self.request())
        #expect(other.clientError == .httpError(403, "no access for sk-of-the-request, or for [redacted]"))
    }

    // MARK: Kept WebSockets

    @Test func webSocketIsUsedAgainWithTheSameFieldsOnly() async {
        let fixture = TurnFixture([
            Self.socket(answers: 2, id: "a"), Self.socket(answers: 2, id: "b"), Self.socket(answers: 1, id: "c"),
            Self.socket(answers: 1, id: "d"),
        ])
        let (one, other) = ((name: "X-Org", value: "1"), (name: "X-Org", value: "2"))
        var counts: [Int] = []
        for request in [
            Self.request(), Self.request(one), Self.request((name: "x-org", value: "1")), Self.request(),
            Self.request(other), Self.request(one),
        ] {
            let outcome = await fixture.run(request)
            #expect(outcome.error == nil)
            counts.append(fixture.transport.requests.count)
        }
        // Of the sockets with own fields, the lane keeps the newest.
        #expect(counts == [1, 2, 2, 2, 3, 4])
        #expect(fixture.transport.requests.map { $0.value(of: "X-Org") } == [nil, "1", "2", "1"])
    }

    // MARK: Time limits

    @Test func timeLimitsOfTheRequestReplaceTheInstances() async {
        let silent: [ScriptStep] = [.opened(200, fields: ["content-type": "text/event-stream"])]
        let fixture = TurnFixture([silent, silent]) {
            $0.policy = .httpSSEOnly
            $0.timeouts.total = .seconds(30)
        }
        var request = Self.request()
        request.timeouts = ChappieTimeouts()
        request.timeouts?.connect = .seconds(3)
        request.timeouts?.total = .seconds(2)
        let own = await fixture.run(request)
        #expect(own.outcomes == ["timeout.total"])
        #expect(fixture.clock.turnClock.now() == .seconds(1_002))
        #expect(fixture.transport.requests[0].timeouts.connect == .seconds(3))
        let other = await fixture.run(Self.request())
        #expect(other.outcomes == ["timeout.total"])
        #expect(fixture.clock.turnClock.now() == .seconds(1_032))
    }

    @Test func timeLimitOutOfRangeBecomesTheNearest() async {
        var request = Self.request()
        request.timeouts = ChappieTimeouts()
        request.timeouts?.total = .seconds(-5)
        let fixture = TurnFixture([[.opened(101)]])
        let outcome = await fixture.run(request)
        #expect(outcome.transportFailure?.code == .timedOut && outcome.outcomes.isEmpty)
    }
}
