import Synchronization

/// Counts the compressed bytes of one connection's payloads, and their inflated size.
///
/// The connection's consumer writes, for compressed pieces only; any thread may read.
final class InflationCount: Sendable {
    private let compressed = Atomic<Int>(0)
    private let inflated = Atomic<Int>(0)

    /// Adds a decoded piece, or a part of one.
    func add(compressed: Int = 0, inflated: Int = 0) {
        // One writer: what is read here is what was written here.
        self.compressed.store(self.compressed.load(ordering: .relaxed) + compressed, ordering: .relaxed)
        self.inflated.store(self.inflated.load(ordering: .relaxed) + inflated, ordering: .relaxed)
    }

    /// Returns the size of `received` bytes after decompression; nil when no byte was compressed.
    func inflatedByteCount(ofReceived received: Int) -> Int? {
        let compressed = self.compressed.load(ordering: .relaxed)
        guard compressed > 0 else { return nil }
        return max(0, received - compressed) + self.inflated.load(ordering: .relaxed)
    }
}
