// The facts that the decoder must report, read from plain JSON values by the rules in the product's documentation.

import Invariants

/// Says what decoding an event gives: an error, or facts about it in a fixed order.
struct ResponseEventOracle {
    /// The deepest nesting of arrays and objects, the event itself included.
    static let maximumDepth = 512

    let bytes: [UInt8]

    /// Judges events that were read from `bytes`.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The facts about an event, or the name of the error.
    func facts(of event: JSONNode) -> EventFacts {
        guard case .object = event.kind else { return ["error": "notObject"] }
        guard let type = event.member("type")?.text else { return ["error": "missingType"] }
        var facts = self.facts(of: event, type: type)
        guard facts["error"] == nil else { return facts }
        facts["type"] = type
        facts["sequence"] = event.member("sequence_number").flatMap(self.smallInteger).map { "\($0)" }
        facts["stream"] = event.member("stream_id")?.text
        facts["itemID"] = event.member("item_id")?.identifier
        if Self.contentFreeTypes.contains(type) || facts["kind"] == "contentFree" { facts["isContentFree"] = "true" }
        if ["response.completed", "response.failed", "response.incomplete", "error"].contains(type) {
            facts["isTerminal"] = "true"
        }
        return facts
    }

    /// The types of steps without content.
    private static let steps = [
        "response.queued", "response.in_progress", "response.content_part.added",
        "response.reasoning_summary_part.added", "responsesapi.websocket_timing",
    ]

    /// Types of events that hold no part of a response.
    private static let contentFreeTypes =
        steps + [
            "response.created", "response.output_item.added", "codex.rate_limits", "response.metadata",
            "codex.response.metadata", "keepalive",
        ]

    private func facts(of event: JSONNode, type: String) -> EventFacts {
        if let kind = Self.deltaKinds[type] { return self.delta(event, kind: kind) }
        if let closing = Self.closingTypes[type] { return self.partDone(event, closing) }
        switch type {
        case "response.output_item.added", "response.output_item.done": return self.item(event, type: type)
        case "response.created", "response.completed", "response.failed", "response.incomplete":
            return self.response(event, type: type)
        case "error": return self.errorFacts(of: event)
        case "codex.rate_limits": return EventFacts(kind: "rateLimits", self.usageLimits(in: event))
        case "response.metadata", "codex.response.metadata": return self.metadata(in: event, type: type)
        case "keepalive": return ["kind": "keepalive"]
        case "response.queued", "response.in_progress":
            return ["kind": "contentFree", "response.id": event.member("response")?.member("id")?.identifier]
        case _ where Self.steps.contains(type): return ["kind": "contentFree"]
        default: return ["kind": Self.otherTypes.contains { $0.utf8.elementsEqual(type.utf8) } ? "other" : "unknown"]
        }
    }

    // MARK: Scalars

    func written(_ node: JSONNode) -> String { String(decoding: self.bytes[node.range], as: UTF8.self) }

    /// A non-negative integer of at most 18 digits.
    private func smallInteger(_ node: JSONNode) -> Int? {
        guard node.isNumber else { return nil }
        let digits = self.written(node)
        return digits.count <= 18 && digits.allSatisfy { $0.isNumber } ? Int(digits) : nil
    }

    /// 0 for an absent index, and -1 for a number that is no position.
    func position(_ node: JSONNode?) -> Int {
        guard let node, node.isNumber else { return 0 }
        return self.smallInteger(node) ?? -1
    }

    /// A string, or a number or a Boolean as it is written.
    func scalarText(_ node: JSONNode) -> String? {
        switch node.kind {
        case .string: node.text
        case .number, .bool: self.written(node)
        case .object, .array, .null: nil
        }
    }

    // MARK: Deltas

    private static let deltaKinds = [
        "response.output_text.delta": "text", "response.refusal.delta": "refusal",
        "response.reasoning_summary_text.delta": "reasoningSummary", "response.reasoning_text.delta": "reasoningText",
        "response.function_call_arguments.delta": "functionArguments",
        "response.custom_tool_call_input.delta": "customInput",
    ]

    private func delta(_ event: JSONNode, kind: String) -> EventFacts {
        // A delta of null says nothing.
        guard let delta = event.member("delta"), let text = delta.isNull ? "" : delta.text else {
            return ["error": "invalidField(delta)"]
        }
        let part = kind == "reasoningSummary" ? "summary_index" : "content_index"
        return [
            "kind": "delta", "delta.kind": kind, "delta.text": text,
            "outputIndex": "\(self.position(event.member("output_index")))",
            "partIndex": "\(self.position(event.member(part)))",
        ]
    }

    // MARK: Responses

    private func response(_ event: JSONNode, type: String) -> EventFacts {
        let wrong: EventFacts = ["error": "invalidField(response)"]
        guard let response = event.member("response"), case .object = response.kind else { return wrong }
        guard var facts = self.neededTexts(["id", "status"], of: response) else { return wrong }
        if facts["id"] == "" { facts["id"] = nil }
        if type == "response.created" { return EventFacts(kind: type, ["id": facts["id"]], prefix: "response.") }
        facts["model"] = response.member("model").flatMap(self.scalarText)
        facts["tier"] = response.member("service_tier").flatMap(self.scalarText)
        for name in ["code", "type", "message"] {
            facts["error.\(name)"] = response.member("error")?.member(name).flatMap(self.scalarText)
        }
        facts["reason"] = response.member("incomplete_details")?.member("reason").flatMap(self.scalarText)
        if case .bool(let isTrue)? = response.member("end_turn")?.kind { facts["endsTurn"] = "\(isTrue)" }
        let usage = response.member("usage")
        let counts = [
            "input": usage?.member("input_tokens"), "output": usage?.member("output_tokens"),
            "cached": usage?.member("input_tokens_details")?.member("cached_tokens"),
            "reasoning": usage?.member("output_tokens_details")?.member("reasoning_tokens"),
            "total": usage?.member("total_tokens"),
        ]
        for (name, count) in counts { facts["usage.\(name)"] = count.flatMap(self.smallInteger).map { "\($0)" } }
        facts["json"] = self.written(response)
        var result = EventFacts(kind: type, facts, prefix: "response.")
        for (place, item) in (response.member("output")?.elements ?? []).prefix(16_384).enumerated() {
            for (name, value) in self.itemFacts(of: item).values { result["output \(place) \(name)"] = value }
        }
        return result
    }

    // MARK: Types

    /// Known types that no turn needs.
    private static let otherTypes: Set<String> = {
        let names = [
            "audio.delta", "audio.done", "audio.transcript.delta", "audio.transcript.done", "compaction.compacting",
            "output_text.annotation.added", "steer.accepted", "steer.failed", "steer.pending",
        ]
        let calls = [
            "apply_patch_call_operation_diff": ["delta", "done"],
            "code_interpreter_call": ["completed", "in_progress", "interpreting"],
            "code_interpreter_call_code": ["delta", "done"],
            "file_search_call": ["completed", "in_progress", "searching"],
            "image_generation_call": ["completed", "generating", "in_progress", "partial_image"],
            "mcp_call": ["completed", "failed", "in_progress"],
            "mcp_call_arguments": ["delta", "done"],
            "mcp_list_tools": ["completed", "failed", "in_progress"],
            "shell_call_command": ["added", "delta", "done"],
            "shell_call_output_content": ["delta", "done"],
            "web_search_call": ["completed", "in_progress", "searching"],
        ]
        let all = names + calls.flatMap { call, steps in steps.map { "\(call).\($0)" } }
        return Set(all.map { "response." + $0 })
    }()
}
