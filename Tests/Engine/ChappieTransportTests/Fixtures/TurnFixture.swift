// One instance over scripted connections, its consumer's events, and the events that scripts consist of.

import Foundation
import StreamTransport
import Testing

@testable import ChappieTransport

/// An instance with a scripted network and a manual clock.
struct TurnFixture: Sendable {
    let clock: ManualClock
    let transport: ScriptedTransport
    let instance: ChappieStreamingTransport

    init(
        _ scripts: [[ScriptStep]],
        clock: ManualClock = ManualClock(),
        _ configure: (inout ChappieTransportConfiguration) -> Void = { _ in }
    ) {
        guard let url = URL(string: "https://api.example/v1") else { preconditionFailure("not a URL") }
        var configuration = ChappieTransportConfiguration(baseURL: url)
        configure(&configuration)
        self.clock = clock
        self.transport = ScriptedTransport(scripts, clock: clock)
        self.instance = ChappieStreamingTransport(
            configuration: configuration, transport: self.transport, clock: clock.turnClock)
    }

    /// Reads one turn to its end.
    func run(_ request: ChappieTransportRequest = ChappieTransportRequest(prompt: "hi", model: "m")) async
        -> TurnOutcome
    {
        await Self.read(self.instance.streamHandle(request))
    }

    /// Reads a stream to its end.
    static func read(_ handle: ChappieStreamHandle) async -> TurnOutcome {
        var outcome = TurnOutcome()
        do {
            for try await event in handle.events { outcome.events.append(event) }
        } catch {
            outcome.error = error
        }
        outcome.report = handle.report
        return outcome
    }
}

/// The events and the end of one turn, as its consumer received them.
struct TurnOutcome: Sendable {
    var events: [ChappieStreamEvent] = []
    var error: (any Error)?
    var report = ChappieStreamReport()

    var text: String {
        self.events.reduce(into: "") { text, event in
            if case .textDelta(let delta) = event { text += delta }
        }
    }

    var reasoning: String {
        self.events.reduce(into: "") { text, event in
            if case .reasoningDelta(let delta) = event { text += delta }
        }
    }

    var diagnostics: [ChappieDiagnostic] {
        self.events.compactMap { event in
            guard case .diagnostic(let diagnostic) = event else { return nil }
            return diagnostic
        }
    }

    /// The types of the raw events.
    var rawTypes: [String] {
        self.events.compactMap { event in
            guard case .raw(let type, _) = event else { return nil }
            return type
        }
    }

    var usageLimits: [ChappieUsageLimitSnapshot] {
        self.events.compactMap { event in
            guard case .usageLimits(let snapshot) = event else { return nil }
            return snapshot
        }
    }

    var clientError: ChappieClientError? { self.error as? ChappieClientError }

    var transportFailure: ChappieTransportFailure? {
        guard case .transport(let failure)? = self.clientError else { return nil }
        return failure
    }

    /// The outcome of each attempt.
    var outcomes: [String?] { self.report.attempts.map(\.outcome) }
}

/// Events of the wire.
enum Event {
    static let created = #"{"type":"response.created","response":{"id":"r"}}"#
    static let keepalive = #"{"type":"keepalive"}"#
    static let completed = #"{"type":"response.completed","response":{"id":"r","status":"completed"}}"#
    static let incomplete =
        #"{"type":"response.incomplete","response":{"id":"r","incomplete_details":{"reason":"max_output_tokens"}}}"#

    static func text(_ text: String) -> String {
        #"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"\#(text)"}"#
    }

    static func failed(code: String) -> String {
        #"{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"\#(code)","message":"m"}}}"#
    }

    static func call(_ arguments: String) -> String {
        #"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c","#
            + #""name":"f","arguments":"\#(arguments)"}}"#
    }

    static func limits(primary: Double? = nil, secondary: Double? = nil, plan: String? = nil) -> String {
        let windows = [
            primary.map { #""primary":{"used_percent":\#($0)}"# },
            secondary.map { #""secondary":{"used_percent":\#($0)}"# },
        ]
        let planMember = plan.map { #""plan_type":"\#($0)","# } ?? ""
        return #"{"type":"codex.rate_limits",\#(planMember)"rate_limits":{"#
            + windows.compactMap { $0 }.joined(separator: ",") + "}}"
    }

    /// The events with numbers from 1 on.
    static func numbered(_ events: [String]) -> [String] {
        events.enumerated().map { number, event in #"{"sequence_number":\#(number + 1),"# + event.dropFirst() }
    }

    /// The event in the form of an event stream.
    static func sse(_ event: String) -> String { "data: \(event)\n\n" }
}

extension [ScriptStep] {
    /// A WebSocket that waits for the request and then sends these events.
    static func webSocket(_ events: String..., then end: TransportEnd? = nil) -> Self {
        [.opened(101), .request] + events.map { .text($0) } + (end.map { [.ended($0)] } ?? [])
    }

    /// An event stream of these events.
    static func eventStream(_ events: String..., then end: TransportEnd = .complete) -> Self {
        [.opened(200, fields: ["content-type": "text/event-stream"])] + events.map { .body(Event.sse($0)) }
            + [.ended(end)]
    }

    /// An answer that is not a response.
    static func refusal(_ statusCode: Int, body: String = "", fields: [String: String] = [:]) -> Self {
        [.opened(statusCode, fields: fields), .body(body), .ended(.complete)]
    }

    /// A connection that fails before any answer.
    static func failure(_ phase: TransportFailure.Phase, _ cause: TransportFailure.Cause) -> Self {
        [.ended(.failed(TransportFailure(phase: phase, cause: cause)))]
    }

    /// A WebSocket that breaks after these events.
    static func broken(_ events: String...) -> Self {
        [.opened(101), .request] + events.map { .text($0) } + [.ended(.closed(code: 1006, reason: ""))]
    }
}

extension AsyncThrowingStream {
    /// Returns the next element, as a step of a loop does.
    func next() async throws -> Element? {
        var iterator = self.makeAsyncIterator()
        return try await iterator.next()
    }
}

extension TurnFixture {
    /// Returns the messages of deltas with the texts `1` to `count`.
    static func texts(_ count: Int) -> [ScriptStep] { (1...count).map { .text(Event.text(String($0))) } }

    /// Returns one attempt on one WebSocket, whose response has begun with the text `0`.
    static func begun(_ steps: [ScriptStep]) -> TurnFixture {
        TurnFixture([[.opened(101), .request, .text(Event.created), .text(Event.text("0"))] + steps]) {
            $0.policy = ChappieStreamingTransportPolicy(maxWebSocketReconnectionAttempts: 0, fallsBackToHTTPSSE: false)
            $0.rawEvents = .none
        }
    }
}
