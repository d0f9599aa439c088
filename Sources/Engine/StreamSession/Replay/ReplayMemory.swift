import PlatformC

/// A block of bytes that grows in place where the system supports it: a long text is then in memory once.
///
/// It is a part of `ReplayChannel`. Channels that are copies of each other share it, and only a channel that is its
/// sole owner changes it.
/// - Safety: `start` is the block's, of `capacity` bytes, for as long as the object lives and does not grow.
@safe final class ReplayMemory: @unchecked Sendable {
    private(set) var start: UnsafeMutableRawPointer?
    private(set) var capacity = 0

    deinit { unsafe free(self.start) }

    /// Enlarges the block and keeps its content; returns false, with the block unchanged, when there is no memory.
    func grow(to capacity: Int) -> Bool {
        guard let grown = unsafe realloc(self.start, capacity) else { return false }
        unsafe self.start = grown
        self.capacity = capacity
        return true
    }
}
