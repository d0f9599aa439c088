// Plans as JSON: `{"faults":[{"action":{"cut":{"atByte":1234}},"direction":"toClient","firstConnection":2}]}`.
//
// Pure. Unknown members are errors, so that a misspelt fault is noticed.
import PlatformFoundation

extension FaultProxy.Plan {
    /// Reads a plan from its JSON text.
    public init(jsonText: String) throws(FaultProxy.PlanError) { try self.init(PlanNode(jsonText: jsonText)) }

    /// Reads the `proxy` member of a scenario file; nil when it has none.
    public init?(scenarioText: String) throws(FaultProxy.PlanError) {
        guard let node = try PlanNode(jsonText: scenarioText).optional("proxy") else { return nil }
        try self.init(node)
    }

    /// The plan as JSON text.
    public var jsonText: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        // Encoding fails only for a rate that is not a number.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}

// MARK: Nodes

/// A JSON value of a plan, and its place.
private struct PlanNode {
    let value: JSONValue
    /// The path to the value, such as `faults[2].action`; empty for the whole text.
    let place: String

    init(_ value: JSONValue, at place: String = "") {
        self.value = value
        self.place = place
    }

    /// Reads a text.
    init(jsonText: String) throws(FaultProxy.PlanError) {
        guard let value = JSONValue(Array(jsonText.utf8)) else { throw .init(member: "", problem: .notJSON) }
        self.init(value)
    }

    /// Reads a value, and throws the decoder's error for a part of the plan that is wrong.
    static func decode<Part>(
        _ decoder: any Decoder, _ read: (PlanNode) throws(FaultProxy.PlanError) -> Part
    ) throws -> Part {
        do {
            return try read(PlanNode(try JSONValue(from: decoder)))
        } catch let error as FaultProxy.PlanError {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: error.description, underlyingError: error))
        }
    }

    func error(_ problem: FaultProxy.PlanError.Problem) -> FaultProxy.PlanError {
        .init(member: self.place, problem: problem)
    }

    // MARK: Objects

    /// The members of an object.
    func members() throws(FaultProxy.PlanError) -> [JSONValue.Member] {
        guard case .object(let members) = self.value else { throw self.error(.wrongType(expected: "an object")) }
        return members
    }

    /// Throws for a member of another name.
    func allow(_ names: [String]) throws(FaultProxy.PlanError) {
        let unknown = try self.members().map(\.name).filter { !names.contains($0) }.min()
        if let unknown { throw .init(member: self.place(of: unknown), problem: .unknown) }
    }

    /// Returns a member; nil when it is missing or null.
    func optional(_ name: String) throws(FaultProxy.PlanError) -> Self? {
        let value = try self.members().last { $0.name == name }?.value ?? .null
        return value == .null ? nil : Self(value, at: self.place(of: name))
    }

    /// Returns a member; throws when it is missing or null.
    func required(_ name: String) throws(FaultProxy.PlanError) -> Self {
        guard let node = try self.optional(name) else {
            throw .init(member: self.place(of: name), problem: .missing)
        }
        return node
    }

    private func place(of name: String) -> String { self.place.isEmpty ? name : "\(self.place).\(name)" }

    // MARK: Values

    /// The elements of an array.
    func elements() throws(FaultProxy.PlanError) -> [Self] {
        guard case .array(let elements) = self.value else { throw self.error(.wrongType(expected: "an array")) }
        return elements.enumerated().map { Self($1, at: "\(self.place)[\($0)]") }
    }

    /// The text of a string.
    func text() throws(FaultProxy.PlanError) -> String {
        guard case .string(let text) = self.value else { throw self.error(.wrongType(expected: "a string")) }
        return text
    }

    /// The value of a number.
    func number() throws(FaultProxy.PlanError) -> Double {
        guard case .number(let text) = self.value else { throw self.error(.wrongType(expected: "a number")) }
        guard let number = Double(text), number.isFinite else { throw self.impossibleNumber }
        return number
    }

    /// The value of a number without a fraction.
    func wholeNumber() throws(FaultProxy.PlanError) -> Int {
        guard case .number(let text) = self.value else { throw self.error(.wrongType(expected: "a whole number")) }
        guard let number = Int(text) ?? Double(text).flatMap(Int.init(exactly:)) else { throw self.impossibleNumber }
        return number
    }

    private var impossibleNumber: FaultProxy.PlanError { self.error(.wrongType(expected: "a possible number")) }

    /// The value of a mask; invalid numbers become 0, which `validate()` then refuses.
    func mask() throws(FaultProxy.PlanError) -> UInt8 { UInt8(exactly: try self.wholeNumber()) ?? 0 }

    /// The value of a duration in seconds; excessive numbers become slightly more than the longest one, which
    /// `validate()` then refuses.
    func duration() throws(FaultProxy.PlanError) -> Duration {
        .seconds(min(max(try self.number(), -1), Double(FaultProxy.longestDuration.components.seconds) + 1))
    }
}

// MARK: Plan and fault

extension FaultProxy.Plan: Codable {
    /// Reads a plan and checks it.
    public init(from decoder: any Decoder) throws { self = try PlanNode.decode(decoder, Self.init) }

    /// Writes the plan.
    public func encode(to encoder: any Encoder) throws {
        try JSONValue.members(["faults": .array(self.faults.map(\.json))]).encode(to: encoder)
    }

    fileprivate init(_ node: PlanNode) throws(FaultProxy.PlanError) {
        try node.allow(["faults"])
        self.faults = []
        for element in try node.required("faults").elements() { self.faults.append(try FaultProxy.Fault(element)) }
        do {
            try self.validate()
        } catch {
            let place = node.place.isEmpty ? error.member : "\(node.place).\(error.member)"
            throw .init(member: place, problem: error.problem)
        }
    }
}

extension FaultProxy.Fault: Codable {
    /// Reads a fault.
    public init(from decoder: any Decoder) throws { self = try PlanNode.decode(decoder, Self.init) }

    /// Writes the fault; default values are left out.
    public func encode(to encoder: any Encoder) throws { try self.json.encode(to: encoder) }

    fileprivate init(_ node: PlanNode) throws(FaultProxy.PlanError) {
        try node.allow(["firstConnection", "lastConnection", "direction", "action"])
        self.firstConnection = try node.optional("firstConnection")?.wholeNumber() ?? 1
        self.lastConnection = try node.optional("lastConnection")?.wholeNumber()
        self.action = try FaultProxy.Action(node.required("action"))
        self.direction = .toClient
        guard let named = try node.optional("direction") else { return }
        guard let direction = FaultProxy.Direction(rawValue: try named.text()) else {
            throw named.error(.outOfRange(expected: "toClient or toServer"))
        }
        if self.action.byteOffset == nil { throw named.error(.notApplicable) }
        self.direction = direction
    }

    fileprivate var json: JSONValue {
        var members: [JSONValue.Member] = []
        if self.firstConnection != 1 { members.append(.init("firstConnection", self.firstConnection)) }
        if let last = self.lastConnection { members.append(.init("lastConnection", last)) }
        if self.action.byteOffset != nil {
            members.append(.init(name: "direction", value: .string(self.direction.rawValue)))
        }
        return .object(members + [.init(name: "action", value: self.action.json)])
    }
}

// MARK: Action

extension FaultProxy.Action: Codable {
    /// Reads an action: an object with one member, named after it.
    public init(from decoder: any Decoder) throws { self = try PlanNode.decode(decoder, Self.init) }

    /// Writes the action.
    public func encode(to encoder: any Encoder) throws { try self.json.encode(to: encoder) }

    fileprivate init(_ node: PlanNode) throws(FaultProxy.PlanError) {
        let names = try node.members().map(\.name)
        guard let name = names.first, names.count == 1 else {
            throw node.error(.wrongType(expected: "an object with one member"))
        }
        let members = try node.required(name)
        func number(_ name: String) throws(FaultProxy.PlanError) -> Int { try members.required(name).wholeNumber() }
        func start() throws(FaultProxy.PlanError) -> Int { try members.optional("fromByte")?.wholeNumber() ?? 0 }
        guard let allowed = Self.memberNames[name] else { throw members.error(.unknown) }
        try members.allow(allowed)
        switch name {
        case "cut": self = .cut(atByte: try number("atByte"))
        case "reset": self = .reset(atByte: try number("atByte"))
        case "halfOpen": self = .halfOpen(atByte: try number("atByte"))
        case "stall": self = .stall(atByte: try number("atByte"), for: try members.optional("seconds")?.duration())
        case "slice": self = .slice(byteCount: try number("byteCount"), fromByte: try start())
        case "throttle":
            self = .throttle(bytesPerSecond: try members.required("bytesPerSecond").number(), fromByte: try start())
        case "corrupt":
            self = .corrupt(atByte: try number("atByte"), mask: try members.optional("mask")?.mask() ?? 0xFF)
        case "delay": self = .delay(try members.required("seconds").duration())
        default: self = name == "refuse" ? .refuse : .silence
        }
    }

    /// The members of each action.
    private static let memberNames = [
        "cut": ["atByte"], "reset": ["atByte"], "halfOpen": ["atByte"], "stall": ["atByte", "seconds"],
        "slice": ["byteCount", "fromByte"], "throttle": ["bytesPerSecond", "fromByte"], "corrupt": ["atByte", "mask"],
        "refuse": [], "silence": [], "delay": ["seconds"],
    ]

    fileprivate var json: JSONValue {
        let members: [JSONValue.Member] =
            switch self {
            case .cut(let offset), .reset(let offset), .halfOpen(let offset): [.init("atByte", offset)]
            case .stall(let offset, let duration):
                [.init("atByte", offset)] + (duration.map { [.init("seconds", $0.inSeconds)] } ?? [])
            case .slice(let count, let offset):
                [.init("byteCount", count)] + (offset == 0 ? [] : [.init("fromByte", offset)])
            case .throttle(let rate, let offset):
                [.init("bytesPerSecond", rate)] + (offset == 0 ? [] : [.init("fromByte", offset)])
            case .corrupt(let offset, let mask): [.init("atByte", offset), .init("mask", mask)]
            case .delay(let duration): [.init("seconds", duration.inSeconds)]
            case .refuse, .silence: []
            }
        return .members([self.name: .object(members)])
    }
}

extension JSONValue.Member {
    fileprivate init(_ name: String, _ number: some Numeric) {
        self.init(name: name, value: .number("\(number)"))
    }
}

extension Duration {
    /// The duration as a number of seconds.
    var inSeconds: Double {
        Double(self.components.seconds) + Double(self.components.attoseconds) / 1e18
    }
}
