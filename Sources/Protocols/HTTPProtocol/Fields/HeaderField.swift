// Reading of header fields and the words in them. Pure.

extension Collection where Element == (name: String, value: String) {
    /// Returns the value of the first field with this name, in any case; `name` is in lower case.
    package func firstValue(named name: String) -> String? {
        self.first { $0.name.utf8.count == name.utf8.count && $0.name.lowercased() == name }?.value
    }
}

extension StringProtocol {
    /// The text without the white space around it that RFC 9110 section 5.5 allows.
    ///
    /// It compares bytes: of a space with a combining mark behind it, which is one character, the space is removed.
    package var withoutSurroundingSpace: Substring {
        let text = Substring(self)
        let isContent: (UInt8) -> Bool = { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        guard let first = text.utf8.firstIndex(where: isContent), let last = text.utf8.lastIndex(where: isContent)
        else { return "" }
        return text[first..<text.utf8.index(after: last)]
    }
}

extension Bool {
    /// Reads `true`, `false`, `1` or `0` in any case; nil for any other text.
    package init?(lenient text: String) {
        let text = text.withoutSurroundingSpace
        guard text.utf8.count <= 5 else { return nil }
        switch text.lowercased() {
        case "true", "1": self = true
        case "false", "0": self = false
        default: return nil
        }
    }
}

extension Int {
    /// Reads an integer, or a number without a fractional part such as `300.0`.
    package init?(lenient text: String) {
        let text = text.withoutSurroundingSpace
        if let integer = Int(text) {
            self = integer
        } else if let number = Double(finite: String(text)), number.magnitude < 1e15,
            Double(Int(number)) == number
        {
            self = Int(number)
        } else {
            return nil
        }
    }
}

extension Double {
    /// Reads a finite number in decimal digits; nil for hexadecimal, `inf` and `nan`.
    package init?(finite text: String) {
        let text = text.withoutSurroundingSpace
        guard text.utf8.allSatisfy({ "0123456789.+-eE".utf8.contains($0) }) else { return nil }
        guard let number = Double(String(text)), number.isFinite else { return nil }
        self = number
    }
}
