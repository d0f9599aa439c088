// The processor time of many streams while events come on all of them, one at a time.
import BenchmarkResults
import Foundation

/// A thousand streams of ten events a second, each read by a task of its own.
enum ProcessorFigures {
    static let all = [
        Figure(
            name: "processor/streams-1000", summary: "\(Self.streamCount) streams of \(Self.perSecond) events a second"
        ) { repetitions in try await Self.measure(repetitions) }
    ]

    private static let (streamCount, perSecond) = (1_000, 10)
    private static let window = Duration.milliseconds(700)

    private static func measure(_ repetitions: Int) async throws -> [Reading] {
        // Enough to open all streams and for all repetitions.
        let messageCount = perSecond * (repetitions + 3)
        let crowd = try Crowd(StreamServer(.pace(messageCount: messageCount, perSecond: perSecond)))
        try await crowd.grow(to: streamCount)
        try await Task.sleep(for: .milliseconds(300))
        var values: [Double] = []
        for _ in 0..<repetitions {
            let (time, start, count) = (ProcessUse.processorTime, ContinuousClock.now, crowd.deltaCount)
            try await Task.sleep(for: window)
            let eventCount = Double(crowd.deltaCount - count)
            let due = (ContinuousClock.now - start) / .seconds(1) * Double(streamCount * perSecond)
            // With fewer events the client or the server does not keep up, and the workload is another one.
            guard eventCount > 0.95 * due else { throw WrongResultError("\(eventCount) of \(due) events came") }
            values.append((ProcessUse.processorTime - time) / eventCount * 1e6)
        }
        guard crowd.deltaCount < streamCount * messageCount else { throw WrongResultError("the streams have ended") }
        try await crowd.finish(messageCount: messageCount)
        return [Reading("processor", "streams-1000", "processor-time", values, "µs/event", bar: .init(atMost: 30))]
    }
}
