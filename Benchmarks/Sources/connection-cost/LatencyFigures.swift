// How long a message takes from the server's write to the consumer.
import BenchmarkResults
import CBareClient
import CStreamScript
import ChappieTransport

/// So many events a second on one stream, beside a thread that waits in `read` for the same.
enum LatencyFigures {
    static let all = [
        Pace(perSecond: 100, messageCount: 35, warmUpCount: 5, runCount: 25),
        Pace(perSecond: 1_000, messageCount: 600, warmUpCount: 100, runCount: 11, bars: (p50: 30, p99: 200)),
        Pace(perSecond: 10_000, messageCount: 6_000, warmUpCount: 500, runCount: 11),
    ].map { pace in
        Figure(
            name: "latency-\(pace.perSecond)", aliases: [pace.workload],
            summary: "from the server's write to the consumer, \(pace.perSecond) events a second"
        ) { options in try await Self.measure(pace, max(pace.runCount, options.repetitions)) }
    }

    /// A rate, and how long it is looked at.
    private struct Pace: Sendable {
        let perSecond: Int
        /// In each run.
        let messageCount: Int
        /// The first ones find everything cold.
        let warmUpCount: Int
        /// How often at least: what a run finds depends on what else the machine does.
        let runCount: Int
        /// What may be added to what the machine takes.
        var bars: (p50: Double, p99: Double)?

        var workload: String { "websocket-\(self.perSecond)" }
    }

    private static func measure(_ pace: Pace, _ repetitions: Int) async throws -> [Reading] {
        let server = try StreamServer(.pace(messageCount: pace.messageCount, perSecond: pace.perSecond))
        var ours = Latencies(warmUpCount: pace.warmUpCount)
        var machine = Latencies(warmUpCount: pace.warmUpCount)
        for _ in 0..<repetitions {
            // In turns: what else the machine does falls on both.
            machine.add(try self.bare(pace.messageCount) { cbc_latencies(server.port, $0, $1) })
            ours.add(try await self.latencies(pace, server))
        }
        let wakes = try self.bare(500) { cbc_thread_wakes($0, $1) }.sorted()
        return self.added(ours, machine, pace) + self.readings(ours, pace, "to the consumer")
            + self.readings(machine, pace, "the machine: to a thread in read", isMachine: true) + [
                Reading("the machine: a thread's wake-up, p50", [wakes[wakes.count / 2]], "µs"),
                Reading("the machine: a thread's wake-up, p99", [wakes[wakes.count * 99 / 100]], "µs"),
            ]
    }

    /// A stream, read by the package.
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

    // MARK: What is said of them

    /// What is not the machine's.
    private static func added(_ ours: Latencies, _ machine: Latencies, _ pace: Pace) -> [Reading] {
        [(0.5, "p50", pace.bars?.p50), (0.99, "p99", pace.bars?.p99)].filter { ours.says($0.0) }.map {
            let (quantile, name, bar) = $0
            let runs = zip(ours.values(at: quantile), machine.values(at: quantile)).map { $0 - $1 }
            return Reading("added between socket and consumer, \(name)", runs, "µs", bar: bar).reported(
                "latency", pace.workload, measure: "latency-added-\(name)", amount: Double(pace.perSecond))
        }
    }

    private static func readings(
        _ latencies: Latencies, _ pace: Pace, _ label: String, isMachine: Bool = false
    ) -> [Reading] {
        let subject = isMachine ? ResultFigure.machineSubject : ResultFigure.ownSubject
        let way = isMachine ? "read" : "for try await"
        let whole = Reading(label, latencies.values(at: 0.5), "µs").reported(
            "latency", pace.workload, subject: subject, way: way, measure: "latency",
            work: .init(eventCount: pace.messageCount, byteCount: pace.messageCount * Int(CSS_MESSAGE_SIZE)),
            amount: Double(pace.perSecond), distribution: latencies.curve, decodes: !isMachine)
        let quantiles = [(0.5, "p50"), (0.99, "p99"), (0.999, "p99.9")].filter { latencies.says($0.0) }
        return [whole]
            + quantiles.map { quantile, name in
                // On a machine that is not quiet, the difference of two accidents says nothing.
                let bar = isMachine && quantile == 0.99 && pace.bars != nil ? 1_000.0 : nil
                return Reading("\(label), \(name)", latencies.values(at: quantile), "µs", bar: bar).reported(
                    "latency", pace.workload, subject: subject, way: way, measure: "latency-\(name)",
                    amount: Double(pace.perSecond))
            }
    }
}

/// What messages of several runs took.
struct Latencies {
    private let warmUpCount: Int
    /// Of each run, in ascending order.
    private var runs: [[Double]] = []

    init(warmUpCount: Int) { self.warmUpCount = warmUpCount }

    /// Adds a run, without the messages it began with.
    mutating func add(_ run: [Double]) { self.runs.append(run.dropFirst(self.warmUpCount).sorted()) }

    /// So many messages beyond a quantile make it more than an accident.
    private static let tailCount = 5.0

    /// Whether the messages are enough for a quantile.
    func says(_ quantile: Double) -> Bool { Self.says(quantile, of: self.runs.flatMap(\.self)) }

    /// What such a part of the messages of each run did not pass, or of all runs together where one has too few.
    func values(at quantile: Double) -> [Double] {
        self.runs.allSatisfy { Self.says(quantile, of: $0) }
            ? self.runs.map { Self.value(of: $0, at: quantile) }
            : [Self.value(of: self.runs.flatMap(\.self).sorted(), at: quantile)]
    }

    private static func says(_ quantile: Double, of run: [Double]) -> Bool {
        Double(run.count) * (1 - quantile) >= self.tailCount
    }

    /// The same of all runs together, for quantiles from the lowest to the last that one message lies beyond.
    var curve: [[Double]] {
        let all = self.runs.flatMap(\.self).sorted()
        return [0, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 1]
            .filter { $0 == 1 || Double(all.count) * (1 - $0) >= 1 }
            .map { [$0, Self.value(of: all, at: $0)] }
    }

    private static func value(of sorted: [Double], at quantile: Double) -> Double {
        guard let last = sorted.last else { return .infinity }
        let index = Int(Double(sorted.count) * quantile)
        return index < sorted.count ? sorted[index] : last
    }
}
