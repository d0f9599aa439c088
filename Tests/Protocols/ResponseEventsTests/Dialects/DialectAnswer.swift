// Plays events of another API through its decoder, and adds up what it says in the Responses API.

import Foundation
import Testing

@testable import ResponseEvents

/// The sum of an answer's events, as events of the Responses API.
struct DialectAnswer: Equatable {
    var text = ""
    var reasoning = ""
    var refusal = ""
    /// The finished calls, each as `call_id name arguments`.
    var calls: [String] = []
    /// The types of the finished items, in order.
    var items: [String] = []
    /// The members of items that go back in the dialect alone, as JSON text.
    var sentBack: [String] = []
    /// The finished items as JSON text, with sorted members.
    var itemTexts: [String] = []
    /// The identifiers of the responses that begin.
    var begun: [String] = []
    /// The status of the response; nil before its end.
    var status: String?
    var reason: String?
    var id: String?
    var model: String?
    var usage: [String: Int] = [:]
    /// The number of lines that were no chunks.
    var otherCount = 0
    /// The calls as they were announced, each as `call_id name`, by their positions.
    private var announced: [Int: String] = [:]

    /// Plays the data of events; with `endsInOrder` the body ends in order behind them.
    init(
        _ lines: [String], by decoder: any DialectDecoder = ChatCompletionsDecoder(), endsInOrder: Bool = false
    ) throws {
        for line in lines {
            switch try withPadded(Array(line.utf8), { try decoder.read($0) }) {
            case .event(let events, let isSurfaced):
                let before = self.text.utf8.count + self.reasoning.utf8.count + self.refusal.utf8.count
                try self.add(events)
                let after = self.text.utf8.count + self.reasoning.utf8.count + self.refusal.utf8.count
                #expect((after > before) == isSurfaced)
            case .end(let events): try self.add(events)
            case .otherAPI, .other, .output: self.otherCount += 1
            }
        }
        if endsInOrder { try self.add(decoder.end()) }
    }

    private mutating func add(_ events: TranslatedEvents) throws {
        var failure: (any Error)?
        events.forEach { json in
            do { try self.add(Data(json)) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    private mutating func add(_ json: Data) throws {
        // The engine's own decoder has to accept each event.
        try withEvent(Array(json)) { _ in }
        let event = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
        let delta = event["delta"] as? String ?? ""
        switch event["type"] as? String {
        case "response.output_text.delta": self.text += delta
        case "response.reasoning_text.delta": self.reasoning += delta
        case "response.refusal.delta": self.refusal += delta
        case "response.output_item.added":
            let item = try #require(event["item"] as? [String: Any])
            self.announced[try #require(event["output_index"] as? Int)] = Self.words(of: item, ["call_id", "name"])
        case "response.output_item.done":
            let item = try #require(event["item"] as? [String: Any])
            self.items.append(item["type"] as? String ?? "")
            let text = try JSONObjectText(Array(json))["item"].map { try JSONObjectText(Array($0)) }
            if let last = text?.members.last, last.name == "chat" {
                self.sentBack.append(String(decoding: last.json, as: UTF8.self))
            }
            if item["type"] as? String == "reasoning", item["messages"] == nil {
                // The closing text is the delivered one.
                let parts = item["content"] as? [[String: Any]] ?? []
                #expect(parts.map { $0["text"] as? String ?? "" }.joined() == self.reasoning)
                #expect(InputItem(text?.json ?? []) != nil)
            }
            self.itemTexts.append(
                String(decoding: try JSONSerialization.data(withJSONObject: item, options: .sortedKeys), as: UTF8.self))
            guard item["type"] as? String == "function_call" else { return }
            let position = try #require(event["output_index"] as? Int)
            #expect(self.announced[position] == Self.words(of: item, ["call_id", "name"]))
            self.calls.append(Self.words(of: item, ["call_id", "name", "arguments"]))
        case "response.completed", "response.incomplete", "response.failed":
            let response = try #require(event["response"] as? [String: Any])
            #expect(self.status == nil)
            self.status = response["status"] as? String
            self.reason = (response["incomplete_details"] as? [String: Any])?["reason"] as? String
            self.id = response["id"] as? String
            self.model = response["model"] as? String
            let usage = response["usage"] as? [String: Any] ?? [:]
            self.usage = usage.compactMapValues { $0 as? Int }
        case "response.created": self.begun.append((event["response"] as? [String: Any])?["id"] as? String ?? "")
        default: return
        }
    }
}

extension DialectAnswer {
    private static func words(of item: [String: Any], _ names: [String]) -> String {
        names.map { item[$0] as? String ?? "none" }.joined(separator: " ")
    }
}

extension DialectDecoder {
    /// Reads the data of an event that has no name; a delta, which is valid as long as the data, is an event here.
    func read(_ data: UnsafeRawBufferPointer) throws -> DialectReading {
        let reading = try self.read(data, named: UnsafeRawBufferPointer(start: nil, count: 0))
        if case .output(let delta) = reading { return .event(TranslatedEvents(delta), isSurfaced: true) }
        return reading
    }
}

/// Returns a chunk with a delta.
func chunk(_ delta: String, finish: String? = nil, _ rest: String = "") -> String {
    let reason = finish.map { "\"\($0)\"" } ?? "null"
    let choice = #"{"index":0,"delta":\#(delta),"finish_reason":\#(reason)}"#
    return #"{"id":"c1","object":"chat.completion.chunk","model":"m","choices":[\#(choice)]\#(rest)}"#
}

/// Returns a chunk with a piece of a call; a part that is nil is left out.
func callChunk(_ index: String?, id: String? = nil, name: String? = nil, arguments: String? = nil) -> String {
    let function = [name.map { #""name":\#($0)"# }, arguments.map { #""arguments":\#($0)"# }].compactMap { $0 }
    let members = [
        index.map { #""index":\#($0)"# }, id.map { #""id":\#($0)"# },
        #""function":{\#(function.joined(separator: ","))}"#,
    ].compactMap { $0 }
    return chunk(#"{"tool_calls":[{\#(members.joined(separator: ","))}]}"#)
}
