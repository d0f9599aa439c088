/// The reason for which bytes are not one JSON object (RFC 8259), and its place.
package struct JSONObjectFault: Equatable, Sendable {
    /// The kind of fault.
    package enum Kind: Equatable, Sendable {
        /// The text is empty or white space.
        case empty
        /// The text is another complete JSON value.
        case otherValue
        /// Further text follows the object.
        case surplus
        /// The text ends inside the object.
        case truncated
        /// A byte is not allowed by JSON at its place.
        case unexpected
    }

    /// The kind of fault.
    package let kind: Kind
    /// The offset of the byte at fault, counted from 0; the text's length when it ends too early.
    package let offset: Int

    /// Finds the first fault; nil for one object with white space around it.
    package init?(_ bytes: [UInt8]) {
        var reader = JSONSyntaxReader(bytes)
        reader.skipSpace()
        guard !reader.isAtEnd else {
            self.init(kind: .empty, offset: bytes.count)
            return
        }
        let isObject = reader.isAt("{")
        let start = reader.offset
        guard reader.readValue() else {
            self.init(kind: reader.isAtEnd ? .truncated : .unexpected, offset: reader.offset)
            return
        }
        guard isObject else {
            self.init(kind: .otherValue, offset: start)
            return
        }
        reader.skipSpace()
        guard !reader.isAtEnd else { return nil }
        self.init(kind: .surplus, offset: reader.offset)
    }

    private init(kind: Kind, offset: Int) {
        self.kind = kind
        self.offset = offset
    }
}

/// Skips JSON text; a failed read leaves `offset` where the text stops being JSON.
private struct JSONSyntaxReader {
    private let bytes: [UInt8]
    private(set) var offset = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private var next: UInt8? { self.isAtEnd ? nil : self.bytes[self.offset] }
    var isAtEnd: Bool { self.offset == self.bytes.count }

    func isAt(_ scalar: Unicode.Scalar) -> Bool { self.next == UInt8(ascii: scalar) }

    mutating func skipSpace() {
        while let byte = self.next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { self.offset += 1 }
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard self.isAt(scalar) else { return false }
        self.offset += 1
        return true
    }

    /// Reads a value with its contents, at any depth.
    mutating func readValue() -> Bool {
        // For each open container, whether it is an object.
        var containers: [Bool] = []
        repeat {
            self.skipSpace()
            if self.isAt("{") || self.isAt("[") {
                let isObject = self.isAt("{")
                self.offset += 1
                self.skipSpace()
                guard self.take(isObject ? "}" : "]") else {
                    containers.append(isObject)
                    if isObject, !self.readName() { return false }
                    continue
                }
            } else if !self.readScalar() {
                return false
            }
            guard self.close(&containers) else { return false }
        } while !containers.isEmpty
        return true
    }

    /// Reads the bytes after a value: the ends of containers, and the separator of the next value.
    private mutating func close(_ containers: inout [Bool]) -> Bool {
        while let isObject = containers.last {
            self.skipSpace()
            if self.take(",") {
                self.skipSpace()
                return !isObject || self.readName()
            }
            guard self.take(isObject ? "}" : "]") else { return false }
            containers.removeLast()
        }
        return true
    }

    /// Reads a member's name and its colon.
    private mutating func readName() -> Bool {
        guard self.readString() else { return false }
        self.skipSpace()
        return self.take(":")
    }

    private mutating func readScalar() -> Bool {
        switch self.next {
        case UInt8(ascii: "\""): self.readString()
        case UInt8(ascii: "t"): self.readWord("true")
        case UInt8(ascii: "f"): self.readWord("false")
        case UInt8(ascii: "n"): self.readWord("null")
        default: self.readNumber()
        }
    }

    private mutating func readWord(_ word: String) -> Bool {
        for scalar in word.unicodeScalars where !self.take(scalar) { return false }
        return true
    }

    private mutating func readString() -> Bool {
        guard self.take("\"") else { return false }
        while let byte = self.next, byte >= 0x20 {
            self.offset += 1
            if byte == UInt8(ascii: "\"") { return true }
            if byte == UInt8(ascii: "\\"), !self.readEscape() { return false }
        }
        return false
    }

    private mutating func readEscape() -> Bool {
        guard let byte = self.next, "\"\\/bfnrtu".utf8.contains(byte) else { return false }
        self.offset += 1
        guard byte == UInt8(ascii: "u") else { return true }
        for _ in 0..<4 {
            guard let digit = self.next, Character(Unicode.Scalar(digit)).isHexDigit else { return false }
            self.offset += 1
        }
        return true
    }

    private mutating func readNumber() -> Bool {
        _ = self.take("-")
        if !self.take("0"), !self.readDigits() { return false }
        if self.take("."), !self.readDigits() { return false }
        guard self.take("e") || self.take("E") else { return true }
        if !self.take("+") { _ = self.take("-") }
        return self.readDigits()
    }

    private mutating func readDigits() -> Bool {
        let start = self.offset
        while let byte = self.next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { self.offset += 1 }
        return self.offset > start
    }
}
