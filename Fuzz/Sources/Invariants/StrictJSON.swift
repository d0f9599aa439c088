// A plain reader of RFC 8259, byte by byte, that decoders are compared with. It shares no code with the product.

/// A JSON value and its place in the text.
public struct JSONNode {
    /// The type of a value.
    public indirect enum Kind {
        /// Members in the order of the text.
        case object([Member])
        /// Elements.
        case array([JSONNode])
        /// UTF-16 code units, so that half a surrogate pair stays what it is.
        case string([UInt16])
        /// A number, whose digits are in the text.
        case number
        /// `true` or `false`.
        case bool(Bool)
        /// `null`.
        case null
    }

    /// A member of an object.
    public struct Member {
        /// The name, as UTF-16 code units.
        public let name: [UInt16]
        /// The value.
        public let value: JSONNode
    }

    /// The type, with the value.
    public let kind: Kind
    /// The place of the value, including the quotes of a string.
    public let range: Range<Int>
}

/// The reason for which a text cannot be read.
public enum StrictJSONError: Error {
    /// The bytes are no JSON text.
    case notJSON
    /// More nesting than the reader's own stack allows; the rest is unknown.
    case unreadablyDeep
}

/// Reads one value and what may stand around it.
public struct StrictJSON {
    /// The extensions of RFC 8259 that are read.
    public enum Dialect {
        /// None.
        case strict
        /// A comma may stand before a closing bracket.
        case trailingCommas
    }

    /// The deepest nesting that was seen, the outermost container counted as 1.
    public private(set) var depth = 0
    /// Indicates whether the name of a member has an escape.
    public private(set) var hasEscapedNames = false
    /// Indicates whether reading came to the last byte: an error there is one of a text that was cut.
    public var isAtEnd: Bool { self.index == self.bytes.count }

    private static let maximumDepth = 1_024

    private let bytes: [UInt8]
    private let dialect: Dialect
    private var index = 0

    /// Creates a reader of a text.
    public init(_ bytes: [UInt8], dialect: Dialect = .strict) {
        self.bytes = bytes
        self.dialect = dialect
    }

    /// Reads the whole text.
    public mutating func read() throws(StrictJSONError) -> JSONNode {
        self.skipSpace()
        let value = try self.readValue(depth: 1)
        self.skipSpace()
        guard self.index == self.bytes.count else { throw .notJSON }
        return value
    }

    // MARK: Tokens

    private var next: UInt8? { self.index < self.bytes.count ? self.bytes[self.index] : nil }

    private mutating func skipSpace() {
        while let byte = self.next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { self.index += 1 }
    }

    private mutating func take(_ byte: Character) -> Bool {
        guard self.next == byte.asciiValue else { return false }
        self.index += 1
        return true
    }

    private mutating func need(_ literal: String) throws(StrictJSONError) {
        for byte in literal { guard self.take(byte) else { throw .notJSON } }
    }

    // MARK: Values

    private mutating func readValue(depth: Int) throws(StrictJSONError) -> JSONNode {
        let start = self.index
        let kind: JSONNode.Kind
        switch self.next.map({ Character(Unicode.Scalar($0)) }) {
        case "{": kind = .object(try self.readMembers(depth: depth))
        case "[": kind = .array(try self.readElements(depth: depth))
        case "\"": kind = .string(try self.readString())
        case "t":
            try self.need("true")
            kind = .bool(true)
        case "f":
            try self.need("false")
            kind = .bool(false)
        case "n":
            try self.need("null")
            kind = .null
        default:
            try self.readNumber()
            kind = .number
        }
        return JSONNode(kind: kind, range: start..<self.index)
    }

    private mutating func enter(_ depth: Int) throws(StrictJSONError) {
        guard depth <= Self.maximumDepth else { throw .unreadablyDeep }
        self.depth = max(self.depth, depth)
        self.index += 1
        self.skipSpace()
    }

    /// After an element: true when another one follows.
    private mutating func continues(until end: Character) throws(StrictJSONError) -> Bool {
        self.skipSpace()
        if self.take(end) { return false }
        try self.need(",")
        self.skipSpace()
        return !(self.dialect == .trailingCommas && self.take(end))
    }

    private mutating func readMembers(depth: Int) throws(StrictJSONError) -> [JSONNode.Member] {
        try self.enter(depth)
        var members: [JSONNode.Member] = []
        if self.take("}") { return members }
        repeat {
            let start = self.index
            let name = try self.readString()
            if self.bytes[start..<self.index].contains(0x5C) { self.hasEscapedNames = true }
            self.skipSpace()
            try self.need(":")
            self.skipSpace()
            members.append(JSONNode.Member(name: name, value: try self.readValue(depth: depth + 1)))
        } while try self.continues(until: "}")
        return members
    }

    private mutating func readElements(depth: Int) throws(StrictJSONError) -> [JSONNode] {
        try self.enter(depth)
        var elements: [JSONNode] = []
        if self.take("]") { return elements }
        repeat { elements.append(try self.readValue(depth: depth + 1)) } while try self.continues(until: "]")
        return elements
    }

    private mutating func readDigits() throws(StrictJSONError) {
        let start = self.index
        while let byte = self.next, byte >= 0x30, byte <= 0x39 { self.index += 1 }
        guard self.index > start else { throw .notJSON }
    }

    private mutating func readNumber() throws(StrictJSONError) {
        _ = self.take("-")
        if !self.take("0") { try self.readDigits() }
        if self.take(".") { try self.readDigits() }
        if self.take("e") || self.take("E") {
            if !self.take("+") { _ = self.take("-") }
            try self.readDigits()
        }
    }

    // MARK: Strings

    private mutating func readString() throws(StrictJSONError) -> [UInt16] {
        try self.need("\"")
        var units: [UInt16] = []
        while let byte = self.next {
            switch byte {
            case 0x22:
                self.index += 1
                return units
            case 0x5C: units.append(try self.readEscape())
            case ..<0x20: throw .notJSON
            case ..<0x80:
                units.append(UInt16(byte))
                self.index += 1
            default: units += try self.readScalar()
            }
        }
        throw .notJSON
    }

    private mutating func readEscape() throws(StrictJSONError) -> UInt16 {
        self.index += 1
        guard let letter = self.next else { throw .notJSON }
        self.index += 1
        switch Character(Unicode.Scalar(letter)) {
        case "\"", "\\", "/": return UInt16(letter)
        case "b": return 0x08
        case "f": return 0x0C
        case "n": return 0x0A
        case "r": return 0x0D
        case "t": return 0x09
        case "u":
            var unit: UInt16 = 0
            for _ in 0..<4 {
                guard let byte = self.next, byte < 0x80,
                    let digit = Character(Unicode.Scalar(byte)).hexDigitValue
                else { throw .notJSON }
                unit = unit << 4 | UInt16(digit)
                self.index += 1
            }
            return unit
        default: throw .notJSON
        }
    }

    /// A scalar of two to four bytes, by table 3-7 of the Unicode standard.
    private mutating func readScalar() throws(StrictJSONError) -> [UInt16] {
        let lead = self.bytes[self.index]
        let (count, second): (Int, ClosedRange<UInt8>)
        switch lead {
        case 0xC2...0xDF: (count, second) = (2, 0x80...0xBF)
        case 0xE0: (count, second) = (3, 0xA0...0xBF)
        case 0xED: (count, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (count, second) = (3, 0x80...0xBF)
        case 0xF0: (count, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (count, second) = (4, 0x80...0xBF)
        case 0xF4: (count, second) = (4, 0x80...0x8F)
        default: throw .notJSON
        }
        let rest = self.bytes[self.index...].prefix(count).dropFirst()
        guard rest.count == count - 1, rest.first.map(second.contains) ?? false,
            rest.allSatisfy({ $0 & 0xC0 == 0x80 })
        else { throw .notJSON }
        self.index += count
        let value = rest.reduce(UInt32(lead) & (0x7F >> UInt32(count))) { $0 << 6 | UInt32($1 & 0x3F) }
        guard value > 0xFFFF else { return [UInt16(value)] }
        return [UInt16(0xD7C0 + value >> 10), UInt16(0xDC00 | value & 0x3FF)]
    }
}

extension JSONNode {
    /// The value of the last member with a name; nil for a value that is no object.
    public func member(_ name: String) -> JSONNode? {
        guard case .object(let members) = self.kind else { return nil }
        let name = Array(name.utf16)
        return members.last { $0.name == name }?.value
    }

    /// A string's text, in which half a surrogate pair is U+FFFD.
    public var text: String? {
        guard case .string(let units) = self.kind else { return nil }
        return String(decoding: units, as: UTF16.self)
    }

    /// A string's text, unless it is empty and so identifies nothing.
    public var identifier: String? { self.text.flatMap { $0.isEmpty ? nil : $0 } }

    /// Indicates whether the value is `null`.
    public var isNull: Bool {
        guard case .null = self.kind else { return false }
        return true
    }

    /// Indicates whether the value is a number.
    public var isNumber: Bool {
        guard case .number = self.kind else { return false }
        return true
    }
}
