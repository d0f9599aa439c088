// Plans as JSON: `{"faults":[{"action":{"cut":{"atByte":1234}},"direction":"toClient","firstConnection":2}]}`.
//
// Pure. The form is that of scenario files, and so is its check: unknown members are errors, and all of them are reported.

extension FaultProxy.Plan {
    /// Reads a plan from its JSON text.
    ///
    /// Throws all faults of the text, such as unknown members, for each of which the nearest known one is suggested.
    package init(jsonText: String) throws(FormError) {
        try self.init(Self.value(of: jsonText), at: "")
    }

    /// Reads the `proxy` member of a scenario file; nil when it has none.
    package init?(scenarioText: String) throws(FormError) {
        let value = try Self.value(of: scenarioText)
        guard value.isObject else { throw .init(member: "", problem: .wrongType(expected: "an object")) }
        guard let plan = value["proxy"], plan != .null else { return nil }
        try self.init(plan, at: "proxy")
    }

    /// Returns the faults of a plan that fit the schema, but violate a rule that it does not express.
    static func violatedRules(in plan: JSONValue, at place: String, besides form: [FormFault]) -> [FormFault] {
        let elements = plan["faults"]?.elements ?? []
        return elements.enumerated().flatMap { index, element -> [FormFault] in
            let path = (place.isEmpty ? "" : "\(place).") + "faults[\(index)]"
            if form.contains(where: { $0.member == path || $0.member.hasPrefix("\(path).") }) { return [] }
            return FaultProxy.Fault.violatedRules(in: element).map { $0.within(path) }
        }
    }

    private static func value(of text: String) throws(FormError) -> JSONValue {
        guard let value = JSONValue(Array(text.utf8)) else { throw .init(member: "", problem: .notJSON) }
        return value
    }

    private static func faults(of value: JSONValue) -> [FormFault] {
        let form = ScenarioSchema.current.faults(of: value, as: "proxy")
        return form + Self.violatedRules(in: value, at: "", besides: form)
    }

    private init(_ value: JSONValue, at place: String) throws(FormError) {
        if let error = FormError(Self.faults(of: value).map({ $0.within(place) })) { throw error }
        self.init(ofForm: value)
    }

    /// Takes a value that fits the schema.
    private init(ofForm value: JSONValue) {
        self.init((value["faults"]?.elements ?? []).map(FaultProxy.Fault.init(ofForm:)))
    }
}

// MARK: Fault

extension FaultProxy.Fault {
    /// Takes a value that fits the schema.
    fileprivate init(ofForm value: JSONValue) {
        self.init(ConnectionFault(ofForm: value["action"] ?? .null), from: value["firstConnection"]?.integer ?? 1)
        self.lastConnection = value["lastConnection"]?.integer
        if let direction = value["direction"]?.string { self.direction = .init(rawValue: direction) ?? .toClient }
    }

    /// Returns the rules that a value of the schema's form violates.
    fileprivate static func violatedRules(in value: JSONValue) -> [FormFault] {
        let fault = Self(ofForm: value)
        let hasDirection = value["direction"] ?? .null != .null
        let isApplicable = !hasDirection || fault.action.byteOffset != nil
        return fault.violatedRules + (isApplicable ? [] : [FormFault("direction", .notApplicable)])
    }
}

// MARK: Action

extension ConnectionFault {
    /// Takes a value that fits the schema: what it requires is there, and has its type.
    fileprivate init(ofForm value: JSONValue) {
        guard case .object(let choice) = value, let member = choice.first else { preconditionFailure("no action") }
        let members = member.value
        let offset = (members["atByte"] ?? members["fromByte"])?.integer ?? 0
        let duration = members["seconds"]?.double.map { Duration.seconds($0) }
        switch member.name {
        case "cut": self = .cut(atByte: offset)
        case "reset": self = .cut(atByte: offset, with: .reset)
        case "halfOpen": self = .halfOpen(atByte: offset)
        case "stall": self = .stall(atByte: offset, for: duration)
        case "slice": self = .slice(byteCount: members["byteCount"]?.integer ?? 1, fromByte: offset)
        case "throttle":
            self = .throttle(bytesPerSecond: members["bytesPerSecond"]?.double ?? 1, fromByte: offset)
        case "corrupt": self = .corrupt(atByte: offset, mask: UInt8(clamping: members["mask"]?.integer ?? 0xFF))
        case "delay": self = .delay(duration ?? .zero)
        case "refuse": self = .refuse
        case "silence": self = .silence
        default: preconditionFailure("the schema has an action that is not read: \(member.name)")
        }
    }
}

extension Duration {
    /// The duration as a number of seconds.
    var inSeconds: Double {
        Double(self.components.seconds) + Double(self.components.attoseconds) / 1e18
    }
}
