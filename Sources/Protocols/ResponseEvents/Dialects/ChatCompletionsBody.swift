// A request for a response as the body of a chat completion. Pure.

extension ResponseRequestBody {
    /// Returns the body that asks for a chat completion, as an event stream.
    ///
    /// The members of a body that has `messages` are left as they are. These are left out: reasoning in the input that came
    /// from another API, `include` of encrypted reasoning, `reasoning.summary`, the default values of `store`, `truncation` and
    /// `background`, `client_metadata`, and `tool_choice` and `parallel_tool_calls` without tools.
    /// - Parameter form: the form that the server takes.
    /// - Returns: the body as JSON text.
    /// - Throws: `notInDialect` for a member, an item, a part or a tool that Chat Completions cannot express.
    package func chatBody(_ form: ChatForm) throws(ResponseRequestBodyError) -> [UInt8] {
        var body = JSONObjectText()
        var messages: [[UInt8]]?
        var allowedTools: AllowedTools?
        for member in self.object.members where !member.json.elementsEqual("null".utf8) {
            switch member.name {
            case "input", "instructions": if messages == nil { messages = try self.chatMessages(form) }
            case "max_output_tokens": body[form.limitName] = member.json
            case "reasoning": try body.takeReasoning(member.json)
            case "text": try body.takeText(member.json)
            case "tools": try body.takeTools(member.json)
            case "tool_choice":
                allowedTools = try AllowedTools(choice: member.json)
                body["tool_choice"] =
                    if let allowedTools { allowedTools.mode } else { try Self.toolChoice(member.json) }
            case "n" where !member.json.elementsEqual("1".utf8): throw .notInDialect("more than one choice (n)")
            case "include": try Self.checkInclude(member.json)
            default:
                if Self.leavesOut(member) { continue }
                if Self.membersWithoutForm.contains(member.name) { throw .notInDialect(member.name) }
                body[member.name] = member.json
            }
        }
        if let messages, !messages.isEmpty || body["messages"] == nil {
            guard body["messages"] == nil else { throw .notInDialect("input beside messages") }
            body["messages"] = JSONArrayText.json(messages.map { $0[...] })[...]
        }
        if let allowedTools { body.keepTools(allowedTools.names) }
        if body["tools"] == nil {
            body["tool_choice"] = nil
            body["parallel_tool_calls"] = nil
        }
        body["stream"] = Array("true".utf8)[...]
        // A null leaves the member out, for a server that refuses it.
        if form.asksForUsage, self.object["stream_options"] == nil {
            body["stream_options"] = Array(#"{"include_usage":true}"#.utf8)[...]
        }
        return body.json
    }

    /// Members that refer to what a server keeps, or that change an answer in a way for which there is no form.
    private static let membersWithoutForm: Set<String> = [
        "background", "context_management", "conversation", "max_tool_calls", "previous_response_id", "prompt",
        "truncation",
    ]

    static func leavesOut(_ member: JSONObjectText.Member) -> Bool {
        let isFalse = member.json.elementsEqual("false".utf8)
        return switch member.name {
        // They concern the connection, or one transmission.
        case "type", "generate", "stream_id", "stream", "client_metadata": true
        case "store", "background": isFalse
        case "truncation": member.json.elementsEqual(#""disabled""#.utf8)
        default: false
        }
    }

    static func checkInclude(_ json: ArraySlice<UInt8>) throws(ResponseRequestBodyError) {
        let wishes = JSONArrayText(json)?.elements ?? []
        let encrypted = Array(#""reasoning.encrypted_content""#.utf8)
        for wish in wishes where !wish.json.elementsEqual(encrypted) {
            throw .notInDialect("include: \(String(decoding: wish.json.prefix(64), as: UTF8.self))")
        }
    }

    // MARK: Messages

    private func chatMessages(_ form: ChatForm) throws(ResponseRequestBodyError) -> [[UInt8]] {
        let tools = self.object["tools"].flatMap { JSONArrayText($0) }?.elements ?? []
        var messages = ChatMessages(form, hasTools: !tools.isEmpty)
        if let text = self.object["instructions"], !text.elementsEqual("null".utf8) {
            guard text.first == UInt8(ascii: "\"") else { throw .notInDialect("instructions that are no text") }
            messages.append(role: "system", content: text)
        }
        guard let items = self.inputItems else { throw .invalidInput }
        for item in items where !item.elementsEqual("null".utf8) { try messages.append(item) }
        return messages.finished()
    }

    // MARK: Tools

    private static func toolChoice(_ json: ArraySlice<UInt8>) throws(ResponseRequestBodyError) -> ArraySlice<UInt8> {
        guard let choice = try? JSONObjectText(Array(json)) else { return json }
        // A choice in the form of the other API, which a program has written.
        if choice["function"] != nil || choice["allowed_tools"] != nil { return json }
        guard choice.string("type") == "function", let name = choice["name"] else {
            throw .notInDialect("tool_choice of type \(choice.string("type") ?? "none")")
        }
        return (Array(#"{"type":"function","function":{"name":"#.utf8) + name + Array("}}".utf8))[...]
    }
}

/// A choice among some of the tools.
///
/// Of the servers of Chat Completions only OpenAI's know such a choice. A request with only these tools says the same to
/// each of them.
struct AllowedTools {
    /// The choice among these tools: `auto` or `required`, as JSON text.
    let mode: ArraySlice<UInt8>
    /// The names of the tools.
    let names: Set<String>

    /// Reads a choice; nil for one of another type, and for one in the form of Chat Completions.
    init?(choice json: ArraySlice<UInt8>) throws(ResponseRequestBodyError) {
        guard let choice = try? JSONObjectText(Array(json)), choice.string("type")?.isExactly("allowed_tools") == true,
            let tools = choice["tools"].flatMap({ JSONArrayText($0) })?.elements
        else { return nil }
        var names: Set<String> = []
        for tool in tools {
            guard tool.type == "function", let name = try? JSONObjectText(Array(tool.json)).string("name") else {
                throw .notInDialect("an allowed tool of type \(tool.type ?? "none")")
            }
            names.insert(name)
        }
        self.mode = choice["mode"] ?? JSONText.string("auto")[...]
        self.names = names
    }
}

extension JSONObjectText {
    /// Removes the tools with other names, which they have themselves or in `function`.
    mutating func keepTools(_ names: Set<String>) {
        guard let tools = self["tools"].flatMap({ JSONArrayText($0) })?.elements else { return }
        let kept = tools.map(\.json).filter { json in
            let tool = try? JSONObjectText(Array(json))
            let function = tool?.object("function").flatMap { try? JSONObjectText(Array($0)) } ?? tool
            return function?.string("name").map(names.contains) ?? false
        }
        self["tools"] = kept.isEmpty ? nil : JSONArrayText.json(kept)[...]
    }

    fileprivate mutating func takeReasoning(_ json: ArraySlice<UInt8>) throws(ResponseRequestBodyError) {
        guard let reasoning = try? JSONObjectText(Array(json)) else {
            throw .notInDialect("reasoning that is no object")
        }
        for member in reasoning.members where !member.json.elementsEqual("null".utf8) {
            switch member.name {
            case "effort": self["reasoning_effort"] = member.json
            // Chat Completions has no member for it.
            case "summary", "generate_summary": continue
            default: throw .notInDialect("reasoning.\(member.name)")
            }
        }
    }

    fileprivate mutating func takeText(_ json: ArraySlice<UInt8>) throws(ResponseRequestBodyError) {
        guard let text = try? JSONObjectText(Array(json)) else { throw .notInDialect("text that is no object") }
        for member in text.members where !member.json.elementsEqual("null".utf8) {
            switch member.name {
            case "format": self["response_format"] = try Self.responseFormat(member.json)
            case "verbosity": self["verbosity"] = member.json
            default: throw .notInDialect("text.\(member.name)")
            }
        }
    }

    /// Returns the form of a format; nil for plain text, which is the default.
    private static func responseFormat(
        _ json: ArraySlice<UInt8>
    ) throws(ResponseRequestBodyError) -> ArraySlice<UInt8>? {
        guard var format = try? JSONObjectText(Array(json)) else {
            throw .notInDialect("text.format that is no object")
        }
        switch format.string("type") {
        case "text": return nil
        case "json_schema" where format["json_schema"] == nil:
            format["type"] = nil
            return (Array(#"{"type":"json_schema","json_schema":"#.utf8) + format.json + Array("}".utf8))[...]
        case "json_schema", "json_object": return json
        case let type: throw .notInDialect("text.format of type \(type ?? "none")")
        }
    }

    fileprivate mutating func takeTools(_ json: ArraySlice<UInt8>) throws(ResponseRequestBodyError) {
        guard let tools = JSONArrayText(json) else { throw .notInDialect("tools that are no array") }
        var functions: [ArraySlice<UInt8>] = []
        for tool in tools.elements {
            guard tool.type == "function", var function = try? JSONObjectText(Array(tool.json)) else {
                throw .notInDialect("a tool of type \(tool.type ?? "none")")
            }
            if function["function"] != nil {
                functions.append(tool.json)
                continue
            }
            function["type"] = nil
            functions.append((Array(#"{"type":"function","function":"#.utf8) + function.json + Array("}".utf8))[...])
        }
        if !functions.isEmpty { self["tools"] = JSONArrayText.json(functions)[...] }
    }
}
