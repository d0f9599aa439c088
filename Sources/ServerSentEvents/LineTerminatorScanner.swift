// Finds CR and LF in one chunk, 64 bytes at a time. Owned by one call of the parser; holds no memory.

/// Walks the line terminators of a chunk in order, and touches each byte once.
///
/// CR and LF are searched together: searching for one of them alone rescans the chunk when the other is rare.
///
/// - Safety: it reads only inside the bytes it was created over, and lives no longer than the call that owns them.
@safe
struct LineTerminatorScanner {
    private let bytes: UnsafeRawPointer
    private let count: Int
    private var block = -64
    private var mask: UInt64 = 0

    /// Creates a scanner over `count` bytes.
    init(bytes: UnsafeRawPointer, count: Int) {
        unsafe self.bytes = bytes
        self.count = count
    }

    /// The offset of the next CR or LF that stands at `start` or after it, or the byte count when there is none left.
    @inline(__always)
    mutating func next(from start: Int) -> Int {
        while true {
            // The state goes by value, so that it stays in registers between blocks.
            if self.mask == 0 {
                (self.block, self.mask) = unsafe Self.nextBlock(after: self.block, of: self.bytes, count: self.count)
            }
            let offset = self.block &+ self.mask.trailingZeroBitCount
            self.mask &= self.mask &- 1
            if offset >= start { return offset }
        }
    }

    /// The next block that has a CR or LF, with their bits.
    ///
    /// At the end, again and again, it is the byte after the last, with one bit.
    @inline(never)
    private static func nextBlock(
        after block: Int, of bytes: UnsafeRawPointer, count: Int
    ) -> (block: Int, mask: UInt64) {
        var block = block
        while true {
            block &+= 64
            let remaining = count &- block
            if remaining <= 0 { return (count, 1) }
            let mask =
                remaining >= 64
                ? unsafe lineTerminatorMask(bytes + block) : unsafe lineTerminatorMask(bytes + block, count: remaining)
            if mask != 0 { return (block, mask) }
        }
    }
}

/// One bit for each of 64 bytes, lowest first: set where the byte is CR or LF.
@inline(__always)
private func lineTerminatorMask(_ bytes: UnsafeRawPointer) -> UInt64 {
    // Nearly every block of text has no byte below 0x0E, and that costs a third of the exact question.
    var controls: UInt64 = 0
    for index in 0..<8 { controls |= controlBits(unsafe word(bytes, at: 8 &* index)) }
    guard controls & highBits != 0 else { return 0 }
    var mask: UInt64 = 0
    for index in 0..<8 {
        let bits = terminatorBits(unsafe word(bytes, at: 8 &* index))
        if bits != 0 { mask |= gather(bits) &<< UInt64(8 &* index) }
    }
    return mask
}

/// The same for fewer than 64 bytes; reads nothing past them.
@inline(__always)
private func lineTerminatorMask(_ bytes: UnsafeRawPointer, count: Int) -> UInt64 {
    var mask: UInt64 = 0
    guard count >= 8 else {
        for index in 0..<count {
            let byte = unsafe bytes.load(fromByteOffset: index, as: UInt8.self)
            if byte == .lineFeed || byte == .carriageReturn { mask |= 1 &<< UInt64(index) }
        }
        return mask
    }
    for index in 0..<count / 8 {
        mask |= gather(terminatorBits(unsafe word(bytes, at: 8 &* index))) &<< UInt64(8 &* index)
    }
    // The last word overlaps the one before.
    return mask | gather(terminatorBits(unsafe word(bytes, at: count &- 8))) &<< UInt64(count &- 8)
}

private let highBits: UInt64 = 0x8080_8080_8080_8080

/// The word at an offset, its first byte lowest.
@inline(__always)
private func word(_ bytes: UnsafeRawPointer, at offset: Int) -> UInt64 {
    UInt64(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
}

/// The high bit of each byte is set where the byte is below 0x0E.
///
/// The other bits mean nothing.
@inline(__always)
private func controlBits(_ word: UInt64) -> UInt64 {
    // With its high bit set no byte borrows from the next.
    ~(((word | highBits) &- 0x0E0E_0E0E_0E0E_0E0E) | word)
}

/// The high bit of each byte is set where the byte is CR or LF; the other bits are zero.
@inline(__always)
private func terminatorBits(_ word: UInt64) -> UInt64 {
    zeroBytes(word ^ 0x0A0A_0A0A_0A0A_0A0A) | zeroBytes(word ^ 0x0D0D_0D0D_0D0D_0D0D)
}

/// The high bit of each byte is set where the byte is zero; the other bits are zero.
@inline(__always)
private func zeroBytes(_ word: UInt64) -> UInt64 {
    ~(((word & ~highBits) &+ ~highBits) | word | ~highBits)
}

/// The eight high bits, side by side: no two products of the multiplication meet.
@inline(__always)
private func gather(_ bits: UInt64) -> UInt64 {
    (bits &>> 7 &* 0x0102_0408_1020_4080) &>> 56
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
