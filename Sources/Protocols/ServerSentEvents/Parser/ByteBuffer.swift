// Bytes that could not stay in the chunk. Owned by the value or line that they belong to.

/// Bytes with room behind them.
///
/// All of its memory is initialised, so that bytes are added by writing them, and the 64 bytes past the last one can
/// always be read.
struct ByteBuffer: Sendable {
    /// The bytes, and the room behind them.
    private var memory: [UInt8] = []
    /// The number of bytes.
    private(set) var count = 0

    /// The least room behind the bytes, once there are any.
    static var slackByteCount: Int { 64 }

    /// The number of bytes that fit without more memory; 0 when there is none.
    var capacity: Int { max(0, self.memory.count &- Self.slackByteCount) }

    /// Creates an empty buffer, without memory.
    init() {}

    /// Creates a buffer of the bytes of a string.
    init(_ text: String) {
        self.memory = Array(text.utf8)
        self.count = self.memory.count
        if !self.memory.isEmpty { self.grow(toHold: self.count) }
    }

    /// Adds bytes of a chunk.
    @inline(__always)
    mutating func append(_ range: ChunkRange, of chunk: Chunk) {
        let newCount = self.count &+ range.count
        if newCount &+ Self.slackByteCount > self.memory.count { self.grow(toHold: newCount) }
        unsafe self.memory.withUnsafeMutableBytes { memory in
            guard let base = memory.baseAddress else { return }
            unsafe chunk.copy(range, to: base + self.count)
        }
        self.count = newCount
    }

    /// Adds LF and bytes of a chunk.
    @inline(__always)
    mutating func appendLine(_ range: ChunkRange, of chunk: Chunk) {
        let newCount = self.count &+ 1 &+ range.count
        if newCount &+ Self.slackByteCount > self.memory.count { self.grow(toHold: newCount) }
        unsafe self.memory.withUnsafeMutableBytes { memory in
            guard let base = memory.baseAddress else { return }
            unsafe base.storeBytes(of: .lineFeed, toByteOffset: self.count, as: UInt8.self)
            unsafe chunk.copy(range, to: base + self.count + 1)
        }
        self.count = newCount
    }

    /// Adds one byte.
    @inline(__always)
    mutating func append(_ byte: UInt8) {
        if self.count &+ Self.slackByteCount >= self.memory.count { self.grow(toHold: self.count &+ 1) }
        self.memory[self.count] = byte
        self.count &+= 1
    }

    /// Removes the bytes, and keeps the memory.
    @inline(__always)
    mutating func removeAll() {
        self.count = 0
    }

    /// Frees the memory.
    mutating func release() {
        self.memory = []
        self.count = 0
    }

    /// Fills the 64 bytes past the last one with zeros, so that no part of an earlier value can be read.
    mutating func clearSlack() {
        guard !self.memory.isEmpty else { return self.grow(toHold: 0) }
        unsafe self.memory.withUnsafeMutableBytes { memory in
            let slack = unsafe UnsafeMutableRawBufferPointer(
                rebasing: memory[self.count..<self.count &+ Self.slackByteCount])
            unsafe slack.initializeMemory(as: UInt8.self, repeating: 0)
        }
    }

    /// Calls `body` with the bytes.
    @inline(__always)
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        unsafe self.memory.withUnsafeBytes { memory in
            unsafe body(UnsafeRawBufferPointer(start: memory.baseAddress, count: self.count))
        }
    }

    /// Allocates at least twice the memory, so that bytes are moved a bounded number of times.
    @inline(never)
    private mutating func grow(toHold byteCount: Int) {
        let wanted = max(2 &* self.memory.count, byteCount &+ Self.slackByteCount, 2 &* Self.slackByteCount)
        var memory = [UInt8](repeating: 0, count: wanted)
        unsafe memory.withUnsafeMutableBytes { target in
            unsafe self.withBytes { unsafe target.copyMemory(from: $0) }
        }
        self.memory = memory
    }
}
