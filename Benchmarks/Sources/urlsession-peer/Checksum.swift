import Foundation

/// A CRC-32 as zlib computes it.
struct Checksum {
    /// The checksum of the added bytes.
    private(set) var value: UInt32 = 0

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }

    /// Adds bytes.
    mutating func add(_ data: Data) {
        var rest = ~self.value
        for byte in data { rest = rest >> 8 ^ Self.table[Int(UInt8(truncatingIfNeeded: rest) ^ byte)] }
        self.value = ~rest
    }
}
