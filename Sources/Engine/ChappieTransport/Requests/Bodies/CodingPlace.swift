import PlatformFoundation

/// The place of a value inside another one, in words.
package enum CodingPlace {
    /// Returns a path such as `items[2].name`; an element of an array has its index, and a value of a dictionary `*`,
    /// as its key may be content.
    package static func words(_ path: [any CodingKey]) -> String {
        self.words(
            path.map { key in
                if let index = key.intValue, self.isIndex(key) { return .element(index) }
                return .member(self.isKeyOfDictionary(key) ? "*" : key.stringValue)
            })
    }

    /// Returns the place of the first number in a value that JSON cannot represent, with the members in the order of
    /// their names; nil where there is none, or where the value cannot be encoded for another reason.
    ///
    /// What `JSONEncoder` says of the place depends on its version. It is therefore looked for in the value's JSON, in
    /// which a text takes the place of such numbers, and names of members have a mark that keys of dictionaries lack.
    package static func words(ofNumberIn value: some Encodable) -> String? {
        let encoder = JSONEncoder()
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: Self.mark, negativeInfinity: Self.mark, nan: Self.mark)
        encoder.keyEncodingStrategy = .custom { path in
            guard let key = path.last, !self.isKeyOfDictionary(key) else { return MemberName(stringValue: "") }
            return MemberName(stringValue: Self.mark + key.stringValue)
        }
        guard let json = try? encoder.encode(value), let whole = try? JSONDecoder().decode(MarkedValue.self, from: json)
        else { return nil }
        return whole.path(to: Self.mark).map(self.words)
    }

    /// Returns whether a key is the index of an element, and not the name of a member.
    package static func isIndex(_ key: any CodingKey) -> Bool {
        key.intValue.map { key.stringValue == "Index \($0)" } ?? false
    }

    /// A text that stands for a number, and before the name of a member.
    fileprivate static let mark = "\u{F8FF}not a number\u{F8FF}"

    fileprivate enum Step {
        case member(String)
        case element(Int)
    }

    private static func words(_ steps: [Step]) -> String {
        steps.reduce(into: "") { words, step in
            switch step {
            case .member(let name): words += words.isEmpty ? name : ".\(name)"
            case .element(let index): words += "[\(index)]"
            }
        }
    }

    /// Returns whether a key has the type that the library has for keys of dictionaries.
    private static func isKeyOfDictionary(_ key: any CodingKey) -> Bool {
        String(describing: type(of: key)).hasPrefix("_")
    }
}

/// The name of a member, as it is written.
private struct MemberName: CodingKey {
    let stringValue: String

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) {
        nil
    }

    var intValue: Int? { nil }
}

/// A JSON value, reduced to its texts and structure.
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

    /// Returns the path to the first value that is a text; nil when there is none.
    func path(to text: String) -> [CodingPlace.Step]? {
        switch self {
        case .text(let found): return found == text ? [] : nil
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                if let inner = element.path(to: text) { return [.element(index)] + inner }
            }
        case .object(let members):
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                guard let inner = member.path(to: text) else { continue }
                return [.member(name.hasPrefix(text) ? String(name.dropFirst(text.count)) : "*")] + inner
            }
        case .other: break
        }
        return nil
    }
}
