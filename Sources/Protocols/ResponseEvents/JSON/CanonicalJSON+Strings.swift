// Canonical strings: unescaping, ordering, and the required escapes. Pure.

/// Strings are held as UTF-8; half of a surrogate pair has the three bytes that it would have as a scalar.
extension CanonicalJSON {
    /// Returns the content of a checked JSON string, unescaped.
    static func unescaped(_ escaped: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        guard escaped.contains(UInt8(ascii: "\\")) else { return Array(escaped) }
        var output: [UInt8] = []
        output.reserveCapacity(escaped.count)
        var index = 0
        while index < escaped.count {
            guard escaped[index] == UInt8(ascii: "\\") else {
                output.append(escaped[index])
                index += 1
                continue
            }
            let letter = escaped[index + 1]
            if letter == UInt8(ascii: "u") {
                self.appendUTF8(self.scalar(in: escaped, at: &index), to: &output)
            } else {
                output.append(self.meaning(of: letter))
                index += 2
            }
        }
        return output
    }

    /// Returns whether a name precedes another in the order of UTF-16 code units; nil when they are equal.
    static func order(_ left: [UInt8], _ right: [UInt8]) -> Bool? {
        guard let place = zip(left, right).enumerated().first(where: { $1.0 != $1.1 })?.offset else {
            return left.count == right.count ? nil : left.count < right.count
        }
        // A half sorts among the first halves of the scalars above U+FFFF, which bytes alone do not show.
        if self.isHalf(left, at: place) && right[place] >= 0xF0 || self.isHalf(right, at: place) && left[place] >= 0xF0
        {
            // At most two code units decide, because the half is the first of a pair at most and no second half follows
            // it. They are in seven bytes. A longer part of a long name would be examined again in each comparison.
            return self.codeUnits(left[place...].prefix(7)).lexicographicallyPrecedes(
                self.codeUnits(right[place...].prefix(7)))
        }
        return self.rank(left[place]) < self.rank(right[place])
    }

    /// Returns whether half of a surrogate pair begins at a place.
    private static func isHalf(_ string: [UInt8], at place: Int) -> Bool {
        string[place] == 0xED && string[place + 1] >= 0xA0
    }

    private static func codeUnits(_ string: ArraySlice<UInt8>) -> [UInt16] {
        var units: [UInt16] = []
        var rest = string
        while let lead = rest.popFirst() {
            let count = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3
            let bits = UInt32(lead) & (count == 0 ? 0x7F : 0x3F >> UInt32(count))
            let value = rest.prefix(count).reduce(bits) { $0 << 6 | UInt32($1 & 0x3F) }
            rest = rest.dropFirst(count)
            units += value > 0xFFFF ? [UInt16(0xD7C0 + value >> 10), UInt16(0xDC00 | value & 0x3FF)] : [UInt16(value)]
        }
        return units
    }

    /// Appends the content of a checked JSON string, with quotes.
    static func appendString(escaped: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
        guard escaped.contains(UInt8(ascii: "\\")) else {
            output.append(UInt8(ascii: "\""))
            output += escaped
            return output.append(UInt8(ascii: "\""))
        }
        self.appendString(self.unescaped(escaped)[...], to: &output)
    }

    /// Appends a string with its quotes and the required escapes.
    static func appendString(_ string: ArraySlice<UInt8>, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        var index = string.startIndex
        while index < string.endIndex {
            let byte = string[index]
            if byte == 0xED, string[index + 1] >= 0xA0 {
                self.appendEscape(
                    0xD000 | UInt32(string[index + 1] & 0x3F) << 6 | UInt32(string[index + 2] & 0x3F), to: &output)
                index += 3
                continue
            }
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): output += [UInt8(ascii: "\\"), byte]
            case 0x20...: output.append(byte)
            case 0x08: output += "\\b".utf8
            case 0x09: output += "\\t".utf8
            case 0x0A: output += "\\n".utf8
            case 0x0C: output += "\\f".utf8
            case 0x0D: output += "\\r".utf8
            default: self.appendEscape(UInt32(byte), to: &output)
            }
            index += 1
        }
        output.append(UInt8(ascii: "\""))
    }

    /// Returns the rank of a byte: in UTF-16 the scalars above U+FFFF precede those from U+E000 on, because they begin
    /// with a surrogate.
    private static func rank(_ byte: UInt8) -> UInt8 { byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte }

    private static func meaning(of letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "r"): 0x0D
        default: letter
        }
    }

    /// Takes `\uXXXX`, with the second half if it is the first of a pair.
    private static func scalar(in escaped: UnsafeBufferPointer<UInt8>, at index: inout Int) -> UInt32 {
        let first = self.hexadecimal(escaped, at: index + 2)
        index += 6
        guard 0xD800...0xDBFF ~= first, escaped.count - index >= 6, escaped[index] == UInt8(ascii: "\\"),
            escaped[index + 1] == UInt8(ascii: "u")
        else { return first }
        let second = self.hexadecimal(escaped, at: index + 2)
        guard 0xDC00...0xDFFF ~= second else { return first }
        index += 6
        return 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
    }

    private static func hexadecimal(_ escaped: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt32 {
        escaped[index..<index + 4].reduce(0) { value, digit in
            value << 4 | UInt32(digit <= UInt8(ascii: "9") ? digit & 0x0F : (digit & 0x0F) + 9)
        }
    }

    private static func appendUTF8(_ scalar: UInt32, to output: inout [UInt8]) {
        let last = UInt8(0x80 | scalar & 0x3F)
        switch scalar {
        case ..<0x80: output.append(UInt8(scalar))
        case ..<0x800: output += [UInt8(0xC0 | scalar >> 6), last]
        case ..<0x10000: output += [UInt8(0xE0 | scalar >> 12), UInt8(0x80 | scalar >> 6 & 0x3F), last]
        default:
            output += [
                UInt8(0xF0 | scalar >> 18), UInt8(0x80 | scalar >> 12 & 0x3F), UInt8(0x80 | scalar >> 6 & 0x3F), last,
            ]
        }
    }

    private static func appendEscape(_ unit: UInt32, to output: inout [UInt8]) {
        output += "\\u".utf8
        for shift in [12, 8, 4, 0] as [UInt32] {
            let digit = UInt8(unit >> shift & 0x0F)
            output.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}
