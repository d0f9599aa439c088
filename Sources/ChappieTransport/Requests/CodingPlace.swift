import PlatformFoundation

/// The place of a value inside another one, in words.
package enum CodingPlace {
    /// Returns a path such as `items[2].name`; an element of an array has its index, and a value of a dictionary `*`, as
    /// its key may be content.
    package static func words(_ path: [any CodingKey]) -> String {
        path.reduce(into: "") { words, key in
            if let index = key.intValue, Self.isIndex(key) {
                words += "[\(index)]"
            } else {
                // The keys of dictionaries have a type of the library's own.
                let name = String(describing: type(of: key)).hasPrefix("_") ? "*" : key.stringValue
                words += words.isEmpty ? name : ".\(name)"
            }
        }
    }

    /// Returns the indexes, behind a path, of the first number in an array there that JSON cannot represent.
    ///
    /// `JSONEncoder` of Swift 6.2 names the array alone where later versions name the element. The indexes are looked for
    /// in the value's JSON, in which a text takes the place of such numbers. Returns none where the path is complete, and
    /// for a value that cannot be encoded for another reason.
    package static func indexes(ofNumberAt path: [any CodingKey], in value: some Encodable) -> [any CodingKey] {
        let mark = "\u{F8FF}not a number\u{F8FF}"
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: mark, negativeInfinity: mark, nan: mark)
        guard let json = try? encoder.encode(value), var place = try? JSONDecoder().decode(MarkedValue.self, from: json)
        else { return [] }
        for key in path {
            guard let inner = place.value(at: key) else { return [] }
            place = inner
        }
        return place.indexes(of: mark) ?? []
    }

    /// Returns whether a key is the index of an element, and not the name of a member.
    package static func isIndex(_ key: any CodingKey) -> Bool {
        key.intValue.map { key.stringValue == "Index \($0)" } ?? false
    }
}

/// What is needed of a value's JSON to find a text in it.
private enum MarkedValue: Decodable {
    case text(String)
    case array([Self])
    case object([String: Self])
    case other

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let elements = try? container.decode([Self].self) {
            self = .array(elements)
        } else if let members = try? container.decode([String: Self].self) {
            self = .object(members)
        } else {
            self = .other
        }
    }

    /// Returns the value of a member or an element, or nil where there is none.
    func value(at key: any CodingKey) -> Self? {
        switch self {
        case .array(let elements): key.intValue.flatMap { elements.indices.contains($0) ? elements[$0] : nil }
        case .object(let members): members[key.stringValue]
        case .text, .other: nil
        }
    }

    /// Returns the indexes of the first element that is a text, in arrays of arrays; nil where none is it.
    func indexes(of text: String) -> [ElementIndex]? {
        switch self {
        case .text(let found): return found == text ? [] : nil
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                if let inner = element.indexes(of: text) { return [ElementIndex(intValue: index)] + inner }
            }
            return nil
        case .object, .other: return nil
        }
    }
}

/// The index of an element of an array, in the form that `JSONEncoder` gives it.
private struct ElementIndex: CodingKey {
    private let index: Int

    init(intValue: Int) {
        self.index = intValue
    }

    init?(stringValue: String) {
        nil
    }

    var intValue: Int? { self.index }
    var stringValue: String { "Index \(self.index)" }
}
