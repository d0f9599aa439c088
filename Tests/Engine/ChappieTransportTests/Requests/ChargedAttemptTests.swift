// The report's guess about the attempts that a server charges.
import StreamTransport
import Testing

@testable import ChappieTransport

@Suite struct ChargedAttemptTests {
    private static let lost = TransportEnd.failed(TransportFailure(phase: .stream, cause: .connectionLost))
    private static let stream = ["content-type": "text/event-stream"]

    /// Returns the guesses of a turn over one transport, without retries.
    private static func guesses(_ script: [ScriptStep], isHTTP: Bool) async -> [Bool?] {
        let fixture = TurnFixture([script]) {
            $0.policy =
                isHTTP
                ? .httpSSEOnly
                : ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
            $0.policy.hedgeDelay = nil
            $0.maxHTTPRetries = 0
            $0.rateLimitBackoff = .disabled
        }
        let outcome = await fixture.run()
        let guesses = outcome.report.attempts.map(\.isProbablyCharged)
        #expect(outcome.report.probablyChargedAttemptCount == guesses.count { $0 == true })
        return guesses
    }

    @Test func attemptOverHTTPIsChargedUnlessItWasRefused() async {
        let scripts: [([ScriptStep], Bool)] = [
            (.eventStream(Event.text("a"), Event.completed), true),
            (.eventStream(Event.created, then: Self.lost), true),
            (.eventStream(Event.text("a"), then: Self.lost), true), (.eventStream(Event.text("a")), true),
            (.eventStream(Event.incomplete), true), (.eventStream(Event.text("a"), Event.failed(code: "x")), true),
            (.eventStream(Event.created, Event.failed(code: "rate_limit_exceeded")), false),
            (.eventStream(Event.failed(code: "invalid_prompt")), false), (.refusal(202), true), (.refusal(204), true),
            (.refusal(400), false), (.refusal(401), false), (.refusal(429), false), (.refusal(500), false),
            (.refusal(502), true), (.refusal(503), false), (.refusal(504), true), (.refusal(524), true),
            (.refusal(200, body: "{}", fields: ["content-type": "application/json"]), true),
            (.refusal(200, body: "<html>", fields: ["content-type": "text/html"]), false),
            (.refusal(200, body: "<html>", fields: Self.stream), false),
            (.failure(.connect, .unreachable(code: 111)), false), (.failure(.tls, .tlsHandshakeFailed), false),
            (.failure(.send, .connectionLost), false), (.failure(.upgrade, .connectionLost), true),
            (.failure(.upgrade, .notHTTP), false), (.failure(.upgrade, .protocolSwitched), false),
            ([.opened(200, fields: Self.stream), .pause(.seconds(600))], true),
        ]
        for (script, isCharged) in scripts {
            #expect(await Self.guesses(script, isHTTP: true) == [isCharged], "\(script)")
        }
    }

    @Test func attemptOnAWebSocketIsChargedOnceTheRequestWasSent() async {
        let scripts: [([ScriptStep], Bool)] = [
            (.webSocket(Event.text("a"), Event.completed), true), (.broken(), true), (.broken(Event.text("a")), true),
            (.refusal(404), false), (.refusal(503), false), (.failure(.upgrade, .connectionLost), false),
            (.webSocket(then: .closed(code: 1008, reason: "")), false),
            (.webSocket(then: .closed(code: 1009, reason: "")), false),
            (.webSocket(then: .closed(code: 1011, reason: "")), true),
            (.webSocket(Event.text("a"), then: .closed(code: 1008, reason: "")), true),
            (.webSocket(#"{"type":"error","status":400,"error":{"code":"x"}}"#), false),
            (.webSocket(Event.text("a"), #"{"type":"error","status":500,"error":{"code":"x"}}"#), true),
        ]
        for (script, isCharged) in scripts {
            #expect(await Self.guesses(script, isHTTP: false) == [isCharged], "\(script)")
        }
    }

    /// Three attempts for one text, one of which was refused.
    @Test func everyRequestOfATurnCounts() async {
        let outcome = await TurnFixture([
            .broken(Event.text("a")), .refusal(503), .webSocket(Event.text("ab"), Event.completed),
        ]).run()
        #expect(outcome.text == "ab")
        #expect(outcome.report.attempts.map(\.isProbablyCharged) == [true, false, true])
        #expect(outcome.report.probablyChargedAttemptCount == 2)
    }

    @Test func hedgeThatWasNotReleasedIsNotCharged() async {
        let fixture = TurnFixture([
            [.pause(.seconds(3))] + .webSocket(Event.text("a"), Event.completed), [.pause(.seconds(9)), .ready],
        ])
        let outcome = await fixture.run()
        #expect(outcome.outcomes == ["completed", "lost-race"])
        #expect(outcome.report.attempts.map(\.isProbablyCharged) == [true, false])
    }
}
