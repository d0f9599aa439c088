// Calls of the caller's tools, as items and events.
//
// Pure.

extension ScriptedResponseBuilder {
    /// A tool that the request offers.
    private struct Tool {
        let name: String
        let isCustom: Bool
        let parameters: JSONValue?

        init?(_ definition: JSONValue) {
            guard let type = definition["type"]?.string, ["function", "custom"].contains(type) else { return nil }
            self.name = definition["name"]?.string ?? "tool"
            self.isCustom = type == "custom"
            self.parameters = definition["parameters"]
        }
    }

    /// The tools that the model calls in this response.
    private var callableTools: [Tool] {
        let isForbidden = self.request.body["tool_choice"]?.string == "none"
        let isDone = self.request.conversation.outputRounds >= self.model.toolRounds
        guard self.model.callsTools, !isForbidden, !isDone else { return [] }
        let tools = (self.request.body["tools"]?.elements ?? []).compactMap(Tool.init)
        guard !self.model.toolArguments.isEmpty else { return tools }
        return tools.filter { self.model.toolArguments[$0.name] != nil }
    }

    /// Adds a round of calls; returns false when there is no tool to call.
    mutating func addCalls() -> Bool {
        let tools = self.callableTools
        guard !tools.isEmpty else { return false }
        let count = max(1, self.model.toolCallCount)
        let first = self.request.conversation.outputRounds * count
        for index in 0..<count { self.add(tools[index % tools.count], number: first + index) }
        return true
    }

    /// Returns the arguments of a call: scripted, or generated.
    private func payload(for tool: Tool, number: Int) -> String {
        if let scripted = self.model.toolArguments[tool.name] {
            return scripted.replacing("$number", with: String(number + 1))
        }
        guard !tool.isCustom else { return SchemaSample.input(number: number) }
        return SchemaSample.arguments(for: tool.parameters, index: number).text
    }

    private mutating func add(_ tool: Tool, number: Int) {
        let id = (tool.isCustom ? "ctc_" : "fc_") + self.identifiers.hexDigits(24)
        let callID = "call_" + self.identifiers.hexDigits(24)
        let payload = self.payload(for: tool, number: number)
        self.script.callIDs.append(callID)
        self.outputByteCount += payload.utf8.count
        let (type, member) = tool.isCustom ? ("custom_tool_call", "input") : ("function_call", "arguments")
        let event = "response." + (tool.isCustom ? "custom_tool_call_input" : "function_call_arguments")
        let name = JSONValue.quoted(tool.name)
        let place = "\"item_id\":\"\(id)\",\"output_index\":\(self.output.count)"
        let item = { (status: String, payload: String) in
            "{\"id\":\"\(id)\",\"type\":\"\(type)\",\"status\":\"\(status)\",\"call_id\":\"\(callID)\","
                + "\"name\":\(name),\"\(member)\":\(JSONValue.quoted(payload))}"
        }
        self.addItem(added: item("in_progress", "")) { builder in
            for piece in ScriptedText.pieces(of: payload, random: &builder.random, maximum: 8) {
                let members = place + ",\"delta\":" + JSONValue.quoted(piece) + builder.obfuscation()
                builder.script.add(event + ".delta", members)
            }
            let members = place + ",\"\(member)\":" + JSONValue.quoted(payload)
            builder.script.add(event + ".done", tool.isCustom ? members : members + ",\"name\":\(name)")
            return item("completed", payload)
        }
    }
}
