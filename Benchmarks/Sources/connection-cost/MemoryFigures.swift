// What many streams cost: idle ones in memory, active ones in processor time.
import ChappieTransport

/// Streams in tasks of their own.
enum MemoryFigures {
    static let all = [
        Self.idle("idle-plain", "resident memory of a stream that waits in a task", isSecure: false, bar: 24),
        Self.idle("idle-tls", "the same with TLS", isSecure: true, bar: 64),
        Figure(name: "active", summary: "1,000 streams of 10 messages a second") { _ in try await Self.active() },
    ]

    private static func idle(_ name: String, _ summary: String, isSecure: Bool, bar: Double) -> Figure {
        Figure(name: name, summary: summary) { _ in
            try Descriptors.require(10_000)
            let crowd = try Crowd(StreamServer(.idle, isSecure: isSecure))
            defer { crowd.cancel() }
            try await crowd.grow(to: 100)
            let base = try await Self.settledMemory()
            var readings: [Reading] = []
            for count in [1_000, 10_000] {
                try await crowd.grow(to: count)
                let perStream = Double(try await Self.settledMemory() - base) / Double(count - 100) / 1_024
                readings.append(Reading("\(count) streams, each", [perStream], "KiB", bar: bar))
            }
            return readings
        }
    }

    private static func settledMemory() async throws -> Int {
        try await Task.sleep(for: .milliseconds(300))
        return try ProcessUse.residentByteCount()
    }

    private static func active() async throws -> [Reading] {
        let (streamCount, messageCount) = (1_000, 60)
        let crowd = try Crowd(StreamServer(.pace(messageCount: messageCount, perSecond: 10)))
        try await crowd.grow(to: streamCount)
        let start = ProcessUse.processorTime
        let (already, total) = try await crowd.finish()
        guard total == streamCount * messageCount else { throw WrongResultError("\(total) messages came") }
        let perMessage = (ProcessUse.processorTime - start) / Double(total - already) * 1e6
        return [Reading("whole process, a message", [perMessage], "µs", bar: 30)]
    }
}

/// Streams that are read by a task each.
///
/// It belongs to the task that measures.
private final class Crowd {
    private let instance: ChappieStreamingTransport
    private let server: StreamServer
    private var tasks: [Task<Int, any Error>] = []
    private let (arrivals, arrival) = AsyncStream.makeStream(of: Bool.self)

    init(_ server: StreamServer) throws {
        self.server = server
        self.instance = try Consumer(kind: .events, server: server).instance()
    }

    /// Opens streams, a few at a time, until so many have had their first delta.
    func grow(to count: Int) async throws {
        while self.tasks.count < count {
            let more = min(100, count - self.tasks.count)
            for _ in 0..<more { self.tasks.append(self.read()) }
            var arrived = 0
            for await isThere in self.arrivals {
                guard isThere else { throw WrongResultError("a stream failed after \(self.tasks.count)") }
                arrived += 1
                if arrived == more { break }
            }
        }
    }

    private func read() -> Task<Int, any Error> {
        let instance = self.instance
        let arrival = self.arrival
        return Task.detached {
            var count = 0
            do {
                for try await event in instance.stream(Consumer.request) {
                    guard case .textDelta = event else { continue }
                    count += 1
                    if count == 1 { arrival.yield(true) }
                }
            } catch {
                arrival.yield(false)
                throw error
            }
            return count
        }
    }

    /// Reads all streams to their ends; how many deltas came in all, and how many of them, about, before the call.
    func finish() async throws -> (already: Int, total: Int) {
        var total = 0
        for task in self.tasks { total += try await task.value }
        return (self.tasks.count, total)
    }

    func cancel() {
        for task in self.tasks { task.cancel() }
    }
}
