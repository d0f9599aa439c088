/// Counts the raw events that were passed on, by type and item, so that a replay's are withheld.
///
/// It is a part of `ReplayLedger` and belongs to its owner. A server chooses types and items, so the tables have
/// bounds. Types past them, and very long ones, are counted together. Past the bound for items, events are counted by
/// type.
struct RawEventCounts: Sendable {
    private struct Count {
        var delivered = 0
        /// How many have come in the attempt that runs.
        var seen = 0

        mutating func admit() -> Bool {
            self.seen += 1
            guard self.seen > self.delivered else { return false }
            self.delivered = self.seen
            return true
        }

        mutating func rewind() { self.seen = 0 }
    }

    private struct ItemKey: Hashable {
        /// The type's place among all that are counted apart.
        let type: Int
        let outputIndex: Int
    }

    /// How many types are counted apart; the Responses API has about seventy.
    static let maximumTypeCount = 256
    /// How long the name of a type that is counted apart may be, in bytes.
    static let maximumTypeByteCount = 128

    /// How many counts there are of a type in an item; an item has about five.
    static let maximumItemCount = 4_096

    /// Where the count of a type stands.
    private var types: [String: Int] = [:]
    /// Events of which the item is not known, one count for each type.
    private var counts: [Count] = []
    private var itemCounts: [ItemKey: Count] = [:]
    /// Every type that has no count of its own.
    private var others = Count()

    /// Begins another attempt.
    mutating func rewind() {
        self.others.rewind()
        for index in self.counts.indices { self.counts[index].rewind() }
        for index in self.itemCounts.values.indices { self.itemCounts.values[index].rewind() }
    }

    /// Forgets the events of some items, and those of no item that is known.
    mutating func settle(_ items: Range<Int>) {
        self.others = Count()
        for index in self.counts.indices { self.counts[index] = Count() }
        self.itemCounts = self.itemCounts.filter { !items.contains($0.key.outputIndex) }
    }

    /// Counts one event; false when as many of its type were passed on before, in its item if that is known.
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
