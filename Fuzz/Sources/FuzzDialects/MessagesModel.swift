// A slow reader of Anthropic's Messages.

import Invariants

/// The texts of an answer of Messages.
struct MessagesModel: AnswerModel {
    private(set) var text = ""
    private(set) var reasoning = ""
    let refusal = ""
    /// The content with which the message began, which counts where no block does.
    private var wholeContent: [JSONNode] = []
    private var hasBlocks = false
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
            if let content = event.root.value("message")?.value("content")?.elements { self.wholeContent = content }
        } else if isNamed("message_stop") {
            if !self.hasBlocks, !self.hasStatedEnd { for block in self.wholeContent { self.read(block: block) } }
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
        // A delta that holds something begins a block where its own has not begun.
        for (word, name) in [("text_delta", "text"), ("thinking_delta", "thinking"), ("signature_delta", "signature")]
        where event.isWord(type, word) && delta?.member(name)?.identifier != nil { self.hasBlocks = true }
        if event.isWord(type, "citations_delta"), case .object? = delta?.member("citation")?.kind {
            self.hasBlocks = true
        }
    }

    private mutating func read(block: JSONNode?) {
        guard let block, case .object = block.kind else { return }
        self.hasBlocks = true
        switch block.member("type")?.identifier ?? "text" {
        case "text": self.text += block.member("text")?.text ?? ""
        case "thinking", "redacted_thinking": self.reasoning += block.member("thinking")?.text ?? ""
        default: return
        }
    }
}
