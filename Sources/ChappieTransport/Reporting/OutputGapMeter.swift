import TransportSurface

/// A meter of the time from one batch of output to the next, as the reader of the text experiences it.
///
/// It belongs to the turn's driver and is called once in a batch. Reconnections count: the reader waits for those as
/// well. The time that the consumer takes for a batch does not.
struct OutputGapMeter {
    private var last: Duration?
    private var total = Duration.zero
    private var longest = Duration.zero
    private var count = 0
    /// The counts of gaps, one for each bound, and one for longer gaps; empty before the first gap.
    private var histogram: [Int] = []

    /// Records that output has come.
    mutating func received(at now: Duration) {
        defer { self.last = now }
        guard let last = self.last else { return }
        let gap = max(.zero, now - last)
        if self.histogram.isEmpty { self.histogram = Array(repeating: 0, count: Self.bounds.count + 1) }
        self.total += gap
        self.count += 1
        if gap > self.longest { self.longest = gap }
        self.histogram[Self.index(of: gap)] += 1
    }

    /// Records that the consumer has taken the last output: the next gap begins.
    mutating func taken(at now: Duration) {
        if self.last != nil { self.last = now }
    }

    /// The measurements; nil before the first gap.
    var summary: ChappieStreamReport.OutputGaps? {
        guard self.count > 0 else { return nil }
        return ChappieStreamReport.OutputGaps(
            histogram: self.histogram, total: self.total.seconds, longest: self.longest.seconds)
    }

    /// Returns the number of the bounds that a gap exceeds, by halves: a comparison of durations is a call.
    private static func index(of gap: Duration) -> Int {
        let bounds = Self.bounds
        var (low, high) = (0, bounds.count)
        while low < high {
            let middle = (low + high) / 2
            if gap > bounds[middle] { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private static let bounds: [Duration] = ChappieStreamReport.OutputGaps.bounds.map { .seconds($0) }
}
