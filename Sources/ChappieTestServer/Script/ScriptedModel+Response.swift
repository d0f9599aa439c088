// The scripted model's answer to a request, as events.
//
// Pure: a request and two numbers in, events out.

/// What a scripted answer depends on.
struct ScriptedRequest: Sendable {
    /// The request's JSON.
    var body: JSONValue
    /// The size of its text in bytes.
    var bodyByteCount: Int
    /// The attempt that carries it.
    var attempt: Int
    /// The response's number over all attempts.
    var response: Int
    /// How the text is changed by faults.
    var textChanges: [TextChange] = []

    /// A change of the answer's text.
    enum TextChange: Sendable {
        /// Something else from a scalar offset on.
        case diverge(from: Int, replacement: String?)
        /// Nothing from a scalar offset on.
        case shorten(to: Int)
        /// One delta of so many bytes in front.
        case largeDelta(byteCount: Int)
    }

    /// The name of the model that was asked for.
    var model: String { self.body["model"]?.string ?? "scripted" }

    /// The identity of the answer; ids differ from response to response, their length does not.
    func identity(seed: UInt64) -> ResponseIdentity {
        var random = RandomSequence(seed: seed, stream: UInt64(self.response) &+ 1000)
        return ResponseIdentity(
            id: "resp_" + random.hexDigits(24),
            model: self.model,
            previousID: self.body["previous_response_id"]?.string,
            isStored: self.body["store"] == .bool(true)
        )
    }

    /// The function tools that the model may call now.
    var callableTools: [JSONValue] {
        guard self.body["tool_choice"]?.string != "none" else { return [] }
        let items = self.body["input"]?.elements ?? []
        let recent = items.suffix(while: { $0["role"]?.string != "user" })
        let hasOutput = recent.contains { $0["type"]?.string?.hasSuffix("_call_output") == true }
        return hasOutput ? [] : (self.body["tools"]?.elements ?? []).filter { $0["type"]?.string == "function" }
    }
}

extension Array {
    /// The longest end of the array whose elements all satisfy the condition.
    fileprivate func suffix(while condition: (Element) -> Bool) -> ArraySlice<Element> {
        guard let last = self.lastIndex(where: { !condition($0) }) else { return self[...] }
        return self[(last + 1)...]
    }
}

extension ChappieTestServer.ScriptedModel {
    /// The events of the answer to a request.
    func script(for request: ScriptedRequest) -> ResponseScript {
        var builder = ScriptedResponseBuilder(model: self, request: request)
        return builder.build()
    }
}

/// Adds the events of one answer, item by item.
private struct ScriptedResponseBuilder {
    let model: ChappieTestServer.ScriptedModel
    let request: ScriptedRequest
    var script: ResponseScript
    var random: RandomSequence
    var identifiers: RandomSequence
    var output: [String] = []
    var outputByteCount = 0

    init(model: ChappieTestServer.ScriptedModel, request: ScriptedRequest) {
        self.model = model
        self.request = request
        self.script = ResponseScript(identity: request.identity(seed: model.seed))
        let variation = model.variesDeltas ? UInt64(request.attempt) : 0
        self.random = RandomSequence(seed: model.seed, stream: variation &+ 2_000_000)
        self.identifiers = RandomSequence(seed: model.seed, stream: UInt64(request.response) &+ 1_000_000_000)
    }

    mutating func build() -> ResponseScript {
        let identity = self.script.identity
        let running = identity.object(status: "in_progress")
        self.script.add("response.created", "\"response\":\(running)")
        self.script.add("response.in_progress", "\"response\":\(running)")
        if self.model.includesReasoning { self.addReasoning() }
        let tools = self.model.callsTools ? self.request.callableTools : []
        if tools.isEmpty {
            self.addMessage()
        } else {
            for index in 0..<max(1, self.model.toolCallCount) { self.addCall(tools[index % tools.count], index: index) }
        }
        let usage = ResponseIdentity.usage(
            inputByteCount: self.request.bodyByteCount,
            outputByteCount: self.outputByteCount,
            reasoningTokens: self.model.includesReasoning ? 32 : 0
        )
        let output = "[" + self.output.joined(separator: ",") + "]"
        let object = identity.object(status: "completed", output: output, usage: usage)
        self.script.add("response.completed", "\"response\":\(object)")
        return self.script
    }

    private func quoted(_ text: String) -> String {
        JSONValue.quoted(text, escapesNonASCII: self.model.escapesNonASCII)
    }

    private mutating func addItem(added: String, done: (inout Self) -> String) {
        let index = self.output.count
        self.script.add("response.output_item.added", "\"output_index\":\(index),\"item\":\(added)")
        let item = done(&self)
        self.script.add("response.output_item.done", "\"output_index\":\(index),\"item\":\(item)")
        self.output.append(item)
    }

    /// Random padding of a delta, unless the request turns it off.
    private mutating func obfuscation() -> String {
        let padding = self.random.hexDigits(1 + self.random.below(16))
        let isOff = self.request.body["stream_options"]?["include_obfuscation"] == .bool(false)
        return isOff ? "" : ",\"obfuscation\":\"\(padding)\""
    }

    private mutating func addReasoning() {
        let id = "rs_" + self.identifiers.hexDigits(24)
        let start = self.identifiers.hexDigits(32)
        let final = self.identifiers.hexDigits(64)
        let place = "\"item_id\":\"\(id)\",\"output_index\":\(self.output.count),\"summary_index\":0"
        let summary = "**Looking at the harbour**\n\nThe question is short — a few paragraphs will do. 🧭"
        let head = "{\"id\":\"\(id)\",\"type\":\"reasoning\",\"summary\":"
        self.addItem(added: head + "[],\"encrypted_content\":\"gAAAAABo\(start)\"}") { builder in
            builder.script.add(
                "response.reasoning_summary_part.added", place + ",\"part\":{\"type\":\"summary_text\",\"text\":\"\"}")
            for piece in ScriptedText.pieces(of: summary, random: &builder.random, maximum: 24) {
                let members = place + ",\"delta\":" + builder.quoted(piece) + builder.obfuscation()
                builder.script.add("response.reasoning_summary_text.delta", members)
            }
            let part = "{\"type\":\"summary_text\",\"text\":" + builder.quoted(summary) + "}"
            builder.script.add("response.reasoning_summary_text.done", place + ",\"text\":" + builder.quoted(summary))
            builder.script.add("response.reasoning_summary_part.done", place + ",\"part\":" + part)
            return head + "[\(part)],\"encrypted_content\":\"gAAAAABo\(final)\"}"
        }
    }

    private mutating func addMessage() {
        let id = "msg_" + self.identifiers.hexDigits(24)
        let place = "\"item_id\":\"\(id)\",\"output_index\":\(self.output.count),\"content_index\":0"
        let pieces = self.textPieces()
        let text = pieces.joined()
        self.outputByteCount += text.utf8.count
        let item = { (status: String, content: String) in
            "{\"id\":\"\(id)\",\"type\":\"message\",\"status\":\"\(status)\",\"role\":\"assistant\","
                + "\"phase\":\"final_answer\",\"content\":\(content)}"
        }
        let part = { (text: String) in
            "{\"type\":\"output_text\",\"text\":\(text),\"annotations\":[],\"logprobs\":[]}"
        }
        self.addItem(added: item("in_progress", "[]")) { builder in
            builder.script.add("response.content_part.added", place + ",\"part\":" + part("\"\""))
            for piece in pieces {
                let members = place + ",\"delta\":" + builder.quoted(piece) + ",\"logprobs\":[]" + builder.obfuscation()
                builder.script.add("response.output_text.delta", members)
            }
            let quoted = builder.quoted(text)
            builder.script.add("response.output_text.done", place + ",\"text\":\(quoted),\"logprobs\":[]")
            builder.script.add("response.content_part.done", place + ",\"part\":" + part(quoted))
            return item("completed", "[\(part(quoted))]")
        }
    }

    private mutating func textPieces() -> [String] {
        var text = self.model.fullText
        var large: [String] = []
        for change in self.request.textChanges {
            switch change {
            case .diverge(let offset, let replacement):
                text = ScriptedText.diverging(text, from: offset, with: replacement)
            case .shorten(let length):
                text = String(String.UnicodeScalarView(text.unicodeScalars.prefix(max(0, length))))
            case .largeDelta(let byteCount):
                large.append(String(repeating: "x", count: max(1, byteCount)))
            }
        }
        return large
            + ScriptedText.pieces(of: text, random: &self.random, maximum: self.model.maximumDeltaLength)
    }

    private mutating func addCall(_ tool: JSONValue, index: Int) {
        let id = "fc_" + self.identifiers.hexDigits(24)
        let callID = "call_" + self.identifiers.hexDigits(24)
        let name = JSONValue.quoted(tool["name"]?.string ?? "tool")
        let arguments = ToolArguments.make(for: tool["parameters"], index: index).text
        let place = "\"item_id\":\"\(id)\",\"output_index\":\(self.output.count)"
        self.script.callIDs.append(callID)
        self.outputByteCount += arguments.utf8.count
        let item = { (status: String, arguments: String) in
            "{\"id\":\"\(id)\",\"type\":\"function_call\",\"status\":\"\(status)\",\"call_id\":\"\(callID)\","
                + "\"name\":\(name),\"arguments\":\(JSONValue.quoted(arguments))}"
        }
        self.addItem(added: item("in_progress", "")) { builder in
            for piece in ScriptedText.pieces(of: arguments, random: &builder.random, maximum: 8) {
                let members = place + ",\"delta\":" + JSONValue.quoted(piece) + builder.obfuscation()
                builder.script.add("response.function_call_arguments.delta", members)
            }
            let members = place + ",\"arguments\":" + JSONValue.quoted(arguments) + ",\"name\":\(name)"
            builder.script.add("response.function_call_arguments.done", members)
            return item("completed", arguments)
        }
    }
}
