// The form of scenario files: their JSON schema, embedded by the package manager, and the check against it.
//
// Pure values without an owner.

extension ChappieTestServer.Scenario {
    /// Throws the faults of a text in the form of a scenario, or of the part of one where members are missing; nothing
    /// where it is not JSON.
    package static func checkForm(of text: String, isWhole: Bool = true) throws(FormError) {
        guard let value = JSONValue(Array(text.utf8)) else { return }
        let form = ScenarioSchema.current.faults(of: value, isWhole: isWhole)
        let rules = FaultProxy.Plan.violatedRules(in: value["proxy"] ?? .null, at: "proxy", besides: form)
        if let error = FormError(form + rules) { throw error }
    }
}

/// A JSON schema (draft 2020-12), of the words that the schema of scenarios uses.
///
/// Unlike a schema it takes null for a member that is left out, as the decoder of scenarios does.
struct ScenarioSchema: Sendable {
    /// The schema of scenarios.
    static let current = Self(JSONValue(PackageResources.scenario_schema_json) ?? .object([]))

    private let root: JSONValue

    /// Creates the check of a schema.
    init(_ root: JSONValue) { self.root = root }

    /// Returns the faults of a value as a scenario, or as one of the schema's definitions; `isWhole` states that no
    /// member of it may be missing.
    func faults(of value: JSONValue, as definition: String? = nil, isWhole: Bool = true) -> [FormFault] {
        let schema = definition.map { self.root["$defs"]?[$0] ?? .object([]) } ?? self.root
        var faults: [FormFault] = []
        self.check(value, schema, at: "", requires: isWhole, &faults)
        return faults
    }

    private func check(
        _ value: JSONValue, _ schema: JSONValue, at place: String, requires: Bool = true, _ faults: inout [FormFault]
    ) {
        let schema = self.resolved(schema)
        let names = schema["enum"]?.elements.compactMap(\.string) ?? []
        if !names.isEmpty {
            if let word = value.string, names.contains(word) { return }
            let hint = value.string.flatMap { EditDistance.nearest(to: $0, among: names) }
            let words = "needs one of \(names.joined(separator: ", ")), not \(value.text)" + Self.suggestion(hint)
            return faults.append(.init(place, .outOfRange(expected: names.joined(separator: " or ")), words))
        }
        switch schema["type"]?.string {
        case "object": self.checkMembers(of: value, schema, at: place, requires: requires, &faults)
        case "array":
            guard case .array(let elements) = value else {
                return faults.append(.init(place, .wrongType(expected: "an array")))
            }
            for (index, element) in elements.enumerated() {
                self.check(element, schema["items"] ?? .object([]), at: "\(place)[\(index)]", &faults)
            }
        case let type?:
            if !value.isScalar(of: type) {
                faults.append(.init(place, .wrongType(expected: Self.words(forType: type))))
            } else if let range = Self.violatedRange(value, schema) {
                faults.append(.init(place, .outOfRange(expected: range)))
            }
        case nil: break
        }
    }

    private func checkMembers(
        of value: JSONValue, _ schema: JSONValue, at place: String, requires: Bool, _ faults: inout [FormFault]
    ) {
        guard case .object(let members) = value else {
            return faults.append(.init(place, .wrongType(expected: "an object")))
        }
        let properties = schema["properties"] ?? .object([])
        // The name of the only member is a choice, so that null does not leave it out.
        let isChoice = schema["maxProperties"] == .number("1")
        for member in members where isChoice || member.value != .null {
            let path = place.isEmpty ? member.name : "\(place).\(member.name)"
            if let known = properties[member.name] ?? schema["additionalProperties"].flatMap({ $0.isObject ? $0 : nil })
            {
                self.check(member.value, known, at: path, &faults)
            } else {
                let words = "is unknown" + Self.suggestion(for: member.name, among: properties.names)
                faults.append(.init(path, .unknown, words))
            }
        }
        if isChoice, members.count != 1 {
            let problem = FormFault.Problem.wrongType(expected: "an object with one member")
            faults.append(.init(place, problem, "needs exactly one member"))
        }
        guard requires else { return }
        for name in schema["required"]?.elements.compactMap(\.string) ?? [] where value[name] ?? .null == .null {
            faults.append(.init(place.isEmpty ? name : "\(place).\(name)", .missing))
        }
    }

    private func resolved(_ schema: JSONValue) -> JSONValue {
        guard let name = schema["$ref"]?.string?.split(separator: "/").last else { return schema }
        return self.root["$defs"]?[String(name)] ?? .object([])
    }

    /// Returns the words for the range that a number is not in; nil for one in it, and for no number.
    private static func violatedRange(_ value: JSONValue, _ schema: JSONValue) -> String? {
        guard let number = value.double, let least = schema["minimum"]?.double else { return nil }
        guard number < least || number > schema["maximum"]?.double ?? .infinity else { return nil }
        let lowest = schema["minimum"]?.text ?? ""
        return schema["maximum"].map { "from \(lowest) to \($0.text)" } ?? "at least \(lowest)"
    }

    // MARK: Words

    private static func words(forType type: String) -> String {
        switch type {
        case "integer": "a whole number"
        case "boolean": "true or false"
        default: "a \(type)"
        }
    }

    private static func suggestion(_ nearest: String?) -> String { nearest.map { "; did you mean \($0)?" } ?? "" }

    /// Returns the nearest name, or all of a few.
    private static func suggestion(for name: String, among names: [String]) -> String {
        if let nearest = EditDistance.nearest(to: name, among: names) { return Self.suggestion(nearest) }
        return (1...8).contains(names.count) ? " (known: \(names.joined(separator: ", ")))" : ""
    }
}

extension JSONValue {
    /// The names of an object's members.
    fileprivate var names: [String] { if case .object(let members) = self { members.map(\.name) } else { [] } }

    /// Returns whether the value is of a simple type of JSON schema.
    fileprivate func isScalar(of type: String) -> Bool {
        switch (self, type) {
        case (.string, "string"), (.bool, "boolean"): true
        case (.number, "number"): self.double != nil
        case (.number, "integer"): self.integer != nil
        default: false
        }
    }
}
