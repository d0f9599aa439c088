import StreamTransport

/// The back-pressure on one connection: reading pauses while the consumer has too much to read.
///
/// Reading pauses when the high watermark is unread, and continues when no more than the low one is. While memory is
/// scarce, a connection's share of it takes their place (`InboundMemory`). Bytes are counted by the weight of the
/// buffers that hold them.
struct ReadBackPressure {
    private let highWatermark: Int
    private let lowWatermark: Int
    /// The weight of the buffers that the consumer has not taken.
    private var waiting = 0
    /// The weight of the batch in the consumer's hands, as of its last report.
    private var inHand = 0
    /// The number of bytes that may be unread, as of the last read.
    private var share = Int.max
    /// Indicates whether reading is suspended until the consumer has caught up.
    private(set) var isPaused = false
    /// The number of times that reading has continued behind a pause.
    private(set) var resumeCount = 0
    /// Indicates whether what arrives above the high watermark is dropped, instead of left in the socket.
    private var dropsOverflow = false

    init(limits: TransportLimits) {
        // With a negative mark, reading would pause and never continue.
        self.highWatermark = max(0, limits.highWatermark)
        self.lowWatermark = max(0, min(limits.lowWatermark, limits.highWatermark))
    }

    /// Indicates whether memory was scarce at the last read.
    var isMemoryScarce: Bool { self.share != .max }

    /// Indicates whether what arrives now is dropped.
    var isDropping: Bool { self.isPaused && self.dropsOverflow }

    /// The number of bytes that may arrive before reading must pause; 0 when it must.
    var room: Int {
        guard !self.isPaused || self.dropsOverflow else { return 0 }
        guard self.isMemoryScarce else { return max(1, self.highWatermark - self.waiting - self.inHand) }
        return max(1, min(self.highWatermark, self.share) - self.waiting)
    }

    // MARK: Service thread

    /// Sets the number of bytes that may be unread, if the watermarks allow more.
    mutating func share(_ byteCount: Int) { self.share = byteCount }

    /// Sets the share before a read; `hasBuffers` tells whether the consumer has one to take.
    ///
    /// Bytes that came while memory was plentiful may be more than the share. Reading pauses for them only while the
    /// consumer has a buffer to take, with which it learns that reading waits for it.
    mutating func share(_ byteCount: Int, hasBuffers: Bool) {
        self.share = byteCount
        if self.isMemoryScarce, hasBuffers, self.waiting + self.inHand >= byteCount { self.isPaused = true }
    }

    /// Counts bytes that have arrived; reading pauses when they are too many.
    mutating func add(_ weight: Int) {
        self.waiting += weight
        self.isPaused = self.waiting + self.inHand >= min(self.highWatermark, self.share)
    }

    /// Lets reading continue whatever the consumer has read: from the high watermark on, everything is dropped.
    mutating func dropOverflow() { self.dropsOverflow = true }

    /// Lets reading continue for good: nothing that arrives is kept any more.
    mutating func end(discardingBuffers: Bool) {
        if discardingBuffers { self.waiting = 0 }
        self.isPaused = false
    }

    // MARK: Consumer

    /// Notes that the consumer has taken a batch, with a buffer of this weight.
    mutating func take(_ weight: Int) {
        self.inHand = weight
        self.waiting -= weight
    }

    /// Notes how much of the batch is left unread; returns true, once, when reading must continue.
    mutating func mustResume(withUnread weight: Int) -> Bool {
        self.inHand = weight
        // Behind a gap nothing is appended.
        let lowWatermark = min(self.lowWatermark, self.share / 4)
        guard self.isPaused, !self.dropsOverflow, self.waiting + weight <= lowWatermark else { return false }
        self.isPaused = false
        self.resumeCount += 1
        return true
    }
}
