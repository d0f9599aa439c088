// Values that fit a JSON schema: arguments of tool calls, and answers in the format that a request asks for.
//
// Pure.

/// Makes values that fit a JSON schema, the same for the same schema and index.
struct SchemaSample {
    /// The schema that references lead into.
    private let root: JSONValue
    /// The number of the value, from 0; numbers and texts contain it.
    private let index: Int
    /// The number of the element, from 0, in an array of different ones.
    private var variant = 0

    private static let cities = ["Oslo", "Bergen", "東京", "Zürich"]
    /// A schema that contains itself is left at this depth, where it allows that.
    private static let maximumDepth = 5
    /// A schema that demands itself ends with null, at this depth or after this number of values.
    private static let lastDepth = 64
    private var remainingCount = 5_000

    /// A text of each format of JSON Schema that texts are usually asked for in.
    private static let formats = [
        "date-time": "2026-01-01T12:00:00Z", "date": "2026-01-01", "time": "12:00:00Z", "duration": "PT1H",
        "email": "ada@example.org", "hostname": "example.org", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
        "uri": "https://example.org/", "uuid": "6f1d3c1e-3f0a-4c1b-9a55-0d2f5c6b7a80",
    ]

    private init(root: JSONValue, index: Int) {
        self.root = root
        self.index = index
    }

    /// Returns the input for a tool that takes any text.
    static func input(number: Int) -> String { "input \(number + 1)" }

    /// Returns the arguments of a function: an object with a value for every required property, or for every one when
    /// none is required.
    ///
    /// `index` counts the calls since the user's last message, from 0.
    static func arguments(for schema: JSONValue?, index: Int) -> JSONValue {
        guard let schema, case .object = schema["properties"] else { return .object([]) }
        var sample = Self(root: schema, index: index)
        return sample.object(schema, depth: 0)
    }

    /// Returns the answer to a request that asks for JSON (`text.format`); nil for one that does not.
    static func answer(to request: JSONValue) -> JSONValue? {
        let format = request["text"]?["format"]
        switch format?["type"]?.string {
        case "json_schema":
            let schema = format?["schema"] ?? .object([])
            var sample = Self(root: schema, index: 0)
            return sample.value("answer", schema, depth: 0)
        case "json_object": return .object([.init(name: "answer", value: .string(Self.cities[0]))])
        default: return nil
        }
    }

    // MARK: Values

    private mutating func value(_ name: String, _ schema: JSONValue, depth: Int) -> JSONValue {
        guard self.remainingCount > 0, depth < Self.lastDepth else { return .null }
        self.remainingCount -= 1
        if let constant = schema["const"] { return constant }
        if let choices = schema["enum"]?.elements, !choices.isEmpty { return choices[self.variant % choices.count] }
        if let target = self.target(of: schema) { return self.value(name, target, depth: depth + 1) }
        if case .array(let parts)? = schema["allOf"] {
            let whole = parts.reduce(Self.rest(of: schema, without: ["allOf"])) { Self.join($0, $1) }
            return self.value(name, whole, depth: depth + 1)
        }
        let choices = (schema["anyOf"] ?? schema["oneOf"])?.elements ?? []
        let isNull = { (choice: JSONValue) in choice["type"]?.string == "null" }
        let others = choices.filter { !isNull($0) }
        let other = others.isEmpty ? choices.first : others[self.variant % others.count]
        if let choice = (depth < Self.maximumDepth ? nil : choices.first(where: isNull)) ?? other {
            let rest = Self.rest(of: schema, without: ["anyOf", "oneOf"])
            // Joined to nothing a choice keeps its null, which a merge would take for a member to remove.
            let isAlone = rest["properties"] == nil && rest["required"] == nil
            return self.value(name, isAlone ? choice : Self.join(rest, choice), depth: depth + 1)
        }
        switch self.type(of: schema, depth: depth) {
        case "integer", "number": return self.number(schema)
        case "boolean": return .bool(self.variant.isMultiple(of: 2))
        case "null": return .null
        case "array": return self.array(name, schema, depth: depth)
        case "object": return self.object(schema, depth: depth)
        default: return .string(self.text(name, schema))
        }
    }

    /// Returns the first type of a schema that is not null; null where the schema nests deeply and allows it.
    private func type(of schema: JSONValue, depth: Int) -> String? {
        guard let type = schema["type"] else {
            return schema["properties"] != nil ? "object" : schema["items"] != nil ? "array" : nil
        }
        let types = type.string.map { [$0] } ?? type.elements.compactMap(\.string)
        if depth >= Self.maximumDepth, types.contains("null") { return "null" }
        return types.first { $0 != "null" } ?? types.first
    }

    private mutating func object(_ schema: JSONValue, depth: Int) -> JSONValue {
        let required = (schema["required"]?.elements ?? []).compactMap(\.string)
        let least = min(Self.integer(schema["minProperties"]) ?? 0, 1_000)
        let members = if case .object(let members)? = schema["properties"] { members } else { [JSONValue.Member]() }
        let other = schema["additionalProperties"] ?? .bool(true)
        let isDeep = depth >= Self.maximumDepth
        var wanted = members.filter { required.contains($0.name) || (required.isEmpty && !isDeep) }
        if required.isEmpty { wanted = Array(wanted.prefix(Self.integer(schema["maxProperties"]) ?? Int.max)) }
        wanted += members.filter { member in !wanted.contains(member) }.prefix(max(0, least - wanted.count))
        if other != .bool(false) {
            // An object with any names has one member.
            let names = required.filter { name in !members.contains { $0.name == name } }
            let count = max(least - wanted.count - names.count, members.isEmpty && other.isObject && !isDeep ? 1 : 0)
            let examples = (0..<max(0, count)).map { $0 == 0 ? "example" : "example \($0 + 1)" }
            wanted += (names + examples).map { .init(name: $0, value: other) }
        }
        return .object(wanted.map { .init(name: $0.name, value: self.value($0.name, $0.value, depth: depth + 1)) })
    }

    private mutating func array(_ name: String, _ schema: JSONValue, depth: Int) -> JSONValue {
        if ["cmd", "command"].contains(name) { return .array([.string("echo"), .string("ok")]) }
        let first = schema["prefixItems"]?.elements ?? []
        let least = Self.integer(schema["minItems"]) ?? 0
        let most = Self.integer(schema["maxItems"]) ?? Int.max
        let wanted = depth < Self.maximumDepth ? max(1, first.count) : 0
        let items = schema["items"] ?? .object([])
        let count = min(max(least, wanted), most, 1_000)
        guard schema["uniqueItems"] == .bool(true) else {
            return .array((0..<count).map { self.value(name, $0 < first.count ? first[$0] : items, depth: depth + 1) })
        }
        var elements: [JSONValue] = []
        let outer = self.variant
        defer { self.variant = outer }
        // A few of so many choices, or of short texts, are the same.
        for variant in 0..<count * 2 + 16 where elements.count < count {
            self.variant = outer + variant
            let place = elements.count
            let element = self.value(name, place < first.count ? first[place] : items, depth: depth + 1)
            if !elements.contains(element) { elements.append(element) }
        }
        return .array(elements)
    }

    private func number(_ schema: JSONValue) -> JSONValue {
        var number = self.index + 1 + self.variant
        if let least = Self.integer(schema["minimum"]) { number = max(number, least + self.variant) }
        if let least = Self.integer(schema["exclusiveMinimum"]) { number = max(number, least + 1 + self.variant) }
        if let factor = Self.integer(schema["multipleOf"]), factor > 0 {
            number = ((number - self.variant + factor - 1) / factor + self.variant) * factor
        }
        if let most = Self.integer(schema["maximum"], .down) { number = min(number, most) }
        if let most = Self.integer(schema["exclusiveMaximum"]) { number = min(number, most - 1) }
        // No whole number is between 0.1 and 0.2.
        let leasts = [schema["minimum"], schema["exclusiveMinimum"]].compactMap { $0.flatMap(Self.number) }
        let mosts = [schema["maximum"], schema["exclusiveMaximum"]].compactMap { $0.flatMap(Self.number) }
        guard let least = leasts.max(), let most = mosts.min(), Double(number) < least, least <= most else {
            return .number(String(number))
        }
        return .number("\(least + (most - least) / 2)")
    }

    private func text(_ name: String, _ schema: JSONValue) -> String {
        if let text = schema["format"]?.string.flatMap({ Self.formats[$0] }) { return text }
        let index = self.index + self.variant
        var text = Self.cities[index % Self.cities.count]
        if index >= Self.cities.count { text += " \(index + 1)" }
        if ["cmd", "command"].contains(name) { text = index == 0 ? "echo ok" : "echo ok \(index + 1)" }
        let least = min(Self.integer(schema["minLength"]) ?? 0, 10_000)
        text += String(repeating: "a", count: max(0, least - text.unicodeScalars.count))
        let most = Self.integer(schema["maxLength"]) ?? Int.max
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(max(0, most))))
    }

    private static func integer(_ value: JSONValue?, _ rounding: FloatingPointRoundingRule = .up) -> Int? {
        value.flatMap(Self.number).flatMap { Int(exactly: $0.rounded(rounding)) }
    }

    private static func number(_ value: JSONValue) -> Double? {
        if case .number(let text) = value { Double(text) } else { nil }
    }

    // MARK: Schemas

    /// Returns the schema that a reference inside the document names: `#`, or a JSON pointer behind it.
    private func target(of schema: JSONValue) -> JSONValue? {
        guard let reference = schema["$ref"]?.string, reference.first == "#" else { return nil }
        return reference.dropFirst().split(separator: "/").reduce(self.root as JSONValue?) { $0?[String($1)] }
    }

    /// Returns a schema without some of its members.
    private static func rest(of schema: JSONValue, without names: [String]) -> JSONValue {
        guard case .object(let members) = schema else { return schema }
        return .object(members.filter { !names.contains($0.name) })
    }

    /// Returns a schema with the demands of two.
    private static func join(_ first: JSONValue, _ second: JSONValue) -> JSONValue {
        let required = (first["required"]?.elements ?? []) + (second["required"]?.elements ?? [])
        let joined = first.merging(second)
        return required.isEmpty ? joined : joined.replacing("required", with: .array(required))
    }
}
