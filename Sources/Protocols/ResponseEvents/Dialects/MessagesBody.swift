// A request for a response as the body of a request of Anthropic's Messages. Pure.

extension ResponseRequestBody {
    /// The largest number of tokens of the answer in requests that state none: Messages has no default, and every model
    /// that is offered takes this one.
    package static let messagesTokenLimit = 16_384

    /// Returns the body that asks for a message, as an event stream.
    ///
    /// The members of a body that has `messages` are left as they are, and so are members that only Messages has, such
    /// as `thinking`. These are left out: items of reasoning in the input that another API made, `include` of encrypted
    /// reasoning, `reasoning.summary`, the default values of `store`, `truncation` and `background`, `client_metadata`,
    /// and `tool_choice` and `parallel_tool_calls` without tools.
    /// - Returns: the body as JSON text.
    /// - Throws: `notInDialect` for a member, an item, a part or a tool that Messages cannot express.
    package func messagesBody() throws(ResponseRequestBodyError) -> [UInt8] {
        var body = JSONObjectText()
        var input: MessagesInput?
        var isParallel: Bool?
        var allowedTools: AllowedTools?
        for member in self.object.members where !member.json.elementsEqual("null".utf8) {
            switch member.name {
            case "input", "instructions": if input == nil { input = try self.messagesInput() }
            case "max_output_tokens": body["max_tokens"] = member.json
            case "reasoning": try body.takeEffort(member.json)
            case "text": try body.takeFormat(member.json)
            case "tools": body["tools"] = try Self.tools(member.json)
            case "tool_choice":
                allowedTools = try AllowedTools(choice: member.json)
                body["tool_choice"] = try Self.toolChoice(allowedTools?.mode ?? member.json)
            case "parallel_tool_calls": isParallel = !member.json.elementsEqual("false".utf8)
            case "service_tier": body["service_tier"] = try Self.serviceTier(member.json)
            case "metadata": body["metadata"] = try Self.metadata(member.json)
            case "user", "safety_identifier": body.set("user_id", in: "metadata", to: Array(member.json))
            // A key asks for a cache, which is named by its content here.
            case "prompt_cache_key": body["cache_control"] = Array(#"{"type":"ephemeral"}"#.utf8)[...]
            // This API has a member of that name, which is an object.
            case "context_management" where member.json.first == UInt8(ascii: "["): throw .notInDialect(member.name)
            case "n" where !member.json.elementsEqual("1".utf8): throw .notInDialect("more than one answer (n)")
            case "include": try Self.checkInclude(member.json)
            default:
                if Self.leavesOut(member) { continue }
                if Self.membersWithoutForm.contains(member.name) { throw .notInDialect(member.name) }
                body[member.name] = member.json
            }
        }
        try body.take(input)
        if body["max_tokens"] == nil { body["max_tokens"] = Array(String(Self.messagesTokenLimit).utf8)[...] }
        if let allowedTools { body.keepTools(allowedTools.names) }
        if body["tools"] == nil {
            body["tool_choice"] = nil
        } else if isParallel == false {
            var choice = body["tool_choice"].flatMap { try? JSONObjectText(Array($0)) } ?? JSONObjectText()
            if choice["type"] == nil { choice["type"] = JSONText.string("auto")[...] }
            // A choice without calls does not have the member.
            if choice.string("type") != "none" { choice["disable_parallel_tool_use"] = Array("true".utf8)[...] }
            body["tool_choice"] = choice.json[...]
        }
        body["stream"] = Array("true".utf8)[...]
        return body.json
    }

    private func messagesInput() throws(ResponseRequestBodyError) -> MessagesInput {
        var input = MessagesInput()
        if let text = self.object["instructions"], !text.elementsEqual("null".utf8) {
            guard text.first == UInt8(ascii: "\"") else { throw .notInDialect("instructions that are no text") }
            input.append(system: text)
        }
        guard let items = self.inputItems else { throw .invalidInput }
        for item in items where !item.elementsEqual("null".utf8) { try input.append(item) }
        return input
    }

    // MARK: Tools

    private static func tools(_ json: ArraySlice<UInt8>) throws(ResponseRequestBodyError) -> ArraySlice<UInt8>? {
        guard let tools = JSONArrayText(json) else { throw .notInDialect("tools that are no array") }
        var forms: [ArraySlice<UInt8>] = []
        for tool in tools.elements {
            guard let object = try? JSONObjectText(Array(tool.json)) else { throw .notInDialect("a tool of type none") }
            switch tool.type {
            // A tool in the form of this API, which a program has written; the types of the server's tools have a date.
            case _ where object["input_schema"] != nil: forms.append(tool.json)
            case let type? where type.last?.isNumber == true && object["name"] != nil: forms.append(tool.json)
            case "function":
                var function = object
                function.removeMembers { $0.json.elementsEqual("null".utf8) }
                let schema = function["parameters"] ?? Self.emptySchema
                for name in ["type", "parameters"] { function[name] = nil }
                if function["strict"]?.elementsEqual("false".utf8) == true { function["strict"] = nil }
                function["input_schema"] = schema
                forms.append(function.json[...])
            case "web_search" where object.members.count == 1: forms.append(Self.webSearch)
            case let type: throw .notInDialect("a tool of type \(type ?? "none")")
            }
        }
        return forms.isEmpty ? nil : JSONArrayText.json(forms)[...]
    }

    private static let emptySchema = Array(#"{"type":"object","properties":{}}"#.utf8)[...]
    /// The oldest form, which every model that searches has.
    private static let webSearch = Array(#"{"type":"web_search_20250305","name":"web_search"}"#.utf8)[...]

    private static func toolChoice(_ json: ArraySlice<UInt8>) throws(ResponseRequestBodyError) -> ArraySlice<UInt8> {
        guard let choice = try? JSONObjectText(Array(json)) else {
            switch String(decoding: json, as: UTF8.self) {
            case "\"auto\"", "\"none\"": return (Array(#"{"type":"#.utf8) + json + Array("}".utf8))[...]
            case "\"required\"": return Array(#"{"type":"any"}"#.utf8)[...]
            case let word: throw .notInDialect("tool_choice \(word.prefix(64))")
            }
        }
        switch choice.string("type") {
        case "function":
            guard let name = choice["name"] else { throw .notInDialect("tool_choice without a name") }
            return (Array(#"{"type":"tool","name":"#.utf8) + name + Array("}".utf8))[...]
        // A choice in the form of this API, which a program has written.
        case "auto", "any", "none", "tool": return json
        case let type: throw .notInDialect("tool_choice of type \(type ?? "none")")
        }
    }

    // MARK: Other members

    /// Members that refer to what a server keeps, or that change an answer in a way for which there is no form.
    private static let membersWithoutForm: Set<String> = [
        "background", "conversation", "max_tool_calls", "previous_response_id", "prompt", "store", "truncation",
    ]

    private static func serviceTier(_ json: ArraySlice<UInt8>) throws(ResponseRequestBodyError) -> ArraySlice<UInt8> {
        switch String(decoding: json, as: UTF8.self) {
        case "\"default\"": return JSONText.string("standard_only")[...]
        case "\"auto\"", "\"standard_only\"": return json
        case let tier: throw .notInDialect("service_tier \(tier.prefix(64))")
        }
    }

    /// Messages keeps one name with a request, that of the person.
    private static func metadata(_ json: ArraySlice<UInt8>) throws(ResponseRequestBodyError) -> ArraySlice<UInt8> {
        guard let metadata = try? JSONObjectText(Array(json)) else { throw .notInDialect("metadata that is no object") }
        if let member = metadata.members.first(where: { $0.name != "user_id" }) {
            throw .notInDialect("metadata.\(member.name.word)")
        }
        return json
    }
}

extension JSONObjectText {
    /// Sets what the effort of reasoning is in Messages: the model decides when it thinks, and the effort limits it.
    ///
    /// A `thinking` of the caller's own stays: models before Claude 4.6 take a budget in place of an effort.
    fileprivate mutating func takeEffort(_ json: ArraySlice<UInt8>) throws(ResponseRequestBodyError) {
        guard let reasoning = try? JSONObjectText(Array(json)) else {
            throw .notInDialect("reasoning that is no object")
        }
        for member in reasoning.members where !member.json.elementsEqual("null".utf8) {
            switch member.name {
            case "effort":
                let isOff = member.json.elementsEqual(#""none""#.utf8)
                if self["thinking"] == nil {
                    self["thinking"] = Array((isOff ? #"{"type":"disabled"}"# : #"{"type":"adaptive"}"#).utf8)[...]
                }
                guard !isOff else { continue }
                let isMinimal = member.json.elementsEqual(#""minimal""#.utf8)
                self.set("effort", in: "output_config", to: isMinimal ? JSONText.string("low") : Array(member.json))
            case "summary", "generate_summary": continue
            default: throw .notInDialect("reasoning.\(member.name.word)")
            }
        }
    }

    fileprivate mutating func takeFormat(_ json: ArraySlice<UInt8>) throws(ResponseRequestBodyError) {
        guard let text = try? JSONObjectText(Array(json)) else { throw .notInDialect("text that is no object") }
        for member in text.members where !member.json.elementsEqual("null".utf8) {
            guard member.name == "format", let format = try? JSONObjectText(Array(member.json)) else {
                throw .notInDialect("text.\(member.name.word)")
            }
            switch format.string("type") {
            case "text": continue
            case "json_schema":
                guard let schema = format["schema"] else { throw .notInDialect("text.format without a schema") }
                let form = Array(#"{"type":"json_schema","schema":"#.utf8) + schema + Array("}".utf8)
                self.set("format", in: "output_config", to: form)
            case let type: throw .notInDialect("text.format of type \(type?.word ?? "none")")
            }
        }
    }

    /// Sets the messages and the system's text of an input, unless the body has messages of its own.
    fileprivate mutating func take(_ input: MessagesInput?) throws(ResponseRequestBodyError) {
        guard let input else { return }
        let messages = input.messages
        if self["messages"] == nil {
            self["messages"] = JSONArrayText.json(messages.map { $0[...] })[...]
        } else if !messages.isEmpty {
            throw .notInDialect("input beside messages")
        }
        if let system = input.systemText {
            guard self["system"] == nil else { throw .notInDialect("instructions beside system") }
            self["system"] = system
        }
    }
}
