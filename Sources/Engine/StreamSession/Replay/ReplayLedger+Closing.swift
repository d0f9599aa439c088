// Compares the closing events of a response with its output.

extension ReplayLedger {
    /// The maximum number of items at one index whose ends may still come.
    ///
    /// Each closing text there is compared with all of them. The end of an older one is read as that of the newest.
    private static let maximumItemsWithoutEnd = 64

    /// Begins an item with the index of an earlier one: earlier output of its kind at that index does not belong to it.
    ///
    /// Texts that close the earlier item may still come (reported: theopenco/llmgateway pull request 2908).
    package mutating func beginItem(_ outputIndex: Int, of itemKind: ItemKind) {
        let (index, hasOverflown) = outputIndex.addingReportingOverflow(self.settledItemCount)
        guard !hasOverflown else { return }
        let kinds = ReplaySlot.Kind.allCases.filter { $0.item == itemKind }
        for kind in kinds {
            let item = ReplaySlot(kind, outputIndex: index)
            let open = self.openOutput(ofItem: item)
            let known = self.closingTexts.removeValue(forKey: item)
            var texts = ClosingTexts(before: open ?? known?.before, withoutEnd: known?.withoutEnd ?? [])
            let output = self.channels[kind].attemptOutput(ofItem: item)
            if !output.isEmpty, known?.areOfEnd != true { texts.withoutEnd.append(output) }
            if texts.withoutEnd.count > Self.maximumItemsWithoutEnd { texts.withoutEnd.removeFirst() }
            if texts.before != nil || !texts.withoutEnd.isEmpty { self.closingTexts[item] = texts }
        }
        // Two kinds may have one channel.
        for kind in kinds { self.channels[kind].beginItem(index) }
        for slot in self.closed[index] ?? [] where slot.kind.item == itemKind {
            self.closed[index]?.remove(slot)
            self.supplied[slot] = nil
        }
    }

    /// Returns the output of an item behind all of it that texts have closed; nil when there is none.
    private func openOutput(ofItem slot: ReplaySlot) -> Range<Int>? {
        let item = self.channels[slot.kind].attemptOutput(ofItem: slot)
        let start = max(item.lowerBound, self.closingTexts[slot.item]?.closed?.end ?? 0)
        return start < item.upperBound ? start..<item.upperBound : nil
    }

    /// Compares closing texts with the output of the item that had the index before, where the slot's own item has none;
    /// nil when the texts are not that item's.
    private mutating func closeBefore(_ texts: [UnsafeBufferPointer<UInt8>], in slot: ReplaySlot) -> Closing? {
        let channel = self.channels[slot.kind]
        guard let before = self.closingTexts[slot.item]?.before, channel.attemptOutput(ofItem: slot).isEmpty,
            unsafe channel.begins(texts, with: before)
        else { return nil }
        let count = before.count
        let whole = unsafe texts.reduce(0) { $0 + $1.count }
        if count == whole { return .whole }
        guard before.upperBound == channel.cursor else { return nil }
        let end = channel.cursor + whole - count
        self.closingTexts[slot.item]?.before = before.lowerBound..<end
        self.channels[slot.kind].beginItem(slot.outputIndex, at: end)
        return .rest(from: count)
    }

    /// Returns the number of the first item that had the slot's index before, and has had no end, whose output is exactly
    /// these texts; nil for none.
    ///
    /// Items without identifiers end in the order of their announcements.
    private func itemWithoutEnd(_ texts: [UnsafeBufferPointer<UInt8>], in slot: ReplaySlot) -> Int? {
        let count = unsafe texts.reduce(0) { $0 + $1.count }
        return self.closingTexts[slot.item]?.withoutEnd.firstIndex { output in
            unsafe output.count == count && self.channels[slot.kind].begins(texts, with: output)
        }
    }

    /// Compares the closing text of a slot with the slot's output, or else with the item's.
    ///
    /// The caller admits the bytes that `rest` names next.
    package mutating func close(_ text: Span<UInt8>, in slot: ReplaySlot) -> Closing {
        guard let slot = slot.shifted(by: self.settledItemCount) else { return .differs }
        if let closing = unsafe text.withUnsafeBufferPointer({ unsafe self.closeBefore([$0], in: slot) }) {
            return closing
        }
        let channel = self.channels[slot.kind]
        let own = channel.attemptOutput(ofItem: slot)
        if !own.isEmpty, own.count != text.count,
            unsafe text.withUnsafeBufferPointer({ unsafe self.itemWithoutEnd([$0], in: slot) }) != nil
        {
            return .whole
        }
        let held = channel.hold(text, against: slot, isOpen: self.isOpen(slot))
        switch held {
        case .prefix(let count, _, _) where count == text.count:
            return self.closed(held, by: text, in: slot)
        case .prefix(let count, _, _) where channel.hasOutput(of: slot) && channel.newestSlot ?? slot == slot:
            // The text may begin with more of the item's output than the slot has: then it closes all of that.
            let open = self.openOutput(ofItem: slot)
            let isLonger = open.map { $0.count > count && channel.begins(text, with: $0) } ?? false
            if isLonger, let closing = self.closeItem(text, in: slot) { return closing }
            let outputs = [channel.attemptOutput(ofItem: slot), self.closingTexts[slot.item]?.closed?.last ?? 0..<0]
            if outputs.contains(where: { $0.count == text.count && channel.begins(text, with: $0) }) { return .whole }
            return self.closed(held, by: text, in: slot)
        case .prefix:
            if let closing = self.closeItem(text, in: slot) { return closing }
            // A slot without output may follow one at a later position.
            let position = (slot.outputIndex, slot.partIndex)
            let isBehind = channel.newestSlot.map { ($0.outputIndex, $0.partIndex) <= position } ?? true
            guard channel.newestSlot == nil || isBehind && !channel.hasOutput(of: slot) else { return .outOfPlace }
            return self.closed(held, by: text, in: slot)
        case .contradiction:
            return self.closeItem(text, in: slot) ?? .differs
        }
    }

    /// Compares a closing text with what its item has so far: with what no text has closed, with all of it, and with what
    /// was closed last.
    ///
    /// The indices of parts are wrong where a server counts those of other items as well (recorded of Bedrock's
    /// gpt-oss), or counts one up with each delta and with the closing events (vLLM).
    private mutating func closeItem(_ text: Span<UInt8>, in slot: ReplaySlot) -> Closing? {
        let channel = self.channels[slot.kind]
        let item = channel.attemptOutput(ofItem: slot)
        guard !item.isEmpty else { return nil }
        let last = self.closingTexts[slot.item]?.closed?.last.clamped(to: item) ?? item.lowerBound..<item.lowerBound
        let open = last.upperBound..<item.upperBound
        let isNewest = item.upperBound == channel.cursor
        let newest = isNewest ? channel.slotAtCursor : slot
        if !open.isEmpty {
            let held = channel.hold(text, against: open, isOpen: self.isCounted, last: newest)
            if case .prefix(let count, _, _) = held, count == text.count || isNewest {
                return self.closed(held, by: text, in: slot, acrossSlots: open)
            }
        }
        for output in [item, last] where !output.isEmpty {
            let held = channel.hold(text, against: output, isOpen: false, last: newest)
            guard case .prefix(text.count, let likeness, _) = held else { continue }
            return likeness == .same ? .whole : .rewritten
        }
        return nil
    }

    /// Records a text that closes a slot, or an item's output across slots, and returns the result for the caller.
    private mutating func closed(
        _ held: ReplayChannel.Held, by text: Span<UInt8>, in slot: ReplaySlot, acrossSlots output: Range<Int>? = nil
    ) -> Closing {
        guard case .prefix(let count, let likeness, let last) = held else { return .differs }
        if !text.isEmpty, likeness != .stopped {
            self.closed[slot.outputIndex, default: []].insert(last ?? slot)
            let channel = self.channels[slot.kind]
            let own = output ?? channel.output(of: slot)
            let end = count < text.count ? channel.cursor + text.count - count : own.upperBound
            var known = self.closingTexts[slot.item]?.closed ?? ClosedText(last: own)
            known.last = own.lowerBound..<end
            known.end = max(known.end, end)
            if output != nil { known.acrossSlots = (known.acrossSlots ?? known.last).lowerBound..<end }
            self.closingTexts[slot.item, default: ClosingTexts()].closed = known
        }
        guard count < text.count else { return likeness == .same ? .whole : .rewritten }
        self.supply(text.count - count, to: slot)
        return .rest(from: count)
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

    /// Keeps a delta behind the end of its own item, which may go on there or be sent again.
    ///
    /// Ollama and LiteLLM finish reasoning when other output follows, and go on with it (`ResponsesStreamConverter` in
    /// openai/responses.go, streaming_iterator.py; reported: OmniRoute issue 13693). One item can have such output.
    package mutating func withhold(_ bytes: Span<UInt8>, in slot: ReplaySlot) -> Late {
        let channel = self.channels[slot.kind]
        var withheld = self.withheld.take() ?? Withheld(slot: slot, position: channel.cursor)
        defer { self.withheld = withheld }
        guard withheld.slot.item == slot.item else { return .contradiction }
        guard bytes.count <= channel.byteCountLimit - channel.cursor - withheld.bytes.count else { return .tooMuch }
        withheld.bytes += ReplayChannel.copy(of: bytes)
        return .withheld
    }

    /// Returns the withheld output, which is output like any other from here on, if that and its item's output before are
    /// these texts, and it is still in place: behind all output of its channel.
    package mutating func release(as texts: [UnsafeBufferPointer<UInt8>]) -> [UInt8]? {
        guard let withheld = self.withheld, let slot = withheld.slot.shifted(by: self.settledItemCount) else {
            return nil
        }
        let channel = self.channels[slot.kind]
        guard channel.cursor == withheld.position,
            case .prefix(let count, .same, _) = unsafe channel.hold(texts, ofItem: slot.item, isOpen: false),
            unsafe texts.joined().dropFirst(count).elementsEqual(withheld.bytes)
        else { return nil }
        self.withheld = nil
        return withheld.bytes
    }

    /// Returns the slot that a closing text belongs to: the one that it names, or else the item's newest slot.
    ///
    /// The latter applies when it has output and no closing text, the named slot has no output, and one text begins the
    /// other.
    ///
    /// Servers number parts, and items without identifiers, differently in closing events and in deltas. Where an item was
    /// announced at the named index, or the text names its item, it is the newest slot's only if it has all output that is
    /// open there: then the deltas named another item (gateways give them the response's identifier, or the index 0).
    ///
    /// Where one of both items was not announced, by a server that announces its items, a text that has been closed before is
    /// that text once more.
    package mutating func place(
        of text: Span<UInt8>, in slot: ReplaySlot, isKnown: Bool, isUnannounced: Bool = false
    ) -> ReplaySlot {
        let channel = self.channels[slot.kind]
        guard !text.isEmpty, let named = slot.shifted(by: self.settledItemCount) else { return slot }
        if let known = self.closingTexts[named.item]?.aliases[named],
            known.kind == named.kind || !channel.hasOutput(of: named)
        {
            return known.shifted(by: -self.settledItemCount) ?? slot
        }
        guard let newest = channel.newestSlot, newest != named, newest.kind == named.kind,
            !channel.hasOutput(of: named)
        else { return slot }
        let open = self.openOutput(ofItem: newest)
        if open == nil, self.hasClosed(newest) {
            let last = self.closingTexts[newest.item]?.closed?.last ?? 0..<0
            guard isUnannounced, last.count == text.count, channel.begins(text, with: last) else { return slot }
        } else if !self.hasClosed(newest), !isKnown || newest.outputIndex == named.outputIndex {
            guard self.isLike(text, newest) else { return slot }
        } else {
            guard let open, channel.begins(text, with: open) else { return slot }
        }
        self.closingTexts[named.item, default: ClosingTexts()].aliases[named] = newest
        return newest.shifted(by: -self.settledItemCount) ?? slot
    }

    /// Returns the slot of the last byte of a kind's channel in the current attempt; nil when there is none.
    package func openSlot(of kind: ReplaySlot.Kind) -> ReplaySlot? {
        self.channels[kind].newestSlot?.shifted(by: -self.settledItemCount)
    }

    /// Returns whether a text is all output of the newest item of a kind in the current attempt.
    package func isNewest(_ text: Span<UInt8>, of kind: ReplaySlot.Kind) -> Bool {
        let channel = self.channels[kind]
        guard let newest = channel.newestSlot, newest.kind == kind else { return false }
        let output = channel.attemptOutput(ofItem: newest)
        return output.count == text.count && channel.begins(text, with: output)
    }

    /// Returns whether a text and the output of a slot begin alike, or a text begins with what of the slot's item no text
    /// has closed.
    private func isLike(_ text: Span<UInt8>, _ slot: ReplaySlot) -> Bool {
        let channel = self.channels[slot.kind]
        return channel.isLike(text, slot)
            || self.openOutput(ofItem: slot).map { channel.begins(text, with: $0) } ?? false
    }

    /// Returns whether texts are all that the item of a slot has in the current attempt, in either member if they are
    /// reasoning, apart from what servers rewrite; or, with `isPart`, all that one slot of the item has.
    package func isClosed(
        _ slot: ReplaySlot, by texts: [UnsafeBufferPointer<UInt8>], isPart: Bool
    ) -> Bool {
        guard let slot = slot.shifted(by: self.settledItemCount) else { return false }
        let channel = self.channels[slot.kind]
        let byteCount = unsafe texts.reduce(0) { $0 + $1.count }
        return byteCount > 0
            && [slot.kind, slot.kind.otherReasoning].compactMap(\.self).contains { kind in
                let item = ReplaySlot(kind, outputIndex: slot.outputIndex)
                if case .prefix(byteCount, _, _) = unsafe channel.hold(texts, ofItem: item, isOpen: false) {
                    return true
                }
                return isPart
                    && channel.slots(ofItem: item).map { channel.output(of: $0) }.contains {
                        unsafe $0.count == byteCount && channel.begins(texts, with: $0)
                    }
            }
    }

    /// Returns whether a text has closed a slot in the current attempt: a delta of it comes too late.
    package func isClosed(_ slot: ReplaySlot) -> Bool {
        slot.shifted(by: self.settledItemCount).map { self.hasClosed($0) } ?? false
    }

    /// Returns whether a full stop at the end of a slot may replace a longer text: no text has closed the slot.
    private func isOpen(_ slot: ReplaySlot?) -> Bool {
        self.isCounted && (slot.map { !self.hasClosed($0) } ?? true)
    }

    private func hasClosed(_ slot: ReplaySlot) -> Bool {
        if self.closed[slot.outputIndex]?.contains(slot) == true { return true }
        guard let output = self.closingTexts[slot.item]?.closed?.acrossSlots else { return false }
        let end = self.channels[slot.kind].end(of: slot)
        return output.lowerBound < end && end <= output.upperBound
    }

    /// Returns the slot of a kind with the highest position that has output in the current attempt.
    package func newestSlot(of kind: ReplaySlot.Kind) -> ReplaySlot? {
        self.channels[kind].slots(of: kind).last?.shifted(by: -self.settledItemCount)
    }

    /// Returns the slots of a kind with output in the current attempt; nil when a text has closed one.
    package func openSlots(of kind: ReplaySlot.Kind) -> [ReplaySlot]? {
        let slots = self.channels[kind].slots(of: kind)
        guard !slots.contains(where: self.hasClosed) else { return nil }
        return slots.compactMap { $0.shifted(by: -self.settledItemCount) }
    }

    /// Compares all closing texts of a kind, in the order of their positions, with the kind's output.
    ///
    /// They need not name their slots, as a consumer concatenates them. The offset of a rest counts from the first byte
    /// of the first text.
    package func close(_ texts: [UnsafeBufferPointer<UInt8>], ofKind kind: ReplaySlot.Kind) -> Closing {
        let channel = self.channels[kind]
        let slots = channel.slots(of: kind)
        switch unsafe channel.hold(texts, ofKind: kind, isOpen: self.isOpen(slots.last)) {
        case .contradiction:
            return .differs
        case .prefix(let count, let likeness, let last):
            return unsafe channel.closing(of: texts, heldUpTo: count, likeness, last: last)
        }
    }

    /// Compares all texts of a kind that an item is closed with, in their order, with the item's output of that kind.
    ///
    /// Its parts are counted by the list, so that an index is wrong which the deltas had and the list does not have. The
    /// offset of a rest counts from the first byte of the first text. Where the index is the only evidence of an item, the
    /// texts are those of the newest item if it has exactly them. With `isAlone` false the newest item's output may belong
    /// to this item, if no item's end has repeated it: gateways give several items one index, or do not announce them
    /// (reported: BerriAI/litellm pull request 36375).
    package mutating func close(
        _ texts: [UnsafeBufferPointer<UInt8>], ofItem slot: ReplaySlot, isKnown: Bool = true, isAlone: Bool = true
    ) -> Closing {
        guard let slot = slot.shifted(by: self.settledItemCount) else { return .differs }
        let channel = self.channels[slot.kind]
        let slots = channel.slots(ofItem: slot.item)
        if let number = unsafe self.itemWithoutEnd(texts, in: slot) {
            self.closingTexts[slot.item]?.withoutEnd.remove(at: number)
            return .whole
        }
        if let closing = unsafe self.closeBefore(texts, in: slot) { return closing }
        if slots.isEmpty, let newest = channel.newestSlot, newest.kind == slot.kind,
            !isKnown || !isAlone && self.closingTexts[newest.item]?.areOfEnd != true,
            unsafe channel.hold(texts, ofItem: newest.item, isOpen: false).isWhole(of: texts)
        {
            self.closingTexts[newest.item, default: ClosingTexts()].areOfEnd = true
            return .whole
        }
        guard
            case .prefix(let count, let likeness, let last) = unsafe channel.hold(
                texts, ofItem: slot.item, isOpen: self.isOpen(slots.last))
        else { return unsafe self.closesOutput(texts, ofItem: slot) ? .whole : .differs }
        let rest = unsafe texts.reduce(0) { $0 + $1.count } - count
        // Where several items have the index, a second end is that of an earlier one, which has its text.
        if rest > 0, self.closingTexts[slot.item]?.areOfEnd == true, channel.isShared(slot.item) { return .differs }
        if likeness != .stopped {
            self.closed[slot.outputIndex, default: []].formUnion(slots)
            let own = channel.attemptOutput(ofItem: slot)
            if !own.isEmpty {
                var known = self.closingTexts[slot.item]?.closed ?? ClosedText(last: own)
                known.end = max(known.end, own.upperBound)
                self.closingTexts[slot.item, default: ClosingTexts()].closed = known
            } else if rest > 0 {
                // The end brings all output of the item.
                let whole = channel.cursor..<channel.cursor + rest
                self.closingTexts[slot.item, default: ClosingTexts()].closed =
                    ClosedText(last: whole, end: whole.upperBound, acrossSlots: whole)
            }
        }
        // An item without output may follow one at a later position.
        if slots.isEmpty, let newest = channel.newestSlot, newest.outputIndex > slot.outputIndex { return .outOfPlace }
        return unsafe channel.closing(of: texts, heldUpTo: count, likeness, last: last)
    }

    /// Closes the output of an item that no text has closed, or that was closed last, if the texts are equal to it.
    ///
    /// The output before it belongs to another item whose deltas have the same index and name.
    /// - Returns: false when the texts differ from both.
    private mutating func closesOutput(_ texts: [UnsafeBufferPointer<UInt8>], ofItem slot: ReplaySlot) -> Bool {
        let channel = self.channels[slot.kind]
        let count = unsafe texts.reduce(0) { $0 + $1.count }
        let outputs = [self.openOutput(ofItem: slot), self.closingTexts[slot.item]?.closed?.last].compactMap(\.self)
        guard let output = outputs.first(where: { unsafe $0.count == count && channel.begins(texts, with: $0) }) else {
            return false
        }
        self.noteClosed(output, ofItem: slot)
        return true
    }

    /// Records that the end of an item was compared with the output of the slot's item and kind.
    package mutating func ended(itemOf slot: ReplaySlot) {
        guard let slot = slot.shifted(by: self.settledItemCount) else { return }
        self.closingTexts[slot.item, default: ClosingTexts()].areOfEnd = true
    }

    /// Records that a text has closed a part of an item's output.
    private mutating func noteClosed(_ output: Range<Int>, ofItem slot: ReplaySlot) {
        var known = self.closingTexts[slot.item]?.closed ?? ClosedText(last: output)
        (known.last, known.end) = (output, max(known.end, output.upperBound))
        self.closingTexts[slot.item, default: ClosingTexts()].closed = known
    }

    /// Records that the closing texts of an item bring the next bytes of a slot.
    package mutating func supplies(_ byteCount: Int, to slot: ReplaySlot) {
        guard let slot = slot.shifted(by: self.settledItemCount) else { return }
        self.closed[slot.outputIndex, default: []].insert(slot)
        self.supply(byteCount, to: slot)
    }
}

// MARK: Reasoning in both members

extension ReplayLedger {
    /// Returns whether the item of a slot has output of the slot's kind in the current attempt.
    func hasOutput(ofItemOf slot: ReplaySlot) -> Bool {
        guard let slot = slot.shifted(by: self.settledItemCount) else { return false }
        let channel = self.channels[slot.kind]
        return !channel.attemptOutput(ofItem: slot).isEmpty || !channel.slots(ofItem: slot.item).isEmpty
    }

    /// Compares the closing texts of a slot of reasoning, whose item has no output in their member, with what the item at a
    /// place has in the other one.
    ///
    /// They repeat that if they are equal to it or to a part of it. While no text has closed it, and the same event has none
    /// for the other member (`isAlone`), texts that begin with it continue it.
    ///
    /// Gateways send or translate the events of one text to those of the other member (reported: lidge-jun/opencodex pull
    /// request 2007).
    ///
    /// - Returns: the slot that they close, and the result; nil when they are a text of their own.
    mutating func closeOther(
        _ texts: [UnsafeBufferPointer<UInt8>], in slot: ReplaySlot, at place: ReplaySlot, isAlone: Bool
    ) -> (slot: ReplaySlot, closing: Closing)? {
        guard let slot = slot.shifted(by: self.settledItemCount), let other = place.shifted(by: self.settledItemCount),
            unsafe self.itemWithoutEnd(texts, in: slot) == nil
        else { return nil }
        let channel = self.channels[slot.kind]
        let known = self.closingTexts[other.item]
        let all = channel.attemptOutput(ofItem: other)
        let outputs = [
            all, channel.output(of: other), self.openOutput(ofItem: other), known?.closed?.last, known?.before,
        ]
        let byteCount = unsafe texts.reduce(0) { $0 + $1.count }
        let begun = outputs.compactMap(\.self).filter { unsafe !$0.isEmpty && channel.begins(texts, with: $0) }
        if let output = begun.first(where: { $0.count == byteCount }) {
            if output != known?.before { self.noteClosed(output, ofItem: other) }
            return (place, .whole)
        }
        let slots = channel.slots(ofItem: other.item)
        guard let last = slots.last else { return nil }
        let held = unsafe channel.hold(texts, ofItem: other.item, isOpen: false)
        if case .prefix(byteCount, let likeness, _) = held { return (place, likeness == .same ? .whole : .rewritten) }
        guard isAlone else { return nil }
        if slots.contains(where: self.hasClosed) {
            // Where several items have the index, it is an earlier one's.
            let isEarlier = known?.areOfEnd == true && channel.isShared(slot.item)
            return isEarlier ? (place, .differs) : nil
        }
        guard held != .contradiction || begun.contains(where: { $0.upperBound == channel.cursor }) else { return nil }
        let own = slots.contains(other) ? other : last
        guard let ownPlace = own.shifted(by: -self.settledItemCount) else { return nil }
        self.closingTexts[slot.item, default: ClosingTexts()].aliases[slot] = own
        let closing =
            unsafe texts.count == 1
            ? self.close(texts[0].span, in: ownPlace) : self.close(texts, ofItem: ownPlace)
        return (ownPlace, closing)
    }

    /// Returns whether output continues the slot of the last byte of its channel.
    @inline(__always)
    func continues(_ slot: ReplaySlot) -> Bool {
        self.settledItemCount == 0 && self.channels[slot.kind].lastSlot == slot
    }

    /// Compares reasoning with what its item has in the other member, behind a number of its bytes; nil when the item has
    /// nothing there, or has output in this member too, or a closing text brings it as one of its own.
    func compareReasoning(_ bytes: Span<UInt8>, in slot: ReplaySlot, from count: Int) -> OtherReasoning? {
        guard let other = self.otherReasoning(of: slot), !other.isEmpty else { return nil }
        let channel = self.channels[slot.kind]
        let rest = other.dropFirst(count).prefix(bytes.count)
        guard channel.begins(bytes, with: rest) else { return .differs }
        if rest.count == bytes.count { return .repeated }
        let newest = channel.slotAtCursor
        guard count + rest.count > 0, other.upperBound == channel.cursor, !self.hasClosed(newest),
            let place = newest.shifted(by: -self.settledItemCount)
        else { return .differs }
        return .rest(from: rest.count, of: place)
    }

    /// Returns the number of the first bytes that repeat the last ones of what their item has in their member; nil when
    /// they differ from these.
    func repeatedCount(of bytes: Span<UInt8>, in slot: ReplaySlot, atEnd count: Int) -> Int? {
        // A closing text brings its rest behind all that the member has.
        guard let slot = slot.shifted(by: self.settledItemCount),
            self.supplied[slot]?.contains(self.channels[slot.kind].cursor) != true
        else { return nil }
        let channel = self.channels[slot.kind]
        let end = channel.attemptOutput(ofItem: slot).suffix(count).prefix(bytes.count)
        return channel.begins(bytes, with: end) ? end.count : nil
    }

    /// Returns the first bytes of what an item has in the other member.
    func otherReasoning(of slot: ReplaySlot, upTo count: Int) -> String {
        guard let other = self.otherReasoning(of: slot) else { return "" }
        return unsafe self.channels[slot.kind].withBytes {
            unsafe String(decoding: $0[other.prefix(count)], as: UTF8.self)
        }
    }

    private func otherReasoning(of slot: ReplaySlot) -> Range<Int>? {
        guard let kind = slot.kind.otherReasoning, let slot = slot.shifted(by: self.settledItemCount) else {
            return nil
        }
        let channel = self.channels[slot.kind]
        guard channel.attemptOutput(ofItem: slot).isEmpty, self.supplied[slot]?.contains(channel.cursor) != true else {
            return nil
        }
        return channel.attemptOutput(ofItem: ReplaySlot(kind, outputIndex: slot.outputIndex))
    }
}

extension ReplaySlot.Kind {
    /// The other member of an item that a gateway may put reasoning into; nil for any other kind.
    package var otherReasoning: Self? {
        switch self {
        case .reasoningSummary: .reasoningText
        case .reasoningText: .reasoningSummary
        case .text, .refusal, .toolCall: nil
        }
    }
}

extension ReplayChannel.Held {
    /// Returns whether all output was compared and is all of these texts.
    fileprivate func isWhole(of texts: [UnsafeBufferPointer<UInt8>]) -> Bool {
        guard case .prefix(let count, .same, _?) = self else { return false }
        return unsafe count == texts.reduce(0) { $0 + $1.count }
    }
}

extension ReplayChannel {
    /// Returns the result of a comparison of several texts, of which this number of bytes have come.
    fileprivate func closing(
        of texts: [UnsafeBufferPointer<UInt8>], heldUpTo count: Int, _ likeness: ClosingComparison.Likeness,
        last: ReplaySlot?
    ) -> ReplayLedger.Closing {
        guard unsafe count < texts.reduce(0, { $0 + $1.count }) else { return likeness == .same ? .whole : .rewritten }
        guard let newest = self.newestSlot, let last, newest != last else { return .rest(from: count) }
        return .outOfPlace
    }
}
