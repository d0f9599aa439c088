// One value of the event that is being put together, in the chunk or in a buffer of its own.

/// A value, and where its bytes are.
struct PendingValue: Sendable {
    /// Where the bytes of a value are.
    enum Location: Sendable {
        /// There is no value.
        case absent
        /// They are in the chunk that is being parsed, and were not copied.
        case chunk(ChunkRange)
        /// They are in the buffer.
        case buffer
    }

    /// Where the bytes are.
    var location = Location.absent
    /// The bytes, when they could not stay in the chunk.
    ///
    /// It is used again for the next value.
    var buffer = ByteBuffer()

    /// Indicates whether the buffer is so large that an event which does not need it gives it back.
    private(set) var isLarge = false

    /// A buffer up to this size is always kept for the next event.
    static var smallByteCount: Int { 64 << 10 }
    /// A buffer above this size is never kept.
    ///
    /// Between the two it is kept as long as events need it: to grow and fault in a buffer anew for each event of 1 MiB
    /// was measured to take six times as long as parsing it.
    static var largestKeptByteCount: Int { 4 << 20 }

    /// Indicates whether there is a value, an empty one included.
    @inline(__always)
    var isPresent: Bool {
        if case .absent = self.location { false } else { true }
    }

    /// How many bytes the value has.
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

    /// Makes the 64 bytes behind a value in the buffer zeros, before it is handed out.
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

    /// Gives the buffer's memory back.
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
