// The reasoning of a chat completion, which some servers demand back. A value that the decoder of the answer owns.

import CSimdjson

/// The reasoning of one chat completion under the names that its server gives it.
///
/// A server reads these names again in the messages of the next request, and other servers refuse some of them. So each is
/// kept as the server wrote it, with pieces of one text or one element put together.
struct ChatReasoning {
    /// Members of a message that are text; of the first three the first one is delivered, as they say the same.
    ///
    /// The last two are GitHub Copilot's (reported: BerriAI/litellm issue 35021, anomalyco/opencode pull request 8900).
    private static let texts = ["reasoning_content", "reasoning", "reasoning_text", "reasoning_opaque"]
    private static let deliveredTextCount = 3
    /// Members that are arrays: OpenRouter's, and LiteLLM's for Claude (reported: google/adk-python pull request 5437).
    private static let arrays = ["reasoning_details", "thinking_blocks"]

    /// The reasoning that was delivered, as the content of a JSON string.
    private var delivered: [UInt8] = []
    private var hasPlainText = false
    /// The texts; nil for a name that the server has not used.
    private var texts = [[UInt8]?](repeating: nil, count: Self.texts.count)
    private var arrays = [ChatElements](repeating: ChatElements(), count: Self.arrays.count)
    /// The parts of the content that are reasoning, which are Mistral's.
    private var parts = ChatElements()
    /// The number of bytes that are kept.
    private(set) var byteCount = 0

    /// Indicates whether there is more than texts, which is kept at its place in the answer even if nothing is delivered.
    var hasElements: Bool { !self.parts.isEmpty || self.arrays.contains { !$0.isEmpty } }

    /// Takes what a delta has beside its content; returns the places of the texts to deliver.
    mutating func read(delta: Int, _ nodes: UnsafeBufferPointer<csj_node>) -> [Int] {
        var plain: (rank: Int, place: Int)?
        var details: Int?
        for place in nodes.children(of: delta) {
            let (key, kind) = (nodes[place].keyContent, nodes[place].kind)
            // Of the members of most deltas, none has a name of this length.
            guard key.count >= 9, key.starts(with: "reasoning".utf8) || key.starts(with: "thinking".utf8) else {
                continue
            }
            if kind == csj_kind_string, let rank = Self.texts.firstIndex(where: { key.elementsEqual($0.utf8) }) {
                self.take(text: nodes[place].content, rank)
                guard rank < Self.deliveredTextCount, nodes[place].json.count > 0 else { continue }
                if plain.map({ rank <= $0.rank }) ?? true { plain = (rank, place) }
            } else if kind == csj_kind_array,
                let rank = Self.arrays.firstIndex(where: { key.elementsEqual($0.utf8) })
            {
                if rank == 0 { details = place }
                for element in nodes.children(of: place) {
                    self.byteCount += self.arrays[rank].take(element, nodes)
                }
            }
        }
        if let plain {
            self.hasPlainText = true
            return [plain.place]
        }
        guard !self.hasPlainText, let details else { return [] }
        return nodes.children(of: details).compactMap { detail in
            nodes.text(of: "text", in: detail) ?? nodes.text(of: "summary", in: detail)
        }
    }

    /// Takes a part of the content that is reasoning; returns the places of the texts to deliver.
    ///
    /// The part has a text, or an array of texts.
    mutating func read(part: Int, _ nodes: UnsafeBufferPointer<csj_node>) -> [Int] {
        self.byteCount += self.parts.take(part, nodes)
        let names: [StaticString] = ["thinking", "summary", "text"]
        guard let thought = names.lazy.compactMap({ nodes.member($0, of: part) }).first else { return [] }
        if nodes[thought].kind == csj_kind_string { return [thought] }
        guard nodes[thought].kind == csj_kind_array else { return [] }
        return nodes.children(of: thought).compactMap { nodes.text(of: "text", in: $0) }
    }

    /// Notes a text that was delivered.
    mutating func deliver(_ text: UnsafeBufferPointer<UInt8>) {
        self.delivered += text
        self.byteCount += text.count
    }

    /// The reasoning as an item that goes back; nil without any.
    ///
    /// A text counts although it is empty: DeepSeek demands `reasoning_content` back in that case too (reported:
    /// deepseek-ai/deepseek-harness discussion 739).
    var item: [UInt8]? {
        var members = JSONObjectText()
        for (name, text) in zip(Self.texts, self.texts) { members[name] = text.map { Self.quoted($0)[...] } }
        for (name, array) in zip(Self.arrays, self.arrays) where !array.isEmpty { members[name] = array.json[...] }
        if !self.parts.isEmpty { members["content"] = self.parts.json[...] }
        guard !members.members.isEmpty else { return nil }
        let part = Array(#"{"type":"reasoning_text","text":"#.utf8) + Self.quoted(self.delivered) + Array("}".utf8)
        var item = JSONObjectText()
        item["type"] = JSONText.string("reasoning")[...]
        item["summary"] = JSONArrayText.json([])[...]
        item["content"] = JSONArrayText.json(self.delivered.isEmpty ? [] : [part[...]])[...]
        item["chat"] = members.json[...]
        return item.json
    }

    private mutating func take(text: UnsafeBufferPointer<UInt8>, _ rank: Int) {
        if self.texts[rank] == nil { self.texts[rank] = [] }
        self.texts[rank]?.append(contentsOf: text)
        self.byteCount += text.count
    }

    private static func quoted(_ content: [UInt8]) -> [UInt8] {
        [UInt8(ascii: "\"")] + content + [UInt8(ascii: "\"")]
    }
}
