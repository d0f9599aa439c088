// Leaks: the same turn, repeated, must not take more resources.

import Foundation

/// The resources of the process.
private struct Holdings {
    let byteCount: Int
    let descriptorCount: Int

    static var now: Self {
        Self(
            byteCount: allocatedByteCount(),
            descriptorCount: (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0)
    }
}

/// Bytes that are allocated and not freed, as the address sanitizer counts them.
@_silgen_name("__sanitizer_get_current_allocated_bytes")
private func allocatedByteCount() -> Int

extension Bench {
    /// Runs an input repeatedly, from time to time, until the process holds no more than before.
    ///
    /// One-time allocations are complete after some hundred turns; a leak never ends.
    func checkForLeaks(_ input: EngineInput) {
        guard self.isLeakCheckDue else { return }
        var before = self.lowestHoldings(input)
        var roundCount = 0
        while true {
            let now = self.lowestHoldings(input)
            if now.byteCount <= before.byteCount, now.descriptorCount <= before.descriptorCount { return }
            roundCount += 1
            require(roundCount < 200, "turns leave something: \(before), then \(now)")
            before = now
        }
    }

    /// Returns the least resources, because the service thread frees a connection's a moment after its turn.
    private func lowestHoldings(_ input: EngineInput) -> Holdings {
        var holdings: [Holdings] = []
        for _ in 0..<8 {
            self.run(input)
            holdings.append(.now)
        }
        return Holdings(
            byteCount: holdings.map(\.byteCount).min() ?? 0,
            descriptorCount: holdings.map(\.descriptorCount).min() ?? 0)
    }
}
