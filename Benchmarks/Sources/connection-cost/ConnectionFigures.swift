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
            for way in Way.all(isSecure: isSecure) {
                let runs = try await Self.runs(way, max(5, options.repetitions), instance)
                readings += Self.readings(runs, name, way)
            }
            return readings + (isSecure ? [] : [try Self.bare(server, max(5, options.repetitions), name)])
        }
    }

    private struct Run {
        let rate: Double
        let processorTime: Double
    }

    private static func runs(_ way: Way, _ count: Int, _ instance: ChappieStreamingTransport) async throws -> [Run] {
        let descriptorCount = try await self.settledDescriptors(atMost: nil)
        var runs: [Run] = []
        for _ in 0..<count {
            let (start, time) = (ContinuousClock.now, ProcessUse.processorTime)
            try await self.openAndCancel(way.streamCount, tasks: way.taskCount, instance)
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            // Closing is a part of what a connection costs, and nothing may be left of it.
            _ = try await self.settledDescriptors(atMost: descriptorCount)
            let used = ProcessUse.processorTime - time
            runs.append(Run(rate: Double(way.streamCount) / seconds, processorTime: used / Double(way.streamCount)))
        }
        return runs
    }

    private static func readings(_ runs: [Run], _ workload: String, _ way: Way) -> [Reading] {
        [
            Reading(way.name, runs.map(\.rate), "/s", atLeast: nil).reported(
                "connections", workload, way: way.name, measure: "rate", better: .higher,
                work: .init(eventCount: way.streamCount, byteCount: way.streamCount * self.firstText.utf8.count),
                amount: Double(way.taskCount), decodes: true),
            Reading("  processor time of each", runs.map { $0.processorTime * 1e6 }, "µs").reported(
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

    private static func bare(_ server: StreamServer, _ repetitions: Int, _ workload: String) throws -> Reading {
        let count = 400
        let rates = try (0..<repetitions).map { _ in
            let start = ContinuousClock.now
            let opened = cbc_connections(server.port, count)
            guard opened == count else { throw WrongResultError("the bare loop failed after \(opened)") }
            return Double(count) / ((ContinuousClock.now - start) / .seconds(1))
        }
        return Reading("the machine: connect, read, close", rates, "/s").reported(
            "connections", workload, subject: "machine", way: "one after another", measure: "rate", better: .higher,
            work: .init(eventCount: count, byteCount: count * self.firstText.utf8.count), amount: 1)
    }
}
