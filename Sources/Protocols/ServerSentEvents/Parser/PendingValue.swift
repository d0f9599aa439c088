// One value of the event that is being assembled, in the chunk or in a buffer of its own.

/// A value, and the place of its bytes.
struct PendingValue: Sendable {
    /// The place of a value's bytes.
    enum Location: Sendable {
        /// There is no value.
        case absent
        /// They are in the chunk that is being parsed, and were not copied.
        case chunk(ChunkRange)
        /// They are in the buffer.
        case buffer
    }

    /// The place of the bytes.
    var location = Location.absent
    /// The bytes, when they could not stay in the chunk.
    ///
    /// It is used again for the next value.
    var buffer = ByteBuffer()

    /// Indicates whether the buffer is so large that an event that does not need it frees it.
    private(set) var isLarge = false

    /// A buffer up to this size is always kept for the next event.
    static var smallByteCount: Int { 64 << 10 }
    /// A buffer above this size is never kept.
    ///
    /// Between the two it is kept as long as events need it: growing and faulting in a new buffer for each event of 1
    /// MiB was measured to take six times as long as parsing it.
    static var largestKeptByteCount: Int { 4 << 20 }

    /// Indicates whether there is a value, an empty one included.
    @inline(__always)
    var isPresent: Bool {
        if case .absent = self.location { false } else { true }
    }

    /// The number of bytes of the value.
    var count: Int {
        switch self.location {
        case .absent: 0
        case .chunk(let place): place.count
        case .buffer: self.buffer.count
        }
    }

    /// Copies a value that lies in the chunk to the buffer.
    @inline(__always)
    mutating func moveToBuffer(from chunk: Chunk) {
        guard case .chunk(let place) = self.location else { return }
        self.buffer.append(place, of: chunk)
        self.location = .buffer
    }

    /// Fills the 64 bytes behind a value in the buffer with zeros, before it is dispatched.
    mutating func padBuffer() {
        guard case .buffer = self.location else { return }
        self.buffer.clearSlack()
    }

    /// Removes the value.
    @inline(__always)
    mutating func clear() {
        switch self.location {
        case .absent: return
        case .chunk: if self.isLarge { self.releaseBuffer() }
        case .buffer: self.clearBuffer()
        }
        self.location = .absent
    }

    /// Frees the buffer's memory.
    mutating func releaseBuffer() {
        self.buffer.release()
        self.isLarge = false
    }

    private mutating func clearBuffer() {
        let capacity = self.buffer.capacity
        if capacity > Self.largestKeptByteCount
            || (capacity > Self.smallByteCount && self.buffer.count < capacity / 4)
        {
            self.releaseBuffer()
        } else {
            self.buffer.removeAll()
            self.isLarge = capacity > Self.smallByteCount
        }
    }

    /// Calls `body` with the value's bytes, which are empty when there is no value.
    func withBytes(in chunk: Chunk, _ body: (UnsafeRawBufferPointer) -> Void) {
        switch self.location {
        case .absent: unsafe body(UnsafeRawBufferPointer(start: nil, count: 0))
        case .chunk(let place): unsafe body(chunk.bytes(place))
        case .buffer: unsafe self.buffer.withBytes(body)
        }
    }
}
