// A small JSON reader and writer that keeps the order of members.
//
// Pure; written here so that the server shares no code with what it tests.

/// A JSON value.
enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    /// A number as it was written.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// One member of an object.
    struct Member: Equatable, Sendable {
        var name: String
        var value: JSONValue
    }

    /// Returns the last member of that name; nil when there is none or this is not an object.
    subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }

    /// Returns the object with a member in place of those of that name, or behind the others.
    func replacing(_ name: String, with value: JSONValue) -> JSONValue {
        guard case .object(var members) = self else { return self }
        members.removeAll { $0.name == name }
        return .object(members + [Member(name: name, value: value)])
    }

    /// The text of a string.
    var string: String? { if case .string(let text) = self { text } else { nil } }

    /// The value of a number; nil for one that is not finite.
    var double: Double? {
        guard case .number(let text) = self, let number = Double(text), number.isFinite else { return nil }
        return number
    }

    /// The value of a number without a fraction; nil for one that no integer holds.
    var integer: Int? {
        guard case .number(let text) = self else { return nil }
        return Int(text) ?? self.double.flatMap(Int.init(exactly:))
    }

    /// The elements of an array, or none.
    var elements: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }

    /// Indicates whether this is an object.
    var isObject: Bool { if case .object = self { true } else { false } }

    /// The value as JSON text.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text): text
        case .string(let text): Self.quoted(text)
        case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { Self.quoted($0.name) + ":" + $0.value.text }.joined(separator: ",") + "}"
        }
    }

    /// Returns a string as JSON text; all characters outside ASCII as `\u` escapes when asked for.
    static func quoted(_ text: String, escapesNonASCII: Bool = false) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        bytes.reserveCapacity(text.utf8.count + 16)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0x0A: bytes += Array("\\n".utf8)
            case 0x0D: bytes += Array("\\r".utf8)
            case 0x09: bytes += Array("\\t".utf8)
            case ..<0x20: bytes += Array(Self.escape(UInt16(byte)).utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        let quoted = String(decoding: bytes, as: UTF8.self)
        return escapesNonASCII ? Self.escapingNonASCII(quoted) : quoted
    }

    private static func escapingNonASCII(_ text: String) -> String {
        var result = ""
        for unit in text.utf16 {
            if unit < 0x7F {
                result.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            } else {
                result += Self.escape(unit)
            }
        }
        return result
    }

    private static func escape(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }

    /// Reads a whole text (RFC 8259); nil when it is not JSON, or nested deeper than 64 levels.
    init?(_ bytes: [UInt8]) {
        var parser = Parser(bytes: bytes)
        guard let value = parser.document() else { return nil }
        self = value
    }

    /// Recursive descent over the bytes; `nil` anywhere ends it.
    private struct Parser {
        let bytes: [UInt8]
        var index = 0

        private var next: UInt8? { self.index < self.bytes.count ? self.bytes[self.index] : nil }

        init(bytes: [UInt8]) { self.bytes = bytes }

        mutating func document() -> JSONValue? {
            guard let value = self.value(depth: 0) else { return nil }
            self.skipBlanks()
            return self.index == self.bytes.count ? value : nil
        }

        private mutating func skipBlanks() {
            while let byte = self.next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { self.index += 1 }
        }

        private mutating func take(_ byte: UInt8) -> Bool {
            self.skipBlanks()
            guard self.next == byte else { return false }
            self.index += 1
            return true
        }

        private mutating func value(depth: Int) -> JSONValue? {
            guard depth < 64 else { return nil }
            self.skipBlanks()
            switch self.next {
            case UInt8(ascii: "{"): return self.object(depth: depth)
            case UInt8(ascii: "["): return self.array(depth: depth)
            case UInt8(ascii: "\""): return self.string().map(JSONValue.string)
            case UInt8(ascii: "t"): return self.word("true", .bool(true))
            case UInt8(ascii: "f"): return self.word("false", .bool(false))
            case UInt8(ascii: "n"): return self.word("null", .null)
            default: return self.number()
            }
        }

        private mutating func word(_ text: StaticString, _ value: JSONValue) -> JSONValue? {
            let expected = text.withUTF8Buffer { Array($0) }
            guard self.bytes[self.index...].starts(with: expected) else { return nil }
            self.index += expected.count
            return value
        }

        private mutating func number() -> JSONValue? {
            let start = self.index
            while let byte = self.next, Array("+-.eE0123456789".utf8).contains(byte) { self.index += 1 }
            let text = String(decoding: self.bytes[start..<self.index], as: UTF8.self)
            return Double(text) == nil ? nil : .number(text)
        }

        private mutating func array(depth: Int) -> JSONValue? {
            self.index += 1
            var elements: [JSONValue] = []
            if self.take(UInt8(ascii: "]")) { return .array(elements) }
            repeat {
                guard let element = self.value(depth: depth + 1) else { return nil }
                elements.append(element)
            } while self.take(UInt8(ascii: ","))
            return self.take(UInt8(ascii: "]")) ? .array(elements) : nil
        }

        private mutating func object(depth: Int) -> JSONValue? {
            self.index += 1
            var members: [Member] = []
            if self.take(UInt8(ascii: "}")) { return .object(members) }
            repeat {
                self.skipBlanks()
                guard self.next == UInt8(ascii: "\""), let name = self.string(), self.take(UInt8(ascii: ":")),
                    let value = self.value(depth: depth + 1)
                else { return nil }
                members.append(Member(name: name, value: value))
            } while self.take(UInt8(ascii: ","))
            return self.take(UInt8(ascii: "}")) ? .object(members) : nil
        }

        private mutating func string() -> String? {
            self.index += 1
            var text: [UInt8] = []
            while let byte = self.next {
                self.index += 1
                switch byte {
                case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
                case UInt8(ascii: "\\"): guard self.escape(into: &text) else { return nil }
                case ..<0x20: return nil
                default: text.append(byte)
                }
            }
            return nil
        }

        private mutating func escape(into text: inout [UInt8]) -> Bool {
            guard let byte = self.next else { return false }
            self.index += 1
            switch byte {
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
            case UInt8(ascii: "u"): return self.unicodeEscape(into: &text)
            default: return false
            }
            return true
        }

        private mutating func unicodeEscape(into text: inout [UInt8]) -> Bool {
            guard let first = self.hexUnit() else { return false }
            var units = [first]
            if UTF16.isLeadSurrogate(first), self.bytes[self.index...].starts(with: Array("\\u".utf8)) {
                self.index += 2
                guard let second = self.hexUnit() else { return false }
                units.append(second)
            }
            // A lone surrogate becomes U+FFFD, as lenient readers do.
            text.append(contentsOf: String(decoding: units, as: UTF16.self).utf8)
            return true
        }

        private mutating func hexUnit() -> UInt16? {
            guard self.index + 4 <= self.bytes.count else { return nil }
            let digits = self.bytes[self.index..<self.index + 4]
            guard digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }) else { return nil }
            self.index += 4
            return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        }
    }
}
