// One ledger and its model, through the same operations.

import StreamSession

/// A ledger beside its model.
struct LedgerRun {
    private var ledger = ReplayLedger()
    private(set) var model = LedgerModel()
    /// What a consumer holds, in each channel.
    private var received = LedgerChannel.allCases.map { _ in [UInt8]() }
    private var receivedCalls: [ReplayedToolCall] = []
    /// How each end was judged.
    private(set) var completions: [ReplayLedger.Completion] = []

    /// What a consumer holds at the end, with the calls in words.
    var delivered: [[UInt8]] { self.received + self.receivedCalls.map { Array("\($0)".utf8) } }

    /// Performs one operation on both, and compares all that can be seen.
    mutating func perform(_ operation: LedgerOperation) {
        switch operation {
        case .delta(let slot, let bytes): self.admit(bytes, in: slot)
        case .call(let call):
            let admission = self.ledger.admitToolCall(call)
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
        }
        self.compare()
    }

    private mutating func admit(_ bytes: [UInt8], in slot: ReplaySlot) {
        // Memory of exactly this size lets the address sanitizer see a read past the end.
        let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        defer { memory.deallocate() }
        _ = memory.initialize(from: bytes)
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
