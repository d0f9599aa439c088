import ResponseEvents
import StreamSession

/// Events in order, that are made by the batch and taken one at a time.
///
/// It belongs to whoever holds it.
struct EventQueue {
    /// What was taken stands there as `completed` until all is.
    private var events: [ChappieStreamEvent] = []
    private var next = 0

    /// How many events wait.
    var count: Int { self.events.count - self.next }

    /// Puts an event behind the others.
    mutating func append(_ event: ChappieStreamEvent) { self.events.append(event) }

    /// Puts new output behind the others, with one allocation at most.
    @inline(__always)
    mutating func append(_ text: BorrowedText, of kind: ReplaySlot.Kind) {
        let string = String(text)
        switch kind {
        case .text: self.events.append(.textDelta(string))
        case .refusal: self.events.append(.refusalDelta(string))
        case .reasoningSummary, .reasoningText, .toolCall: self.events.append(.reasoningDelta(string))
        }
    }

    /// Exchanges the first event for what stands in `event`; false when none waits.
    ///
    /// The event changes hands without a copy. `completed` in its place holds nothing.
    @inline(__always)
    mutating func take(into event: inout ChappieStreamEvent) -> Bool {
        guard self.next < self.events.count else { return false }
        swap(&event, &self.events[self.next])
        self.next += 1
        return true
    }

    /// For how many events a queue has room that was emptied: half as many as the largest read brings of short deltas,
    /// so that it grows once.
    private static let largestRoom = 960

    /// Takes all events that wait.
    ///
    /// Room for as many, up to a bound, is made at once: a queue that grows from nothing allocates at each doubling.
    mutating func takeAll() -> [ChappieStreamEvent] {
        // A consumer looks before anything is read, and the room is for what comes then.
        guard self.count > 0 else {
            self.removeAll()
            return []
        }
        let taken = self.next == 0 ? self.events : Array(self.events[self.next...])
        self.events = []
        self.events.reserveCapacity(min(taken.count, Self.largestRoom))
        self.next = 0
        return taken
    }

    /// Drops what was not taken, and keeps the memory.
    mutating func removeAll() {
        self.events.removeAll(keepingCapacity: true)
        self.next = 0
    }
}
