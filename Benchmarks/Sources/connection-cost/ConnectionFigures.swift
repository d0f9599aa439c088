// How many connections can be opened and cancelled in a second, and what one costs.
import BenchmarkResults
import CBareClient
import CStreamScript
import ChappieTransport
import Foundation

/// Streams that are read up to their first event, and cancelled.
enum ConnectionFigures {
    static let all = [
        Self.figure("connect-and-cancel", "a stream up to its first event, and cancelled", isSecure: false),
        Self.figure("connect-and-cancel-tls", "the same with TLS, resumed where a session is left", isSecure: true),
    ]

    /// How streams follow each other.
    private struct Way {
        let name: String
        let taskCount: Int
        let streamCount: Int

        static func all(isSecure: Bool) -> [Self] {
            let count = isSecure ? 200 : 400
            return [
                Self(name: "one after another", taskCount: 1, streamCount: count),
                Self(name: "100 at once", taskCount: 100, streamCount: 2 * count),
            ]
        }
    }

    private static func figure(_ name: String, _ summary: String, isSecure: Bool) -> Figure {
        Figure(name: name, summary: summary) { options in
            let server = try StreamServer(.idle, isSecure: isSecure)
            let instance = try Consumer(kind: .events, server: server).instance()
            // What is made once: threads, the context, a session of TLS.
            try await Self.openAndCancel(50, tasks: 5, instance)
            var readings: [Reading] = []
            var machine: [Double] = []
            Cores.watchPace()
            for way in Way.all(isSecure: isSecure) {
                var runs: [Run] = []
                while PacedRuns.needsMore(after: runs.map(\.pace), of: max(5, options.repetitions)) {
                    runs.append(try await Self.run(way, instance))
                    // In turns: what else the machine does falls on both.
                    if !isSecure, way.taskCount == 1 { try Self.addBare(to: &machine, server) }
                }
                readings += Self.readings(runs, name, way)
            }
            return readings + (isSecure ? [] : [Self.reading(machine, name)])
        }
    }

    private struct Run {
        let rate: Double
        let processorTime: Double
        /// Which share of its speed the core had; nil when nobody has looked.
        let pace: Double?
    }

    private static func run(_ way: Way, _ instance: ChappieStreamingTransport) async throws -> Run {
        let descriptorCount = try await self.settledDescriptors(atMost: nil)
        let (start, time) = (CorePace.now, ProcessUse.processorTime)
        try await self.openAndCancel(way.streamCount, tasks: way.taskCount, instance)
        let seconds = CorePace.now - start
        // Closing is a part of what a connection costs, and nothing may be left of it.
        _ = try await self.settledDescriptors(atMost: descriptorCount)
        let used = ProcessUse.processorTime - time
        return Run(
            rate: Double(way.streamCount) / seconds, processorTime: used / Double(way.streamCount),
            pace: CorePace.share(since: start))
    }

    private static func readings(_ runs: [Run], _ workload: String, _ way: Way) -> [Reading] {
        let times = PacedRuns(runs.map { ($0.processorTime * 1e6, $0.pace) }, better: .lower)
        return [
            // Each connection waits for the server, and nobody looks at its core.
            Reading(way.name, runs.map(\.rate), "/s").reported(
                "connections", workload, way: way.name, measure: "rate", better: .higher,
                work: .init(eventCount: way.streamCount, byteCount: way.streamCount * self.firstText.utf8.count),
                amount: Double(way.taskCount), decodes: true),
            Reading("  processor time of each", times, "µs").reported(
                "connections", workload, way: way.name, measure: "processor-time", unit: "µs/connection",
                amount: Double(way.taskCount)),
        ]
    }

    private static let firstText: String = {
        var text = [CChar](repeating: 0, count: Int(CSS_TEXT_CAPACITY) + 1)
        let count = css_text(0, &text)
        return String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()

    // MARK: Streams

    private static func openAndCancel(
        _ count: Int, tasks taskCount: Int, _ instance: ChappieStreamingTransport
    ) async throws {
        try await withThrowingTaskGroup { group in
            for _ in 0..<taskCount {
                group.addTask {
                    for _ in 0..<count / taskCount { try await self.openAndCancel(instance) }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func openAndCancel(_ instance: ChappieStreamingTransport) async throws {
        let handle = instance.streamHandle(Consumer.request)
        for try await event in handle.events {
            guard case .textDelta(self.firstText) = event else { throw WrongResultError("another event came") }
            return handle.cancel()
        }
        throw WrongResultError("a stream has ended before its first event")
    }

    /// How many descriptors the process has, when they are no more than some; throws when they stay more.
    private static func settledDescriptors(atMost limit: Int?) async throws -> Int {
        let deadline = ContinuousClock.now + .seconds(5)
        var count = 0
        repeat {
            if limit == nil { try await Task.sleep(for: .milliseconds(100)) }
            count = try Descriptors.openCount()
            if count <= limit ?? .max { return count }
            try await Task.sleep(for: .milliseconds(2))
        } while ContinuousClock.now < deadline
        throw WrongResultError("\(count - (limit ?? 0)) descriptors are left")
    }

    // MARK: The machine

    private static let bareCount = 400

    private static func addBare(to machine: inout [Double], _ server: StreamServer) throws {
        let start = CorePace.now
        let opened = cbc_connections(server.port, self.bareCount)
        guard opened == self.bareCount else { throw WrongResultError("the bare loop failed after \(opened)") }
        machine.append(Double(self.bareCount) / (CorePace.now - start))
    }

    private static func reading(_ machine: [Double], _ workload: String) -> Reading {
        Reading("the machine: connect, read, close", machine, "/s").reported(
            "connections", workload, subject: "machine", way: "one after another", measure: "rate", better: .higher,
            work: .init(eventCount: self.bareCount, byteCount: self.bareCount * self.firstText.utf8.count), amount: 1)
    }
}
