public import ChappieTransport
import PlatformFoundation
import ResponseEvents
import TransportSurface

/// A JSON value (RFC 8259), such as the arguments of a tool call or the schema of its input.
///
/// Numbers are `Double`: an integer beyond 2^53 loses its last digits, as in JavaScript. Of members with the same name
/// the last one is used.
public enum ChappieJSONValue: Sendable, Equatable {
    /// Members by name.
    case object([String: ChappieJSONValue])
    /// Elements in order.
    case array([ChappieJSONValue])
    /// Text.
    case string(String)
    /// A finite number.
    case number(Double)
    /// True or false.
    case bool(Bool)
    /// `null`.
    case null

    /// Reads JSON text; nil when it is invalid.
    ///
    /// A value by itself is JSON text too: `3`, `"a"`. Values nest 511 deep at most. A number that is too large for a
    /// `Double` makes the whole text unreadable. `init(parsing:)` reports the reason.
    ///
    /// ```swift
    /// let arguments = ChappieJSONValue(jsonText: #"{"city":"Oslo"}"#)
    /// print(arguments?["city"]?.string ?? "none")
    /// ```
    public init?(jsonText: String) {
        guard let value = JSONDocumentValue(text: Array(jsonText.utf8)) else { return nil }
        self.init(value)
    }

    /// Reads JSON text, as `init(jsonText:)` does, and reports the reason for which it is invalid.
    ///
    /// Throws `ChappieArgumentError`, with the offset in bytes where there is one.
    public init(parsing text: String) throws(ChappieArgumentError) {
        if let value = Self(jsonText: text) {
            self = value
            return
        }
        let fault = JSONObjectFault(Array(text.utf8))
        let reason =
            switch fault?.kind {
            case .empty: "is empty"
            case .truncated: "ends at offset \(fault?.offset ?? 0), inside its JSON value"
            case .unexpected: "has a byte at offset \(fault?.offset ?? 0) that JSON does not allow there"
            case .surplus: "has more text behind its JSON value, at offset \(fault?.offset ?? 0)"
            case .otherValue: "has more text behind its JSON value, or a number that is too large"
            case nil: "has a number that is too large, or nests deeper than 511 levels"
            }
        throw ChappieArgumentError("text", reason)
    }

    /// Creates a value from a document's; nil for a number that is too large.
    init?(_ value: JSONDocumentValue) {
        switch value {
        case .object(let members):
            var values: [String: ChappieJSONValue] = [:]
            for member in members {
                guard let value = Self(member.value) else { return nil }
                values[member.name] = value
            }
            self = .object(values)
        case .array(let elements):
            let values = elements.compactMap { Self($0) }
            guard values.count == elements.count else { return nil }
            self = .array(values)
        case .string(let text): self = .string(text)
        case .number(let text):
            guard let number = Double(text), number.isFinite else { return nil }
            self = .number(number)
        case .bool(let isTrue): self = .bool(isTrue)
        case .null: self = .null
        }
    }

    /// The value as JSON text, with members sorted by name.
    public var jsonText: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // It fails for a number that is not finite, which JSON does not have.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "null"
    }

    /// Returns the value of a member; nil for a value that is not an object, and for a missing member.
    public subscript(name: String) -> ChappieJSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// Returns an element; nil for a value that is not an array, and for an index that it does not have.
    public subscript(index: Int) -> ChappieJSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// The members by name; nil for a value that is not an object.
    public var object: [String: ChappieJSONValue]? {
        guard case .object(let members) = self else { return nil }
        return members
    }

    /// The elements in order; nil for a value that is not an array.
    public var array: [ChappieJSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    /// The text; nil for another value.
    public var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The number; nil for another value.
    public var number: Double? {
        guard case .number(let number) = self else { return nil }
        return number
    }

    /// The number as an integer; nil for one with a fraction or out of the range of `Int`, and for another value.
    public var int: Int? { self.number.flatMap { Int(exactly: $0) } }

    /// True or false; nil for another value.
    public var bool: Bool? {
        guard case .bool(let isTrue) = self else { return nil }
        return isTrue
    }

    /// Indicates whether the value is `null`.
    public var isNull: Bool { self == .null }
}

extension ChappieJSONValue: Codable {
    /// Reads any JSON value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([ChappieJSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: ChappieJSONValue].self))
        }
    }

    /// Writes the value in its JSON form.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .object(let members): try container.encode(members)
        case .array(let elements): try container.encode(elements)
        case .string(let text): try container.encode(text)
        // As an integer if it has no fraction, so that `3` does not become `3.0`.
        case .number(let number):
            if let integer = Int64(exactly: number) {
                try container.encode(integer)
            } else {
                try container.encode(number)
            }
        case .bool(let isTrue): try container.encode(isTrue)
        case .null: try container.encodeNil()
        }
    }
}

extension ChappieJSONValue: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByStringLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
    /// Creates an object; of members with the same name the last one is used.
    public init(dictionaryLiteral elements: (String, ChappieJSONValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }

    /// An array.
    public init(arrayLiteral elements: ChappieJSONValue...) { self = .array(elements) }

    /// Text.
    public init(stringLiteral value: String) { self = .string(value) }

    /// A number.
    public init(integerLiteral value: Int) { self = .number(Double(value)) }

    /// A number.
    public init(floatLiteral value: Double) { self = .number(value) }

    /// True or false.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// `null`.
    public init(nilLiteral: ()) { self = .null }
}
