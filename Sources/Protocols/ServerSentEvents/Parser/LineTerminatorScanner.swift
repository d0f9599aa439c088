// Finds CR and LF in one chunk, 64 bytes at a time. Owned by one call of the parser; allocates no memory.

import CLineTerminatorScan

/// Steps through the line terminators of a chunk in order, and reads each byte once.
///
/// CR and LF are searched together: searching for one of them alone rescans the chunk when the other is rare.
///
/// - Safety: it reads only inside the bytes it was created over, and lives no longer than the call that owns them.
@safe
struct LineTerminatorScanner {
    /// The number of bytes that are searched together.
    static var blockByteCount: Int { 64 }

    private let bytes: UnsafeRawPointer
    private let count: Int
    private var block = -64
    private var mask: UInt64 = 0

    /// Creates a scanner over `count` bytes.
    @inline(__always)
    init(bytes: UnsafeRawPointer, count: Int) {
        unsafe self.bytes = bytes
        self.count = count
    }

    /// Returns the offset of the next CR or LF, or the byte count when there is none left.
    @inline(__always)
    mutating func next() -> Int {
        // The state is passed by value, so that it stays in registers between blocks.
        if self.mask == 0 {
            (self.block, self.mask) = unsafe Self.nextBlock(after: self.block, of: self.bytes, count: self.count)
        }
        let offset = self.block &+ self.mask.trailingZeroBitCount
        self.mask &= self.mask &- 1
        return offset
    }

    /// Returns the next block that has a CR or LF, with their bits.
    ///
    /// At the end it repeatedly returns the byte after the last, with one bit.
    @inline(never)
    private static func nextBlock(
        after block: Int, of bytes: UnsafeRawPointer, count: Int
    ) -> (block: Int, mask: UInt64) {
        var block = block &+ 64
        while block &+ 64 <= count {
            if unsafe clts_has_control(bytes + block) {
                let mask = unsafe clts_mask(bytes + block)
                if mask != 0 { return (block, mask) }
            }
            block &+= 64
        }
        if block < count {
            let mask = unsafe clts_short_mask(bytes + block, count &- block)
            if mask != 0 { return (block, mask) }
        }
        return (count, 1)
    }
}

extension UInt8 {
    /// LF, U+000A.
    static var lineFeed: UInt8 { 0x0A }
    /// CR, U+000D.
    static var carriageReturn: UInt8 { 0x0D }
    /// Space, U+0020.
    static var space: UInt8 { 0x20 }
    /// Colon, U+003A.
    static var colon: UInt8 { 0x3A }
}
