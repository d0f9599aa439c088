import PlatformC

/// A text with its percent-encoding (RFC 3986 section 2.1) resolved, once: `%2F`, `%2f`.
///
/// A `%` without two hexadecimal digits is itself. Where an escape was cut at the end, the text ends before it. The text
/// need not be of a URL. The functions are pure, and their time is linear.
enum PercentEscapes {
    private static let percent = UInt8(ascii: "%")

    /// Returns whether the text may have escapes.
    static func areIn(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return false }
        var index = 0
        while index < bytes.count,
            let found = unsafe memchr(base + index, CInt(Self.percent), bytes.count - index)
        {
            index = unsafe UnsafeRawPointer(found) - base + 1
            let count = unsafe Self.digitCount(in: bytes, from: index)
            if count == 2 || index + count == bytes.count { return true }
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
            index += 1
            guard unsafe bytes[start] == Self.percent else {
                unsafe body(bytes[start], start)
                continue
            }
            let count = unsafe Self.digitCount(in: bytes, from: index)
            if count == 2, let high = unsafe Self.digit(bytes[index]), let low = unsafe Self.digit(bytes[index + 1]) {
                body(high << 4 | low, start)
                index += 2
            } else if index + count == bytes.count {
                return
            } else {
                body(Self.percent, start)
            }
        }
    }

    /// Returns the number of hexadecimal digits at a place, at most 2.
    private static func digitCount(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        unsafe bytes[start...].prefix(2).prefix { Self.digit($0) != nil }.count
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
