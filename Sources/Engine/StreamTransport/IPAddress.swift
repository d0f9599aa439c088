import PlatformC

/// A numeric address, without a zone.
package enum IPAddress: Equatable, Sendable {
    /// An IPv4 address of four bytes.
    case version4([UInt8])
    /// An IPv6 address of sixteen bytes.
    case version6([UInt8])

    /// Reads an address as `inet_pton` does; nil when the text is not an address.
    package init?(_ text: String) {
        if let bytes = Self.bytes(of: text, AF_INET, count: 4) {
            self = .version4(bytes)
        } else if let bytes = Self.bytes(of: text, AF_INET6, count: 16) {
            self = .version6(bytes)
        } else {
            return nil
        }
    }

    private static func bytes(of text: String, _ family: Int32, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let isAddress = unsafe bytes.withUnsafeMutableBytes { unsafe inet_pton(family, text, $0.baseAddress) == 1 }
        return isAddress ? bytes : nil
    }

    private var bytes: [UInt8] {
        switch self {
        case .version4(let bytes), .version6(let bytes): bytes
        }
    }

    /// The IPv4 address that an IPv6 address stands for (`::ffff:192.0.2.1`, RFC 4291 section 2.5.5.2), or itself.
    var unmapped: IPAddress {
        guard case .version6(let bytes) = self,
            bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
        else { return self }
        return .version4(Array(bytes[12...]))
    }

    /// The number of bits of the address.
    var bitCount: Int { self.bytes.count * 8 }

    /// Returns whether its first `bitCount` bits are those of another address of its family.
    func hasPrefix(_ bitCount: Int, of other: IPAddress) -> Bool {
        let (mine, others) = (self.bytes, other.bytes)
        guard mine.count == others.count, 0...self.bitCount ~= bitCount else { return false }
        let whole = bitCount / 8
        guard mine[..<whole] == others[..<whole] else { return false }
        let rest = bitCount % 8
        return rest == 0 || (mine[whole] ^ others[whole]) >> (8 - UInt8(rest)) == 0
    }
}
