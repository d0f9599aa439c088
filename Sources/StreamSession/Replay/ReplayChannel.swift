#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The output of one kind, in the order in which it was delivered, and how much of it a replay has repeated.
///
/// It is a part of `ReplayLedger` and belongs to its owner.
///
/// # Memory
///
/// The bytes are held once, in memory that grows by half, so at most a third of it is reserve, which the system does
/// not provide before it is used (`ReplayMemory`). Beside them stands one run of some five bytes for each change of the
/// slot (`ReplayRunLog`), and the place of the slot's bytes (`SlotExtents`); the slot of the last byte needs neither.
@safe struct ReplayChannel: Sendable {
    /// Holds everything that was delivered: a delta is copied to its place, and that is all; nil when nothing was.
    private var memory: ReplayMemory?
    /// Where the memory begins, and how large it is.
    private nonisolated(unsafe) var start: UnsafeMutableRawPointer?
    private var capacity = 0
    /// How many bytes were delivered.
    private(set) var byteCount = 0
    /// Every run but the last one.
    private var runs = ReplayRunLog()
    /// Where the output of a slot lies, but for the last run.
    var extents = SlotExtents()
    /// The slot of the last byte.
    private(set) var lastSlot = ReplayRunLog.Run.none.slot
    /// Where the run of the last byte begins.
    private(set) var lastRunStart = 0
    /// How far into what was delivered a replay begins, because the items before it are settled.
    private(set) var settledByteCount = 0
    /// How many bytes the attempt that runs has repeated or produced, the settled ones among them.
    private(set) var cursor = 0
    /// Where the output of an item begins that has the index of an earlier one, by the index.
    var restarts: [Int: Int] = [:]
    /// The most bytes that are kept.
    var byteCountLimit = Int.max
    /// The run that the cursor stands in; without meaning when the channel is caught up.
    private var expected = ReplayRunLog.Run.none
    /// Behind the run that the cursor stands in.
    private var position: ReplayRunLog.Position = .start

    /// Indicates whether everything that was delivered has come again.
    var isCaughtUp: Bool { self.cursor == self.byteCount }

    /// Reads what was delivered.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        // The channel holds the memory while it is read.
        withExtendedLifetime(self.memory) {
            unsafe body(UnsafeRawBufferPointer(start: self.start, count: self.byteCount))
        }
    }

    /// What the runs take beside the bytes, in bytes.
    var runByteCount: Int { self.runs.byteCount }

    /// Expects everything again that is not settled, from the first byte.
    mutating func rewind() {
        self.cursor = self.settledByteCount
        self.position = .start
        self.restarts.removeAll()
        self.expectNextRun()
    }

    /// Another response follows: nothing of what was delivered is its output.
    mutating func beginSuccessor() {
        self.settledByteCount = self.byteCount
        self.rewind()
    }

    /// Records new output; the channel must be caught up.
    ///
    /// - Returns: false when that would be more than is kept, and then nothing has changed.
    @inline(__always)
    mutating func append(_ new: Span<UInt8>, to slot: ReplaySlot) -> Bool {
        let end = self.byteCount + new.count
        if end > self.capacity || !isKnownUniquelyReferenced(&self.memory) {
            guard self.makeRoom(for: end) else { return false }
        }
        if self.lastSlot != slot { self.beginRun(slot) }
        // The place lies within the memory, which no other channel has.
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

    /// Compares output with what was delivered, in the one case that nearly every delta of a replay is: it ends before
    /// the run does, and it is right.
    ///
    /// - Returns: false when it is another case, and then nothing has changed.
    @inline(__always)
    mutating func verifyInside(_ replayed: Span<UInt8>, in slot: ReplaySlot) -> Bool {
        guard !self.isCaughtUp, replayed.count < self.expected.end - self.cursor, self.expected.slot == slot,
            self.continues(with: replayed, count: replayed.count)
        else { return false }
        self.cursor += replayed.count
        return true
    }

    /// Compares output with what was delivered; the channel must not be caught up.
    ///
    /// - Returns: how many bytes have been compared, which is fewer than there are only when the channel has caught up
    ///   with them, or nil for a contradiction.
    mutating func verify(_ replayed: Span<UInt8>, in slot: ReplaySlot) -> Int? {
        guard self.expected.slot == slot else { return nil }
        let count = min(replayed.count, self.expected.end - self.cursor)
        guard self.continues(with: replayed, count: count) else { return nil }
        self.cursor += count
        if self.cursor == self.expected.end { self.expectNextRun() }
        // More of this slot, where another slot's output was delivered next.
        guard count == replayed.count || self.isCaughtUp else { return nil }
        return count
    }

    @inline(__always)
    private func continues(with replayed: Span<UInt8>, count: Int) -> Bool {
        // Both have `count` bytes there: the run ends within what was delivered, and `replayed` has no fewer.
        unsafe replayed.withUnsafeBytes { replayed in
            guard let expected = unsafe self.start, let found = replayed.baseAddress else { return count == 0 }
            return unsafe Self.areEqual(UnsafeRawPointer(expected) + self.cursor, found, count)
        }
    }

    /// Returns whether so many bytes are the same in both places.
    ///
    /// Most deltas are a word: two loads that overlap take the place of a call.
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
        self.lastRunStart = self.byteCount
        self.lastSlot = slot
    }

    /// The run that still grows; it is in no log yet.
    private var lastRun: ReplayRunLog.Run { ReplayRunLog.Run(slot: self.lastSlot, end: self.byteCount) }

    private mutating func expectNextRun() {
        guard !self.isCaughtUp else { return }
        repeat {
            self.expected = self.runs.advance(&self.position) ? self.position.run : self.lastRun
            // Runs that are settled stand before the cursor.
        } while self.expected.end <= self.cursor
    }

    /// Makes room for so many bytes in memory that is this channel's alone.
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

// MARK: Settled items

extension ReplayChannel {
    /// Returns whether what was delivered of some items has come in this attempt and stands before everything else.
    func canSettle(_ items: Range<Int>) -> Bool { self.byteCount(ofSettled: items) != nil }

    /// Expects what was delivered of some items no more; they must be such that can be settled.
    mutating func settle(_ items: Range<Int>) {
        guard let byteCount = self.byteCount(ofSettled: items) else {
            preconditionFailure("the items cannot be settled")
        }
        self.settledByteCount = byteCount
    }

    /// Where the output of some items ends; nil when it cannot be settled.
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
