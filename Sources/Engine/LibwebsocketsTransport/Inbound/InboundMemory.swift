import Synchronization

/// The large buffers of a service thread that are in use, wherever they are, and what of the memory a stream may use.
///
/// Few streams that flood may each have as much unread as their watermarks allow. Of many, each has a small share: that
/// the consumers find bytes to read does not need more than 1 MiB of each stream. The more streams a thread has, the
/// less memory is left for large buffers.
///
/// Any thread may use it.
final class InboundMemory: Sendable {
    /// The number of bytes for the streams of a thread together.
    static let byteCount = 8 << 20
    /// The number of these bytes that are kept for each stream: its share, one read beyond it, and the boundaries and
    /// events that are made of them.
    static let streamByteCount = 56 << 10
    /// The number of bytes of large buffers that are there for any number of streams: one stream needs as many for the
    /// default watermarks, a read, and the buffer that its consumer reads.
    static let leastByteCount = 4 * InboundBuffer.largeByteCount
    /// The number of bytes that a stream may have unread while memory is scarce.
    static let scarceShare = 32 << 10

    private let usedByteCount = Atomic<Int>(0)

    /// Counts a large buffer that was taken.
    func add(_ byteCount: Int) { self.usedByteCount.wrappingAdd(byteCount, ordering: .relaxed) }

    /// Counts a large buffer that was given back or freed.
    func subtract(_ byteCount: Int) { self.usedByteCount.wrappingSubtract(byteCount, ordering: .relaxed) }

    /// Returns the number of bytes of large buffers beyond which memory is scarce for this number of streams.
    static func plentifulByteCount(forStreams count: Int) -> Int {
        let streamCount = min(count, Self.byteCount / Self.streamByteCount)
        return max(Self.leastByteCount, Self.byteCount - streamCount * Self.streamByteCount)
    }

    /// Returns the number of bytes that each of so many streams may have unread, if its watermarks allow more;
    /// `Int.max` without a limit.
    ///
    /// The streams are counted only where their number matters: this is called for every read.
    @inline(__always)
    func share(ofStreams count: @autoclosure () -> Int) -> Int {
        let used = self.usedByteCount.load(ordering: .relaxed)
        guard used > Self.leastByteCount else { return .max }
        return used > Self.plentifulByteCount(forStreams: count()) ? Self.scarceShare : .max
    }
}
