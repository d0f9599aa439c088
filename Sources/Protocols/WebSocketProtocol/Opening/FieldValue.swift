// Reading of field values for the handshakes (RFC 9110 sections 5.5 and 5.6).
// It has no state.

/// Parses the values of HTTP fields.
package enum FieldValue {
    /// Returns the value without optional whitespace around it.
    ///
    /// It compares bytes: of a space with a combining mark behind it, which is one character, the space is removed.
    package static func trimmed(_ value: Substring) -> Substring {
        let bytes = value.utf8
        guard let first = bytes.firstIndex(where: { !Self.isWhitespace($0) }),
            let last = bytes.lastIndex(where: { !Self.isWhitespace($0) })
        else { return "" }
        return value[first..<bytes.index(after: last)]
    }

    /// Returns the elements of a comma-separated list of tokens; empty ones are left out (RFC 9110 section 5.6.1.2).
    package static func tokens(of value: String) -> [String] {
        value.utf8.split(separator: UInt8(ascii: ","))
            .map { String(Self.trimmed(Substring($0))) }
            .filter { !$0.isEmpty }
    }

    /// Compares without regard to the case of ASCII letters.
    package static func isEqual(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
        left.utf8.elementsEqual(right.utf8) { Self.lowercased($0) == Self.lowercased($1) }
    }

    /// Returns whether the byte may be in a token (RFC 9110 section 5.6.2).
    package static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default:
            "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
