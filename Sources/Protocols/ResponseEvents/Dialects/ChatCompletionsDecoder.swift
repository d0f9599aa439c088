// Decodes the chunks of a chat completion to events of the Responses API. Owned by the driver of a turn, one for each
// attempt.

import CSimdjson
import HTTPProtocol

/// Decodes the chunks of one chat completion to the events with which the Responses API would say the same.
///
/// A chunk neither numbers the items of an answer nor says that a call is finished. Items get their positions in the order
/// in which they appear, and all of them end with the answer: a call is finished only in a complete one, in which
/// `finish_reason` has come, `end()` was called, and the arguments are whole.
///
/// Only the choice with the index 0 is read.
package final class ChatCompletionsDecoder: DialectDecoder {
    private struct Call {
        var outputIndex: Int?
        /// The identifier with which its item was announced, which is that of the finished one too.
        var announcedID: [UInt8]?
        var id: [UInt8]
        var name: [UInt8]
        var arguments: [UInt8] = []
        /// Members that go back with the call.
        var members = ChatCallMembers()

        /// Takes a name, or before any arguments its next piece.
        mutating func take(name: [UInt8]) {
            if self.name.isEmpty || self.name != name && self.arguments.isEmpty { self.name += name }
        }
    }

    private let scanner = JSONScanner()
    private let byteCountLimit: Int
    @safe @exclusivity(unchecked) private var keptByteCount = 0
    @safe @exclusivity(unchecked) private var events = TranslatedEvents()
    /// The newest delta, when it was nothing but text of the message.
    @exclusivity(unchecked) private var frame = DeltaFrame()
    private var hasBegun = false
    private var itemCount = 0
    private var id: [UInt8] = []
    private var model: [UInt8] = []
    private var serviceTier: [UInt8] = []
    private var reasoningIndex: Int?
    private var reasoning = ChatReasoning()
    @safe @exclusivity(unchecked) private var messageIndex: Int?
    /// The message's text, as the content of a JSON string.
    @safe @exclusivity(unchecked) private var text: [UInt8] = []
    private var refusal: [UInt8] = []
    private var calls: [Call] = []
    /// The call of the form before tools, which counts where there is no other; it is not announced before the end.
    private var functionCall: Call?
    /// The number of pieces of calls.
    private var pieceCount = 0
    private var callsByIndex: [Int: Int] = [:]
    private var callsByID: [[UInt8]: Int] = [:]
    private var usage: [UInt8]?
    private var finishReason: String?
    /// The message of an error in the choice, as the content of a JSON string.
    private var errorMessage: [UInt8]?
    /// The reason of the model behind a gateway (`native_finish_reason`).
    private var nativeReason: String?
    private var isOver = false

    /// Creates a decoder that keeps at most `byteCountLimit` bytes of an answer, and refuses larger ones.
    package init(byteCountLimit: Int = 64 << 20) { self.byteCountLimit = byteCountLimit }

    /// A chunk has no type of its own.
    package var eventType: String { "chat.completion.chunk" }

    package func read(
        _ data: UnsafeRawBufferPointer, named _: UnsafeRawBufferPointer
    ) throws(ResponseEventError) -> DialectReading {
        if let text = self.frame.text(in: data), let index = self.messageIndex {
            try self.keep(text.content.count)
            self.text += text.content
            if !text.hasEscape { return .output(.init(text: text.content, kind: .text, outputIndex: index)) }
            self.events.removeAll()
            self.events.append(delta: text.content, .text, outputIndex: index)
            return .event(self.paddedEvents(), isSurfaced: true)
        }
        self.frame.forget()
        if Self.isEndMark(data) { return .end(self.end()) }
        guard let nodes = try self.scanner.nodes(ofEvent: data, depth: Self.depth) else { return .other }
        let root = ChunkMembers(nodes, of: 0)
        guard root.isChunk else { return Self.isOfResponses(root, nodes) ? .otherAPI(.responses) : .other }
        if root.hasError, case .error? = UntypedEvent(data) { return .other }
        guard !self.isOver else { return .event(TranslatedEvents(), isSurfaced: false) }
        self.events.removeAll()
        self.begin(root, nodes)
        var isSurfaced = false
        if let choices = root.choices {
            let before = (self.keptByteCount + self.reasoning.byteCount, self.pieceCount)
            isSurfaced = try self.read(choices: choices, nodes)
            if before.1 == self.pieceCount, !root.hasError {
                self.keepFrame(
                    data, root, nodes, addedByteCount: self.keptByteCount + self.reasoning.byteCount - before.0)
            }
        }
        return .event(self.paddedEvents(), isSurfaced: isSurfaced)
    }

    /// A chunk with a reason to end proves it, and so does the mark of the end.
    package func isTerminal(_ data: UnsafeRawBufferPointer) -> Bool {
        if Self.isEndMark(data) { return true }
        guard let nodes = try? self.scanner.nodes(ofEvent: data, depth: Self.depth),
            let choices = ChunkMembers(nodes, of: 0).choices
        else { return false }
        return nodes.children(of: choices).contains { choice in
            nodes.isFirstChoice(choice) && nodes.text(of: "finish_reason", in: choice) != nil
        }
    }

    /// There are none before a `finish_reason`.
    package func end() -> TranslatedEvents {
        guard let reason = self.finishReason, !self.isOver else { return TranslatedEvents() }
        self.isOver = true
        self.events.removeAll()
        if self.calls.isEmpty, let call = self.functionCall { self.calls.append(call) }
        switch Ending(reason, native: self.nativeReason) {
        case .complete where self.calls.contains { !Self.isWhole($0.arguments) }:
            // The server says that the answer is complete; no tool may run with a part of its arguments.
            self.appendEnd("incomplete", #""incomplete_details":{"reason":"cut_arguments"}"#)
        case .complete where self.calls.contains { $0.name.isEmpty && !($0.id.isEmpty && $0.arguments.isEmpty) }:
            // Its arguments may be those of another call, which would run without them.
            self.appendEnd("incomplete", #""incomplete_details":{"reason":"unnamed_call"}"#)
        case .complete where self.calls.isEmpty && Ending.wordsOfCalls.contains(reason.lowercased()):
            self.appendEnd("incomplete", #""incomplete_details":{"reason":"missing_call"}"#)
        case .complete:
            self.finishItems()
            self.appendEnd("completed")
        case .incomplete(let cause):
            let words = String(decoding: JSONText.content(of: cause), as: UTF8.self)
            self.appendEnd("incomplete", #""incomplete_details":{"reason":"\#(words)"}"#)
        case .failed:
            let words =
                self.errorMessage
                ?? Array("The server ended the answer with finish_reason ".utf8) + JSONText.content(of: reason)
            self.appendEnd(
                "failed",
                #""error":{"code":"server_error","message":"\#(String(decoding: words, as: UTF8.self))"}"#)
        }
        return self.paddedEvents()
    }

    /// The depth of the deepest text: `choices[].delta.content[].thinking[].text`.
    private static let depth = 8

    private static func isOfResponses(_ root: ChunkMembers, _ nodes: UnsafeBufferPointer<csj_node>) -> Bool {
        root.type.map { nodes[$0].content.starts(with: "response.".utf8) } ?? false
    }

    /// Returns the events, whose memory is used for the next ones.
    private func paddedEvents() -> TranslatedEvents {
        self.events.pad()
        return self.events
    }

    /// Keeps a chunk by whose frame the next one can be read: it did nothing but add its one text to the message.
    private func keepFrame(
        _ data: UnsafeRawBufferPointer, _ root: ChunkMembers, _ nodes: UnsafeBufferPointer<csj_node>,
        addedByteCount: Int
    ) {
        guard self.events.count == 1, self.events.outputCount == 1, self.finishReason == nil, let choices = root.choices
        else { return }
        let first = nodes.children(of: choices).first { nodes.isFirstChoice($0) }
        guard let delta = first.flatMap({ nodes.member("delta", of: $0) }),
            let content = nodes.text(of: "content", in: delta), nodes[content].json.count == addedByteCount
        else { return }
        self.frame.keep(data, text: nodes[content].content, filler: root.obfuscation.map { nodes[$0].content })
    }
}

// MARK: Chunks

extension ChatCompletionsDecoder {
    /// Takes what a chunk says about the whole answer; the first one begins it.
    private func begin(_ root: ChunkMembers, _ nodes: UnsafeBufferPointer<csj_node>) {
        if self.id.isEmpty, let id = root.id { self.id = Array(nodes[id].content) }
        if self.model.isEmpty, let model = root.model { self.model = Array(nodes[model].content) }
        if let tier = root.serviceTier, !nodes[tier].content.isEmpty { self.serviceTier = Array(nodes[tier].content) }
        self.take(usage: root.usage, nodes)
        self.take(usage: root.groq.flatMap { nodes.member("usage", of: $0) }, nodes)
        guard !self.hasBegun else { return }
        self.hasBegun = true
        let name = self.id.isEmpty ? [] : Array(#""id":""#.utf8) + self.id + Array("\"".utf8)
        self.events.append("response.created", members: Array(#""response":{"#.utf8) + name + Array("}".utf8))
    }

    /// The newest counts are those of the whole answer.
    private func take(usage place: Int?, _ nodes: UnsafeBufferPointer<csj_node>) {
        guard let place, nodes[place].kind == csj_kind_object,
            nodes[place].json.count <= JSONDocumentValue.maximumByteCount
        else { return }
        self.usage = Array(nodes[place].content)
    }

    /// Reads the first choice; returns whether it has output.
    private func read(
        choices: Int, _ nodes: UnsafeBufferPointer<csj_node>
    ) throws(ResponseEventError) -> Bool {
        var isSurfaced = false
        guard nodes[choices].kind == csj_kind_array else { throw .invalidField(.delta) }
        for choice in nodes.children(of: choices) where nodes.isFirstChoice(choice) {
            self.take(usage: nodes.member("usage", of: choice), nodes)
            if let delta = try nodes.object("delta", in: choice), try self.read(delta: delta, nodes) {
                isSurfaced = true
            }
            if let message = try nodes.object("message", in: choice), try self.read(message: message, nodes) {
                isSurfaced = true
            }
            // OpenRouter's form of an error beside what the answer has.
            if let error = nodes.member("error", of: choice), let words = nodes.text(of: "message", in: error) {
                (self.finishReason, self.errorMessage) = ("error", Array(nodes[words].content))
            }
            // A reason that makes the answer incomplete stands, also where a gateway adds an end of its own.
            if self.finishReason.map({ Ending($0, native: self.nativeReason).isComplete }) ?? true,
                let reason = nodes.text(of: "finish_reason", in: choice)
            {
                self.finishReason = String(unescaping: nodes[reason].json).word
                self.nativeReason = nodes.text(of: "native_finish_reason", in: choice).map {
                    String(unescaping: nodes[$0].json).word
                }
            }
        }
        return isSurfaced
    }

    /// Reads a message, which is the whole answer, as one without a stream: it completes the text so far, and counts as a
    /// delta where nothing has come.
    private func read(
        message: Int, _ nodes: UnsafeBufferPointer<csj_node>
    ) throws(ResponseEventError) -> Bool {
        if self.messageIndex == nil, self.calls.isEmpty, self.functionCall == nil {
            return try self.read(delta: message, nodes)
        }
        guard let content = nodes.text(of: "content", in: message), nodes[content].content.starts(with: self.text)
        else { return false }
        let before = self.events.outputCount
        try self.write(text: UnsafeBufferPointer(rebasing: nodes[content].content.dropFirst(self.text.count)))
        return self.events.outputCount > before
    }

    private func read(
        delta: Int, _ nodes: UnsafeBufferPointer<csj_node>
    ) throws(ResponseEventError) -> Bool {
        let before = self.events.outputCount
        for text in self.reasoning.read(delta: delta, nodes) { try self.write(reasoning: text) }
        try self.keepReasoning()
        if let content = nodes.member("content", of: delta) {
            switch nodes[content].kind {
            // A number is text that a server has written without quotes.
            case csj_kind_string, csj_kind_number: try self.write(text: nodes[content].content)
            case csj_kind_array: for part in nodes.children(of: content) { try self.read(part: part, nodes) }
            case csj_kind_object: try self.read(part: content, nodes)
            default: throw .invalidField(.delta)
            }
        }
        if let refusal = nodes.text(of: "refusal", in: delta) { try self.write(refusal: nodes[refusal].content) }
        if let calls = nodes.member("tool_calls", of: delta) {
            for call in try nodes.elements(of: calls) {
                try self.read(call: call, function: try nodes.object("function", in: call), nodes)
            }
        }
        // llama-cpp-python writes the same piece in both forms (recorded).
        if let function = try nodes.object("function_call", in: delta) { try self.read(functionCall: function, nodes) }
        return self.events.outputCount > before
    }

    /// Reads a part of a content that is an array: text, or reasoning.
    private func read(
        part: Int, _ nodes: UnsafeBufferPointer<csj_node>
    ) throws(ResponseEventError) {
        if nodes[part].kind == csj_kind_string { return try self.write(text: nodes[part].content) }
        guard nodes[part].kind == csj_kind_object else { return }
        let type = nodes.text(of: "type", in: part).map { nodes[$0] }
        let isOf = { (word: StaticString) in type?.isWritten(word) ?? true }
        if type != nil, isOf("thinking") || isOf("reasoning") {
            for text in self.reasoning.read(part: part, nodes) { try self.write(reasoning: text) }
            try self.keepReasoning()
        }
        if isOf("text") || isOf("output_text"), let text = nodes.text(of: "text", in: part) {
            try self.write(text: nodes[text].content)
        }
        if isOf("refusal"), let refusal = nodes.text(of: "refusal", in: part) {
            try self.write(refusal: nodes[refusal].content)
        }
    }
}

// MARK: Output

extension ChatCompletionsDecoder {
    private func write(reasoning text: UnsafeBufferPointer<UInt8>) throws(ResponseEventError) {
        guard !text.isEmpty else { return }
        self.reasoning.deliver(text)
        self.events.append(delta: text, .reasoningText, outputIndex: try self.beginReasoning())
    }

    private func beginReasoning() throws(ResponseEventError) -> Int {
        if let index = self.reasoningIndex { return index }
        let index = try self.addItem(#"{"type":"reasoning","summary":[]}"#)
        self.reasoningIndex = index
        return index
    }

    /// Counts what is kept of reasoning, which has its place in the answer although nothing of it may be delivered.
    private func keepReasoning() throws(ResponseEventError) {
        try self.keep(0)
        if self.reasoning.hasElements { _ = try self.beginReasoning() }
    }

    private func write(text: UnsafeBufferPointer<UInt8>) throws(ResponseEventError) {
        guard !text.isEmpty else { return }
        try self.keep(text.count)
        let index = try self.beginMessage()
        self.text += text
        self.events.append(delta: text, .text, outputIndex: index)
    }

    private func write(refusal text: UnsafeBufferPointer<UInt8>) throws(ResponseEventError) {
        guard !text.isEmpty else { return }
        try self.keep(text.count)
        let index = try self.beginMessage()
        self.refusal += text
        self.events.append(delta: text, .refusal, outputIndex: index)
    }

    private func beginMessage() throws(ResponseEventError) -> Int {
        if let index = self.messageIndex { return index }
        let index = try self.addItem(#"{"type":"message","role":"assistant","content":[]}"#)
        self.messageIndex = index
        return index
    }

    /// Counts text that is kept until the end.
    private func keep(_ byteCount: Int) throws(ResponseEventError) {
        self.keptByteCount += byteCount
        guard self.keptByteCount + self.reasoning.byteCount <= self.byteCountLimit else { throw .tooLarge }
    }

    private func addItem(_ item: String) throws(ResponseEventError) -> Int {
        let outputIndex = try self.takePosition()
        self.events.append("response.output_item.added", outputIndex: outputIndex, item: Array(item.utf8))
        return outputIndex
    }

    private func takePosition() throws(ResponseEventError) -> Int {
        guard self.itemCount < ResponseSummary.maximumOutputCount else { throw .tooManyItems }
        defer { self.itemCount += 1 }
        return self.itemCount
    }

    // MARK: Calls

    /// Reads a piece of a call.
    ///
    /// It belongs to the call with its index, or else with its identifier, or else to the newest one. Another identifier
    /// and a name under a known index begin a new call: some servers give all their calls one index. So do a name and
    /// arguments behind whole ones, where there are no identifiers (reported: su-kaka/gcli2api issue 406). Before any
    /// arguments, another name is the next piece of the name (reported: continuedev/continue issue 5849), and arguments
    /// with the same name are those of the call, whatever identifier they bring: a server may make one for each chunk
    /// (reported: vllm-project/vllm pull request 23522), and no tool may run without arguments that were sent.
    private func read(
        call piece: Int, function: Int?, _ nodes: UnsafeBufferPointer<csj_node>
    ) throws(ResponseEventError) {
        self.pieceCount += 1
        let index = nodes.member("index", of: piece).flatMap { nodes.integer(at: $0) }
        let id = nodes.text(of: "id", in: piece).map { Array(nodes[$0].content) }
        let name = function.flatMap { nodes.text(of: "name", in: $0) }.map { Array(nodes[$0].content) }
        let known = index.map { self.callsByIndex[$0] }
        var place = known ?? id.map { self.callsByID[$0] } ?? self.calls.indices.last
        // The arguments of a call may have another index than its beginning.
        if known == .some(nil), name == nil, let id { place = self.callsByID[id] }
        let arguments = function.flatMap { nodes.member("arguments", of: $0) }.map { nodes.textOrJSON(at: $0) } ?? []
        if let newest = place, name != nil {
            let call = self.calls[newest]
            let isBegun = !call.arguments.isEmpty || arguments.isEmpty || call.name != name
            let isOther = id.map { !call.id.isEmpty && call.id != $0 && isBegun } ?? false
            if isOther || id == nil && !arguments.isEmpty && Self.isObject(call.arguments) { place = nil }
        }
        if place == nil {
            guard self.calls.count < ResponseSummary.maximumOutputCount else { throw .tooManyItems }
            place = self.calls.count
            self.calls.append(Call(id: [], name: []))
        }
        guard let place else { return }
        if let index { self.callsByIndex[index] = place }
        if let id {
            self.callsByID[id] = place
            if self.calls[place].id.isEmpty { self.calls[place].id = id }
        }
        if let name { self.calls[place].take(name: name) }
        // Calls keep the order in which they began.
        if self.calls[place].outputIndex == nil, !self.calls[place].name.isEmpty {
            self.calls[place].outputIndex = try self.takePosition()
        }
        try self.keep(self.calls[place].members.take(piece, nodes))
        try self.write(arguments: arguments, of: place)
    }

    /// Reads a piece of the call of the form before tools.
    private func read(
        functionCall function: Int, _ nodes: UnsafeBufferPointer<csj_node>
    ) throws(ResponseEventError) {
        self.pieceCount += 1
        var call = self.functionCall.take() ?? Call(id: [], name: [])
        if let name = nodes.text(of: "name", in: function) { call.take(name: Array(nodes[name].content)) }
        if let arguments = nodes.member("arguments", of: function) {
            let text = nodes.textOrJSON(at: arguments)
            call.arguments += text
            try self.keep(text.count)
        }
        self.functionCall = call
    }

    /// Appends arguments to a call, which is announced with the first of them, once its name and its identifier are known.
    private func write(arguments: [UInt8], of place: Int) throws(ResponseEventError) {
        try self.keep(arguments.count)
        self.calls[place].arguments += arguments
        if self.calls[place].announcedID != nil, let outputIndex = self.calls[place].outputIndex {
            return self.append(arguments: arguments, at: outputIndex)
        }
        guard !self.calls[place].name.isEmpty, !self.calls[place].id.isEmpty, !self.calls[place].arguments.isEmpty
        else {
            return
        }
        self.append(arguments: self.calls[place].arguments, at: try self.announce(place))
    }

    /// Announces a call, unless it was announced before; returns its position.
    ///
    /// One without an identifier gets one that is its own within the conversation, and keeps it.
    private func announce(_ place: Int) throws(ResponseEventError) -> Int {
        let outputIndex = if let index = self.calls[place].outputIndex { index } else { try self.takePosition() }
        self.calls[place].outputIndex = outputIndex
        guard self.calls[place].announcedID == nil else { return outputIndex }
        let id = self.calls[place].id
        // A long name of the answer would be repeated in each of its calls.
        let answer = self.id.count <= 64 ? self.id : []
        self.calls[place].announcedID = id.isEmpty ? Array("call_\(place)_".utf8) + answer : id
        let item = self.item(of: place, arguments: []) + [UInt8(ascii: "}")]
        self.events.append("response.output_item.added", outputIndex: outputIndex, item: item)
        return outputIndex
    }

    private func append(arguments: [UInt8], at outputIndex: Int) {
        guard !arguments.isEmpty else { return }
        arguments.withUnsafeBufferPointer {
            self.events.append(delta: $0, .functionArguments, outputIndex: outputIndex)
        }
    }

    /// Returns an announced call as an item without its last brace.
    private func item(of place: Int, arguments: [UInt8]) -> [UInt8] {
        let call = self.calls[place]
        var item = Array(#"{"type":"function_call","call_id":""#.utf8) + (call.announcedID ?? call.id)
        item += Array(#"","name":""#.utf8) + call.name
        item += Array(#"","arguments":""#.utf8) + arguments + Array("\"".utf8)
        return item
    }

    /// Returns whether arguments, as the content of a JSON string, are not cut; a tool judges what else they are.
    private static func isWhole(_ arguments: [UInt8]) -> Bool { self.fault(of: arguments)?.kind != .truncated }

    /// Returns whether arguments are a whole object; longer ones, which are not read for that, are not.
    private static func isObject(_ arguments: [UInt8]) -> Bool {
        !arguments.isEmpty && arguments.count <= 16 << 10 && self.fault(of: arguments) == nil
    }

    private static func fault(of arguments: [UInt8]) -> JSONObjectFault? {
        let text = arguments.withUnsafeBufferPointer {
            String(unescaping: csj_text(bytes: $0.baseAddress, count: $0.count))
        }
        return JSONObjectFault(Array(text.utf8))
    }
}

// MARK: The end

extension ChatCompletionsDecoder {
    /// The state of an answer that has ended, by its `finish_reason`.
    private enum Ending {
        case complete
        case incomplete(String)
        case failed

        /// Indicates whether the answer is whole.
        var isComplete: Bool { if case .complete = self { true } else { false } }

        /// Reads a reason.
        ///
        /// One that is not known to end a whole answer makes it incomplete, so that no call runs (reported: vLLM ends an
        /// aborted answer with `abort` and `[DONE]`, vllm-project/vllm 57082).
        init(_ reason: String, native: String?) {
            switch reason.lowercased() {
            // The words of models behind gateways are among them.
            case "stop", "tool_calls", "tool_call", "tool_use", "function_call", "end_turn", "stop_sequence", "eos",
                "eos_token", "complete", "completed", "done":
                // A gateway may call an answer whole that the model was cut off in (recorded: OpenRouter).
                self = native.flatMap { Self.cause(ofNative: $0) }.map { .incomplete($0) } ?? .complete
            // OpenRouter's, DeepSeek's and Z.ai's words for a server that could not go on.
            case "error", "insufficient_system_resource", "network_error": self = .failed
            default: self = .incomplete(Self.cause(reason) ?? reason)
            }
        }

        /// The words that say that the answer has a call.
        static let wordsOfCalls: Set<String> = ["tool_calls", "tool_call", "tool_use", "function_call"]

        /// Returns the cause of an incomplete answer by the reason of a model behind a gateway, which has many words for a
        /// whole answer; nil for those.
        private static func cause(ofNative reason: String) -> String? {
            // A status of the Responses API (`completed` is recorded of OpenRouter), Anthropic's, Gemini's, vLLM's, and
            // OpenRouter's own word.
            let parts = [
                "incomplete", "failed", "cancelled", "refusal", "malformed_function_call", "abort", "error",
            ]
            return self.cause(reason) ?? (parts.contains(reason.lowercased()) ? reason : nil)
        }

        /// Returns the cause of an incomplete answer in the words of the Responses API; nil where the reason is another.
        private static func cause(_ reason: String) -> String? {
            switch reason.lowercased() {
            // The second is Mistral's, the third Z.ai's; the others are those of models behind gateways.
            case "length", "model_length", "model_context_window_exceeded", "max_tokens", "max_output_tokens":
                "max_output_tokens"
            // The last ones are Gemini's (reported: BerriAI/litellm pull request 27139).
            case "content_filter", "sensitive", "safety", "recitation", "blocklist", "prohibited_content", "spii":
                "content_filter"
            default: nil
            }
        }
    }

    /// Ends the reasoning, the message and the calls, in the order of their positions.
    private func finishItems() {
        var items: [(outputIndex: Int, json: [UInt8])] = []
        if let outputIndex = self.messageIndex {
            var parts: [[UInt8]] = []
            if !self.text.isEmpty {
                parts.append(Array(#"{"type":"output_text","text":""#.utf8) + self.text + Array("\"}".utf8))
            }
            if !self.refusal.isEmpty {
                parts.append(Array(#"{"type":"refusal","refusal":""#.utf8) + self.refusal + Array("\"}".utf8))
            }
            let content = JSONArrayText.json(parts.map { $0[...] })
            items.append(
                (
                    outputIndex,
                    Array(#"{"type":"message","role":"assistant","content":"#.utf8) + content + Array("}".utf8)
                ))
        }
        for place in self.calls.indices {
            // A call without a name is left out; one without arguments is announced here.
            guard !self.calls[place].name.isEmpty, let outputIndex = try? self.announce(place) else { continue }
            let written = self.calls[place].arguments
            let arguments = written.isEmpty ? Array("{}".utf8) : written
            let members = self.calls[place].members.json.map { Array(#","chat":"#.utf8) + $0 } ?? []
            items.append(
                (outputIndex, self.item(of: place, arguments: arguments) + members + [UInt8(ascii: "}")]))
        }
        // Reasoning of which nothing has come stands behind everything else.
        if let item = self.reasoning.item, let outputIndex = try? self.beginReasoning() {
            items.append((outputIndex, item))
        }
        for item in items.sorted(by: { $0.outputIndex < $1.outputIndex }) {
            self.events.append("response.output_item.done", outputIndex: item.outputIndex, item: item.json)
        }
    }

    private func appendEnd(_ status: String, _ details: String? = nil) {
        self.events.appendEnd(
            status, [("id", self.id), ("model", self.model), ("service_tier", self.serviceTier)],
            details: details.map { Array($0.utf8) },
            usage: self.usage.flatMap { JSONDocumentValue(object: $0) }.map(Self.counts))
    }

    private static func counts(_ usage: JSONDocumentValue) -> TranslatedEvents.Usage {
        // The second name of cached tokens is DeepSeek's.
        let cached = usage["prompt_tokens_details"]?["cached_tokens"] ?? usage["prompt_cache_hit_tokens"]
        return TranslatedEvents.Usage(
            input: usage["prompt_tokens"]?.integer, cached: cached?.integer,
            output: usage["completion_tokens"]?.integer,
            reasoning: usage["completion_tokens_details"]?["reasoning_tokens"]?.integer,
            total: usage["total_tokens"]?.integer)
    }
}
