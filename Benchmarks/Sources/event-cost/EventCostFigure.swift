// What came out of a measurement, as a row of a table and as lines of results.
import BenchmarkResults
import Foundation

/// What an event costs on one path with one workload.
struct EventCostFigure {
    let path: Path
    let workload: Workload
    let passCount: Int
    /// Nanoseconds an event, of each run.
    let times: PacedRuns
    /// Calls of the allocator an event.
    let allocations: Double

    /// The row of the table.
    var line: String {
        let sorted = self.times.runs.sorted()
        let name = "\(self.path.rawValue) \(self.workload.name)"
        let figures = String(
            format: "%4.0f ns undisturbed %4.0f ns best %4.0f ns median %6.3f allocations, "
                + "%.1f bytes of delta an event",
            self.times.median, sorted[0], sorted[sorted.count / 2], self.allocations,
            Double(self.workload.deltaByteCount) / Double(self.workload.eventCount))
        return name + String(repeating: " ", count: max(0, 24 - name.utf8.count)) + figures
    }

    /// The same as results.
    var figures: [ResultFigure] {
        let work = ResultFigure.Work(
            eventCount: self.passCount * self.workload.eventCount,
            byteCount: self.passCount * self.workload.deltaByteCount, seed: self.workload.seed)
        var time = self.figure("processor-time", "ns/event", self.times.runs, work)
        time.paces = self.times.paces
        return [
            time, self.figure("allocations", "/event", [self.allocations], work),
        ]
    }

    private func figure(
        _ measure: String, _ unit: String, _ runs: [Double], _ work: ResultFigure.Work
    ) -> ResultFigure {
        var figure = ResultFigure(
            group: self.path.group, workload: self.workload.name, way: self.path.way, measure: measure, unit: unit,
            runs: runs, work: work)
        // The loop has events that were made before.
        figure.decodes = self.path != .loop
        return figure
    }
}

extension Path {
    /// The group of results that it belongs to.
    fileprivate var group: String {
        switch self {
        case .decode: "decoder"
        case .replay: "verification"
        case .webSocket, .steps, .eventStream, .loop, .asyncStream: "engine"
        }
    }

    /// What its results are called among those of its group.
    fileprivate var way: String {
        switch self {
        case .decode: ""
        case .replay: "a repeated event, decoded and compared"
        case .webSocket: "WebSocket, next()"
        case .steps: "WebSocket, a message a step"
        case .eventStream: "event stream, next()"
        case .loop: "the consumer's loop alone"
        case .asyncStream: "WebSocket, for try await"
        }
    }
}
