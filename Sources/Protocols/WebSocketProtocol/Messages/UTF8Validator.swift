// Decides whether bytes are UTF-8 (RFC 3629), over any number of runs.
// The owner is the reader of the message.

/// Checks that the runs of a message together are UTF-8, and fails at the first byte that cannot be.
///
/// RFC 6455 section 8.1 requires only a check of the whole message; failing at the first invalid byte avoids reading
/// the rest of a long one.
package struct UTF8Validator: Sendable {
    /// The number of continuation bytes that the current scalar still needs.
    private var missing = 0
    /// The least and greatest value the next continuation byte may have.
    ///
    /// They exclude overlong forms, surrogates and everything past U+10FFFF (RFC 3629 section 4).
    private var least: UInt8 = 0x80
    private var greatest: UInt8 = 0xBF
    private var isValid = true

    /// Begins a message.
    package init() {}

    /// Returns whether bytes are UTF-8 as a whole.
    ///
    /// Most messages are ASCII, which is known without a look at single bytes.
    package static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if unsafe Self.isASCII(bytes) { return true }
        return unsafe Self.isValidText(bytes)
    }

    @inline(never)
    private static func isValidText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var validator = Self()
        return unsafe validator.validate(bytes) && validator.finish()
    }

    /// Takes the next run; returns whether all bytes so far can be the beginning of valid UTF-8.
    ///
    /// After a refusal every answer is a refusal, until `reset()`.
    package mutating func validate(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard self.isValid, let start = bytes.baseAddress else { return self.isValid }
        let count = bytes.count
        var index = 0
        while index < count {
            if self.missing == 0 {
                unsafe Self.skipASCII(start, count: count, from: &index)
                while unsafe Self.skipWholeScalar(start, count: count, from: &index) {}
                guard index < count else { break }
            }
            let byte = unsafe start.load(fromByteOffset: index, as: UInt8.self)
            guard self.accept(byte) else {
                self.isValid = false
                return false
            }
            index &+= 1
        }
        return true
    }

    /// Ends the message; returns false when a byte was refused or the last scalar is incomplete.
    ///
    /// The next run begins a new message.
    package mutating func finish() -> Bool {
        let isComplete = self.isValid && self.missing == 0
        self.reset()
        return isComplete
    }

    /// Discards the message.
    package mutating func reset() { self = Self() }

    /// Returns whether all bytes are ASCII; the last block overlaps the one before it.
    @inline(__always)
    private static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress else { return true }
        let count = bytes.count
        var index = 0
        guard count >= Self.blockByteCount else {
            unsafe Self.skipASCII(start, count: count, from: &index)
            return index == count
        }
        let last = count &- Self.blockByteCount
        while index &+ Self.blockByteCount <= last {
            let words = unsafe Self.block(start + index) | Self.block(start + index + Self.blockByteCount)
            guard Self.isASCII(words) else { return false }
            index &+= 2 &* Self.blockByteCount
        }
        var words = unsafe Self.block(start + last)
        if index < last { unsafe words |= Self.block(start + index) }
        return Self.isASCII(words)
    }

    private static let blockByteCount = 64

    /// Returns 64 bytes, folded to 16 that have the upper bits of all.
    @inline(__always)
    private static func block(_ start: UnsafeRawPointer) -> SIMD2<UInt64> {
        let words = unsafe start.loadUnaligned(as: SIMD8<UInt64>.self)
        let half = words.lowHalf | words.highHalf
        return half.lowHalf | half.highHalf
    }

    @inline(__always)
    private static func isASCII(_ words: SIMD2<UInt64>) -> Bool {
        (words[0] | words[1]) & 0x8080_8080_8080_8080 == 0
    }

    private static func skipASCII(_ start: UnsafeRawPointer, count: Int, from index: inout Int) {
        while index &+ Self.blockByteCount <= count, unsafe Self.isASCII(Self.block(start + index)) {
            index &+= Self.blockByteCount
        }
        while index &+ 16 <= count {
            let first = unsafe start.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let second = unsafe start.loadUnaligned(fromByteOffset: index &+ 8, as: UInt64.self)
            guard (first | second) & 0x8080_8080_8080_8080 == 0 else { break }
            index &+= 16
        }
        while index < count, unsafe start.load(fromByteOffset: index, as: UInt8.self) < 0x80 { index &+= 1 }
    }

    /// Skips a scalar of two or three bytes whose continuation bytes may have any value and are all there.
    private static func skipWholeScalar(_ start: UnsafeRawPointer, count: Int, from index: inout Int) -> Bool {
        guard index &+ 3 <= count else { return false }
        let lead = unsafe start.load(fromByteOffset: index, as: UInt8.self)
        let pair = unsafe start.loadUnaligned(fromByteOffset: index &+ 1, as: UInt16.self)
        if lead &- 0xE1 < 0x0F && lead != 0xED && pair & 0xC0C0 == 0x8080 {
            index &+= 3
            return true
        }
        if lead &- 0xC2 < 0x1E && UInt16(littleEndian: pair) & 0xC0 == 0x80 {
            index &+= 2
            return true
        }
        return false
    }

    private mutating func accept(_ byte: UInt8) -> Bool {
        guard self.missing == 0 else {
            guard byte >= self.least, byte <= self.greatest else { return false }
            self.missing &-= 1
            (self.least, self.greatest) = (0x80, 0xBF)
            return true
        }
        switch byte {
        case 0x00...0x7F: return true
        case 0xC2...0xDF: self.begin(missing: 1, least: 0x80, greatest: 0xBF)
        case 0xE0: self.begin(missing: 2, least: 0xA0, greatest: 0xBF)
        case 0xED: self.begin(missing: 2, least: 0x80, greatest: 0x9F)
        case 0xE1...0xEF: self.begin(missing: 2, least: 0x80, greatest: 0xBF)
        case 0xF0: self.begin(missing: 3, least: 0x90, greatest: 0xBF)
        case 0xF1...0xF3: self.begin(missing: 3, least: 0x80, greatest: 0xBF)
        case 0xF4: self.begin(missing: 3, least: 0x80, greatest: 0x8F)
        default: return false
        }
        return true
    }

    private mutating func begin(missing: Int, least: UInt8, greatest: UInt8) {
        self.missing = missing
        self.least = least
        self.greatest = greatest
    }
}
