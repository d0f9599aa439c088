// Masking of client frames (RFC 6455 section 5.3).
// The owner is the writer of the frame.

/// Masks or unmasks bytes in any number of runs.
package struct ByteMask: Sendable {
    /// The key twice, its next byte in the lowest place.
    private var pattern: UInt64

    /// Begins with the first byte of the key.
    package init(key: MaskingKey) {
        let word = UInt64(key.rawValue.byteSwapped)
        self.pattern = word << 32 | word
    }

    /// Combines the bytes with the key in place, and keeps the position in the key.
    package mutating func apply(to bytes: UnsafeMutableRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        unsafe self.combine(start, into: start, count: bytes.count)
    }

    /// Writes the bytes, combined with the key, to memory of at least as many bytes, and keeps the position in the key.
    ///
    /// The two do not overlap.
    package mutating func apply(from bytes: UnsafeRawBufferPointer, to memory: UnsafeMutableRawBufferPointer) {
        precondition(memory.count >= bytes.count, "there is no room for the masked bytes")
        guard let start = bytes.baseAddress, let target = memory.baseAddress else { return }
        unsafe self.combine(start, into: target, count: bytes.count)
    }

    @inline(__always)
    private mutating func combine(_ start: UnsafeRawPointer, into target: UnsafeMutableRawPointer, count: Int) {
        let pattern = self.pattern.littleEndian
        var index = 0
        while index &+ 8 <= count {
            let word = unsafe start.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            unsafe target.storeBytes(of: word ^ pattern, toByteOffset: index, as: UInt64.self)
            index &+= 8
        }
        // Whole words do not change the position in the key.
        while index < count {
            let byte = unsafe start.load(fromByteOffset: index, as: UInt8.self)
            let masked = byte ^ UInt8(truncatingIfNeeded: self.pattern)
            unsafe target.storeBytes(of: masked, toByteOffset: index, as: UInt8.self)
            self.pattern = self.pattern >> 8 | self.pattern << 56
            index &+= 1
        }
    }
}
