import StreamTransport

/// Divides the reading of a peer that never pauses into slices.
///
/// It reads no clock, and belongs to the turn's driver. Between slices the driver lets other tasks work. It looks at the
/// budgets of time when there has been something to read for longer: what lay there when it began has come in time, and
/// is read first.
struct ReadingSlice {
    /// What is due between two slices.
    enum Verdict: Equatable {
        /// What lay there is still being read.
        case inTime
        /// The budgets count, although there is something to read.
        case overdue
    }

    /// How long a slice is.
    static let duration = Duration.milliseconds(10)
    /// How long what lay there may take to be read.
    static let grace = Duration.seconds(1)

    private var began: Duration?
    private var sliceBegan = Duration.zero
    private var now = Duration.zero

    /// A batch was read that was taken at this moment.
    @inline(__always)
    mutating func noteBatch(at now: Duration) {
        self.now = now
        if self.began == nil {
            self.began = now
            self.sliceBegan = now
        }
    }

    /// The connection is waited for, or the consumer has had the turn: what is read next is read anew.
    mutating func restart() { self.began = nil }

    /// Whether others work before the next batch.
    @inline(__always) var isOver: Bool { self.began != nil && self.now - self.sliceBegan >= Self.duration }

    /// Begins the next slice.
    mutating func next() -> Verdict {
        self.sliceBegan = self.now
        guard let began = self.began else { return .inTime }
        return self.now - began >= Self.grace ? .overdue : .inTime
    }
}
