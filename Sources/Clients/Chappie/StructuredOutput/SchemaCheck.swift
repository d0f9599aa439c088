import PlatformFoundation
import ResponseEvents

/// Decides whether a JSON value fits a schema (JSON Schema draft 2020-12).
///
/// Keywords that are not listed in `accepts`, such as `pattern`, accept every value, and so do schemas inside of each
/// other more than 512 deep.
struct SchemaCheck {
    private let root: ChappieJSONValue

    private static let maximumDepth = 512

    /// Creates a check of a schema.
    init(schema: ChappieJSONValue) { self.root = schema }

    /// Returns whether a value fits the schema.
    func accepts(_ value: JSONDocumentValue) -> Bool { self.accepts(value, self.root, depth: 0) }

    private func accepts(_ value: JSONDocumentValue, _ schema: ChappieJSONValue, depth: Int) -> Bool {
        guard schema != .bool(false) else { return false }
        guard depth < Self.maximumDepth else { return true }
        let isAccepted = { self.accepts(value, $0, depth: depth + 1) }
        if let types = schema.jsonTypes, !types.contains(where: value.isOf) { return false }
        if let choices = schema["enum"]?.array, !choices.contains(where: value.isEqual) { return false }
        if let constant = schema["const"], !value.isEqual(to: constant) { return false }
        if let target = self.target(of: schema), !isAccepted(target) { return false }
        if let all = schema["allOf"]?.array, !all.allSatisfy(isAccepted) { return false }
        for keyword in ["anyOf", "oneOf"] {
            if let choices = schema[keyword]?.array, !choices.contains(where: isAccepted) { return false }
        }
        switch value {
        case .object(let members): return self.accepts(members, schema, depth: depth)
        case .array(let elements):
            guard Self.isIn(Double(elements.count), schema, "minItems", "maxItems") else { return false }
            guard let items = schema["items"] else { return true }
            let first = schema["prefixItems"]?.array?.count ?? 0
            return elements.dropFirst(first).allSatisfy { self.accepts($0, items, depth: depth + 1) }
        case .string(let text):
            return Self.isIn(Double(text.unicodeScalars.count), schema, "minLength", "maxLength")
                && Self.isText(text, of: schema["format"]?.string)
        case .number(let text):
            return Double(text).map { Self.isIn($0, schema, "minimum", "maximum") } ?? true
        case .bool, .null: return true
        }
    }

    /// Returns whether the members of an object fit a schema; of members with the same name the last one counts.
    ///
    /// A member that is absent counts as `null`, because optionals are decoded from both.
    private func accepts(_ members: [JSONDocumentValue.Member], _ schema: ChappieJSONValue, depth: Int) -> Bool {
        let values = Dictionary(members.map { ($0.name, $0.value) }) { _, last in last }
        let required = schema["required"]?.array?.compactMap(\.string) ?? []
        let properties = schema["properties"]?.object ?? [:]
        let isThere = { (name: String) in
            values[name] != nil || properties[name].map { self.accepts(.null, $0, depth: depth + 1) } == true
        }
        guard required.allSatisfy(isThere) else { return false }
        // A pattern may name further members.
        let others = schema["patternProperties"] == nil ? schema["additionalProperties"] : nil
        return values.allSatisfy { name, value in
            guard let expected = properties[name] ?? others else { return true }
            return self.accepts(value, expected, depth: depth + 1)
        }
    }

    /// Returns the schema that a reference inside the document names: `#`, or a JSON pointer behind it.
    private func target(of schema: ChappieJSONValue) -> ChappieJSONValue? {
        guard let reference = schema["$ref"]?.string, reference.first == "#" else { return nil }
        return reference.dropFirst().split(separator: "/").reduce(self.root as ChappieJSONValue?) { schema, step in
            schema?[String(step).replacing("~1", with: "/").replacing("~0", with: "~")]
                ?? Int(step).flatMap { schema?[$0] }
        }
    }

    private static func isIn(_ number: Double, _ schema: ChappieJSONValue, _ least: String, _ most: String) -> Bool {
        (schema[least]?.number).map { $0 <= number } ?? true && (schema[most]?.number).map { number <= $0 } ?? true
    }

    private static func isText(_ text: String, of format: String?) -> Bool {
        switch format {
        case "date-time": Date(dateTime: text) != nil
        case "uuid": UUID(uuidString: text) != nil
        default: true
        }
    }
}

extension ChappieJSONValue {
    /// The types that a schema names; nil when it names none, or one that JSON Schema does not have.
    var jsonTypes: [String]? {
        let types: [String]
        switch self["type"] {
        case .string(let type): types = [type]
        case .array(let elements): types = elements.compactMap(\.string)
        case .object, .number, .bool, .null, nil: return nil
        }
        let known: Set = ["object", "array", "string", "number", "integer", "boolean", "null"]
        guard !types.isEmpty, types.allSatisfy(known.contains) else { return nil }
        return self["nullable"] == .bool(true) ? types + ["null"] : types
    }
}

extension JSONDocumentValue {
    /// JSON Schema's name of the value's type.
    var typeName: String {
        switch self {
        case .object: "object"
        case .array: "array"
        case .string: "string"
        case .number: "number"
        case .bool: "boolean"
        case .null: "null"
        }
    }

    /// Returns whether the value has a type of JSON Schema, in which 1.0 is an integer.
    func isOf(type: String) -> Bool {
        guard type == "integer" else { return self.typeName == type }
        guard case .number(let text) = self, let number = Double(text) else { return false }
        return number.rounded() == number
    }

    /// Returns whether the value is this one.
    fileprivate func isEqual(to other: ChappieJSONValue) -> Bool { ChappieJSONValue(self) == other }
}
