/// Counts the raw events that were passed on, by type and item, so that those of a replay are withheld.
///
/// It is a part of `ReplayLedger` and belongs to its owner. A server chooses types and items, so the tables have
/// bounds. Types beyond the bound, and very long ones, share one count. Beyond the bound for items, events are counted
/// by type.
struct RawEventCounts: Sendable {
    private struct Count {
        var delivered = 0
        /// The number of events that have come in the current attempt.
        var seen = 0

        mutating func admit() -> Bool {
            self.seen += 1
            guard self.seen > self.delivered else { return false }
            self.delivered = self.seen
            return true
        }

        mutating func rewind() { self.seen = 0 }
        mutating func restart() { self.delivered = self.seen }
    }

    private struct ItemKey: Hashable {
        /// The type's index among those with counts of their own.
        let type: Int
        let outputIndex: Int
    }

    /// The maximum number of types with counts of their own; the Responses API has about seventy.
    static let maximumTypeCount = 256
    /// The maximum length of the name of a type with a count of its own, in bytes.
    static let maximumTypeByteCount = 128

    /// The maximum number of counts by type and item; an item has about five.
    static let maximumItemCount = 4_096

    /// The index of each type's count.
    private var types: [String: Int] = [:]
    /// The counts of events whose item is not known, one for each type.
    private var counts: [Count] = []
    private var itemCounts: [ItemKey: Count] = [:]
    /// The count of all types without a count of their own.
    private var others = Count()

    /// Begins another attempt.
    mutating func rewind() {
        self.others.rewind()
        for index in self.counts.indices { self.counts[index].rewind() }
        for index in self.itemCounts.values.indices { self.itemCounts.values[index].rewind() }
    }

    /// Passes on all further events of the attempt.
    mutating func restart() {
        self.others.restart()
        for index in self.counts.indices { self.counts[index].restart() }
        for index in self.itemCounts.values.indices { self.itemCounts.values[index].restart() }
    }

    /// Forgets the events of some items, and those of no known item.
    mutating func settle(_ items: Range<Int>) {
        self.others = Count()
        for index in self.counts.indices { self.counts[index] = Count() }
        self.itemCounts = self.itemCounts.filter { !items.contains($0.key.outputIndex) }
    }

    /// Counts one event; returns false when the same number of its type was passed on before, in its item if that is
    /// known.
    mutating func admit(_ type: String, outputIndex: Int? = nil) -> Bool {
        guard let number = self.number(of: type) else { return self.others.admit() }
        guard let outputIndex else { return self.counts[number].admit() }
        let key = ItemKey(type: number, outputIndex: outputIndex)
        if let index = self.itemCounts.index(forKey: key) { return self.itemCounts.values[index].admit() }
        guard self.itemCounts.count < Self.maximumItemCount else { return self.counts[number].admit() }
        self.itemCounts[key] = Count(delivered: 1, seen: 1)
        return true
    }

    private mutating func number(of type: String) -> Int? {
        guard type.utf8.count <= Self.maximumTypeByteCount else { return nil }
        if let number = self.types[type] { return number }
        guard self.counts.count < Self.maximumTypeCount else { return nil }
        self.types[type] = self.counts.count
        self.counts.append(Count())
        return self.counts.count - 1
    }
}
