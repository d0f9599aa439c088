import StreamTransport

/// Divides the reading of a peer that never pauses into slices.
///
/// It reads no clock, and belongs to the turn's driver. Between two slices the driver looks at the budgets of time and
/// lets other tasks work, although there is something to read. What lay there when a slice began has come in time, and
/// is read before.
struct ReadingSlice {
    /// How long a slice is.
    static let duration = Duration.milliseconds(500)

    private var began: Duration?
    private var now = Duration.zero

    /// A batch was read that was taken at this moment.
    @inline(__always)
    mutating func noteBatch(at now: Duration) {
        self.now = now
        if self.began == nil { self.began = now }
    }

    /// The connection is waited for, or the consumer has had the turn: what is read next is read anew.
    mutating func restart() { self.began = nil }

    /// Indicates whether the budgets and others come before the next batch.
    @inline(__always) var isOver: Bool { self.began.map { self.now - $0 >= Self.duration } ?? false }
}
