import ResponseEvents
import StreamSession

/// Events in order, which are added one by one and taken together, or the first of them.
///
/// It belongs to its holder.
struct EventQueue {
    /// The events; taken ones are replaced by `completed` until all are taken.
    private var events: [ChappieStreamEvent] = []
    private var next = 0

    /// The number of events that wait.
    var count: Int { self.events.count - self.next }

    /// Appends an event.
    mutating func append(_ event: ChappieStreamEvent) { self.events.append(event) }

    /// Appends new output, with one allocation at most.
    @inline(__always)
    mutating func append(_ text: BorrowedText, of kind: ReplaySlot.Kind) {
        self.append(String(text), of: kind)
    }

    /// Appends output.
    @inline(__always)
    mutating func append(_ text: consuming String, of kind: ReplaySlot.Kind) {
        switch kind {
        case .text: self.events.append(.textDelta(text))
        case .refusal: self.events.append(.refusalDelta(text))
        case .reasoningSummary, .reasoningText, .toolCall: self.events.append(.reasoningDelta(text))
        }
    }

    /// Takes the first event, if one waits, as an array.
    ///
    /// It is moved without a copy; `completed` in its place holds no memory.
    mutating func takeFirst() -> [ChappieStreamEvent] {
        guard self.count > 0 else { return [] }
        var event = ChappieStreamEvent.completed
        swap(&event, &self.events[self.next])
        self.next += 1
        if self.count == 0 { self.removeAll() }
        return [event]
    }

    /// The maximum capacity of an emptied queue, in events: half of what the largest read yields in short deltas, so
    /// that it grows once.
    private static let largestRoom = 960

    /// Takes all events that wait.
    ///
    /// Memory for the same number, up to a bound, is reserved at once: an empty queue that grows allocates at each
    /// doubling.
    mutating func takeAll() -> [ChappieStreamEvent] {
        // A consumer checks before the first read, and the reserved memory is for the events after it.
        guard self.count > 0 else {
            self.removeAll()
            return []
        }
        let taken = self.moveAll()
        self.events.reserveCapacity(min(taken.count, Self.largestRoom))
        return taken
    }

    /// Takes all events that wait, with the memory of the queue.
    mutating func moveAll() -> [ChappieStreamEvent] {
        var taken: [ChappieStreamEvent] = []
        swap(&taken, &self.events)
        if self.next > 0 { taken.removeFirst(self.next) }
        self.next = 0
        return taken
    }

    /// Uses the memory of an empty array for the next events, unless it is too large to be kept.
    mutating func reuse(_ memory: consuming [ChappieStreamEvent]) {
        guard self.events.capacity == 0, memory.capacity > 0 else { return }
        // The memory of a reserved capacity may have room for some more.
        if memory.capacity <= 2 * Self.largestRoom {
            self.events = memory
        } else {
            self.events.reserveCapacity(Self.largestRoom)
        }
    }

    /// Drops the events that were not taken, and keeps the memory.
    mutating func removeAll() {
        self.events.removeAll(keepingCapacity: true)
        self.next = 0
    }
}
