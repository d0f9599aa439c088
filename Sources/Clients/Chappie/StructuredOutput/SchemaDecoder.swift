/// A decoder that answers every request with a value, and records the requests.
///
/// Texts are empty, numbers are 0, lists have one element; `SchemaDerivation.Answers` has the others.
struct SchemaDecoder: Decoder {
    let derivation: SchemaDerivation
    let record: SchemaRecord
    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any] = [:]

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard self.record.beginObject() else { throw self.derivation.refuse(.severalForms, at: self.codingPath) }
        return KeyedDecodingContainer(
            SchemaKeyedContainer(derivation: self.derivation, record: self.record, codingPath: self.codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard self.record.beginArray() else { throw self.derivation.refuse(.severalForms, at: self.codingPath) }
        return SchemaUnkeyedContainer(derivation: self.derivation, record: self.record, codingPath: self.codingPath)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        SchemaSingleValueContainer(derivation: self.derivation, record: self.record, codingPath: self.codingPath)
    }
}

/// Records the members of an object.
struct SchemaKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let derivation: SchemaDerivation
    let record: SchemaRecord
    let codingPath: [any CodingKey]

    /// A type that asks for the names decides by them, so that the schema cannot list them.
    var allKeys: [Key] {
        self.derivation.refuse(.openMembers, at: self.codingPath)
        return []
    }

    func contains(_ key: Key) -> Bool {
        if !self.record.askForPresence(of: key.stringValue) {
            self.derivation.refuse(.severalForms, at: self.path(key))
        }
        return true
    }

    func decodeNil(forKey key: Key) throws -> Bool {
        if self.record.allowNull(for: key.stringValue) { try self.derivation.add(1, at: self.path(key)) }
        return self.derivation.answers.isNull
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        let path = self.path(key)
        let (node, value) = try self.derivation.derive(type, at: path)
        guard let isNew = self.record.setMember(key.stringValue, node) else {
            throw self.derivation.refuse(.severalForms, at: path)
        }
        if isNew { try self.derivation.add(1, at: path) }
        return value
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try self.decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try self.decoder(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try self.decoder(SchemaKey("super")) }

    func superDecoder(forKey key: Key) throws -> any Decoder { try self.decoder(key) }

    private func path(_ key: any CodingKey) -> [any CodingKey] { self.codingPath + [key] }

    private func decoder(_ key: any CodingKey) throws -> SchemaDecoder {
        let path = self.path(key)
        guard let (record, isNew) = self.record.record(of: key.stringValue) else {
            throw self.derivation.refuse(.severalForms, at: path)
        }
        if isNew { try self.derivation.add(1, at: path) }
        return SchemaDecoder(derivation: self.derivation, record: record, codingPath: path)
    }
}

/// Records the elements of a list, which has one.
struct SchemaUnkeyedContainer: UnkeyedDecodingContainer {
    let derivation: SchemaDerivation
    let record: SchemaRecord
    let codingPath: [any CodingKey]

    var count: Int? { 1 }
    /// The loop of a type that catches the errors of a refused element ends as well.
    var isAtEnd: Bool { self.derivation.fault != nil || self.record.isAtEnd() }
    var currentIndex: Int { self.record.elementCount }

    private var elementPath: [any CodingKey] { self.codingPath + [SchemaKey(intValue: self.currentIndex)] }

    mutating func decodeNil() throws -> Bool {
        self.record.allowNullElement()
        return self.derivation.answers.isNull && self.record.setElement(.null)
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let (node, value) = try self.derivation.derive(type, at: self.elementPath)
        guard self.record.setElement(node) else { throw self.derivation.refuse(.fixedLength, at: self.codingPath) }
        return value
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try self.elementDecoder().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try self.elementDecoder().unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder { try self.elementDecoder() }

    private func elementDecoder() throws -> SchemaDecoder {
        let path = self.elementPath
        guard let record = self.record.recordOfElement() else {
            throw self.derivation.refuse(.fixedLength, at: self.codingPath)
        }
        try self.derivation.add(1, at: path)
        return SchemaDecoder(derivation: self.derivation, record: record, codingPath: path)
    }
}

/// Records a value that is decoded alone.
struct SchemaSingleValueContainer: SingleValueDecodingContainer {
    let derivation: SchemaDerivation
    let record: SchemaRecord
    let codingPath: [any CodingKey]

    func decodeNil() -> Bool {
        guard self.record.takesNull else {
            self.derivation.refuse(.severalForms, at: self.codingPath)
            return false
        }
        self.record.allowNull()
        return self.derivation.answers.isNull
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let (node, value) = try self.derivation.derive(type, at: self.codingPath)
        guard self.record.setWhole(node) else { throw self.derivation.refuse(.severalForms, at: self.codingPath) }
        return value
    }
}
