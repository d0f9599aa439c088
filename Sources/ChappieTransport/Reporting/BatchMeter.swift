/// The reading of a turn, batch by batch: when output came, and how long a peer was read without a pause.
///
/// A value that belongs to the turn's driver. It reads no clock. A batch is what lies there when the driver looks:
/// `begin` opens it, `end` closes it, and in between output is noted in one of two ways: `delivered` for what the
/// driver has looked at, `queued` for what the reader has dealt with by itself.
struct BatchMeter {
    /// The moment at which the batch at hand was taken.
    private(set) var time = Duration.zero
    private var gaps = OutputGapMeter()
    private var slice = ReadingSlice()
    /// Indicates whether output was delivered out of the batch at hand.
    private var hasDelivered = false
    /// Indicates whether there was output among it that is no longer looked at one by one.
    private var hasQueued = false

    /// A batch begins.
    @inline(__always)
    mutating func begin(at now: Duration) {
        self.time = now
        self.hasQueued = false
    }

    /// A piece of output was delivered.
    mutating func delivered() { self.hasDelivered = true }

    /// Output waits for the consumer that the driver has not looked at.
    mutating func queued() {
        self.hasQueued = true
        self.hasDelivered = true
    }

    /// The batch was read to its end.
    mutating func end() {
        if self.hasDelivered {
            self.hasDelivered = false
            self.gaps.received(at: self.time)
        }
        self.slice.noteBatch(at: self.time)
    }

    /// The consumer has taken the last event of the batch.
    ///
    /// - Returns: whether there was output in it that counts as taken then: it is asked for the moment in
    ///   `taken(at:)`.
    @inline(__always)
    mutating func takesLast() -> Bool {
        defer { self.hasQueued = false }
        return self.hasQueued
    }

    /// The consumer has taken the last of what came: the next gap begins.
    mutating func taken(at now: Duration) { self.gaps.taken(at: now) }

    // MARK: Slices

    /// Indicates whether the budgets and other tasks come before the next batch.
    @inline(__always) var isSliceOver: Bool { self.slice.isOver }

    /// The connection is waited for, or the consumer has had the turn: what is read next is read anew.
    mutating func restartSlice() { self.slice.restart() }

    /// The gaps between batches of output; nil before the first.
    var summary: ChappieStreamReport.OutputGaps? { self.gaps.summary }
}
