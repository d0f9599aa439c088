// Plans as JSON: `{"faults":[{"action":{"cut":{"atByte":1234}},"direction":"toClient","firstConnection":2}]}`.
//
// Pure. Unknown members are errors, so that a misspelt fault is noticed.
import PlatformFoundation

extension FaultProxy.Plan {
    /// Reads a plan from its JSON text.
    public init(jsonText: String) throws(FaultProxy.PlanError) {
        self = try Self.decode(Self.self, from: jsonText)
    }

    /// Reads the `proxy` member of a scenario file; nil when it has none.
    public init?(scenarioText: String) throws(FaultProxy.PlanError) {
        guard let plan = try Self.decode(ScenarioPart.self, from: scenarioText).proxy else { return nil }
        self = plan
    }

    /// The part of a scenario file about the proxy.
    private struct ScenarioPart: Decodable {
        var proxy: FaultProxy.Plan?
    }

    /// The plan as JSON text.
    public var jsonText: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        // Encoding fails only for a rate that is not a number.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    private static func decode<Value: Decodable>(
        _: Value.Type, from text: String
    ) throws(FaultProxy.PlanError) -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
        } catch let error as DecodingError {
            throw FaultProxy.PlanError(error)
        } catch {
            throw .init(member: "", problem: .notJSON)
        }
    }
}

// MARK: Members

/// The name of a member in a plan.
private struct PlanMember: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { self.stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue _: Int) { nil }
}

extension Decoder {
    /// Returns the members of an object, none of which may have another name.
    fileprivate func members(_ names: [String]) throws -> KeyedDecodingContainer<PlanMember> {
        let members = try self.container(keyedBy: PlanMember.self)
        try members.checkNames(names)
        return members
    }
}

extension KeyedDecodingContainer<PlanMember> {
    /// Throws for a member of another name.
    fileprivate func checkNames(_ names: [String]) throws {
        let unknown = self.allKeys.map(\.stringValue).filter { !names.contains($0) }.min()
        if let unknown { throw DecodingError.planError(.unknown, at: self.codingPath + [PlanMember(unknown)]) }
    }

    fileprivate func value<Value: Decodable>(_ name: String, _: Value.Type = Value.self) throws -> Value {
        try self.naming(name) { try self.decode(Value.self, forKey: $0) }
    }

    fileprivate func optionalValue<Value: Decodable>(_ name: String, _: Value.Type = Value.self) throws -> Value? {
        try self.naming(name) { try self.decodeIfPresent(Value.self, forKey: $0) }
    }

    /// Adds the name of the member to a number's decoding error: the decoder's own error for it has no place.
    private func naming<Value>(_ name: String, _ decode: (PlanMember) throws -> Value) throws -> Value {
        let key = PlanMember(name)
        do {
            return try decode(key)
        } catch let error as DecodingError {
            throw error
        } catch {
            throw DecodingError.planError(.wrongType(expected: "a possible number"), at: self.codingPath + [key])
        }
    }

    /// Returns a mask; invalid numbers become 0, which `validate()` then refuses.
    fileprivate func mask(_ name: String) throws -> UInt8? {
        try self.optionalValue(name, Int.self).map { UInt8(exactly: $0) ?? 0 }
    }

    /// Returns a duration; excessive numbers become slightly more than the longest one, which `validate()` then
    /// refuses.
    fileprivate func duration(_ name: String) throws -> Duration? {
        guard let seconds = try self.optionalValue(name, Double.self) else { return nil }
        let limit = Double(FaultProxy.longestDuration.components.seconds) + 1
        return .seconds(seconds.isFinite ? min(max(seconds, -1), limit) : limit)
    }
}

extension KeyedEncodingContainer<PlanMember> {
    fileprivate mutating func encode(_ value: some Encodable, as name: String) throws {
        try self.encode(value, forKey: PlanMember(name))
    }
}

// MARK: Plan and fault

extension FaultProxy.Plan: Codable {
    /// Reads a plan and checks it.
    public init(from decoder: any Decoder) throws {
        self.faults = try decoder.members(["faults"]).value("faults")
        do {
            try self.validate()
        } catch {
            let path = decoder.codingPath
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: path, debugDescription: error.description,
                    underlyingError: FaultProxy.PlanError(member: path.member(error.member), problem: error.problem)))
        }
    }

    /// Writes the plan.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: PlanMember.self)
        try members.encode(self.faults, as: "faults")
    }
}

extension FaultProxy.Fault: Codable {
    /// Reads a fault.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.members(["firstConnection", "lastConnection", "direction", "action"])
        self.firstConnection = try members.optionalValue("firstConnection") ?? 1
        self.lastConnection = try members.optionalValue("lastConnection")
        self.action = try members.value("action")
        let name: String? = try members.optionalValue("direction")
        let path = members.codingPath + [PlanMember("direction")]
        guard let name else {
            self.direction = .toClient
            return
        }
        guard let direction = FaultProxy.Direction(rawValue: name) else {
            throw DecodingError.planError(.outOfRange(expected: "toClient or toServer"), at: path)
        }
        if self.action.byteOffset == nil { throw DecodingError.planError(.notApplicable, at: path) }
        self.direction = direction
    }

    /// Writes the fault; default values are left out.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: PlanMember.self)
        if self.firstConnection != 1 { try members.encode(self.firstConnection, as: "firstConnection") }
        if let last = self.lastConnection { try members.encode(last, as: "lastConnection") }
        if self.action.byteOffset != nil { try members.encode(self.direction, as: "direction") }
        try members.encode(self.action, as: "action")
    }
}

// MARK: Action

extension FaultProxy.Action: Codable {
    /// Reads an action: an object with one member, named after it.
    public init(from decoder: any Decoder) throws {
        let actions = try decoder.container(keyedBy: PlanMember.self)
        let names = actions.allKeys.map(\.stringValue).sorted()
        guard let name = names.first, names.count == 1 else {
            throw DecodingError.planError(.wrongType(expected: "an object with one member"), at: actions.codingPath)
        }
        let members = try actions.nestedContainer(keyedBy: PlanMember.self, forKey: PlanMember(name))
        switch name {
        case "cut": self = .cut(atByte: try Self.offset(members))
        case "reset": self = .reset(atByte: try Self.offset(members))
        case "halfOpen": self = .halfOpen(atByte: try Self.offset(members))
        case "stall": self = .stall(atByte: try Self.offset(members, "seconds"), for: try members.duration("seconds"))
        case "slice":
            try members.checkNames(["byteCount", "fromByte"])
            self = .slice(
                byteCount: try members.value("byteCount"), fromByte: try members.optionalValue("fromByte") ?? 0)
        case "throttle":
            try members.checkNames(["bytesPerSecond", "fromByte"])
            self = .throttle(
                bytesPerSecond: try members.value("bytesPerSecond"),
                fromByte: try members.optionalValue("fromByte") ?? 0)
        case "corrupt":
            self = .corrupt(
                atByte: try Self.offset(members, "mask"), mask: try members.mask("mask") ?? 0xFF)
        default: self = try Self.wholeConnectionAction(name, members)
        }
    }

    private static func wholeConnectionAction(
        _ name: String, _ members: KeyedDecodingContainer<PlanMember>
    ) throws -> Self {
        switch name {
        case "refuse", "silence":
            try members.checkNames([])
            return name == "refuse" ? .refuse : .silence
        case "delay":
            try members.checkNames(["seconds"])
            // It is read by its own name first, so that a missing one is reported as missing.
            _ = try members.value("seconds", Double.self)
            return .delay(try members.duration("seconds") ?? .zero)
        default: throw DecodingError.planError(.unknown, at: members.codingPath)
        }
    }

    private static func offset(_ members: KeyedDecodingContainer<PlanMember>, _ other: String...) throws -> Int {
        try members.checkNames(["atByte"] + other)
        return try members.value("atByte")
    }

    /// Writes the action.
    public func encode(to encoder: any Encoder) throws {
        var actions = encoder.container(keyedBy: PlanMember.self)
        var members = actions.nestedContainer(keyedBy: PlanMember.self, forKey: PlanMember(self.name))
        switch self {
        case .cut(let offset), .reset(let offset), .halfOpen(let offset): try members.encode(offset, as: "atByte")
        case .stall(let offset, let duration):
            try members.encode(offset, as: "atByte")
            if let duration { try members.encode(duration.inSeconds, as: "seconds") }
        case .slice(let count, let offset):
            try members.encode(count, as: "byteCount")
            if offset != 0 { try members.encode(offset, as: "fromByte") }
        case .throttle(let rate, let offset):
            try members.encode(rate, as: "bytesPerSecond")
            if offset != 0 { try members.encode(offset, as: "fromByte") }
        case .corrupt(let offset, let mask):
            try members.encode(offset, as: "atByte")
            try members.encode(mask, as: "mask")
        case .delay(let duration): try members.encode(duration.inSeconds, as: "seconds")
        case .refuse, .silence: break
        }
    }
}

extension Duration {
    /// The duration as a number of seconds.
    var inSeconds: Double {
        Double(self.components.seconds) + Double(self.components.attoseconds) / 1e18
    }
}

// MARK: Errors

extension DecodingError {
    fileprivate static func planError(_ problem: FaultProxy.PlanError.Problem, at path: [any CodingKey]) -> Self {
        let error = FaultProxy.PlanError(member: path.member(), problem: problem)
        return .dataCorrupted(
            .init(codingPath: path, debugDescription: error.description, underlyingError: error))
    }
}

extension [any CodingKey] {
    /// Returns the path in the notation of programming languages, with `rest` appended.
    fileprivate func member(_ rest: String = "") -> String {
        let path = self.reduce(into: "") { path, key in
            if let index = key.intValue {
                path += "[\(index)]"
            } else {
                path += (path.isEmpty ? "" : ".") + key.stringValue
            }
        }
        return path.isEmpty || rest.isEmpty ? path + rest : path + "." + rest
    }
}

extension FaultProxy.PlanError {
    /// Creates the error about a member from a decoder's error.
    fileprivate init(_ error: DecodingError) {
        switch error {
        case .keyNotFound(let key, let context):
            self.init(member: (context.codingPath + [key]).member(), problem: .missing)
        case .valueNotFound(_, let context): self.init(member: context.codingPath.member(), problem: .missing)
        case .typeMismatch(let type, let context):
            self.init(
                member: context.codingPath.member(), problem: .wrongType(expected: Self.words(for: type)))
        case .dataCorrupted(let context):
            let isWhole = context.codingPath.isEmpty
            self =
                context.underlyingError as? Self
                ?? Self(
                    member: context.codingPath.member(),
                    problem: isWhole ? .notJSON : .wrongType(expected: "a possible number"))
        @unknown default: self.init(member: "", problem: .notJSON)
        }
    }

    private static func words(for type: Any.Type) -> String {
        if type == String.self { return "a string" }
        if type == Double.self { return "a number" }
        if type == Int.self || type == UInt8.self { return "a whole number" }
        return "\(type)".hasPrefix("Array") ? "an array" : "an object"
    }
}
