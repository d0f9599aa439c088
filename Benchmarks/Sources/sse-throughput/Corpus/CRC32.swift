// The checksum of other languages' standard libraries, so that results can be compared with theirs.

/// CRC-32 as zlib computes it.
struct CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }

    private var state: UInt32 = 0xFFFF_FFFF

    /// The checksum of the added bytes.
    var value: UInt32 { ~self.state }

    /// Adds bytes, and a NUL that ends them.
    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var state = self.state
        Self.table.withUnsafeBufferPointer { table in
            for byte in bytes { state = table[Int(UInt8(truncatingIfNeeded: state) ^ byte)] ^ state >> 8 }
            state = table[Int(UInt8(truncatingIfNeeded: state))] ^ state >> 8
        }
        self.state = state
    }
}
