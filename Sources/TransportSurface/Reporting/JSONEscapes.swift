import PlatformC

/// A text with its JSON escapes (RFC 8259 section 7) resolved, as far as they are ASCII: `\/`, `\"`, `\u0041`.
///
/// A run of backslashes counts as one, so that JSON within JSON is resolved in the same way. Where an escape was cut at
/// the end, the text ends before it. The text need not be JSON. The functions are pure.
enum JSONEscapes {
    private static let backslash = UInt8(ascii: "\\")

    /// Returns whether the text may have escapes.
    static func areIn(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return false }
        var index = 0
        while index < bytes.count,
            let found = unsafe memchr(base + index, CInt(Self.backslash), bytes.count - index)
        {
            index = unsafe UnsafeRawPointer(found) - base + 1
            guard index < bytes.count else { return true }
            switch unsafe bytes[index] {
            case UInt8(ascii: "u"), UInt8(ascii: "/"), UInt8(ascii: "\""), Self.backslash: return true
            default: continue
            }
        }
        return false
    }

    /// Returns the text without escapes.
    static func bytes(withoutThoseIn bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        unsafe Self.walk(bytes) { byte, _ in result.append(byte) }
        return result
    }

    /// Returns the position at which each byte of that text begins.
    static func starts(in bytes: UnsafeRawBufferPointer) -> [Int] {
        var result: [Int] = []
        result.reserveCapacity(bytes.count)
        unsafe Self.walk(bytes) { _, start in result.append(start) }
        return result
    }

    private static func walk(_ bytes: UnsafeRawBufferPointer, _ body: (UInt8, Int) -> Void) {
        var index = 0
        while index < bytes.count {
            let start = index
            while index < bytes.count, unsafe bytes[index] == Self.backslash { index += 1 }
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
                if let value = unsafe UInt8(String(decoding: digits, as: UTF8.self), radix: 16), value < 0x80 {
                    body(value, start)
                    index += 5
                } else {
                    body(Self.backslash, start)
                }
            default:
                body(Self.backslash, start)
            }
        }
    }
}
