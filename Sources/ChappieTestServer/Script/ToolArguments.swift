// Arguments for a tool call, made from the tool's JSON schema.
//
// Pure.

/// Makes arguments that satisfy simple schemas.
enum ToolArguments {
    private static let cities = ["Oslo", "Bergen", "東京", "Zürich"]

    /// Returns the input for a tool that takes any text.
    static func input(number: Int) -> String { "input \(number + 1)" }

    /// Returns an object with a value for every required property, or for every one when none is required.
    ///
    /// `index` counts the calls since the user's last message, from 0; numbers and texts contain it.
    static func make(for schema: JSONValue?, index: Int) -> JSONValue {
        guard let schema, case .object(let properties)? = schema["properties"] else { return .object([]) }
        let required = (schema["required"]?.elements ?? []).compactMap(\.string)
        let wanted = properties.filter { required.isEmpty || required.contains($0.name) }
        return .object(
            wanted.map { .init(name: $0.name, value: Self.value($0.name, $0.value, index: index, depth: 0)) })
    }

    private static func value(_ name: String, _ schema: JSONValue, index: Int, depth: Int) -> JSONValue {
        if let choice = schema["enum"]?.elements.first { return choice }
        let type = schema["type"]?.string ?? schema["type"]?.elements.first?.string
        switch type {
        case "integer", "number": return .number(String(index + 1))
        case "boolean": return .bool(true)
        case "null": return .null
        case "array":
            let isCommand = ["cmd", "command"].contains(name)
            return .array(isCommand ? [.string("echo"), .string("ok")] : [])
        case "object": return depth > 4 ? .object([]) : Self.make(for: schema, index: index)
        default: return .string(Self.text(name, index: index))
        }
    }

    private static func text(_ name: String, index: Int) -> String {
        if ["cmd", "command"].contains(name) { return index == 0 ? "echo ok" : "echo ok \(index + 1)" }
        let city = Self.cities[index % Self.cities.count]
        return index < Self.cities.count ? city : "\(city) \(index + 1)"
    }
}
