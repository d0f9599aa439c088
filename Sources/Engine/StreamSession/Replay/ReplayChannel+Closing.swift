import PlatformC

// Compares the output of the current attempt with the attempt's closing events.

extension ReplayChannel {
    /// The relation of a closing text to the output of the current attempt.
    enum Held: Equatable {
        /// A prefix of the text has come, with this number of bytes; `last` is the slot that the rest continues.
        case prefix(Int, ClosingComparison.Likeness, last: ReplaySlot?)
        /// Different output has come.
        case contradiction
    }

    /// The range of the attempt's own output.
    private var attempt: Range<Int> { self.settledByteCount..<self.cursor }

    /// The slot of the last byte that the current attempt has repeated or produced; nil when it has no output.
    var newestSlot: ReplaySlot? { self.attempt.isEmpty ? nil : self.slotAtCursor }

    /// Begins an item with the index of an earlier one: earlier output at that index does not belong to it.
    mutating func beginItem(_ outputIndex: Int) {
        if self.cursor > self.settledByteCount { self.beginItem(outputIndex, at: self.cursor) }
    }

    /// Begins an item with the index of an earlier one, whose output reaches up to a position.
    mutating func beginItem(_ outputIndex: Int, at position: Int) { self.restarts[outputIndex] = position }

    /// Returns whether output of a slot has come in the current attempt.
    func hasOutput(of slot: ReplaySlot) -> Bool { !self.pieces(of: slot).isEmpty }

    /// Compares the text of a slot with the slot's output; `isOpen` says that no text has closed the slot before.
    func hold(_ text: Span<UInt8>, against slot: ReplaySlot, isOpen: Bool) -> Held {
        let pieces = self.pieces(of: slot)
        if pieces.count < 2, self.begins(text, with: pieces.first ?? 0..<0) {
            return .prefix(pieces.first?.count ?? 0, .same, last: slot)
        }
        let held = self.compare(text, with: pieces, isOpen: isOpen, last: slot)
        guard held == .contradiction else { return held }
        // Deltas of a slot may name another one, which makes no difference to a consumer that concatenates them.
        let all = (pieces.first?.lowerBound ?? self.cursor)..<self.cursor
        return self.begins(text, with: all) ? .prefix(all.count, .rewritten, last: slot) : .contradiction
    }

    /// Compares a text with a part of an item's output, `last` being the slot of its last byte.
    ///
    /// Output that is longer than the text by more than what servers trim is not compared, so that this takes time
    /// linear in the text.
    func hold(_ text: Span<UInt8>, against output: Range<Int>, isOpen: Bool, last: ReplaySlot) -> Held {
        if self.begins(text, with: output) { return .prefix(output.count, .same, last: last) }
        guard output.count - text.count <= ClosingComparison.maximumMarkByteCount else { return .contradiction }
        return self.compare(text, with: [output], isOpen: isOpen, last: last)
    }

    private func compare(_ text: Span<UInt8>, with pieces: [Range<Int>], isOpen: Bool, last: ReplaySlot) -> Held {
        let delivered = self.copy(of: pieces)
        var comparison = ClosingComparison(delivered[...], isOpen: isOpen)
        guard let count = comparison.compare(Self.copy(of: text)[...]), comparison.isAtEnd() else {
            return .contradiction
        }
        return .prefix(count, comparison.likeness, last: last)
    }

    /// Returns whether a text and a slot's output begin with the same bytes, up to the end of one of them, or the text is the
    /// output as servers rewrite it.
    func isLike(_ text: Span<UInt8>, _ slot: ReplaySlot) -> Bool {
        guard let piece = self.pieces(of: slot).first else { return false }
        let count = min(piece.count, text.count)
        return self.begins(text.extracting(..<count), with: piece.lowerBound..<piece.lowerBound + count)
            || self.hold(text, against: piece, isOpen: false, last: slot) != .contradiction
    }

    /// Compares all texts of a kind, in the order of their positions, with all output of that kind.
    ///
    /// - Returns: the number of bytes of the concatenated texts that have come.
    func hold(_ texts: [UnsafeBufferPointer<UInt8>], ofKind kind: ReplaySlot.Kind, isOpen: Bool) -> Held {
        let slots = self.slots(of: kind)
        return unsafe self.hold(texts, against: slots, in: self.pieces(of: slots), isOpen: isOpen)
    }

    /// Compares all texts of an item and kind with all of the item's output of that kind.
    func hold(_ texts: [UnsafeBufferPointer<UInt8>], ofItem item: ReplaySlot, isOpen: Bool) -> Held {
        let slots = self.slots(ofItem: item)
        return unsafe self.hold(texts, against: slots, in: slots.flatMap { self.pieces(of: $0) }, isOpen: isOpen)
    }

    /// Compares texts with pieces of slots, in the order of their positions, or else in the order in which they came:
    /// content decides, and an index may be wrong.
    private func hold(
        _ texts: [UnsafeBufferPointer<UInt8>], against slots: [ReplaySlot], in pieces: [Range<Int>], isOpen: Bool
    ) -> Held {
        let held = unsafe self.hold(texts, against: pieces, isOpen: isOpen, last: slots.last)
        guard held == .contradiction else { return held }
        let inOrder = pieces.sorted { $0.lowerBound < $1.lowerBound }
        guard inOrder != pieces,
            case .prefix(let count, _, _) = unsafe self.hold(texts, against: inOrder, isOpen: isOpen, last: nil)
        else { return .contradiction }
        return .prefix(count, .rewritten, last: slots.max { self.end(of: $0) < self.end(of: $1) })
    }

    private func hold(
        _ texts: [UnsafeBufferPointer<UInt8>], against pieces: [Range<Int>], isOpen: Bool, last: ReplaySlot?
    ) -> Held {
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
            if place == end { return .prefix(pieces.reduce(0) { $0 + $1.count }, .same, last: last) }
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
        return comparison.isAtEnd() ? .prefix(total, comparison.likeness, last: last) : .contradiction
    }

    /// Returns the current attempt's output of a slot, from the first to the last byte; empty at the cursor when it has
    /// none.
    func output(of slot: ReplaySlot) -> Range<Int> {
        let pieces = self.pieces(of: slot)
        return (pieces.first?.lowerBound ?? self.cursor)..<(pieces.last?.upperBound ?? self.cursor)
    }

    /// Returns the end of the slot's output; 0 when it has none.
    func end(of slot: ReplaySlot) -> Int {
        slot == self.lastSlot ? self.byteCount : self.extents.end(of: slot) ?? 0
    }

    /// Returns the slots of an item and kind with output in the current attempt, in the order of their positions.
    func slots(ofItem item: ReplaySlot) -> [ReplaySlot] {
        let start = max(self.settledByteCount, self.restarts[item.outputIndex] ?? 0)
        return self.slots(ofItem: item, in: start..<max(start, self.cursor))
    }

    /// Returns whether an earlier item had the index of an item, with output of its kind in the current attempt.
    func isShared(_ item: ReplaySlot) -> Bool {
        guard let start = self.restarts[item.outputIndex], start > self.settledByteCount else { return false }
        return !self.slots(ofItem: item, in: self.settledByteCount..<start).isEmpty
    }

    private func slots(ofItem item: ReplaySlot, in bounds: Range<Int>) -> [ReplaySlot] {
        var slots = self.extents.slots(ofItem: item, in: bounds)
        let last = self.lastRunStart..<self.byteCount
        if self.lastSlot.item == item, last.overlaps(bounds), !slots.contains(self.lastSlot) {
            slots.append(self.lastSlot)
        }
        return slots.sorted { $0.partIndex < $1.partIndex }
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

    /// Returns whether texts in their order begin with a part of the delivered output.
    func begins(_ texts: [UnsafeBufferPointer<UInt8>], with piece: Range<Int>) -> Bool {
        var place = piece.lowerBound
        for index in unsafe texts.indices {
            let text = unsafe texts[index]
            let end = min(place + text.count, piece.upperBound)
            guard unsafe self.begins(text.span, with: place..<end) else { return false }
            place = end
        }
        return place == piece.upperBound
    }

    private func copy(of pieces: [Range<Int>]) -> [UInt8] {
        unsafe self.withBytes { bytes in unsafe pieces.flatMap { unsafe bytes[$0] } }
    }

    static func copy(of text: Span<UInt8>) -> [UInt8] {
        unsafe text.withUnsafeBufferPointer { unsafe Array($0) }
    }
}
