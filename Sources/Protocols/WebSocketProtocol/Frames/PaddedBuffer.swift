// Growable memory that a vectorised JSON parser may read past its end.
// The owner is one task or one thread at a time.

/// Bytes with at least 64 more readable bytes after the last one.
///
/// Parsers that read whole vectors read past the end of their input; those bytes are readable, and their values are
/// unspecified. The memory is kept for the next message, unless a very large one made it grow past `keptCapacity`.
@safe package final class PaddedBuffer {
    /// The number of bytes that may be read after the last one.
    package static let paddingByteCount = 64
    /// The capacity that `trim()` keeps.
    private static let smallCapacity = 16_384

    // No access to one of the properties leads to another one to the same: exclusive access is not checked at run time,
    // which would take longer than the operations on them.

    // Other modules read them through functions, as they would check a stored property nevertheless.

    /// The number of bytes in the buffer.
    package private(set) var count: Int {
        get { self.filled }
        set { self.filled = newValue }
    }
    /// The number of bytes that fit before it grows.
    package private(set) var capacity: Int {
        get { self.size }
        set { self.size = newValue }
    }
    /// The greatest capacity that `removeAll()` keeps.
    package let keptCapacity: Int
    @safe @exclusivity(unchecked) private var filled = 0
    @safe @exclusivity(unchecked) private var size: Int
    @exclusivity(unchecked) private var memory: UnsafeMutableRawPointer

    /// Makes an empty buffer.
    package init(capacity: Int = 0, keptCapacity: Int = 262_144) {
        precondition(capacity >= 0 && keptCapacity >= 0, "a capacity cannot be negative")
        self.size = capacity
        unsafe self.memory = Self.allocate(capacity)
        self.keptCapacity = keptCapacity
    }

    deinit { unsafe self.memory.deallocate() }

    /// The bytes.
    ///
    /// Valid until the buffer is changed or released.
    package var bytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: self.memory, count: self.count)
    }

    /// Appends a copy of the bytes.
    package func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        self.reserve(bytes.count, upTo: Int.max)
        unsafe self.memory.advanced(by: self.count).copyMemory(from: source, byteCount: bytes.count)
        self.count += bytes.count
    }

    /// Lends free memory after the last byte and adds as many bytes as `fill` returns that it wrote.
    ///
    /// At least `minimum` bytes are lent, growing when necessary, or as many as are left until `limit`; never so many
    /// that the buffer would hold more than `limit`.
    package func append(
        atLeast minimum: Int = 1, upTo limit: Int = .max, _ fill: (UnsafeMutableRawBufferPointer) -> Int
    ) {
        let room = unsafe self.lend(atLeast: minimum, upTo: limit)
        let written = unsafe fill(room)
        precondition(written >= 0 && written <= room.count, "more was written than was lent")
        self.keep(written)
    }

    /// Lends free memory as `append(atLeast:upTo:_:)` does, without a closure.
    ///
    /// Valid until the buffer is changed or released. `keep(_:)` adds the bytes that were written to its beginning.
    package func lend(atLeast minimum: Int = 1, upTo limit: Int = .max) -> UnsafeMutableRawBufferPointer {
        self.reserve(min(minimum, max(0, limit - self.count)), upTo: limit)
        let free = max(0, min(self.capacity, limit) - self.count)
        return unsafe UnsafeMutableRawBufferPointer(start: self.memory.advanced(by: self.count), count: free)
    }

    /// Returns the offset of bytes that lie in the free memory; nil for bytes that lie elsewhere.
    package func freePlace(of bytes: UnsafeRawBufferPointer) -> Int? {
        guard let start = bytes.baseAddress else { return nil }
        let place = unsafe Int(bitPattern: start) &- Int(bitPattern: self.memory)
        return place >= self.count && place <= self.capacity && bytes.count <= self.capacity - place ? place : nil
    }

    /// Adds bytes that were written to lent memory.
    package func keep(_ byteCount: Int) {
        precondition(byteCount >= 0 && byteCount <= self.capacity - self.count, "there is no room for so many bytes")
        self.count += byteCount
    }

    /// Removes the last bytes.
    package func removeLast(_ byteCount: Int) {
        precondition(byteCount >= 0 && byteCount <= self.count, "there are not that many bytes")
        self.count -= byteCount
    }

    /// Removes the bytes; the memory of a very large message is freed.
    package func removeAll() {
        self.count = 0
        if self.capacity > self.keptCapacity { self.reset() }
    }

    /// Removes the bytes, and frees the memory unless it is small.
    package func trim() {
        self.count = 0
        if self.capacity > Self.smallCapacity { self.reset() }
    }

    private func reset() {
        unsafe self.memory.deallocate()
        unsafe self.memory = Self.allocate(0)
        self.capacity = 0
    }

    /// Doubles the capacity, so that appending costs a constant per byte, but never past `limit`: a bounded message has
    /// bounded memory.
    private func reserve(_ byteCount: Int, upTo limit: Int) {
        let needed = self.count + byteCount
        guard needed > self.capacity else { return }
        let doubled = max(4_096, self.capacity.multipliedReportingOverflow(by: 2).partialValue)
        let newCapacity = max(needed, min(doubled, limit))
        let newMemory = unsafe Self.allocate(newCapacity)
        unsafe newMemory.copyMemory(from: self.memory, byteCount: self.count)
        unsafe self.memory.deallocate()
        unsafe self.memory = newMemory
        self.capacity = newCapacity
    }

    private static func allocate(_ capacity: Int) -> UnsafeMutableRawPointer {
        UnsafeMutableRawPointer.allocate(byteCount: capacity + Self.paddingByteCount, alignment: 64)
    }
}
