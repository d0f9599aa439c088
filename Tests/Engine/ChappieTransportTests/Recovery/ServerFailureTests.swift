// Failures that a server reports in band without a status code, and its overload.
import StreamTransport
import Testing

@testable import ChappieTransport

/// The way on which the report comes.
private enum Way: CaseIterable, Sendable {
    case nestedEvent, flatEvent, untypedEvent, failedResponse, eventOverHTTP, failedResponseOverHTTP

    var isHTTP: Bool { self == .eventOverHTTP || self == .failedResponseOverHTTP }

    func event(_ code: String, asType isType: Bool) -> String {
        let facts = isType ? #""type":"\#(code)","code":null,"message":"m""# : #""code":"\#(code)","message":"m""#
        switch self {
        case .nestedEvent, .eventOverHTTP: return #"{"type":"error","error":{\#(facts)}}"#
        case .flatEvent: return #"{"type":"error","code":"\#(code)","message":"m"}"#
        case .untypedEvent: return #"{"error":{\#(facts)}}"#
        case .failedResponse, .failedResponseOverHTTP: return Event.failed(code: code)
        }
    }

    func script(_ events: String...) -> [ScriptStep] {
        self.isHTTP
            ? [.opened(200, fields: ["content-type": "text/event-stream"])] + events.map { .body(Event.sse($0)) }
                + [.ended(.complete)]
            : [.opened(101), .request] + events.map { .text($0) }
    }

    func configure(_ configuration: inout ChappieTransportConfiguration) {
        if self.isHTTP { configuration.policy = .httpSSEOnly }
    }
}

@Suite struct ServerFailureTests {
    @Test(arguments: Way.allCases, ["server_error", "server_is_overloaded"])
    fileprivate func failureBeforeOutputIsRetriedOnTheSameTransport(way: Way, code: String) async {
        for isType in code == "server_error" ? [false, true] : [false] {
            let failing = way.script(way.event(code, asType: isType))
            let fixture = TurnFixture(
                [failing, failing, way.script(Event.text("a"), Event.completed)], way.configure)
            let outcome = await fixture.run()
            #expect(outcome.error == nil && outcome.text == "a")
            let transport: ChappieTransportKind = way.isHTTP ? .httpSSE : .webSocket
            #expect(outcome.report.attempts.map(\.transport) == [transport, transport, transport])
            #expect(outcome.report.fallbackReason == nil)
        }
    }

    @Test(arguments: Way.allCases, ["server_error", "server_is_overloaded"])
    fileprivate func failureThatLastsEndsTheTurnBehindAllRetries(way: Way, code: String) async {
        let fixture = TurnFixture(Array(repeating: way.script(way.event(code, asType: false)), count: 9), way.configure)
        let outcome = await fixture.run()
        #expect(outcome.report.attempts.count == 6)
        #expect(outcome.clientError?.tag == "response.failed")
        #expect(outcome.clientError?.category == .server)
        #expect(outcome.clientError?.retryGuidance == .retryWithBackoff(afterSeconds: 5))
        let advice =
            code == "server_error" ? "Try again in a moment." : "Use another model, or try again some minutes later."
        #expect(outcome.clientError?.recoverySuggestion == advice)
    }

    /// A repeated answer would have to be the same, word by word: a server without capacity is not asked for that.
    @Test(arguments: Way.allCases) fileprivate func overloadBehindOutputEndsTheTurn(way: Way) async {
        let script = way.script(Event.text("a"), way.event("server_is_overloaded", asType: false))
        let outcome = await TurnFixture(Array(repeating: script, count: 9), way.configure).run()
        #expect(outcome.report.attempts.count == 1)
        #expect(outcome.text == "a")
        #expect(outcome.clientError?.tag == "response.failed")
        #expect(outcome.clientError?.category == .server)
    }

    @Test(arguments: Way.allCases) fileprivate func serverErrorBehindOutputIsVerified(way: Way) async {
        let first = way.script(Event.text("a"), way.event("server_error", asType: false))
        let outcome = await TurnFixture([first, way.script(Event.text("ab"), Event.completed)], way.configure).run()
        #expect(outcome.error == nil && outcome.text == "ab")
        #expect(outcome.report.verifiedReplayByteCount == 1)
    }

    /// Over HTTP, at the upgrade, and as an event with a status code.
    @Test(arguments: ["post", "upgrade", "event"]) func overloadWithAStatusCodeIsRetried(way: String) async {
        let error = #""error":{"type":"server_error","code":"server_is_overloaded","message":"m"}}"#
        let refusal: [ScriptStep] =
            way == "event" ? .webSocket(#"{"type":"error","status":503,"# + error) : .refusal(503, body: "{" + error)
        let success: [ScriptStep] = way == "post" ? .eventStream(Event.completed) : .webSocket(Event.completed)
        let fixture = TurnFixture([refusal, refusal, success]) { if way == "post" { $0.policy = .httpSSEOnly } }
        let outcome = await fixture.run()
        #expect(outcome.error == nil)
        #expect(outcome.outcomes == ["http.503", "http.503", "completed"])
    }
}
