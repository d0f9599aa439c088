// The chunk that one call of the parser reads. The caller lends its bytes for the call.

import CLineTerminatorScan

/// The bytes of one chunk, and the number of bytes of the stream before it.
///
/// - Safety: it lives no longer than the call that lends the bytes, and only ranges that the scanner found are read.
@safe
struct Chunk {
    /// The first byte.
    let base: UnsafeRawPointer
    /// The number of bytes.
    let count: Int
    /// The number of bytes of the stream before the chunk.
    let streamOffset: Int

    /// Returns the byte at an offset.
    @inline(__always)
    subscript(offset: Int) -> UInt8 {
        unsafe self.base.load(fromByteOffset: offset, as: UInt8.self)
    }

    /// Returns the bytes of a range in place.
    @inline(__always)
    func bytes(_ range: ChunkRange) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: self.base + range.start, count: range.count)
    }

    /// Returns whether there is CR or LF at an offset.
    @inline(__always)
    func hasTerminator(at offset: Int) -> Bool { self[offset] == .lineFeed || self[offset] == .carriageReturn }

    /// Returns whether the two bytes at an offset are CR and LF.
    @inline(__always)
    func hasCarriageReturnLineFeed(at offset: Int) -> Bool {
        unsafe self.base.loadUnaligned(fromByteOffset: offset, as: UInt16.self) == UInt16(bigEndian: 0x0D0A)
    }

    /// Indicates whether a chunk of fewer than 64 bytes has CR or LF.
    @inline(__always)
    var isShortAndHasTerminator: Bool { unsafe clts_short_mask(self.base, self.count) != 0 }

    /// Copies bytes to memory with room for at least 64 more bytes.
    @inline(__always)
    func copy(_ range: ChunkRange, to target: UnsafeMutableRawPointer) {
        // Four moves of sixteen bytes cost less than computing the number of moves that are needed.
        if range.count <= 64, range.start &+ 64 <= self.count {
            unsafe target.copyMemory(from: self.base + range.start, byteCount: 64)
        } else {
            unsafe target.copyMemory(from: self.base + range.start, byteCount: range.count)
        }
    }

    /// Returns whether a line of at least five bytes begins with the field name `data` and a colon.
    @inline(__always)
    func hasDataField(at offset: Int) -> Bool {
        unsafe self.base.loadUnaligned(fromByteOffset: offset, as: UInt32.self) == UInt32(bigEndian: 0x6461_7461)
            && self[offset &+ 4] == .colon
    }

    /// Returns whether a line of at least six bytes begins with the field name `event` and a colon.
    @inline(__always)
    func hasEventField(at offset: Int) -> Bool {
        unsafe self.base.loadUnaligned(fromByteOffset: offset, as: UInt32.self) == UInt32(bigEndian: 0x6576_656E)
            && self.base.loadUnaligned(fromByteOffset: offset &+ 4, as: UInt16.self) == UInt16(bigEndian: 0x743A)
    }

    /// Returns the value between a colon and the end of its line, without the one leading space that is not part of it.
    @inline(__always)
    func value(from start: Int, to end: Int) -> ChunkRange {
        let first = start < end && self[start] == .space ? start &+ 1 : start
        return ChunkRange(start: first, count: end &- first)
    }

    /// Returns the first offset of a byte in a range.
    func firstOffset(of byte: UInt8, in range: ChunkRange) -> Int? {
        unsafe self.bytes(range).firstIndex(of: byte).map { range.start + $0 }
    }
}

/// A range of bytes in a chunk.
struct ChunkRange: Sendable {
    /// The offset of the first byte.
    var start: Int
    /// The number of bytes.
    var count: Int

    /// The offset after the last byte.
    @inline(__always)
    var end: Int { self.start &+ self.count }
}
