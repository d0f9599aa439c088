// Memory that the address sanitizer can watch.

/// Copies of chunks in memory of exactly their size, so that the address sanitizer sees a read outside them.
public enum ExactCopy {
    /// Lends a copy that begins so many bytes after an address that 64 divides, and ends with its memory.
    ///
    /// The bytes before it are `margin`, because a read of them can only be noticed by what it does.
    @inlinable
    public static func lend<Value, Failure: Error>(
        _ bytes: some Collection<UInt8>, misalignment: Int = 0, margin: UInt8 = 0,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: misalignment + bytes.count, alignment: 64)
        defer { memory.deallocate() }
        UnsafeMutableRawBufferPointer(rebasing: memory[..<misalignment])
            .initializeMemory(as: UInt8.self, repeating: margin)
        let copy = UnsafeMutableRawBufferPointer(rebasing: memory[misalignment...])
        copy.copyBytes(from: bytes)
        return try body(UnsafeRawBufferPointer(copy))
    }
}

/// Reads of memory that no optimisation takes away.
public enum MemoryReading {
    /// The sum of the last read, which is never used.
    ///
    /// - Safety: a fuzz target has one thread that reads.
    nonisolated(unsafe) public static var lastSum: UInt8 = 0

    /// Reads every byte.
    @inline(never)
    public static func read(_ bytes: UnsafeRawBufferPointer) { self.lastSum = bytes.reduce(0, &+) }
}
