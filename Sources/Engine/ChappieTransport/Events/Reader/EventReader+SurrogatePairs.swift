import ResponseEvents
import StreamSession

/// The first half of a surrogate pair, whose second half the next delta of the slot may bring.
struct PendingHalf {
    let slot: ReplaySlot
    let unit: UInt16
}

/// The scalars that a server has cut between two deltas, which the consumer gets whole.
extension EventReader {
    /// Handles a delta whose text may begin or end with half a surrogate pair.
    ///
    /// A half at the end waits for the slot's next delta with text. The slot's closing text has it whole; without that,
    /// and before output of another slot that a consumer concatenates with it, U+FFFD replaces the half. At most one
    /// half waits.
    mutating func received(_ text: BorrowedText, _ halves: SurrogateHalves, in slot: ReplaySlot, attempt: Int) {
        guard !text.isEmpty else { return }
        if let half = self.half, half.slot != slot, half.slot.kind.isConcatenated(with: slot.kind) || halves.first != 0
        {
            self.deliverHalf(attempt: attempt)
        }
        guard self.end == nil, self.half?.slot == slot || halves.first != 0 else {
            if self.end == nil { self.received(text, in: slot, attempt: attempt) }
            return
        }
        var utf8 = unsafe Array(text.utf8)
        if let half = self.half.take() {
            if halves.second != 0 { utf8.removeFirst(SurrogateHalves.replacementByteCount) }
            let beginning =
                halves.second != 0 ? SurrogateHalves.utf8(half.unit, halves.second) : Array("\u{FFFD}".utf8)
            utf8.insert(contentsOf: beginning, at: 0)
        }
        if halves.first != 0 {
            utf8.removeLast(SurrogateHalves.replacementByteCount)
            self.half = PendingHalf(slot: slot, unit: halves.first)
            self.stopFlowing()
        }
        self.received(utf8, in: slot, attempt: attempt)
    }

    /// Delivers U+FFFD for a half whose other half has not come.
    mutating func deliverHalf(attempt: Int) {
        guard let half = self.half.take() else { return }
        self.received(Array("\u{FFFD}".utf8), in: half.slot, attempt: attempt)
    }

    private mutating func received(_ utf8: [UInt8], in slot: ReplaySlot, attempt: Int) {
        // It is valid: whole scalars of valid text, with whole scalars before them.
        unsafe utf8.withUnsafeBufferPointer {
            unsafe self.received(BorrowedText(validatedUTF8: $0), in: slot, attempt: attempt)
        }
    }
}
