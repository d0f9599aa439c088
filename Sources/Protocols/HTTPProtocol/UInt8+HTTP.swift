// Classes of bytes in HTTP messages (RFC 9110 section 5).

extension UInt8 {
    static let horizontalTab = UInt8(ascii: "\t")
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")
    static let zero = UInt8(ascii: "0")

    /// Indicates whether the byte is SP or HTAB.
    var isWhitespace: Bool { self == .space || self == .horizontalTab }

    /// Indicates whether the byte is a decimal digit.
    var isDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    /// Indicates whether the byte may not be in a field value: the control characters except HTAB (RFC 9110 section
    /// 5.5).
    var isForbiddenInValue: Bool { self < 0x20 ? self != .horizontalTab : self == 0x7F }

    /// Indicates whether the byte may be in a token (RFC 9110 section 5.6.2): a digit, a letter or one of
    /// ``!#$%&'*+-.^_`|~``.
    var isTokenByte: Bool {
        // A bit for each byte: 0 to 63, then 64 to 127.
        let bits: UInt64 = self < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return self < 128 && bits &>> UInt64(self & 63) & 1 == 1
    }

    /// The lower-case letter of an upper-case one, and every other byte unchanged.
    var lowercased: UInt8 { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self ? self | 0x20 : self }
}
