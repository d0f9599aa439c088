// Compares the closing events of a response with its output.

extension ReplayLedger {
    /// An item begins with the index of an earlier one: what came at that index before is none of its output.
    package mutating func beginItem(_ outputIndex: Int) {
        let (index, hasOverflown) = outputIndex.addingReportingOverflow(self.settledItemCount)
        if !hasOverflown { self.channels.forEach { $0.beginItem(index) } }
    }

    /// Holds the text that a slot is closed with against what has come of it.
    ///
    /// The caller admits the bytes that `rest` names next.
    package func close(_ text: Span<UInt8>, in slot: ReplaySlot) -> Closing {
        guard let slot = slot.shifted(by: self.settledItemCount) else { return .differs }
        let channel = self.channels[slot.kind]
        switch channel.hold(text, against: slot) {
        case .contradiction:
            return .differs
        case .prefix(let count, let isRewritten):
            guard count < text.count else { return isRewritten ? .rewritten : .whole }
            guard let newest = channel.newestSlot, newest != slot else { return .rest(from: count) }
            // A slot of which nothing has come may follow one that stands before it.
            let isBehind =
                !channel.hasOutput(of: slot)
                && (newest.outputIndex, newest.partIndex) <= (slot.outputIndex, slot.partIndex)
            return isBehind ? .rest(from: count) : .outOfPlace
        }
    }

    /// The slot of a kind with the highest position of which something has come in the attempt that runs.
    package func newestSlot(of kind: ReplaySlot.Kind) -> ReplaySlot? {
        self.channels[kind].slots(of: kind).last?.shifted(by: -self.settledItemCount)
    }

    /// Holds all texts of a kind, which the response closes with in the order of their positions, against what has come.
    ///
    /// They need not say which slots they are: a consumer concatenates them. The offset of a rest counts from the first
    /// byte of the first text.
    ///
    /// The response names so many items in the end: output of further ones that came is its own affair.
    package func close(
        _ texts: [UnsafeBufferPointer<UInt8>], ofKind kind: ReplaySlot.Kind, itemCount: Int
    ) -> Closing {
        let channel = self.channels[kind]
        switch unsafe channel.hold(
            texts, ofKind: kind, positionsBelow: self.settledItemCount + itemCount)
        {
        case .contradiction:
            return .differs
        case .prefix(let count, let isRewritten):
            guard unsafe count < texts.reduce(0, { $0 + $1.count }) else { return isRewritten ? .rewritten : .whole }
            let last = channel.slots(of: kind).last
            guard let newest = channel.newestSlot, let last, newest != last else { return .rest(from: count) }
            return .outOfPlace
        }
    }
}
