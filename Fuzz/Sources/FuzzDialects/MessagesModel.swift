// A slow reader of Anthropic's Messages.

import Invariants

/// The texts of an answer of Messages.
struct MessagesModel: AnswerModel {
    private(set) var text = ""
    private(set) var reasoning = ""
    let refusal = ""
    private(set) var hasStatedEnd = false

    mutating func read(_ event: ModelEvent) -> Bool {
        let type = event.root.member("type")
        let isNamed = { (word: String) in
            type?.identifier == nil ? event.type.elementsEqual(word.utf8) : event.isWord(type, word)
        }
        if isNamed("content_block_delta") {
            self.read(delta: event.root.value("delta"), event)
        } else if isNamed("content_block_start") {
            self.read(block: event.root.value("content_block"))
        } else if isNamed("message_start") {
            for block in event.root.value("message")?.value("content")?.elements ?? [] { self.read(block: block) }
        } else if isNamed("message_stop") {
            self.hasStatedEnd = true
        } else {
            return false
        }
        return true
    }

    private mutating func read(delta: JSONNode?, _ event: ModelEvent) {
        let type = delta?.member("type")
        if event.isWord(type, "text_delta") { self.text += delta?.member("text")?.text ?? "" }
        if event.isWord(type, "thinking_delta") { self.reasoning += delta?.member("thinking")?.text ?? "" }
    }

    private mutating func read(block: JSONNode?) {
        guard let block, case .object = block.kind else { return }
        switch block.member("type")?.identifier ?? "text" {
        case "text": self.text += block.member("text")?.text ?? ""
        case "thinking", "redacted_thinking": self.reasoning += block.member("thinking")?.text ?? ""
        default: return
        }
    }
}
