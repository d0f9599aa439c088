import PlatformC
import WebSocketProtocol

/// Masking keys for the frames of a service thread's connections, which the system makes a block at a time.
///
/// It belongs to the service thread. Each key is new and unpredictable (RFC 6455 section 5.3), and is given once: a
/// process that `fork` makes has no service thread, so that no block is used twice. One system call gives 64 keys; a
/// call for each would take longer than masking a message of 1 KiB.
struct MaskingKeyBlock {
    private static let keyCount = SystemRandom.byteCountLimit / MemoryLayout<UInt32>.size

    /// The keys that were not given yet.
    private var keys: [UInt32] = []

    /// Returns a new key.
    mutating func next() -> MaskingKey {
        if self.keys.isEmpty { self.refill() }
        // Without the system's call, the standard library has another source.
        return self.keys.popLast().map { MaskingKey(rawValue: $0) } ?? .random()
    }

    private mutating func refill() {
        self.keys.append(contentsOf: repeatElement(0, count: Self.keyCount))
        if !self.keys.withUnsafeMutableBytes({ SystemRandom.fill($0) }) { self.keys.removeAll(keepingCapacity: true) }
    }
}
