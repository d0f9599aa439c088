/// The items that have written at an index, by which two answers that are written at once are recognised.
///
/// It is a part of `ResponseOrder` and belongs to its owner.
struct ItemWriters: Sendable {
    /// A place at which an item writes.
    private struct Place: Hashable {
        let kind: ReplaySlot.Kind
        let outputIndex: Int
    }

    /// The items by kind, where several were named at an index: the newest, and those before.
    private var writers: [Place: (newest: UInt64, others: Set<UInt64>)] = [:]

    /// Records the item that writes at an index; returns whether another one has written there since it last did.
    mutating func takesTurns(_ name: UInt64, kind: ReplaySlot.Kind, at outputIndex: Int) -> Bool {
        let place = Place(kind: kind, outputIndex: outputIndex)
        guard var known = self.writers[place] else {
            self.writers[place] = (name, [])
            return false
        }
        guard known.newest != name else { return false }
        guard !known.others.contains(name) else { return true }
        known.others.insert(known.newest)
        known.newest = name
        self.writers[place] = known
        return false
    }
}
