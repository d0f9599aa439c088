// Facts about an event, by name: from the decoder on one side, from plain JSON values on the other.

import ResponseEvents

/// Facts about an event; what is not known has no entry.
struct EventFacts: ExpressibleByDictionaryLiteral {
    private(set) var values: [String: String] = [:]

    init(dictionaryLiteral elements: (String, String?)...) {
        for (name, value) in elements { self.values[name] = value }
    }

    subscript(name: String) -> String? {
        get { self.values[name] }
        set { self.values[name] = newValue }
    }

    /// Facts whose names get a prefix, and what they are about.
    init(kind: String, _ facts: EventFacts, prefix: String = "") {
        for (name, value) in facts.values { self.values[prefix + name] = value }
        self.values["kind"] = kind
    }

    /// Returns whether every byte is the same: Swift's own comparison takes canonically equivalent texts for the same.
    func isEqual(_ other: EventFacts) -> Bool {
        self.values.count == other.values.count
            && self.values.allSatisfy { name, value in other[name]?.utf8.elementsEqual(value.utf8) ?? false }
    }
}

extension EventFacts {
    /// Copies the facts of a decoded event.
    init(_ event: ResponseEvent) {
        self.init(event.kind)
        self["type"] = String(event.typeName)
        self["sequence"] = event.sequenceNumber.map { "\($0)" }
        self["stream"] = event.streamID.map { String($0) }
        self["itemID"] = event.itemID.map { String($0) }
        if event.kind.isContentFree { self["isContentFree"] = "true" }
        if event.kind.isTerminal { self["isTerminal"] = "true" }
    }

    private init(_ kind: ResponseEvent.Kind) {
        switch kind {
        case .created(let id): self = ["kind": "response.created", "response.id": id]
        case .delta(let kind, let outputIndex, let partIndex, let text):
            self = [
                "kind": "delta", "delta.kind": "\(kind)", "delta.text": String(text), "outputIndex": "\(outputIndex)",
                "partIndex": "\(partIndex)",
            ]
        case .partDone(let kind, let outputIndex, let partIndex, let text):
            self = [
                "kind": "partDone", "delta.kind": "\(kind)", "delta.text": String(text),
                "outputIndex": "\(outputIndex)", "partIndex": "\(partIndex)",
            ]
        case .outputItemAdded(let index, let item): self.init(item, "response.output_item.added", index)
        case .outputItemDone(let index, let item): self.init(item, "response.output_item.done", index)
        case .completed(let response): self.init(response, "response.completed")
        case .failed(let response): self.init(response, "response.failed")
        case .incomplete(let response): self.init(response, "response.incomplete")
        case .error(let error): self.init(error)
        case .rateLimits(let snapshot): self.init(snapshot)
        case .metadata(let turnState, let model): self = ["kind": "metadata", "turnState": turnState, "model": model]
        case .keepalive: self = ["kind": "keepalive"]
        case .contentFree(let responseID): self = ["kind": "contentFree", "response.id": responseID]
        case .other: self = ["kind": "other"]
        case .unknown: self = ["kind": "unknown"]
        }
    }

    private init(_ item: ItemSummary, _ kind: String, _ outputIndex: Int) {
        self.init(kind: kind, EventFacts(item), prefix: "item.")
        self["outputIndex"] = "\(outputIndex)"
    }

    private init(_ item: ItemSummary) {
        let itemKind =
            switch item.kind {
            case .message: "message"
            case .reasoning: "reasoning"
            case .functionCall: "function_call"
            case .customToolCall: "custom_tool_call"
            case .other: "other"
            }
        self = [
            "kind": itemKind, "type": item.typeName, "id": item.id, "status": item.status, "call_id": item.callID,
            "name": item.name, "namespace": item.namespace, "payload": item.payload, "agent": item.agentName,
            "json": String(item.json),
        ]
        for (place, part) in item.parts.enumerated() {
            self["part \(place)"] = "\(part.kind) \(part.index) \(String(part.text))"
        }
    }

    private init(_ response: ResponseSummary, _ kind: String) {
        let usage = response.usage
        let text = { (count: Int?) in count.map { "\($0)" } }
        self = [
            "kind": kind, "response.id": response.id, "response.status": response.status,
            "response.model": response.model, "response.tier": response.serviceTier,
            "response.error.code": response.errorCode,
            "response.error.type": response.errorType, "response.error.message": response.errorMessage,
            "response.reason": response.incompleteReason, "response.endsTurn": response.endsTurn.map { "\($0)" },
            "response.usage.input": text(usage?.inputTokens), "response.usage.cached": text(usage?.cachedInputTokens),
            "response.usage.output": text(usage?.outputTokens),
            "response.usage.reasoning": text(usage?.reasoningTokens),
            "response.usage.total": text(usage?.totalTokens), "response.json": String(response.json),
        ]
        precondition(usage != ChappieTokenUsage(), "usage without a count is none")
        for (place, item) in response.output.enumerated() {
            for (name, value) in EventFacts(item).values { self["output \(place) \(name)"] = value }
        }
    }

    private init(_ error: ErrorEvent) {
        self.init(kind: "error", EventFacts(error.facts), prefix: "facts.")
        self["status"] = error.statusCode.map { "\($0)" }
        for (index, field) in error.headers.enumerated() { self["header \(index)"] = "\(field.name): \(field.value)" }
    }

    /// Copies the facts of a server's error.
    init(_ facts: ServerErrorFacts) {
        let text = { (count: Int?) in count.map { "\($0)" } }
        self = [
            "type": facts.type, "code": facts.code, "message": facts.message, "parameter": facts.parameter,
            "plan": facts.planType, "resetsAt": text(facts.resetsAt), "resetsIn": text(facts.resetsInSeconds),
            "window": text(facts.limitWindowMinutes),
        ]
    }

    private init(_ snapshot: UsageLimitSnapshot) {
        let window = { (window: UsageLimitWindow?) -> String? in
            window.map {
                "\($0.usedPercent) \($0.windowMinutes.map { "\($0)" } ?? "-") \($0.resetsAt.map { "\($0)" } ?? "-")"
            }
        }
        self = [
            "kind": "rateLimits", "id": snapshot.limitID, "name": snapshot.limitName, "plan": snapshot.planType,
            "primary": window(snapshot.primary), "secondary": window(snapshot.secondary),
            "credits": snapshot.credits.map { "\($0.hasCredits) \($0.isUnlimited) \($0.balance ?? "-")" },
        ]
    }
}
