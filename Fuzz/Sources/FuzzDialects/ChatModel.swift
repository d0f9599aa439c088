// A slow reader of chat completions.

import Invariants

/// The texts of the first choice of a chat completion.
struct ChatModel: AnswerModel {
    private(set) var text = ""
    private(set) var reasoning = ""
    private(set) var refusal = ""
    private(set) var hasStatedEnd = false
    private var hasCalls = false
    private var hasPlainReasoning = false

    mutating func read(_ event: ModelEvent) -> Bool {
        guard case .array(let choices)? = event.root.member("choices")?.kind else { return false }
        for choice in choices {
            guard case .object = choice.kind else { continue }
            if let index = choice.value("index"), event.integer(index) != 0 { continue }
            let isFirst = self.text.isEmpty && self.refusal.isEmpty && !self.hasCalls
            if let delta = choice.value("delta") ?? (isFirst ? choice.value("message") : nil) {
                self.read(delta: delta, event)
            }
            if choice.member("finish_reason")?.identifier != nil { self.hasStatedEnd = true }
        }
        return event.root.value("error") == nil
    }

    private mutating func read(delta: JSONNode, _ event: ModelEvent) {
        self.readReasoning(beside: delta)
        switch delta.value("content")?.kind {
        case .string: self.text += delta.value("content")?.text ?? ""
        case .array(let parts): for part in parts { self.read(part: part, event) }
        default: break
        }
        self.refusal += delta.value("refusal")?.text ?? ""
        if case .object? = delta.value("function_call")?.kind { self.hasCalls = true }
        for case .object in (delta.value("tool_calls")?.elements ?? []).map(\.kind) { self.hasCalls = true }
    }

    /// The texts of reasoning say the same; details are for servers that have no text.
    private mutating func readReasoning(beside delta: JSONNode) {
        guard case .object(let members) = delta.kind else { return }
        for name in ["reasoning_content", "reasoning", "reasoning_text"] {
            let texts = members.filter { $0.name == Array(name.utf16) }.compactMap(\.value.identifier)
            guard let text = texts.last else { continue }
            self.hasPlainReasoning = true
            self.reasoning += text
            return
        }
        guard !self.hasPlainReasoning else { return }
        let details = members.filter { $0.name == Array("reasoning_details".utf16) }.compactMap(\.value.elements).last
        for detail in details ?? [] {
            self.reasoning += detail.member("text")?.identifier ?? detail.member("summary")?.identifier ?? ""
        }
    }

    private mutating func read(part: JSONNode, _ event: ModelEvent) {
        let type = part.member("type")
        if event.isWord(type, "text") { self.text += part.member("text")?.text ?? "" }
        guard event.isWord(type, "thinking") || event.isWord(type, "reasoning"),
            let thought = part.value("thinking") ?? part.value("summary") ?? part.value("text")
        else { return }
        self.reasoning += thought.text ?? ""
        for element in thought.elements ?? [] { self.reasoning += element.member("text")?.text ?? "" }
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
