// The clocks that a run is measured by.
import BenchmarkResults
import Foundation

/// What a run has taken, in seconds.
struct RunTimes {
    /// By the clock on the wall.
    private(set) var wall: Double
    /// Processor time of the process, all threads.
    private(set) var processor: Double
    /// Of it that of the transport's service threads.
    private(set) var service: Double
    /// Which share of its speed the client's core had; nil when nobody has looked.
    private(set) var pace: Double?

    /// Measures a run.
    init(of run: () async throws -> Void) async throws {
        let service = try ProcessUse.serviceTime()
        let (processor, start) = (ProcessUse.processorTime, CorePace.now)
        try await run()
        let end = CorePace.now
        self.wall = end - start
        self.processor = ProcessUse.processorTime - processor
        self.service = try ProcessUse.serviceTime() - service
        self.pace = CorePace.share(from: start, to: end)
    }

    /// How long it waits for a calm core beyond twice as many runs, in seconds.
    private static let patience = 2.0

    /// Several runs, one after another: more than so many as long as the core was shared in most of them.
    static func several(_ count: Int, of run: () async throws -> Void) async throws -> [Self] {
        var times: [Self] = []
        var end = Double.infinity
        while PacedRuns.needsMore(after: times.map(\.pace), of: count, most: .max), CorePace.now < end {
            times.append(try await Self(of: run))
            if times.count == 2 * count { end = CorePace.now + Self.patience }
        }
        return times
    }
}

extension Collection<RunTimes> {
    /// A speed or a cost of each run, with the pace of the core.
    func paced(_ better: ResultFigure.Direction, _ value: (RunTimes) -> Double) -> PacedRuns {
        PacedRuns(self.map { (value($0), $0.pace) }, better: better)
    }
}
