// The conversion of the C scanner's items and responses to summaries.

import CSimdjson

extension ItemSummary {
    /// Copies an item of the scanner; the texts of the parts stay in place, and `parts` are those of all items.
    init(_ item: csj_item, parts: UnsafePointer<csj_part>?) {
        let typeName = String(item.type)?.word ?? ""
        let kind = typeName.isEmpty ? Kind(untyped: item, parts: parts) : Kind(typeName: typeName)
        self.init(
            kind: kind,
            typeName: typeName,
            id: String(identifier: item.id),
            status: String(item.status),
            callID: String(identifier: item.call_id),
            name: String(identifier: item.name),
            namespace: String(identifier: item.namespace_name),
            payload: String(item.payload),
            role: String(item.role).flatMap { $0.isEmpty ? nil : $0 },
            agentName: String(item.agent_name).flatMap { $0.isEmpty ? nil : $0 },
            parts: Self.parts(of: item, kind, among: parts),
            json: BorrowedText(item.json) ?? .empty
        )
    }

    private static func parts(of item: csj_item, _ kind: Kind, among parts: UnsafePointer<csj_part>?) -> [ItemPart] {
        let payload = BorrowedText(item.payload)
        let content = item.content.elements(of: parts)
        switch kind {
        case .message:
            return content.compactMap { ItemPart($0, of: [.text, .refusal]) }
        case .reasoning:
            return item.summary.elements(of: parts).compactMap { ItemPart($0, of: [.reasoningSummary]) }
                + content.compactMap { ItemPart($0, of: [.reasoningText, .text])?.asReasoning }
        case .functionCall:
            return payload.map { [ItemPart(kind: .functionArguments, index: 0, text: $0)] } ?? []
        case .customToolCall:
            return payload.map { [ItemPart(kind: .customInput, index: 0, text: $0)] } ?? []
        case .other:
            return []
        }
    }
}

extension csj_range {
    /// Returns the elements of a C list.
    fileprivate func elements<Element>(of list: UnsafePointer<Element>?) -> UnsafeBufferPointer<Element> {
        guard self.count > 0, let list else { return UnsafeBufferPointer(start: nil, count: 0) }
        return UnsafeBufferPointer(start: list + self.start, count: self.count)
    }
}

extension ItemPart {
    /// Creates a part, without a type one of the first kind; nil for a part of another kind.
    fileprivate init?(_ part: csj_part, of kinds: [ResponseEvent.DeltaKind]) {
        let known = part.kind == csj_part_untyped ? kinds.first : ResponseEvent.DeltaKind(part.kind)
        guard let kind = known, kinds.contains(kind), let text = BorrowedText(part.text) else { return nil }
        self.init(kind: kind, index: Int(part.index), text: text)
    }
}

extension ResponseEvent.DeltaKind {
    /// Creates a kind; nil for a part without a known text.
    init?(_ kind: csj_part_kind) {
        switch kind {
        case csj_part_text: self = .text
        case csj_part_refusal: self = .refusal
        // In the event that ends a part of a summary it needs no type.
        case csj_part_reasoning_summary, csj_part_untyped: self = .reasoningSummary
        case csj_part_reasoning_text: self = .reasoningText
        case csj_part_function_arguments: self = .functionArguments
        case csj_part_custom_input: self = .customInput
        default: return nil
        }
    }
}

extension ItemSummary.Kind {
    init(typeName: String) {
        switch typeName {
        case "message": self = .message
        case "reasoning": self = .reasoning
        case "function_call": self = .functionCall
        case "custom_tool_call": self = .customToolCall
        default: self = .other
        }
    }

    /// The `type` of items of this kind; nil for one that has others.
    package var typeName: String? {
        switch self {
        case .message: "message"
        case .reasoning: "reasoning"
        case .functionCall: "function_call"
        case .customToolCall: "custom_tool_call"
        case .other: nil
        }
    }

    /// Creates the kind of an item without a type, which its members show.
    init(untyped item: csj_item, parts: UnsafePointer<csj_part>?) {
        let contentKinds = Set(item.content.elements(of: parts).compactMap { ResponseEvent.DeltaKind($0.kind) })
        if item.payload.bytes != nil, item.call_id.count > 0 {
            self = item.is_input ? .customToolCall : .functionCall
        } else if item.summary.count > 0 || contentKinds.contains(.reasoningText) {
            self = .reasoning
        } else if item.role.count > 0 || !contentKinds.isDisjoint(with: [.text, .refusal]) {
            self = .message
        } else {
            self = .other
        }
    }
}

extension ResponseSummary {
    /// Copies the event's response from the scanner.
    init(_ response: csj_response, items: UnsafePointer<csj_item>?, parts: UnsafePointer<csj_part>?) {
        let usage = ChappieTokenUsage(
            inputTokens: Int(presence: response.input_tokens),
            cachedInputTokens: Int(presence: response.cached_tokens),
            outputTokens: Int(presence: response.output_tokens),
            reasoningTokens: Int(presence: response.reasoning_tokens),
            totalTokens: Int(presence: response.total_tokens)
        )
        self.init(
            id: String(identifier: response.id),
            status: String(response.status)?.word,
            model: String(response.model),
            serviceTier: String(response.service_tier),
            errorCode: String(response.error_code)?.word,
            errorType: String(response.error_type)?.word,
            errorMessage: String(response.error_message),
            incompleteReason: String(response.incomplete_reason)?.word,
            endsTurn: response.end_turn < 0 ? nil : response.end_turn == 1,
            usage: usage == ChappieTokenUsage() ? nil : usage,
            output: response.output.elements(of: items).map { ItemSummary($0, parts: parts) },
            isOutputCut: response.is_output_cut,
            json: BorrowedText(response.json) ?? .empty
        )
    }
}
