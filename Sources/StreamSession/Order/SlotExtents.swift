/// The ranges of each slot's output in a channel.
///
/// It is a part of `ReplayChannel` and belongs to its owner. It changes only with the slot, and so rarely: in most
/// responses a slot's output is one piece.
struct SlotExtents: Sendable {
    /// The pieces of a slot, in the order of the channel.
    private var pieces: [ReplaySlot: [Range<Int>]] = [:]
    /// The slots of each item and kind, in the order in which they began.
    private var slotsByItem: [ReplaySlot: [ReplaySlot]] = [:]

    /// Adds a piece, which must lie behind all others.
    mutating func add(_ piece: Range<Int>, of slot: ReplaySlot) {
        if self.pieces[slot] == nil { self.slotsByItem[slot.item, default: []].append(slot) }
        self.pieces[slot, default: []].append(piece)
    }

    /// Returns the pieces of a slot, cut to a part of the channel.
    func pieces(of slot: ReplaySlot, in bounds: Range<Int>) -> [Range<Int>] {
        guard let pieces = self.pieces[slot] else { return [] }
        let start = Self.index(in: pieces) { $0.upperBound > bounds.lowerBound }
        let end = Self.index(in: pieces) { $0.lowerBound >= bounds.upperBound }
        guard start < end else { return [] }
        return pieces[start..<end].map { $0.clamped(to: bounds) }
    }

    /// Returns the end of a slot's last piece; nil when it has none.
    func end(of slot: ReplaySlot) -> Int? { self.pieces[slot]?.last?.upperBound }

    /// Returns the slots of an item and kind with output in a part of the channel, in the order in which they began.
    func slots(ofItem item: ReplaySlot, in bounds: Range<Int>) -> [ReplaySlot] {
        self.slotsByItem[item]?.filter { !self.pieces(of: $0, in: bounds).isEmpty } ?? []
    }

    /// Returns the slots of a kind with output in a part of the channel, in the order of their positions.
    func slots(of kind: ReplaySlot.Kind, in bounds: Range<Int>) -> [ReplaySlot] {
        self.pieces.compactMap { slot, pieces in
            guard slot.kind == kind, let last = pieces.last, last.upperBound > bounds.lowerBound else { return nil }
            return self.pieces(of: slot, in: bounds).isEmpty ? nil : slot
        }
    }

    /// Returns the first index for which a condition holds that holds for all later ones.
    private static func index(in pieces: [Range<Int>], where holds: (Range<Int>) -> Bool) -> Int {
        var (low, high) = (0, pieces.count)
        while low < high {
            let middle = (low + high) / 2
            if holds(pieces[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
