import Chappie
import ChappieTestServer
import Foundation
import Testing

/// The events and the end of a turn, as its consumer received them.
struct ClientOutcome: Sendable {
    var events: [ChappieStreamEvent] = []
    var error: (any Error)?
    var report: ChappieStreamReport?

    var clientError: ChappieClientError? { self.error as? ChappieClientError }

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

    var requested: [ChappieToolExecutionRequest] {
        self.events.compactMap { event in
            guard case .toolCallRequested(let request) = event else { return nil }
            return request
        }
    }

    var results: [ChappieToolExecutionResult] {
        self.events.compactMap { event in
            guard case .toolCallCompleted(let result) = event else { return nil }
            return result
        }
    }

    var approvals: [ChappieApprovalRequest] {
        self.events.compactMap { event in
            guard case .approvalRequested(let request) = event else { return nil }
            return request
        }
    }

    var completions: Int { self.events.count { $0 == .completed } }

    /// Reads a turn to its end.
    static func read(_ handle: ChappieStreamHandle) async -> Self {
        var outcome = Self()
        do {
            for try await event in handle.events { outcome.events.append(event) }
        } catch {
            outcome.error = error
        }
        outcome.report = handle.report
        return outcome
    }
}

extension ChappieConfiguration {
    /// A configuration for a server on loopback: OpenAI's preset at another address, no delays, no proxy.
    static func loopback(
        _ server: ChappieTestServer, over wire: Wire = .webSocket, _ change: (inout Self) -> Void = { _ in }
    ) -> Self {
        guard let url = URL(string: server.baseURL) else { preconditionFailure("not a URL") }
        var configuration = Self(apiKey: "key", model: "m")
        configuration.endpoint.baseURL = url
        configuration.harness = .none
        configuration.streamingTransportPolicy = wire.policy
        configuration.reconnectDelay = .zero
        configuration.rateLimitBackoff = ChappieRateLimitBackoffPolicy(initialDelay: .zero)
        configuration.proxy = .none
        change(&configuration)
        return configuration
    }
}

extension ChappieClient {
    /// Reads a turn to its end.
    func outcome(_ prompt: String = "hi") async -> ClientOutcome { await .read(self.streamHandle(prompt)) }
}

/// The runs of a tool, in order.
final class ToolRecord: Sendable {
    private let inner = Locked<[ChappieToolCall]>([])

    var calls: [ChappieToolCall] { self.inner.value }

    func note(_ call: ChappieToolCall) { self.inner.update { $0.append(call) } }
}

/// A value behind a lock.
final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var stored: Value

    init(_ value: Value) { self.stored = value }

    var value: Value { self.lock.withLock { self.stored } }

    @discardableResult
    func update<Result>(_ change: (inout Value) -> Result) -> Result { self.lock.withLock { change(&self.stored) } }
}

/// An event that occurs once, and that others wait for.
final class Happening: Sendable {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (self.stream, self.continuation) = AsyncStream.makeStream() }

    func happened() { self.continuation.yield() }

    func wait() async { for await _ in self.stream { return } }
}

/// Suspends until the task is cancelled.
func forever() async throws {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    for await _ in stream {}
    continuation.finish()
    try Task.checkCancellation()
}

/// A response of these items, as events; a text goes out as a delta.
func responseEvents(_ number: Int, _ items: [String], text: String = "", endsTurn: Bool? = nil) -> [String] {
    let id = "resp_\(number)"
    var output = items
    var events = [#"{"type":"response.created","response":{"id":"\#(id)","status":"in_progress"}}"#]
    if !text.isEmpty {
        let part = #"{"type":"output_text","text":"\#(text)"}"#
        output.append(#"{"type":"message","id":"msg_\#(number)","role":"assistant","content":[\#(part)]}"#)
    }
    for (index, item) in output.enumerated() {
        let place = #""output_index":\#(index)"#
        if item.contains(#""type":"message""#) {
            let delta = #""content_index":0,"delta":"\#(text)""#
            events.append(#"{"type":"response.output_text.delta",\#(place),\#(delta)}"#)
        }
        events.append(#"{"type":"response.output_item.done",\#(place),"item":\#(item)}"#)
    }
    let ends = endsTurn.map { #","end_turn":\#($0)"# } ?? ""
    let usage = #""usage":{"input_tokens":10,"output_tokens":2,"total_tokens":12}"#
    events.append(
        #"{"type":"response.completed","response":{"id":"\#(id)","status":"completed","#
            + #""model":"m-1","output":[],\#(usage)\#(ends)}}"#)
    return events
}

/// A call of a function, as an item.
func functionCall(_ callID: String, _ name: String, _ arguments: String = "{}") -> String {
    let quoted = arguments.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    return #"{"type":"function_call","id":"fc_\#(callID)","call_id":"\#(callID)","name":"\#(name)","#
        + #""arguments":"\#(quoted)","status":"completed"}"#
}

/// A server that answers its n-th response with the n-th of these, and then the last one again.
func scripted(_ responses: [[String]]) -> ChappieTestServer.Configuration {
    ChappieTestServer.Configuration(
        model: .custom { request in responses[min(request.response, responses.count) - 1] })
}

extension ChappieTestServer {
    /// The inputs of all requests, in order, each as its items.
    var inputs: [[ChappieJSONValue]] {
        self.log.flatMap(\.bodies).map { body in
            guard case .array(let items)? = ChappieJSONValue(jsonText: body)?["input"] else { return [] }
            return items
        }
    }

    /// All requests, in order.
    var requests: [ChappieJSONValue] { self.log.flatMap(\.bodies).compactMap { ChappieJSONValue(jsonText: $0) } }
}
