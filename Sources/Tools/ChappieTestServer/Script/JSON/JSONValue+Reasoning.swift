// The reasoning in an item of a response, which other APIs have as one text.

extension JSONValue {
    /// The summary and the text of an item of reasoning, joined; empty for an item of another type.
    var reasoningText: String {
        guard self["type"]?.string == "reasoning" else { return "" }
        let parts = (self["summary"]?.elements ?? []) + (self["content"]?.elements ?? [])
        return parts.compactMap { $0["text"]?.string }.joined()
    }
}
