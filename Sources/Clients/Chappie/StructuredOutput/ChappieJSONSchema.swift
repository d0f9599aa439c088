public import ChappieTransport
public import PlatformFoundation
import TransportSurface

/// A JSON Schema (JSON Schema draft 2020-12), such as that of a structured output.
///
/// It is written by hand, or derived from a type:
///
/// ```swift
/// struct Forecast: Codable {
///     let summary: String
///     let degrees: [Double]
///     let warning: String?
/// }
/// let schema = try ChappieJSONSchema(of: Forecast.self)
/// ```
public struct ChappieJSONSchema: Sendable, Equatable {
    /// The schema as JSON text: as it was given, or with the members of a type in the order in which it decodes them.
    public let jsonText: String

    /// Creates a schema from a value; its members are sorted by name.
    ///
    /// Throws `ChappieArgumentError` for a value that is not an object, and for numbers that are not finite.
    public init(_ value: ChappieJSONValue) throws(ChappieArgumentError) {
        if let fault = value.faultOfSchema { throw ChappieArgumentError("value", fault) }
        self.jsonText = value.jsonText
    }

    /// Creates a schema from JSON text, which is sent as it is.
    ///
    /// Throws `ChappieArgumentError`, with the offset in bytes, when the text is not one JSON object, and for numbers
    /// and depths that `ChappieJSONValue` does not have.
    public init(parsing text: String) throws(ChappieArgumentError) {
        self.jsonText = String(decoding: try BodyText.bytes(text.utf8, of: "text"), as: UTF8.self)
        _ = try ChappieJSONValue(parsing: text)
    }

    /// Derives the schema of a type's values from its `init(from:)`, which is run with a decoder that records what the
    /// type asks for.
    ///
    /// Covered are types that decode an object with these members, in which the schema closes every object, requires
    /// every member, and allows `null` where the type does:
    ///
    /// - `String`, `Bool`, integers, `Float`, `Double`, `Decimal`, `URL`, `UUID`, `Date` in ISO 8601 and `Data` in Base64,
    ///   and types that decode one of these alone;
    /// - optionals, arrays, sets, dictionaries with `String` keys, and other covered types;
    /// - enumerations that are `CaseIterable` and have raw values of text or integers.
    ///
    /// Anything else throws `ChappieStructuredOutputError.noSchema`, with the place and the obstacle: recursive types,
    /// types that choose between several forms, such as by a case or a member that is absent, and types that reject the
    /// recording decoder's values: empty texts, 0, both Booleans, each case, and `null` where it is asked for. The
    /// schema of such a type is written by hand. An `init(from:)` that traps on these values traps here.
    ///
    /// A dictionary is an object that is not closed, so that the schema of a type with one does not restrict the model
    /// strictly (`closesObjects`). A type that is `ChappieDescribed` describes its members to the model.
    public init<Value: Decodable>(of type: Value.Type) throws(ChappieStructuredOutputError) {
        try self.init(of: type, decoder: .ofAnswers())
    }

    /// Derives the schema of a type's values, as `init(of:)` does, for answers that this decoder will read.
    ///
    /// `Date` and `Data` have the form of the decoder's strategies: ISO 8601 or a number with its unit, Base64 or a list
    /// of integers. Where the strategy is a closure or a formatter, the obstacle is `ambiguousForm`.
    public init<Value: Decodable>(of type: Value.Type, decoder: JSONDecoder) throws(ChappieStructuredOutputError) {
        do throws(SchemaFault) {
            self.jsonText = try SchemaDerivation.schema(of: type, forms: SchemaForms(decoder)).jsonText
        } catch {
            throw .noSchema(codingPath: error.codingPath, type: error.typeName, error.obstacle)
        }
    }

    /// The schema as a value.
    public var json: ChappieJSONValue { ChappieJSONValue(jsonText: self.jsonText) ?? .object([:]) }

    /// Indicates whether every object of the schema forbids other members (`additionalProperties`) and requires all of
    /// its own, as a strict format needs.
    public var closesObjects: Bool { self.json.closesObjects }

    /// The names of all members that the schema describes.
    var memberNames: Set<String> { self.json.memberNames }
}

extension ChappieJSONValue {
    /// The schemas inside a schema.
    private var subschemas: [ChappieJSONValue] {
        guard case .object(let keywords) = self else { return [] }
        return keywords.flatMap { keyword, value -> [ChappieJSONValue] in
            switch (keyword, value) {
            case ("properties", .object(let members)), ("patternProperties", .object(let members)),
                ("dependentSchemas", .object(let members)), ("$defs", .object(let members)),
                ("definitions", .object(let members)):
                Array(members.values)
            case ("anyOf", .array(let schemas)), ("allOf", .array(let schemas)), ("oneOf", .array(let schemas)),
                ("prefixItems", .array(let schemas)):
                schemas
            case ("items", .object), ("additionalProperties", .object), ("contains", .object), ("not", .object),
                ("if", .object), ("then", .object), ("else", .object):
                [value]
            default: []
            }
        }
    }

    fileprivate var closesObjects: Bool {
        var types = [self["type"]]
        if case .array(let several)? = self["type"] { types = several }
        let isOfObjects = types.contains("object") || self["properties"] != nil
        if isOfObjects {
            var names: Set<String> = []
            if case .object(let members)? = self["properties"] { names = Set(members.keys) }
            var required: Set<String> = []
            if case .array(let elements)? = self["required"] { required = Set(elements.compactMap(\.string)) }
            guard self["additionalProperties"] == .bool(false), required == names else { return false }
        }
        return self.subschemas.allSatisfy(\.closesObjects)
    }

    fileprivate var memberNames: Set<String> {
        var names: Set<String> = []
        if case .object(let members)? = self["properties"] { names = Set(members.keys) }
        return self.subschemas.reduce(into: names) { $0.formUnion($1.memberNames) }
    }
}
