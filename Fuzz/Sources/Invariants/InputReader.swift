// Reads a fuzz target's decisions from its input.

/// Reads decisions from the beginning of an input, and leaves the rest.
///
/// At the end of the input every byte is zero, so that any input is valid.
public struct InputReader {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    /// Reads an input.
    public init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// The number of remaining bytes.
    public var remainingByteCount: Int { self.bytes.count - self.offset }

    /// The bytes that were not read.
    public var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self.bytes[self.offset...]) }

    /// The next byte.
    public mutating func byte() -> UInt8 {
        guard self.offset < self.bytes.count else { return 0 }
        defer { self.offset += 1 }
        return self.bytes[self.offset]
    }

    /// One of the numbers from zero to below `count`, of which there are at most 256.
    public mutating func choice(of count: Int) -> Int { Int(self.byte()) % count }

    /// A number of two bytes.
    public mutating func short() -> Int { Int(self.byte()) << 8 | Int(self.byte()) }

    /// The next bytes, or fewer at the end.
    public mutating func bytes(_ count: Int) -> UnsafeRawBufferPointer {
        let end = min(self.offset + count, self.bytes.count)
        defer { self.offset = end }
        return UnsafeRawBufferPointer(rebasing: self.bytes[self.offset..<end])
    }
}

/// Numbers that follow from an input, so that a finding can be run again.
public struct InputHash: RandomNumberGenerator {
    @usableFromInline var state: UInt64

    /// Hashes an input.
    @inlinable
    public init(_ bytes: UnsafeRawBufferPointer) {
        self.state = bytes.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
    }

    /// The next number.
    @inlinable
    public mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
