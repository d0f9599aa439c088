// Output items, their parts, and the events that close parts.

import Invariants

extension ResponseEventOracle {
    /// The place of a slot's text in an event that closes the slot.
    enum Closing {
        /// In a member of the event.
        case text(kind: String, member: String)
        /// In the member `part`.
        case contentPart, summaryPart
    }

    /// The types of events that close a slot.
    static let closingTypes: [String: Closing] = [
        "response.output_text.done": .text(kind: "text", member: "text"),
        "response.refusal.done": .text(kind: "refusal", member: "refusal"),
        "response.reasoning_summary_text.done": .text(kind: "reasoningSummary", member: "text"),
        "response.reasoning_text.done": .text(kind: "reasoningText", member: "text"),
        "response.function_call_arguments.done": .text(kind: "functionArguments", member: "arguments"),
        "response.custom_tool_call_input.done": .text(kind: "customInput", member: "input"),
        "response.content_part.done": .contentPart,
        "response.reasoning_summary_part.done": .summaryPart,
    ]

    /// The end of a part, or a step without content when the event lacks the text.
    func partDone(_ event: JSONNode, _ closing: Closing) -> EventFacts {
        let found: (kind: String, text: String)? =
            switch closing {
            case .text(let kind, let member):
                if let text = event.member(member)?.text {
                    (kind, text)
                } else if kind == "functionArguments", event.member("name")?.text != nil {
                    (kind, "")
                } else {
                    nil
                }
            case .contentPart: event.member("part").flatMap(self.contentText)
            case .summaryPart: event.member("part").flatMap(self.summaryText)
            }
        guard let (kind, text) = found else { return ["kind": "contentFree"] }
        let part = kind == "reasoningSummary" ? "summary_index" : "content_index"
        return [
            "kind": "partDone", "delta.kind": kind, "delta.text": text,
            "outputIndex": "\(self.position(event.member("output_index")))",
            "partIndex": "\(self.position(event.member(part)))",
        ]
    }

    private func contentText(of part: JSONNode) -> (kind: String, text: String)? {
        switch part.member("type")?.text {
        case "output_text", "text": part.member("text")?.text.map { ("text", $0) }
        case "refusal": part.member("refusal")?.text.map { ("refusal", $0) }
        case "reasoning_text": part.member("text")?.text.map { ("reasoningText", $0) }
        default: nil
        }
    }

    /// A part of a summary needs no type.
    private func summaryText(of part: JSONNode) -> (kind: String, text: String)? {
        if let type = part.member("type"), !type.isNull, type.text != "summary_text" { return nil }
        return part.member("text")?.text.map { ("reasoningSummary", $0) }
    }

    // MARK: Items

    /// Texts that must be strings, or `null`, or absent.
    func neededTexts(_ names: [String], of node: JSONNode) -> EventFacts? {
        var facts: EventFacts = [:]
        for name in names {
            guard let value = node.member(name), !value.isNull else { continue }
            guard let text = value.text else { return nil }
            facts[name] = text
        }
        return facts
    }

    private static let itemTexts = ["type", "id", "status", "call_id", "name", "namespace"]

    /// An event about an item, whose texts must be texts.
    func item(_ event: JSONNode, type: String) -> EventFacts {
        guard let item = event.member("item"), case .object = item.kind,
            self.neededTexts(Self.itemTexts, of: item) != nil
        else { return ["error": "invalidField(item)"] }
        var result = EventFacts(kind: type, self.itemFacts(of: item), prefix: "item.")
        result["outputIndex"] = "\(self.position(event.member("output_index")))"
        return result
    }

    /// An item; what is no object has no members.
    func itemFacts(of item: JSONNode) -> EventFacts {
        guard case .object(let members) = item.kind else { return ["kind": "other", "type": "", "json": ""] }
        var facts: EventFacts = [:]
        for name in Self.itemTexts {
            let member = item.member(name)
            facts[name] = ["type", "status"].contains(name) ? member?.text : member?.identifier
        }
        let payload = members.last { ["arguments", "input"].map { Array($0.utf16) }.contains($0.name) }?.value
        if let payload, !payload.isNull { facts["payload"] = payload.text ?? self.written(payload) }
        facts["agent"] = item.member("agent")?.member("agent_name")?.text
        let types: Set = ["message", "reasoning", "function_call", "custom_tool_call"]
        let known = facts["type"].flatMap { types.contains($0) ? $0 : nil }
        let kind = facts["type"]?.isEmpty == false ? known : self.kind(untyped: item, members)
        for (place, part) in self.parts(of: item, kind, payload: facts["payload"]).enumerated() {
            facts["part \(place)"] = part
        }
        facts["kind"] = kind ?? "other"
        facts["type"] = facts["type"] ?? ""
        facts["json"] = self.written(item)
        return facts
    }

    /// The type that the members of an item without one show; nil when they show none.
    private func kind(untyped item: JSONNode, _ members: [JSONNode.Member]) -> String? {
        let payload = members.last { ["arguments", "input"].map { Array($0.utf16) }.contains($0.name) }
        if let payload, !payload.value.isNull, item.member("call_id")?.identifier != nil {
            return payload.name == Array("input".utf16) ? "custom_tool_call" : "function_call"
        }
        let content = (item.member("content")?.elements ?? []).compactMap(self.contentText).map(\.kind)
        let summary = item.member("summary")?.elements ?? []
        let isReasoning = summary.contains { self.contentText(of: $0) != nil || self.summaryText(of: $0) != nil }
        if isReasoning || item.member("summary")?.text != nil || content.contains("reasoningText") {
            return "reasoning"
        }
        let isMessage = item.member("role")?.identifier != nil || item.member("content")?.text != nil
        return isMessage || !content.isEmpty ? "message" : nil
    }

    private func parts(of item: JSONNode, _ kind: String?, payload: String?) -> [String] {
        let content = (item.member("content")?.elements ?? []).map(self.contentText).enumerated()
        let summary = (item.member("summary")?.elements ?? []).map(self.summaryText).enumerated()
        let lines = { (texts: EnumeratedSequence<[(kind: String, text: String)?]>, kinds: [String]) in
            texts.compactMap { index, part in
                part.flatMap { kinds.contains($0.kind) ? "\($0.kind) \(index) \($0.text)" : nil }
            }
        }
        switch kind {
        case "message": return lines(content, ["text", "refusal"])
        case "reasoning": return lines(summary, ["reasoningSummary"]) + lines(content, ["reasoningText"])
        case "function_call": return payload.map { ["functionArguments 0 \($0)"] } ?? []
        case "custom_tool_call": return payload.map { ["customInput 0 \($0)"] } ?? []
        default: return []
        }
    }
}

extension JSONNode {
    /// The elements of an array; none of any other value.
    var elements: [JSONNode] {
        guard case .array(let elements) = self.kind else { return [] }
        return elements
    }
}
