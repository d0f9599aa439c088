// JSON inside a scenario file: written as JSON there, kept as text here.
//
// Immutable values.

extension ChappieTestServer.Scenario {
    /// Any JSON value of a scenario file.
    package struct JSONText: Codable, Equatable, Sendable {
        /// The JSON text; members of objects are in the order of their names.
        package let text: String

        /// Creates a value of a JSON text; nil when it is not JSON.
        package init?(_ text: String) {
            guard let value = JSONValue(Array(text.utf8)) else { return nil }
            self.text = value.sorted.text
        }

        /// Reads any JSON value.
        package init(from decoder: any Decoder) throws {
            self.text = try JSONValue(from: decoder).text
        }

        /// Writes the value unchanged.
        package func encode(to encoder: any Encoder) throws {
            try (JSONValue(Array(self.text.utf8)) ?? .null).encode(to: encoder)
        }
    }
}

extension JSONValue {
    /// The value with the members of every object in the order of their names.
    var sorted: JSONValue {
        switch self {
        case .object(let members):
            .object(
                members.sorted { $0.name < $1.name }.map { Member(name: $0.name, value: $0.value.sorted) })
        case .array(let elements): .array(elements.map(\.sorted))
        case .null, .bool, .number, .string: self
        }
    }
}
