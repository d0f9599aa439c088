import PlatformC

/// The output of one kind, in the order of its delivery, and the length that a replay has repeated.
///
/// It is a part of `ReplayLedger` and belongs to its owner.
///
/// # Memory
///
/// The bytes are held once, in memory that grows by half, so at most a third of it is reserve, which the system does
/// not provide before it is used (`ReplayMemory`). Beside them there is one run of about five bytes for each change of
/// the slot (`ReplayRunLog`), and the range of the slot's bytes (`SlotExtents`); the slot of the last byte needs
/// neither. Of each item the range of its output is kept, while that is one piece.
@safe struct ReplayChannel: Sendable {
    /// The memory of all delivered bytes, to which a delta is copied once; nil before the first.
    private var memory: ReplayMemory?
    /// The memory's start.
    private nonisolated(unsafe) var start: UnsafeMutableRawPointer?
    private var capacity = 0
    /// The number of delivered bytes.
    private(set) var byteCount = 0
    /// All runs except the last one.
    private var runs = ReplayRunLog()
    /// The ranges of each slot's output, except for the last run.
    var extents = SlotExtents()
    /// The slot of the last byte; before the first, one that no output has.
    private(set) var lastSlot = ReplaySlot(.text, outputIndex: .min / 2)
    /// The start of the run of the last byte.
    private(set) var lastRunStart = 0
    /// The offset in the delivered output at which a replay begins, because the items before it are settled.
    private(set) var settledByteCount = 0
    /// The number of bytes that the current attempt has repeated or produced, including the settled ones.
    private(set) var cursor = 0
    /// The start of the output of an item that has the index of an earlier one, by the index.
    var restarts: [Int: Int] = [:]
    /// The maximum number of bytes that are kept.
    var byteCountLimit = Int.max
    /// The run at the cursor; without meaning when the channel is caught up.
    private var expected = ReplayRunLog.Run.none
    /// The position behind the run at the cursor.
    private var position: ReplayRunLog.Position = .start
    /// The run before the one at the cursor; without meaning when the channel is caught up.
    private var passed = ReplayRunLog.Run.none

    /// Indicates whether all delivered output has been repeated.
    var isCaughtUp: Bool { self.cursor == self.byteCount }

    /// Calls a closure with the delivered bytes.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        // The memory is retained while it is read.
        withExtendedLifetime(self.memory) {
            unsafe body(UnsafeRawBufferPointer(start: self.start, count: self.byteCount))
        }
    }

    /// The size of the runs beside the bytes, in bytes.
    var runByteCount: Int { self.runs.byteCount }

    /// Expects all output that is not settled again, from the first byte.
    mutating func rewind() {
        self.cursor = self.settledByteCount
        self.position = .start
        self.expected = .none
        self.restarts.removeAll()
        self.expectNextRun()
    }

    /// Returns the channel with the output that the current attempt has repeated or produced, and no other.
    func cutAtCursor() -> Self {
        let end = self.cursor
        var other = Self()
        other.byteCountLimit = self.byteCountLimit
        var position = ReplayRunLog.Position.start
        unsafe self.withBytes { bytes in
            while other.byteCount < end {
                let run = self.runs.advance(&position) ? position.run : self.lastRun
                let piece = unsafe UnsafeRawBufferPointer(rebasing: bytes[other.byteCount..<min(run.end, end)])
                guard other.append(unsafe Span(_unsafeBytes: piece), to: run.slot) else { return }
            }
        }
        other.settledByteCount = self.settledByteCount
        other.restarts = self.restarts
        return other
    }

    /// Begins another response, which repeats none of the delivered output.
    mutating func beginSuccessor() {
        self.settledByteCount = self.byteCount
        self.rewind()
    }

    /// Records new output; the channel must be caught up.
    ///
    /// - Returns: false when the limit would be exceeded; the channel is unchanged then.
    @inline(__always)
    mutating func append(_ new: Span<UInt8>, to slot: ReplaySlot) -> Bool {
        let end = self.byteCount + new.count
        if end > self.capacity || !isKnownUniquelyReferenced(&self.memory) {
            guard self.makeRoom(for: end) else { return false }
        }
        if self.lastSlot != slot { self.beginRun(slot) }
        // The place lies within the memory, which is this channel's alone.
        if let start = unsafe self.start {
            unsafe new.withUnsafeBytes { bytes in
                if let first = bytes.baseAddress {
                    unsafe (start + self.byteCount).copyMemory(from: first, byteCount: bytes.count)
                }
            }
        }
        self.byteCount = end
        self.cursor = end
        return true
    }

    /// Compares output with the delivered output, in the case of nearly every delta of a replay: it ends before the run
    /// does, and it is equal.
    ///
    /// - Returns: false in every other case; the channel is unchanged then.
    @inline(__always)
    mutating func verifyInside(_ replayed: Span<UInt8>, in slot: ReplaySlot) -> Bool {
        guard !self.isCaughtUp, replayed.count < self.expected.end - self.cursor, self.expected.slot == slot,
            self.continues(with: replayed, count: replayed.count)
        else { return false }
        self.cursor += replayed.count
        return true
    }

    /// Compares output with the delivered output; the channel must not be caught up.
    ///
    /// - Returns: the number of compared bytes, which is less than the count only when the channel has caught up with
    ///   them; nil for a contradiction.
    ///
    /// The item and the kind have to be the same. The part's index need not be: vLLM counts it up with every delta, so
    /// that it depends on where the text is cut, and a consumer does not see it.
    mutating func verify(_ replayed: Span<UInt8>, in slot: ReplaySlot) -> Int? {
        var matched = 0
        while matched < replayed.count, !self.isCaughtUp {
            guard self.expected.slot.item == slot.item else { return nil }
            let count = min(replayed.count - matched, self.expected.end - self.cursor)
            guard self.continues(with: replayed.extracting(matched..<matched + count), count: count) else { return nil }
            self.cursor += count
            matched += count
            if self.cursor == self.expected.end { self.expectNextRun() }
        }
        return matched
    }

    /// Takes the comparison back to an offset.
    mutating func stop(at offset: Int) { self.cursor = offset }

    @inline(__always)
    private func continues(with replayed: Span<UInt8>, count: Int) -> Bool {
        // Both have `count` bytes there: the run ends within the delivered output, and `replayed` has no fewer.
        unsafe replayed.withUnsafeBytes { replayed in
            guard let expected = unsafe self.start, let found = replayed.baseAddress else { return count == 0 }
            return unsafe Self.areEqual(UnsafeRawPointer(expected) + self.cursor, found, count)
        }
    }

    /// Returns whether `count` bytes are the same in both places.
    ///
    /// Most deltas are a word: two overlapping loads replace a call.
    @inline(__always)
    private static func areEqual(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, _ count: Int) -> Bool {
        // Each load lies within the `count` bytes.
        if count >= 8, count <= 16 {
            let isBeginning = unsafe left.loadUnaligned(as: UInt64.self) == right.loadUnaligned(as: UInt64.self)
            let rest = count - 8
            return unsafe isBeginning
                && left.loadUnaligned(fromByteOffset: rest, as: UInt64.self)
                    == right.loadUnaligned(fromByteOffset: rest, as: UInt64.self)
        }
        if count >= 4, count < 8 {
            let isBeginning = unsafe left.loadUnaligned(as: UInt32.self) == right.loadUnaligned(as: UInt32.self)
            let rest = count - 4
            return unsafe isBeginning
                && left.loadUnaligned(fromByteOffset: rest, as: UInt32.self)
                    == right.loadUnaligned(fromByteOffset: rest, as: UInt32.self)
        }
        return unsafe memcmp(left, right, count) == 0
    }

    private mutating func beginRun(_ slot: ReplaySlot) {
        if self.byteCount > 0 {
            self.runs.append(ReplayRunLog.Run(slot: self.lastSlot, end: self.byteCount))
            self.extents.add(self.lastRunStart..<self.byteCount, of: self.lastSlot)
        }
        if self.lastSlot.item != slot.item {
            let last = self.byteCount > 0 ? self.lastSlot.item : nil
            self.extents.begin(slot.item, at: self.byteCount, behind: last)
        }
        self.lastRunStart = self.byteCount
        self.lastSlot = slot
    }

    /// The run that still grows and is not in the log yet.
    private var lastRun: ReplayRunLog.Run { ReplayRunLog.Run(slot: self.lastSlot, end: self.byteCount) }

    /// The slot of the last byte that the current attempt has repeated or produced; without meaning before the first.
    var slotAtCursor: ReplaySlot {
        if self.isCaughtUp { return self.lastSlot }
        return self.cursor > self.passed.end ? self.expected.slot : self.passed.slot
    }

    private mutating func expectNextRun() {
        guard !self.isCaughtUp else { return }
        repeat {
            self.passed = self.expected
            self.expected = self.runs.advance(&self.position) ? self.position.run : self.lastRun
            // Settled runs precede the cursor.
        } while self.expected.end <= self.cursor
    }

    /// Makes room for a number of bytes in memory that is this channel's alone.
    @inline(never)
    private mutating func makeRoom(for needed: Int) -> Bool {
        guard needed <= self.byteCountLimit else { return false }
        let capacity = min(self.byteCountLimit, max(needed, self.capacity + max(self.capacity / 2, 512)))
        let isOwn = isKnownUniquelyReferenced(&self.memory)
        let memory = isOwn ? self.memory ?? ReplayMemory() : ReplayMemory()
        guard memory.grow(to: capacity), let start = unsafe memory.start else { return false }
        if !isOwn, let shared = unsafe self.start {
            unsafe start.copyMemory(from: UnsafeRawPointer(shared), byteCount: self.byteCount)
        }
        self.memory = memory
        unsafe self.start = start
        self.capacity = capacity
        return true
    }
}

// MARK: Items

extension ReplayChannel {
    /// Returns the current attempt's output of a slot's item and kind; empty when there is none, or not in one piece.
    ///
    /// At an index that several items share it is the newest one's.
    func attemptOutput(ofItem slot: ReplaySlot) -> Range<Int> {
        let start = max(self.settledByteCount, self.restarts[slot.outputIndex] ?? 0)
        return self.extents.output(ofItem: slot.item).clamped(to: start..<max(start, self.cursor))
    }
}

// MARK: Settled items

extension ReplayChannel {
    /// Returns whether the delivered output of some items has come in this attempt and precedes all other output.
    func canSettle(_ items: Range<Int>) -> Bool { self.byteCount(ofSettled: items) != nil }

    /// Removes the delivered output of some items from what is expected; they must be settleable.
    mutating func settle(_ items: Range<Int>) {
        guard let byteCount = self.byteCount(ofSettled: items) else {
            preconditionFailure("the items cannot be settled")
        }
        self.settledByteCount = byteCount
    }

    /// Returns the end of the output of some items; nil when it cannot be settled.
    private func byteCount(ofSettled items: Range<Int>) -> Int? {
        var end = self.settledByteCount
        var hasOthers = false
        var position = ReplayRunLog.Position.start
        var isLast = false
        while !isLast {
            isLast = !self.runs.advance(&position)
            let run = isLast ? self.lastRun : position.run
            guard run.end > self.settledByteCount else { continue }
            if items.contains(run.slot.outputIndex) {
                guard !hasOthers else { return nil }
                end = run.end
            } else {
                hasOthers = true
            }
        }
        return end <= self.cursor ? end : nil
    }
}
