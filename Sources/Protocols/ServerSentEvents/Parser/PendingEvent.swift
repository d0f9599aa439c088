// The event that is being assembled. Owned by the parser; it handles fields and limits, not lines.

/// The values of an event whose blank line has not arrived, and the last event IDs around it.
///
/// A value that lies whole in the chunk is represented by its place. It moves to a buffer when a second value joins it
/// or when the chunk ends first.
struct PendingEvent: Sendable {
    /// The data, and the event type.
    var data = PendingValue(), type = PendingValue()

    /// The last event ID that the latest blank line committed.
    private(set) var lastEventID: ByteBuffer
    /// The last event ID buffer, when an `id` line of this event has set it.
    private var idBuffer = ByteBuffer()
    private var hasID = false
    /// The value of an `id` line that has not ended: a NUL in it would void the line.
    private var idLine = ByteBuffer()

    private let maximumByteCount: Int
    private let maximumLineByteCount: Int
    /// The smaller of the two limits.
    private let smallerLimit: Int
    private var remainingByteCount: Int
    private var remainingLineByteCount: Int

    /// Creates an empty event with limits for the bytes of all its values, and of the value in one line.
    init(maximumByteCount: Int, maximumLineByteCount: Int, lastEventID: ByteBuffer) {
        self.maximumByteCount = maximumByteCount
        // A value that is too large for the event exceeds the event's limit, not the line's.
        self.maximumLineByteCount = maximumLineByteCount < maximumByteCount ? maximumLineByteCount : Int.max
        self.smallerLimit = min(maximumByteCount, maximumLineByteCount)
        self.remainingByteCount = maximumByteCount
        self.remainingLineByteCount = 0
        self.lastEventID = lastEventID
    }

    /// Indicates whether a line has set a value of the event that its blank line would use.
    var hasStarted: Bool { self.hasID || self.data.isPresent || self.type.isPresent }

    /// The number of bytes of the event's values.
    var byteCount: Int { self.maximumByteCount - self.remainingByteCount }

    /// Indicates whether an event must be dispatched through this type.
    ///
    /// That is so while a value is stored, and once more to free the memory of a large value.
    @inline(__always)
    var isNeeded: Bool { self.hasStarted || self.data.isLarge || self.type.isLarge }

    /// Returns whether an event with these values is certainly within the limits; a count of -1 means that there is no
    /// value.
    @inline(__always)
    func hasRoom(for type: ChunkRange, _ data: ChunkRange) -> Bool {
        max(0, type.count) &+ max(0, data.count) <= self.smallerLimit
    }

    /// Takes over the values that were found of an event; a count of -1 means that there is no value.
    @inline(never)
    mutating func hold(_ type: ChunkRange, _ data: ChunkRange, of chunk: Chunk) throws(EventStreamError) {
        if type.count >= 0 { try self.setType(type, of: chunk) }
        if data.count >= 0 { try self.addDataLine(data, nameEnd: data.start, of: chunk) }
    }

    /// Takes a whole `data` value that lies in the chunk.
    @inline(__always)
    mutating func addDataLine(_ place: ChunkRange, nameEnd: Int, of chunk: Chunk) throws(EventStreamError) {
        if case .buffer = self.data.location, place.count < self.remainingByteCount,
            place.count <= self.maximumLineByteCount
        {
            self.remainingByteCount &-= place.count &+ 1
            self.data.buffer.appendLine(place, of: chunk)
        } else if self.data.isPresent {
            try self.beginDataLine(nameEnd: nameEnd, of: chunk)
            try self.appendData(place, of: chunk)
        } else {
            self.remainingLineByteCount = self.maximumLineByteCount
            try self.spend(place, of: chunk)
            self.data.location = .chunk(place)
        }
    }

    /// Begins a `data` value that does not lie whole in the chunk, or that is absent.
    mutating func beginDataLine(nameEnd: Int, of chunk: Chunk) throws(EventStreamError) {
        if self.data.isPresent {
            // The LF between two values counts towards the limit. It is counted where the name ends, which is the same
            // byte of the stream whether or not the value has begun.
            self.remainingLineByteCount = 1
            try self.spend(ChunkRange(start: nameEnd, count: 1), of: chunk)
            self.data.moveToBuffer(from: chunk)
            self.data.buffer.append(UInt8.lineFeed)
        } else {
            self.data.location = .buffer
        }
        self.remainingLineByteCount = self.maximumLineByteCount
    }

    /// Adds bytes to the `data` value that was begun.
    mutating func appendData(_ place: ChunkRange, of chunk: Chunk) throws(EventStreamError) {
        try self.spend(place, of: chunk)
        self.data.buffer.append(place, of: chunk)
    }

    /// Adds a short chunk that lies whole in a `data` value; returns false for any other.
    ///
    /// Most chunks of a slow stream are of this kind.
    @inline(__always)
    mutating func continueData(with chunk: Chunk) -> Bool {
        guard chunk.count < LineTerminatorScanner.blockByteCount,
            chunk.count <= min(self.remainingByteCount, self.remainingLineByteCount),
            !chunk.isShortAndHasTerminator
        else { return false }
        self.remainingByteCount &-= chunk.count
        self.remainingLineByteCount &-= chunk.count
        self.data.buffer.append(ChunkRange(start: 0, count: chunk.count), of: chunk)
        return true
    }

    /// Adds a chunk of one byte in the same way.
    @inline(__always)
    mutating func continueData(withByte byte: UInt8) -> Bool {
        guard byte != .lineFeed, byte != .carriageReturn, self.remainingByteCount > 0, self.remainingLineByteCount > 0
        else { return false }
        self.remainingByteCount &-= 1
        self.remainingLineByteCount &-= 1
        self.data.buffer.append(byte)
        return true
    }

    /// Takes a whole `event` value that lies in the chunk.
    ///
    /// The last one of an event is used.
    @inline(__always)
    mutating func setType(_ place: ChunkRange, of chunk: Chunk) throws(EventStreamError) {
        if self.type.isPresent { self.beginType() }
        self.remainingLineByteCount = self.maximumLineByteCount
        try self.spend(place, of: chunk)
        self.type.location = .chunk(place)
    }

    /// Begins an `event` value that does not lie whole in the chunk, or that is absent.
    mutating func beginType() {
        self.remainingByteCount += self.type.count
        self.type.clear()
        self.type.location = .buffer
        self.remainingLineByteCount = self.maximumLineByteCount
    }

    /// Adds bytes to the `event` value that was begun.
    mutating func appendType(_ place: ChunkRange, of chunk: Chunk) throws(EventStreamError) {
        try self.spend(place, of: chunk)
        self.type.buffer.append(place, of: chunk)
    }

    /// Begins an `id` value.
    mutating func beginID() {
        // A large buffer of an earlier value is exchanged into this place eventually, and is freed.
        if self.idLine.capacity > PendingValue.smallByteCount { self.idLine.release() }
        self.idLine.removeAll()
        self.remainingLineByteCount = self.maximumLineByteCount
    }

    /// Adds bytes to the `id` value; returns false when they void the line.
    ///
    /// WHATWG HTML section 9.2.6: an `id` value that contains U+0000 NULL is ignored, as a whole.
    mutating func appendID(_ place: ChunkRange, of chunk: Chunk) throws(EventStreamError) -> Bool {
        let zero = chunk.firstOffset(of: 0, in: place)
        let end = zero ?? place.end
        let part = ChunkRange(start: place.start, count: end - place.start)
        try self.spend(part, of: chunk)
        self.idLine.append(part, of: chunk)
        guard zero != nil else { return true }
        self.remainingByteCount += self.idLine.count
        self.idLine.removeAll()
        return false
    }

    /// Ends an `id` line that was not voided.
    mutating func endID() {
        if self.hasID { self.remainingByteCount += self.idBuffer.count }
        swap(&self.idBuffer, &self.idLine)
        self.hasID = true
    }

    /// Makes the last event ID buffer the last event ID, as the first step of a dispatch does.
    @inline(__always)
    mutating func commitID() {
        guard self.hasID else { return }
        swap(&self.lastEventID, &self.idBuffer)
        self.hasID = false
    }

    /// Empties all values except the last event ID.
    @inline(__always)
    mutating func clear() {
        self.data.clear()
        self.type.clear()
        self.hasID = false
        self.remainingByteCount = self.maximumByteCount
    }

    /// Frees the memory of the values, and keeps the results of ``byteCount`` and ``hasStarted``.
    mutating func releaseMemory() {
        self.data.releaseBuffer()
        self.type.releaseBuffer()
        self.idBuffer.release()
        self.idLine.release()
    }

    /// Discards the event, and replaces the last event ID when one is given.
    mutating func reset(lastEventID: ByteBuffer?) {
        self.clear()
        self.releaseMemory()
        if let lastEventID { self.lastEventID = lastEventID }
    }

    /// Moves values that lie in the chunk to the buffers, because the chunk ends.
    mutating func moveToBuffers(from chunk: Chunk) {
        self.data.moveToBuffer(from: chunk)
        self.type.moveToBuffer(from: chunk)
    }

    @inline(__always)
    private mutating func spend(_ place: ChunkRange, of chunk: Chunk) throws(EventStreamError) {
        let room = min(self.remainingByteCount, self.remainingLineByteCount)
        guard place.count <= room else {
            let offset = chunk.streamOffset + place.start + room
            let isLineTooLong = self.remainingLineByteCount < self.remainingByteCount
            // As many bytes as fit are counted, as when they arrive one by one.
            self.remainingByteCount -= room
            throw isLineTooLong
                ? .lineTooLong(maximumByteCount: self.maximumLineByteCount, byteOffset: offset)
                : .eventTooLarge(maximumByteCount: self.maximumByteCount, byteOffset: offset)
        }
        self.remainingByteCount &-= place.count
        self.remainingLineByteCount &-= place.count
    }
}
