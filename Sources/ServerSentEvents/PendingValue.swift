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
    var buffer: [UInt8] = []

    /// A buffer above this size is given back after its event; below it, it is kept for the next.
    static var retainedByteCount: Int { 64 << 10 }

    /// Whether there is a value, an empty one included.
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
    mutating func moveToBuffer(from chunk: Chunk) {
        guard case .chunk(let place) = self.location else { return }
        self.buffer.append(place, of: chunk)
        self.location = .buffer
    }

    /// Puts 64 readable bytes behind the value in the buffer.
    ///
    /// They are part of it until it is cleared.
    mutating func padBuffer() {
        guard case .buffer = self.location else { return }
        self.buffer.append(contentsOf: repeatElement(0, count: 64))
    }

    /// Removes the value.
    @inline(__always)
    mutating func clear() {
        if case .buffer = self.location { self.clearBuffer() }
        self.location = .absent
    }

    private mutating func clearBuffer() {
        if self.buffer.capacity > Self.retainedByteCount {
            self.buffer = []
        } else {
            self.buffer.removeAll(keepingCapacity: true)
        }
    }

    /// Calls `body` with the value's bytes, which are empty when there is no value.
    func withBytes(in chunk: Chunk, _ body: (UnsafeRawBufferPointer) -> Void) {
        switch self.location {
        case .absent: unsafe body(UnsafeRawBufferPointer(start: nil, count: 0))
        case .chunk(let place): unsafe body(chunk.bytes(place))
        case .buffer: unsafe self.buffer.withUnsafeBytes(body)
        }
    }
}
