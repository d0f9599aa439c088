// Compares the closing events of a response with its output.

extension ReplayLedger {
    /// Begins an item with the index of an earlier one: earlier output at that index does not belong to it.
    package mutating func beginItem(_ outputIndex: Int) {
        let (index, hasOverflown) = outputIndex.addingReportingOverflow(self.settledItemCount)
        guard !hasOverflown else { return }
        self.channels.forEach { $0.beginItem(index) }
        for slot in self.closed.removeValue(forKey: index) ?? [] { self.supplied[slot] = nil }
        self.aliases[index] = nil
    }

    /// Compares the closing text of a slot with the slot's output.
    ///
    /// The caller admits the bytes that `rest` names next.
    package mutating func close(_ text: Span<UInt8>, in slot: ReplaySlot) -> Closing {
        guard let slot = slot.shifted(by: self.settledItemCount) else { return .differs }
        let channel = self.channels[slot.kind]
        switch channel.hold(text, against: slot, isOpen: !self.hasClosed(slot)) {
        case .contradiction:
            return .differs
        case .prefix(let count, let likeness):
            if !text.isEmpty, likeness != .stopped { self.closed[slot.outputIndex, default: []].insert(slot) }
            guard count < text.count else { return likeness == .same ? .whole : .rewritten }
            if let newest = channel.newestSlot, newest != slot {
                // A slot without output may follow one at a later position.
                let isBehind =
                    !channel.hasOutput(of: slot)
                    && (newest.outputIndex, newest.partIndex) <= (slot.outputIndex, slot.partIndex)
                guard isBehind else { return .outOfPlace }
            }
            self.supply(text.count - count, to: slot)
            return .rest(from: count)
        }
    }

    /// Records that a closing text brings the next bytes of a channel.
    private mutating func supply(_ byteCount: Int, to slot: ReplaySlot) {
        let start = self.channels[slot.kind].cursor
        let before = self.supplied[slot].flatMap { $0.upperBound == start ? $0.lowerBound : nil }
        self.supplied[slot] = (before ?? start)..<start + byteCount
    }

    /// Compares a delta, which must not be empty, with the text that has closed its slot before.
    ///
    /// The rest that this text has brought may come once more in deltas, in its order.
    package mutating func late(_ bytes: Span<UInt8>, in slot: ReplaySlot) -> Late {
        guard let slot = slot.shifted(by: self.settledItemCount), self.hasClosed(slot) else { return .isNew }
        guard let rest = self.supplied[slot], bytes.count <= rest.count else { return .contradiction }
        let end = rest.lowerBound + bytes.count
        guard self.channels[slot.kind].begins(bytes, with: rest.lowerBound..<end) else { return .contradiction }
        self.supplied[slot] = end..<rest.upperBound
        return .delivered
    }

    /// Returns the slot that a closing text belongs to: the one that it names, or else the item's newest slot.
    ///
    /// The latter applies when it has output and no closing text, the named slot has no output, and one text begins the
    /// other.
    ///
    /// Servers number parts, and items without identifiers, differently in closing events and in deltas. With
    /// `mayBeElsewhere` only the slot says that there is an item at its index.
    package mutating func place(of text: Span<UInt8>, in slot: ReplaySlot, mayBeElsewhere: Bool) -> ReplaySlot {
        let channel = self.channels[slot.kind]
        guard !text.isEmpty, let named = slot.shifted(by: self.settledItemCount) else { return slot }
        if let known = self.aliases[named.outputIndex]?[named] {
            return known.shifted(by: -self.settledItemCount) ?? slot
        }
        guard let newest = channel.newestSlot, newest != named, newest.kind == named.kind,
            mayBeElsewhere || newest.outputIndex == named.outputIndex,
            !self.hasClosed(newest), !channel.hasOutput(of: named), channel.isLike(text, newest)
        else { return slot }
        self.aliases[named.outputIndex, default: [:]][named] = newest
        return newest.shifted(by: -self.settledItemCount) ?? slot
    }

    /// Returns whether a text has closed a slot in the current attempt: a delta of it comes too late.
    package func isClosed(_ slot: ReplaySlot) -> Bool {
        slot.shifted(by: self.settledItemCount).map { self.hasClosed($0) } ?? false
    }

    private func hasClosed(_ slot: ReplaySlot) -> Bool { self.closed[slot.outputIndex]?.contains(slot) == true }

    /// Returns the slot of a kind with the highest position that has output in the current attempt.
    package func newestSlot(of kind: ReplaySlot.Kind) -> ReplaySlot? {
        self.channels[kind].slots(of: kind).last?.shifted(by: -self.settledItemCount)
    }

    /// Compares all closing texts of a kind, in the order of their positions, with the kind's output.
    ///
    /// They need not name their slots, as a consumer concatenates them. The offset of a rest counts from the first byte
    /// of the first text.
    ///
    /// `itemCount` is the number of items that the response lists at its end: output of further ones is ignored.
    package func close(
        _ texts: [UnsafeBufferPointer<UInt8>], ofKind kind: ReplaySlot.Kind, itemCount: Int
    ) -> Closing {
        let channel = self.channels[kind]
        let (end, hasOverflown) = self.settledItemCount.addingReportingOverflow(itemCount)
        let isOpen = channel.slots(of: kind).last.map { !self.hasClosed($0) } ?? true
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
