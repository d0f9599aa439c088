import StreamSession

/// The positions at which another turn can continue a kept response, as far as its events were read.
///
/// A part of the turn's shared state, under its lock. The newest position counts whose events the consumer has taken.
struct ResumePoints {
    /// A position, which is known behind a number of events for the consumer.
    private struct Mark {
        let eventCount: Int
        /// Nil when no turn could continue behind these events.
        let cursor: ResumeCursor?
    }

    /// In order; the first one is behind events that the consumer has taken, or is the position of the turn's
    /// beginning.
    private var marks: [Mark] = []
    /// The number of events that the consumer has taken.
    private var takenCount = 0

    /// Creates the value of a turn that requests a response.
    init() {}

    /// Creates the value of a turn that continues a response.
    init(_ point: ResumeCursor) {
        if point.lastSequenceNumber != nil { self.marks = [Mark(eventCount: 0, cursor: point)] }
    }

    /// Records that the consumer has taken events.
    mutating func taken(_ count: Int) { self.takenCount += count }

    /// Records the position behind the events that were read.
    ///
    /// - Parameters:
    ///   - cursor: the position; nil when there is none.
    ///   - waitingCount: the number of events that the consumer has not taken.
    mutating func note(_ cursor: ResumeCursor?, waitingCount: Int) {
        // Marks without a position may stand behind the newest one with it.
        let newest = self.marks.last { $0.cursor != nil }?.cursor?.lastSequenceNumber
        if let number = cursor?.lastSequenceNumber, let newest, number <= newest {
            // The response is read again from its beginning.
            return
        }
        if let newest = self.marks.lastIndex(where: { $0.eventCount <= self.takenCount }) {
            self.marks.removeFirst(newest)
        }
        let mark = Mark(eventCount: self.takenCount + waitingCount, cursor: cursor)
        if self.marks.last?.eventCount == mark.eventCount { self.marks.removeLast() }
        self.marks.append(mark)
    }

    /// Records that no turn could continue behind later events than those up to the last position.
    ///
    /// - Parameter waitingCount: the number of events that the consumer has not taken.
    mutating func hold(waitingCount: Int) {
        let eventCount = self.takenCount + waitingCount
        guard let last = self.marks.last, last.cursor != nil, last.eventCount < eventCount else { return }
        self.marks.append(Mark(eventCount: eventCount, cursor: nil))
    }

    /// The newest position behind events that the consumer has taken; nil when there is none.
    var newest: ResumeCursor? { self.marks.last { $0.eventCount <= self.takenCount }?.cursor }
}
