// A response's closing text, compared with its deltas scalar by scalar. It shares no code with the product.

import StreamSession

/// The delivered output, and the amount of it that the parts of a closing text have covered.
struct ClosingModel {
    private let delivered: [Unicode.Scalar]
    /// Indicates whether no text has closed it before.
    private let isOpen: Bool
    private var place = 0
    /// Indicates whether characters were skipped.
    private(set) var isRewritten = false
    /// Indicates whether a full stop took the place of the rest.
    private(set) var isStopped = false

    init(_ bytes: [UInt8], isOpen: Bool) {
        self.delivered = Self.scalars(bytes)
        self.isOpen = isOpen
    }

    private static func scalars(_ bytes: [UInt8]) -> [Unicode.Scalar] {
        Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
    }

    /// Returns whether no output was delivered beyond the parts, white space and marks apart.
    mutating func isAtEnd() -> Bool {
        self.passOver(before: nil)
        return self.place == self.delivered.count
    }

    /// Returns the number of delivered bytes of the next part; nil when it is another text.
    mutating func compare(_ text: [UInt8]) -> Int? {
        let part = Self.scalars(text)
        let textStart = part.prefix(while: Self.isTrimmed).count
        var next = 0
        while next < part.count, self.place < self.delivered.count {
            if part[next] == self.delivered[self.place] {
                next += 1
                self.place += 1
                continue
            }
            if next == 0, self.place > 0, self.passOver(before: part[0]) { continue }
            self.isRewritten = true
            if next <= textStart {
                // White space at the beginning, of either.
                let start = self.place
                while self.place < self.delivered.count, Self.isTrimmed(self.delivered[self.place]),
                    self.place == start || self.delivered[self.place] != part[next]
                {
                    self.place += 1
                }
                if self.place > start { continue }
                if next < textStart, textStart < part.count {
                    next = textStart
                    continue
                }
            }
            let rest = self.delivered[self.place...]
            if self.isOpen, rest.elementsEqual(["."]) {
                self.isStopped = true
                self.place = self.delivered.count
                return text.count
            }
            if rest.starts(with: ["\u{FFFD}", "\u{FFFD}"]), part[next].value > 0xFFFF {
                self.place += 2
                next += 1
            } else if let end = Self.endOfMark(in: self.delivered, at: self.place) {
                self.place = end
                next = Self.endOfReference(in: part, at: next) ?? next
            } else if let end = Self.endOfMark(in: part, at: next) {
                next = end
            } else {
                return nil
            }
        }
        return part[..<next].reduce(0) { $0 + UTF8.width($1) }
    }

    @discardableResult
    private mutating func passOver(before first: Unicode.Scalar?) -> Bool {
        let start = self.place
        while self.place < self.delivered.count, self.place == start || self.delivered[self.place] != first {
            if let end = Self.endOfMark(in: self.delivered, at: self.place) {
                self.place = end
            } else if Self.isTrimmed(self.delivered[self.place]) {
                self.place += 1
            } else {
                break
            }
        }
        if self.place > start { self.isRewritten = true }
        return self.place > start
    }

    /// The white space that JavaScript and Python trim.
    private static func isTrimmed(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar == "\u{FEFF}" || ("\u{1C}"..."\u{1F}").contains(scalar)
    }

    /// A mark has at most 512 bytes.
    private static func endOfMark(in text: [Unicode.Scalar], at start: Int) -> Int? {
        let isCitation: Bool
        switch text[start] {
        case "\u{E200}": isCitation = false
        case "【": isCitation = true
        default: return nil
        }
        guard let end = text[start...].firstIndex(of: isCitation ? "】" : "\u{E201}"),
            text[start...end].reduce(0, { $0 + UTF8.width($1) }) <= 512,
            !isCitation || text[start...end].contains("†")
        else { return nil }
        return end + 1
    }

    private static func endOfReference(in text: [Unicode.Scalar], at start: Int) -> Int? {
        guard text[start] == "[" else { return nil }
        let digits = text[(start + 1)...].prefix { ("0"..."9").contains($0) }
        guard (1...4).contains(digits.count), digits.endIndex < text.count, text[digits.endIndex] == "]" else {
            return nil
        }
        return digits.endIndex + 1
    }
}

extension LedgerModel {
    /// Begins an item that takes over the index of an earlier one, in each channel of its output.
    mutating func beginItem(_ outputIndex: Int, of itemKind: ItemKind) {
        let (index, isTooFar) = outputIndex.addingReportingOverflow(self.settledItemCount)
        guard !isTooFar else { return }
        let kinds: [ReplaySlot.Kind] =
            switch itemKind {
            case .message: [.text, .refusal]
            case .reasoning: [.reasoningSummary, .reasoningText]
            case .call: [.toolCall]
            case .other: []
            }
        let items = Set(kinds.map { ReplaySlot($0, outputIndex: index) })
        for item in items {
            if let open = self.openOutput(ofItem: item) { self.before[item] = open }
            let output = self.output(ofItem: item)
            if !output.isEmpty { self.withoutEnd[item] = (self.withoutEnd[item] ?? []).suffix(63) + [output] }
        }
        for slot in self.closed where items.contains(slot.item) { self.supplied[slot] = nil }
        self.closedTexts = self.closedTexts.filter { !items.contains($0.key) }
        self.closed = self.closed.filter { !items.contains($0.item) }
        for channel in Set(kinds.map { LedgerChannel($0).rawValue }) {
            let sequence = self.channels[channel]
            if sequence.cursor > sequence.settledCount { self.restarts[channel][index] = sequence.cursor }
        }
    }

    /// The attempt's output of an item behind all of it that texts have closed.
    private func openOutput(ofItem item: ReplaySlot) -> Range<Int>? {
        let output = self.output(ofItem: item)
        let start = max(output.lowerBound, self.closedTexts[item]?.end ?? 0)
        return start < output.upperBound ? start..<output.upperBound : nil
    }

    /// Closes the output that was open when another item was begun at the index, which has no output yet.
    private mutating func closeBefore(_ text: [UInt8], in slot: ReplaySlot) -> ReplayLedger.Closing? {
        let channel = self.channels[LedgerChannel(slot.kind).rawValue]
        guard let before = self.before[slot.item], self.output(ofItem: slot).isEmpty,
            text.starts(with: channel.delivered[before].map(\.byte))
        else { return nil }
        if text.count == before.count { return .whole }
        guard before.upperBound == channel.cursor else { return nil }
        let end = before.lowerBound + text.count
        self.before[slot.item] = before.lowerBound..<end
        self.restarts[LedgerChannel(slot.kind).rawValue][slot.outputIndex] = end
        return .rest(from: before.count)
    }

    /// The part of a text that has come.
    private struct Held {
        let count: Int
        let isRewritten: Bool
        let isStopped: Bool

        var end: ReplayLedger.Closing { self.isRewritten ? .rewritten : .whole }
    }

    /// The text that a slot is closed with: what the slot has, or else what its item has.
    mutating func close(_ text: [UInt8], in slot: ReplaySlot) -> ReplayLedger.Closing {
        guard let slot = self.absolute(slot) else { return .differs }
        if let closing = self.closeBefore(text, in: slot) { return closing }
        let channel = self.channels[LedgerChannel(slot.kind).rawValue]
        let own = self.places(of: slot)
        // An earlier item at the index may still be closed, whose text the newer one's begins.
        let output = self.output(ofItem: slot)
        let isEarlier = self.withoutEnd[slot.item]?.contains { text.elementsEqual(channel.delivered[$0].map(\.byte)) }
        if !output.isEmpty, output.count != text.count, isEarlier == true { return .whole }
        let range = (own.first ?? channel.cursor)..<(own.last.map { $0 + 1 } ?? channel.cursor)
        var held = self.hold(text, own.map { channel.delivered[$0].byte }, isOpen: !self.hasClosed(slot))
        // Deltas may have named another slot.
        let all = channel.delivered[range.lowerBound..<channel.cursor].map(\.byte)
        if held == nil, text.starts(with: all) { held = Held(count: all.count, isRewritten: true, isStopped: false) }
        guard let held else { return self.closeItem(text, in: slot) ?? .differs }
        let isInPlace = !own.isEmpty && channel.newestSlot ?? slot == slot
        if held.count < text.count, isInPlace {
            if let open = self.openOutput(ofItem: slot.item), open.count > held.count,
                text.starts(with: channel.delivered[open].map(\.byte)), let closing = self.closeItem(text, in: slot)
            {
                return closing
            }
            let outputs = [self.output(ofItem: slot), self.closedTexts[slot.item]?.last ?? 0..<0]
            if outputs.contains(where: { text.elementsEqual(channel.delivered[$0].map(\.byte)) }) { return .whole }
        }
        if held.count < text.count, !isInPlace {
            if let closing = self.closeItem(text, in: slot) { return closing }
            if let newest = channel.newestSlot {
                guard own.isEmpty, newest.position <= slot.position else { return .outOfPlace }
            }
        }
        return self.closed(held, by: text, in: slot, last: slot, range)
    }

    /// The places of a slot's bytes in its channel, of the current attempt and the newest item at its index.
    private func places(of slot: ReplaySlot) -> [Int] {
        let channel = self.channels[LedgerChannel(slot.kind).rawValue]
        let start = self.restarts[LedgerChannel(slot.kind).rawValue][slot.outputIndex] ?? channel.settledCount
        return (start..<max(start, channel.cursor)).filter { channel.delivered[$0].slot == slot }
    }

    private func hold(_ text: [UInt8], _ output: [UInt8], isOpen: Bool) -> Held? {
        var comparison = ClosingModel(output, isOpen: isOpen)
        guard let count = comparison.compare(text), comparison.isAtEnd() else { return nil }
        return Held(count: count, isRewritten: comparison.isRewritten, isStopped: comparison.isStopped)
    }

    /// A text that is not what its slot has: what no text has closed, all of the item, or what was closed last.
    private mutating func closeItem(_ text: [UInt8], in slot: ReplaySlot) -> ReplayLedger.Closing? {
        let channel = self.channels[LedgerChannel(slot.kind).rawValue]
        let item = self.output(ofItem: slot)
        guard !item.isEmpty else { return nil }
        let isNewest = item.upperBound == channel.cursor
        let last = self.closedTexts[slot.item]?.last.clamped(to: item) ?? item.lowerBound..<item.lowerBound
        let open = last.upperBound..<item.upperBound
        func held(_ output: Range<Int>, isOpen: Bool) -> Held? {
            guard !output.isEmpty, output.count - text.count <= 512 else { return nil }
            return self.hold(text, channel.delivered[output].map(\.byte), isOpen: isOpen)
        }
        if let held = held(open, isOpen: true), held.count == text.count || isNewest {
            return self.closed(
                held, by: text, in: slot, last: isNewest ? channel.newestSlot ?? slot : slot, open, isAcrossSlots: true)
        }
        for output in [item, last] {
            if let held = held(output, isOpen: false), held.count == text.count { return held.end }
        }
        return nil
    }

    /// The attempt's output of a slot's item and kind, if all that was delivered of it is one piece.
    private func output(ofItem slot: ReplaySlot) -> Range<Int> {
        let channel = self.channels[LedgerChannel(slot.kind).rawValue]
        let restart = self.restarts[LedgerChannel(slot.kind).rawValue][slot.outputIndex] ?? 0
        let start = max(channel.settledCount, restart)
        let places = channel.delivered.indices.filter { channel.delivered[$0].slot.item == slot.item }
        guard let first = places.first, let last = places.last, last - first == places.count - 1 else { return 0..<0 }
        return (first..<last + 1).clamped(to: start..<max(start, channel.cursor))
    }

    private mutating func closed(
        _ held: Held, by text: [UInt8], in slot: ReplaySlot, last: ReplaySlot, _ output: Range<Int>,
        isAcrossSlots: Bool = false
    ) -> ReplayLedger.Closing {
        let channel = self.channels[LedgerChannel(slot.kind).rawValue]
        let rest = text.count - held.count
        if !text.isEmpty, !held.isStopped {
            self.closed.insert(last)
            let range = output.lowerBound..<(rest > 0 ? channel.cursor + rest : output.upperBound)
            var across = self.closedTexts[slot.item]?.acrossSlots
            if isAcrossSlots { across = (across ?? range).lowerBound..<range.upperBound }
            let end = max(self.closedTexts[slot.item]?.end ?? 0, range.upperBound)
            self.closedTexts[slot.item] = (range, across, end)
        }
        guard rest > 0 else { return held.end }
        let before = self.supplied[slot].flatMap { $0.end == channel.cursor ? $0.rest : nil } ?? []
        self.supplied[slot] = (before + text[held.count...], channel.cursor + rest)
        return .rest(from: held.count)
    }

    private func hasClosed(_ slot: ReplaySlot) -> Bool {
        if self.closed.contains(slot) { return true }
        guard let output = self.closedTexts[slot.item]?.acrossSlots else { return false }
        let channel = self.channels[LedgerChannel(slot.kind).rawValue]
        let end = channel.delivered.lastIndex { $0.slot == slot }.map { $0 + 1 } ?? 0
        return output.lowerBound < end && end <= output.upperBound
    }

    /// A delta behind the text that has closed its slot repeats what this text has brought, or contradicts it.
    mutating func late(_ text: [UInt8], in slot: ReplaySlot) -> ReplayLedger.Late {
        guard let slot = self.absolute(slot), self.hasClosed(slot) else { return .isNew }
        guard let supplied = self.supplied[slot], supplied.rest.starts(with: text) else { return .contradiction }
        self.supplied[slot] = (Array(supplied.rest.dropFirst(text.count)), supplied.end)
        return .delivered
    }

    /// Returns the text of a slot that a closing text has brought and no delta has repeated.
    func suppliedRest(of slot: ReplaySlot) -> [UInt8] { self.absolute(slot).flatMap { self.supplied[$0]?.rest } ?? [] }

    /// The texts of one kind that the response is closed with.
    func close(_ texts: [[UInt8]], ofKind kind: ReplaySlot.Kind) -> ReplayLedger.Closing {
        let channel = self.channels[LedgerChannel(kind).rawValue]
        let own = channel.delivered[channel.settledCount..<channel.cursor].filter { $0.slot.kind == kind }
        let total = texts.reduce(0) { $0 + $1.count }
        var last = self.slots(of: own).last
        let isOpen = last.map { !self.hasClosed($0) } ?? true
        var held = self.compare(texts, with: own, isOpen: isOpen)
        if held == nil, let inOrder = self.compare(texts, with: own, isOpen: isOpen, inOrderOfArrival: true) {
            held = (inOrder.count, true)
            last = own.last?.slot
        }
        guard let held else { return .differs }
        guard held.count < total else { return held.isRewritten ? .rewritten : .whole }
        guard let newest = channel.newestSlot, let last, newest != last else { return .rest(from: held.count) }
        return .outOfPlace
    }

    private func compare(
        _ texts: [[UInt8]], with pieces: [Piece], isOpen: Bool, inOrderOfArrival: Bool = false
    ) -> (count: Int, isRewritten: Bool)? {
        // A stable order: the bytes of a slot, and of an index that several items share, stay as they came.
        func place(_ piece: EnumeratedSequence<[Piece]>.Element) -> (Int, Int, Int) {
            let slot = piece.element.slot
            return (slot.outputIndex, self.isShared(slot) ? 0 : slot.partIndex, piece.offset)
        }
        let sorted = pieces.enumerated().sorted { place($0) < place($1) }.map(\.element)
        var comparison = ClosingModel((inOrderOfArrival ? pieces : sorted).map(\.byte), isOpen: isOpen)
        var total = 0
        for text in texts {
            guard let count = comparison.compare(text) else { return nil }
            total += count
            if count < text.count { break }
        }
        return comparison.isAtEnd() ? (total, comparison.isRewritten) : nil
    }

    /// Returns whether an item has taken over the index of an earlier one.
    private func isShared(_ slot: ReplaySlot) -> Bool {
        self.restarts[LedgerChannel(slot.kind).rawValue][slot.outputIndex] != nil
    }

    /// Returns the slots of output in the order of their positions; at a shared index, of their newest output.
    private func slots(of pieces: [Piece]) -> [ReplaySlot] {
        var newest: [ReplaySlot: Int] = [:]
        for (offset, piece) in pieces.enumerated() { newest[piece.slot] = offset }
        func place(_ slot: (key: ReplaySlot, value: Int)) -> (Int, Int) {
            (slot.key.outputIndex, self.isShared(slot.key) ? slot.value : slot.key.partIndex)
        }
        return newest.sorted { place($0) < place($1) }.map(\.key)
    }

    /// The slot of a kind with the highest position in the attempt that runs.
    func newestSlot(of kind: ReplaySlot.Kind) -> ReplaySlot? { self.texts(of: kind).last?.slot }

    /// Returns the output of a kind in the current attempt, by slot, in the order of their positions.
    func texts(of kind: ReplaySlot.Kind) -> [(slot: ReplaySlot, bytes: [UInt8])] {
        let channel = self.channels[LedgerChannel(kind).rawValue]
        let own = channel.delivered[channel.settledCount..<channel.cursor].filter { $0.slot.kind == kind }
        var texts: [ReplaySlot: [UInt8]] = [:]
        for piece in own { texts[piece.slot, default: []].append(piece.byte) }
        return self.slots(of: own).compactMap { slot in
            let (outputIndex, isTooFar) = slot.outputIndex.subtractingReportingOverflow(self.settledItemCount)
            guard !isTooFar, let bytes = texts[slot] else { return nil }
            return (ReplaySlot(slot.kind, outputIndex: outputIndex, partIndex: slot.partIndex), bytes)
        }
    }

    private func absolute(_ slot: ReplaySlot) -> ReplaySlot? {
        let (outputIndex, isTooFar) = slot.outputIndex.addingReportingOverflow(self.settledItemCount)
        return isTooFar ? nil : ReplaySlot(slot.kind, outputIndex: outputIndex, partIndex: slot.partIndex)
    }
}

extension LedgerModel.Sequence<LedgerModel.Piece> {
    /// The slot of the last byte that the attempt has repeated or produced.
    fileprivate var newestSlot: ReplaySlot? {
        self.cursor > self.settledCount ? self.delivered[self.cursor - 1].slot : nil
    }
}

extension ReplaySlot {
    fileprivate var position: (Int, Int) { (self.outputIndex, self.partIndex) }
}
