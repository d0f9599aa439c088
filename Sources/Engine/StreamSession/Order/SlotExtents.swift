/// The ranges of each slot's output in a channel, by its item.
///
/// It is a part of `ReplayChannel` and belongs to its owner. It changes only with the slot, and so rarely: in most
/// responses a slot's output is one piece. It is one table, because every stored property of a channel makes the state
/// of a turn longer, which a delta of many streams reads anew.
struct SlotExtents: Sendable {
    /// The output of an item and kind.
    private struct Item {
        /// The whole of it, up to the last byte of the channel for the newest item; empty when it is not in one piece.
        var output: Range<Int>
        /// The pieces of each slot, in the order of the channel.
        var pieces: [ReplaySlot: [Range<Int>]] = [:]
    }

    /// The items by their first slots (`ReplaySlot.item`).
    private var items: [ReplaySlot: Item] = [:]

    /// Begins output of an item behind that of another one.
    mutating func begin(_ item: ReplaySlot, at start: Int, behind last: ReplaySlot?) {
        if let last, let begun = self.items[last]?.output, !begun.isEmpty {
            self.items[last]?.output = begun.lowerBound..<start
        }
        let isKnown = self.items[item] != nil
        self.items[item, default: Item(output: start..<Int.max)].output = isKnown ? 0..<0 : start..<Int.max
    }

    /// Adds a piece, which must lie behind all others, of an item that has begun.
    mutating func add(_ piece: Range<Int>, of slot: ReplaySlot) {
        self.items[slot.item]?.pieces[slot, default: []].append(piece)
    }

    /// Returns the output of an item and kind; empty when there is none, or not in one piece.
    func output(ofItem item: ReplaySlot) -> Range<Int> { self.items[item]?.output ?? 0..<0 }

    /// Returns the pieces of a slot, cut to a part of the channel.
    func pieces(of slot: ReplaySlot, in bounds: Range<Int>) -> [Range<Int>] {
        guard let pieces = self.items[slot.item]?.pieces[slot] else { return [] }
        let start = Self.index(in: pieces) { $0.upperBound > bounds.lowerBound }
        let end = Self.index(in: pieces) { $0.lowerBound >= bounds.upperBound }
        guard start < end else { return [] }
        return pieces[start..<end].map { $0.clamped(to: bounds) }
    }

    /// Returns the end of a slot's last piece; nil when it has none.
    func end(of slot: ReplaySlot) -> Int? { self.items[slot.item]?.pieces[slot]?.last?.upperBound }

    /// Returns the slots of an item and kind with output in a part of the channel.
    func slots(ofItem item: ReplaySlot, in bounds: Range<Int>) -> [ReplaySlot] {
        self.items[item]?.pieces.keys.filter { !self.pieces(of: $0, in: bounds).isEmpty } ?? []
    }

    /// Returns the slots of a kind with output in a part of the channel.
    func slots(of kind: ReplaySlot.Kind, in bounds: Range<Int>) -> [ReplaySlot] {
        self.items.keys.flatMap { $0.kind == kind ? self.slots(ofItem: $0, in: bounds) : [] }
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
