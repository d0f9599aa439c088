// A request of Anthropic's Messages as one for a response, which the script answers.
//
// Pure.

/// The reading of a request for a message.
enum MessagesRequest {
    /// The path of such requests.
    static let path = "/v1/messages"
    /// The signature of thinking, which has to come back with it.
    static let signature = "c2NyaXB0ZWQ="

    /// Returns the body of the refusal of a request; nil when it is accepted.
    static func refusal(_ request: HTTPRequest, _ body: JSONValue) -> String? {
        if request.value(of: "anthropic-version") == nil {
            return Self.error("anthropic-version: header is required")
        }
        return self.problem(body).map(Self.error)
    }

    /// Returns the body of an error.
    private static func error(_ message: String) -> String {
        #"{"type":"error","error":{"type":"invalid_request_error","message":\#(JSONValue.quoted(message))}}"#
    }

    private static func problem(_ body: JSONValue) -> String? {
        guard let limit = body["max_tokens"]?.integer, limit > 0 else { return "max_tokens: Field required" }
        guard case .array(let messages)? = body["messages"], !messages.isEmpty else {
            return "messages: at least one message is required"
        }
        for (index, message) in messages.enumerated() {
            if let problem = self.problem(message, behind: index > 0 ? messages[index - 1] : .null) {
                return "messages.\(index)\(problem)"
            }
        }
        for (index, tool) in (body["tools"]?.elements ?? []).enumerated()
        where tool["input_schema"]?["type"]?.string == nil && tool["type"]?.string?.hasPrefix("web_search") != true {
            return "tools.\(index).input_schema.type: Field required"
        }
        return self.missingThinking(body, messages)
    }

    private static func problem(_ message: JSONValue, behind previous: JSONValue) -> String? {
        guard let role = message["role"]?.string, ["user", "assistant"].contains(role) else {
            return ".role: Input should be 'user' or 'assistant'"
        }
        let calls = self.identifiers(in: previous, of: "tool_use", named: "id")
        let outputs = self.identifiers(in: message, of: "tool_result", named: "tool_use_id")
        if let missing = calls.subtracting(outputs).first { return ": `tool_use` \(missing) has no `tool_result`" }
        if let surplus = outputs.subtracting(calls).first { return ": `tool_result` \(surplus) has no `tool_use`" }
        for (index, block) in (message["content"]?.elements ?? []).enumerated() {
            switch block["type"]?.string {
            case "text" where block["text"]?.string?.isEmpty != false:
                return ".content.\(index): text content blocks must be non-empty"
            case "thinking" where block["signature"]?.string != Self.signature:
                return ".content.\(index): Invalid `signature` in `thinking` block"
            case nil: return ".content.\(index).type: Field required"
            default: continue
            }
        }
        return nil
    }

    private static func identifiers(in message: JSONValue, of type: String, named name: String) -> Set<String> {
        Set((message["content"]?.elements ?? []).filter { $0["type"]?.string == type }.compactMap { $0[name]?.string })
    }

    /// With thinking, the last answer has to begin with what was thought before its calls.
    private static func missingThinking(_ body: JSONValue, _ messages: [JSONValue]) -> String? {
        guard ["enabled", "adaptive"].contains(body["thinking"]?["type"]?.string ?? ""),
            let index = messages.lastIndex(where: { $0["role"]?.string == "assistant" })
        else { return nil }
        let blocks = messages[index]["content"]?.elements ?? []
        guard blocks.contains(where: { $0["type"]?.string == "tool_use" }),
            !["thinking", "redacted_thinking"].contains(blocks.first?["type"]?.string ?? "")
        else { return nil }
        return "messages.\(index).content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`"
    }

    /// Returns the body of a request for a response that asks the script for the same.
    static func responseBody(_ body: JSONValue) -> JSONValue {
        var result = body.replacing(
            "input", with: .array((body["messages"]?.elements ?? []).flatMap(Self.items)))
        result = result.replacing("messages", with: .null)
        if let system = body["system"] {
            let text = system.string ?? system.elements.compactMap { $0["text"]?.string }.joined(separator: "\n")
            result = result.replacing("instructions", with: .string(text))
        }
        let tools = (body["tools"]?.elements ?? []).map { tool in
            tool.replacing("type", with: .string("function")).replacing(
                "parameters", with: tool["input_schema"] ?? .null)
        }
        result = result.replacing("tools", with: .array(tools))
        if let format = body["output_config"]?["format"], let schema = format["schema"] {
            let flat = JSONValue.object([
                .init(name: "type", value: .string("json_schema")), .init(name: "schema", value: schema),
            ])
            result = result.replacing("text", with: .object([.init(name: "format", value: flat)]))
        }
        return result
    }

    private static func items(_ message: JSONValue) -> [JSONValue] {
        let role = message["role"] ?? .null
        func text(_ content: JSONValue) -> JSONValue {
            .object([.init(name: "role", value: role), .init(name: "content", value: content)])
        }
        guard case .array(let blocks)? = message["content"] else { return [text(message["content"] ?? .null)] }
        return blocks.compactMap { block in
            switch block["type"]?.string {
            case "text": text(block["text"] ?? .null)
            case "tool_use":
                .object([
                    .init(name: "type", value: .string("function_call")),
                    .init(name: "call_id", value: block["id"] ?? .null),
                    .init(name: "name", value: block["name"] ?? .null),
                    .init(name: "arguments", value: .string((block["input"] ?? .null).text)),
                ])
            case "tool_result":
                .object([
                    .init(name: "type", value: .string("function_call_output")),
                    .init(name: "call_id", value: block["tool_use_id"] ?? .null),
                    .init(name: "output", value: block["content"] ?? .string("")),
                ])
            default: nil
            }
        }
    }
}
