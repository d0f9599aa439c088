// The events that are read whole, and what they hold: errors, usage limits, metadata.

import Invariants

extension ResponseEventOracle {
    /// A member's value; nil for one that is `null`.
    private func value(_ name: String, of node: JSONNode?) -> JSONNode? {
        node?.member(name).flatMap { $0.isNull ? nil : $0 }
    }

    private func text(_ name: String, of node: JSONNode?) -> String? { self.value(name, of: node)?.text }

    private func scalar(_ name: String, of node: JSONNode?) -> String? {
        self.value(name, of: node).flatMap(self.scalarText)
    }

    /// A number, or a text that is one, with spaces and tabs around it.
    private func double(_ name: String, of node: JSONNode?) -> Double? {
        guard let text = self.scalar(name, of: node)?.trimmed else { return nil }
        guard text.utf8.allSatisfy({ "+-.0123456789Ee".utf8.contains($0) }) else { return nil }
        return Double(text).flatMap { $0.isFinite ? $0 : nil }
    }

    /// An integer, or below 10¹⁵ a number without a fraction.
    private func integer(_ name: String, of node: JSONNode?) -> Int? {
        guard let text = self.scalar(name, of: node)?.trimmed else { return nil }
        if let integer = Int(text) { return integer }
        guard let number = self.double(name, of: node), number.magnitude < 1e15 else { return nil }
        return Int(exactly: number)
    }

    private func count(_ name: String, of node: JSONNode?) -> String? {
        self.integer(name, of: node).flatMap { $0 < 0 ? nil : "\($0)" }
    }

    private func bool(_ name: String, of node: JSONNode?) -> Bool? {
        ["true": true, "1": true, "false": false, "0": false][self.scalar(name, of: node)?.trimmed.lowercased() ?? ""]
    }

    /// Returns the expected `ServerErrorFacts` of a body or an event.
    func serverError(_ root: JSONNode) -> EventFacts {
        var error = self.statedError(of: root)
        switch error?.kind {
        case .number, .bool, .array: error = nil
        case .object, .string, .null, nil: break
        }
        let source = error ?? self.value("detail", of: root) ?? root
        var facts: EventFacts = [:]
        if let message = source.text {
            facts["message"] = message
            facts["code"] = self.scalar("code", of: root)
            return facts
        }
        facts["type"] = self.scalar("type", of: source)
        if error == nil, facts["type"] == "error" { facts["type"] = nil }
        facts["code"] = self.scalar("code", of: source)
        facts["message"] = self.text("message", of: source)
        facts["parameter"] = self.scalar("param", of: source)
        facts["plan"] = self.text("plan_type", of: source)
        facts["resetsAt"] = self.count("resets_at", of: source)
        facts["resetsIn"] = self.count("resets_in_seconds", of: source)
        facts["window"] = self.count("limit_window_minutes", of: source)
        return facts
    }

    /// The member `error`, or the first object in a list of errors.
    private func statedError(of root: JSONNode) -> JSONNode? {
        for name in ["error", "errors"] {
            if case .array(let elements)? = self.value(name, of: root)?.kind, case .object? = elements.first?.kind {
                return elements.first
            }
        }
        return self.value("error", of: root)
    }

    /// The object that describes an error in a body: the body, or the first object in an array, if that states an error.
    func errorBody(_ root: JSONNode) -> JSONNode? {
        if case .object = root.kind { return root }
        guard case .array(let elements) = root.kind, let first = elements.first else { return nil }
        switch self.statedError(of: first)?.kind {
        case .object, .string: return first
        case .number, .bool, .array, .null, nil: return nil
        }
    }

    func errorFacts(of event: JSONNode) -> EventFacts {
        var facts = EventFacts(kind: "error", self.serverError(event), prefix: "facts.")
        let status = self.integer("status", of: event) ?? self.integer("status_code", of: event)
        facts["status"] = status.flatMap { (100..<200).contains($0) || (300...999).contains($0) ? "\($0)" : nil }
        for (index, field) in self.headers(of: event).enumerated() {
            facts["header \(index)"] = "\(field.name): \(field.value)"
        }
        return facts
    }

    /// The members of `headers` that are scalars, or arrays that begin with one.
    private func headers(of event: JSONNode) -> [(name: String, value: String)] {
        guard case .object(let members)? = self.value("headers", of: event)?.kind else { return [] }
        return members.compactMap { member in
            var value: JSONNode? = member.value
            if case .array(let elements) = member.value.kind { value = elements.first }
            return value.flatMap(self.scalarText).map { (String(decoding: member.name, as: UTF16.self), $0) }
        }
    }

    func metadata(in event: JSONNode, type: String) -> EventFacts {
        let headers = self.headers(of: event)
        let field = { (name: String) in headers.first { $0.name.lowercased() == name }?.value }
        var facts: EventFacts = ["kind": "metadata"]
        if type == "response.metadata" { facts["turnState"] = field("x-codex-turn-state") }
        facts["model"] = field("openai-model")
        return facts
    }

    // MARK: Usage limits

    func usageLimits(in event: JSONNode) -> EventFacts {
        var facts: EventFacts = [:]
        facts["name"] = self.text("limit_name", of: event)
        let name = self.text("metered_limit_name", of: event) ?? facts["name"]
        let id = name.map { String($0.trimmed.lowercased().map { $0 == "-" ? "_" : $0 }) } ?? ""
        facts["id"] = id.isEmpty ? "codex" : id
        facts["plan"] = self.text("plan_type", of: event)
        for window in ["primary", "secondary"] {
            let node = self.value(window, of: self.value("rate_limits", of: event))
            facts[window] = self.window(node)
        }
        let credits = self.value("credits", of: event)
        if let hasCredits = self.bool("has_credits", of: credits), let isUnlimited = self.bool("unlimited", of: credits)
        {
            let balance = self.scalar("balance", of: credits) ?? ""
            facts["credits"] = "\(hasCredits) \(isUnlimited) \(balance.isEmpty ? "-" : balance)"
        }
        return facts
    }

    /// Returns a window; zero use without known values means that there is no such window.
    private func window(_ node: JSONNode?) -> String? {
        guard let used = self.double("used_percent", of: node) else { return nil }
        let minutes = self.count("window_minutes", of: node)
        let resetsAt = self.count("reset_at", of: node)
        if used == 0, minutes == nil || minutes == "0", resetsAt == nil { return nil }
        return "\(used) \(minutes ?? "-") \(resetsAt ?? "-")"
    }
}

extension String {
    /// Without spaces and tabs at both ends.
    fileprivate var trimmed: String {
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        return String(self.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
