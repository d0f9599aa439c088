// The latency of a message, from the server's write to the consumer.
import BenchmarkResults
import CBareClient
import CStreamScript
import ChappieTransport

/// Latencies on one stream with a constant rate of events, beside a thread that waits in `read` for the same messages.
enum LatencyFigures {
    static let all = [
        Pace(perSecond: 100, messageCount: 35, warmUpCount: 5, runCount: 15),
        Pace(perSecond: 1_000, messageCount: 600, warmUpCount: 100, runCount: 11, bars: (p50: 30, p99: 200)),
        Pace(perSecond: 10_000, messageCount: 6_000, warmUpCount: 500, runCount: 11),
    ].map { pace in
        Figure(
            name: "latency/\(pace.workload)",
            summary: "from the server's write to the consumer, \(pace.perSecond) events a second"
        ) { repetitions in try await Self.measure(pace, max(pace.runCount, repetitions)) }
    }

    /// A rate, and the number of messages and runs.
    private struct Pace: Sendable {
        let perSecond: Int
        /// The messages of a run.
        let messageCount: Int
        /// The first messages of a run, which are not counted: caches are cold.
        let warmUpCount: Int
        /// The least number of runs.
        let runCount: Int
        /// The most microseconds that the median of the runs may add to the machine's latency.
        var bars: (p50: Double, p99: Double)?

        var workload: String { "websocket-\(self.perSecond)" }
    }

    private static func measure(_ pace: Pace, _ repetitions: Int) async throws -> [Reading] {
        let server = try StreamServer(.pace(messageCount: pace.messageCount, perSecond: pace.perSecond))
        var ours = Latencies(warmUpCount: pace.warmUpCount)
        var machine = Latencies(warmUpCount: pace.warmUpCount)
        for _ in 0..<repetitions {
            // In turns, so that other work of the machine affects both.
            machine.add(try self.bare(pace.messageCount) { cbc_latencies(server.port, $0, $1) })
            ours.add(try await self.latencies(pace, server))
        }
        let quantiles = [(0.5, "p50"), (0.99, "p99"), (0.999, "p99.9")].filter { ours.says($0.0) }
        return quantiles.flatMap { Self.readings(ours, machine, pace, at: $0.0, name: $0.1) }
    }

    /// Reads a stream with the package; returns the latency of each message.
    private static func latencies(_ pace: Pace, _ server: StreamServer) async throws -> [Double] {
        let instance = try Consumer(kind: .events, server: server).instance()
        var latencies: [Double] = []
        latencies.reserveCapacity(pace.messageCount)
        for try await event in instance.stream(Consumer.request) {
            let now = cbc_moment()
            guard case .textDelta(let text) = event else { continue }
            let sent = text.utf8CString.withUnsafeBufferPointer { css_moment($0.baseAddress, text.utf8.count) }
            guard sent > 0, sent <= now else { throw WrongResultError("a message has no moment in it") }
            latencies.append(Double(now - sent) / 1e3)
        }
        guard latencies.count == pace.messageCount else { throw WrongResultError("\(latencies.count) messages came") }
        return latencies
    }

    private static func bare(
        _ count: Int, _ measure: (UnsafeMutablePointer<UInt64>?, Int) -> Int
    ) throws -> [Double] {
        let values = [UInt64](unsafeUninitializedCapacity: count) { $1 = measure($0.baseAddress, count) }
        guard values.count == count else { throw WrongResultError("the bare loop has \(values.count) messages") }
        return values.map { Double($0) / 1e3 }
    }

    /// Readings of a quantile: of the package, of the thread in `read`, and, where it has a bar, the difference.
    private static func readings(
        _ ours: Latencies, _ machine: Latencies, _ pace: Pace, at quantile: Double, name: String
    ) -> [Reading] {
        let (own, bare) = (ours.values(at: quantile), machine.values(at: quantile))
        let readings = [
            Reading("latency", pace.workload, way: "for try await", "latency-\(name)", own, "µs"),
            Reading(
                "latency", pace.workload, way: "read", "latency-\(name)", bare, "µs",
                subject: ResultFigure.machineSubject),
        ]
        guard let bar = quantile == 0.5 ? pace.bars?.p50 : quantile == 0.99 ? pace.bars?.p99 : nil else {
            return readings
        }
        return readings + [
            Reading(
                "latency", pace.workload, way: "for try await", "latency-added-\(name)", zip(own, bare).map { $0 - $1 },
                "µs", bar: .init(atMost: bar))
        ]
    }
}

/// The latencies of several runs.
struct Latencies {
    private let warmUpCount: Int
    /// The latencies of each run, in ascending order.
    private var runs: [[Double]] = []

    init(warmUpCount: Int) { self.warmUpCount = warmUpCount }

    /// Adds a run, without its first messages.
    mutating func add(_ run: [Double]) { self.runs.append(run.dropFirst(self.warmUpCount).sorted()) }

    /// The least number of messages of a run beyond a quantile that is reported.
    private static let tailCount = 5.0

    /// Returns whether each run has enough messages for a quantile.
    func says(_ quantile: Double) -> Bool {
        self.runs.allSatisfy { Double($0.count) * (1 - quantile) >= Self.tailCount - 1e-6 }
    }

    /// Returns the latency of each run below which a share of its messages lies.
    func values(at quantile: Double) -> [Double] { self.runs.map { Self.value(of: $0, at: quantile) } }

    private static func value(of sorted: [Double], at quantile: Double) -> Double {
        guard let last = sorted.last else { return .infinity }
        let index = Int(Double(sorted.count) * quantile)
        return index < sorted.count ? sorted[index] : last
    }
}
