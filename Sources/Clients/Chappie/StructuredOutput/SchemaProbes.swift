// Decoders that find out how a type decodes one value alone.

/// A decoder of one value: the raw value of an enumeration's case.
struct RawValueDecoder: Decoder, SingleValueDecodingContainer {
    let value: Any
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]

    private func mismatch(_ type: any Any.Type) -> DecodingError {
        .typeMismatch(type, DecodingError.Context(codingPath: [], debugDescription: "a raw value"))
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        throw self.mismatch(type)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw self.mismatch([Any].self) }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { false }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard let value = self.value as? Value else { throw self.mismatch(type) }
        return value
    }
}

/// A decoder that has no value of any form, and counts the requests.
final class RefusingDecoder: Decoder, SingleValueDecodingContainer {
    let codingPath: [any CodingKey] = []
    let userInfo: [CodingUserInfoKey: Any] = [:]
    /// The number of forms that were asked for.
    private(set) var requestCount = 0

    private func refusal(of type: any Any.Type) -> DecodingError {
        self.requestCount += 1
        return .typeMismatch(type, DecodingError.Context(codingPath: [], debugDescription: "another form"))
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        throw self.refusal(of: type)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw self.refusal(of: [Any].self) }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool {
        self.requestCount += 1
        return false
    }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { throw self.refusal(of: type) }
}
