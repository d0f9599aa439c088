// A request for a chat completion as one for a response, which the script answers.
//
// Pure.

/// The reading of a request for a chat completion.
enum ChatRequest {
    /// The path of such requests.
    static let path = "/v1/chat/completions"

    /// Returns the reason for which a body is refused; nil when it is accepted.
    static func problem(_ body: JSONValue) -> String? {
        guard case .array(let messages)? = body["messages"], !messages.isEmpty else {
            return "messages has to be an array that is not empty."
        }
        for (index, message) in messages.enumerated() {
            guard let role = message["role"]?.string,
                ["system", "developer", "user", "assistant", "tool"].contains(role)
            else { return "messages[\(index)].role is missing, or is none that is known." }
            if role == "tool", message["tool_call_id"]?.string == nil {
                return "messages[\(index)].tool_call_id is missing."
            }
        }
        for (index, tool) in (body["tools"]?.elements ?? []).enumerated()
        where tool["function"]?["name"]?.string == nil {
            return "tools[\(index)].function.name is missing."
        }
        return nil
    }

    /// Returns the body of a request for a response that asks the script for the same.
    static func responseBody(_ body: JSONValue) -> JSONValue {
        var result = body.replacing("input", with: .array(self.items(body["messages"]?.elements ?? [])))
        result = result.replacing("messages", with: .null)
        let tools = (body["tools"]?.elements ?? []).compactMap { $0["function"] }.map {
            $0.replacing("type", with: .string("function"))
        }
        result = result.replacing("tools", with: .array(tools))
        if let format = body["response_format"], let schema = format["json_schema"] {
            let flat = schema.replacing("type", with: format["type"] ?? .null)
            result = result.replacing("text", with: .object([.init(name: "format", value: flat)]))
        } else if let format = body["response_format"] {
            result = result.replacing("text", with: .object([.init(name: "format", value: format)]))
        }
        return result
    }

    private static func items(_ messages: [JSONValue]) -> [JSONValue] {
        messages.flatMap { message -> [JSONValue] in
            if message["role"]?.string == "tool" {
                return [
                    .object([
                        .init(name: "type", value: .string("function_call_output")),
                        .init(name: "call_id", value: message["tool_call_id"] ?? .null),
                        .init(name: "output", value: message["content"] ?? .null),
                    ])
                ]
            }
            let calls = (message["tool_calls"]?.elements ?? []).map { call in
                JSONValue.object([
                    .init(name: "type", value: .string("function_call")),
                    .init(name: "call_id", value: call["id"] ?? .null),
                    .init(name: "name", value: call["function"]?["name"] ?? .null),
                    .init(name: "arguments", value: call["function"]?["arguments"] ?? .null),
                ])
            }
            return [message] + calls
        }
    }
}
