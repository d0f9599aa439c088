// JSON inside a scenario file: written as JSON there, kept as text here.
//
// Immutable values.

extension ChappieTestServer.Scenario {
    /// Any JSON value of a scenario file.
    public struct JSONText: Codable, Hashable, Sendable {
        /// The JSON text; members of objects are in the order of their names.
        public let text: String

        /// Creates a value of a JSON text; nil when it is not JSON.
        public init?(_ text: String) {
            guard let value = JSONValue(Array(text.utf8)) else { return nil }
            self.text = value.sorted.text
        }

        /// Reads any JSON value.
        public init(from decoder: any Decoder) throws {
            self.text = try Value(from: decoder).value.text
        }

        /// Writes the value unchanged.
        public func encode(to encoder: any Encoder) throws {
            try Value(value: JSONValue(Array(self.text.utf8)) ?? .null).encode(to: encoder)
        }
    }

    /// A value during encoding or decoding.
    private struct Value: Codable {
        private struct Name: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }

            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        let value: JSONValue

        init(value: JSONValue) { self.value = value }

        init(from decoder: any Decoder) throws {
            if let members = try? decoder.container(keyedBy: Name.self) {
                let names = members.allKeys.sorted { $0.stringValue < $1.stringValue }
                self.value = .object(
                    try names.map { name in
                        .init(name: name.stringValue, value: try members.decode(Value.self, forKey: name).value)
                    })
            } else if var elements = try? decoder.unkeyedContainer() {
                var values: [JSONValue] = []
                while !elements.isAtEnd { values.append(try elements.decode(Value.self).value) }
                self.value = .array(values)
            } else {
                self.value = try Self.scalar(try decoder.singleValueContainer())
            }
        }

        private static func scalar(_ container: any SingleValueDecodingContainer) throws -> JSONValue {
            if container.decodeNil() { return .null }
            if let text = try? container.decode(String.self) { return .string(text) }
            if let flag = try? container.decode(Bool.self) { return .bool(flag) }
            if let number = try? container.decode(Int.self) { return .number(String(number)) }
            if let number = try? container.decode(UInt64.self) { return .number(String(number)) }
            return .number(String(try container.decode(Double.self)))
        }

        func encode(to encoder: any Encoder) throws {
            switch self.value {
            case .object(let members):
                var container = encoder.container(keyedBy: Name.self)
                for member in members {
                    try container.encode(Value(value: member.value), forKey: Name(stringValue: member.name))
                }
            case .array(let elements):
                var container = encoder.unkeyedContainer()
                for element in elements { try container.encode(Value(value: element)) }
            case .null, .bool, .number, .string:
                var container = encoder.singleValueContainer()
                try self.encodeScalar(to: &container)
            }
        }

        private func encodeScalar(to container: inout any SingleValueEncodingContainer) throws {
            switch self.value {
            case .bool(let flag): try container.encode(flag)
            case .string(let text): try container.encode(text)
            case .number(let text):
                if let number = Int(text) { return try container.encode(number) }
                if let number = UInt64(text) { return try container.encode(number) }
                try container.encode(Double(text) ?? 0)
            case .null, .array, .object: try container.encodeNil()
            }
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
