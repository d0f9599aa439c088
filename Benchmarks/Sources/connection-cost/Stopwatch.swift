// The clocks that a run is measured by.
import Foundation

/// What a run has taken, in seconds.
struct RunTimes {
    /// By the clock on the wall.
    private(set) var wall: Double
    /// Processor time of the process, all threads.
    private(set) var processor: Double
    /// Of it that of the transport's service threads.
    private(set) var service: Double

    /// Measures a run.
    init(of run: () async throws -> Void) async throws {
        let service = try ProcessUse.serviceTime()
        let (processor, wall) = (ProcessUse.processorTime, ContinuousClock.now)
        try await run()
        self.wall = (ContinuousClock.now - wall) / .seconds(1)
        self.processor = ProcessUse.processorTime - processor
        self.service = try ProcessUse.serviceTime() - service
    }

    /// Several runs, one after another.
    static func several(_ count: Int, of run: () async throws -> Void) async throws -> [Self] {
        var times: [Self] = []
        for _ in 0..<count { times.append(try await Self(of: run)) }
        return times
    }
}
