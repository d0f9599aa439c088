// One ledger and its model, through the same operations.

import StreamSession

/// A ledger beside its model.
struct LedgerRun {
    private var ledger = ReplayLedger()
    private(set) var model = LedgerModel()
    /// The output that a consumer has, in each channel.
    private var received = LedgerChannel.allCases.map { _ in [UInt8]() }
    private var receivedCalls: [LedgerCall] = []
    /// The verdict on each end.
    private(set) var completions: [ReplayLedger.Completion] = []

    /// The output that a consumer has at the end, with the calls as text.
    var delivered: [[UInt8]] { self.received + self.receivedCalls.map { Array("\($0)".utf8) } }

    /// Performs one operation on both, and compares all that can be seen.
    mutating func perform(_ operation: LedgerOperation) {
        switch operation {
        case .delta(let slot, let bytes): self.admit(bytes, in: slot)
        case .call(let call):
            let admission = self.ledger.admitToolCall(call.content, at: call.outputIndex)
            require(admission == self.model.admit(call), "tool call: \(admission)")
            if admission == .deliver(from: 0) { self.receivedCalls.append(call) }
        case .raw(let type, let outputIndex):
            let isDelivered = self.ledger.admitRaw(type: type, outputIndex: outputIndex)
            require(isDelivered == self.model.admitRaw(type: type, outputIndex: outputIndex), "raw event \(type)")
            // There are thousands of them, and they are no output.
            return
        case .replay:
            self.ledger.beginReplay()
            self.model.beginReplay()
        case .replaySettling(let count): self.settle(count)
        case .finish:
            let completion = self.ledger.finish()
            require(completion == self.model.finish(), "the end is \(completion)")
            self.completions.append(completion)
        case .beginItem(let outputIndex, let itemKind):
            self.ledger.beginItem(outputIndex, of: itemKind)
            self.model.beginItem(outputIndex, of: itemKind)
        case .close(let slot, let bytes): self.close(bytes, in: slot)
        case .late(let slot, let bytes): self.late(bytes, in: slot)
        case .closeKind(let kind, let texts): self.close(texts, ofKind: kind)
        }
        self.compare()
    }

    /// Memory of exactly this size lets the address sanitizer see a read past the end.
    private func copy(of bytes: [UInt8]) -> UnsafeMutableBufferPointer<UInt8> {
        let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        _ = memory.initialize(from: bytes)
        return memory
    }

    private mutating func close(_ bytes: [UInt8], in slot: ReplaySlot) {
        // After a divergence no input is read.
        guard !self.model.hasDiverged else { return }
        let memory = self.copy(of: bytes)
        defer { memory.deallocate() }
        let closing = self.ledger.close(UnsafeBufferPointer(memory).span, in: slot)
        let expected = self.model.close(bytes, in: slot)
        require(closing == expected, "\(bytes) closes \(slot): \(closing), not \(expected)")
        if case .rest(let offset) = closing { self.admit(Array(bytes[offset...]), in: slot) }
    }

    private mutating func late(_ bytes: [UInt8], in slot: ReplaySlot) {
        guard !self.model.hasDiverged else { return }
        let memory = self.copy(of: bytes)
        defer { memory.deallocate() }
        let late = self.ledger.late(UnsafeBufferPointer(memory).span, in: slot)
        let expected = self.model.late(bytes, in: slot)
        require(late == expected, "\(bytes) behind the text that closes \(slot): \(late), not \(expected)")
        if late == .isNew { self.admit(bytes, in: slot) }
    }

    private mutating func close(_ texts: [(slot: ReplaySlot, bytes: [UInt8])], ofKind kind: ReplaySlot.Kind) {
        guard !self.model.hasDiverged else { return }
        let memories = texts.map { self.copy(of: $0.bytes) }
        defer { memories.forEach { $0.deallocate() } }
        let closing = self.ledger.close(memories.map { UnsafeBufferPointer($0) }, ofKind: kind)
        let expected = self.model.close(texts.map(\.bytes), ofKind: kind)
        require(closing == expected, "\(texts) closes \(kind): \(closing), not \(expected)")
        guard case .rest(var offset) = closing else { return }
        for (slot, bytes) in texts {
            defer { offset = max(0, offset - bytes.count) }
            guard offset < bytes.count else { continue }
            let newest = self.ledger.newestSlot(of: kind)
            require(newest == self.model.newestSlot(of: kind), "the newest slot is \(String(describing: newest))")
            self.admit(Array(bytes[offset...]), in: offset > 0 ? newest ?? slot : slot)
            guard !self.model.hasDiverged else { return }
        }
    }

    private mutating func admit(_ bytes: [UInt8], in slot: ReplaySlot) {
        let memory = self.copy(of: bytes)
        defer { memory.deallocate() }
        let admission = self.ledger.admit(UnsafeBufferPointer(memory).span, in: slot)
        require(admission == self.model.admit(bytes, in: slot), "\(bytes) in \(slot): \(admission)")
        guard case .deliver(let offset) = admission else { return }
        require(bytes.indices.contains(offset) && bytes[offset] & 0xC0 != 0x80, "a remainder begins at \(offset)")
        self.received[LedgerChannel(slot.kind).rawValue] += bytes[offset...]
    }

    private mutating func settle(_ count: Int) {
        let isPossible = self.model.canSettle(itemCount: count)
        require(self.ledger.canSettle(itemCount: count) == isPossible, "settling \(count)")
        require(self.ledger.beginReplay(settling: count) == isPossible, "settling \(count), twice asked")
        require(self.model.beginReplay(settling: count) == isPossible, "the model cannot settle")
    }

    /// Compares what can be seen at any time.
    private func compare() {
        require(self.ledger.isCaughtUp == self.model.isCaughtUp, "caught up: \(self.ledger.isCaughtUp)")
        require(self.ledger.hasDelivered == self.model.hasDelivered, "delivered: \(self.ledger.hasDelivered)")
        guard !self.model.hasDiverged else { return }
        let verified = self.ledger.verifiedByteCount
        require(verified == self.model.verifiedByteCount, "verified: \(verified), not \(self.model.verifiedByteCount)")
    }

    /// Compares all that was delivered.
    func compareOutput() {
        for (received, channel) in zip(self.received, self.model.channels) {
            require(received.elementsEqual(channel.delivered.lazy.map(\.byte)), "a channel: \(received)")
        }
        let text = self.received[LedgerChannel.text.rawValue]
        require(Array(self.ledger.deliveredText.utf8) == text, "the delivered text")
        // A run is at most four numbers of seven bits a byte.
        require(self.ledger.runByteCount <= self.model.slotChangeCount * 31, "the memory of runs")
    }
}
