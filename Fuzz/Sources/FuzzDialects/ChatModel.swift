// A slow reader of chat completions.

import Invariants

/// The texts of the first choice of a chat completion.
struct ChatModel: AnswerModel {
    var text: String { ModelEvent.text(ofContent: self.writtenText) }
    /// The reasoning, whose text is in the same places as its escapes.
    var reasoning: String { ModelEvent.text(ofContent: self.writtenReasoning) }
    private(set) var refusal = ""
    private(set) var hasStatedEnd = false
    private var hasCalls = false
    private var hasPlainReasoning = false
    /// The text so far as it was written.
    private var writtenText: [UInt8] = []
    /// The reasoning so far as it was written, and so the text of each member.
    private var writtenReasoning: [UInt8] = []
    private var written: [String: [UInt8]] = [:]

    mutating func read(_ event: ModelEvent) -> Bool {
        guard case .array(let choices)? = event.root.member("choices")?.kind else { return false }
        for choice in choices {
            guard case .object = choice.kind else { continue }
            if let index = choice.value("index").flatMap({ event.integer($0) }), index != 0 { continue }
            if let delta = choice.value("delta") { self.read(delta: delta, event) }
            if let message = choice.value("message") { self.read(message: message, event) }
            if choice.member("finish_reason")?.identifier != nil { self.hasStatedEnd = true }
        }
        return event.root.value("error") == nil
    }

    private mutating func read(delta: JSONNode, _ event: ModelEvent) {
        self.readReasoning(beside: delta, event)
        if let content = delta.value("content") {
            switch content.kind {
            case .number: self.writtenText += event.bytes[content.range]
            case .array(let parts): for part in parts { self.read(part: part, event) }
            default: self.read(part: content, event)
            }
        }
        self.refusal += delta.value("refusal")?.text ?? ""
        if case .object? = delta.value("function_call")?.kind { self.hasCalls = true }
        let calls = delta.value("tool_calls").map { $0.elements ?? [$0] } ?? []
        for case .object in calls.map(\.kind) { self.hasCalls = true }
    }

    /// Reads a message: all of it where nothing has come, and else the rest of its text.
    private mutating func read(message: JSONNode, _ event: ModelEvent) {
        guard !self.writtenText.isEmpty || !self.refusal.isEmpty || self.hasCalls else {
            return self.read(delta: message, event)
        }
        guard let node = message.value("content"), node.text != nil else { return }
        let content = event.content(of: node)
        if content.starts(with: self.writtenText) { self.writtenText = content }
    }

    /// The texts of reasoning say the same, at once or later; details are for servers that have no text.
    private mutating func readReasoning(beside delta: JSONNode, _ event: ModelEvent) {
        guard case .object(let members) = delta.kind else { return }
        var first: (name: String, piece: [UInt8])?
        for name in ["reasoning_content", "reasoning", "reasoning_text"] {
            let values = members.filter { $0.name == Array(name.utf16) && $0.value.text != nil }
            guard let piece = values.last.map({ event.content(of: $0.value) }) else { continue }
            self.written[name, default: []] += piece
            if first == nil, !piece.isEmpty { first = (name, piece) }
        }
        if let first, let text = self.written[first.name] {
            self.hasPlainReasoning = true
            // A text that begins as the reasoning so far does, or that this begins with, says the same.
            let isSame = zip(text, self.writtenReasoning).allSatisfy { $0 == $1 }
            let known = self.writtenReasoning.count - (text.count - first.piece.count)
            self.writtenReasoning += isSame ? Array(first.piece.dropFirst(max(0, known))) : first.piece
            return
        }
        guard !self.hasPlainReasoning else { return }
        let details = members.filter { $0.name == Array("reasoning_details".utf16) }.compactMap(\.value.elements).last
        for detail in details ?? [] {
            let text = [detail.member("text"), detail.member("summary")].compactMap(\.self).first {
                $0.identifier != nil
            }
            if let text { self.writtenReasoning += event.content(of: text) }
        }
    }

    private mutating func read(part: JSONNode, _ event: ModelEvent) {
        let type = part.member("type")
        let isOf = { (word: String) in type?.identifier == nil || event.isWord(type, word) }
        if part.text != nil { self.writtenText += event.content(of: part) }
        if isOf("text") || isOf("output_text"), let text = part.member("text"), text.text != nil {
            self.writtenText += event.content(of: text)
        }
        if isOf("refusal") { self.refusal += part.member("refusal")?.text ?? "" }
        guard type?.identifier != nil, event.isWord(type, "thinking") || event.isWord(type, "reasoning"),
            let thought = part.value("thinking") ?? part.value("summary") ?? part.value("text")
        else { return }
        for node in thought.elements?.compactMap({ $0.member("text") }) ?? [thought] where node.text != nil {
            self.writtenReasoning += event.content(of: node)
        }
    }
}

extension JSONNode {
    /// The value of a member; nil when it is absent or `null`.
    func value(_ name: String) -> JSONNode? { self.member(name).flatMap { $0.isNull ? nil : $0 } }

    /// The elements of an array.
    var elements: [JSONNode]? {
        guard case .array(let elements) = self.kind else { return nil }
        return elements
    }
}
