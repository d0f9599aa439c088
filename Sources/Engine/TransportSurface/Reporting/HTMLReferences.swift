/// The text of a page with its character references (WHATWG HTML section 13.2.5.72) resolved.
///
/// Of the named references it resolves those that occur in titles of error pages, and only with their semicolon. A
/// number that is no Unicode scalar becomes U+FFFD. The text need not be HTML. The function is pure.
package struct HTMLReferences {
    /// The text without references.
    package private(set) var bytes: [UInt8] = []
    /// The place in the text with references at which each byte begins, and its end.
    package private(set) var starts: [Int] = []

    /// Resolves the references in a text.
    package init(in text: [UInt8]) {
        self.bytes.reserveCapacity(text.count)
        self.starts.reserveCapacity(text.count + 1)
        var index = 0
        while index < text.count {
            let reference = text[index] == UInt8(ascii: "&") ? Self.reference(in: text[(index + 1)...]) : nil
            for byte in reference.map({ Array(String($0.scalar).utf8) }) ?? [text[index]] {
                self.bytes.append(byte)
                self.starts.append(index)
            }
            index = reference?.end ?? index + 1
        }
        self.starts.append(text.count)
    }

    /// Returns the character of a reference, and its end; nil when the text after the `&` is none.
    private static func reference(in text: ArraySlice<UInt8>) -> (scalar: Unicode.Scalar, end: Int)? {
        guard text.first == UInt8(ascii: "#") else { return Self.named(in: text) }
        let isHexadecimal = text.dropFirst().first.map { $0 | 0x20 } == UInt8(ascii: "x")
        return Self.numeric(in: text.dropFirst(isHexadecimal ? 2 : 1), radix: isHexadecimal ? 16 : 10)
    }

    private static func numeric(
        in text: ArraySlice<UInt8>, radix: UInt32
    ) -> (scalar: Unicode.Scalar, end: Int)? {
        var value: UInt32 = 0
        var end = text.startIndex
        while end < text.endIndex, let digit = text[end].hexadecimalDigit.map(UInt32.init), digit < radix {
            value = min(value * radix + digit, 0x11_0000)
            end += 1
        }
        guard end > text.startIndex else { return nil }
        // A missing semicolon is an error that is ignored.
        if end < text.endIndex, text[end] == UInt8(ascii: ";") { end += 1 }
        return (value == 0 ? "\u{FFFD}" : Unicode.Scalar(value) ?? "\u{FFFD}", end)
    }

    private static func named(in text: ArraySlice<UInt8>) -> (scalar: Unicode.Scalar, end: Int)? {
        guard let semicolon = text.prefix(Self.longestName + 1).firstIndex(of: UInt8(ascii: ";")),
            let scalar = Self.names[String(decoding: text[..<semicolon], as: UTF8.self)]
        else { return nil }
        return (scalar, semicolon + 1)
    }

    private static let longestName = names.keys.map(\.utf8.count).max() ?? 0

    private static let names: [String: Unicode.Scalar] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": "\u{A0}", "copy": "©", "reg": "®",
        "trade": "™", "middot": "·", "bull": "•", "hellip": "…", "ndash": "–", "mdash": "—", "laquo": "«", "raquo": "»",
        "lsquo": "‘", "rsquo": "’", "ldquo": "“", "rdquo": "”",
    ]
}
