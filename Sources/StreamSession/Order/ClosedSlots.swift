/// The slots that a text has closed, in which a delta comes too late.
///
/// It is a part of `ResponseOrder` and belongs to its owner.
struct ClosedSlots: Sendable {
    /// The slots by the index of their item.
    private var slots: [Int: Set<ReplaySlot>] = [:]

    /// Records that a text has closed a slot.
    mutating func insert(_ slot: ReplaySlot) { self.slots[slot.outputIndex, default: []].insert(slot) }

    /// Returns whether a text has closed a slot, whose item is that of an index.
    func contains(_ slot: ReplaySlot, at outputIndex: Int) -> Bool {
        guard let slots = self.slots[outputIndex] else { return false }
        return slots.contains(ReplaySlot(slot.kind, outputIndex: outputIndex, partIndex: slot.partIndex))
    }

    /// Forgets the slots of an item, as another one follows at its index.
    mutating func remove(at outputIndex: Int) { self.slots[outputIndex] = nil }
}
