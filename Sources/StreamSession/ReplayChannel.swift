/// The output of one kind, in the order in which it was delivered, and how much of it a replay has repeated.
///
/// It is a part of `ReplayLedger` and belongs to its owner. The bytes are held once. Beside them stands one run for
/// each change of the slot, which for a server that finishes a part before it begins the next is one for each slot.
struct ReplayChannel: Sendable {
    /// A stretch of bytes that belong to one slot.
    private struct Run {
        let slot: ReplaySlot
        /// The offset behind the run's last byte.
        var end: Int
    }

    /// Everything that was delivered.
    private(set) var bytes: [UInt8] = []
    private var runs: [Run] = []
    /// How many bytes the attempt that runs has repeated or produced.
    private var cursor = 0
    /// The run that the cursor stands in; the number of runs when the channel is caught up.
    private var runIndex = 0

    /// True when everything that was delivered has come again.
    var isCaughtUp: Bool { self.cursor == self.bytes.count }

    /// Expects everything again, from the first byte.
    mutating func rewind() {
        self.cursor = 0
        self.runIndex = 0
    }

    /// Records new output; the channel must be caught up.
    mutating func append(_ new: Span<UInt8>, to slot: ReplaySlot) {
        unsafe new.withUnsafeBufferPointer { unsafe self.bytes.append(contentsOf: $0) }
        self.cursor = self.bytes.count
        let last = self.runs.count - 1
        if last >= 0, self.runs[last].slot == slot {
            self.runs[last].end = self.cursor
        } else {
            self.runs.append(Run(slot: slot, end: self.cursor))
        }
        self.runIndex = self.runs.count
    }

    /// Compares output with what was delivered; the channel must not be caught up.
    ///
    /// - Returns: how many bytes have been compared, which is fewer than there are only when the channel has caught up
    ///   with them, or nil for a contradiction.
    mutating func verify(_ replayed: Span<UInt8>, in slot: ReplaySlot) -> Int? {
        let run = self.runs[self.runIndex]
        guard run.slot == slot else { return nil }
        let count = min(replayed.count, run.end - self.cursor)
        for offset in 0..<count where replayed[offset] != self.bytes[self.cursor + offset] { return nil }
        self.cursor += count
        if self.cursor == run.end { self.runIndex += 1 }
        // More of this slot, where another slot's output was delivered next.
        guard count == replayed.count || self.isCaughtUp else { return nil }
        return count
    }
}
