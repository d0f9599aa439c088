import Synchronization

/// Counts what was compressed of one connection's payloads, and what became of it.
///
/// The connection's consumer writes, for compressed pieces only; anyone may read.
final class InflationCount: Sendable {
    private let compressed = Atomic<Int>(0)
    private let inflated = Atomic<Int>(0)

    /// A piece was decoded, or a part of one.
    func add(compressed: Int = 0, inflated: Int = 0) {
        // One writer: what is read here is what was written here.
        self.compressed.store(self.compressed.load(ordering: .relaxed) + compressed, ordering: .relaxed)
        self.inflated.store(self.inflated.load(ordering: .relaxed) + inflated, ordering: .relaxed)
    }

    /// What so many received bytes are after decompression; nil when nothing was compressed.
    func inflatedByteCount(ofReceived received: Int) -> Int? {
        let compressed = self.compressed.load(ordering: .relaxed)
        guard compressed > 0 else { return nil }
        return max(0, received - compressed) + self.inflated.load(ordering: .relaxed)
    }
}
