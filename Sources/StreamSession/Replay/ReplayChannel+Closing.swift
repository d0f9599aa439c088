import PlatformC

// Compares the output of the current attempt with the attempt's closing events.

extension ReplayChannel {
    /// The relation of a closing text to the output of the current attempt.
    enum Held: Equatable {
        /// A prefix of the text has come, with this number of bytes.
        case prefix(Int, ClosingComparison.Likeness)
        /// Different output has come.
        case contradiction
    }

    /// The range of the attempt's own output.
    private var attempt: Range<Int> { self.settledByteCount..<self.cursor }

    /// The slot of the last byte of a channel that is caught up; nil when the current attempt has no output.
    var newestSlot: ReplaySlot? { self.isCaughtUp && !self.attempt.isEmpty ? self.lastSlot : nil }

    /// Begins an item with the index of an earlier one: earlier output at that index does not belong to it.
    mutating func beginItem(_ outputIndex: Int) {
        if self.cursor > self.settledByteCount { self.restarts[outputIndex] = self.cursor }
    }

    /// Returns whether output of a slot has come in the current attempt.
    func hasOutput(of slot: ReplaySlot) -> Bool { !self.pieces(of: slot).isEmpty }

    /// Compares the text of a slot with the slot's output; `isOpen` says that no text has closed the slot before.
    func hold(_ text: Span<UInt8>, against slot: ReplaySlot, isOpen: Bool) -> Held {
        let pieces = self.pieces(of: slot)
        if pieces.count < 2, self.begins(text, with: pieces.first ?? 0..<0) {
            return .prefix(pieces.first?.count ?? 0, .same)
        }
        let delivered = self.copy(of: pieces)
        var comparison = ClosingComparison(delivered[...], isOpen: isOpen)
        guard let count = comparison.compare(Self.copy(of: text)[...]), comparison.isAtEnd() else {
            // Deltas of a slot may name another one, which makes no difference to a consumer that concatenates them.
            let all = (pieces.first?.lowerBound ?? self.cursor)..<self.cursor
            return self.begins(text, with: all) ? .prefix(all.count, .rewritten) : .contradiction
        }
        return .prefix(count, comparison.likeness)
    }

    /// Returns whether a text and a slot's output begin with the same bytes, up to the end of one of them.
    func isLike(_ text: Span<UInt8>, _ slot: ReplaySlot) -> Bool {
        guard let piece = self.pieces(of: slot).first else { return false }
        let count = min(piece.count, text.count)
        return self.begins(text.extracting(..<count), with: piece.lowerBound..<piece.lowerBound + count)
    }

    /// Compares all texts of a kind, in the order of their positions, with all output of that kind.
    ///
    /// Output at positions that the end omits, from `end` on, is ignored where the rest is equal.
    /// - Returns: the number of bytes of the concatenated texts that have come.
    func hold(
        _ texts: [UnsafeBufferPointer<UInt8>], ofKind kind: ReplaySlot.Kind, positionsBelow end: Int, isOpen: Bool
    ) -> Held {
        let slots = self.slots(of: kind)
        let held = unsafe self.hold(texts, against: slots, isOpen: isOpen)
        guard held == .contradiction, slots.contains(where: { $0.outputIndex >= end }) else { return held }
        let named = unsafe self.hold(texts, against: slots.filter { $0.outputIndex < end }, isOpen: isOpen)
        guard case .prefix(let count, _) = named, unsafe count == texts.reduce(0, { $0 + $1.count }) else {
            return .contradiction
        }
        return .prefix(count, .rewritten)
    }

    private func hold(_ texts: [UnsafeBufferPointer<UInt8>], against slots: [ReplaySlot], isOpen: Bool) -> Held {
        let pieces = self.pieces(of: slots)
        let isOnePiece = zip(pieces, pieces.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound }
        if isOnePiece {
            var place = pieces.first?.lowerBound ?? self.cursor
            let end = pieces.last?.upperBound ?? self.cursor
            for index in unsafe texts.indices {
                let text = unsafe texts[index]
                let count = min(text.count, end - place)
                guard unsafe self.begins(text.span.extracting(..<count), with: place..<place + count) else { break }
                place += count
            }
            if place == end { return .prefix(pieces.reduce(0) { $0 + $1.count }, .same) }
        }
        let delivered = self.copy(of: pieces)
        var comparison = ClosingComparison(delivered[...], isOpen: isOpen)
        var total = 0
        for index in unsafe texts.indices {
            let text = unsafe texts[index]
            guard let count = unsafe comparison.compare(ArraySlice(text)) else { return .contradiction }
            total += count
            if count < text.count { break }
        }
        return comparison.isAtEnd() ? .prefix(total, comparison.likeness) : .contradiction
    }

    /// Returns the slots of a kind with output in the current attempt, in the order of their positions.
    ///
    /// At an index that several items share, they are in the order of their newest output.
    func slots(of kind: ReplaySlot.Kind) -> [ReplaySlot] {
        var slots = self.extents.slots(of: kind, in: self.attempt)
        let last = self.lastRunStart..<self.byteCount
        if self.lastSlot.kind == kind, last.overlaps(self.attempt), !slots.contains(self.lastSlot) {
            slots.append(self.lastSlot)
        }
        let places = slots.map { slot in
            let isShared = self.restarts[slot.outputIndex] != nil
            let newest = isShared ? self.pieces(of: slot, in: self.attempt).last?.upperBound : nil
            return (slot: slot, order: newest ?? slot.partIndex)
        }
        return places.sorted { ($0.slot.outputIndex, $0.order) < ($1.slot.outputIndex, $1.order) }.map(\.slot)
    }

    /// Returns the attempt's pieces of slots that are in the order of their positions, in that order.
    ///
    /// Several items at one index follow one another, so that the pieces at it are in the order in which they came.
    private func pieces(of slots: [ReplaySlot]) -> [Range<Int>] {
        var pieces: [Range<Int>] = []
        var rest = slots[...]
        while let outputIndex = rest.first?.outputIndex {
            let item = rest.prefix { $0.outputIndex == outputIndex }
            rest = rest.dropFirst(item.count)
            let own = item.flatMap { self.pieces(of: $0, in: self.attempt) }
            let isShared = self.restarts[outputIndex] != nil
            pieces += isShared ? own.sorted { $0.lowerBound < $1.lowerBound } : own
        }
        return pieces
    }

    private func pieces(of slot: ReplaySlot) -> [Range<Int>] {
        let start = self.restarts[slot.outputIndex] ?? self.settledByteCount
        return self.pieces(of: slot, in: start..<max(start, self.cursor))
    }

    private func pieces(of slot: ReplaySlot, in bounds: Range<Int>) -> [Range<Int>] {
        var pieces = self.extents.pieces(of: slot, in: bounds)
        guard slot == self.lastSlot else { return pieces }
        let last = (self.lastRunStart..<self.byteCount).clamped(to: bounds)
        if !last.isEmpty { pieces.append(last) }
        return pieces
    }

    /// Returns whether a text begins with a part of the delivered output.
    func begins(_ text: Span<UInt8>, with piece: Range<Int>) -> Bool {
        guard piece.count <= text.count else { return false }
        // Both have the same number of bytes.
        return unsafe self.withBytes { memory in
            unsafe text.withUnsafeBytes { text in
                guard !piece.isEmpty, let left = memory.baseAddress, let right = text.baseAddress else {
                    return piece.isEmpty
                }
                return unsafe memcmp(left + piece.lowerBound, right, piece.count) == 0
            }
        }
    }

    private func copy(of pieces: [Range<Int>]) -> [UInt8] {
        unsafe self.withBytes { bytes in unsafe pieces.flatMap { unsafe bytes[$0] } }
    }

    private static func copy(of text: Span<UInt8>) -> [UInt8] {
        unsafe text.withUnsafeBufferPointer { unsafe Array($0) }
    }
}
