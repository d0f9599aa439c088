// A gigabyte for a consumer that reads a megabyte a second.
import BenchmarkResults
import CMachine
import CStreamScript
import ChappieTransport

/// The memory that a server fills that has more to say than its client reads.
///
/// The text that was delivered is kept, so that a replay can be compared with it, in memory of which up to a third is
/// reserve. That is the text's size and not the server's doing, and is taken off.
enum SlowReaderFigure {
    static let figure = Figure(
        name: "slow-reader", summary: "a gigabyte for a consumer of 1 MB/s: how much the process grows"
    ) { options in
        // What is kept grows in steps, and what it was before counts no longer.
        cmachine_give_back_freed_memory()
        let blockCount = 61
        let server = try StreamServer(.flood(messageCount: blockCount * 65_536))
        let expected = ExpectedResponse(messageCount: blockCount * 65_536)
        try await Self.warmUp()
        let base = try ProcessUse.residentByteCount()
        var pace = Pace(duration: options.isFull ? .seconds(100_000) : .seconds(20))
        var tally = Tally(isThorough: true)
        var (slow, fast) = (0, 0)
        for try await event in try Consumer(kind: .events, server: server).instance().stream(Consumer.request) {
            tally.take(event)
            let isSlow = pace.isSlow
            guard try await pace.took(byteCount: Int(CSS_MESSAGE_SIZE)) else { continue }
            let growth = try ProcessUse.residentByteCount() - base - tally.textByteCount * 3 / 2
            if isSlow { slow = max(slow, growth) } else { fast = max(fast, growth) }
        }
        try tally.check(against: expected)
        // 2 MiB, beyond the watermark.
        let bar = 2.0 + Double(ChappieLimits().highWatermark) / 1_048_576
        let text = Double(tally.textByteCount * 3 / 2) / 1_048_576
        let work = ResultFigure.Work(eventCount: tally.deltaCount, byteCount: tally.textByteCount)
        return [
            Reading("while it reads slowly", [Double(slow) / 1_048_576], "MiB", bar: bar)
                .reported("memory", "slow-reader", way: "1 MB/s", measure: "growth", work: work),
            Reading("to the end, as fast as it can", [Double(fast) / 1_048_576], "MiB", bar: bar)
                .reported("memory", "slow-reader", way: "as fast as it can", measure: "growth", work: work),
            Reading("the text that is kept, and no part of it", [text], "MiB"),
        ]
    }

    /// Everything that is made once: threads, the transport, the memory of a connection that is not held back.
    private static func warmUp() async throws {
        let count = 65_536
        let consumer = Consumer(kind: .events, server: try StreamServer(.flood(messageCount: count)))
        let expected = ExpectedResponse(messageCount: count)
        for _ in 0..<2 { try await consumer.read(expected, isThorough: true) }
    }

    /// A megabyte a second for a while, and then whatever comes.
    private struct Pace {
        private let start = ContinuousClock.now
        private let end: ContinuousClock.Instant
        private var byteCount = 0
        private var unlooked = 0

        init(duration: Duration) { self.end = self.start + duration }

        private(set) var isSlow = true

        /// Waits when it is too early for so much; true when it is time to look at the memory.
        mutating func took(byteCount: Int) async throws -> Bool {
            self.byteCount += byteCount
            self.unlooked += byteCount
            guard self.unlooked >= (self.isSlow ? 20_000 : 1_000_000) else { return false }
            self.unlooked = 0
            guard self.isSlow else { return true }
            let due = self.start + .microseconds(self.byteCount)
            self.isSlow = ContinuousClock.now < self.end
            if due > .now { try await Task.sleep(until: due, clock: .continuous) }
            return true
        }
    }
}
