/// A text with its JSON escapes (RFC 8259 section 7) resolved, as far as they are ASCII: `\/`, `\"`, `\u0041`.
///
/// A run of backslashes counts as one, so that JSON within JSON is resolved in the same way. Where an escape was cut at
/// the end, the text ends before it. The text need not be JSON.
enum JSONEscapes: TextEscapes {
    static let beginning = UInt8(ascii: "\\")

    static func mayBegin(before index: Int, in bytes: UnsafeRawBufferPointer) -> Bool {
        guard index < bytes.count else { return true }
        return switch unsafe bytes[index] {
        case UInt8(ascii: "u"), UInt8(ascii: "/"), UInt8(ascii: "\""), Self.beginning: true
        default: false
        }
    }

    static func walk(_ bytes: UnsafeRawBufferPointer, _ body: (UInt8, Int) -> Void) {
        var index = 0
        while index < bytes.count {
            let start = index
            while index < bytes.count, unsafe bytes[index] == Self.beginning { index += 1 }
            guard index > start else {
                unsafe body(bytes[index], start)
                index += 1
                continue
            }
            guard index < bytes.count else { return }
            switch unsafe bytes[index] {
            case UInt8(ascii: "/"), UInt8(ascii: "\""):
                unsafe body(bytes[index], start)
                index += 1
            case UInt8(ascii: "u"):
                let digits = unsafe bytes[(index + 1)...].prefix(4)
                guard unsafe digits.count == 4 else { return }
                if let value = unsafe Self.value(of: digits), value < 0x80 {
                    body(UInt8(value), start)
                    index += 5
                } else {
                    body(Self.beginning, start)
                }
            default:
                body(Self.beginning, start)
            }
        }
    }

    /// Returns the number that hexadecimal digits are; nil when another byte is among them.
    private static func value(of digits: Slice<UnsafeRawBufferPointer>) -> UInt16? {
        unsafe digits.reduce(0) { value, byte in
            guard let value, let digit = byte.hexadecimalDigit else { return nil }
            return value << 4 | UInt16(digit)
        }
    }
}
