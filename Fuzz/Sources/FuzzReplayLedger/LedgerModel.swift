// A ledger without any cleverness: every byte with its slot, compared one by one. It shares no code with the product.

import StreamSession

/// The channels that a consumer concatenates.
enum LedgerChannel: Int, CaseIterable {
    case text, refusal, reasoning, toolInput

    init(_ kind: ReplaySlot.Kind) {
        switch kind {
        case .text: self = .text
        case .refusal: self = .refusal
        case .reasoningSummary, .reasoningText: self = .reasoning
        case .toolCall: self = .toolInput
        }
    }
}

/// A tool call of a response.
struct LedgerCall: Equatable {
    let outputIndex: Int
    let content: [UInt8]
}

/// The rule of `ReplayLedger`, transcribed.
struct LedgerModel {
    /// A byte of output and the slot it belongs to; its output index counts settled items.
    struct Piece: Equatable {
        let slot: ReplaySlot
        let byte: UInt8
    }

    /// One channel's output, and how far an attempt has repeated or produced it.
    struct Sequence<Element> {
        var delivered: [Element] = []
        /// The amount that is not expected again.
        var settledCount = 0
        /// The amount that has come in the current attempt, settled output included.
        var cursor = 0

        var isCaughtUp: Bool { self.cursor == self.delivered.count }
        var pending: ArraySlice<Element> { self.delivered[self.cursor...] }

        mutating func append(_ new: [Element]) {
            self.delivered += new
            self.cursor = self.delivered.count
        }

        /// Returns the end of settled items; nil when they have not come whole, or follow others.
        func settled(where belongs: (Element) -> Bool) -> Int? {
            let open = self.delivered[self.settledCount...]
            let end = self.settledCount + open.prefix(while: belongs).count
            return end <= self.cursor && !self.delivered[end...].contains(where: belongs) ? end : nil
        }
    }

    private(set) var channels = LedgerChannel.allCases.map { _ in Sequence<Piece>() }
    /// The beginning of an item's output in a channel, by the item's index, when that had been an earlier item's.
    var restarts = LedgerChannel.allCases.map { _ in [Int: Int]() }
    /// The slots that a text has closed in the attempt that runs.
    var closed: Set<ReplaySlot> = []
    /// The output that texts have closed in that attempt, by the item's first slot: by the last one, and across slots;
    /// and the end of all of it.
    var closedTexts: [ReplaySlot: (last: Range<Int>, acrossSlots: Range<Int>?, end: Int)] = [:]
    /// The output that no text had closed when another item was begun at its index, by the item's first slot.
    var before: [ReplaySlot: Range<Int>] = [:]
    /// The output of each item at whose index another one was begun, by the item's first slot.
    var withoutEnd: [ReplaySlot: [Range<Int>]] = [:]
    /// The text that closing texts have brought and no delta has repeated, by slot, with its end in the channel.
    var supplied: [ReplaySlot: (rest: [UInt8], end: Int)] = [:]
    private(set) var calls = Sequence<LedgerCall>()
    private(set) var rawEvents = RawEventModel()
    private(set) var settledItemCount = 0
    private(set) var hasDiverged = false
    private(set) var verifiedByteCount = 0

    var isCaughtUp: Bool { !self.hasDiverged && self.hasEverything }
    private var hasEverything: Bool { self.channels.allSatisfy { $0.isCaughtUp } && self.calls.isCaughtUp }
    var hasDelivered: Bool { self.channels.contains { !$0.delivered.isEmpty } || !self.calls.delivered.isEmpty }

    /// The number of slot changes within a channel.
    var slotChangeCount: Int {
        self.channels.reduce(0) { sum, channel in
            sum + zip(channel.delivered, channel.delivered.dropFirst()).count { $0.slot != $1.slot }
        }
    }

    // MARK: Output

    mutating func admit(_ bytes: [UInt8], in slot: ReplaySlot) -> ReplayLedger.Admission {
        let (outputIndex, isTooFar) = slot.outputIndex.addingReportingOverflow(self.settledItemCount)
        guard !self.hasDiverged, !isTooFar else { return self.diverge() }
        let slot = ReplaySlot(slot.kind, outputIndex: outputIndex, partIndex: slot.partIndex)
        let pieces = bytes.map { Piece(slot: slot, byte: $0) }
        let channel = LedgerChannel(slot.kind).rawValue
        let matched = min(pieces.count, self.channels[channel].pending.count)
        // Parts may be counted otherwise.
        guard
            zip(pieces, self.channels[channel].pending).allSatisfy({
                $0.byte == $1.byte && $0.slot.kind == $1.slot.kind && $0.slot.outputIndex == $1.slot.outputIndex
            })
        else { return self.diverge() }
        self.channels[channel].cursor += matched
        guard matched == pieces.count || self.hasEverything else { return self.diverge() }
        self.verifiedByteCount += matched
        guard matched < pieces.count else { return .swallow }
        self.channels[channel].append(Array(pieces[matched...]))
        return .deliver(from: matched)
    }

    mutating func admit(_ call: LedgerCall) -> ReplayLedger.Admission {
        let (outputIndex, isTooFar) = call.outputIndex.addingReportingOverflow(self.settledItemCount)
        guard !self.hasDiverged, !isTooFar else { return self.diverge() }
        let call = LedgerCall(outputIndex: outputIndex, content: call.content)
        guard let expected = self.calls.pending.first else {
            guard self.hasEverything else { return self.diverge() }
            self.calls.append([call])
            return .deliver(from: 0)
        }
        guard expected == call else { return self.diverge() }
        self.calls.cursor += 1
        self.verifiedByteCount += call.content.count
        return .swallow
    }

    mutating func admitRaw(type: String, outputIndex: Int?) -> Bool {
        guard !self.hasDiverged else { return false }
        return self.rawEvents.admit(type, outputIndex: outputIndex.map { $0 &+ self.settledItemCount })
    }

    mutating func finish() -> ReplayLedger.Completion {
        guard !self.isCaughtUp else { return .whole }
        self.hasDiverged = true
        return .diverged
    }

    private mutating func diverge() -> ReplayLedger.Admission {
        self.hasDiverged = true
        return .diverged
    }

    // MARK: Attempts

    mutating func beginReplay() {
        self.rawEvents.rewind()
        guard !self.hasDiverged else { return }
        for index in self.channels.indices {
            self.channels[index].cursor = self.channels[index].settledCount
            self.restarts[index] = [:]
        }
        self.closed = []
        self.closedTexts = [:]
        self.before = [:]
        self.withoutEnd = [:]
        self.supplied = [:]
        self.calls.cursor = self.calls.settledCount
    }

    /// Returns the settled output of a number of items: an end in each channel, and one of the calls; nil when it
    /// cannot be.
    private func ends(settling itemCount: Int) -> (channels: [Int], calls: Int, items: Range<Int>)? {
        let (end, isTooFar) = self.settledItemCount.addingReportingOverflow(itemCount)
        guard !self.hasDiverged, itemCount >= 0, !isTooFar else { return nil }
        let items = self.settledItemCount..<end
        let ends = self.channels.compactMap { $0.settled { items.contains($0.slot.outputIndex) } }
        guard ends.count == self.channels.count,
            let calls = self.calls.settled(where: { items.contains($0.outputIndex) })
        else { return nil }
        return (ends, calls, items)
    }

    func canSettle(itemCount: Int) -> Bool { self.ends(settling: itemCount) != nil }

    mutating func beginReplay(settling itemCount: Int) -> Bool {
        guard let ends = self.ends(settling: itemCount) else { return false }
        for (index, end) in ends.channels.enumerated() { self.channels[index].settledCount = end }
        self.calls.settledCount = ends.calls
        if itemCount > 0 { self.rawEvents.settle(ends.items) }
        self.settledItemCount = ends.items.upperBound
        self.beginReplay()
        return true
    }

    // MARK: What is expected

    /// Returns the next expected output of a channel in one slot, as an attempt would send it; nil when it is caught
    /// up.
    func expected(in channel: LedgerChannel) -> (slot: ReplaySlot, bytes: [UInt8])? {
        let pending = self.channels[channel.rawValue].pending
        guard let slot = pending.first?.slot else { return nil }
        let bytes = pending.prefix { $0.slot == slot }.map(\.byte)
        let (outputIndex, isTooFar) = slot.outputIndex.subtractingReportingOverflow(self.settledItemCount)
        guard !isTooFar else { return nil }
        return (ReplaySlot(slot.kind, outputIndex: outputIndex, partIndex: slot.partIndex), bytes)
    }

    var expectedCall: LedgerCall? {
        guard let call = self.calls.pending.first else { return nil }
        let (outputIndex, isTooFar) = call.outputIndex.subtractingReportingOverflow(self.settledItemCount)
        guard !isTooFar else { return nil }
        return LedgerCall(outputIndex: outputIndex, content: call.content)
    }

    /// Returns the rest of a replay without contradictions.
    func everythingExpected() -> [LedgerOperation] {
        var copy = self
        var operations: [LedgerOperation] = []
        for channel in LedgerChannel.allCases {
            while let (slot, bytes) = copy.expected(in: channel), copy.admit(bytes, in: slot) == .swallow {
                operations.append(.delta(slot, bytes))
            }
        }
        while let call = copy.expectedCall, copy.admit(call) == .swallow { operations.append(.call(call)) }
        return operations
    }
}
