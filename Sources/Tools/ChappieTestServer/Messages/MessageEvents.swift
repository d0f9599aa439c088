// The events of a response as the events of a message of Anthropic's Messages.
//
// A value of one exchange.

/// Writes what a script says as a message: as events, or whole.
struct MessageEvents {
    /// A block of content that has begun and not ended.
    private struct Block {
        let kind: String
        let outputIndex: Int
    }

    private let identity: ResponseIdentity
    private var open: Block?
    private var blockCount = 0
    private var hasCalls = false

    /// Begins the answer to a request.
    init(_ identity: ResponseIdentity) { self.identity = identity }

    /// Returns the message's events of an event; an event of another API is sent as it is.
    mutating func events(of event: ScriptEvent) -> [ScriptEvent] {
        guard let value = JSONValue(Array(event.text.utf8)) else { return [event] }
        switch event.type {
        case "response.created":
            let message = self.object(
                #""content":[],"stop_reason":null,"stop_sequence":null,"usage":\#(Self.startUsage)"#)
            return [Self.event("message_start", #""message":\#(message)"#), Self.event("ping")]
        case "response.output_text.delta", "response.refusal.delta": return self.delta("text", value)
        case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
            return self.delta("thinking", value)
        case "response.output_item.added": return self.begin(value)
        case "response.function_call_arguments.delta":
            return [self.delta(#"{"type":"input_json_delta","partial_json":\#((value["delta"] ?? .null).text)}"#)]
        case "response.completed", "response.incomplete": return self.end(value["response"] ?? .null)
        case "response.failed": return [Self.error(value["response"]?["error"] ?? .null)]
        case "error" where value["error"] == nil: return [Self.error(value)]
        case "message_stop":
            var last = event
            last.isEndMark = true
            return [last]
        case let type where type.hasPrefix("response."): return []
        default: return [event]
        }
    }

    /// Returns the whole answer, for clients that do not stream.
    func document(_ response: JSONValue) -> String {
        let items = response["output"]?.elements ?? []
        let blocks = items.flatMap { item -> [String] in
            switch item["type"]?.string {
            case "reasoning" where !item.reasoningText.isEmpty:
                [
                    #"{"type":"thinking","thinking":\#(JSONValue.quoted(item.reasoningText)),"#
                        + #""signature":"\#(MessagesRequest.signature)"}"#
                ]
            case "message":
                (item["content"]?.elements ?? []).map {
                    #"{"type":"text","text":\#(($0["text"] ?? .string("")).text)}"#
                }
            case "function_call":
                [
                    #"{"type":"tool_use","id":\#((item["call_id"] ?? .null).text),"#
                        + #""name":\#((item["name"] ?? .null).text),"input":\#(item["arguments"]?.string ?? "{}")}"#
                ]
            default: []
            }
        }
        let reason = Self.stopReason(response, hasCalls: items.contains { $0["type"]?.string == "function_call" })
        return self.object(
            #""content":[\#(blocks.joined(separator: ","))],"stop_reason":"\#(reason)","stop_sequence":null,"#
                + #""usage":\#(Self.usage(response))"#)
    }

    // MARK: Blocks

    private mutating func delta(_ kind: String, _ value: JSONValue) -> [ScriptEvent] {
        let index = value["output_index"]?.integer ?? 0
        var events: [ScriptEvent] = []
        if self.open.map({ $0.kind != kind || $0.outputIndex != index }) ?? true {
            let rest = kind == "thinking" ? #","thinking":"","signature":"""# : #","text":"""#
            events = self.begin(Block(kind: kind, outputIndex: index), #"{"type":"\#(kind)"\#(rest)}"#)
        }
        let text = (value["delta"] ?? .null).text
        return events + [self.delta(#"{"type":"\#(kind)_delta","\#(kind)":\#(text)}"#)]
    }

    private mutating func begin(_ value: JSONValue) -> [ScriptEvent] {
        guard let item = value["item"], item["type"]?.string == "function_call" else { return [] }
        self.hasCalls = true
        return self.begin(
            Block(kind: "tool_use", outputIndex: value["output_index"]?.integer ?? 0),
            #"{"type":"tool_use","id":\#((item["call_id"] ?? .null).text),"#
                + #""name":\#((item["name"] ?? .null).text),"input":{}}"#)
    }

    private mutating func begin(_ block: Block, _ content: String) -> [ScriptEvent] {
        let events = self.close()
        self.open = block
        return events + [
            Self.event("content_block_start", #""index":\#(self.blockCount),"content_block":\#(content)"#)
        ]
    }

    /// Ends the open block; thinking is signed then.
    private mutating func close() -> [ScriptEvent] {
        guard let block = self.open.take() else { return [] }
        defer { self.blockCount += 1 }
        let signature =
            block.kind == "thinking"
            ? [self.delta(#"{"type":"signature_delta","signature":"\#(MessagesRequest.signature)"}"#)] : []
        return signature + [Self.event("content_block_stop", #""index":\#(self.blockCount)"#)]
    }

    private func delta(_ delta: String) -> ScriptEvent {
        Self.event("content_block_delta", #""index":\#(self.blockCount),"delta":\#(delta)"#)
    }

    // MARK: The end

    private mutating func end(_ response: JSONValue) -> [ScriptEvent] {
        let reason = Self.stopReason(response, hasCalls: self.hasCalls)
        let delta = #""delta":{"stop_reason":"\#(reason)","stop_sequence":null},"usage":\#(Self.usage(response))"#
        var last = Self.event("message_stop")
        last.isEndMark = true
        return self.close() + [Self.event("message_delta", delta), last]
    }

    private static func stopReason(_ response: JSONValue, hasCalls: Bool) -> String {
        switch response["incomplete_details"]?["reason"]?.string {
        case "content_filter": "refusal"
        case .some: "max_tokens"
        case nil: hasCalls ? "tool_use" : "end_turn"
        }
    }

    private static let startUsage = #"{"input_tokens":0,"output_tokens":1}"#

    /// Input that was read from the cache is none of `input_tokens` there.
    private static func usage(_ response: JSONValue) -> String {
        let usage = response["usage"]
        let cached = usage?["input_tokens_details"]?["cached_tokens"]?.integer ?? 0
        let input = (usage?["input_tokens"]?.integer ?? 0) - cached
        return #"{"input_tokens":\#(input),"cache_creation_input_tokens":0,"cache_read_input_tokens":\#(cached),"#
            + #""output_tokens":\#(usage?["output_tokens"]?.integer ?? 0)}"#
    }

    private static func error(_ error: JSONValue) -> ScriptEvent {
        let type = (error["code"] ?? .string("api_error")).text
        let message = (error["message"] ?? .string("")).text
        return Self.event("error", #""error":{"type":\#(type),"message":\#(message)}"#)
    }

    private static func event(_ type: String, _ members: String = "") -> ScriptEvent {
        ScriptEvent(
            type: type, text: #"{"type":"\#(type)"\#(members.isEmpty ? "" : ",")\#(members)}"#, isNumbered: false)
    }

    private func object(_ members: String) -> String {
        #"{"id":"msg_\#(self.identity.id)","type":"message","role":"assistant","#
            + #""model":\#(JSONValue.quoted(self.identity.model)),\#(members)}"#
    }
}
