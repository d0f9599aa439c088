import StreamTransport

/// The reading of a turn in batches: the times of output, and the time for which a peer was read without a pause.
///
/// A part of the turn's reader. It reads no clock. A batch is the data that is available when the driver checks:
/// `begin` opens it, `end` closes it, and in between output is recorded in one of two ways: `queued` for deltas that
/// the reader has queued in one step, `delivered` for output of the events that take its three steps.
struct BatchMeter {
    /// The bytes of messages that a batch may still take.
    ///
    /// It lives in the loop that reads the messages, because a message of a flood costs no access to the meter.
    struct Allowance {
        /// The bytes with which a batch is complete; the message that reaches this number is its last one.
        static let byteCountLimit = 65_536

        private var remainingByteCount: Int

        /// Creates the allowance of a batch that begins; with a total budget, the batch is a single message.
        ///
        /// The driver checks the total budget between two batches, and the consumer's time counts as well.
        @inline(__always)
        init(hasTotalBudget: Bool) { self.remainingByteCount = hasTotalBudget ? 0 : Self.byteCountLimit }

        /// Counts a message of the batch, and returns whether another may follow it.
        @inline(__always)
        mutating func takesMore(after byteCount: Int) -> Bool {
            self.remainingByteCount -= byteCount
            return self.remainingByteCount > 0
        }
    }

    /// The time at which the current batch was taken.
    private(set) var time = Moment(nanoseconds: 0)
    private var gaps = OutputGapMeter()
    private var slice = ReadingSlice()
    /// Indicates whether output of the current batch was delivered.
    private var hasDelivered = false
    /// Indicates whether the batch had deltas that were queued in one step.
    private var hasQueued = false
    /// Indicates whether such deltas do not count as progress of the attempt yet.
    private var hasProgress = false

    /// Begins a batch.
    @inline(__always)
    mutating func begin(at now: Moment) {
        self.time = now
        self.hasQueued = false
    }

    /// Records that a piece of output was delivered.
    mutating func delivered() { self.hasDelivered = true }

    /// Records that a delta was queued in one step.
    @inline(__always)
    mutating func queued() { self.hasProgress = true }

    /// Returns whether deltas were queued since the last call, which are progress at the time of the batch.
    mutating func takeProgress() -> Bool {
        guard self.hasProgress else { return false }
        self.hasProgress = false
        self.hasQueued = true
        self.hasDelivered = true
        return true
    }

    /// Records that the batch was read to its end.
    mutating func end() {
        if self.hasDelivered {
            self.hasDelivered = false
            self.gaps.received(at: self.time)
        }
        self.slice.noteBatch(at: self.time)
    }

    /// Records that the consumer has taken the last event of the batch.
    ///
    /// - Returns: whether it had output that counts as taken then: the time is to be passed to `taken(at:)`.
    @inline(__always)
    mutating func takesLast() -> Bool {
        defer { self.hasQueued = false }
        return self.hasQueued
    }

    /// Records that the consumer has taken the last output: the next gap begins.
    mutating func taken(at now: Moment) { self.gaps.taken(at: now) }

    // MARK: Slices

    /// Returns whether the budgets and other tasks come before the next batch.
    ///
    /// A function that mutates, because a property is read from a copy of the whole meter.
    @inline(__always)
    mutating func isSliceOverInPlace() -> Bool { self.slice.isOver }

    /// Begins a new slice, after a wait for the connection or after the consumer has run.
    mutating func restartSlice() { self.slice.restart() }

    /// The gaps between batches of output; nil before the first.
    var summary: ChappieStreamReport.OutputGaps? { self.gaps.summary }
}
