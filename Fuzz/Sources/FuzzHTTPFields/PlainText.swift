// A plain reading of what stands in fields: bytes, and the C library for numbers and dates.

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Reads texts as the C library does.
enum PlainText {
    /// A text without the spaces and tabs around it.
    static func trim(_ text: String) -> String {
        var bytes = Array(text.utf8)[...]
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A text with its ASCII letters in lower case.
    static func lowercase(_ text: String) -> String {
        String(decoding: text.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }, as: UTF8.self)
    }

    /// A finite decimal number: digits, perhaps with a point, and perhaps with an exponent.
    static func number(_ text: String) -> Double? {
        let text = self.trim(text)
        var rest = Array(text.utf8)[...]
        func skipDigits() -> Int {
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            rest = rest[digits.endIndex...]
            return digits.count
        }
        func skip(_ characters: String) -> Bool {
            guard let first = rest.first, characters.utf8.contains(first) else { return false }
            rest = rest.dropFirst()
            return true
        }
        _ = skip("+-")
        let whole = skipDigits()
        let fraction = skip(".") ? skipDigits() : 0
        guard whole + fraction > 0 else { return nil }
        if skip("eE") {
            _ = skip("+-")
            guard skipDigits() > 0 else { return nil }
        }
        guard rest.isEmpty else { return nil }
        let number = strtod(text, nil)
        return number.isFinite ? number : nil
    }

    /// An integer that `Int` holds, or a number below 10 to the power of 15 without a fractional part.
    static func integer(_ text: String) -> Int? {
        let text = self.trim(text)
        let digits = text.utf8.first.map { $0 == 0x2B || $0 == 0x2D } ?? false ? text.utf8.dropFirst() : text.utf8[...]
        if !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) {
            errno = 0
            let integer = strtol(text, nil, 10)
            if errno == 0 { return integer }
        }
        guard let number = self.number(text), abs(number) < 1e15, number == trunc(number) else { return nil }
        return Int(number)
    }

    /// A word for yes or no.
    static func truth(_ text: String) -> Bool? {
        switch self.lowercase(self.trim(text)) {
        case "true", "1": true
        case "false", "0": false
        default: nil
        }
    }
}
