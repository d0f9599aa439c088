// Requests whose inputs are lists of items, and events of responses with items.

import Foundation
import ResponseEvents
import StreamTransport

@testable import ChappieTransport

/// A request with these items as its input.
func conversation(
    _ items: [String], _ members: String = #""model":"m""#,
    _ configure: (inout ChappieTransportRequest) -> Void = { _ in }
) -> ChappieTransportRequest {
    var request = ChappieTransportRequest(
        body: Array("{\(members),\"input\":[\(items.joined(separator: ","))]}".utf8))
    configure(&request)
    return request
}

/// Items of the wire, in the server's form and in the form of input.
enum WireItem {
    static let question = Self.user("hi")

    static func user(_ text: String) -> String {
        #"{"type":"message","role":"user","content":[{"type":"input_text","text":"\#(text)"}]}"#
    }

    static func sentMessage(_ text: String) -> String {
        #"{"id":"msg_1","type":"message","status":"completed","role":"assistant","phase":"final_answer","content":"#
            + #"[{"type":"output_text","text":"\#(text)","annotations":[],"logprobs":[]}]}"#
    }

    static func message(_ text: String) -> String {
        #"{"type":"message","role":"assistant","phase":"final_answer","content":"#
            + #"[{"type":"output_text","text":"\#(text)"}]}"#
    }

    static func sentCall(_ id: String, _ arguments: String = "{}", name: String = "f") -> String {
        #"{"id":"fc_\#(id)","type":"function_call","status":"completed","call_id":"\#(id)","name":"\#(name)","#
            + #""arguments":"\#(arguments)"}"#
    }

    static func call(_ id: String, _ arguments: String = "{}", name: String = "f") -> String {
        #"{"type":"function_call","call_id":"\#(id)","name":"\#(name)","arguments":"\#(arguments)"}"#
    }

    static func output(_ id: String) -> String {
        #"{"type":"function_call_output","call_id":"\#(id)","output":"4"}"#
    }
}

extension Event {
    static func created(_ id: String) -> String { #"{"type":"response.created","response":{"id":"\#(id)"}}"# }

    static func completed(_ id: String, _ members: String = "") -> String {
        #"{"type":"response.completed","response":{"id":"\#(id)","status":"completed"\#(members)}}"#
    }

    static func done(_ item: String, at index: Int = 0) -> String {
        #"{"type":"response.output_item.done","output_index":\#(index),"item":\#(item)}"#
    }

    static func text(_ text: String, at index: Int) -> String {
        #"{"type":"response.output_text.delta","output_index":\#(index),"content_index":0,"delta":"\#(text)"}"#
    }
}

extension TurnFixture {
    /// Reads a turn to its end; returns its completed response as well.
    func complete(_ request: ChappieTransportRequest) async -> (outcome: TurnOutcome, response: CompletedResponse?) {
        let turn = self.instance.turn(request)
        let outcome = await Self.read(ChappieStreamHandle(turn: turn))
        return (outcome, turn.completedResponse)
    }

    /// The messages of the connections, in order.
    var messages: [[String]] { self.transport.connections.map(\.messages) }
}

extension CompletedResponse {
    /// The items as text.
    var itemTexts: [String] { self.items.map { String(decoding: $0, as: UTF8.self) } }
}

/// One message of a WebSocket, as JSON.
struct SentMessage {
    let members: [String: Any]

    init?(_ text: String?) {
        guard let text, let object = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] else {
            return nil
        }
        self.members = object
    }

    var previousResponseID: String? { self.members["previous_response_id"] as? String }
    var inputCount: Int? { (self.members["input"] as? [Any])?.count }
    var streamID: String? { self.members["stream_id"] as? String }
    var isWarmUp: Bool { self.members["generate"] as? Bool == false }

    /// The turn state that it returns.
    var turnState: String? { (self.members["client_metadata"] as? [String: Any])?["x-codex-turn-state"] as? String }
}

extension [ScriptStep] {
    /// A WebSocket that waits for the request, then sends these events, and may break.
    static func socket(_ events: [String], isBroken: Bool = false) -> Self {
        [.opened(101), .request] + events.map { .text($0) }
            + (isBroken ? [.ended(.closed(code: 1006, reason: ""))] : [])
    }

    /// An event stream of these events.
    static func http(_ events: [String]) -> Self {
        [.opened(200)] + events.map { .body(Event.sse($0)) } + [.ended(.complete)]
    }

    /// The events of a WebSocket for one more request.
    static func again(_ events: String...) -> Self { [.request] + events.map { .text($0) } }
}
