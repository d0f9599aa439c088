// Base64 of a few bytes (RFC 4648 section 4), for the keys of the opening handshake.
// It has no state.

/// Encodes bytes as base64 with padding.
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Returns the encoded bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        var output: [UInt8] = []
        output.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var word = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            word <<= UInt32(8 * (3 - group.count))
            for digit in 0..<4 {
                let isPadding = digit > group.count
                let value = Int(word >> UInt32(18 - 6 * digit) & 0x3F)
                output.append(isPadding ? UInt8(ascii: "=") : Self.alphabet[value])
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
