// Compares the closing events of a response with its output.

extension ReplayLedger {
    /// An item begins with the index of an earlier one: what came at that index before is none of its output.
    package mutating func beginItem(_ outputIndex: Int) {
        let (index, hasOverflown) = outputIndex.addingReportingOverflow(self.settledItemCount)
        guard !hasOverflown else { return }
        self.channels.forEach { $0.beginItem(index) }
        self.closed[index] = nil
        self.aliases[index] = nil
    }

    /// Holds the text that a slot is closed with against what has come of it.
    ///
    /// The caller admits the bytes that `rest` names next.
    package mutating func close(_ text: Span<UInt8>, in slot: ReplaySlot) -> Closing {
        guard let slot = slot.shifted(by: self.settledItemCount) else { return .differs }
        let channel = self.channels[slot.kind]
        switch channel.hold(text, against: slot, isOpen: !self.isClosed(slot)) {
        case .contradiction:
            return .differs
        case .prefix(let count, let likeness):
            if !text.isEmpty, likeness != .stopped { self.closed[slot.outputIndex, default: []].insert(slot) }
            guard count < text.count else { return likeness == .same ? .whole : .rewritten }
            guard let newest = channel.newestSlot, newest != slot else { return .rest(from: count) }
            // A slot of which nothing has come may follow one that stands before it.
            let isBehind =
                !channel.hasOutput(of: slot)
                && (newest.outputIndex, newest.partIndex) <= (slot.outputIndex, slot.partIndex)
            return isBehind ? .rest(from: count) : .outOfPlace
        }
    }

    /// The slot that a closing text belongs to: the one that it names, or the newest one of the item, of which output
    /// has come and no closing text, where nothing has come of the one that it names and one text begins the other.
    ///
    /// Servers count parts, and items without identifiers, otherwise in closing events than in deltas. With
    /// `mayBeElsewhere` nothing but the slot says that there is an item at its index.
    package mutating func place(of text: Span<UInt8>, in slot: ReplaySlot, mayBeElsewhere: Bool) -> ReplaySlot {
        let channel = self.channels[slot.kind]
        guard !text.isEmpty, let named = slot.shifted(by: self.settledItemCount) else { return slot }
        if let known = self.aliases[named.outputIndex]?[named] {
            return known.shifted(by: -self.settledItemCount) ?? slot
        }
        guard let newest = channel.newestSlot, newest != named, newest.kind == named.kind,
            mayBeElsewhere || newest.outputIndex == named.outputIndex,
            !self.isClosed(newest), !channel.hasOutput(of: named), channel.isLike(text, newest)
        else { return slot }
        self.aliases[named.outputIndex, default: [:]][named] = newest
        return newest.shifted(by: -self.settledItemCount) ?? slot
    }

    private func isClosed(_ slot: ReplaySlot) -> Bool { self.closed[slot.outputIndex]?.contains(slot) == true }

    /// The slot of a kind with the highest position of which something has come in the attempt that runs.
    package func newestSlot(of kind: ReplaySlot.Kind) -> ReplaySlot? {
        self.channels[kind].slots(of: kind).last?.shifted(by: -self.settledItemCount)
    }

    /// Holds all texts of a kind, which the response closes with in the order of their positions, against what has
    /// come.
    ///
    /// They need not say which slots they are: a consumer concatenates them. The offset of a rest counts from the first
    /// byte of the first text.
    ///
    /// The response names so many items in the end: output of further ones that came is its own affair.
    package func close(
        _ texts: [UnsafeBufferPointer<UInt8>], ofKind kind: ReplaySlot.Kind, itemCount: Int
    ) -> Closing {
        let channel = self.channels[kind]
        let (end, hasOverflown) = self.settledItemCount.addingReportingOverflow(itemCount)
        let isOpen = channel.slots(of: kind).last.map { !self.isClosed($0) } ?? true
        switch unsafe channel.hold(
            texts, ofKind: kind, positionsBelow: hasOverflown ? .max : end, isOpen: isOpen)
        {
        case .contradiction:
            return .differs
        case .prefix(let count, let likeness):
            guard unsafe count < texts.reduce(0, { $0 + $1.count }) else {
                return likeness == .same ? .whole : .rewritten
            }
            let last = channel.slots(of: kind).last
            guard let newest = channel.newestSlot, let last, newest != last else { return .rest(from: count) }
            return .outOfPlace
        }
    }
}
