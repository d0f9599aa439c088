import Synchronization

/// The memory of a service thread's large buffers, wherever they are, and what of it a stream may use.
///
/// Few streams that flood may each have as much unread as their watermarks allow. Of many, each has a small share: that
/// the consumers find bytes to read does not need more than 1 MiB of each stream.
///
/// Any thread may use it.
final class InboundMemory: Sendable {
    /// The bytes of large buffers beyond which memory is scarce.
    static let plentifulByteCount = 8 << 20
    /// The number of bytes that a stream may have unread while memory is scarce.
    static let scarceShare = 32 << 10

    private let byteCount = Atomic<Int>(0)

    /// Counts a buffer that was made.
    func add(_ byteCount: Int) { self.byteCount.wrappingAdd(byteCount, ordering: .relaxed) }

    /// Counts a buffer that was freed.
    func subtract(_ byteCount: Int) { self.byteCount.wrappingSubtract(byteCount, ordering: .relaxed) }

    /// The number of bytes that a stream may have unread, if its watermarks allow more; `Int.max` without a limit.
    var share: Int {
        self.byteCount.load(ordering: .relaxed) > Self.plentifulByteCount ? Self.scarceShare : .max
    }
}
