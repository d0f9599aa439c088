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
    /// The number of bytes of each text that are known to be the delivered ones.
    private var equalCounts = SIMD4<Int>(repeating: 0)
    /// The texts; nil for a name that the server has not used.
    private var texts = [[UInt8]?](repeating: nil, count: Self.texts.count)
    private var arrays = [ChatElements](repeating: ChatElements(), count: Self.arrays.count)
    /// The parts of the content that are reasoning, which are Mistral's.
    private var parts = ChatElements()
    /// The number of bytes that are kept.
    private(set) var byteCount = 0

    /// Indicates whether there is more than texts, which is kept at its place in the answer even if nothing is delivered.
    var hasElements: Bool { !self.parts.isEmpty || self.arrays.contains { !$0.isEmpty } }

    /// Takes what a delta has beside its content; returns the texts to deliver, as the contents of JSON strings.
    mutating func read(delta: Int, _ nodes: UnsafeBufferPointer<csj_node>) -> [UnsafeBufferPointer<UInt8>] {
        var places = SIMD4<Int>(repeating: -1)
        var details: Int?
        for place in nodes.children(of: delta) {
            let (key, kind) = (nodes[place].keyContent, nodes[place].kind)
            // Of the members of most deltas, none has a name of this length.
            guard key.count >= 9, key.starts(with: "reasoning".utf8) || key.starts(with: "thinking".utf8) else {
                continue
            }
            if kind == csj_kind_string, let rank = Self.texts.firstIndex(where: { key.elementsEqual($0.utf8) }) {
                places[rank] = place
            } else if kind == csj_kind_array,
                let rank = Self.arrays.firstIndex(where: { key.elementsEqual($0.utf8) })
            {
                if rank == 0 { details = place }
                for element in nodes.children(of: place) {
                    self.byteCount += self.arrays[rank].take(element, nodes)
                }
            }
        }
        var plain: (rank: Int, text: UnsafeBufferPointer<UInt8>)?
        for rank in places.indices where places[rank] >= 0 {
            let text = nodes[places[rank]].content
            self.take(text: text, rank)
            if rank < Self.deliveredTextCount, plain == nil, !text.isEmpty { plain = (rank, text) }
        }
        if let plain {
            self.hasPlainText = true
            return [self.undelivered(in: plain.text, of: plain.rank)]
        }
        guard !self.hasPlainText, let details else { return [] }
        return nodes.children(of: details).compactMap { detail in
            (nodes.text(of: "text", in: detail) ?? nodes.text(of: "summary", in: detail)).map { nodes[$0].content }
        }
    }

    /// Takes a part of the content that is reasoning; returns the texts to deliver, as the contents of JSON strings.
    ///
    /// The part has a text, or an array of texts.
    mutating func read(part: Int, _ nodes: UnsafeBufferPointer<csj_node>) -> [UnsafeBufferPointer<UInt8>] {
        self.byteCount += self.parts.take(part, nodes)
        let names: [StaticString] = ["thinking", "summary", "text"]
        guard let thought = names.lazy.compactMap({ nodes.member($0, of: part) }).first else { return [] }
        if nodes[thought].kind == csj_kind_string { return [nodes[thought].content] }
        guard nodes[thought].kind == csj_kind_array else { return [] }
        return nodes.children(of: thought).compactMap { nodes.text(of: "text", in: $0).map { nodes[$0].content } }
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

    /// Returns the part of a text's newest piece that was not delivered before, as a piece of another member.
    ///
    /// A text that repeats the delivered reasoning from its first byte on is a copy of it; all of any other text is new.
    private mutating func undelivered(
        in piece: UnsafeBufferPointer<UInt8>, of rank: Int
    ) -> UnsafeBufferPointer<UInt8> {
        guard let text = self.texts[rank] else { return piece }
        let end = min(text.count, self.delivered.count)
        // Most often it is the text that was delivered, and nothing is compared.
        while self.equalCounts[rank] < end {
            guard text[self.equalCounts[rank]] == self.delivered[self.equalCounts[rank]] else { return piece }
            self.equalCounts[rank] += 1
        }
        let start = text.count - piece.count
        if start == self.delivered.count { self.equalCounts[rank] = text.count }
        let known = max(0, self.delivered.count - start)
        return UnsafeBufferPointer(rebasing: piece.dropFirst(known))
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
