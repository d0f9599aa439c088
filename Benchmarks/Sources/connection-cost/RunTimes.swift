// The clocks that a run is measured by.
import Foundation

/// What a run has taken, in seconds.
struct RunTimes {
    /// By the clock on the wall.
    let wall: Double
    /// Processor time of the process, all threads.
    let processor: Double

    /// Measures a run.
    init(of run: () async throws -> Void) async throws {
        let (processor, start) = (ProcessUse.processorTime, ContinuousClock.now)
        try await run()
        self.wall = (ContinuousClock.now - start) / .seconds(1)
        self.processor = ProcessUse.processorTime - processor
    }
}
