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
    /// The number of events that the driver has handed to the consumer's side.
    private var movedCount = 0

    /// Creates the value of a turn that requests a response.
    init() {}

    /// Creates the value of a turn that continues a response.
    init(_ point: ResumeCursor) {
        if point.lastSequenceNumber != nil { self.marks = [Mark(eventCount: 0, cursor: point)] }
    }

    /// Records that events were handed to the consumer's side, or dropped there.
    mutating func moved(_ count: Int) { self.movedCount += count }

    /// Records the position behind the events that were read.
    ///
    /// - Parameters:
    ///   - cursor: the position; nil when there is none.
    ///   - waitingCount: the number of events that were not handed to the consumer's side.
    ///   - readyCount: the number of those that were, and that the consumer has not taken.
    mutating func note(_ cursor: ResumeCursor?, waitingCount: Int, readyCount: Int) {
        // Marks without a position may stand behind the newest one with it.
        let newest = self.marks.last { $0.cursor != nil }?.cursor?.lastSequenceNumber
        if let number = cursor?.lastSequenceNumber, let newest, number <= newest {
            // The response is read again from its beginning.
            return
        }
        let taken = self.movedCount - readyCount
        if let newest = self.marks.lastIndex(where: { $0.eventCount <= taken }) { self.marks.removeFirst(newest) }
        let mark = Mark(eventCount: self.movedCount + waitingCount, cursor: cursor)
        if self.marks.last?.eventCount == mark.eventCount { self.marks.removeLast() }
        self.marks.append(mark)
    }

    /// Records that no turn could continue behind later events than those up to the last position.
    ///
    /// - Parameter waitingCount: the number of events that were not handed to the consumer's side.
    mutating func hold(waitingCount: Int) {
        let eventCount = self.movedCount + waitingCount
        guard let last = self.marks.last, last.cursor != nil, last.eventCount < eventCount else { return }
        self.marks.append(Mark(eventCount: eventCount, cursor: nil))
    }

    /// Returns the newest position behind events that the consumer has taken, when `readyCount` wait for it.
    func newest(leaving readyCount: Int) -> ResumeCursor? {
        let taken = self.movedCount - readyCount
        return self.marks.last { $0.eventCount <= taken }?.cursor
    }
}
