// The events of a response as the chunks of a chat completion.
//
// A value of one exchange.

/// Writes what a script says as a chat completion: as chunks, or whole.
struct ChatChunks {
    private let identity: ResponseIdentity
    private let includesUsage: Bool
    /// Indicates whether each call comes with a signature.
    private let signsCalls: Bool
    /// The positions of the calls, in the order in which they begin.
    private var calls: [Int] = []

    /// Begins the answer to a request.
    init(_ identity: ResponseIdentity, request: JSONValue, signsCalls: Bool) {
        self.identity = identity
        self.signsCalls = signsCalls
        self.includesUsage = request["stream_options"]?["include_usage"] == .bool(true)
    }

    /// Returns the chunks of an event; an event of another API is sent as it is.
    mutating func chunks(of event: ScriptEvent) -> [ScriptEvent] {
        guard let value = JSONValue(Array(event.text.utf8)) else {
            return [Self.last(event, if: event.text.trimmed == Self.endMark)]
        }
        switch event.type {
        case "response.created": return [self.delta(#"{"role":"assistant","content":""}"#)]
        case "response.output_text.delta": return [self.delta("content", value)]
        case "response.refusal.delta": return [self.delta("refusal", value)]
        case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
            return [self.delta("reasoning_content", value)]
        case "response.output_item.added": return self.begin(value)
        case "response.function_call_arguments.delta":
            let place = self.calls.firstIndex(of: value["output_index"]?.integer ?? 0) ?? 0
            let text = JSONValue.quoted(value["delta"]?.string ?? "")
            return [self.delta(#"{"tool_calls":[{"index":\#(place),"function":{"arguments":\#(text)}}]}"#)]
        case "response.completed", "response.incomplete": return self.end(value["response"] ?? .null)
        case "response.failed": return [Self.error(value["response"]?["error"] ?? .null)]
        case "error": return [Self.error(value["error"] ?? value)]
        case let type where type.hasPrefix("response."): return []
        default: return [event]
        }
    }

    /// Returns the whole answer, for clients that do not stream.
    func document(_ response: JSONValue) -> String {
        let items = response["output"]?.elements ?? []
        let reasoning = items.map(\.reasoningText).joined()
        let parts = items.filter { $0["type"]?.string == "message" }.flatMap { $0["content"]?.elements ?? [] }
        let text = parts.compactMap { $0["text"]?.string }.joined()
        let calls = items.filter { $0["type"]?.string == "function_call" }.map { call in
            #"{"id":\#((call["call_id"] ?? .null).text),"type":"function","function":{"#
                + #""name":\#((call["name"] ?? .null).text),"arguments":\#((call["arguments"] ?? .null).text)}"#
                + self.signature(of: call) + "}"
        }
        let content = calls.isEmpty || !text.isEmpty ? JSONValue.quoted(text) : "null"
        let thought = reasoning.isEmpty ? "" : #","reasoning_content":\#(JSONValue.quoted(reasoning))"#
        let list = calls.isEmpty ? "" : #","tool_calls":[\#(calls.joined(separator: ","))]"#
        let reason = Self.finishReason(response, hasCalls: !calls.isEmpty)
        return self.object(
            "chat.completion",
            #""choices":[{"index":0,"message":{"role":"assistant","content":\#(content)\#(thought)\#(list)},"#
                + #""finish_reason":"\#(reason)"}],"usage":\#(Self.usage(response))"#)
    }

    private static let endMark = "[DONE]"

    private mutating func begin(_ value: JSONValue) -> [ScriptEvent] {
        guard let item = value["item"], item["type"]?.string == "function_call" else { return [] }
        self.calls.append(value["output_index"]?.integer ?? 0)
        let name = (item["name"] ?? .null).text
        return [
            self.delta(
                #"{"tool_calls":[{"index":\#(self.calls.count - 1),"id":\#((item["call_id"] ?? .null).text),"#
                    + #""type":"function","function":{"name":\#(name),"arguments":""}\#(self.signature(of: item))}]}"#)
        ]
    }

    /// Returns the signature of a call as a further member; nothing where calls have none.
    private func signature(of item: JSONValue) -> String {
        guard self.signsCalls, let id = item["call_id"]?.string else { return "" }
        let signature = JSONValue.quoted(ChappieTestServer.ChatDemand.signature(of: id))
        return #","extra_content":{"google":{"thought_signature":\#(signature)}}"#
    }

    private func end(_ response: JSONValue) -> [ScriptEvent] {
        let reason = Self.finishReason(response, hasCalls: !self.calls.isEmpty)
        var events = [self.chunk(#""choices":[{"index":0,"delta":{},"finish_reason":"\#(reason)"}]"#)]
        if self.includesUsage { events.append(self.chunk(#""choices":[],"usage":\#(Self.usage(response))"#)) }
        return events + [Self.last(ScriptEvent(type: "", text: Self.endMark, isNumbered: false), if: true)]
    }

    private static func finishReason(_ response: JSONValue, hasCalls: Bool) -> String {
        switch response["incomplete_details"]?["reason"]?.string {
        case "content_filter": "content_filter"
        case .some: "length"
        case nil: hasCalls ? "tool_calls" : "stop"
        }
    }

    private static func usage(_ response: JSONValue) -> String {
        guard let usage = response["usage"], usage.isObject else { return "null" }
        func count(_ value: JSONValue?) -> String { String(value?.integer ?? 0) }
        return #"{"prompt_tokens":\#(count(usage["input_tokens"])),"#
            + #""completion_tokens":\#(count(usage["output_tokens"])),"#
            + #""total_tokens":\#(count(usage["total_tokens"])),"#
            + #""prompt_tokens_details":{"cached_tokens":\#(count(usage["input_tokens_details"]?["cached_tokens"]))},"#
            + #""completion_tokens_details":{"reasoning_tokens":"#
            + #"\#(count(usage["output_tokens_details"]?["reasoning_tokens"]))}}"#
    }

    private static func error(_ error: JSONValue) -> ScriptEvent {
        ScriptEvent(type: "", text: #"{"error":\#(error.text)}"#, isNumbered: false)
    }

    private static func last(_ event: ScriptEvent, if isLast: Bool) -> ScriptEvent {
        var event = event
        event.isEndMark = isLast
        return event
    }

    private func delta(_ name: String, _ value: JSONValue) -> ScriptEvent {
        self.delta("{\"\(name)\":\((value["delta"] ?? .null).text)}")
    }

    private func delta(_ delta: String) -> ScriptEvent {
        self.chunk(#""choices":[{"index":0,"delta":\#(delta),"finish_reason":null}]"#)
    }

    private func chunk(_ members: String) -> ScriptEvent {
        ScriptEvent(type: "", text: self.object("chat.completion.chunk", members), isNumbered: false)
    }

    private func object(_ type: String, _ members: String) -> String {
        #"{"id":"chatcmpl-\#(self.identity.id)","object":"\#(type)","created":\#(ResponseIdentity.creationTime),"#
            + #""model":\#(JSONValue.quoted(self.identity.model)),\#(members)}"#
    }
}
