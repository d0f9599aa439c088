import StreamTransport

/// A meter of the time from one batch of output to the next, as the reader of the text experiences it.
///
/// It belongs to the turn's driver and is called once in a batch. Reconnections count: the reader waits for those as
/// well. The time that the consumer takes for a batch does not.
struct OutputGapMeter {
    private var last: Moment?
    /// The sum of the gaps, and the longest one, in nanoseconds.
    private var total: Int64 = 0
    private var longest: Int64 = 0
    private var count = 0
    /// The counts of gaps, one for each bound, and one for longer gaps; empty before the first gap.
    private var histogram: [Int] = []

    /// Records that output has come.
    mutating func received(at now: Moment) {
        defer { self.last = now }
        guard let last = self.last else { return }
        let gap = max(0, now.nanoseconds(since: last))
        if self.histogram.isEmpty {
            self.histogram = Array(repeating: 0, count: ChappieStreamReport.OutputGaps.bounds.count + 1)
        }
        self.total += gap
        self.count += 1
        if gap > self.longest { self.longest = gap }
        self.histogram[Self.index(of: gap)] += 1
    }

    /// Records that the consumer has taken the last output: the next gap begins.
    mutating func taken(at now: Moment) {
        if self.last != nil { self.last = now }
    }

    /// The measurements; nil before the first gap.
    var summary: ChappieStreamReport.OutputGaps? {
        guard self.count > 0 else { return nil }
        return ChappieStreamReport.OutputGaps(
            histogram: self.histogram, total: Double(self.total) / 1e9, longest: Double(self.longest) / 1e9)
    }

    /// Returns the number of the report's bounds that a gap exceeds.
    ///
    /// They are written out: an array of them is memory that no other step of an event touches.
    private static func index(of gap: Int64) -> Int {
        switch gap {
        case ...1_000_000: 0
        case ...2_000_000: 1
        case ...5_000_000: 2
        case ...10_000_000: 3
        case ...20_000_000: 4
        case ...50_000_000: 5
        case ...100_000_000: 6
        case ...200_000_000: 7
        case ...500_000_000: 8
        case ...1_000_000_000: 9
        case ...2_000_000_000: 10
        case ...5_000_000_000: 11
        case ...10_000_000_000: 12
        case ...30_000_000_000: 13
        case ...60_000_000_000: 14
        default: 15
        }
    }
}
