// What many streams cost in processor time while events come on all of them.
import BenchmarkResults
import ChappieTransport
import Foundation

/// Streams of so many events a second, each read by a task of its own.
enum ProcessorFigures {
    static let all = [
        Self.figure("active", streams: 1_000, perSecond: 10, bar: 30),
        Self.figure("streams-100", streams: 100, perSecond: 100),
        // With 1,000 of them a core has nothing left, and what is late then is taken several at a time.
        Self.figure("streams-500", streams: 500, perSecond: 100),
    ]

    /// What the results call the streams of `active`.
    private static let slowWorkload = "streams-1000-slow"
    private static let windowCount = 5
    private static let window = Duration.milliseconds(700)

    private static func figure(_ name: String, streams: Int, perSecond: Int, bar: Double? = nil) -> Figure {
        Figure(
            name: name, aliases: name == "active" ? [Self.slowWorkload] : [],
            summary: "\(streams) streams of \(perSecond) events a second"
        ) { _ in
            // Enough to open all streams and to look at them so often.
            let messageCount = perSecond * 6
            let crowd = try Crowd(StreamServer(.pace(messageCount: messageCount, perSecond: perSecond)))
            try await crowd.grow(to: streams)
            try await Task.sleep(for: .milliseconds(300))
            var windows: [Window] = []
            Cores.watchPace()
            for _ in 0..<Self.windowCount { windows.append(try await Self.look(at: crowd)) }
            guard crowd.deltaCount < streams * messageCount else { throw WrongResultError("the streams have ended") }
            try await crowd.finish(messageCount: messageCount)
            return Self.readings(windows, name, streams: streams, perSecond: perSecond, bar: bar)
        }
    }

    /// What was used, and what came, in a while.
    private struct Window {
        let processorTime: Double
        let seconds: Double
        let eventCount: Int
        /// Which share of its speed the core had; nil when nobody has looked.
        let pace: Double?
    }

    private static func look(at crowd: Crowd) async throws -> Window {
        let (time, start, count) = (ProcessUse.processorTime, CorePace.now, crowd.deltaCount)
        try await Task.sleep(for: self.window)
        let seconds = CorePace.now - start
        return Window(
            processorTime: ProcessUse.processorTime - time, seconds: seconds, eventCount: crowd.deltaCount - count,
            pace: CorePace.share(since: start))
    }

    private static func readings(
        _ windows: [Window], _ name: String, streams: Int, perSecond: Int, bar: Double?
    ) -> [Reading] {
        let workload = name == "active" ? Self.slowWorkload : name
        let due = Double(streams * perSecond)
        func paced(_ value: (Window) -> Double) -> PacedRuns {
            PacedRuns(windows.map { (value($0), $0.pace) }, better: .lower)
        }
        return [
            Reading(
                "whole process, an event", paced { $0.processorTime / Double($0.eventCount) * 1e6 }, "µs",
                bar: bar
            ).reported(
                "processor", workload, measure: "processor-time", unit: "µs/event", amount: Double(streams),
                decodes: true),
            Reading(
                "share of a core, a stream",
                paced { $0.processorTime / $0.seconds / Double(streams) * 100 }, "%"
            ).reported("processor", workload, measure: "share", unit: "% of a core/stream", amount: Double(streams)),
            // Below 100 the client, or the server, does not keep up, and the streams are slower than they should be.
            Reading(
                "events that came, of those that were due",
                windows.map { Double($0.eventCount) / $0.seconds / due * 100 }, "%", atLeast: 95
            ).reported(
                "processor", workload, measure: "kept-pace", unit: "%", better: .higher, amount: Double(streams)),
        ]
    }
}
