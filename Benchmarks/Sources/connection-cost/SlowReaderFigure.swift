// A gigabyte for a consumer that reads a megabyte a second.
import ChappieTransport

/// The memory that a server fills that has more to say than its client reads.
enum SlowReaderFigure {
    static let figure = Figure(
        name: "slow-reader", summary: "a gigabyte for a consumer of 1 MB/s: how much the process grows"
    ) { options in
        let blockCount = 61
        let server = try StreamServer(.flood(messageCount: blockCount * 65_536))
        try await Self.warmUp()
        let base = try ProcessUse.residentByteCount()
        let expected = ExpectedResponse(messageCount: blockCount * 65_536)
        var pace = Pace(duration: options.isFull ? .seconds(100_000) : .seconds(20))
        var tally = Tally(isThorough: true)
        var peak = base
        var peakWhileSlow = base
        for try await event in try Consumer(kind: .events, server: server).instance().stream(Consumer.request) {
            tally.take(event)
            guard try await pace.took(byteCount: 250) else { continue }
            peak = max(peak, try ProcessUse.residentByteCount())
            if pace.isSlow { peakWhileSlow = peak }
        }
        try tally.check(against: expected)
        let bar = 2.0 + 1.0
        return [
            Reading("while it reads slowly", [Double(peakWhileSlow - base) / 1_048_576], "MiB", bar: bar),
            Reading("to the end, as fast as it can", [Double(peak - base) / 1_048_576], "MiB", bar: bar),
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
