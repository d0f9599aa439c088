import ChappieTransport
import PlatformFoundation

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

    /// The most cases of an enumeration with which a type is run.
    private static let maximumRunCount = 64

    /// The answers to a type's requests, which must not change its schema.
    struct Answers {
        /// The case of every enumeration, up to its last; an odd number makes Booleans true.
        var caseIndex = 0
        /// Indicates whether values that may be `null` are.
        var isNull = false
    }

    /// The answers of this run.
    let answers: Answers
    private let forms: SchemaForms
    /// The number of cases of the largest enumeration.
    private var caseCount = 0
    /// The types that are being derived, the outermost first.
    private var types: [any Any.Type] = []
    private var count = 0
    /// The first fault, which counts even when the type's own code catches the error.
    private(set) var fault: SchemaFault?

    private init(_ answers: Answers = Answers(), forms: SchemaForms) {
        self.answers = answers
        self.forms = forms
    }

    /// Returns the schema of a type whose values are objects, as a decoder with these forms reads them.
    ///
    /// A type that asks for other members after other answers, such as those of the case that it has decoded, has no
    /// schema of one form.
    static func schema(of type: (some Decodable).Type, forms: SchemaForms) throws(SchemaFault) -> SchemaNode {
        let first = SchemaDerivation(forms: forms)
        let node = try first.node(of: type)
        guard node.isObject else { throw SchemaFault(type, at: [], .notObject) }
        for index in 1..<max(2, min(first.caseCount, Self.maximumRunCount)) {
            let other = try SchemaDerivation(Answers(caseIndex: index), forms: forms).node(of: type)
            guard other == node else { throw SchemaFault(type, at: [], .severalForms) }
        }
        let sparse = try SchemaDerivation(Answers(isNull: true), forms: forms).node(of: type)
        guard node.covers(sparse) else { throw SchemaFault(type, at: [], .severalForms) }
        return node
    }

    private func node(of type: (some Decodable).Type) throws(SchemaFault) -> SchemaNode {
        do {
            return try self.derive(type, at: []).node
        } catch {
            throw self.fault ?? SchemaFault(type, at: [], .rejectsValues)
        }
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

    /// Returns the schema of a type that `JSONDecoder` treats in its own way, or whose values are known; nil for
    /// others.
    private func known<Value: Decodable>(
        _ type: Value.Type, at path: [any CodingKey]
    ) throws -> (SchemaNode, Value)? {
        if type == Bool.self, let value = (self.answers.caseIndex % 2 == 1) as? Value { return (.boolean, value) }
        if let primitive = type as? any SchemaPrimitive.Type, let value = primitive.recordedValue as? Value {
            return (primitive.schemaNode, value)
        }
        if let value = Date(timeIntervalSince1970: 0) as? Value {
            return (try self.form(self.forms.date, at: path), value)
        }
        if let value = Data() as? Value { return (try self.form(self.forms.data, at: path), value) }
        if let value = UUID() as? Value { return (.text(format: "uuid"), value) }
        // Its own code traps on a scheme that is empty.
        if type == URLComponents.self { throw self.refuse(.rejectsValues, at: path) }
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

    private func form(_ node: SchemaNode?, at path: [any CodingKey]) throws -> SchemaNode {
        guard let node else { throw self.refuse(.ambiguousForm, at: path) }
        return node
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
        let node = try self.described(try record.node(self, at: path), of: type, at: path)
        guard !isOptional else { return (node, value) }
        // The cases cannot be listed, although one of them has this raw value.
        if record.isWhole, Mirror(reflecting: value).displayStyle == .enum {
            throw self.refuse(.rejectsValues, at: path)
        }
        if record.hasForm, self.hasSeveralForms(type) { throw self.refuse(.severalForms, at: path) }
        return (node, value)
    }

    /// Returns the schema of a type with the type's own descriptions of its members.
    private func described(_ node: SchemaNode, of type: Any.Type, at path: [any CodingKey]) throws -> SchemaNode {
        guard let type = type as? any ChappieDescribed.Type else { return node }
        if let described = node.describing(type.memberDescriptions) { return described }
        // Of a type that is asked with `null`, members may be missing.
        guard !self.answers.isNull else { return node }
        throw self.refuse(.unknownMember, at: path)
    }

    /// Returns whether a type asks for another form when the first one does not fit.
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
        guard !cases.isEmpty else { throw self.refuse(.rejectsValues, at: path) }
        self.caseCount = max(self.caseCount, cases.count)
        let answer = cases[min(self.answers.caseIndex, cases.count - 1)]
        for value in cases {
            let decoded = try? type.init(from: RawValueDecoder(value: value.rawValue))
            guard let decoded, Self.raw(decoded) == Self.raw(value) else { throw self.refuse(.rejectsValues, at: path) }
        }
        if Value.RawValue.self == String.self {
            return (.texts(cases.compactMap { $0.rawValue as? String }), answer)
        }
        let integers = cases.compactMap { ($0.rawValue as? any BinaryInteger).flatMap { Int64(exactly: $0) } }
        guard integers.count == cases.count else { throw self.refuse(.rejectsValues, at: path) }
        return (.integers(integers), answer)
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

    /// Creates the key of an element, as the coders of Foundation name it.
    init(intValue: Int) {
        self.stringValue = "Index \(intValue)"
        self.intValue = intValue
    }
}
