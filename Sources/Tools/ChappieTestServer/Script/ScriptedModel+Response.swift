// The scripted model's answer to a request, as events.
//
// Pure: a request and two numbers in, events out.

extension ChappieTestServer.ScriptedModel {
    /// Returns the events of the answer to a request; `text` is the model's whole text, if it is made already.
    func script(for request: ScriptedRequest, text: String? = nil) -> ResponseScript {
        // A text of the program's own is what it expects, whatever the request asks for.
        let formatted = self.text == nil ? SchemaSample.answer(to: request.body)?.text : nil
        var builder = ScriptedResponseBuilder(model: self, request: request, text: formatted ?? text ?? self.fullText)
        return builder.build()
    }
}

/// Adds the events of one answer, item by item.
struct ScriptedResponseBuilder {
    /// The configuration of the model.
    let model: ChappieTestServer.ScriptedModel
    /// The request.
    let request: ScriptedRequest
    /// The text of the message, before the changes of faults.
    let text: String
    /// The events so far.
    var script: ResponseScript
    /// Cuts texts into deltas.
    var random: RandomSequence
    /// Makes identifiers.
    var identifiers: RandomSequence
    /// The finished items, as JSON texts.
    var output: [String] = []
    /// The number of bytes of the items' texts.
    var outputByteCount = 0

    /// Begins an answer.
    init(model: ChappieTestServer.ScriptedModel, request: ScriptedRequest, text: String) {
        self.model = model
        self.text = text
        self.request = request
        self.script = ResponseScript(identity: request.identity(seed: model.seed))
        let variation = model.variesDeltas ? UInt64(request.attempt) : 0
        self.random = RandomSequence(seed: model.seed, stream: variation &+ 2_000_000)
        self.identifiers = RandomSequence(seed: model.seed, stream: UInt64(request.response) &+ 1_000_000_000)
    }

    /// Adds all events.
    mutating func build() -> ResponseScript {
        let identity = self.script.identity
        let running = identity.object(status: "in_progress")
        self.script.add("response.created", "\"response\":\(running)")
        self.script.add("response.in_progress", "\"response\":\(running)")
        if self.model.includesReasoning { self.addReasoning() }
        if !self.addCalls() { self.addMessage() }
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

    /// Adds the first and the last event of an item, and between them the events of `done`, which makes the finished
    /// item.
    mutating func addItem(added: String, done: (inout Self) -> String) {
        let index = self.output.count
        self.script.add("response.output_item.added", "\"output_index\":\(index),\"item\":\(added)")
        let item = done(&self)
        self.script.add("response.output_item.done", "\"output_index\":\(index),\"item\":\(item)")
        self.output.append(item)
    }

    /// Random padding of a delta, unless the request turns it off.
    mutating func obfuscation() -> String {
        let padding = self.random.hexDigits(1 + self.random.below(16))
        let isOff = self.request.body["stream_options"]?["include_obfuscation"] == .bool(false)
        return isOff ? "" : ",\"obfuscation\":\"\(padding)\""
    }

    /// The reasoning, the same in every answer.
    static let summary = "**Looking at the harbour**\n\nThe question is short — a few paragraphs will do. 🧭"

    private mutating func addReasoning() {
        let id = "rs_" + self.identifiers.hexDigits(24)
        let start = self.identifiers.hexDigits(32)
        let final = self.identifiers.hexDigits(64)
        let place = "\"item_id\":\"\(id)\",\"output_index\":\(self.output.count),\"summary_index\":0"
        let summary = Self.summary
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
        var text = self.text
        var large: [String] = []
        for change in self.request.textChanges {
            switch change {
            case .diverge(let offset, let replacement):
                text = ScriptedText.diverging(text, from: offset, with: replacement)
            case .shorten(let length):
                text = String(String.UnicodeScalarView(text.unicodeScalars.prefix(max(0, length))))
            case .prefix(let prefix): text = prefix + text
            case .largeDelta(let byteCount):
                large.append(String(repeating: "x", count: max(1, byteCount)))
            }
        }
        return large
            + ScriptedText.pieces(of: text, random: &self.random, maximum: self.model.maximumDeltaLength)
    }
}
