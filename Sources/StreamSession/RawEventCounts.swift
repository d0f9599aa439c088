/// Counts the raw events that were passed on, by type, so that a replay's are withheld.
///
/// It is a part of `ReplayLedger` and belongs to its owner. A server chooses the types, so the table has a bound: types
/// past it, and very long ones, are counted together.
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

    /// How many types are counted apart; the Responses API has about seventy.
    static let maximumTypeCount = 256
    /// How long the name of a type that is counted apart may be, in bytes.
    static let maximumTypeByteCount = 128

    private var counts: [String: Count] = [:]
    /// Every type that has no count of its own.
    private var others = Count()

    /// Begins another attempt.
    mutating func rewind() {
        self.others.rewind()
        for index in self.counts.values.indices { self.counts.values[index].rewind() }
    }

    /// Counts one event; false when as many of its type were passed on before.
    mutating func admit(_ type: String) -> Bool {
        if let index = self.counts.index(forKey: type) { return self.counts.values[index].admit() }
        guard self.counts.count < Self.maximumTypeCount, type.utf8.count <= Self.maximumTypeByteCount else {
            return self.others.admit()
        }
        self.counts[type] = Count(delivered: 1, seen: 1)
        return true
    }
}
