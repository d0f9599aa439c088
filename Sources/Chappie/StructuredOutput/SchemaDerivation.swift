import ChappieTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The reason for which a type has no derived schema, and its place.
struct SchemaFault: Error {
    /// The place inside the outermost type; empty for that type itself.
    let codingPath: String
    /// The name of the type at that place.
    let typeName: String
    /// The obstacle.
    let obstacle: ChappieSchemaObstacle
}

/// Derives the schema of a type by running its `init(from:)` with `SchemaDecoder`.
///
/// It belongs to the call that derives: the decoders and containers of that call share it.
final class SchemaDerivation {
    /// The most types inside each other; recursion is noticed before.
    private static let maximumDepth = 32
    /// The most members and values of enumerations in one schema: a server takes fewer.
    private static let maximumCount = 5_000

    /// The types that are being derived, the outermost first.
    private var types: [any Any.Type] = []
    private var count = 0
    /// The first fault, which counts even when the type's own code catches the error.
    private(set) var fault: SchemaFault?

    /// Returns the schema of a type whose values are objects.
    static func schema(of type: (some Decodable).Type) throws(SchemaFault) -> SchemaNode {
        let derivation = SchemaDerivation()
        let node: SchemaNode
        do {
            node = try derivation.derive(type, at: []).node
        } catch {
            throw derivation.fault ?? SchemaFault(type, at: [], .rejectsValues)
        }
        guard node.isObject else { throw SchemaFault(type, at: [], .notObject) }
        return node
    }

    /// Records the first fault; returns the error to throw.
    @discardableResult
    func refuse(_ obstacle: ChappieSchemaObstacle, at path: [any CodingKey]) -> SchemaFault {
        let fault = self.fault ?? SchemaFault(self.types.last ?? Never.self, at: path, obstacle)
        self.fault = fault
        return fault
    }

    /// Counts members, elements and values.
    func add(_ count: Int, at path: [any CodingKey]) throws {
        self.count += count
        // A type may nest decoders without asking for another type.
        if path.count > 2 * Self.maximumDepth { throw self.refuse(.tooDeep, at: path) }
        if self.count > Self.maximumCount { throw self.refuse(.tooLarge, at: path) }
    }

    /// Returns a type's schema, and one of its values.
    func derive<Value: Decodable>(
        _ type: Value.Type, at path: [any CodingKey]
    ) throws -> (node: SchemaNode, value: Value) {
        if let fault = self.fault { throw fault }
        let isRecursive = self.types.contains { $0 == type }
        self.types.append(type)
        defer { self.types.removeLast() }
        if isRecursive { throw self.refuse(.recursive, at: path) }
        if self.types.count > Self.maximumDepth { throw self.refuse(.tooDeep, at: path) }
        if let known: (SchemaNode, Value) = try self.known(type, at: path) { return known }
        return try self.run(type, at: path)
    }

    /// Returns the schema of a type that `JSONDecoder` treats in its own way, or whose values are known; nil for others.
    private func known<Value: Decodable>(
        _ type: Value.Type, at path: [any CodingKey]
    ) throws -> (SchemaNode, Value)? {
        if let primitive = type as? any SchemaPrimitive.Type, let value = primitive.recordedValue as? Value {
            return (primitive.schemaNode, value)
        }
        if type == Date.self || type == Data.self { throw self.refuse(.ambiguousForm, at: path) }
        if type == URL.self, let value = URL(filePath: "/") as? Value { return (.string, value) }
        if type == Decimal.self, let value = Decimal() as? Value { return (.number, value) }
        if let type = type as? any SchemaDictionary.Type {
            guard let (node, value) = try type.derive(self, at: path) as? (SchemaNode, Value) else { return nil }
            return (node, value)
        }
        guard let type = type as? any (CaseIterable & RawRepresentable & Decodable).Type else { return nil }
        let (node, value) = try self.enumeration(type, at: path)
        return (value as? Value).map { (node, $0) }
    }

    /// Runs the type's own code.
    private func run<Value: Decodable>(
        _ type: Value.Type, at path: [any CodingKey]
    ) throws -> (node: SchemaNode, value: Value) {
        let isOptional = type is any SchemaOptional.Type
        let record = SchemaRecord(takesNull: isOptional)
        let value: Value
        do {
            value = try Value(from: SchemaDecoder(derivation: self, record: record, codingPath: path))
        } catch {
            throw self.refuse(.rejectsValues, at: path)
        }
        if let fault = self.fault { throw fault }
        let node = try record.node(self, at: path)
        if !isOptional, record.isWhole, self.hasSeveralForms(type) { throw self.refuse(.severalForms, at: path) }
        return (node, value)
    }

    /// Returns whether a type that decodes one value alone asks for another form when the first one does not fit.
    private func hasSeveralForms(_ type: (some Decodable).Type) -> Bool {
        let decoder = RefusingDecoder()
        return (try? type.init(from: decoder)) != nil || decoder.requestCount > 1
    }

    // MARK: Enumerations

    /// Returns the schema of an enumeration from its cases, each of which has to decode its raw value to itself.
    private func enumeration<Value: CaseIterable & RawRepresentable & Decodable>(
        _ type: Value.Type, at path: [any CodingKey]
    ) throws -> (SchemaNode, Value) {
        let cases = Array(type.allCases.prefix(Self.maximumCount + 1))
        try self.add(cases.count, at: path)
        guard let first = cases.first else { throw self.refuse(.rejectsValues, at: path) }
        for value in cases {
            let decoded = try? type.init(from: RawValueDecoder(value: value.rawValue))
            guard let decoded, Self.raw(decoded) == Self.raw(value) else { throw self.refuse(.rejectsValues, at: path) }
        }
        if Value.RawValue.self == String.self {
            return (.texts(cases.compactMap { $0.rawValue as? String }), first)
        }
        let integers = cases.compactMap { ($0.rawValue as? any BinaryInteger).flatMap { Int64(exactly: $0) } }
        guard integers.count == cases.count else { throw self.refuse(.rejectsValues, at: path) }
        return (.integers(integers), first)
    }

    private static func raw(_ value: some RawRepresentable) -> String { String(describing: value.rawValue) }
}

extension SchemaFault {
    fileprivate init(_ type: any Any.Type, at path: [any CodingKey], _ obstacle: ChappieSchemaObstacle) {
        self.init(codingPath: CodingPlace.words(path), typeName: String(describing: type), obstacle: obstacle)
    }
}

/// A type whose `null` is a value of its own.
private protocol SchemaOptional {}

extension Optional: SchemaOptional {}

/// A type that `JSONDecoder` reads from an object with any names.
private protocol SchemaDictionary {
    /// Returns the schema of the type, and an empty value.
    static func derive(_ derivation: SchemaDerivation, at path: [any CodingKey]) throws -> (SchemaNode, Self)
}

extension Dictionary: SchemaDictionary where Key == String, Value: Decodable {
    fileprivate static func derive(
        _ derivation: SchemaDerivation, at path: [any CodingKey]
    ) throws -> (SchemaNode, Self) {
        (.dictionary(try derivation.derive(Value.self, at: path + [SchemaKey("*")]).node), [:])
    }
}

/// A key of the recording containers.
struct SchemaKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(_ name: String) {
        self.stringValue = name
        self.intValue = nil
    }

    init?(stringValue: String) { self.init(stringValue) }

    init(intValue: Int) {
        self.stringValue = String(intValue)
        self.intValue = intValue
    }
}
