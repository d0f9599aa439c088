// Decodes the events of a message to events of the Responses API. Owned by the driver of a turn, one for each attempt.

import CSimdjson

/// Decodes the events of one answer of Anthropic's Messages to the events with which the Responses API would say the same.
///
/// Each block of content is an item of the answer, at the position in which it began. The items end with the answer,
/// which `message_stop` proves: a call is finished only in a complete one, and with whole arguments. What the server
/// demands back with an item, such as the signature of thinking, is the item's member `messages`.
///
/// A delta belongs to the newest block with its index; where that is a block of another kind, the delta begins its own.
package final class MessagesDecoder: DialectDecoder {
    /// A block of content that grows.
    private struct Block {
        let kind: Kind
        /// The block as it began.
        var start: JSONObjectText
        /// Its text, its reasoning, or the JSON text of its input, as the content of a JSON string.
        var content: [UInt8] = []
        var signature: [UInt8] = []
        var citations: [ArraySlice<UInt8>] = []
        /// Indicates whether its item was announced.
        var isAnnounced = false
    }

    private enum Kind: Hashable {
        case text, reasoning, call, other

        /// The kind of output that its text is; nil for none.
        var output: ResponseEvent.DeltaKind? {
            switch self {
            case .text: .text
            case .reasoning: .reasoningText
            case .call, .other: nil
            }
        }
    }

    private let scanner = JSONScanner()
    private let byteCountLimit: Int
    @safe @exclusivity(unchecked) private var keptByteCount = 0
    @safe @exclusivity(unchecked) private var events = TranslatedEvents()
    /// The newest delta, when it was nothing but text of the block at `writtenPlace`.
    @exclusivity(unchecked) private var frame = DeltaFrame()
    @safe @exclusivity(unchecked) private var writtenPlace = 0
    private var hasBegun = false
    private var isOver = false
    private var id: [UInt8] = []
    private var model: [UInt8] = []
    private var serviceTier: [UInt8] = []
    @safe @exclusivity(unchecked) private var blocks: [Block] = []
    private var blocksByIndex: [Int: Int] = [:]
    /// An object with the content with which the message began, if there was any.
    private var wholeContent: [UInt8] = []
    private var stopReason: String?
    private var counts: [String: Int] = [:]

    /// The type of the event that was read last.
    package private(set) var eventType = ""

    /// Creates a decoder that keeps at most `byteCountLimit` bytes of an answer, and refuses larger ones.
    package init(byteCountLimit: Int = 64 << 20) { self.byteCountLimit = byteCountLimit }

    /// Reads the data of one event; its own `type` counts, and without one that of the server-sent event.
    package func read(
        _ data: UnsafeRawBufferPointer, named type: UnsafeRawBufferPointer
    ) throws(ResponseEventError) -> DialectReading {
        if let text = self.frame.text(in: data) {
            if !text.hasEscape, let kind = self.blocks[self.writtenPlace].kind.output {
                try self.keep(text.content.count)
                self.blocks[self.writtenPlace].content += text.content
                return .output(.init(text: text.content, kind: kind, outputIndex: self.writtenPlace))
            }
            self.events.removeAll()
            try self.write(text.content, at: self.writtenPlace)
            return self.reading()
        }
        self.frame.forget()
        // Gateways send it behind `message_stop` (recorded: OpenRouter).
        if Self.isEndMark(data) { return .end(TranslatedEvents()) }
        guard let nodes = try self.scanner.nodes(ofEvent: data, depth: Self.depth) else { return .other }
        let written = nodes.text(of: "type", in: 0).map { UnsafeRawBufferPointer(nodes[$0].content) }
        guard let word = Word(written ?? type) else {
            // An event without a type that can be nothing but a piece of a block.
            if written == nil, type.isEmpty, let delta = nodes.member("delta", of: 0),
                nodes.text(of: "type", in: delta) != nil
            {
                throw .invalidField(.delta)
            }
            let isResponses = written.map { $0.starts(with: "response.".utf8) } ?? false
            if isResponses { return .otherAPI(.responses) }
            if case .otherAPI(let dialect)? = UntypedEvent(data) { return .otherAPI(dialect) }
            // An error, in one of its forms.
            guard let written, !written.elementsEqual("error".utf8), nodes.member("error", of: 0) == nil else {
                return .other
            }
            let name = BorrowedText(validatedUTF8: written.assumingMemoryBound(to: UInt8.self))
            if case .error? = UntypedEvent(data, ofUnknownType: name) { return .other }
            self.eventType = String(decoding: name.utf8, as: UTF8.self)
            return .event(TranslatedEvents(), isSurfaced: false)
        }
        self.eventType = word.rawValue
        guard !self.isOver else { return .event(TranslatedEvents(), isSurfaced: false) }
        self.events.removeAll()
        try self.read(word, nodes)
        if word == .delta, written != nil { self.keepFrame(data, nodes) }
        guard word == .stop else { return self.reading() }
        self.events.pad()
        return .end(self.events)
    }

    /// Returns the events, whose memory is used for the next ones.
    private func reading() -> DialectReading {
        self.events.pad()
        return .event(self.events, isSurfaced: self.events.outputCount > 0)
    }

    /// Keeps an event by whose frame the next one can be read: it did nothing but add its text to a block.
    private func keepFrame(_ data: UnsafeRawBufferPointer, _ nodes: UnsafeBufferPointer<csj_node>) {
        guard self.events.count == 1, let delta = nodes.member("delta", of: 0),
            let type = nodes.text(of: "type", in: delta)
        else { return }
        let name: StaticString? =
            if nodes[type].isWritten("text_delta") {
                "text"
            } else if nodes[type].isWritten("thinking_delta") {
                "thinking"
            } else if nodes[type].isWritten("input_json_delta") {
                "partial_json"
            } else { nil }
        guard let name, let text = nodes.text(of: name, in: delta) else { return }
        self.frame.keep(data, text: nodes[text].content, filler: nil)
    }

    /// Only `message_stop` proves the end.
    package func isTerminal(_ data: UnsafeRawBufferPointer) -> Bool {
        guard let nodes = try? self.scanner.nodes(ofEvent: data, depth: 1),
            let type = nodes.text(of: "type", in: 0)
        else { return false }
        return nodes[type].content.elementsEqual(Word.stop.rawValue.utf8)
    }

    /// A body that ends before `message_stop` was cut.
    package func end() -> TranslatedEvents { TranslatedEvents() }

    /// The depth of the deepest value that is read: `message.usage.output_tokens_details.thinking_tokens`.
    private static let depth = 4

    /// The types of events.
    private enum Word: String {
        case delta = "content_block_delta"
        case start = "message_start"
        case blockStart = "content_block_start"
        case blockStop = "content_block_stop"
        case messageDelta = "message_delta"
        case stop = "message_stop"
        case ping

        init?(_ bytes: UnsafeRawBufferPointer) {
            // The most frequent one first, and without a copy.
            if bytes.elementsEqual(Self.delta.rawValue.utf8) {
                self = .delta
            } else if bytes.count <= 32, let word = Self(rawValue: String(decoding: bytes, as: UTF8.self)) {
                self = word
            } else {
                return nil
            }
        }
    }
}

// MARK: Events

extension MessagesDecoder {
    private func read(_ word: Word, _ nodes: UnsafeBufferPointer<csj_node>) throws(ResponseEventError) {
        switch word {
        case .delta:
            guard let delta = nodes.member("delta", of: 0) else { throw .invalidField(.delta) }
            try self.read(delta: delta, nodes)
        case .start:
            if let message = nodes.member("message", of: 0) { try self.begin(message, nodes) }
        case .blockStart:
            if let block = nodes.member("content_block", of: 0) {
                _ = try self.begin(block: block, index: Self.index(nodes), nodes)
            }
        case .messageDelta:
            self.take(usage: nodes.member("usage", of: 0), nodes)
            if let delta = nodes.member("delta", of: 0) { self.take(stopReason: delta, nodes) }
        case .stop:
            try self.beginWholeContent()
            self.finish()
        case .blockStop, .ping: break
        }
    }

    private static func index(_ nodes: UnsafeBufferPointer<csj_node>) -> Int? {
        nodes.member("index", of: 0).flatMap { nodes.integer(at: $0) }
    }

    /// Begins the answer.
    ///
    /// Another message in the same stream, or the same one again behind output, begins another answer, which the reader of
    /// responses judges.
    private func begin(_ message: Int, _ nodes: UnsafeBufferPointer<csj_node>) throws(ResponseEventError) {
        guard nodes[message].kind == csj_kind_object else { return }
        let id = nodes.text(of: "id", in: message).map { Array(nodes[$0].content) } ?? []
        if !self.hasBegun || !id.isEmpty && id != self.id || self.blocks.contains(where: { !$0.content.isEmpty }) {
            self.id = id
            let name = id.isEmpty ? [] : Array(#""id":""#.utf8) + id + Array("\"".utf8)
            self.events.append("response.created", members: Array(#""response":{"#.utf8) + name + Array("}".utf8))
        }
        self.hasBegun = true
        if let model = nodes.text(of: "model", in: message) { self.model = Array(nodes[model].content) }
        self.take(usage: nodes.member("usage", of: message), nodes)
        self.take(stopReason: message, nodes)
        guard let content = nodes.member("content", of: message), nodes[content].kind == csj_kind_array else { return }
        try self.keep(nodes[content].json.count)
        self.wholeContent = Array(#"{"content":"#.utf8) + nodes[content].content + Array("}".utf8)
    }

    /// Begins the blocks of a message that came whole (recorded: Anthropic's calls of tools by programs).
    ///
    /// They are read at the end, and only where none has begun: blocks that come say the same again.
    private func beginWholeContent() throws(ResponseEventError) {
        guard self.blocks.isEmpty, !self.wholeContent.isEmpty else { return }
        let padded = self.wholeContent + [UInt8](repeating: 0, count: ResponseEventDecoder.paddingByteCount)
        let read = padded.withUnsafeBytes { bytes in
            Result { () throws(ResponseEventError) in
                let data = UnsafeRawBufferPointer(rebasing: bytes.dropLast(ResponseEventDecoder.paddingByteCount))
                guard let nodes = try self.scanner.nodes(ofEvent: data, depth: Self.depth),
                    let content = nodes.member("content", of: 0)
                else { return }
                for block in nodes.children(of: content) { _ = try self.begin(block: block, index: nil, nodes) }
            }
        }
        try read.get()
    }

    private func take(stopReason object: Int, _ nodes: UnsafeBufferPointer<csj_node>) {
        // A reason that makes the answer incomplete stands, also where a gateway adds an end of its own.
        guard self.stopReason.map(Self.wordsOfWholeAnswers.contains) ?? true,
            let reason = nodes.text(of: "stop_reason", in: object)
        else { return }
        self.stopReason = String(unescaping: nodes[reason].json).word
    }

    private static let wordsOfWholeAnswers: Set<String> = ["end_turn", "stop_sequence", "tool_use"]

    /// The newest counts are those of the whole answer; one that is `null` says nothing.
    private func take(usage place: Int?, _ nodes: UnsafeBufferPointer<csj_node>) {
        guard let place, nodes[place].kind == csj_kind_object else { return }
        let names: [StaticString] = [
            "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens",
        ]
        for name in names {
            if let count = nodes.member(name, of: place).flatMap({ nodes.integer(at: $0) }) {
                self.counts[name.description] = count
            }
        }
        if let details = nodes.member("output_tokens_details", of: place),
            let count = nodes.member("thinking_tokens", of: details).flatMap({ nodes.integer(at: $0) })
        {
            self.counts["thinking_tokens"] = count
        }
        if let tier = nodes.text(of: "service_tier", in: place) { self.serviceTier = Array(nodes[tier].content) }
    }

    // MARK: Blocks

    /// Begins a block with what it holds already; returns its place.
    private func begin(
        block: Int, index: Int?, _ nodes: UnsafeBufferPointer<csj_node>
    ) throws(ResponseEventError) -> Int? {
        guard nodes[block].kind == csj_kind_object, var start = try? JSONObjectText(Array(nodes[block].content)) else {
            return nil
        }
        // An empty value says nothing.
        if let input = start["input"], ["null", "\"\""].contains(String(decoding: input, as: UTF8.self)) {
            start["input"] = nil
        }
        let type = nodes.text(of: "type", in: block).map { String(unescaping: nodes[$0].json).word } ?? "text"
        let kind = Self.kind(of: type)
        try self.keep(nodes[block].json.count)
        let place = try self.append(Block(kind: kind, start: start), index: index)
        switch kind {
        case .text:
            if let text = nodes.text(of: "text", in: block) { try self.write(nodes[text].content, at: place) }
        case .reasoning:
            self.announce(place)
            if let text = nodes.text(of: "thinking", in: block) { try self.write(nodes[text].content, at: place) }
            if let signature = nodes.text(of: "signature", in: block) {
                self.blocks[place].signature = Array(nodes[signature].content)
            }
        case .call, .other: self.announce(place)
        }
        return place
    }

    private static func kind(of type: String) -> Kind {
        switch type {
        case "text": .text
        case "thinking", "redacted_thinking": .reasoning
        case "tool_use": .call
        default: .other
        }
    }

    private func append(_ block: Block, index: Int?) throws(ResponseEventError) -> Int {
        guard self.blocks.count < ResponseSummary.maximumOutputCount else { throw .tooManyItems }
        if let index { self.blocksByIndex[index] = self.blocks.count }
        self.blocks.append(block)
        return self.blocks.count - 1
    }

    /// Returns the place of the block that a delta of a kind belongs to; nil for a piece of a call without a block.
    private func place(
        of kinds: Set<Kind>, _ nodes: UnsafeBufferPointer<csj_node>
    ) throws(ResponseEventError) -> Int? {
        let index = Self.index(nodes)
        let known = index.map { self.blocksByIndex[$0] } ?? self.blocks.indices.last
        if let known, kinds.contains(self.blocks[known].kind) { return known }
        for (kind, type) in [(Kind.text, "text"), (.reasoning, "thinking")] where kinds == [kind] {
            var start = JSONObjectText()
            start["type"] = JSONText.string(type)[...]
            let place = try self.append(Block(kind: kind, start: start), index: index)
            if kind == .reasoning { self.announce(place) }
            return place
        }
        // No call may run without arguments that were sent, whatever their index.
        return self.blocks.lastIndex { kinds.contains($0.kind) }
    }

    private func read(delta: Int, _ nodes: UnsafeBufferPointer<csj_node>) throws(ResponseEventError) {
        guard let type = nodes.text(of: "type", in: delta) else { throw .invalidField(.delta) }
        if nodes[type].isWritten("text_delta") {
            guard let text = try Self.output("text", of: delta, nodes), let place = try self.place(of: [.text], nodes)
            else { return }
            try self.write(nodes[text].content, at: place)
        } else if nodes[type].isWritten("input_json_delta") {
            guard let input = nodes.member("partial_json", of: delta),
                let place = try self.place(of: [.call, .other], nodes)
            else { return }
            let text = nodes.textOrJSON(at: input)
            if !text.isEmpty {
                try text.withUnsafeBufferPointer { bytes throws(ResponseEventError) in
                    try self.write(bytes, at: place)
                }
            }
        } else if nodes[type].isWritten("thinking_delta") {
            guard let text = try Self.output("thinking", of: delta, nodes),
                let place = try self.place(of: [.reasoning], nodes)
            else { return }
            try self.write(nodes[text].content, at: place)
        } else if nodes[type].isWritten("signature_delta") {
            guard let text = nodes.text(of: "signature", in: delta), let place = try self.place(of: [.reasoning], nodes)
            else { return }
            try self.keep(nodes[text].json.count)
            self.blocks[place].signature += nodes[text].content
        } else if nodes[type].isWritten("citations_delta") {
            guard let citation = nodes.member("citation", of: delta), nodes[citation].kind == csj_kind_object,
                let place = try self.place(of: [.text], nodes)
            else { return }
            try self.keep(nodes[citation].json.count)
            self.blocks[place].citations.append(Array(nodes[citation].content)[...])
        } else if nodes[type].isWritten("compaction_delta") {
            guard let text = nodes.text(of: "content", in: delta), let place = try self.place(of: [.other], nodes)
            else { return }
            try self.keep(nodes[text].json.count)
            self.blocks[place].start["content"] =
                ([UInt8(ascii: "\"")] + nodes[text].content + [UInt8(ascii: "\"")])[...]
        }
    }

    /// Returns the text of a delta; nil when it has none, or an empty one.
    private static func output(
        _ name: StaticString, of delta: Int, _ nodes: UnsafeBufferPointer<csj_node>
    ) throws(ResponseEventError) -> Int? {
        guard let text = nodes.member(name, of: delta) else { return nil }
        guard nodes[text].kind == csj_kind_string else { throw .invalidField(.delta) }
        return nodes[text].json.count > 0 ? text : nil
    }

    /// Appends text to a block, and passes it on where it is output.
    private func write(_ text: UnsafeBufferPointer<UInt8>, at place: Int) throws(ResponseEventError) {
        try self.keep(text.count)
        self.writtenPlace = place
        self.blocks[place].content += text
        switch self.blocks[place].kind {
        case .text:
            self.announce(place)
            self.events.append(delta: text, .text, outputIndex: place)
        case .reasoning: self.events.append(delta: text, .reasoningText, outputIndex: place)
        case .call: self.events.append(delta: text, .functionArguments, outputIndex: place)
        case .other: break
        }
    }

    /// Counts what is kept until the end.
    private func keep(_ byteCount: Int) throws(ResponseEventError) {
        self.keptByteCount += byteCount
        guard self.keptByteCount <= self.byteCountLimit else { throw .tooLarge }
    }

    private func announce(_ place: Int) {
        guard !self.blocks[place].isAnnounced else { return }
        self.blocks[place].isAnnounced = true
        let item =
            switch self.blocks[place].kind {
            case .text: Array(#"{"type":"message","role":"assistant","content":[]}"#.utf8)
            case .reasoning: Array(#"{"type":"reasoning","summary":[]}"#.utf8)
            case .call: Self.item(ofCall: self.blocks[place].start, arguments: nil)
            case .other: Self.item(of: self.blocks[place].start, json: nil)
            }
        self.events.append("response.output_item.added", outputIndex: place, item: item)
    }
}

// MARK: The end

extension MessagesDecoder {
    private func finish() {
        self.isOver = true
        let isCut = self.blocks.contains { $0.kind == .call && Self.isCut($0.content) }
        switch self.stopReason {
        // The server says that the answer is complete; no tool may run with a part of its arguments.
        case "end_turn", "stop_sequence", "tool_use", nil:
            if isCut { return self.appendEnd("incomplete", reason: "cut_arguments") }
            let calls = self.blocks.filter { $0.kind == .call || $0.kind == .other }
            if calls.contains(where: { $0.kind == .call && !Self.isNamed($0.start) }) {
                return self.appendEnd("incomplete", reason: "unnamed_call")
            }
            if self.stopReason == "tool_use", calls.isEmpty {
                return self.appendEnd("incomplete", reason: "missing_call")
            }
            self.finishItems()
            self.appendEnd("completed")
        // The server's own tools are not done: it goes on when it gets the answer so far back.
        case "pause_turn" where !isCut:
            self.finishItems()
            self.appendEnd("completed", #""end_turn":false"#)
        case "max_tokens", "model_context_window_exceeded": self.appendEnd("incomplete", reason: "max_output_tokens")
        // `refusal`, and what is not known to end a whole answer.
        case .some(let reason): self.appendEnd("incomplete", reason: reason)
        }
    }

    /// Returns whether the JSON text of an input ends before its object does.
    private static func isCut(_ input: [UInt8]) -> Bool {
        guard !input.isEmpty else { return false }
        let text = input.withUnsafeBufferPointer {
            String(unescaping: csj_text(bytes: $0.baseAddress, count: $0.count))
        }
        return JSONObjectFault(Array(text.utf8))?.kind == .truncated
    }

    /// Returns whether a call has an identifier, to which its output refers, and the name of a tool.
    private static func isNamed(_ call: JSONObjectText) -> Bool {
        ["id", "name"].allSatisfy { call.string($0)?.isEmpty == false }
    }

    private func finishItems() {
        for (place, block) in self.blocks.enumerated() {
            guard let item = Self.item(of: block) else { continue }
            self.events.append("response.output_item.done", outputIndex: place, item: item)
        }
    }

    /// Returns a block as a finished item; nil for one that holds nothing.
    private static func item(of block: Block) -> [UInt8]? {
        let text = [UInt8(ascii: "\"")] + block.content + [UInt8(ascii: "\"")]
        var own = block.start
        switch block.kind {
        case .text:
            guard !block.content.isEmpty else { return nil }
            let part = Array(#"{"type":"output_text","text":"#.utf8) + text + Array("}".utf8)
            var item = Array(#"{"type":"message","role":"assistant","content":["#.utf8) + part + Array("]".utf8)
            if !block.citations.isEmpty {
                item += Array(#","messages":{"citations":"#.utf8) + JSONArrayText.json(block.citations)
                item.append(UInt8(ascii: "}"))
            }
            return item + Array("}".utf8)
        case .reasoning:
            guard !block.content.isEmpty || !block.signature.isEmpty || own["data"] != nil else { return nil }
            if own["data"] == nil { own["thinking"] = text[...] }
            if !block.signature.isEmpty {
                own["signature"] = ([UInt8(ascii: "\"")] + block.signature + [UInt8(ascii: "\"")])[...]
            }
            var item = Array(#"{"type":"reasoning","summary":[],"#.utf8)
            if !block.content.isEmpty {
                item += Array(#""content":[{"type":"reasoning_text","text":"#.utf8) + text + Array("}],".utf8)
            }
            return item + Array(#""messages":"#.utf8) + own.json + Array("}".utf8)
        case .call: return self.item(ofCall: own, arguments: block.content.isEmpty ? nil : text)
        case .other:
            let input = block.content.isEmpty ? nil : Self.unescaped(block.content)
            return self.item(of: own, json: input.flatMap { JSONObjectFault($0) == nil ? $0 : nil })
        }
    }

    /// Returns the item of a call; `arguments` is the JSON text of a string, and nil for those of its beginning.
    private static func item(ofCall start: JSONObjectText, arguments: [UInt8]?) -> [UInt8] {
        var item = JSONObjectText()
        item["type"] = JSONText.string("function_call")[...]
        for (name, member) in [("call_id", "id"), ("name", "name")] {
            item[name] = JSONText.string(start.string(member) ?? "")[...]
        }
        let input = start["input"].map { JSONText.string(String(decoding: $0, as: UTF8.self)) }
        item["arguments"] = (arguments ?? input ?? JSONText.string("{}"))[...]
        var rest = start
        for name in ["type", "id", "name", "input"] { rest[name] = nil }
        if !rest.members.isEmpty { item["messages"] = rest.json[...] }
        return item.json
    }

    /// Types of items that mean something in the Responses API, which a block of another meaning may not have.
    private static let typesOfResponses: Set<String> = ["message", "reasoning", "function_call", "custom_tool_call"]

    /// Returns the item of a block that only this API has, with its input.
    private static func item(of start: JSONObjectText, json input: [UInt8]?) -> [UInt8] {
        var block = start
        if let input { block["input"] = input[...] }
        var item = JSONObjectText()
        let type = start.string("type").flatMap { Self.typesOfResponses.contains($0) ? nil : $0 }
        item["type"] = JSONText.string(type ?? "block")[...]
        item["messages"] = block.json[...]
        return item.json
    }

    private static func unescaped(_ content: [UInt8]) -> [UInt8] {
        content.withUnsafeBufferPointer {
            Array(String(unescaping: csj_text(bytes: $0.baseAddress, count: $0.count)).utf8)
        }
    }

    private func appendEnd(_ status: String, reason: String) {
        let word = String(decoding: JSONText.string(reason), as: UTF8.self)
        self.appendEnd(status, #""incomplete_details":{"reason":\#(word)}"#)
    }

    private func appendEnd(_ status: String, _ details: String? = nil) {
        self.events.appendEnd(
            status, [("id", self.id), ("model", self.model), ("service_tier", self.serviceTier)],
            details: details.map { Array($0.utf8) },
            usage: self.usage)
    }

    /// The counts under the names of the Responses API, in which input read from a cache, or written to one, is input.
    private var usage: TranslatedEvents.Usage? {
        guard !self.counts.isEmpty else { return nil }
        let cached = self.counts["cache_read_input_tokens"]
        let written = self.counts["cache_creation_input_tokens"]
        // No sum of three such counts is too large.
        let input = self.counts["input_tokens"].map {
            [$0, cached ?? 0, written ?? 0].reduce(0) { $0 + min(max(0, $1), 1 << 48) }
        }
        return TranslatedEvents.Usage(
            input: input, cached: cached, output: self.counts["output_tokens"],
            reasoning: self.counts["thinking_tokens"])
    }
}
