import StreamTransport

/// Divides the reading of a peer that never pauses into slices.
///
/// It reads no clock, and belongs to the turn's driver. Between two slices the driver checks the time budgets and lets
/// other tasks work, although there is data to read. Data that was available when a slice began has come in time, and
/// is read before.
struct ReadingSlice {
    /// The duration of a slice.
    private static let nanoseconds: Int64 = 500_000_000

    private var began: Moment?
    private var now = Moment(nanoseconds: 0)

    /// Records a batch that was taken at this time and has been read.
    @inline(__always)
    mutating func noteBatch(at now: Moment) {
        self.now = now
        if self.began == nil { self.began = now }
    }

    /// Begins a new slice, after a wait for the connection or after the consumer has run.
    mutating func restart() { self.began = nil }

    /// Indicates whether the budgets and other tasks come before the next batch.
    @inline(__always) var isOver: Bool {
        self.began.map { self.now.nanoseconds(since: $0) >= Self.nanoseconds } ?? false
    }
}
