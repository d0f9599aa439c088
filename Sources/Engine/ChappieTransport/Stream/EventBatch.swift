/// The events that were read together, and are taken one by one.
///
/// It belongs to its holder.
@usableFromInline
struct EventBatch {
    @usableFromInline var events: [ChappieStreamEvent]
    /// The position of the next event.
    @usableFromInline var position = 0

    /// Creates a batch.
    @usableFromInline
    init(_ events: [ChappieStreamEvent] = []) { self.events = events }

    /// Indicates whether an event is left.
    @inlinable @inline(__always) var hasNext: Bool { self.position < self.events.count }

    /// Takes the next event; nil when all were taken.
    @inlinable @inline(__always)
    mutating func next() -> ChappieStreamEvent? {
        guard self.hasNext else { return nil }
        defer { self.position += 1 }
        return self.events[self.position]
    }

    /// Holds the next events, and takes the first of them; nil, behind the end of a turn, leaves those that were not
    /// taken.
    ///
    /// A turn that had ended before its cancellation has ended with these.
    @usableFromInline
    mutating func fill(_ events: consuming [ChappieStreamEvent]?) -> ChappieStreamEvent? {
        if let events { (self.events, self.position) = (events, 0) }
        return self.next()
    }

    /// Takes out the memory of events that were all taken, for the next ones; nothing while some are left.
    ///
    /// The events themselves are freed: a consumer that waits keeps none. Memory for many more is freed as well.
    @usableFromInline
    mutating func takeMemory() -> [ChappieStreamEvent] {
        guard self.position == self.events.count else { return [] }
        var memory: [ChappieStreamEvent] = []
        swap(&memory, &self.events)
        if memory.capacity > 4 * Swift.max(16, memory.count) { memory = [] }
        // One event, as nearly always, is freed without the general function.
        if memory.count == 1 { memory.removeLast() } else { memory.removeAll(keepingCapacity: true) }
        self.position = 0
        return memory
    }

    /// Takes the events that are left, together; nil when there are none.
    mutating func takeRest() -> [ChappieStreamEvent]? {
        guard self.hasNext else { return nil }
        defer { self.drop() }
        return Array(self.events[self.position...])
    }

    /// Drops the events that were not taken.
    @usableFromInline
    mutating func drop() { (self.events, self.position) = ([], 0) }
}
