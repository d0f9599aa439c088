// JSON for the sessions: text to objects and back, always in the same bytes.
//
// Pure functions.
import Foundation

/// JSON text.
enum JSONText {
    /// Returns the object of a JSON text; nil when it is not one.
    static func object(_ text: String) -> [String: Any]? {
        // As escapes: Foundation drops a U+FEFF at the beginning of a string that stands there as it is.
        (try? JSONSerialization.jsonObject(with: Data(Self.escaped(text).utf8))) as? [String: Any]
    }

    /// An object with its members in alphabetical order.
    static func text(_ object: Any) -> String {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes, .fragmentsAllowed]
        let bytes = (try? JSONSerialization.data(withJSONObject: object, options: options)) ?? Data("null".utf8)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The same JSON with every scalar outside ASCII as an escape.
    static func escaped(_ json: String) -> String {
        guard json.utf8.contains(where: { $0 > 0x7F }) else { return json }
        return json.unicodeScalars.map { scalar in
            scalar.isASCII ? String(scalar) : String(scalar).utf16.map(Self.escape).joined()
        }.joined()
    }

    private static func escape(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }

    /// A value in which `change` has replaced strings; it is given the name of the member, or that of the array.
    static func mapping(_ value: Any, name: String = "", _ change: (_ name: String, _ text: String) -> String) -> Any {
        switch value {
        case let text as String: change(name, text)
        case let object as [String: Any]:
            Dictionary(
                uniqueKeysWithValues: object.map { ($0.key, Self.mapping($0.value, name: $0.key, change)) })
        case let elements as [Any]: elements.map { Self.mapping($0, name: name, change) }
        default: value
        }
    }
}
