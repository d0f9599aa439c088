/// The pace at which paced events have arrived.
///
/// Pure.
///
/// The lateness of an event is the time by which its arrival, relative to the first event's, exceeds its sending. On a
/// path that passes bytes on it is jitter. A buffer that is released when it is full delivers several events at once,
/// the earliest of which are late by the time for which they have lain in it.
struct EventPacing: Equatable {
    /// The largest time by which an event was held back.
    let lateness: Duration
    /// The largest number of bytes that arrived together after the first of them was held back; 0 for none.
    let heldByteCount: Int
    /// Indicates whether every event arrived at once, when the stream had ended.
    let isWhole: Bool

    /// The time between two arrivals below which they count as one.
    private static let instant = Duration.milliseconds(20)

    /// Measures arrivals; nil with fewer than three events, or when they were not sent at a pace.
    init?(_ arrivals: [EventStreamFacts.Arrival]) {
        guard arrivals.count >= 3, let first = arrivals.first, let last = arrivals.last, last.sent > .zero else {
            return nil
        }
        // The newest event of a run is the least late: a buffer was passed on when it arrived.
        let offset = arrivals.map { $0.received - $0.sent }.min() ?? .zero
        self.lateness = arrivals.map { $0.received - $0.sent - offset }.max() ?? .zero
        self.isWhole = last.received - first.received < Self.instant
        var held = 0
        var start = 0
        for index in arrivals.indices {
            let isEnd =
                index + 1 == arrivals.count
                || arrivals[index + 1].received - arrivals[index].received >= Self.instant
            guard isEnd else { continue }
            let before = start == 0 ? 0 : arrivals[start - 1].byteCount
            if index > start { held = max(held, arrivals[index].byteCount - before) }
            start = index + 1
        }
        self.heldByteCount = held
    }

    /// Returns whether events were held back together with others, for a second longer than the path delays other data.
    func isBuffered(beyond jitter: Duration = .zero) -> Bool {
        self.heldByteCount > 0 && self.lateness >= .seconds(1) + jitter
    }
}
