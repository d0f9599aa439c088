/// A text with its percent-encoding (RFC 3986 section 2.1) resolved, once: `%2F`, `%2f`.
///
/// A `%` without two hexadecimal digits is itself. Where an escape was cut at the end, the text ends before it. The text
/// need not be of a URL.
enum PercentEscapes: TextEscapes {
    static let beginning = UInt8(ascii: "%")

    static func mayBegin(before index: Int, in bytes: UnsafeRawBufferPointer) -> Bool {
        let count = unsafe Self.digitCount(in: bytes, from: index)
        return count == 2 || index + count == bytes.count
    }

    static func walk(_ bytes: UnsafeRawBufferPointer, _ body: (UInt8, Int) -> Void) {
        var index = 0
        while index < bytes.count {
            let start = index
            index += 1
            guard unsafe bytes[start] == Self.beginning else {
                unsafe body(bytes[start], start)
                continue
            }
            let count = unsafe Self.digitCount(in: bytes, from: index)
            if count == 2, let high = unsafe bytes[index].hexadecimalDigit,
                let low = unsafe bytes[index + 1].hexadecimalDigit
            {
                body(high << 4 | low, start)
                index += 2
            } else if index + count == bytes.count {
                return
            } else {
                body(Self.beginning, start)
            }
        }
    }

    /// Returns the number of hexadecimal digits at a place, at most 2.
    private static func digitCount(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        unsafe bytes[start...].prefix(2).prefix { $0.hexadecimalDigit != nil }.count
    }
}
